//! `unit.start` and every other change of one unit: one word for systemctl.

use crate::facts::{self, Words};
use crate::state::Work;
use crate::{inverse, systemctl};
use postern_policy::facts::{UnitFacts, UnitState};
use postern_policy::request::{Request, UnitRequest};
use postern_policy::rules::protect::RESTARTABLE;
use postern_policy::{Code, Denied, Facts, VerbId};
use postern_proto::root::v1::Outcome;
use postern_proto::v1::event::Kind;
use postern_proto::v1::{Completed, Phase, Progress, Status};
use postern_root::{Error, Fault};

/// Decides on root's own facts, does it, and states what it did.
pub fn change(work: &mut Work<'_>, decoded: Request) -> Result<Outcome, Error> {
    let (authority, host) = (work.authority, &work.state.host);
    let malformed = || Denied::new(Code::InvalidArgument, "this is no change of a unit");
    let grant = authority.decide(&decoded.required_grants())?;
    let Request::Unit(request) = decoded else { return Err(malformed().into()) };
    let words = Words::of(request.verb).ok_or_else(malformed)?;
    let now = facts::gather(host, &request, words)?;
    check_unchanged(work, &now)?;
    let facts = Facts::Unit(Box::new(now));
    let grant = authority.decide_facts(grant, &facts)?;
    let Facts::Unit(before) = facts else { return Err(malformed().into()) };
    authority.witness(&grant)?;
    let item = request.unit.to_string();
    let progress =
        Progress { phase: Phase::Run.into(), item, detail: words.action.to_owned(), ..Progress::default() };
    // The recorder may be gone; the change goes on.
    drop(work.connection.event(Kind::Progress(progress)));
    let finished = act(work, &request, words)?;
    let after = facts::state(host, &request.unit)?;
    let completed = completed(&request, &before.state, &after, &finished);
    let inverse = inverse::of_unit(work.state, authority, &grant, &request, &before.state, &completed)?;
    let undoable = inverse.is_some();
    let outcome = authority.outcome(&grant, vec![after.id], Completed { undoable, ..completed });
    Ok(Outcome { detail: finished.stderr, inverse, ..outcome })
}

/// The facts must still be those that the broker decided about, and a person perhaps approved; for an undo, those that
/// the effect left.
fn check_unchanged(work: &Work<'_>, now: &UnitFacts) -> Result<(), Denied> {
    let (authority, state) = (work.authority, &now.state);
    if let Some(inverse) = authority.inverse {
        let left =
            inverse.left.as_ref().and_then(|left| left.unit.as_ref()).and_then(|left| left.unit.as_ref());
        let is_left =
            left.is_some_and(|left| (&left.active, &left.enabled) == (&state.active, &state.enabled));
        if !is_left {
            let why = format!("{} has changed since; nothing was undone", state.id);
            return Err(Denied::new(Code::UndoConflict, why));
        }
        if now.affected.iter().any(|other| other.state.id != state.id) {
            let why = format!("undoing the change of {} would affect other units", state.id);
            return Err(Denied::new(Code::WouldCascade, why));
        }
        return Ok(());
    }
    let claimed = authority.ordered.order.facts.as_ref().map(Facts::from_wire).transpose()?;
    let is_same = match claimed {
        Some(Facts::Unit(claimed)) => {
            (&claimed.state.active, &claimed.state.enabled) == (&state.active, &state.enabled)
                && claimed.effects() == now.effects()
        }
        Some(Facts::None | Facts::Files(_) | Facts::Packages(_)) | None => false,
    };
    if is_same {
        return Ok(());
    }
    let why = "the unit has changed, or other units would change now; send the request again";
    Err(Denied::new(Code::PlanChanged, why))
}

fn act(work: &Work<'_>, request: &UnitRequest, words: Words) -> Result<systemctl::Finished, Fault> {
    let unit = request.unit.as_str();
    let mut arguments = vec![words.action, "--no-pager", "--no-ask-password"];
    if request.now {
        arguments.push("--now");
    }
    // Our own services: nobody waits for the end of what waits for it.
    if RESTARTABLE.contains(&unit) {
        arguments.push("--no-block");
    }
    arguments.extend(["--", unit]);
    systemctl::run(&work.state.host, &arguments)
}

fn completed(
    request: &UnitRequest,
    before: &UnitState,
    after: &UnitState,
    finished: &systemctl::Finished,
) -> Completed {
    let mut unit = after.wire();
    unit.was_active.clone_from(&before.active);
    unit.was_enabled.clone_from(&before.enabled);
    let complaint = complaint(&finished.stderr);
    // systemd forgets a unit that neither runs nor has failed: nothing is left to reset.
    let is_unknown = request.verb == VerbId::UnitResetFailed && complaint.ends_with("not loaded.");
    if !finished.is_success && !is_unknown {
        let is_limited = after.result == "start-limit-hit";
        let code = if is_limited { Code::StartLimit } else { Code::UnitFailed };
        let message = complaint.chars().filter(|c| !c.is_control()).take(500).collect();
        let (status, code) = (Status::Failed.into(), code.as_str().to_owned());
        return Completed { status, code, message, unit: Some(unit), ..Completed::default() };
    }
    let status = if has_changed(request.verb, before, after) { Status::Done } else { Status::Unchanged };
    Completed { status: status.into(), unit: Some(unit), ..Completed::default() }
}

/// systemctl's first line that is no warning. Continued lines are indented.
fn complaint(stderr: &str) -> &str {
    let is_warning =
        |line: &&str| ["Warning: ", "Stopping ", " "].iter().any(|start| line.starts_with(start));
    stderr.lines().find(|line| !is_warning(line)).unwrap_or("systemctl failed")
}

/// Whether a change that succeeded changed anything.
fn has_changed(verb: VerbId, before: &UnitState, after: &UnitState) -> bool {
    let key = |state: &UnitState| {
        (state.active.clone(), state.enabled.clone(), state.main_pid, state.invocation.clone())
    };
    let always = matches!(verb, VerbId::UnitRestart | VerbId::UnitReload);
    // systemd forgets a oneshot that succeeded, and its invocation with it.
    let has_started = verb == VerbId::UnitStart && !before.is_up();
    always || has_started || key(before) != key(after)
}

/// `unit.daemon-reload`: systemd reads all its units again.
pub fn daemon_reload(work: &mut Work<'_>) -> Result<Outcome, Error> {
    let required = [(VerbId::UnitDaemonReload, postern_policy::Object::Nothing)];
    let grant = work.authority.decide(&required)?;
    work.authority.witness(&grant)?;
    let finished = systemctl::run(&work.state.host, &["daemon-reload", "--no-ask-password"])?;
    let completed = if finished.is_success {
        Completed { status: Status::Done.into(), ..Completed::default() }
    } else {
        let code = Code::UnitFailed.as_str().to_owned();
        let message = "systemd could not read its units again; see the journal".to_owned();
        Completed { status: Status::Failed.into(), code, message, ..Completed::default() }
    };
    Ok(Outcome { detail: finished.stderr, ..work.authority.outcome(&grant, Vec::new(), completed) })
}
