//! A planned command: typed requests where a request does what it says, the sandbox otherwise.
//!
//! `systemctl restart nginx` in a plan needs no shim and no sandbox: its words are read here, so that a dry run
//! shows what the policy says of it.

use super::commands::Line;
use super::runner::Runner;
use super::step::{result, unit_of};
use crate::plan::Meaning;
use crate::protocol::mode::Mode;
use crate::protocol::step::{StepResult, StepStatus};
use crate::protocol::task::Task;
use crate::protocol::tool::Tool;
use crate::shell_policy::Level;
use crate::shims::{self, AfterFailure, State};

impl Runner<'_> {
    /// Runs a planned command as the task's next step.
    pub(super) async fn planned(&mut self, task: &mut Task, line: &Line<'_>) -> StepResult {
        let number = task.results.next_number();
        let tool = Tool::Shell { cmd: line.cmd.to_owned() };
        self.announce(task, number, &tool, "running");
        tool.name().clone_into(&mut self.tool);
        let acceptable = line.acceptable.unwrap_or(&[0]);
        let mut result = match Meaning::of(line.cmd) {
            Ok(Meaning::Requests(steps)) => self.requested(task, number, &tool, steps, acceptable).await,
            Ok(Meaning::Program) if self.order.mode != Mode::Execute => {
                self.foreseen(number, tool, line.cmd).await
            }
            Ok(Meaning::Program) => Box::pin(self.shell(task, number, line)).await,
            Ok(Meaning::Nothing(why)) | Err(why) => StepResult {
                error: Some(format!("unsupported: {why}")),
                ..StepResult::new(number, tool, StepStatus::Error)
            },
        };
        self.forgive(task, &mut result);
        self.taken(task, result)
    }

    /// Predicts the result of a sandboxed program for a dry run, which does not start it.
    async fn foreseen(&mut self, number: usize, tool: Tool, cmd: &str) -> StepResult {
        let refused = |status, why: String| StepResult {
            error: Some(why),
            ..StepResult::new(number, tool.clone(), status)
        };
        match self.commands.judge(cmd).await {
            Err(fault) => refused(StepStatus::Error, format!("{}: {}", fault.code, fault.message)),
            Ok(decision) if decision.effective() == Level::Block => {
                refused(StepStatus::Refused, format!("blocked: {}", decision.reason()))
            }
            Ok(decision) => StepResult {
                stdout: Some(format!("would run in the sandbox: {}", decision.describe())),
                ..StepResult::new(number, tool, StepStatus::Ok)
            },
        }
    }

    /// The requests that a command's words stand for, one after the other.
    async fn requested(
        &mut self,
        task: &mut Task,
        number: usize,
        tool: &Tool,
        steps: Vec<shims::Step>,
        acceptable: &[u8],
    ) -> StepResult {
        let mut whole = StepResult::new(number, tool.clone(), StepStatus::Ok);
        let mut said = String::new();
        for step in steps {
            if step.request.is_effect()
                && let Err(why) = self.budget.change()
            {
                whole.status = StepStatus::Error;
                whole.error = Some(format!("out_of_budget: {why}"));
                break;
            }
            let mode = if step.request.is_effect() { self.order.mode } else { Mode::Execute };
            let verb = step.request.verb();
            let outcome = self.ask(task, number, step.request, mode).await;
            let mut one = result(number, tool, &outcome, self.secrets);
            let mut exit = step.family.exit_status(code(&one), "", step.excused, verb).exit;
            if let (Some((look, _)), Some(unit)) = (step.look, unit_of(&outcome)) {
                let words;
                (words, exit) = look.output(&State::from(unit));
                one.stdout = Some(words);
            }
            said.push_str(one.stdout.as_deref().unwrap_or_default());
            let is_good = acceptable.contains(&exit) && one.status != StepStatus::Cancelled;
            // The first failure is the command's.
            if whole.error.is_none() {
                whole = StepResult { exit_code: Some(exit.into()), ..one };
                if is_good && whole.error.is_some() {
                    (whole.status, whole.error, whole.refusal) = (StepStatus::Ok, None, None);
                } else if !is_good && whole.error.is_none() {
                    whole.status = StepStatus::Error;
                    whole.error = Some(format!("failed: exit code {exit}"));
                }
            }
            if !is_good && step.then == AfterFailure::Stop {
                break;
            }
        }
        whole.stdout = Some(said).filter(|text| !text.is_empty());
        whole
    }
}

fn code(result: &StepResult) -> &str {
    result.error.as_deref().map_or("", |error| error.split_once(':').map_or(error, |(code, _)| code))
}
