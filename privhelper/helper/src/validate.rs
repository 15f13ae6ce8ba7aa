//! A change of files is judged before it is made: a rule's `validate` names the command that must agree.
//!
//! The directory is copied to root's staging, the change is made in the copy, and the copy stands read-only in the
//! place of the directory for the command alone, in a unit of its own. Nobody else ever sees it: a service that
//! reloads meanwhile reads what is in force.

use crate::audit::Ticket;
use crate::context::Context;
use crate::error::{Fault, Stop};
use crate::job;
use crate::sandbox::{self, Stand};
use crate::sys::confined::{self, Need};
use crate::sys::staging::{self, Room};
use crate::sys::{files, programs, store};
use postern_policy::types::{Arguments, Attributes, TargetPath};
use postern_policy::{Code, Command, Denied, Grant, Object, VerbId};
use postern_proto::root::v1::{CommandJob, Job, JobKind, JobOutcome, Sandbox};
use postern_proto::v1 as wire;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most that is copied of all directories of one request.
const ROOM: Room = Room { bytes: 64 * 1024 * 1024, entries: 10_000 };
/// How much longer than its row says a unit may take to start and to be gone.
const SLACK: Duration = Duration::from_secs(30);

/// One file that is to change.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// Where.
    pub path: &'a TargetPath,
    /// Its directory.
    pub parent: &'a OwnedFd,
    /// What is to stand there; none = nothing.
    pub new: Option<(&'a [u8], Attributes)>,
}

/// The commands that must agree with what these rules let through, each once.
///
/// # Errors
/// `unsupported`: one is unknown, no validator, or can't be told to systemd.
pub fn rows<'a>(cx: &'a Context, by: &Grant) -> Result<Vec<&'a Command>, Stop> {
    let mut rows: Vec<&Command> = Vec::new();
    for rule in by.rules().filter(|rule| !rule.validate.is_empty()) {
        let row = cx
            .policy
            .command(&rule.validate)
            .filter(|command| command.wire.sandbox() == Sandbox::Validator)
            .ok_or_else(|| {
                let why = format!("rule {} asks {} to agree first (`validate`)", rule.id, rule.validate);
                Denied::new(Code::Unsupported, format!("{why}, which is no validator of the policy"))
            })?;
        if !rows.iter().any(|seen| seen.name == row.name) {
            rows.push(row);
        }
    }
    for row in &rows {
        let argv = row.argv(&Arguments::new(Vec::new())?)?;
        if let Some(program) = argv.first() {
            programs::program(by, program, cx.helper.host.owner_uid)?;
        }
        sandbox::properties(row, &cx.helper.host.paths, "")?;
    }
    Ok(rows)
}

/// Has every validator judge these changes: nothing of the host changes but root's own staging.
///
/// # Errors
/// `validation_failed` if one does not agree. Otherwise they could not be asked.
pub fn check(cx: &Context, ticket: &Ticket, by: &Grant, candidates: &[Candidate<'_>]) -> Result<(), Stop> {
    let rows = rows(cx, by)?;
    if rows.is_empty() || candidates.is_empty() {
        return Ok(());
    }
    let at =
        directory(&cx.helper.host.paths.state).join(job::id_of(cx.peer.uid, cx.meta.request_id.as_str()));
    store::make_directory(&at)?;
    let judged = stage(cx, ticket, candidates, &at)
        .and_then(|stands| rows.iter().try_for_each(|row| ask(cx, ticket, row, candidates, &stands)));
    store::remove_directory(&at)?;
    judged
}

/// Where the copies are.
#[must_use]
pub fn directory(state: &Path) -> PathBuf {
    state.join(sandbox::STAGING)
}

/// Copies each directory in which something is to change, and makes the changes in the copies.
fn stage(cx: &Context, ticket: &Ticket, candidates: &[Candidate<'_>], at: &Path) -> Result<Vec<Stand>, Stop> {
    let mut stands: Vec<(Stand, OwnedFd)> = Vec::new();
    let mut room = ROOM;
    let host = &cx.helper.host;
    for candidate in candidates {
        let (live, name) = candidate.path.split();
        let known = stands.iter().position(|(stand, _)| stand.live == live);
        if known.is_none() {
            let copy = at.join(stands.len().to_string());
            store::make_directory(&copy)?;
            let to = files::open_own_directory(&copy)?;
            let from = candidate.parent;
            confined::run_copy(host.landlock, from, &to, || staging::copy(ticket, from, &to, &mut room))?;
            stands.push((Stand { copy, live: live.to_owned() }, to));
        }
        if let Some((_, to)) = known.map_or(stands.last(), |known| stands.get(known)) {
            confined::run(host.landlock, Need::Change, &[to], || {
                staging::put(ticket, to, name, candidate.new)
            })?;
        }
    }
    Ok(stands.into_iter().map(|(stand, _)| stand).collect())
}

/// Asks one of them.
fn ask(
    cx: &Context,
    ticket: &Ticket,
    row: &Command,
    candidates: &[Candidate<'_>],
    stands: &[Stand],
) -> Result<(), Stop> {
    cx.watchers.progress(wire::Phase::Validate, row.name.as_str(), 0, "");
    let properties = |id: &str| sandbox::validator(row, &cx.helper.host.paths, id, stands);
    let command = CommandJob {
        argv: row.argv(&Arguments::new(Vec::new())?)?,
        env: row.wire.env.clone(),
        output_bytes: row.wire.output_bytes,
        cwd: row.wire.cwd.clone(),
        secrets: Vec::new(),
    };
    let record = Job { kind: JobKind::Command.into(), command: Some(command), ..Job::default() };
    let limit = Duration::from_secs(row.wire.timeout_s).saturating_add(SLACK);
    let (outcome, printed) = job::judge(cx, ticket, (row.name.as_str(), &record), properties, limit)?;
    if outcome.code.is_empty() {
        return Ok(());
    }
    if may_tell(cx, row, candidates) {
        for output in &printed {
            cx.watchers.event(&wire::event::Kind::Output(output.clone()));
        }
    }
    Err(Denied::new(Code::ValidationFailed, told(row, &outcome, &printed)).into())
}

/// What it printed may quote the files that it read: those that are to change, which the client must be allowed to
/// read; and others, which nobody but a user of its own without power over files may have read.
fn may_tell(cx: &Context, row: &Command, candidates: &[Candidate<'_>]) -> bool {
    let reads = |candidate: &Candidate<'_>| {
        cx.policy.grants(&cx.who, VerbId::FileRead, &Object::read(candidate.path.clone()))
    };
    let strong = |capability: &String| capability.starts_with("CAP_DAC_") || capability == "CAP_SYS_ADMIN";
    row.wire.user == sandbox::NOBODY
        && !row.wire.capabilities.iter().any(strong)
        && candidates.iter().all(reads)
}

/// Counts and codes alone.
fn told(row: &Command, outcome: &JobOutcome, printed: &[wire::Output]) -> String {
    let bytes = printed.iter().map(|output| output.data.len()).fold(0, usize::saturating_add);
    let how = match (Code::from_name(&outcome.code), outcome.signal) {
        (Some(Code::Timeout), _) => format!("it did not end within {} s", row.wire.timeout_s),
        (_, 0) if outcome.exit_code != 0 => format!("it ended with exit code {}", outcome.exit_code),
        (_, 0) => "it could not be run to its end".to_owned(),
        (_, signal) => format!("it was ended by signal {signal}"),
    };
    format!("{} does not agree, so nothing was changed: {how} and printed {bytes} bytes", row.name)
}

/// Removes what an ended helper left of its staging.
///
/// # Errors
/// It can't be removed or made anew.
pub fn clear(state: &Path) -> Result<(), Fault> {
    let directory = directory(state);
    if directory.exists() {
        store::remove_directory(&directory)?;
    }
    store::make_directory(&directory)
}
