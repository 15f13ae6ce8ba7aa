//! Findings about a policy, by file, line and column.

use super::source::Source;
use crate::finding::{Class, Location, Severity};
use crate::lint::{LintFinding, kind};
use crate::text::escape;
use postern_proto::root::v1 as root;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;

/// One finding. Line and column count from 1; the column counts characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file as it was found.
    pub file: String,
    /// Its line.
    pub line: usize,
    /// Its column.
    pub column: usize,
    /// Severity; an accepted risk is a note.
    pub severity: Severity,
    /// The id of its kind: stable.
    pub id: &'static str,
    /// How bad the grant is, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// The problem and what to do, in one line.
    pub message: String,
    /// The rules that cause the finding together, by id; it is located at the first.
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
    /// The order of output.
    const fn order(&self) -> (usize, usize, usize, &'static str) {
        (self.rank, self.line, self.column, self.id)
    }
}

/// Gives each finding of the lint its line and column.
#[must_use]
pub fn of_lint(findings: Vec<LintFinding>, sources: &[Source], rules: &[root::Rule]) -> Vec<Finding> {
    // Many findings share a location, and finding a line means to read the file up to it.
    let mut positions: HashMap<Location, (usize, usize)> = HashMap::new();
    let positioned = |finding: LintFinding| {
        let source = sources.iter().find(|source| source.rank == finding.location.file);
        let (line, column) = *positions
            .entry(finding.location)
            .or_insert_with(|| source.map_or((1, 1), |source| source.position(finding.location.byte)));
        let rules = finding.rules.iter().filter_map(|index| rules.get(*index));
        Finding {
            file: source.map_or_else(String::new, |source| source.name.clone()),
            line,
            column,
            severity: finding.severity,
            id: finding.id,
            class: finding.class,
            message: finding.message,
            rules: rules.map(|rule| rule.id.clone()).collect(),
            accepted: finding.accepted,
            rank: finding.location.file,
        }
    };
    findings.into_iter().map(positioned).collect()
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

    /// Forgets what was found about these files, which are about to be replaced or removed.
    pub fn forget(&mut self, files: &[String]) {
        self.0.retain(|finding| !files.contains(&finding.file));
    }

    /// How many errors there are.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.0.iter().filter(|finding| finding.severity == Severity::Error).count()
    }

    /// All of them, in the order of files and lines, without duplicates: two checks may read the same key.
    #[must_use]
    pub fn sorted(mut self) -> Vec<Finding> {
        sort(&mut self.0);
        self.0.dedup();
        self.0
    }
}
