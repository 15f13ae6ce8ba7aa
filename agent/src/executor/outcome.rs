//! Computes a task's outcome from its record and the helper's outcomes, not from anybody's claims.

use crate::llm::tools::FinishOutcome;
use crate::protocol::runbook::Followed;
use crate::protocol::step::{StepResult, StepStatus};
use crate::protocol::task::{Task, TaskStatus};
use crate::protocol::tool::Tool;

/// Changes and steps that a summary names; the others are in the record.
const NAMED: usize = 10;

/// Prefix of Postern's own line in a summary.
const RECORD: &str = "Postern's record: ";

/// How many of the task's own steps succeeded and failed.
pub(super) fn counts(task: &Task) -> String {
    let own = || task.results.iter().filter(|result| result.is_own());
    let good = own().filter(|result| result.went_well()).count();
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

/// How a task ends that a model says has ended so: the worse of what it says and what the record says.
pub(super) fn of_finished(task: &Task, said: FinishOutcome) -> TaskStatus {
    let recorded = of_record(task, said);
    let said = match said {
        // Whatever the record says, a person looks at it.
        FinishOutcome::NeedsPerson => return TaskStatus::NeedsPerson,
        FinishOutcome::Done | FinishOutcome::Answered => TaskStatus::Completed,
        FinishOutcome::NotDone if task.changes.is_empty() => TaskStatus::Failed,
        FinishOutcome::Partly | FinishOutcome::NotDone => TaskStatus::Partial,
    };
    match (recorded, said) {
        (TaskStatus::Completed, said) => said,
        (recorded, _) => recorded,
    }
}

fn of_record(task: &Task, said: FinishOutcome) -> TaskStatus {
    let not_done = task.not_done();
    let is_refused = |result: &&StepResult| matches!(result.status, StepStatus::Refused | StepStatus::Denied);
    if let Some(worst) = not_done.iter().find(|result| is_refused(result)).or(not_done.first()) {
        return of_failure(task, worst.status);
    }
    if task.results.is_empty() {
        let is_answer = said == FinishOutcome::Answered && is_question(&task.task);
        return if is_answer { TaskStatus::Completed } else { TaskStatus::Failed };
    }
    // A command of the sandbox is no change of the host. Where nothing else was tried, it was what was wanted.
    let is_shell = |result: &&StepResult| matches!(result.tool, Tool::Shell { .. });
    let not_run = task.results.iter().filter(is_shell).find(is_refused);
    let failed = task.results.last().filter(is_shell).filter(|last| !last.went_well());
    match not_run.or(failed) {
        Some(result) if task.changes.is_empty() && said != FinishOutcome::Answered => {
            of_failure(task, result.status)
        }
        Some(_) | None => TaskStatus::Completed,
    }
}

/// Words that a question begins with.
const QUESTIONS: &[&str] = &[
    "are",
    "can",
    "compare",
    "could",
    "describe",
    "did",
    "do",
    "does",
    "explain",
    "has",
    "have",
    "how",
    "is",
    "list",
    "should",
    "show",
    "summarise",
    "summarize",
    "tell",
    "was",
    "were",
    "what",
    "when",
    "where",
    "which",
    "who",
    "whose",
    "why",
    "will",
    "would",
];

/// Whether a person's words ask for an answer, not for something to be done.
fn is_question(words: &str) -> bool {
    let first = words.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    let first = first.map(str::to_lowercase).unwrap_or_default();
    words.contains('?') || QUESTIONS.contains(&first.as_str())
}

/// Lists the changes of the host, with the ids to undo them by; empty where there are none.
fn changed(task: &Task) -> String {
    let one = |change: &crate::protocol::task::Change| {
        let what = format!("{} {}", change.verb, change.target);
        match &change.undo {
            Some(id) => format!("{} (postern undo {id})", what.trim_end()),
            None => what.trim_end().to_owned(),
        }
    };
    list("changed", task, &task.changes, one)
}

/// Lists the changes that were not made; empty where all were.
fn not_done(task: &Task, results: &[&StepResult]) -> String {
    let one = |result: &&StepResult| match (result.status, result.code()) {
        (StepStatus::Refused | StepStatus::Denied, code) => {
            format!("{} (refused: {code})", result.tool.describe())
        }
        (StepStatus::Cancelled, _) => format!("{} (cancelled)", result.tool.describe()),
        (_, code) => format!("{} ({code})", result.tool.describe()),
    };
    list("NOT done", task, results, one)
}

fn list<T>(head: &str, task: &Task, items: &[T], one: impl Fn(&T) -> String) -> String {
    let named: Vec<String> = items.iter().take(NAMED).map(one).collect();
    match items.len().saturating_sub(NAMED) {
        _ if named.is_empty() => String::new(),
        0 => format!("{head}: {}", named.join("; ")),
        more => format!("{head}: {}; and {more} more: postern tasks show {}", named.join("; "), task.id),
    }
}

/// Completes a summary of Postern's own with the changes. Refusals of programs in a command do not count as
/// failures of the task, but are listed.
pub(super) fn with_changes(task: &Task, summary: &str) -> String {
    let asked_by_programs: Vec<_> = task.not_done().into_iter().filter(|result| !result.is_own()).collect();
    let parts = [
        summary.trim_end().trim_end_matches('.').to_owned(),
        changed(task),
        not_done(task, &asked_by_programs),
    ];
    joined(parts)
}

fn joined(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(". ")
}

/// A model's words, and below them what the record says. Words that look like that line are marked.
pub(super) fn with_record(task: &Task, words: &str) -> String {
    let words = words.replace(RECORD.trim_end(), "[the model's words] record:");
    let changed = Some(changed(task)).filter(|changed| !changed.is_empty());
    let changed = changed.unwrap_or_else(|| "nothing was changed".to_owned());
    let parts = [changed, followed(task), not_done(task, &task.not_done())];
    format!("{}\n{RECORD}{}", words.trim_end(), joined(parts))
}

/// A summary, and how far it is as the runbooks that a model said it follows.
pub(super) fn with_followed(task: &Task, summary: &str) -> String {
    joined([summary.trim_end().trim_end_matches('.').to_owned(), followed(task)])
}

/// Says of each runbook that a model followed what was done otherwise.
fn followed(task: &Task) -> String {
    joined(task.follows.iter().map(Followed::describe))
}
