//! Why a text is no plan.

use std::fmt;

/// Why a text is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// It is no JSON object.
    InvalidJson,
    /// It is no plan by its `plan_type`.
    InvalidShape,
    /// Its members are not those of its type, or do not fit together.
    InvalidSchema,
    /// There is nothing in it to do.
    EmptyCommands,
    /// A command is more than plain words.
    ArgvUnsafe,
    /// A command is one that is never run.
    Blocked,
    /// The model was told once that a command is more than plain words, and did it again.
    ArgvRetryExhausted,
    /// A repair is only what has succeeded already.
    OnlyRepeats,
}

impl Code {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::InvalidJson,
        Self::InvalidShape,
        Self::InvalidSchema,
        Self::EmptyCommands,
        Self::ArgvUnsafe,
        Self::Blocked,
        Self::ArgvRetryExhausted,
        Self::OnlyRepeats,
    ];

    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidJson => "invalid_json",
            Self::InvalidShape => "invalid_shape",
            Self::InvalidSchema => "invalid_schema",
            Self::EmptyCommands => "empty_commands",
            Self::ArgvUnsafe => "argv_unsafe",
            Self::Blocked => "command_blocked",
            Self::ArgvRetryExhausted => "argv_retry_exhausted",
            Self::OnlyRepeats => "only_repeats",
        }
    }
}

/// A text that is no plan; nothing of it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Kind of the fault.
    pub code: Code,
    /// One line, for a person or a model.
    pub why: String,
}

/// Says what is wrong.
pub fn unfit(code: Code, why: impl Into<String>) -> Unfit {
    Unfit { code, why: why.into() }
}

impl Unfit {
    /// The same, of a part.
    #[must_use]
    pub fn of(self, part: &str) -> Self {
        Self { why: format!("{part}: {}", self.why), ..self }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.why)
    }
}

impl std::error::Error for Unfit {}
