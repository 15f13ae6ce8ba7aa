//! Errors of the helper: a denial goes to the client, a fault to the audit log.

use postern_policy::{Code, Denied, Invalid};
use postern_proto::v1 as wire;
use std::fmt;
use std::io;

/// What failed on this host, with the words for the audit and the journal.
#[derive(Debug)]
pub enum Fault {
    /// A call of the operating system.
    Io {
        /// What was tried.
        doing: &'static str,
        /// What the kernel said.
        error: io::Error,
    },
    /// The audit log cannot take a record.
    Audit(io::Error),
    /// A program that root runs did not do what it must.
    Program {
        /// Which and what.
        what: String,
    },
    /// A program did not end in time.
    Timeout {
        /// Which.
        what: &'static str,
    },
    /// A file of root's own is not what the helper wrote.
    Corrupt {
        /// Which.
        what: &'static str,
    },
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
            Self::Program { what } => f.write_str(what),
            Self::Timeout { what } => write!(f, "{what} did not end in time"),
            Self::Corrupt { what } => write!(f, "{what} is damaged"),
        }
    }
}

impl std::error::Error for Fault {}

/// The kernel's words may name what the client may not know; they go to the audit.
const UNABLE: &str = "the helper could not do this; an operator finds the reason in the audit log";

impl Fault {
    /// The one place where a fault becomes a code for a client.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Audit(_) => Code::AuditUnavailable,
            Self::Timeout { .. } => Code::Timeout,
            Self::Io { error, .. } => code_of(error.kind()),
            Self::Program { .. } | Self::Corrupt { .. } => Code::Interrupted,
        }
    }
}

impl From<Fault> for Denied {
    fn from(fault: Fault) -> Self {
        Self::new(fault.code(), UNABLE)
    }
}

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

/// Why a request ends before it is done: a decision, or a failure of this host.
#[derive(Debug)]
pub enum Stop {
    /// Decided against.
    Refused(Denied),
    /// Failed.
    Fault(Fault),
    /// The same request runs already, and who asked watches that one.
    Attached,
}

impl From<Denied> for Stop {
    fn from(refusal: Denied) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Invalid> for Stop {
    fn from(invalid: Invalid) -> Self {
        Self::Refused(invalid.into())
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Stop {
    /// The outcome of a request that has taken its id and comes to nothing.
    #[must_use]
    pub fn told(&self) -> wire::Completed {
        let (code, message) = match self {
            Self::Refused(refusal) => (refusal.code, refusal.message.clone()),
            Self::Fault(fault) => (fault.code(), UNABLE.to_owned()),
            Self::Attached => (Code::Busy, String::new()),
        };
        let status = wire::Status::Failed.into();
        wire::Completed { status, code: code.as_str().to_owned(), message, ..wire::Completed::default() }
    }

    /// What only the audit is told.
    #[must_use]
    pub fn detail(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.message.clone(),
            Self::Fault(fault) => fault.to_string(),
            Self::Attached => String::new(),
        }
    }

    /// What the client is told, and what only the audit is told.
    #[must_use]
    pub fn tell(self) -> (Denied, String) {
        let detail = self.detail();
        let refusal = match self {
            Self::Refused(refusal) => refusal,
            Self::Fault(fault) => fault.into(),
            Self::Attached => Denied::new(Code::Busy, "the same request is under way"),
        };
        (refusal, detail)
    }
}
