//! Runbooks for a model: summaries of those that fit, and the whole of one as data.

use super::argument::Values;
use super::document::{Piece, Runbook};
use super::fit::Situation;
use super::needs::{PlannedPart, parts};
use crate::protocol::plan::{Check, Plan, Step};
use crate::protocol::tool::{Action, PackageTool, Tool};
use crate::shell_policy::Rules;
use serde_json::{Value, json};

/// Most runbooks that one prompt names.
const OFFERED: usize = 4;
/// Most bytes of their summaries together.
const SUMMARIES: usize = 1500;

/// A runbook that fits a task.
#[derive(Debug)]
pub struct Fitting {
    /// The runbook.
    pub runbook: Runbook,
    /// Its parts with the sample values.
    pub parts: Vec<PlannedPart>,
}

/// Those that fit, the best first, of many the first few. Commands are judged by these rules.
#[must_use]
pub fn fitting(runbooks: &[Runbook], rules: &Rules, situation: Situation<'_>) -> Vec<Fitting> {
    let mut found: Vec<_> =
        runbooks.iter().filter_map(|runbook| Some((runbook.fits(situation)?, runbook))).collect();
    found.sort_by_key(|(fit, _)| *fit);
    let judged = |(_, runbook): (_, &Runbook)| {
        let plan = runbook.plan(&runbook.samples()).ok()?;
        Some(Fitting { runbook: runbook.clone(), parts: parts(&plan, rules) })
    };
    found.into_iter().take(OFFERED).filter_map(judged).collect()
}

/// Summaries for a prompt, as one line of JSON, so that a text in it cannot end it; with those that wait for approval.
/// Empty where there are none.
#[must_use]
pub fn summaries(offered: &[(&Runbook, bool)]) -> String {
    let mut list = Vec::new();
    for (runbook, asks) in offered {
        let mut summary = json!({ "name": runbook.name, "title": runbook.title });
        if !runbook.parameters.is_empty() {
            summary["values"] = runbook.parameters.iter().map(|one| one.name.as_str()).collect();
        }
        if *asks {
            summary["approval"] = json!("an operator's or the person's");
        }
        list.push(summary);
        if json!(list).to_string().len() > SUMMARIES {
            list.pop();
            break;
        }
    }
    if list.is_empty() { String::new() } else { json!(list).to_string() }
}

/// The whole of a runbook, before its parameters have values.
#[must_use]
pub fn whole(runbook: &Runbook) -> Value {
    let of = |list: &[Piece]| list.iter().map(|piece| piece.value.clone()).collect::<Vec<Value>>();
    json!({
        "name": runbook.name, "title": runbook.title, "parameters": runbook.parameters,
        "preflight": of(&runbook.preflight), "steps": of(&runbook.steps),
        "verification": of(&runbook.verification), "rollback": of(&runbook.rollback), "notes": runbook.notes,
    })
}

/// A runbook with values, as calls that a model can make.
#[must_use]
pub fn as_calls(runbook: &Runbook, values: &Values, plan: &Plan) -> Value {
    let Plan::CommandPlan(plan) = plan else { return Value::Null };
    let steps: Vec<Value> = plan.commands.iter().map(of_step).collect();
    let checks = |list: &[Check]| list.iter().map(of_check).collect::<Vec<_>>();
    json!({
        "follows": runbook.name, "values": values, "preflight": checks(&plan.preflight_checks), "steps": steps,
        "verification": checks(&plan.verification_commands), "rollback": checks(&plan.rollback_commands),
        "notes": runbook.notes,
    })
}

fn of_step(step: &Step) -> Value {
    let (mut call, purpose) = match step {
        Step::Command(command) => (of_command(&command.command), &command.purpose),
        Step::Call(call) => (of_tool(&call.tool), &call.purpose),
    };
    if !purpose.is_empty() {
        call["purpose"] = json!(purpose);
    }
    call
}

fn of_check(check: &Check) -> Value {
    match check {
        Check::Command(command) => of_command(command),
        Check::Call(expected) => {
            let mut call = of_tool(&expected.tool);
            if let Some(expect) = &expected.expect {
                call["expect"] = json!(expect);
            }
            call
        }
    }
}

fn of_command(command: &str) -> Value {
    json!(Tool::Shell { cmd: command.to_owned() })
}

/// A call of a tool that a model has.
fn of_tool(tool: &Tool) -> Value {
    match tool {
        Tool::EnsureRunning { name } => json!(Tool::Service { action: Action::Start, name: name.clone() }),
        Tool::EnsureInstalled { names } => {
            json!(Tool::Package(PackageTool::Install { names: names.clone() }))
        }
        other => json!(other),
    }
}
