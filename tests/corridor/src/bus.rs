//! A system bus with PID 1 behind it, which knows what the world's systemctl shows.

use futures_lite::StreamExt;
use std::collections::HashMap;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use zbus::zvariant::{OwnedValue, Value};
use zbus::{Connection, Guid, Message, connection};

/// Serves one connection to its end.
pub fn serve(at: &Path, stream: UnixStream) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // The probe may end in the middle.
    drop(runtime.block_on(Systemctl(at.to_owned()).serve(stream)));
}

struct Systemctl(PathBuf);

impl Systemctl {
    async fn serve(&self, stream: UnixStream) -> zbus::Result<()> {
        stream.set_nonblocking(true)?;
        let stream = tokio::net::UnixStream::from_std(stream)?;
        let server = connection::Builder::unix_stream(stream).server(Guid::generate())?.p2p();
        let mut messages = server.build_message_stream().await?;
        let connection = Connection::from(&messages);
        while let Some(message) = messages.next().await {
            let message = message?;
            let member = message.header().member().unwrap().to_string();
            if member == "Hello" {
                connection.reply(&message.header(), &":1.1").await?;
            } else {
                self.answer(&connection, &member, &message).await?;
            }
        }
        Ok(())
    }

    async fn answer(&self, connection: &Connection, member: &str, message: &Message) -> zbus::Result<()> {
        let header = message.header();
        if member == "GetAll" {
            let unit = unescaped(header.path().unwrap().as_str());
            return connection.reply(&header, &self.properties(&unit)).await;
        }
        assert_eq!(member, "GetUnitFileLinks", "nothing else is asked of PID 1");
        let (unit, _): (String, bool) = message.body().deserialize()?;
        let text = self.run(&["is-enabled", "--full", "--no-pager", "--", &unit]);
        if text.is_empty() {
            let error = "org.freedesktop.DBus.Error.FileNotFound";
            return connection.reply_error(&header, error, &"no such file").await;
        }
        let links = text.lines().filter_map(|line| line.strip_prefix("  ")).collect::<Vec<_>>();
        connection.reply(&header, &links).await
    }

    fn properties(&self, unit: &str) -> HashMap<String, OwnedValue> {
        let shown = self.run(&["show", "--timestamp=unix", "--property=*", "--", unit]);
        let lines = shown.lines().filter_map(|line| line.split_once('='));
        // Of one name that is shown twice the last counts.
        let mut properties = lines
            .filter_map(|(name, text)| Some((name.to_owned(), value(name, text)?)))
            .collect::<HashMap<_, _>>();
        let files = self.run(&["cat", "--no-pager", "--", unit]);
        if !files.is_empty() {
            let path = self.0.join(format!("bus.{unit}"));
            std::fs::write(&path, files).unwrap();
            properties.insert("FragmentPath".to_owned(), owned(path.to_str().unwrap()));
        }
        properties
    }

    fn run(&self, words: &[&str]) -> String {
        let mut command = Command::new(self.0.join("systemctl"));
        let output = command.args(words).env_clear().env("PATH", "/usr/bin:/bin").env("BUS", "1").output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }
}

fn owned<'a>(value: impl Into<Value<'a>>) -> OwnedValue {
    value.into().try_into().unwrap()
}

/// A property as PID 1 has it, of what systemctl shows; none where it says that it is not set.
fn value(name: &str, text: &str) -> Option<OwnedValue> {
    Some(match name {
        "Id" | "LoadState" | "ActiveState" | "SubState" | "UnitFileState" | "Result" => owned(text),
        "MainPID" => owned(text.parse::<u32>().unwrap()),
        "MemoryCurrent" => owned(text.parse::<u64>().ok()?),
        "StateChangeTimestamp" => owned(text.strip_prefix('@')?.parse::<u64>().unwrap() * 1_000_000),
        "ExecMainStatus" => owned(text.parse::<i32>().unwrap()),
        "NeedDaemonReload" | "StopWhenUnneeded" => owned(text == "yes"),
        "InvocationID" => owned(format!("{text:0>16}").into_bytes()),
        // Quoted as systemctl does where a name has a backslash.
        _ => owned(text.split(' ').filter(|word| !word.is_empty()).map(unquoted).collect::<Vec<_>>()),
    })
}

fn unquoted(word: &str) -> String {
    let inner = word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.map_or_else(|| word.to_owned(), |inner| inner.replace("\\\\", "\\"))
}

/// The unit of an object's path (`sd_bus_path_encode(3)`).
fn unescaped(path: &str) -> String {
    let label = path.strip_prefix("/org/freedesktop/systemd1/unit/").unwrap();
    let mut parts = label.split('_');
    let mut name = parts.next().unwrap().to_owned();
    for part in parts {
        let (code, rest) = part.split_at(2);
        name.push(char::from(u8::from_str_radix(code, 16).unwrap()));
        name.push_str(rest);
    }
    name
}
