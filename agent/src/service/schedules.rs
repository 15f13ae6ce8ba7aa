//! The routes about schedules. A schedule belongs to the person who made it: to all others it does not exist.

use super::app::{App, Caller, Peer};
use super::calendar::{self, CalendarError};
use super::execute::Accepted;
use super::failure::{Failure, bad_body, fault, unreadable};
use super::permit::permit;
use super::plans::{RunbookOrder, Wanted, Words, understood};
use super::scheduler::{NotBegun, in_time};
use crate::audit::Record;
use crate::client::pending_request::new_id;
use crate::inspect::failures::{UnitState, unit_states};
use crate::inspect::membership::member;
use crate::protocol::mode::Mode;
use crate::protocol::owner::{Owner, Right};
use crate::protocol::schedule::{SCHEDULES_LIMIT, SHORTEST, Schedule, ScheduleState, Trigger, UnitName};
use crate::protocol::task::{Task, TaskOrder, Work};
use crate::protocol::tool::Tool;
use crate::store::{AddedSchedule, StoredSchedule};
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

/// Times that a new schedule shows, and that are checked for being too near to each other.
const SHOWN_TIMES: u8 = 5;
/// Largest order, as JSON: the scheduler reads all of them twice a minute.
const ORDER_LIMIT: usize = 64 << 10;
/// Said of a schedule whose steps a model makes.
const MODEL_WARNING: &str = "a model makes the steps of each run, and nobody is asked before its first change: the \
                             policy alone decides; a plan (--plan) asks no model";

/// A schedule that is wanted.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSchedule {
    /// The trigger of its runs.
    trigger: Trigger,
    /// In the person's words; may be absent where a plan is given.
    #[serde(default)]
    task: String,
    /// A plan to carry out.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    plan: Option<Value>,
    /// A runbook of this host to carry out, as it is now.
    #[serde(default)]
    runbook: Option<RunbookOrder>,
    /// The steps, where the person says them instead of the words.
    #[serde(default)]
    steps: Vec<Tool>,
    /// `execute`, or `preview`: only the times are shown.
    #[serde(default)]
    mode: Mode,
    /// Why, for the audit.
    #[serde(default)]
    reason: String,
    /// How long each step may wait for locks and approval; 0 = as the policy says.
    #[serde(default)]
    wait_ms: u32,
}

/// A new schedule, and what its person should know.
#[derive(Serialize, ToSchema)]
pub struct NewlyScheduled {
    schedule: Schedule,
    /// The next times, in seconds since 1970.
    next_unix_s: Vec<i64>,
    warnings: Vec<String>,
}

/// A schedule and its runs.
#[derive(Serialize, ToSchema)]
pub struct Runs {
    schedule: Schedule,
    /// Their tasks that are kept, without results, the newest first.
    tasks: Vec<Task>,
}

type Refusal = Box<Response>;

fn refused<T>(status: StatusCode, code: &str, message: &str) -> Result<T, Refusal> {
    Err(Box::new(fault(status, code, message)))
}

fn wrong<T>(message: &str) -> Result<T, Refusal> {
    refused(StatusCode::BAD_REQUEST, "invalid_argument", message)
}

#[utoipa::path(post, path = "/schedules", request_body = NewSchedule, responses(
    (status = 200, description = "the times; nothing is kept", body = NewlyScheduled),
    (status = 201, body = NewlyScheduled),
    (status = "4XX", body = Failure),
))]
/// Has a task begin by itself, under its person's rights at that time.
pub async fn add(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    body: Result<Json<NewSchedule>, JsonRejection>,
) -> Response {
    match body {
        Ok(Json(body)) => taken_in(&app, owner, body).await.unwrap_or_else(|answer| *answer),
        Err(rejection) => bad_body(&rejection),
    }
}

async fn taken_in(app: &App, owner: Owner, body: NewSchedule) -> Result<Response, Refusal> {
    let NewSchedule { trigger, task, plan, runbook, steps, mode, reason, wait_ms } = body;
    let _permit = permit(app, owner)?;
    let person = person(app, owner).await?;
    if mode == Mode::Check {
        return wrong("a schedule's mode is execute or preview");
    }
    let words = Words { task, plan, runbook, steps, only_plan: false, reason };
    let Wanted { task, work, steps, reason, runbook } = understood(app, words).await?;
    let now = app.scheduler.host.clock.now();
    let (trigger, next, seen_failure_us) = foreseen(app, trigger, now).await?;
    let is_model = steps.is_empty() && work == Work::Task;
    let schedule = Schedule {
        id: new_id(),
        person,
        task: task.clone(),
        trigger,
        state: ScheduleState::Active,
        note: String::new(),
        next_unix_s: next.first().copied(),
        planned_unix_s: now,
        seen_failure_us,
        begun_unix_s: Vec::new(),
        last_task: None,
    };
    let order = TaskOrder {
        task,
        session: String::new(),
        steps,
        mode: Mode::Execute,
        reason,
        wait_ms,
        owner,
        interactive: false,
        after: None,
        work,
        scheduled: None,
        runbook,
    };
    if serde_json::to_string(&order).map_or(usize::MAX, |text| text.len()) > ORDER_LIMIT {
        let message = "a schedule's words or plan have at most 64 KiB";
        return refused(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message);
    }
    let warnings = if is_model { vec![MODEL_WARNING.to_owned()] } else { Vec::new() };
    let mut status = StatusCode::OK;
    if mode == Mode::Execute {
        match app.store.schedules.add(&order, &schedule) {
            Ok(AddedSchedule::Yes) => status = StatusCode::CREATED,
            Ok(AddedSchedule::TooMany) => {
                let message = format!("one person may have {SCHEDULES_LIMIT} schedules");
                return refused(StatusCode::TOO_MANY_REQUESTS, "busy", &message);
            }
            Err(why) => return Err(Box::new(unreadable(&why))),
        }
        tracing::info!(event = "schedule_added", schedule = schedule.id, owner = ?owner, "a schedule was added");
        app.audit.append(&Record::schedule(owner, "added", &schedule));
    }
    let answer = NewlyScheduled { schedule, next_unix_s: next, warnings };
    Ok((status, Json(answer)).into_response())
}

/// Takes one of the requests that a person may have under way: a schedule is checked by a program or over the bus.
/// Finds the person's name. A client with the token is no person, so its rights could not be checked later.
async fn person(app: &App, owner: Owner) -> Result<String, Refusal> {
    let Owner::Uid(uid) = owner else {
        let message = "schedules are for people at agent.sock: a token has no rights of its own to run under";
        return refused(StatusCode::FORBIDDEN, "unsupported", message);
    };
    let group = app.scheduler.host.users.clone();
    match in_time("the user database", move || member(uid, &group)).await {
        Ok(Some(member)) => Ok(member.name),
        Ok(None) => wrong(&format!("the user database does not know uid {uid}")),
        Err(why) => Err(Box::new(unreadable(&why))),
    }
}

/// Returns the trigger, its next times, and the unit's failure so far: only a later one begins a run.
async fn foreseen(
    app: &App,
    trigger: Trigger,
    now: i64,
) -> Result<(Trigger, Vec<i64>, Option<u64>), Refusal> {
    let host = &app.scheduler.host;
    match &trigger {
        Trigger::At(event) => {
            let times = match calendar::next_times(&host.calendar, event, now, SHOWN_TIMES).await {
                Ok(times) => times,
                Err(CalendarError::Invalid(why)) => return wrong(&why),
                Err(CalendarError::Unavailable(why)) => return Err(Box::new(unreadable(&why))),
            };
            if times.is_empty() {
                return wrong("this time is over and does not come again");
            }
            let is_dense = |pair: &[i64]| matches!(pair, [one, next] if next - one < SHORTEST);
            if times.windows(2).any(is_dense) {
                return wrong("this comes more often than once a minute");
            }
            Ok((trigger, times, None))
        }
        Trigger::EveryS(interval) => {
            Ok((trigger.clone(), vec![now.saturating_add(interval.seconds())], None))
        }
        Trigger::OnFailed(unit) => {
            let UnitState { name, exists, failed_us } = unit_state(app, unit).await?;
            if !exists {
                return wrong(&format!("systemd knows no unit {name}"));
            }
            let unit = UnitName::try_from(name).or_else(|why| wrong(&why))?;
            Ok((Trigger::OnFailed(unit), Vec::new(), failed_us))
        }
    }
}

async fn unit_state(app: &App, unit: &UnitName) -> Result<UnitState, Refusal> {
    let (root, names) = (app.scheduler.host.root.clone(), vec![unit.as_str().to_owned()]);
    let states = in_time("systemd", move || unit_states(&root, &names)).await;
    let state = states.and_then(|states| states.into_iter().next().unwrap_or_else(|| Err(String::new())));
    state.map_err(|why| Box::new(unreadable(&why)))
}

/// One's schedules, the oldest first; root's list has everybody's.
#[utoipa::path(get, path = "/schedules", responses((status = 200, body = Vec<Schedule>), (status = "4XX", body = Failure)))]
pub async fn list(State(app): State<Arc<App>>, ConnectInfo(Peer(owner)): Caller) -> Response {
    match app.store.schedules.find(owner, Right::See, "") {
        Ok(all) => Json(all.into_iter().map(|stored| stored.schedule).collect::<Vec<_>>()).into_response(),
        Err(why) => unreadable(&why),
    }
}

/// One schedule with its runs.
#[utoipa::path(get, path = "/schedules/{id}", params(("id" = String, Path, description = "or the beginning of it")),
    responses((status = 200, body = Runs), (status = "4XX", body = Failure)))]
pub async fn show(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Path(id): Path<String>,
) -> Response {
    let StoredSchedule { schedule, .. } = match find(&app, owner, Right::See, &id) {
        Ok(stored) => stored,
        Err(answer) => return *answer,
    };
    match app.store.runs(&schedule.id) {
        Ok(tasks) => Json(Runs { schedule, tasks }).into_response(),
        Err(why) => unreadable(&why),
    }
}

#[utoipa::path(post, path = "/schedules/{id}/pause", params(("id" = String, Path, description = "or the beginning of it")),
    responses((status = 200, body = Schedule), (status = "4XX", body = Failure)))]
/// Starts no more runs until it is resumed; one that is at work goes on. Root may pause everybody's.
pub async fn pause(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Path(id): Path<String>,
) -> Response {
    let stored = match find(&app, owner, Right::See, &id) {
        Ok(stored) => stored,
        Err(answer) => return *answer,
    };
    let mut schedule = stored.schedule.clone();
    schedule.pause("");
    replaced(&app, owner, "paused", &stored, schedule)
}

#[utoipa::path(post, path = "/schedules/{id}/resume", params(("id" = String, Path, description = "or the beginning of it")),
    responses((status = 200, body = Schedule), (status = "4XX", body = Failure)))]
/// Begins runs again, from the next time on.
pub async fn resume(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Path(id): Path<String>,
) -> Response {
    let resumed = async {
        let stored = find(&app, owner, Right::Control, &id)?;
        let _permit = permit(&app, owner)?;
        let now = app.scheduler.host.clock.now();
        let (trigger, next, seen) = foreseen(&app, stored.schedule.trigger.clone(), now).await?;
        let mut schedule = Schedule {
            trigger,
            state: ScheduleState::Active,
            note: String::new(),
            ..stored.schedule.clone()
        };
        // The runs before a person looked at it count no more.
        schedule.begun_unix_s.clear();
        schedule.seen_failure_us = seen;
        schedule.plan(now, next.first().copied());
        Ok::<_, Refusal>(replaced(&app, owner, "resumed", &stored, schedule))
    };
    resumed.await.unwrap_or_else(|answer| *answer)
}

fn replaced(
    app: &App,
    owner: Owner,
    change: &'static str,
    stored: &StoredSchedule,
    schedule: Schedule,
) -> Response {
    match app.store.schedules.replace(stored, &schedule) {
        Ok(true) => {
            app.audit.append(&Record::schedule(owner, change, &schedule));
            Json(schedule).into_response()
        }
        Ok(false) => changed(),
        Err(why) => unreadable(&why),
    }
}

fn changed() -> Response {
    fault(StatusCode::CONFLICT, "precondition_failed", "the schedule changed at the same time; try again")
}

#[utoipa::path(delete, path = "/schedules/{id}", params(("id" = String, Path, description = "or the beginning of it")),
    responses((status = 200, body = Schedule), (status = "4XX", body = Failure)))]
/// Removes a schedule; a run that is at work goes on, and the tasks of its runs are kept. Root may remove everybody's.
pub async fn remove(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Path(id): Path<String>,
) -> Response {
    let StoredSchedule { schedule, .. } = match find(&app, owner, Right::See, &id) {
        Ok(stored) => stored,
        Err(answer) => return *answer,
    };
    match app.store.schedules.remove(&schedule.id) {
        Ok(()) => {
            tracing::info!(event = "schedule_removed", schedule = schedule.id, owner = ?owner, "a schedule was removed");
            app.audit.append(&Record::schedule(owner, "removed", &schedule));
            Json(schedule).into_response()
        }
        Err(why) => unreadable(&why),
    }
}

#[utoipa::path(post, path = "/schedules/{id}/run", params(("id" = String, Path, description = "or the beginning of it")),
    responses((status = 202, body = Accepted), (status = "4XX", body = Failure)))]
/// Begins a run now, beside those that are planned.
pub async fn run(
    State(app): State<Arc<App>>,
    ConnectInfo(Peer(owner)): Caller,
    Path(id): Path<String>,
) -> Response {
    let stored = match find(&app, owner, Right::Control, &id) {
        Ok(stored) => stored,
        Err(answer) => return *answer,
    };
    let scheduler = &app.scheduler;
    match scheduler.begin(&stored, stored.schedule.clone(), None) {
        Ok(entry) => {
            app.audit.append(&Record::schedule(owner, "run", &stored.schedule));
            (StatusCode::ACCEPTED, Json(Accepted::new(entry.id()))).into_response()
        }
        Err(NotBegun::Running(task)) => {
            let why = format!("the run before it, task {task}, has not ended");
            fault(StatusCode::CONFLICT, "precondition_failed", &why)
        }
        Err(NotBegun::Full(why)) => fault(StatusCode::TOO_MANY_REQUESTS, "busy", &why),
        Err(NotBegun::NotUnderstood(why)) => {
            fault(StatusCode::UNPROCESSABLE_ENTITY, "invalid_argument", &why)
        }
        Err(NotBegun::Changed) => changed(),
        Err(NotBegun::Failed(why)) => unreadable(&why),
    }
}

/// Finds the schedule that somebody has this right over, or returns the answer that says why not.
fn find(app: &App, who: Owner, right: Right, id: &str) -> Result<StoredSchedule, Refusal> {
    let mut found =
        app.store.schedules.find(who, right, id).map_err(|why| Box::new(unreadable(&why)))?.into_iter();
    match (found.next(), found.next()) {
        (Some(stored), None) => Ok(stored),
        (None, _) => refused(StatusCode::NOT_FOUND, "not_found", "no schedule of yours has this id"),
        (Some(_), Some(_)) => {
            refused(StatusCode::CONFLICT, "invalid_argument", "several of your schedules begin so")
        }
    }
}
