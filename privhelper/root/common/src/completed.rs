//! Results for the client that more than one program makes.

use postern_policy::Code;
use postern_proto::v1::{Completed, Status};

/// Longest message for a person, in characters.
const LINE_MAX: usize = 500;

/// The text as one line of bounded length without control characters.
#[must_use]
pub fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LINE_MAX).collect();
    line.trim().to_owned()
}

/// Returns a failed result.
#[must_use]
pub fn failed(code: Code, message: &str) -> Completed {
    let (status, code, message) = (Status::Failed.into(), code.as_str().to_owned(), one_line(message));
    Completed { status, code, message, ..Completed::default() }
}

/// Returns a result without a change, with the reason.
#[must_use]
pub fn unchanged(message: &str) -> Completed {
    let (status, message) = (Status::Unchanged.into(), message.to_owned());
    Completed { status, message, ..Completed::default() }
}
