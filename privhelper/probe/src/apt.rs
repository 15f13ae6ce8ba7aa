//! How failures of apt and dpkg are told to the client.

use crate::child::APT_TIME;
use postern_apt::Fault;
use postern_apt::apt_errors::one_line;
use postern_policy::{Code, Denied};
use std::time::Instant;

/// Why apt or dpkg gave no answer.
#[derive(Debug)]
pub enum Error {
    /// It refuses what was asked.
    Denied(Denied),
    /// It failed, or was not understood.
    Failed(Fault),
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

impl From<(Code, String)> for Error {
    fn from((code, message): (Code, String)) -> Self {
        Self::Denied(Denied::new(code, message))
    }
}

/// Asks apt and dpkg. A failure is `package_failed`, or `timeout` where one of their programs was stopped.
///
/// # Errors
/// As `ask`.
pub fn timed<T>(ask: impl FnOnce() -> Result<T, Error>) -> Result<T, Denied> {
    let started = Instant::now();
    ask().map_err(|error| match error {
        Error::Denied(denied) => denied,
        Error::Failed(_) if started.elapsed() >= APT_TIME => {
            let why = format!("apt did not answer within {} s; ask again later", APT_TIME.as_secs());
            Denied::new(Code::Timeout, why)
        }
        Error::Failed(fault) => Denied::new(Code::PackageFailed, one_line(&fault.to_string())),
    })
}
