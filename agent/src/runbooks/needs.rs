//! What each part of a plan needs: requests that the policy decides, and answers of the person.

use super::place::Place;
use crate::plan::{Meaning, changes};
use crate::protocol::args::Names;
use crate::protocol::plan::{Check, Plan, Step};
use crate::protocol::request::Request;
use crate::protocol::tool::{PackageTool, Tool, unit_name};
use crate::protocol::tool_request::{request, status_of};
use crate::shell_policy::{Level, Rules};

/// The place of a part, for people.
pub type Part = &'static str;

/// One thing that a part needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    /// This request is granted.
    Request(Request),
    /// Its person says yes when it runs; why.
    Person(String),
    /// It is decided when it runs; why not before.
    Later(&'static str),
    /// It can never run; why.
    Never(String),
}

/// A part of a plan and what it needs.
#[derive(Clone, Debug)]
pub struct PlannedPart {
    /// The list that it is in.
    pub part: Part,
    /// Its number there, from 1.
    pub number: usize,
    /// The part in words.
    pub words: String,
    /// What it needs.
    pub needs: Vec<Need>,
}

/// The parts of a plan, in the order of their run. Commands are judged by these rules.
#[must_use]
pub fn parts(plan: &Plan, rules: &Rules) -> Vec<PlannedPart> {
    let Plan::CommandPlan(plan) = plan else { return Vec::new() };
    let checks = |place: Place, list: &[Check]| {
        let part = |(number, check): (usize, &Check)| {
            let needs = match check {
                Check::Command(command) => of_command(command, rules),
                Check::Call(call) => of_tool(&call.tool),
            };
            PlannedPart { part: place.word(), number, words: check.describe(), needs }
        };
        (1..).zip(list).map(part).collect::<Vec<_>>()
    };
    let step = |(number, step): (usize, &Step)| {
        let (words, needs) = match step {
            Step::Command(command) => (format!("`{}`", command.command), of_command(&command.command, rules)),
            Step::Call(call) => (call.tool.describe(), of_tool(&call.tool)),
        };
        PlannedPart { part: Place::Step.word(), number, words, needs }
    };
    let mut all = checks(Place::Preflight, &plan.preflight_checks);
    all.extend((1..).zip(&plan.commands).map(step));
    all.extend(checks(Place::Verification, &plan.verification_commands));
    all.extend(checks(Place::Rollback, &plan.rollback_commands));
    all
}

fn of_command(command: &str, rules: &Rules) -> Vec<Need> {
    match Meaning::of(command) {
        Err(why) | Ok(Meaning::Nothing(why)) => vec![Need::Never(why)],
        Ok(Meaning::Requests(steps)) => steps.into_iter().map(|step| Need::Request(step.request)).collect(),
        Ok(Meaning::Program) => {
            let decision = rules.judge(command);
            match decision.effective() {
                Level::Block => vec![Need::Never(decision.reason().to_owned())],
                Level::Confirm => vec![Need::Person(match decision.reason() {
                    "" => "no rule of commands knows it".to_owned(),
                    reason => reason.to_owned(),
                })],
                Level::Safe => Vec::new(),
            }
        }
    }
}

fn of_tool(tool: &Tool) -> Vec<Need> {
    match tool {
        Tool::ApplyPatch { .. } => vec![Need::Later("a patch's files are read first")],
        Tool::Undo { .. } => vec![Need::Later("the change to undo is known then")],
        Tool::Package(PackageTool::ListUpgrades {}) => vec![Need::Request(Request::PackageUpgrade(all()))],
        Tool::EnsureRunning { name } => {
            let look = Need::Request(status_of(&unit_name(name)));
            std::iter::once(look).chain(request(tool).map(Need::Request)).collect()
        }
        Tool::EnsureInstalled { names } => {
            let look = Need::Request(Request::PackageShow(Names { names: names.clone() }));
            std::iter::once(look).chain(request(tool).map(Need::Request)).collect()
        }
        other => request(other).map(Need::Request).into_iter().collect(),
    }
}

fn all() -> crate::protocol::args::All {
    crate::protocol::args::All { names: Vec::new(), all: true }
}

/// Whether a step may change the host.
pub fn is_change(step: &Step) -> bool {
    match step {
        Step::Call(call) => changes(&call.tool),
        Step::Command(command) => Meaning::of(&command.command).is_ok_and(|meaning| meaning.is_effect()),
    }
}
