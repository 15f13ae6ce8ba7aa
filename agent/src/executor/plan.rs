//! Runs a plan: preconditions, steps, then checks of the result. A failure is repaired by the model's next plan,
//! and rolled back only if the person says so.

use super::commands::Line;
use super::model::guard_answer;
use super::outcome::{counts, of_failure, with_changes};
use super::planning;
use super::runner::Runner;
use crate::config::tables::Limits;
use crate::llm::endpoints::Endpoint;
use crate::plan;
use crate::protocol::mode::Mode;
use crate::protocol::plan::{Check, Plan, Step};
use crate::protocol::question::{Choice, Kind, UserAnswer};
use crate::protocol::step::{StepResult, StepStatus};
use crate::protocol::task::{Task, TaskStatus, Work};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long a check that is a command may take.
const CHECK_TIME: Duration = Duration::from_secs(30);

/// Stands among the warnings meanwhile: killed then, the task is not taken up as one that still goes forward.
const TAKES_BACK: &str = "the plan failed, and what it has done is being taken back";

/// Why a plan was not carried out to its end.
pub(super) enum EarlyEnd {
    /// This step or check failed.
    Failed(Box<StepResult>),
    /// The person ended it.
    Cancelled,
    /// A limit of the task is used up.
    OutOfBudget(String),
}

impl Runner<'_> {
    /// Does what is wanted, with a model where there is one. The task's record is complete at the end, whatever
    /// happened.
    pub async fn work(self, task: &mut Task, model: Option<(&Endpoint, &Limits)>) {
        let (order, secrets) = (self.order, self.secrets);
        match (&order.work, model) {
            (Work::CarryOut(plan), model) => Box::pin(self.run_plan(task, plan, model)).await,
            (Work::MakePlan, Some((endpoint, limits))) => {
                Box::pin(self.make_plan(task, endpoint, limits)).await;
            }
            (Work::MakePlan, None) => {
                task.plan = Some(Plan::of_steps(&order.task, order.steps.clone()));
                (task.status, task.summary) = (TaskStatus::Completed, order.task.clone());
            }
            (Work::Task, Some((endpoint, limits))) if order.steps.is_empty() => {
                Box::pin(self.run_model(task, endpoint, limits)).await;
            }
            (Work::Task, _) => self.run(task).await,
        }
        if model.is_some() && order.steps.is_empty() {
            guard_answer(task, secrets).await;
        }
    }

    /// Carries a plan out. The task's record is complete at the end, whatever happened.
    async fn run_plan(mut self, task: &mut Task, plan: &Plan, model: Option<(&Endpoint, &Limits)>) {
        task.status = TaskStatus::Running;
        // One that an earlier process was stopped in goes on with the plan it had by then.
        let current = task.plan.get_or_insert_with(|| plan.clone()).clone();
        if let Some((failed, back)) = self.left_taking_back(task, &current).await {
            return conclude(task, plan, Some(EarlyEnd::Failed(failed)), Some(back), self.order.mode);
        }
        let mut failures = BTreeSet::new();
        // A task that goes on after the agent was killed has done some of it.
        let good = task.results.iter().filter(|result| result.is_own() && result.went_well());
        let mut done: BTreeSet<String> = good.map(|result| Step::key_of(&result.tool)).collect();
        let mut plans = vec![current];
        let repairs = model.map_or(0, |(_, limits)| limits.repairs);
        let stop = loop {
            let Some(current) = plans.last().cloned() else { break None };
            let Err(stop) = self.carry(task, &current, &mut done).await else { break None };
            let (EarlyEnd::Failed(failed), Some((endpoint, limits))) = (&stop, model) else {
                break Some(stop);
            };
            let may_mend = plans.len() <= usize::try_from(repairs).unwrap_or(usize::MAX)
                && self.order.mode == Mode::Execute
                // A person's no is not mended, nor is one who left.
                && matches!(failed.status, StepStatus::Error | StepStatus::Refused | StepStatus::Timeout);
            if !may_mend {
                break Some(stop);
            }
            if !failures.insert(signature(failed)) {
                task.warnings
                    .push("the repaired plan failed in the same way; no other is asked for".to_owned());
                break Some(stop);
            }
            match Box::pin(self.repair(task, &current, failed, &done, endpoint, limits)).await {
                Ok(plan) => {
                    task.plan = Some(plan.clone());
                    plans.push(plan);
                }
                Err(why) => {
                    task.warnings.push(format!("not repaired: {why}"));
                    break Some(stop);
                }
            }
        };
        let back = match &stop {
            Some(stop) => self.take_back(task, &plans, stop).await,
            None => None,
        };
        conclude(task, plan, stop, back, self.order.mode);
    }

    /// Goes through one plan; `done` holds the steps that have succeeded, and gets those that do.
    async fn carry(
        &mut self,
        task: &mut Task,
        plan: &Plan,
        done: &mut BTreeSet<String>,
    ) -> Result<(), EarlyEnd> {
        let (before, after): (&[Check], &[Check]) = match plan {
            Plan::CommandPlan(plan) => (&plan.preflight_checks, &plan.verification_commands),
            Plan::FilePatch(plan) => (&[], &plan.verification_commands),
            Plan::DirectAnswer(_) | Plan::NoChange(_) | Plan::UserInput(_) => return Ok(()),
        };
        for check in before {
            let result = self.check(task, check).await;
            self.went(result)?;
        }
        self.steps(task, &plan.steps(), done).await?;
        if self.order.mode == Mode::Execute {
            for check in after {
                let result = self.check(task, check).await;
                self.went(result)?;
            }
        }
        Ok(())
    }

    async fn steps(
        &mut self,
        task: &mut Task,
        steps: &[Step],
        done: &mut BTreeSet<String>,
    ) -> Result<(), EarlyEnd> {
        for step in planning::remaining(steps, done) {
            self.pay(step)?;
            let result = match step {
                Step::Command(command) => {
                    let line = Line {
                        cmd: &command.command,
                        time: Some(Duration::from_secs(command.timeout_seconds.into())),
                        acceptable: Some(&command.acceptable_exit_codes),
                    };
                    self.planned(task, &line).await
                }
                Step::Call(call) => self.take(task, &call.tool).await,
            };
            self.went(result)?;
            done.insert(step.key());
        }
        Ok(())
    }

    /// One check, or one step back.
    async fn check(&mut self, task: &mut Task, check: &Check) -> StepResult {
        match check {
            Check::Command(command) => {
                let line = Line { cmd: command, time: Some(CHECK_TIME), acceptable: Some(&[0]) };
                self.planned(task, &line).await
            }
            Check::Call(expected) => self.prove(task, expected).await,
        }
    }

    /// Whether a step may begin at all, and what it costs of the task's budget.
    fn pay(&mut self, step: &Step) -> Result<(), EarlyEnd> {
        if *self.cancel.borrow() {
            return Err(EarlyEnd::Cancelled);
        }
        if tokio::time::Instant::now() >= self.budget.deadline() {
            return Err(EarlyEnd::OutOfBudget("the time that a task may take is over".to_owned()));
        }
        match step {
            Step::Call(call) if plan::changes(&call.tool) => {
                self.budget.change().map_err(EarlyEnd::OutOfBudget)
            }
            // A command pays for each request that its words stand for.
            Step::Call(_) | Step::Command(_) => Ok(()),
        }
    }

    /// Whether the next step may be taken. In a dry run all are.
    fn went(&self, result: StepResult) -> Result<(), EarlyEnd> {
        if result.status == StepStatus::Cancelled || *self.cancel.borrow() {
            return Err(EarlyEnd::Cancelled);
        }
        if let Some(why) = result.error.as_deref().and_then(|error| error.strip_prefix("out_of_budget: ")) {
            return Err(EarlyEnd::OutOfBudget(why.to_owned()));
        }
        if result.went_well() || self.order.mode == Mode::Preview {
            return Ok(());
        }
        Err(EarlyEnd::Failed(Box::new(result)))
    }

    /// Takes the plan's own way back, if something was changed and the person wants it; else what to do by hand.
    async fn take_back(&mut self, task: &mut Task, plans: &[Plan], stop: &EarlyEnd) -> Option<String> {
        // The newest plan's first: it came last.
        let checks: Vec<Check> = plans.iter().rev().flat_map(planning::way_back).collect();
        if task.changes.is_empty() || checks.is_empty() || self.order.mode != Mode::Execute {
            return None;
        }
        let lines: Vec<String> = checks.iter().map(Check::describe).collect();
        let by_hand = format!("not taken back; the plan's way back: {}", lines.join("; "));
        if matches!(stop, EarlyEnd::Cancelled) || *self.cancel.borrow() {
            return Some(by_hand);
        }
        let what = "the plan failed; take back what it has done?".to_owned();
        let choices = [Choice::Yes, Choice::No];
        if self.ask_user(task, Kind::Rollback, what, lines.join("\n"), &choices).await != UserAnswer::Yes {
            return Some(by_hand);
        }
        task.warnings.push(TAKES_BACK.to_owned());
        let mut message = "taken back as the plan says".to_owned();
        for check in &checks {
            let result = self.check(task, check).await;
            if !result.went_well() {
                let error = result.error.unwrap_or_default();
                message = format!("taken back only in part: {} failed: {error}", check.describe());
                break;
            }
        }
        task.warnings.retain(|warning| warning != TAKES_BACK);
        Some(message)
    }

    /// Finds the failure of a plan that an earlier process was rolling back, with a message about it. Requests that
    /// were sent are looked up; the rest is left to the person, since some steps may be rolled back already.
    async fn left_taking_back(&mut self, task: &mut Task, plan: &Plan) -> Option<(Box<StepResult>, String)> {
        let place = task.warnings.iter().position(|warning| warning == TAKES_BACK)?;
        let failed = task.results.iter().rfind(|result| result.is_own() && !result.went_well()).cloned()?;
        task.warnings.remove(place);
        let number = task.results.next_number();
        for sent in std::mem::take(&mut self.left.sent) {
            self.recall(task, number, sent).await;
        }
        let lines: Vec<String> = planning::way_back(plan).iter().map(Check::describe).collect();
        let back = format!(
            "the agent was stopped while it took this back: look how far it came; the plan's way back: {}",
            lines.join("; ")
        );
        Some((Box::new(failed), back))
    }
}

/// The same failure again: the step, and what it said.
fn signature(result: &StepResult) -> String {
    let stderr: String = result.stderr.iter().flat_map(|text| text.chars()).take(200).collect();
    json!([result.tool, result.exit_code, result.error, stderr]).to_string()
}

/// The task's status and its one line.
fn conclude(task: &mut Task, plan: &Plan, stop: Option<EarlyEnd>, back: Option<String>, mode: Mode) {
    let goal = plan.goal();
    let (status, summary) = match (stop, plan) {
        (None, Plan::DirectAnswer(answer)) => (TaskStatus::Completed, answer.answer.clone()),
        (None, Plan::NoChange(same)) => {
            (TaskStatus::Completed, format!("no change is needed: {}", same.evidence.join("; ")))
        }
        (None, Plan::UserInput(input)) => {
            (TaskStatus::Failed, format!("nothing is done before this is known: {}", input.question))
        }
        (None, Plan::CommandPlan(_) | Plan::FilePatch(_)) => match mode {
            Mode::Execute => (TaskStatus::Completed, format!("done: {goal}")),
            Mode::Preview | Mode::Check => previewed(task, goal),
        },
        (Some(EarlyEnd::Cancelled), _) => (TaskStatus::Cancelled, format!("cancelled: {goal}")),
        (Some(EarlyEnd::OutOfBudget(why)), _) => (TaskStatus::OutOfBudget, why),
        (Some(EarlyEnd::Failed(failed)), _) => {
            let error = failed.error.unwrap_or_default();
            let at = format!("step {} ({})", failed.step, failed.tool.describe());
            (of_failure(task, failed.status), format!("{goal}: {}: {at}: {error}", counts(task)))
        }
    };
    task.summary = with_changes(task, &summary);
    if let Some(back) = back {
        task.summary.push_str(". ");
        task.summary.push_str(&back);
    }
    if status == TaskStatus::Partial {
        task.warnings.push(format!("completed with warnings: {}", counts(task)));
    }
    task.status = status;
}

/// A dry run shows every step; whether all would be let through is its end.
fn previewed(task: &Task, goal: &str) -> (TaskStatus, String) {
    let bad = task.results.iter().find(|result| result.is_own() && !result.went_well());
    let Some(bad) = bad else { return (TaskStatus::Completed, format!("would do: {goal}")) };
    let error = bad.error.clone().unwrap_or_default();
    let status = of_failure(task, bad.status);
    (status, format!("would not do: {goal}: step {} ({}): {error}", bad.step, bad.tool.describe()))
}
