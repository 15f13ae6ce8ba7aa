//! A task: an order of a person, and the record of it.

use super::mode::Mode;
use super::owner::Owner;
use super::plan::Plan;
use super::question::Question;
use super::results::{self, Results};
use super::runbook::Followed;
use super::step::StepResult;
use super::tool::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The beginning of the warning of a task that the end of the agent interrupted.
pub const INTERRUPTED: &str = "interrupted: ";

/// A task's record, as the HTTP service shows it.
#[expect(clippy::struct_field_names, reason = "the names of the HTTP interface")]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Task {
    /// A UUID of version 7.
    pub id: String,
    /// The person's name for tasks that belong together; may be empty.
    pub session: String,
    /// The order.
    pub task: String,
    /// A W3C trace id, also in logs and in the audit; empty where none was made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trace_id: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// The pending approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waits>,
    /// Other requests of the same reply that wait for approval too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_waiting: Vec<Waits>,
    /// The open question to its person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// One line for people.
    pub summary: String,
    /// Things for a person to look at; empty unless the status is `needs_person` or the model named some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub look_at: Vec<String>,
    /// One entry a step that was tried.
    #[schema(value_type = Vec<results::Entry>)]
    pub results: Results,
    /// Changes of the host.
    pub changes: Vec<Change>,
    /// Warnings to the person.
    pub warnings: Vec<String>,
    /// The plan that it carries out or was to make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub plan: Option<Plan>,
    /// Tokens and cost of a model; empty without one.
    pub usage: Map<String, Value>,
    /// The schedule that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The runbook that it carries out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runbook: Option<String>,
    /// The runbooks that its model said it follows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follows: Vec<Followed>,
}

/// A request that waits for somebody's approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Waits {
    /// 32 hex digits.
    pub approval_id: String,
    /// Until when, in seconds since 1970.
    pub expires_unix_s: u64,
    /// The step, from 1.
    pub step: usize,
    /// The helper's record of it.
    pub request_id: String,
    /// The verb.
    pub verb: String,
    /// Its target.
    pub target: String,
    /// The values of a command, each `NAME=VALUE`, without secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
    /// The rule that wants it approved.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Others run before it.
    Queued,
    /// At work.
    Running,
    /// Until somebody approves or answers, or says no.
    Waiting,
    /// All steps are done.
    Completed,
    /// Some steps changed something, a later one did not succeed.
    Partial,
    /// Nothing was changed.
    Failed,
    /// Nothing was changed: the policy does not let it.
    Refused,
    /// Its person ended it.
    Cancelled,
    /// A limit of the task is used up.
    OutOfBudget,
    /// A person has to look at it or decide.
    NeedsPerson,
}

impl TaskStatus {
    /// Every status.
    pub const ALL: [Self; 10] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Partial,
        Self::Failed,
        Self::Refused,
        Self::Cancelled,
        Self::OutOfBudget,
        Self::NeedsPerson,
    ];

    /// Whether nothing more will happen.
    #[must_use]
    pub fn is_final(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Waiting => false,
            Self::Completed
            | Self::Partial
            | Self::Failed
            | Self::Refused
            | Self::Cancelled
            | Self::OutOfBudget
            | Self::NeedsPerson => true,
        }
    }
}

/// Something that is different on the host now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Change {
    /// The helper's record of it.
    pub request_id: String,
    /// The verb.
    pub verb: String,
    /// Its target.
    pub target: String,
    /// The id to undo it by.
    pub undo: Option<String>,
}

/// An order with its plan and how it is to be carried out. It is kept: what is added needs a default.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskOrder {
    /// The person's words.
    pub task: String,
    /// The person's name for tasks that belong together.
    pub session: String,
    /// The plan.
    pub steps: Vec<Tool>,
    /// Do it, or show what would be done.
    pub mode: Mode,
    /// Why; empty = each step's own words.
    pub reason: String,
    /// How long to wait in each step; 0 = as the rule says.
    pub wait_ms: u32,
    /// Its owner.
    pub owner: Owner,
    /// That person is there to be asked.
    pub interactive: bool,
    /// The task whose memory it goes on with.
    #[serde(default)]
    pub after: Option<String>,
    /// Kind of the order.
    #[serde(default)]
    pub work: Work,
    /// The schedule that gave it in the person's stead.
    #[serde(default)]
    pub scheduled: Option<Scheduled>,
    /// The runbook that its plan is: no model repairs it.
    #[serde(default)]
    pub runbook: Option<String>,
}

/// The schedule of an order, and its person at the time of scheduling: a uid may be another person's later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    /// The schedule's id.
    pub schedule: String,
    /// The person's name.
    pub person: String,
}

/// Kind of an order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// That it is done.
    #[default]
    Task,
    /// A plan, and nothing else.
    MakePlan,
    /// That this plan is carried out.
    CarryOut(Box<Plan>),
}

impl Task {
    /// A task that has not begun.
    #[must_use]
    pub fn new(id: String, order: &TaskOrder) -> Self {
        Self {
            id,
            session: order.session.clone(),
            task: order.task.clone(),
            trace_id: super::trace::current().map_or_else(String::new, |trace| trace.to_string()),
            status: TaskStatus::Queued,
            waiting: None,
            also_waiting: Vec::new(),
            question: None,
            summary: String::new(),
            look_at: Vec::new(),
            results: Results::default(),
            changes: Vec::new(),
            warnings: Vec::new(),
            plan: None,
            usage: Map::new(),
            schedule: order.scheduled.as_ref().map(|scheduled| scheduled.schedule.clone()),
            runbook: order.runbook.clone(),
            follows: Vec::new(),
        }
    }

    /// Returns whether the end of the agent interrupted it, so that it can be resumed.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.warnings.iter().any(|warning| warning.starts_with(INTERRUPTED))
    }

    /// A task of which no more can be read than its id.
    #[must_use]
    pub fn unreadable(id: String, why: String) -> Self {
        let order = TaskOrder {
            task: String::new(),
            session: String::new(),
            steps: Vec::new(),
            mode: Mode::Execute,
            reason: String::new(),
            wait_ms: 0,
            owner: Owner::Token,
            interactive: false,
            after: None,
            work: Work::Task,
            scheduled: None,
            runbook: None,
        };
        Self { status: TaskStatus::Failed, summary: why, trace_id: String::new(), ..Self::new(id, &order) }
    }

    /// All that waits for approval.
    pub fn waits(&self) -> impl Iterator<Item = &Waits> {
        self.waiting.iter().chain(&self.also_waiting)
    }

    /// Waits for one more approval. Said again after a lost connection, it is the same.
    pub fn begin_waiting(&mut self, waits: Waits) {
        self.end_waiting(&waits.request_id);
        match &self.waiting {
            None => self.waiting = Some(waits),
            Some(_) => self.also_waiting.push(waits),
        }
    }

    /// A request waits no longer; true if it was the last one.
    pub fn end_waiting(&mut self, request_id: &str) -> bool {
        let was_waiting = self.waits().any(|waits| waits.request_id == request_id);
        self.also_waiting.retain(|waits| waits.request_id != request_id);
        if self.waiting.as_ref().is_some_and(|waits| waits.request_id == request_id) {
            self.waiting = (!self.also_waiting.is_empty()).then(|| self.also_waiting.remove(0));
        }
        was_waiting && self.waiting.is_none()
    }

    /// The code that its exit code goes by: that of the first change which was not made, or else of the first error.
    #[must_use]
    pub fn deciding_code(&self) -> Option<&str> {
        let not_made = self.not_done().first().map(|result| result.code());
        not_made.or_else(|| self.results.iter().map(StepResult::code).find(|code| !code.is_empty()))
    }
}
