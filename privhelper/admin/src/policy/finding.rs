//! What is wrong with a policy, and where.

use super::source::Source;
use crate::text::escape;
use serde::Serialize;
use std::fmt;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The policy is refused whole.
    Error,
    /// An error under `--strict`.
    Warning,
    /// Good to know.
    Note,
}

impl Severity {
    /// The word that is printed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One finding, at a place in a file. Line and column count from 1; the column counts characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file as it was found.
    pub file: String,
    /// Its line.
    pub line: usize,
    /// Its column.
    pub column: usize,
    /// How bad.
    pub severity: Severity,
    /// What is wrong and what to do, in one line.
    pub message: String,
    /// The file's place in the policy.
    #[serde(skip)]
    rank: usize,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, severity, .. } = self;
        write!(f, "{}:{line}:{column}: {}: {}", escape(&self.file), severity.as_str(), escape(&self.message))
    }
}

/// Findings as they are collected.
#[derive(Debug, Default)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// Adds a finding at byte `at` of `source`.
    pub fn add(&mut self, severity: Severity, source: &Source, at: usize, message: impl Into<String>) {
        let (line, column) = source.position(at);
        let (file, rank) = (source.name.clone(), source.rank);
        self.0.push(Finding { file, line, column, severity, message: message.into(), rank });
    }

    /// Adds an error at byte `at` of `source`.
    pub fn error(&mut self, source: &Source, at: usize, message: impl Into<String>) {
        self.add(Severity::Error, source, at, message);
    }

    /// Adds an error about a whole file or directory.
    pub fn error_of(&mut self, file: String, rank: usize, message: impl Into<String>) {
        let severity = Severity::Error;
        self.0.push(Finding { file, line: 1, column: 1, severity, message: message.into(), rank });
    }

    /// How many errors there are.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.0.iter().filter(|finding| finding.severity == Severity::Error).count()
    }

    /// All of them, in the order of files and lines. What is found by two who read the same key is told once.
    #[must_use]
    pub fn sorted(mut self) -> Vec<Finding> {
        self.0.sort_by_key(|finding| (finding.rank, finding.line, finding.column));
        self.0.dedup();
        self.0
    }
}
