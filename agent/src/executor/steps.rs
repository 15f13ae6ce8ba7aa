//! The loop over a task's steps: each becomes requests to the helper, the first that does not succeed ends it.

use super::outcome;
use super::runner::{Runner, status_word};
use crate::protocol::mode::Mode;
use crate::protocol::step::{StepResult, StepStatus};
use crate::protocol::task::{Task, TaskStatus};
use crate::protocol::tool::Tool;
use std::fmt::Write;

impl Runner<'_> {
    /// Runs the steps. The task's record is complete at the end, whatever happened.
    pub(super) async fn run(mut self, task: &mut Task) {
        task.status = TaskStatus::Running;
        let steps = self.order.steps.clone();
        // Steps of an earlier process are done; a failed one was its last.
        let own: Vec<StepStatus> = task.results.iter().filter(|r| r.is_own()).map(|r| r.status).collect();
        let goes_on = |status: &StepStatus| matches!(status, StepStatus::Ok | StepStatus::Truncated);
        let is_over = self.order.mode != Mode::Preview && !own.iter().all(goes_on);
        let done = if is_over { steps.len() } else { own.len() };
        for (index, tool) in steps.iter().enumerate().skip(done) {
            let number = index + 1;
            if *self.cancel.borrow() {
                break;
            }
            self.announce(task, number, tool, "running");
            let mut result = self.step(task, number, tool).await;
            self.forgive(task, &mut result);
            let status = result.status;
            task.results.push(result);
            self.announce(task, number, tool, status_word(status));
            let goes_on = matches!(status, StepStatus::Ok | StepStatus::Truncated)
                || (self.order.mode == Mode::Preview && status != StepStatus::Cancelled);
            if !goes_on {
                break;
            }
        }
        finish(task, &steps, self.order.mode);
    }
}

/// The task's status and its one line, from the results of its steps.
fn finish(task: &mut Task, steps: &[Tool], mode: Mode) {
    let good = |r: &&StepResult| matches!(r.status, StepStatus::Ok | StepStatus::Truncated);
    // Results of a command's programs belong to that command.
    let own = task.results.iter().filter(|r| r.is_own());
    let done = own.clone().count();
    let bad = own.clone().find(|r| !good(r));
    let names = |tools: &[Tool]| tools.iter().map(Tool::describe).collect::<Vec<_>>().join("; ");
    let Some(bad) = bad else {
        let is_whole = done == steps.len();
        task.status = if is_whole { TaskStatus::Completed } else { TaskStatus::Cancelled };
        let summary = match (is_whole, mode) {
            (true, Mode::Execute) => format!("done: {}", names(steps)),
            (true, Mode::Preview | Mode::Check) => format!("would do: {}", names(steps)),
            (false, _) => format!("cancelled before: {}", names(&steps[done..])),
        };
        task.summary = outcome::with_changes(task, &summary);
        return;
    };
    task.status = outcome::of_failure(task, bad.status);
    let at = bad.step - 1;
    let error = bad.error.clone().unwrap_or_default();
    let mut summary = format!("{}: {error}", names(&steps[at..=at]));
    if at > 0 {
        let _ = write!(summary, ". Done before: {}", names(&steps[..at]));
    }
    if at + 1 < steps.len() && mode == Mode::Execute {
        let _ = write!(summary, ". Not done: {}", names(&steps[at + 1..]));
    }
    task.summary = outcome::with_changes(task, &summary);
}
