//! Errors of a request: the part for the client, and the part for the audit log alone.

use postern_policy::{Code, Denied, Invalid};
use std::{fmt, io};

/// A request that ends without an outcome.
#[derive(Debug)]
pub enum Error {
    /// Refused. The broker records it.
    Denied(Denied),
    /// Refused by the recorder or by root before any effect began. The recorder has written it.
    Recorded(Denied),
    /// Something failed. The client gets a code, the audit log the reason.
    Failed(Fault),
    /// The bytes are no message of the verb: the connection ends.
    Malformed,
}

impl Error {
    /// The same refusal where the recorder has not written it, so that the broker does.
    #[must_use]
    pub fn unrecorded(self) -> Self {
        match self {
            Self::Recorded(denied) => Self::Denied(denied),
            Self::Denied(_) | Self::Failed(_) | Self::Malformed => self,
        }
    }
}

/// A failure of this host or of another program of Postern.
#[derive(Debug)]
pub struct Fault {
    code: Code,
    detail: String,
}

impl Fault {
    /// A failure that a client gets this code for.
    #[must_use]
    pub fn new(code: Code, detail: impl fmt::Display) -> Self {
        Self { code, detail: detail.to_string() }
    }

    /// For `map_err`: an error of the operating system while `doing`.
    pub fn io<E: Into<io::Error>>(doing: &'static str) -> impl Fn(E) -> Self {
        move |error| Self::new(Code::Interrupted, format!("{doing}: {}", error.into()))
    }

    /// For `map_err`: the recorder does not answer.
    #[expect(clippy::needless_pass_by_value, reason = "`map_err` passes the error itself")]
    #[must_use]
    pub fn recorder(error: io::Error) -> Self {
        Self::new(Code::AuditUnavailable, format!("recorder: {error}"))
    }

    /// Returns the refusal for the client. The reason is left out: it may name objects that the client must not know.
    #[must_use]
    pub fn denied(&self) -> Denied {
        let message = if self.code == Code::AuditUnavailable {
            "the audit log cannot be written, so nothing was done"
        } else {
            "the helper could not do this; the audit log has the reason"
        };
        Denied::new(self.code, message)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Fault {}

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
