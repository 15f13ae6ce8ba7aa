//! Asking systemd over the system bus, to look only: a few calls with constant names, and replies of known
//! form.
//!
//! A library for all of D-Bus would bring some twenty crates for five calls. What is here sends nothing but
//! those, and takes nothing but replies to them, each of limited length.

mod wire;

use super::blind::Blind;
use nix::unistd::geteuid;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use wire::{Body, Message, call};

/// The longest that one reply is waited for.
const WAIT: Duration = Duration::from_secs(2);
/// The longest reply: a host with ten thousand units has one of 3 MB.
const REPLY_LIMIT: usize = 16 << 20;

const MANAGER: (&str, &str) = ("/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager");

/// A connection to the system bus.
pub struct Bus {
    stream: BufReader<UnixStream>,
    serial: u32,
}

/// A loaded unit.
pub struct Unit {
    pub name: String,
    pub description: String,
    pub load: String,
    pub active: String,
    pub sub: String,
    /// Where its properties are.
    pub object: String,
}

/// A process, as systemd sees it.
pub struct Process {
    pub cgroup: String,
    pub pid: u32,
    pub command: String,
}

impl Bus {
    /// Connects as this process's user.
    pub fn connect(socket: &Path) -> Result<Self, Blind> {
        let why = |error: std::io::Error| {
            Blind::Failed(format!("the system bus does not answer at {}: {}", socket.display(), error.kind()))
        };
        let mut stream = UnixStream::connect(socket).map_err(why)?;
        stream.set_read_timeout(Some(WAIT)).map_err(why)?;
        stream.set_write_timeout(Some(WAIT)).map_err(why)?;
        // In hexadecimal, of the uid's decimal digits.
        let uid =
            geteuid().to_string().bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        stream.write_all(format!("\0AUTH EXTERNAL {uid}\r\n").as_bytes()).map_err(why)?;
        let mut bus = Self { stream: BufReader::new(stream), serial: 0 };
        let mut answer = String::new();
        (&mut bus.stream).take(1024).read_line(&mut answer).map_err(why)?;
        if !answer.starts_with("OK ") {
            return Err(Blind::Failed("the system bus does not let this user in".to_owned()));
        }
        bus.stream.get_mut().write_all(b"BEGIN\r\n").map_err(why)?;
        bus.ask(
            "org.freedesktop.DBus",
            ("/org/freedesktop/DBus", "org.freedesktop.DBus"),
            "Hello",
            &[],
            "s",
        )?;
        Ok(bus)
    }

    /// All loaded units.
    pub fn units(&mut self) -> Result<Vec<Unit>, Blind> {
        let mut body = self.systemd("ListUnits", &[], "a(ssssssouso)")?;
        body.structs(|body| {
            let [name, description, load, active, sub, _following, object] = body.strings()?;
            body.u32()?;
            let [_job, _job_object] = body.strings()?;
            Some(Unit { name, description, load, active, sub, object })
        })
        .ok_or_else(garbled)
    }

    /// The unit files with their states: whether a unit is started at boot.
    pub fn unit_files(&mut self) -> Result<Vec<[String; 2]>, Blind> {
        let mut body = self.systemd("ListUnitFiles", &[], "a(ss)")?;
        body.structs(Body::strings).ok_or_else(garbled)
    }

    /// The processes of a unit and of all below it.
    pub fn processes(&mut self, unit: &str) -> Result<Vec<Process>, Blind> {
        let mut body = self.systemd("GetUnitProcesses", &[unit], "a(sus)")?;
        body.structs(|body| {
            let [cgroup] = body.strings()?;
            let pid = body.u32()?;
            let [command] = body.strings()?;
            Some(Process { cgroup, pid, command })
        })
        .ok_or_else(garbled)
    }

    /// A property of a timer that is a number.
    pub fn timer_number(&mut self, object: &str, name: &str) -> Result<u64, Blind> {
        let mut body = self.property(object, name)?;
        body.variant("t").and_then(|()| body.u64()).ok_or_else(garbled)
    }

    /// The unit that a timer starts.
    pub fn timer_unit(&mut self, object: &str) -> Result<String, Blind> {
        let mut body = self.property(object, "Unit")?;
        body.variant("s").and_then(|()| body.strings()).map(|[unit]| unit).ok_or_else(garbled)
    }

    fn property(&mut self, object: &str, name: &str) -> Result<Body, Blind> {
        let properties = (object, "org.freedesktop.DBus.Properties");
        let args = ["org.freedesktop.systemd1.Timer", name];
        self.ask("org.freedesktop.systemd1", properties, "Get", &args, "v")
    }

    fn systemd(&mut self, member: &str, args: &[&str], form: &str) -> Result<Body, Blind> {
        self.ask("org.freedesktop.systemd1", MANAGER, member, args, form)
    }

    /// Calls a method with texts, and waits for the reply of the form that it has to have.
    fn ask(
        &mut self,
        to: &str,
        (object, interface): (&str, &str),
        member: &str,
        args: &[&str],
        form: &str,
    ) -> Result<Body, Blind> {
        let broken = |_: std::io::Error| Blind::Failed(format!("the system bus did not answer to {member}"));
        self.serial += 1;
        let call = call(self.serial, to, object, interface, member, args);
        self.stream.get_mut().write_all(&call).map_err(broken)?;
        loop {
            let message =
                Message::read(&mut self.stream, REPLY_LIMIT).map_err(broken)?.ok_or_else(garbled)?;
            // Signals come as well.
            if message.answers != Some(self.serial) {
                continue;
            }
            if let Some(error) = message.error {
                return Err(Blind::Failed(format!("systemd answers {error} to {member}")));
            }
            return if message.form == form { Ok(message.body) } else { Err(garbled()) };
        }
    }
}

fn garbled() -> Blind {
    Blind::Failed("the system bus answers in a form that is not the expected one".to_owned())
}
