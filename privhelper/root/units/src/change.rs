//! `unit.start` and every other change of one unit, by one command of systemctl.

use crate::facts;
use crate::state::Work;
use crate::systemctl::{self, text};
use postern_policy::facts::{UnitFacts, UnitState, unit_info};
use postern_policy::request::UnitRequest;
use postern_policy::rules::protect::RESTARTABLE;
use postern_policy::{Facts, Grant, VerbId};
use postern_proto::root::v1::{self as root, Outcome};
use postern_proto::v1::event::Kind;
use postern_proto::v1::{Completed, Phase, Progress, Status, UnitEnableRequest};
use postern_root::{Code, Denied, Error, Fault, failed};
use prost::Message;
use std::process::Output;

/// Decides on root's own facts, changes the unit, and returns the outcome.
pub fn change(work: &mut Work<'_>, request: &UnitRequest, grant: Grant) -> Result<Outcome, Error> {
    let (authority, host) = (work.authority, &work.state.host);
    // The last part of the verb's name is systemctl's command.
    let action = request.verb.name().trim_start_matches("unit.");
    let now = facts::gather(host, request)?;
    check_unchanged(work, &now)?;
    let before = now.state.clone();
    let grant = authority.decide_facts(grant, &Facts::Unit(Box::new(now)))?;
    authority.witness(&grant)?;
    let item = request.unit.to_string();
    let progress =
        Progress { phase: Phase::Run.into(), item, detail: action.to_owned(), ..Progress::default() };
    // The recorder may be gone; the change continues.
    drop(work.connection.event(Kind::Progress(progress)));
    let finished = act(work, request, action).map_err(Error::Begun)?;
    let after = facts::state(host, &request.unit).map_err(Error::begun)?;
    let completed = completed(request, &before, &after, &finished);
    let inverse = inverse(work, &grant, request, &before, &completed);
    Ok(authority.outcome(&grant, vec![after.id], completed, inverse))
}

/// Checks that the facts are those that the broker decided and a person perhaps approved; for an undo, those that the
/// effect left.
fn check_unchanged(work: &Work<'_>, now: &UnitFacts) -> Result<(), Denied> {
    let (authority, id) = (work.authority, &now.state.id);
    let known = authority.inverse.map_or(&authority.ordered.order.facts, |inverse| &inverse.left);
    let known = match known.as_ref().map(Facts::from_wire).transpose()? {
        Some(Facts::Unit(known)) => Some(known),
        Some(Facts::None | Facts::Files(_) | Facts::Packages(_)) | None => None,
    };
    let known = known.filter(|known| {
        (&known.state.active, &known.state.enabled) == (&now.state.active, &now.state.enabled)
    });
    if authority.inverse.is_some() {
        if known.is_none() {
            let why = format!("{id} has changed since; nothing was undone");
            return Err(Denied::new(Code::UndoConflict, why));
        }
        if now.affected.iter().any(|other| other.state.id != *id && other.is_cascade()) {
            let why = format!("undoing the change of {id} would affect other units");
            return Err(Denied::new(Code::WouldCascade, why));
        }
    } else if known.is_none_or(|known| known.effects() != now.effects()) {
        let why = "the unit has changed, or other units would change now; send the request again";
        return Err(Denied::new(Code::PlanChanged, why));
    }
    Ok(())
}

fn act(work: &Work<'_>, request: &UnitRequest, action: &str) -> Result<Output, Fault> {
    let unit = request.unit.as_str();
    let mut arguments = vec![action, "--no-pager", "--no-ask-password"];
    if request.now {
        arguments.push("--now");
    }
    // A restart of our own services must not wait for an end that waits for this call.
    if RESTARTABLE.contains(&unit) {
        arguments.push("--no-block");
    }
    arguments.extend(["--", unit]);
    systemctl::run(&work.state.host, &arguments)
}

fn completed(request: &UnitRequest, before: &UnitState, after: &UnitState, finished: &Output) -> Completed {
    let mut unit = unit_info(after);
    unit.was_active.clone_from(&before.active);
    unit.was_enabled.clone_from(&before.enabled);
    let stderr = text(&finished.stderr);
    let complaint = complaint(&stderr);
    // systemd unloads a unit that neither runs nor has failed: nothing is left to reset.
    let is_unknown = request.verb == VerbId::UnitResetFailed && complaint.ends_with("not loaded.");
    if !finished.status.success() && !is_unknown {
        // If the start limit stops a failed unit, systemd keeps the older result and invocation.
        let is_same_run = complaint.starts_with("Job for") && before.active == "failed";
        let is_same_run = is_same_run && before.invocation == after.invocation;
        let is_limited = after.result == "start-limit-hit" || is_same_run;
        let code = if is_limited { Code::StartLimit } else { Code::UnitFailed };
        let message = format!("{complaint} (result {}, exit status {})", after.result, after.exit_status);
        return Completed { unit: Some(unit), ..failed(code, &message) };
    }
    let status = if has_changed(request.verb, before, after) { Status::Done } else { Status::Unchanged };
    Completed { status: status.into(), unit: Some(unit), ..Completed::default() }
}

/// Returns systemctl's first line that is no warning. Continuation lines are indented.
fn complaint(stderr: &str) -> &str {
    let is_warning =
        |line: &&str| ["Warning: ", "Stopping ", " "].iter().any(|start| line.starts_with(start));
    stderr.lines().find(|line| !is_warning(line)).unwrap_or("systemctl failed")
}

/// Whether a change that succeeded changed anything.
fn has_changed(verb: VerbId, before: &UnitState, after: &UnitState) -> bool {
    let always = matches!(verb, VerbId::UnitRestart | VerbId::UnitReload);
    // systemd forgets a oneshot that succeeded, and its invocation with it.
    let has_started = verb == VerbId::UnitStart && !is_up(&before.active);
    let is_same = (&before.active, &before.enabled, before.main_pid, &before.invocation)
        == (&after.active, &after.enabled, after.main_pid, &after.invocation);
    always || has_started || !is_same
}

/// Returns the inverse of a change of a unit; none if nothing changed, or one request does not restore the state.
fn inverse(
    work: &Work<'_>,
    grant: &Grant,
    request: &UnitRequest,
    before: &UnitState,
    completed: &Completed,
) -> Option<root::Inverse> {
    let after = completed.unit.as_ref().filter(|_| completed.status() == Status::Done)?;
    let is_other = is_up(&before.active) != is_up(&after.active);
    let is_enabled_other = before.enabled != after.enabled;
    let inverses = [
        (VerbId::UnitStart, is_other, VerbId::UnitStop, false),
        (VerbId::UnitStop, is_other, VerbId::UnitStart, false),
        (VerbId::UnitEnable, is_enabled_other, VerbId::UnitDisable, is_other),
        (VerbId::UnitDisable, is_enabled_other, VerbId::UnitEnable, is_other),
        // Unmasking starts nothing: one request does not restart the unit that masking stopped.
        (VerbId::UnitMask, !is_other, VerbId::UnitUnmask, false),
        (VerbId::UnitUnmask, true, VerbId::UnitMask, false),
    ];
    let (_, _, verb, now) = inverses.into_iter().find(|(of, has_one, ..)| *of == request.verb && *has_one)?;
    // Every change of a unit has these fields; where a verb has no `now`, it is not encoded.
    let body = UnitEnableRequest { meta: None, unit: request.unit.to_string(), now }.encode_to_vec();
    let [id, active, enabled] = [&after.id, &after.active, &after.enabled].map(Clone::clone);
    let left = UnitState { id, active, enabled, ..UnitState::default() };
    let left = UnitFacts { state: left, affected: Vec::new() };
    let left = Some(Facts::Unit(Box::new(left)).to_wire());
    let inverse = work.authority.inverse_of(grant, verb, body)?;
    Some(root::Inverse { left, ..inverse })
}

/// Whether a unit of this state is up, or coming up.
fn is_up(active: &str) -> bool {
    matches!(active, "active" | "activating" | "reloading" | "refreshing")
}

/// `unit.daemon-reload`: systemd reads all its units again.
pub fn daemon_reload(work: &Work<'_>, grant: &Grant) -> Result<Outcome, Error> {
    work.authority.witness(grant)?;
    let finished = systemctl::run(&work.state.host, &["daemon-reload", "--no-ask-password"]);
    let finished = finished.map_err(Error::Begun)?;
    let completed = if finished.status.success() {
        Completed { status: Status::Done.into(), ..Completed::default() }
    } else {
        failed(Code::UnitFailed, "systemd could not read its units again; see the journal")
    };
    let outcome = work.authority.outcome(grant, Vec::new(), completed, None);
    Ok(Outcome { detail: text(&finished.stderr), ..outcome })
}
