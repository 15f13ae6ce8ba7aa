//! Reads an order into steps: words for a planner, a plan that is given, a runbook, or a plan that is wanted.

use super::app::App;
use super::failure::{fault, unreadable};
use crate::config::host::Host;
use crate::offline_planner;
use crate::protocol::event::AgentError;
use crate::protocol::plan::{Plan, Unfit};
use crate::protocol::task::Work;
use crate::protocol::tool::Tool;
use crate::runbooks::{self, Values};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A runbook of this host to carry out. The agent itself reads it, so that the record names what was run.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunbookOrder {
    /// Its name.
    name: String,
    /// Values of its parameters.
    #[serde(default)]
    values: Values,
}

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
    /// The name of the runbook that the plan is.
    pub runbook: Option<String>,
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
    /// A runbook to carry out.
    pub runbook: Option<RunbookOrder>,
    /// Steps, where they are known already.
    pub steps: Vec<Tool>,
    /// No more than a plan is wanted.
    pub only_plan: bool,
    /// Why; may be empty.
    pub reason: String,
}

/// Understands an order, so that what is wrong with it is said before anything is done. A plan's commands are read in it, and a
/// runbook's file, on a thread that may block.
pub async fn understood(app: &App, words: Words) -> Result<Wanted, Box<Response>> {
    let planner = if app.model.is_some() { Planner::Model } else { Planner::Offline };
    let host = app.scheduler.host.clone();
    let read = tokio::task::spawn_blocking(move || wanted(words, planner, &host)).await;
    read.map_err(|error| Box::new(unreadable(&format!("the order could not be read: {error}"))))?
}

fn wanted(words: Words, planner: Planner, host: &Host) -> Result<Wanted, Box<Response>> {
    let Words { task, plan, runbook: order, steps, only_plan, reason } = words;
    let runbook = order.as_ref().map(|order| order.name.clone());
    if order.is_some() && (plan.is_some() || only_plan || !steps.is_empty()) {
        let message = "a runbook is a plan: leave plan, steps and only_plan out";
        return Err(Box::new(fault(StatusCode::BAD_REQUEST, "invalid_argument", message)));
    }
    let of_runbook = order.map(|order| planned(host, &order)).transpose()?;
    let either = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
    if plan.is_some() && only_plan {
        let message = "a plan is given; only_plan is for a task in words";
        return Err(Box::new(fault(StatusCode::BAD_REQUEST, "invalid_argument", message)));
    }
    let given = plan.map(Plan::of).transpose().map_err(|unfit| Box::new(no_plan(&unfit)))?;
    if let Some(plan) = of_runbook.or(given) {
        let task = either(task, plan.goal());
        let reason = either(reason, plan.goal());
        return Ok(Wanted { task, work: Work::CarryOut(Box::new(plan)), steps: Vec::new(), reason, runbook });
    }
    if !steps.is_empty() {
        return Ok(Wanted { task, work: Work::Task, steps, reason, runbook });
    }
    let work = if only_plan { Work::MakePlan } else { Work::Task };
    match planner {
        // A model makes its steps one by one; every one of them has the person's words as its reason.
        Planner::Model if !task.trim().is_empty() => {
            let reason = either(reason, &task);
            Ok(Wanted { task, work, steps: Vec::new(), reason, runbook })
        }
        Planner::Model | Planner::Offline => match offline_planner::plan(&task) {
            Ok(steps) => Ok(Wanted { task, work, steps, reason, runbook }),
            Err(why) => Err(Box::new(not_understood(&why))),
        },
    }
}

/// The plan that a runbook of this host is.
fn planned(host: &Host, order: &RunbookOrder) -> Result<Plan, Box<Response>> {
    let plan = || {
        let (_, runbook) = runbooks::find(host, &order.name)?;
        let invalid =
            |why: String| AgentError::new("invalid_argument", format!("{why}; nothing has been done"));
        let values = runbook.values(&order.values).map_err(invalid)?;
        runbook.plan(&values).map_err(|why| invalid(format!("{}: {why}", order.name)))
    };
    plan().map_err(|error| {
        let status = match error.code.as_str() {
            "not_found" => StatusCode::NOT_FOUND,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Box::new(fault(status, &error.code, &error.message))
    })
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
