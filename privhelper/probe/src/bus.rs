//! Reads properties of units, and the links to their files, from PID 1 over the system bus.

use crate::properties::Properties;
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied};
use postern_root::{Error, Fault, one_line};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use zbus::{Connection, Message, connection};

/// How long PID 1 may take for one answer. It does not answer while it reloads its units.
const ANSWER_TIME: Duration = Duration::from_secs(25);
/// systemd's name on the bus (org.freedesktop.systemd1(5)).
const SYSTEMD: &str = "org.freedesktop.systemd1";
/// The object of the manager, and its interfaces.
const PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// The system bus. One connection serves all threads, and is replaced when it is lost.
#[derive(Debug)]
pub struct Bus {
    address: String,
    runtime: Runtime,
    connection: Mutex<Option<Connection>>,
}

impl Bus {
    /// Stores the address; the first call connects.
    ///
    /// # Errors
    /// The kernel gives no epoll.
    pub fn new(address: &str) -> Result<Self, Fault> {
        // The runtime runs on the threads that wait for an answer.
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(Fault::io("make a runtime"))?;
        Ok(Self { address: address.to_owned(), runtime, connection: Mutex::default() })
    }

    /// Reads all properties of a unit, which PID 1 loads for it, as `systemctl show` does.
    ///
    /// # Errors
    /// `timeout`, or PID 1 cannot be asked.
    pub fn properties(&self, unit: &UnitName) -> Result<Properties, Error> {
        let path = object_path(unit);
        // An empty interface means all.
        let reply = self.call(&async |connection: &Connection| {
            connection.call_method(Some(SYSTEMD), path.as_str(), Some(PROPERTIES), "GetAll", &"").await
        })?;
        reply.body().deserialize().map(Properties::new).map_err(|error| fault(&error))
    }

    /// Lists the links to a unit's file that disabling it removes.
    ///
    /// # Errors
    /// As [`Self::properties`].
    pub fn links(&self, unit: &UnitName) -> Result<Vec<String>, Error> {
        // Without runtime links (`/run`).
        let body = (unit.as_str(), false);
        let reply = self.call(&async |connection: &Connection| {
            connection.call_method(Some(SYSTEMD), PATH, Some(MANAGER), "GetUnitFileLinks", &body).await
        })?;
        reply.body().deserialize().map_err(|error| fault(&error))
    }

    fn call(&self, ask: &impl AsyncFn(&Connection) -> zbus::Result<Message>) -> Result<Message, Error> {
        let once = || self.runtime.block_on(async { ask(&self.connected().await?).await });
        let answered = once().or_else(|error| {
            if !is_lost(&error) {
                return Err(error);
            }
            // The bus may have been restarted since the last question.
            *self.known() = None;
            once()
        });
        answered.map_err(|error| fault(&error))
    }

    fn known(&self) -> MutexGuard<'_, Option<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connected(&self) -> zbus::Result<Connection> {
        if let Some(connection) = self.known().clone() {
            return Ok(connection);
        }
        let new = connection::Builder::address(self.address.as_str())?.method_timeout(ANSWER_TIME);
        let new = tokio::time::timeout(ANSWER_TIME, new.build()).await;
        let new = new.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        // Where two threads connect at once, the later connection is kept.
        *self.known() = Some(new.clone());
        Ok(new)
    }
}

/// Returns the object path of a unit: letters and digits stay, a first digit and all other bytes become `_` and two
/// hexadecimal digits (`sd_bus_path_encode(3)`).
fn object_path(unit: &UnitName) -> String {
    let label = unit.as_str().bytes().enumerate().map(|(at, byte)| {
        if byte.is_ascii_alphabetic() || (at > 0 && byte.is_ascii_digit()) {
            char::from(byte).to_string()
        } else {
            format!("_{byte:02x}")
        }
    });
    format!("{PATH}/unit/{}", label.collect::<String>())
}

/// Whether the connection was lost without an answer, so that a new one may help.
fn is_lost(error: &zbus::Error) -> bool {
    let is_late = matches!(error, zbus::Error::InputOutput(error) if error.kind() == io::ErrorKind::TimedOut);
    !is_late && !matches!(error, zbus::Error::MethodError(..))
}

fn fault(error: &zbus::Error) -> Error {
    if let zbus::Error::InputOutput(error) = error
        && error.kind() == io::ErrorKind::TimedOut
    {
        let why = "systemd did not answer in time; it may be busy: ask again";
        return Denied::new(Code::Timeout, why).into();
    }
    Fault::new(one_line(&format!("systemd over the bus: {error}"))).into()
}
