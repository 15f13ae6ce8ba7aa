//! Errors of an order: denied (for the client), failed (details for the log), or not started.

use postern_policy::Invalid;
pub use postern_policy::{Code, Denied};
use postern_proto::root::v1::{Close, CloseReason};
use std::{fmt, io};

/// Something failed on this host: words for the log and the journal, and the code that the client gets.
#[derive(Debug)]
pub struct Fault {
    what: String,
    code: Code,
}

impl Fault {
    /// Unexpected behaviour of a program or of the kernel, in these words.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), code: Code::Interrupted }
    }

    /// A damaged file of our own state.
    #[must_use]
    pub fn corrupt(what: &str) -> Self {
        Self::new(format!("{what} is damaged"))
    }

    /// For `map_err`: a failed system call while `doing`, or on the file or program of this name.
    pub fn io<E: Into<io::Error>>(doing: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |error| {
            let error = error.into();
            let known = CODES.iter().find(|(kind, _)| *kind == error.kind());
            let code = known.map_or(Code::Interrupted, |(_, code)| *code);
            Self { what: format!("{doing}: {error}"), code }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// Failures that a client can act on; every other is `interrupted`.
const CODES: [(io::ErrorKind, Code); 4] = [
    (io::ErrorKind::StorageFull, Code::NoSpace),
    (io::ErrorKind::QuotaExceeded, Code::NoSpace),
    (io::ErrorKind::ReadOnlyFilesystem, Code::ReadOnly),
    (io::ErrorKind::NotFound, Code::NotFound),
];

/// Messages of the kernel may name objects that the client must not know; they go to the log.
const UNABLE: &str = "the helper could not do this; an operator finds the reason in the audit log";

/// Why an order has no effect.
#[derive(Debug)]
pub enum Error {
    /// Refused.
    Denied(Denied),
    /// Failed.
    Failed(Fault),
    /// Nothing was done, and another process of this program can do it: the recorder sends the order once more.
    NotStarted(Fault),
    /// Failed after the effect may have begun: the recorder asks for the outcome.
    Begun(Fault),
}

impl From<Denied> for Error {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied)
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::Denied(invalid.into())
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

impl Error {
    /// The same failure, after the effect may have begun.
    #[must_use]
    pub fn begun(self) -> Self {
        Self::Begun(Fault::new(self.detail()))
    }

    /// The details for the log alone.
    #[must_use]
    pub fn detail(&self) -> String {
        match self {
            Self::Denied(denied) => denied.message.clone(),
            Self::Failed(fault) | Self::NotStarted(fault) | Self::Begun(fault) => fault.to_string(),
        }
    }

    /// The last frame of a connection on which nothing was done; none if something may have been.
    #[must_use]
    pub fn close(&self) -> Option<Close> {
        let (reason, code, message) = match self {
            Self::Denied(denied) => (CloseReason::Refused, denied.code, denied.message.as_str()),
            Self::Failed(fault) => (CloseReason::Refused, fault.code, UNABLE),
            Self::NotStarted(fault) => (CloseReason::NotStarted, fault.code, UNABLE),
            Self::Begun(_) => return None,
        };
        let (reason, code, message) = (reason.into(), code.as_str().to_owned(), message.to_owned());
        Some(Close { reason, code, message, detail: self.detail() })
    }
}
