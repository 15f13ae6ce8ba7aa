//! Errors of apt and dpkg, as refusals for the client.

use crate::child::APT_TIME;
use postern_policy::{Code, Denied};
use postern_root::{Error, one_line};
use std::time::Instant;

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
        Error::Failed(_) | Error::NotStarted(_) | Error::Begun(_) => {
            Denied::new(Code::PackageFailed, one_line(&error.detail()))
        }
    })
}
