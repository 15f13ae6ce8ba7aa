//! A runbook that a model said it follows, and what it did otherwise.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A runbook that a model followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Followed {
    /// Its name.
    pub runbook: String,
    /// Values of its parameters.
    pub values: BTreeMap<String, String>,
    /// Differences from what it says; empty if there are none.
    pub differences: Vec<Difference>,
}

/// One difference between a runbook and what was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Difference {
    /// Its kind.
    pub kind: DifferenceKind,
    /// The part of the runbook, such as `step 2`; empty for what it does not have.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// The step in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// The act in its place.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instead: String,
}

/// Kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// The runbook has it, and it was not done.
    LeftOut,
    /// The same kind of change was made with other arguments.
    Changed,
    /// A change that the runbook does not have.
    Added,
    /// The changes were made in another order.
    Order,
}

/// Differences that a line names; the others are in the record.
const NAMED: usize = 10;

impl Followed {
    /// How far it was done as the runbook says.
    #[must_use]
    pub fn describe(&self) -> String {
        let Self { runbook, differences, .. } = self;
        if differences.is_empty() {
            return format!("as the runbook {runbook} says");
        }
        let mut named: Vec<String> = differences.iter().take(NAMED).map(Difference::describe).collect();
        if let more @ 1.. = differences.len().saturating_sub(NAMED) {
            named.push(format!("and {more} more"));
        }
        format!("NOT as the runbook {runbook} says: {}", named.join("; "))
    }
}

impl Difference {
    fn describe(&self) -> String {
        let Self { kind, part, what, instead } = self;
        match kind {
            DifferenceKind::LeftOut => format!("left out {part} ({what})"),
            DifferenceKind::Changed => format!("changed {part} ({what}) to {instead}"),
            DifferenceKind::Added => format!("added {what}"),
            DifferenceKind::Order => "another order of the steps".to_owned(),
        }
    }
}
