//! What is wrong with a policy, and where.

use super::source::Source;
use crate::lint::{Class, Found, Place, kind};
use crate::text::escape;
use postern_proto::root::v1 as root;
use serde::Serialize;
use std::collections::HashMap;
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
    /// How bad. What is accepted is a note.
    pub severity: Severity,
    /// What kind of finding: stable.
    pub id: &'static str,
    /// How bad the grant is, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// What is wrong and what to do, in one line.
    pub message: String,
    /// The rules that together are the finding, by id; the first is where it stands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The reason for which the rule accepts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
    /// The file's place in the policy.
    #[serde(skip)]
    rank: usize,
}

impl Finding {
    /// Where it is told.
    const fn order(&self) -> (usize, usize, usize, &'static str) {
        (self.rank, self.line, self.column, self.id)
    }
}

/// The findings of the lint, placed in the policy's files.
#[must_use]
pub fn of_lint(found: Vec<Found>, sources: &[Source], rules: &[root::Rule]) -> Vec<Finding> {
    // Many findings share a place, and finding a line means to read the file up to it.
    let mut positions: HashMap<Place, (usize, usize)> = HashMap::new();
    let place = |found: Found| {
        let source = sources.iter().find(|source| source.rank == found.place.file);
        let (line, column) = *positions
            .entry(found.place)
            .or_insert_with(|| source.map_or((1, 1), |source| source.position(found.place.at)));
        let rules = found.rules.iter().filter_map(|index| rules.get(*index));
        Finding {
            file: source.map_or_else(String::new, |source| source.name.clone()),
            line,
            column,
            severity: found.severity,
            id: found.id,
            class: found.class,
            message: found.message,
            rules: rules.map(|rule| rule.id.clone()).collect(),
            accepted: found.accepted,
            rank: found.place.file,
        }
    };
    found.into_iter().map(place).collect()
}

/// Puts findings in the order of files and lines.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(Finding::order);
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, severity, .. } = self;
        write!(f, "{}:{line}:{column}: {}", escape(&self.file), severity.as_str())?;
        // An id is worth its room where it says which grant it is about.
        if self.class.is_some() {
            write!(f, "[{}]", self.id)?;
        }
        write!(f, ": {}", escape(&self.message))
    }
}

/// Findings as they are collected.
#[derive(Debug, Default)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// Adds a finding at byte `at` of `source`.
    pub fn add(&mut self, severity: Severity, source: &Source, at: usize, message: impl Into<String>) {
        let id = match severity {
            Severity::Error => "policy-error",
            Severity::Warning => "policy-warning",
            Severity::Note => "policy-note",
        };
        self.add_as(id, severity, source, at, message);
    }

    /// As [`Self::add`], with an id of its own, which [`kind`] must know.
    pub fn add_as(
        &mut self,
        id: &'static str,
        severity: Severity,
        source: &Source,
        at: usize,
        message: impl Into<String>,
    ) {
        debug_assert!(kind(id).is_some(), "no kind of finding is named {id}");
        let (line, column) = source.position(at);
        self.push(id, severity, source.name.clone(), (line, column), source.rank, message.into());
    }

    /// Adds an error at byte `at` of `source`.
    pub fn error(&mut self, source: &Source, at: usize, message: impl Into<String>) {
        self.add(Severity::Error, source, at, message);
    }

    /// Adds an error about a whole file or directory.
    pub fn error_of(&mut self, file: String, rank: usize, message: impl Into<String>) {
        self.push("policy-error", Severity::Error, file, (1, 1), rank, message.into());
    }

    fn push(
        &mut self,
        id: &'static str,
        severity: Severity,
        file: String,
        (line, column): (usize, usize),
        rank: usize,
        message: String,
    ) {
        let (class, rules, accepted) = (None, Vec::new(), None);
        self.0.push(Finding { file, line, column, severity, id, class, message, rules, accepted, rank });
    }

    /// How many errors there are.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.0.iter().filter(|finding| finding.severity == Severity::Error).count()
    }

    /// All of them, in the order of files and lines. What is found by two who read the same key is told once.
    #[must_use]
    pub fn sorted(mut self) -> Vec<Finding> {
        sort(&mut self.0);
        self.0.dedup();
        self.0
    }
}
