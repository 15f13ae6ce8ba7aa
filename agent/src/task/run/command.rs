//! A planned command: typed requests where a request does what it says, the sandbox otherwise.
//!
//! `systemctl restart nginx` in a plan needs no shim and no sandbox: its words are read here, so that a dry run
//! shows what the policy says of it.

use super::Runner;
use super::commands::Line;
use super::requests::status_of;
use super::step::result;
use crate::ask::{Mode, Outcome};
use crate::event::Event;
use crate::plan;
use crate::shell::shim::{self, Place, Then, Translation};
use crate::task::{StepResult, StepStatus, Task};
use crate::tool::{Tool, unit_name};

impl Runner<'_> {
    /// Runs a planned command as the task's next step.
    pub(super) async fn planned(&mut self, task: &mut Task, line: &Line<'_>) -> StepResult {
        let number = task.results.next_number();
        let tool = Tool::Shell { cmd: line.cmd.to_owned() };
        self.announce(task, number, &tool, "running");
        let acceptable = line.acceptable.unwrap_or(&[0]);
        let words = plan::split(line.cmd).unwrap_or_default();
        let result = if let Some((asked, unit)) = Asked::of(&words) {
            let outcome = self.ask(task, number, status_of(&unit), Mode::Execute).await;
            asked.answer(result(number, &tool, &outcome), &outcome, acceptable)
        } else {
            match shim::translate(&words, &mut Nowhere) {
                Translation::Steps(steps) => self.requested(task, number, &tool, steps, acceptable).await,
                Translation::Local(_) => self.shell(task, number, line).await,
                Translation::Advice(why, code) => StepResult {
                    exit_code: Some(code.into()),
                    error: Some(format!("unsupported: {why}")),
                    ..StepResult::new(number, tool, StepStatus::Error)
                },
            }
        };
        self.taken(task, result)
    }

    /// The requests that a command's words stand for, one after the other.
    async fn requested(
        &mut self,
        task: &mut Task,
        number: usize,
        tool: &Tool,
        steps: Vec<shim::Step>,
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
            let outcome = self.ask(task, number, step.request, mode).await;
            let one = result(number, tool, &outcome);
            said.push_str(one.stdout.as_deref().unwrap_or_default());
            let exit = step.voice.said(code(&one), "", step.excused).exit;
            let is_good = acceptable.contains(&exit) && one.status != StepStatus::Cancelled;
            // What failed first is what the command failed with.
            if whole.error.is_none() {
                whole = StepResult { exit_code: Some(exit.into()), ..one };
                if is_good {
                    let status = if whole.error.is_some() { StepStatus::Ok } else { whole.status };
                    whole = StepResult { status, error: None, refusal: None, ..whole };
                }
            }
            if !is_good && step.then == Then::Stop {
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

/// A plan's command has no input and reads no file of the agent's: what it writes stands in a typed call.
struct Nowhere;

const USE_A_CALL: &str = "a plan's command reads no file; use the call write_file, apply_patch or read_file";

impl Place for Nowhere {
    fn directory(&self) -> String {
        "/".to_owned()
    }

    fn input(&mut self) -> Result<Vec<u8>, String> {
        Err(USE_A_CALL.to_owned())
    }

    fn read(&self, _: &str) -> Result<Vec<u8>, String> {
        Err(USE_A_CALL.to_owned())
    }

    fn is_directory(&self, path: &str) -> bool {
        std::path::Path::new(path).is_dir()
    }

    fn is_own(&self, _: &str) -> bool {
        false
    }

    fn sed(&self, _: &[String], _: &[u8]) -> Result<Vec<u8>, String> {
        Err(USE_A_CALL.to_owned())
    }
}

/// What `systemctl` is asked of a unit: no sandbox reaches systemd, but the helper tells.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    /// `is-active`, `status`: 0 or 3.
    Active,
    /// `is-enabled`: 0 or 1.
    Enabled,
    /// `is-failed`: 0 or 1.
    Failed,
}

impl Asked {
    fn of(words: &[String]) -> Option<(Self, String)> {
        let mut words = words.iter().map(String::as_str).filter(|word| {
            !matches!(*word, "-q" | "--quiet" | "--no-pager" | "-l" | "--full" | "-n" | "--non-interactive")
        });
        let mut program = words.next()?;
        if program == "sudo" {
            program = words.next()?;
        }
        let (Some(action), Some(unit), None) = (words.next(), words.next(), words.next()) else {
            return None;
        };
        if program.rsplit('/').next() != Some("systemctl") || unit.starts_with('-') {
            return None;
        }
        let asked = match action {
            "is-active" | "status" => Self::Active,
            "is-enabled" => Self::Enabled,
            "is-failed" => Self::Failed,
            _ => return None,
        };
        Some((asked, unit_name(unit)))
    }

    /// As `systemctl` would answer.
    fn answer(self, result: StepResult, outcome: &Outcome, acceptable: &[u8]) -> StepResult {
        let unit = match &outcome.end {
            Event::Completed(done) => done.unit.as_ref(),
            Event::Refused(_) | Event::Error(_) => None,
            Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => None,
        };
        let Some(unit) = unit else { return result };
        let (is_so, otherwise, state) = match self {
            Self::Active => (matches!(unit.active.as_str(), "active" | "reloading"), 3, &unit.active),
            Self::Enabled => (unit.enabled.starts_with("enabled"), 1, &unit.enabled),
            Self::Failed => (unit.active == "failed", 1, &unit.active),
        };
        let exit = if is_so { 0 } else { otherwise };
        if acceptable.contains(&exit) {
            return StepResult { exit_code: Some(exit.into()), ..result };
        }
        StepResult {
            status: StepStatus::Error,
            exit_code: Some(exit.into()),
            error: Some(format!("failed: {} is {state}", unit.id)),
            ..result
        }
    }
}
