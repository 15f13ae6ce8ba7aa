//! Reads an order into steps: words for a planner, a plan that is given, or a plan that is wanted.

use super::failure::fault;
use crate::offline_planner;
use crate::protocol::plan::{Plan, Unfit};
use crate::protocol::task::Work;
use crate::protocol::tool::Tool;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

/// An order as far as it is known before it begins.
pub struct Wanted {
    /// The person's words; of a plan without words its goal.
    pub task: String,
    /// Kind of the order.
    pub work: Work,
    /// The offline planner's steps.
    pub steps: Vec<Tool>,
    /// Why, where each step's own words are not it.
    pub reason: String,
}

/// Whether a model makes steps and plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planner {
    /// One does.
    Model,
    /// The offline planner does.
    Offline,
}

/// The order in a request's body.
pub struct Words {
    /// The person's words; may be empty where a plan is given.
    pub task: String,
    /// A plan to carry out.
    pub plan: Option<Value>,
    /// Steps, where they are known already.
    pub steps: Vec<Tool>,
    /// No more than a plan is wanted.
    pub only_plan: bool,
    /// Why; may be empty.
    pub reason: String,
}

/// Understands an order, so that what is wrong with it is said before anything is done.
pub fn wanted(words: Words, planner: Planner) -> Result<Wanted, Box<Response>> {
    let Words { task, plan, steps, only_plan, reason } = words;
    let either = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
    if let Some(plan) = plan {
        if only_plan {
            let message = "a plan is given; only_plan is for a task in words";
            return Err(Box::new(fault(StatusCode::BAD_REQUEST, "invalid_argument", message)));
        }
        let plan = Plan::of(plan).map_err(|unfit| Box::new(no_plan(&unfit)))?;
        let task = either(task, plan.goal());
        let reason = either(reason, plan.goal());
        return Ok(Wanted { task, work: Work::CarryOut(Box::new(plan)), steps: Vec::new(), reason });
    }
    if !steps.is_empty() {
        return Ok(Wanted { task, work: Work::Task, steps, reason });
    }
    let work = if only_plan { Work::MakePlan } else { Work::Task };
    match planner {
        // A model makes its steps one by one; every one of them has the person's words as its reason.
        Planner::Model if !task.trim().is_empty() => {
            let reason = either(reason, &task);
            Ok(Wanted { task, work, steps: Vec::new(), reason })
        }
        Planner::Model | Planner::Offline => match offline_planner::plan(&task) {
            Ok(steps) => Ok(Wanted { task, work, steps, reason }),
            Err(why) => Err(Box::new(not_understood(&why))),
        },
    }
}

/// Words that the offline planner can make nothing of.
pub fn not_understood(why: &offline_planner::NotUnderstood) -> Response {
    let message = format!("{why}; nothing has been done");
    fault(StatusCode::UNPROCESSABLE_ENTITY, "invalid_argument", &message)
}

fn no_plan(unfit: &Unfit) -> Response {
    let message = format!("{}; nothing has been done", unfit.why);
    fault(StatusCode::UNPROCESSABLE_ENTITY, unfit.code.name(), &message)
}
