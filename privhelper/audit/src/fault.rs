//! Failures of this host, with the words for the log and the code for the client.

use postern_policy::{Code, Denied};
use std::{fmt, io};

/// A failure of this host.
#[derive(Debug)]
pub enum Fault {
    /// A call of the operating system.
    Io {
        /// The purpose of the call.
        doing: &'static str,
        /// The errno.
        error: io::Error,
    },
    /// The audit log cannot take a record.
    Audit(io::Error),
    /// A file of the recorder does not have the form that it writes.
    Corrupt(&'static str),
}

impl Fault {
    /// For `map_err`: an error of the operating system while `doing`.
    pub fn io<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Io { doing, error: error.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, error } => write!(f, "{doing}: {error}"),
            Self::Audit(error) => write!(f, "audit log: {error}"),
            Self::Corrupt(what) => write!(f, "{what} is damaged"),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for Denied {
    /// Messages of the kernel may name objects that the client must not know, so it gets a code alone.
    fn from(fault: Fault) -> Self {
        let code = if matches!(fault, Fault::Audit(_)) { Code::AuditUnavailable } else { Code::Interrupted };
        drop(io::Write::write_fmt(&mut io::stderr(), format_args!("postern-audit: {fault}\n")));
        Self::new(code, "the recorder could not do this; an operator finds the reason in its journal")
    }
}
