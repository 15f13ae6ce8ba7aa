//! A runbook as a value.

use super::argument::Values;
use super::parameter::Parameter;
use super::pattern::Glob;
use super::place::Place;
use regex::Regex;
use serde_json::Value;

/// Why a file is no runbook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1; 0 where the file as a whole is meant.
    pub line: u64,
    /// Why.
    pub why: String,
}

/// Part of a runbook: a step or a check, with placeholders.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Its line.
    pub line: u64,
    /// The step or check, as a plan has it.
    pub value: Value,
}

/// What a runbook is for.
#[derive(Clone, Debug)]
pub struct When {
    /// Patterns of tasks.
    pub tasks: Vec<Regex>,
    /// Patterns of failed units, with `*`.
    pub failed_units: Vec<Glob>,
    /// Packages that must be installed.
    pub packages: Vec<String>,
    /// Files that must exist.
    pub files: Vec<String>,
}

/// A runbook.
#[derive(Clone, Debug)]
pub struct Runbook {
    /// Its name, that of its file.
    pub name: String,
    /// One line.
    pub title: String,
    /// What it is for.
    pub when: When,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// What must be so before.
    pub preflight: Vec<Piece>,
    /// Its steps.
    pub steps: Vec<Piece>,
    /// What must be so after.
    pub verification: Vec<Piece>,
    /// The steps back.
    pub rollback: Vec<Piece>,
    /// For people.
    pub notes: String,
}

impl Runbook {
    /// The values that steps are judged by before a person gives theirs.
    #[must_use]
    pub fn samples(&self) -> Values {
        let sample = |one: &Parameter| Some((one.name.clone(), one.sample()?.to_owned()));
        self.parameters.iter().filter_map(sample).collect()
    }

    /// Its lists, with their places in a plan.
    pub(super) fn lists(&self) -> [(Place, &[Piece]); 4] {
        [
            (Place::Preflight, &self.preflight),
            (Place::Step, &self.steps),
            (Place::Verification, &self.verification),
            (Place::Rollback, &self.rollback),
        ]
    }
}
