//! Messages to systemd's journal.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

/// The journal's socket. Messages may be lost: nothing waits for them.
pub struct Journal {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Journal {
    /// Uses the journal that listens at this path, now or later.
    ///
    /// # Errors
    /// There is no socket to be had.
    pub fn new(path: &Path) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, path: path.to_owned() })
    }

    /// Sends one message: lines of `FIELD=value`, no value with a line break (systemd's native journal protocol).
    pub fn send(&self, fields: &str) {
        // The log has every record too.
        drop(self.socket.send_to(fields.as_bytes(), &self.path));
    }
}
