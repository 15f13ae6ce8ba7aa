//! Asking systemd over the system bus, to look only: a few calls with constant names.

use super::read_error::ReadError;
use serde::Serialize;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use zbus::zvariant::{DynamicDeserialize, DynamicType, OwnedObjectPath, OwnedValue};
use zbus::{Connection, connection};

/// The longest that one reply is waited for.
const WAIT: Duration = Duration::from_secs(2);
/// systemd's name on the bus (org.freedesktop.systemd1(5)).
const SYSTEMD: &str = "org.freedesktop.systemd1";
/// The object of the manager, and the interfaces.
const PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const UNIT: &str = "org.freedesktop.systemd1.Unit";
const TIMER: &str = "org.freedesktop.systemd1.Timer";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// A connection to the system bus, with a runtime on the thread that looks.
pub struct Bus {
    runtime: Runtime,
    connection: Connection,
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

/// A row of `ListUnits`: name, description, load, active and sub state, followed unit, object, and its job.
type UnitRow =
    (String, String, String, String, String, String, OwnedObjectPath, u32, String, OwnedObjectPath);

impl Bus {
    /// Connects as this process's user.
    pub fn connect(socket: &Path) -> Result<Self, ReadError> {
        let why = |error: &dyn Display| {
            ReadError::Failed(format!("the system bus does not answer at {}: {error}", socket.display()))
        };
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|error| why(&error))?;
        let connecting = async {
            let stream = UnixStream::connect(socket).await?;
            connection::Builder::unix_stream(stream).method_timeout(WAIT).build().await
        };
        let connected = runtime.block_on(async { tokio::time::timeout(WAIT, connecting).await });
        let connection = connected
            .map_err(|_| why(&io::Error::from(io::ErrorKind::TimedOut)))?
            .map_err(|error| why(&error))?;
        Ok(Self { runtime, connection })
    }

    /// All loaded units.
    pub fn units(&self) -> Result<Vec<Unit>, ReadError> {
        let rows: Vec<UnitRow> = self.call((PATH, MANAGER), "ListUnits", &())?;
        Ok(rows.into_iter().map(unit).collect())
    }

    /// One unit, also one that is not loaded; by an alias it has its own name.
    pub fn unit(&self, name: &str) -> Result<Unit, ReadError> {
        let rows: Vec<UnitRow> = self.call((PATH, MANAGER), "ListUnitsByNames", &(vec![name],))?;
        rows.into_iter().next().map(unit).ok_or_else(garbled)
    }

    /// When a unit last changed its state, in microseconds since 1970.
    pub fn state_change(&self, object: &str) -> Result<u64, ReadError> {
        u64::try_from(self.property(object, UNIT, "StateChangeTimestamp")?).map_err(|_| garbled())
    }

    /// The unit files with their states: whether a unit is started at boot.
    pub fn unit_files(&self) -> Result<Vec<(String, String)>, ReadError> {
        self.call((PATH, MANAGER), "ListUnitFiles", &())
    }

    /// The processes of a unit and of all below it.
    pub fn processes(&self, unit: &str) -> Result<Vec<Process>, ReadError> {
        let rows: Vec<(String, u32, String)> = self.call((PATH, MANAGER), "GetUnitProcesses", &unit)?;
        Ok(rows.into_iter().map(|(cgroup, pid, command)| Process { cgroup, pid, command }).collect())
    }

    /// A property of a timer that is a number.
    pub fn timer_number(&self, object: &str, name: &str) -> Result<u64, ReadError> {
        u64::try_from(self.property(object, TIMER, name)?).map_err(|_| garbled())
    }

    /// The unit that a timer starts.
    pub fn timer_unit(&self, object: &str) -> Result<String, ReadError> {
        String::try_from(self.property(object, TIMER, "Unit")?).map_err(|_| garbled())
    }

    fn property(&self, object: &str, interface: &str, name: &str) -> Result<OwnedValue, ReadError> {
        self.call((object, PROPERTIES), "Get", &(interface, name))
    }

    /// Calls a method of systemd's, and waits for the reply of the form that it has to have.
    fn call<T>(
        &self,
        (object, interface): (&str, &str),
        member: &str,
        arguments: &(impl Serialize + DynamicType),
    ) -> Result<T, ReadError>
    where
        T: for<'d> DynamicDeserialize<'d>,
    {
        let call = self.connection.call_method(Some(SYSTEMD), object, Some(interface), member, arguments);
        let reply = self.runtime.block_on(call).map_err(|error| match error {
            zbus::Error::MethodError(name, ..) => {
                ReadError::Failed(format!("systemd answers {name} to {member}"))
            }
            error => ReadError::Failed(format!("the system bus did not answer to {member}: {error}")),
        })?;
        reply.body().deserialize().map_err(|_| garbled())
    }
}

fn unit((name, description, load, active, sub, _, object, ..): UnitRow) -> Unit {
    Unit { name, description, load, active, sub, object: object.to_string() }
}

fn garbled() -> ReadError {
    ReadError::Failed("the system bus answers in a form that is not the expected one".to_owned())
}
