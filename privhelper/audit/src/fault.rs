//! Failures of this host, with the words for the log and the code for the client.

use postern_policy::{Code, Denied};
use std::{fmt, io};

/// A failure of this host: words for the journal, and the code that the client gets.
#[derive(Debug)]
pub struct Fault {
    what: String,
    code: Code,
}

impl Fault {
    /// For `map_err`: an error of the operating system while `doing`.
    pub fn io<E: Into<io::Error>>(doing: &str) -> impl FnOnce(E) -> Self {
        move |error| Self { what: format!("{doing}: {}", error.into()), code: Code::Interrupted }
    }

    /// For `map_err`: the audit log cannot take a record.
    pub fn audit(error: io::Error) -> Self {
        Self { code: Code::AuditUnavailable, ..Self::io("audit log")(error) }
    }

    /// A file of the recorder does not have the form that it writes.
    pub fn corrupt(what: &str) -> Self {
        Self { what: format!("{what} is damaged"), code: Code::Interrupted }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl From<Fault> for Denied {
    /// Messages of the kernel may name objects that the client must not know, so it gets a code alone.
    fn from(fault: Fault) -> Self {
        drop(io::Write::write_fmt(&mut io::stderr(), format_args!("postern-audit: {fault}\n")));
        Self::new(fault.code, "the recorder could not do this; an operator finds the reason in its journal")
    }
}
