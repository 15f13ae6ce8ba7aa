//! Errors of requests: the stable codes, and the refusal that a client gets.

pub use postern_proto::code::Code;
use std::fmt;

/// An argument that is well-formed on the wire and fails validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The wire name of the field.
    pub field: &'static str,
    /// The requirement that it fails.
    pub why: &'static str,
}

impl Invalid {
    /// `field` is not what it must be.
    pub const fn new(field: &'static str, why: &'static str) -> Self {
        Self { field, why }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

/// Reads each text of a list of the accepted policy; the reason in words if one cannot be read.
pub(crate) fn each<T>(
    texts: &[String],
    parse: impl Fn(&str) -> Result<T, Invalid>,
) -> Result<Vec<T>, String> {
    texts.iter().map(|text| parse(text).map_err(|invalid| format!("{text:?}: {invalid}"))).collect()
}

/// Why nothing is done: the part of an error that the client gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Denied {
    /// The stable code.
    pub code: Code,
    /// One line for a person.
    pub message: String,
    /// The grant that is missing, computed from the request alone.
    pub missing: String,
    /// After how many seconds another try makes sense; 0 = unknown.
    pub retry_after_s: u32,
}

impl Denied {
    /// An error with a code and a line for a person.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), missing: String::new(), retry_after_s: 0 }
    }

    /// The same, with the name that it is about, quoted.
    pub fn with(mut self, name: impl fmt::Display) -> Self {
        self.message = format!("{}: {:?}", self.message, name.to_string());
        self
    }
}

impl From<Invalid> for Denied {
    fn from(invalid: Invalid) -> Self {
        Self::new(Code::InvalidArgument, invalid.to_string())
    }
}
