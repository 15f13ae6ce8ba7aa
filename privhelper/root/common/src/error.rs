//! Errors of an order: denied (for the client), failed (details for the log), or not started.

use postern_policy::{Code, Denied, Invalid};
use postern_proto::root::v1::{Close, CloseReason};
use std::path::Path;
use std::{fmt, io};

/// Something failed on this host, in words for the log and the journal.
#[derive(Debug)]
pub enum Fault {
    /// A system call.
    Io {
        /// The purpose of the call.
        doing: &'static str,
        /// The errno.
        error: io::Error,
    },
    /// Unexpected behaviour of a program or of the kernel: which and what.
    Program(String),
    /// A damaged file of our own state: which.
    Corrupt(&'static str),
}

impl Fault {
    /// Unexpected behaviour, in these words.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self::Program(what.into())
    }

    /// For `map_err`: a failed system call on this file or program.
    pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Program(format!("{}: {error}", path.display()))
    }

    /// For `map_err`: a failed system call while `doing`.
    pub fn io<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Io { doing, error: error.into() }
    }

    /// The code that the client gets.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Io { error, .. } => code_of(error.kind()),
            Self::Program(_) | Self::Corrupt(_) => Code::Interrupted,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, error } => write!(f, "{doing}: {error}"),
            Self::Program(what) => f.write_str(what),
            Self::Corrupt(what) => write!(f, "{what} is damaged"),
        }
    }
}

impl std::error::Error for Fault {}

/// Kinds that a client can act on; every other is `interrupted`.
fn code_of(kind: io::ErrorKind) -> Code {
    const KNOWN: [(io::ErrorKind, Code); 4] = [
        (io::ErrorKind::StorageFull, Code::NoSpace),
        (io::ErrorKind::QuotaExceeded, Code::NoSpace),
        (io::ErrorKind::ReadOnlyFilesystem, Code::ReadOnly),
        (io::ErrorKind::NotFound, Code::NotFound),
    ];
    KNOWN.iter().find(|(known, _)| *known == kind).map_or(Code::Interrupted, |(_, code)| *code)
}

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
    /// The stable code and the message for the client.
    #[must_use]
    pub fn to_client(&self) -> (Code, String) {
        match self {
            Self::Denied(denied) => (denied.code, denied.message.clone()),
            Self::Failed(fault) | Self::NotStarted(fault) | Self::Begun(fault) => {
                (fault.code(), UNABLE.to_owned())
            }
        }
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
        let reason = match self {
            Self::Denied(_) | Self::Failed(_) => CloseReason::Refused,
            Self::NotStarted(_) => CloseReason::NotStarted,
            Self::Begun(_) => return None,
        };
        let (code, message) = self.to_client();
        Some(Close { reason: reason.into(), code: code.as_str().to_owned(), message, detail: self.detail() })
    }
}
