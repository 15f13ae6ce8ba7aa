//! Compares runbooks that a model follows with what it did.
//!
//! A change is the same if its request is the same, however it was asked for: as a typed call, or by `systemctl` in a
//! command. A look is the same if it looks at the same thing. Looks that a runbook does not have are no difference.

use super::place::Place;
use crate::plan::Meaning;
use crate::protocol::plan::{Check, Plan, Step};
use crate::protocol::request::Request;
use crate::protocol::runbook::{Difference, DifferenceKind};
use crate::protocol::step::{StepResult, StepStatus};
use crate::protocol::tool::Tool;
use crate::protocol::tool_request::request;
use serde_json::json;

/// One request or look.
#[derive(Clone, Debug)]
struct Act {
    /// The same for the same act.
    key: String,
    verb: String,
    words: String,
    is_effect: bool,
}

/// One part of a runbook.
struct Expected {
    place: Place,
    number: usize,
    words: String,
    acts: Vec<Act>,
}

/// The acts of a task, and which of them a runbook has.
struct Done {
    acts: Vec<Act>,
    is_used: Vec<bool>,
    has_failed: bool,
}

/// Returns the differences of each plan, in their order, from the steps of a task. A change that no plan has is one of
/// the last plan's.
#[must_use]
pub fn compare(plans: &[&Plan], results: &[StepResult]) -> Vec<Vec<Difference>> {
    let mut done = Done::of(results);
    let mut all: Vec<Vec<Difference>> = plans.iter().map(|plan| done.without(plan)).collect();
    if let Some(last) = all.last_mut() {
        last.extend(done.added());
    }
    all
}

/// The steps and checks of a plan as if they had been done, to compare a plan that a model made.
#[must_use]
pub fn as_done(plan: &Plan) -> Vec<StepResult> {
    let tools = listed(plan).into_iter().flat_map(|(_, tools)| tools);
    (1..).zip(tools).map(|(number, tool)| StepResult::new(number, tool, StepStatus::Ok)).collect()
}

/// The checks before, the steps, and the checks after.
fn listed(plan: &Plan) -> [(Place, Vec<Tool>); 3] {
    let (before, after): (&[Check], &[Check]) = match plan {
        Plan::CommandPlan(plan) => (&plan.preflight_checks, &plan.verification_commands),
        Plan::FilePatch(plan) => (&[], &plan.verification_commands),
        Plan::DirectAnswer(_) | Plan::NoChange(_) | Plan::UserInput(_) => (&[], &[]),
    };
    [
        (Place::Preflight, before.iter().map(of_check).collect()),
        (Place::Step, plan.steps().iter().map(of_step).collect()),
        (Place::Verification, after.iter().map(of_check).collect()),
    ]
}

fn of_step(step: &Step) -> Tool {
    match step {
        Step::Command(command) => Tool::Shell { cmd: command.command.clone() },
        Step::Call(call) => call.tool.clone(),
    }
}

fn of_check(check: &Check) -> Tool {
    match check {
        Check::Command(command) => Tool::Shell { cmd: command.clone() },
        Check::Call(call) => call.tool.clone(),
    }
}

impl Done {
    fn of(results: &[StepResult]) -> Self {
        let mut acts = Vec::new();
        for result in results {
            // The requests of a command's programs have its number.
            let has_programs = || results.iter().any(|other| !other.is_own() && other.step == result.step);
            let is_covered = matches!(result.tool, Tool::Shell { .. }) && result.is_own() && has_programs();
            if is_covered || matches!(result.tool, Tool::Runbook { .. }) {
                continue;
            }
            let of_it = of_tool(&result.tool).into_iter();
            acts.extend(of_it.map(|act| Act { is_effect: act.is_effect && !result.no_effect, ..act }));
        }
        let has_failed = results.iter().any(|result| !result.went_well());
        Self { is_used: vec![false; acts.len()], acts, has_failed }
    }

    /// The first unused act from a place on that fits, or else any; it is used from now on.
    fn take(&mut self, from: usize, fits: impl Fn(&Act) -> bool) -> Option<usize> {
        let is_free = |at: &usize| !self.is_used[*at] && fits(&self.acts[*at]);
        let at = (from..self.acts.len()).find(is_free).or_else(|| (0..self.acts.len()).find(is_free))?;
        self.is_used[at] = true;
        Some(at)
    }

    /// Uses what a plan has; returns what of it was not done so.
    fn without(&mut self, plan: &Plan) -> Vec<Difference> {
        let parts = listed(plan).into_iter().flat_map(|(place, tools)| expected(place, &tools));
        let (mut missing, mut order, mut next) = (Vec::new(), Vec::new(), 0);
        for part in parts {
            let mut lacks = None;
            for act in &part.acts {
                match self.take(next, |done| done.key == act.key) {
                    Some(at) => {
                        next = next.max(at + 1);
                        if act.is_effect {
                            order.push(at);
                        }
                    }
                    None => lacks = Some(act.clone()),
                }
            }
            if let Some(act) = lacks {
                missing.push((part, act));
            }
        }
        let mut differences = Vec::new();
        for (part, act) in missing {
            let instead = if act.is_effect {
                self.take(0, |done| done.is_effect && done.verb == act.verb)
            } else {
                None
            };
            let (kind, instead) = match instead {
                Some(at) => (DifferenceKind::Changed, self.acts[at].words.clone()),
                None => (DifferenceKind::LeftOut, String::new()),
            };
            let Expected { place, number, words, .. } = part;
            differences.push(Difference {
                kind,
                part: format!("{} {number}", place.word()),
                what: words,
                instead,
            });
        }
        if !order.is_sorted() {
            differences.push(of_kind(DifferenceKind::Order, String::new()));
        }
        if let (Plan::CommandPlan(plan), true) = (plan, self.has_failed) {
            let back = plan.rollback_commands.iter().map(of_check);
            for act in back.flat_map(|tool| of_tool(&tool)).filter(|act| act.is_effect) {
                let _ = self.take(0, |done| done.key == act.key);
            }
        }
        differences
    }

    fn added(&self) -> Vec<Difference> {
        let left = self.acts.iter().zip(&self.is_used).filter(|(act, is_used)| act.is_effect && !**is_used);
        left.map(|(act, _)| of_kind(DifferenceKind::Added, act.words.clone())).collect()
    }
}

fn of_kind(kind: DifferenceKind, what: String) -> Difference {
    Difference { kind, part: String::new(), what, instead: String::new() }
}

fn expected(place: Place, tools: &[Tool]) -> Vec<Expected> {
    let part = |(number, tool): (usize, &Tool)| Expected {
        place,
        number,
        words: tool.describe(),
        acts: of_tool(tool),
    };
    (1..).zip(tools).map(part).collect()
}

fn of_tool(tool: &Tool) -> Vec<Act> {
    if let Tool::Shell { cmd } = tool {
        return of_command(cmd);
    }
    if let Some(request) = request(tool) {
        return vec![of_request(&request, tool.describe())];
    }
    let (verb, words) = (tool.name(), tool.describe());
    vec![Act { key: json!(tool).to_string(), verb, words, is_effect: false }]
}

fn of_command(command: &str) -> Vec<Act> {
    match Meaning::of(command) {
        Ok(Meaning::Requests(steps)) => {
            let act = |step: crate::shims::Step| {
                let words = Tool::Request(step.request.clone()).describe();
                of_request(&step.request, words)
            };
            steps.into_iter().map(act).collect()
        }
        // A program of the sandbox changes nothing of the host.
        Ok(Meaning::Program | Meaning::Nothing(_)) | Err(_) => {
            let words: Vec<&str> = command.split_whitespace().collect();
            let key = format!("command {}", words.join(" "));
            let verb = words.first().map(|word| format!("command {word}")).unwrap_or_default();
            vec![Act { key, verb, words: postern_text::line(command), is_effect: false }]
        }
    }
}

fn of_request(request: &Request, words: String) -> Act {
    let key = match request {
        Request::UnitStatus(look) if look.journal_lines > 0 => format!("unit.journal {}", look.unit),
        Request::UnitStatus(look) => format!("unit.status {}", look.unit),
        Request::FileRead(read) => format!("file.read {}", read.path),
        other => format!("{} {}", other.verb(), other.args()),
    };
    Act { key, verb: request.verb().to_owned(), words, is_effect: request.is_effect() }
}
