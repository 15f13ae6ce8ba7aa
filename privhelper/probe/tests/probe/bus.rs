//! A bus with a small PID 1 behind it.

use futures_lite::StreamExt;
use std::collections::HashMap;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use zbus::zvariant::{OwnedValue, Value};
use zbus::{Connection, Guid, Message, connection};

/// State of a fake PID 1, with the calls that it received.
#[derive(Default)]
pub struct Knowledge {
    units: HashMap<String, HashMap<String, OwnedValue>>,
    links: HashMap<String, Vec<String>>,
    calls: Vec<String>,
    connections: usize,
    /// The next connection ends at its first question.
    breaks: bool,
}

#[derive(Clone, Default)]
pub struct FakeBus(Arc<Mutex<Knowledge>>);

/// `Name=value` as PID 1 has it: lists where there may be several.
fn value(name: &str, text: &str) -> OwnedValue {
    let words = || text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let value = match name {
        "Id" | "LoadState" | "ActiveState" | "SubState" | "UnitFileState" | "Result" | "FragmentPath" => {
            Value::from(text.to_owned())
        }
        "MainPID" => Value::from(text.parse::<u32>().unwrap()),
        "StateChangeTimestamp" | "MemoryCurrent" => Value::from(text.parse::<u64>().unwrap()),
        "ExecMainStatus" => Value::from(text.parse::<i32>().unwrap()),
        "NeedDaemonReload" | "StopWhenUnneeded" => Value::from(text == "yes"),
        "InvocationID" => Value::from(
            (0..16).map(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).unwrap()).collect::<Vec<_>>(),
        ),
        _ => Value::from(words()),
    };
    value.try_into().unwrap()
}

impl FakeBus {
    /// Listens in a thread of its own for the rest of the test.
    pub fn listen(at: &Path) -> Self {
        let listener = UnixListener::bind(at).unwrap();
        let bus = Self::default();
        let shared = bus.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                shared.0.lock().unwrap().connections += 1;
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    runtime.block_on(shared.serve(stream)).ok();
                });
            }
        });
        bus
    }

    /// Makes a unit known: its name, its state and more properties, one a word but for those in quotes.
    pub fn unit(&self, name: &str, active: &str, more: &[(&str, &str)]) {
        let known = [("Id", name), ("Names", name), ("LoadState", "loaded"), ("ActiveState", active)];
        let rest = [("SubState", "running"), ("UnitFileState", "enabled"), ("Result", "success")];
        let properties = known.iter().chain(&rest).chain(more);
        let properties = properties.map(|(name, text)| ((*name).to_owned(), value(name, text))).collect();
        self.0.lock().unwrap().units.insert(name.to_owned(), properties);
    }

    pub fn links(&self, name: &str, links: &[&str]) {
        let links = links.iter().map(ToString::to_string).collect();
        self.0.lock().unwrap().links.insert(name.to_owned(), links);
    }

    pub fn break_next(&self) {
        self.0.lock().unwrap().breaks = true;
    }

    /// `METHOD UNIT` of each question.
    pub fn calls(&self) -> Vec<String> {
        self.0.lock().unwrap().calls.clone()
    }

    pub fn connections(&self) -> usize {
        self.0.lock().unwrap().connections
    }

    async fn serve(&self, stream: std::os::unix::net::UnixStream) -> zbus::Result<()> {
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
            } else if !self.answer(&connection, &member, &message).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// False: the connection breaks.
    async fn answer(&self, connection: &Connection, member: &str, message: &Message) -> zbus::Result<bool> {
        let header = message.header();
        let asked = if member == "GetAll" {
            let interface: String = message.body().deserialize()?;
            assert_eq!(interface, "", "all properties at once");
            unescaped(header.path().unwrap().as_str())
        } else {
            assert_eq!(member, "GetUnitFileLinks", "nothing else is asked of PID 1");
            let (unit, runtime): (String, bool) = message.body().deserialize()?;
            assert!(!runtime);
            unit
        };
        let (breaks, properties, links) = {
            let mut known = self.0.lock().unwrap();
            known.calls.push(format!("{member} {asked}"));
            let breaks = std::mem::take(&mut known.breaks);
            (breaks, known.units.get(&asked).cloned(), known.links.get(&asked).cloned())
        };
        if breaks {
            return Ok(false);
        }
        if member != "GetAll" {
            connection.reply(&header, &links.unwrap_or_default()).await?;
        } else if asked.contains("broken") {
            connection
                .reply_error(&header, "org.freedesktop.DBus.Error.UnknownObject", &"no\nsuch object")
                .await?;
        } else {
            // PID 1 answers for a unit that it does not find.
            let missing = || {
                let words = [
                    ("Id", asked.as_str()),
                    ("Names", &asked),
                    ("LoadState", "not-found"),
                    ("ActiveState", "inactive"),
                ];
                words.iter().map(|(name, text)| ((*name).to_owned(), value(name, text))).collect()
            };
            connection.reply(&header, &properties.unwrap_or_else(missing)).await?;
        }
        Ok(true)
    }
}

/// The unit of an object's path.
fn unescaped(path: &str) -> String {
    let label = path.strip_prefix("/org/freedesktop/systemd1/unit/").unwrap();
    let mut parts = label.split('_');
    let mut name = parts.next().unwrap().to_owned();
    for part in parts {
        let (code, rest) = part.split_at(2);
        name.push(char::from(u8::from_str_radix(code, 16).unwrap()));
        name.push_str(rest);
    }
    assert!(label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{label}");
    name
}
