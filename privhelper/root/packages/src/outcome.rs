//! Outcomes without packages.

use postern_apt::apt_errors;
use postern_policy::Code;
use postern_proto::v1::{Completed, Status};

/// An outcome that says only that it failed.
pub fn failed(code: Code, message: &str) -> Completed {
    Completed {
        status: Status::Failed.into(),
        code: code.as_str().to_owned(),
        message: apt_errors::one_line(message),
        ..Completed::default()
    }
}

/// An outcome that says why nothing was to be done.
pub fn unchanged(message: &str) -> Completed {
    Completed { status: Status::Unchanged.into(), message: message.to_owned(), ..Completed::default() }
}
