//! Jobs: what runs in a unit of its own, so that it outlives this helper.
//!
//! The record goes in and the outcome comes out through files below `jobs/`;
//! there is no pipe whose end could die under dpkg.

use crate::audit::{Json, Ticket};
use crate::context::{Context, too_late};
use crate::error::{Fault, Stop};
use crate::helper::{Helper, wait_for};
use crate::leave::{Done, failed};
use crate::plan::inverse;
use crate::reply::Watchers;
use crate::sandbox;
use crate::sys::process::{self, Finished, JobUnit};
use crate::sys::store::{self, JOB_MAX};
use postern_policy::types::Digest;
use postern_policy::{Code, Command, Denied, Grant, VerbId};
use postern_proto::root::v1::{
    CommandJob, Job, JobEvent, JobKind, JobOutcome, RequestRecord, Secret, Transaction,
};
use postern_proto::v1 as wire;
use prost::Message;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the files of a job are looked at.
const LOOK: Duration = Duration::from_millis(5);
/// How often systemd is asked whether an ended command's unit still is: each time by a systemctl.
const STILL: Duration = Duration::from_millis(20);
/// How often systemd is asked whether the job's unit still is.
const ASK: Duration = Duration::from_secs(2);
/// How long an ended command's unit may take to be gone: longer than its `TimeoutStopSec=` twice over.
const GONE: Duration = Duration::from_secs(15);
/// Most bytes of a record.
const RECORD_MAX: u64 = 1024 * 1024;

/// The id of the job that runs a client's request: always the same, so that a restarted helper finds it.
#[must_use]
pub fn id_of(uid: u32, request_id: &str) -> String {
    short(&[b"postern job\n", &uid.to_le_bytes(), request_id.as_bytes()])
}

fn short(parts: &[&[u8]]) -> String {
    Digest::of(parts).to_string().chars().take(32).collect()
}

/// Where the jobs' directories are.
#[must_use]
pub fn directories(helper: &Helper) -> PathBuf {
    helper.host.paths.state.join("jobs")
}

fn directory(helper: &Helper, id: &str) -> PathBuf {
    directories(helper).join(id)
}

fn needs_systemd(helper: &Helper) -> Result<(), Denied> {
    if helper.host.paths.systemd.exists() {
        return Ok(());
    }
    Err(Denied::new(
        Code::Unsupported,
        "this host does not run systemd; packages, units and commands need it",
    ))
}

/// Simulates, unprivileged and in a unit of its own. A probe: nothing changes.
///
/// # Errors
/// What the simulation found, or why it could not be made.
pub fn plan(cx: &Context, by: &Grant, job: Job) -> Result<JobOutcome, Stop> {
    let helper = &*cx.helper;
    needs_systemd(helper)?;
    let _one_at_a_time = wait_for(&helper.simulations, by.timeout())?;
    let now = helper.host.unix().as_nanos().to_le_bytes();
    let id = short(&[
        b"postern plan\n",
        helper.host.boot_id.as_bytes(),
        &now,
        &helper.next_number().to_le_bytes(),
    ]);
    let path = directory(helper, &id);
    store::make_directory(&path)?;
    let result = simulate(helper, by, &Job { id: id.clone(), ..job });
    store::remove_directory(&path)?;
    succeed(result?)
}

fn simulate(helper: &Helper, by: &Grant, job: &Job) -> Result<JobOutcome, Stop> {
    let path = directory(helper, &job.id);
    store::replace(&path.join("job.pb"), &job.encode_to_vec())?;
    let finished = process::run_plan(&helper.host, by, &job.id, by.timeout())?;
    let mut events = Vec::new();
    take_events(&store::read(&path.join("events"), JOB_MAX)?.unwrap_or_default(), &mut events);
    events.pop().and_then(|event| event.outcome).ok_or_else(|| {
        let what = format!("the simulation ended without an outcome: {}", finished.stderr.trim());
        Fault::Program { what }.into()
    })
}

/// Runs one approved transaction: an effect. After `limit` those who wait are told, and the outcome is waited for all
/// the same.
///
/// # Errors
/// What the job says, `interrupted` if it ended without an outcome, or a fault.
pub fn execute(cx: &Context, ticket: &Ticket, job: &Job, limit: Duration) -> Result<Done, Stop> {
    let id = record(cx, job, id_of(cx.peer.uid, cx.meta.request_id.as_str()))?;
    started(&process::start_job(&cx.helper.host, ticket, &id)?)?;
    let outcome = follow(&cx.helper, ticket, (JobUnit::Run, &id), &cx.watchers, limit)?;
    Ok(done(job, outcome, &cx.watchers))
}

/// Runs one named command in the sandbox of its row: an effect. After `limit` as [`execute`]. Its secrets are in no
/// record on the disk, and the one that PID 1 opens for it is gone when [`forget`] is done.
///
/// # Errors
/// As [`execute`]; that the command itself failed is no error but an outcome.
pub fn run_command(
    cx: &Context,
    ticket: &Ticket,
    (job, secrets): (&Job, Vec<Secret>),
    row: &Command,
    limit: Duration,
) -> Result<Done, Stop> {
    let paths = &cx.helper.host.paths;
    let id = record(cx, job, id_of(cx.peer.uid, cx.meta.request_id.as_str()))?;
    if !secrets.is_empty() {
        let command = job.command.clone().map(|command| CommandJob { secrets, ..command });
        let whole = Job { id: id.clone(), command, ..job.clone() };
        store::replace(&sandbox::with_secrets(paths, &id), &whole.encode_to_vec())?;
    }
    let properties = sandbox::properties(row, paths, &id)?;
    started(&process::start_command(&cx.helper.host, ticket, &id, &properties)?)?;
    let outcome = follow(&cx.helper, ticket, (JobUnit::Command, &id), &cx.watchers, limit)?;
    Ok(ran(&outcome, cx.policy.reverse(row.name.as_str())))
}

/// Has a validator judge, in the unit that `properties` says for its id: an effect that leaves nothing behind. The
/// outcome and the first of what it printed come back, and nobody is told of them.
///
/// # Errors
/// As [`execute`]; that it does not agree is no error but an outcome.
pub fn judge(
    cx: &Context,
    ticket: &Ticket,
    (name, job): (&str, &Job),
    properties: impl FnOnce(&str) -> Result<Vec<String>, Denied>,
    limit: Duration,
) -> Result<(JobOutcome, Vec<wire::Output>), Stop> {
    let (uid, request) = (cx.peer.uid.to_le_bytes(), cx.meta.request_id.as_str().as_bytes());
    let id = record(cx, job, short(&[b"postern validate\n", &uid, request, name.as_bytes()]))?;
    let path = directory(&cx.helper, &id);
    let judged = properties(&id).map_err(Stop::from).and_then(|properties| {
        started(&process::start_command(&cx.helper.host, ticket, &id, &properties)?)?;
        let unit = (JobUnit::Command, id.as_str());
        let outcome = follow(&cx.helper, ticket, unit, &Watchers::default(), limit)?;
        let mut events = Vec::new();
        take_events(&store::read_behind(&path.join("events"), 0, JOB_MAX)?, &mut events);
        Ok((outcome, events.into_iter().filter_map(|event| event.output).collect()))
    });
    store::remove_directory(&path)?;
    judged
}

/// Writes the record of a job under this id.
fn record(cx: &Context, job: &Job, id: String) -> Result<String, Stop> {
    let helper = &*cx.helper;
    needs_systemd(helper)?;
    let path = directory(helper, &id);
    store::make_directory(&path)?;
    store::replace(&path.join("job.pb"), &Job { id: id.clone(), ..job.clone() }.encode_to_vec())?;
    Ok(id)
}

fn started(finished: &Finished) -> Result<(), Fault> {
    if finished.status.success() {
        return Ok(());
    }
    Err(Fault::Program { what: format!("the job did not start: {}", finished.stderr.trim()) })
}

/// Whether a job of this request has a record.
#[must_use]
pub fn has_begun(helper: &Helper, request: &RequestRecord) -> bool {
    directory(helper, &id_of(request.uid, &request.request_id)).join("job.pb").exists()
}

/// Takes up a job that an earlier helper started; none if its record can't be read.
#[must_use]
pub fn recover(
    helper: &Helper,
    ticket: &Ticket,
    request: &RequestRecord,
    watchers: &Watchers,
) -> Option<Done> {
    let id = &id_of(request.uid, &request.request_id);
    let known = store::read(&directory(helper, id).join("job.pb"), RECORD_MAX).ok()??;
    let job = Job::decode(known.as_slice()).unwrap_or_default();
    let is_command = job.kind() == JobKind::Command;
    let unit = if is_command { JobUnit::Command } else { JobUnit::Run };
    let followed = follow(helper, ticket, (unit, id), watchers, Duration::from_secs(60 * 60));
    let policy = helper.policy().unwrap_or_default();
    let reverse = request.command.as_ref().and_then(|call| policy.reverse(&call.name));
    let ended = followed
        .map(|outcome| if is_command { ran(&outcome, reverse) } else { done(&job, outcome, watchers) });
    Some(ended.unwrap_or_else(|stop| failed(stop).0))
}

/// Removes what a job leaves, after its outcome is recorded.
pub fn forget(helper: &Helper, uid: u32, request_id: &str) {
    let id = id_of(uid, request_id);
    let (path, secrets) = (directory(helper, &id), sandbox::with_secrets(&helper.host.paths, &id));
    // What stays is removed at the next start.
    if secrets.exists() {
        drop(store::remove_file(&secrets));
    }
    if path.exists() {
        drop(store::remove_directory(&path));
    }
}

/// Tells the watchers of progress until the outcome stands there, or the unit is gone without one.
fn follow(
    helper: &Helper,
    ticket: &Ticket,
    (unit, id): (JobUnit, &str),
    watchers: &Watchers,
    limit: Duration,
) -> Result<JobOutcome, Stop> {
    let path = directory(helper, id);
    let (mut seen, mut asked, mut gone) = (0_u64, Instant::now(), 0_u32);
    let mut deadline = Instant::now().checked_add(limit);
    loop {
        // Before the events, which are all written when it is.
        let outcome = store::read(&path.join("outcome.pb"), JOB_MAX)?;
        while tell(&path, &mut seen, watchers)? {}
        if let Some(bytes) = outcome {
            if unit == JobUnit::Command {
                wait_until_gone(helper, ticket, id);
            }
            let outcome = JobOutcome::decode(bytes.as_slice());
            return Ok(outcome.map_err(|_| Fault::Corrupt { what: "a job's outcome" })?);
        }
        if deadline.is_some_and(|at| Instant::now() >= at) {
            deadline = None;
            watchers.finish(&too_late());
        }
        if asked.elapsed() >= ASK {
            asked = Instant::now();
            // Asked more than once: between two answers the job may be about to start, or to write its outcome.
            gone = if is_there(helper, ticket, unit, id) { 0 } else { gone.saturating_add(1) };
            if gone >= 3 {
                return Err(Denied::new(
                    Code::Interrupted,
                    "the job ended without an outcome; see the journal",
                )
                .into());
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// Tells what a job has written since; false if it is nothing.
fn tell(path: &Path, seen: &mut u64, watchers: &Watchers) -> Result<bool, Fault> {
    let written = store::read_behind(&path.join("events"), *seen, JOB_MAX)?;
    let mut events = Vec::new();
    let taken = take_events(&written, &mut events);
    *seen = seen.saturating_add(u64::try_from(taken).unwrap_or(u64::MAX));
    for event in events {
        if let Some(progress) = event.progress {
            watchers.event(&wire::event::Kind::Progress(progress));
        }
        if let Some(output) = event.output {
            watchers.event(&wire::event::Kind::Output(output));
        }
    }
    Ok(taken > 0)
}

/// Whether the unit of a job is there. An error is no answer: asked again.
fn is_there(helper: &Helper, ticket: &Ticket, unit: JobUnit, id: &str) -> bool {
    let state = process::job_state(&helper.host, ticket, unit, id).unwrap_or_else(|_| "active".to_owned());
    matches!(state.as_str(), "activating" | "active" | "deactivating" | "reloading")
}

/// A command is answered when nothing of it runs any more: PID 1 kills what it has left behind.
fn wait_until_gone(helper: &Helper, ticket: &Ticket, id: &str) {
    let began = Instant::now();
    while began.elapsed() < GONE && is_there(helper, ticket, JobUnit::Command, id) {
        std::thread::sleep(STILL);
    }
}

/// Takes whole events off the front; how many bytes they are.
fn take_events(bytes: &[u8], into: &mut Vec<JobEvent>) -> usize {
    let mut rest = bytes;
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
        let Some((event, after)) = tail.split_at_checked(len) else {
            break;
        };
        if let Ok(event) = JobEvent::decode(event) {
            into.push(event);
        }
        rest = after;
    }
    bytes.len().saturating_sub(rest.len())
}

/// A job's own code becomes ours; one that we do not know is a failure of the package.
fn succeed(outcome: JobOutcome) -> Result<JobOutcome, Stop> {
    if outcome.code.is_empty() {
        return Ok(outcome);
    }
    let code = Code::from_name(&outcome.code).unwrap_or(Code::PackageFailed);
    Err(Denied::new(code, outcome.detail.chars().take(500).collect::<String>()).into())
}

/// What became of a named command, which `reverse` takes back: also where it failed, its exit code is told.
fn ran(outcome: &JobOutcome, reverse: Option<&Command>) -> Done {
    let exit =
        wire::ExitInfo { code: outcome.exit_code, signal: outcome.signal, truncated: outcome.truncated };
    let mut completed =
        wire::Completed { status: wire::Status::Done.into(), exit: Some(exit), ..wire::Completed::default() };
    if !outcome.code.is_empty() {
        // No other code can be a command's, whatever it has made of its own events.
        let known = Code::from_name(&outcome.code)
            .filter(|code| matches!(code, Code::Timeout | Code::InvalidArgument));
        let code = known.unwrap_or(Code::CommandFailed);
        completed.status = wire::Status::Failed.into();
        code.as_str().clone_into(&mut completed.code);
        completed.message = outcome.detail.chars().take(500).collect();
    }
    let reverse = reverse.filter(|_| outcome.code.is_empty());
    let undo =
        |by: &Command| Json::new().text("kind", VerbId::CommandRun.name()).text("name", by.name.as_str());
    Done { completed, undo: reverse.map_or_else(Json::new, undo) }
}

/// What became of a transaction. Where it failed, what dpkg has now is told too.
fn done(job: &Job, outcome: JobOutcome, watchers: &Watchers) -> Done {
    let mut completed = wire::Completed {
        status: wire::Status::Done.into(),
        packages: outcome.packages,
        ..Default::default()
    };
    completed.message = outcome.detail.chars().take(500).collect();
    // What takes it back is made of this, also where an earlier helper's plan is not known.
    completed.plan = Some(wire::Plan { packages: outcome.steps.clone(), ..wire::Plan::default() });
    if outcome.code.is_empty() {
        // It says why there was nothing to do.
        if !completed.message.is_empty() {
            completed.status = wire::Status::Unchanged.into();
        }
        let undo = undo(job, &completed);
        return Done { completed, undo };
    }
    if !outcome.output.is_empty() {
        let data = outcome.output.iter().copied().take(postern_proto::frame::OUTPUT_MAX).collect();
        let stream = wire::Stream::Stdout.into();
        watchers.event(&wire::event::Kind::Output(wire::Output { stream, data, truncated: false }));
    }
    completed.status = wire::Status::Failed.into();
    Code::from_name(&outcome.code).unwrap_or(Code::PackageFailed).as_str().clone_into(&mut completed.code);
    Done { completed, undo: Json::new() }
}

/// What takes it back, for the audit.
fn undo(job: &Job, completed: &wire::Completed) -> Json {
    let verb = match (job.kind(), job.transaction()) {
        (JobKind::Hold, _) => VerbId::PackageHold,
        (JobKind::Unhold, _) => VerbId::PackageUnhold,
        (_, Transaction::Install) => VerbId::PackageInstall,
        (_, Transaction::Remove) => VerbId::PackageRemove,
        (_, Transaction::Purge) => VerbId::PackagePurge,
        (_, Transaction::Autoremove) => VerbId::PackageAutoremove,
        (_, Transaction::Upgrade) => VerbId::PackageUpgrade,
        (_, Transaction::Repair | Transaction::Unspecified) => return Json::new(),
    };
    inverse::of(verb, completed).map_or_else(|_| Json::new(), |inverse| inverse.json())
}
