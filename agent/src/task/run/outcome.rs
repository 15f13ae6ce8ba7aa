//! What came of a task in words: from its record and the helper's outcomes, not from anybody's claims.

use crate::task::{StepResult, StepStatus, Task, TaskStatus};

/// Changes that a summary names; the others are in the record.
const NAMED: usize = 10;

/// Whether a step went well.
pub(super) fn is_good(result: &StepResult) -> bool {
    matches!(result.status, StepStatus::Ok | StepStatus::Truncated)
}

/// How many of the task's own steps succeeded and failed.
pub(super) fn counts(task: &Task) -> String {
    let own = || task.results.iter().filter(|result| result.is_own());
    let good = own().filter(|result| is_good(result)).count();
    format!("{good} succeeded, {} failed", own().count() - good)
}

/// How a task ends whose step ended so. A program of the sandbox changes nothing on the host; requests do.
pub(super) fn of_failure(task: &Task, step: StepStatus) -> TaskStatus {
    match step {
        StepStatus::Cancelled => TaskStatus::Cancelled,
        _ if !task.changes.is_empty() => TaskStatus::Partial,
        StepStatus::Refused | StepStatus::Denied => TaskStatus::Refused,
        StepStatus::Ok | StepStatus::Truncated | StepStatus::Error | StepStatus::Timeout => {
            TaskStatus::Failed
        }
    }
}

/// What is different on the host now, with the ids to undo it by; empty where nothing is.
fn changed(task: &Task) -> String {
    let one = |change: &crate::task::Change| {
        let what = format!("{} {}", change.verb, change.target);
        match &change.undo {
            Some(id) => format!("{} (postern undo {id})", what.trim_end()),
            None => what.trim_end().to_owned(),
        }
    };
    let named: Vec<String> = task.changes.iter().take(NAMED).map(one).collect();
    match task.changes.len().saturating_sub(NAMED) {
        _ if named.is_empty() => String::new(),
        0 => format!("changed: {}", named.join("; ")),
        more => format!("changed: {}; and {more} more: postern tasks show {}", named.join("; "), task.id),
    }
}

/// A summary with what changed after it.
pub(super) fn with_changes(task: &Task, summary: &str) -> String {
    let summary = summary.trim_end().trim_end_matches('.');
    let changed = changed(task);
    if changed.is_empty() { summary.to_owned() } else { format!("{summary}. {changed}") }
}
