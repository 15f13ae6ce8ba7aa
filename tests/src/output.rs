//! Exit status and output of a command in the machine.

use std::fmt;

/// Exit status and output of a command in the machine.
#[derive(Debug, Clone)]
pub struct Output {
    /// The command, for messages.
    pub command: String,
    /// Exit status; 255 where a signal ended it.
    pub code: i32,
    /// Standard output, as text.
    pub stdout: String,
    /// Standard error, as text.
    pub stderr: String,
}

impl Output {
    /// Standard output of a command that must have succeeded.
    ///
    /// # Panics
    /// When it did not; the message has everything that it said.
    #[must_use]
    #[track_caller]
    pub fn ok(self) -> String {
        assert!(self.code == 0, "{self}");
        self.stdout
    }

    /// Standard output read as one JSON object.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self}"))
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` exited with {}\n--- stdout\n{}\n--- stderr\n{}",
            self.command, self.code, self.stdout, self.stderr
        )
    }
}
