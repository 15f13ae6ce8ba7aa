//! Steps that are taken and told one by one, and checks: steps whose result must say something.

use super::runner::{Runner, status_word};
use crate::protocol::plan::Expected;
use crate::protocol::step::{StepResult, StepStatus};
use crate::protocol::task::Task;
use crate::protocol::tool::Tool;

impl Runner<'_> {
    /// Takes the task's next step, and tells of it.
    pub(super) async fn take(&mut self, task: &mut Task, tool: &Tool) -> StepResult {
        let number = task.results.next_number();
        self.announce(task, number, tool, "running");
        let mut result = self.step(task, number, tool).await;
        self.forgive(task, &mut result);
        self.taken(task, result)
    }

    /// Looks, and whether it is as expected.
    pub(super) async fn prove(&mut self, task: &mut Task, expected: &Expected) -> StepResult {
        let number = task.results.next_number();
        self.announce(task, number, &expected.tool, "running");
        let mut result = self.step(task, number, &expected.tool).await;
        if matches!(result.status, StepStatus::Ok | StepStatus::Truncated)
            && let Err(why) = expected.met_by(result.stdout.as_deref().unwrap_or_default())
        {
            result.status = StepStatus::Error;
            result.exit_code = None;
            result.error = Some(format!("not_verified: {why}"));
        }
        self.taken(task, result)
    }

    /// Puts a step's result into the task's record.
    pub(super) fn taken(&mut self, task: &mut Task, result: StepResult) -> StepResult {
        task.results.push(result.clone());
        self.announce(task, result.step, &result.tool, status_word(result.status));
        result
    }
}
