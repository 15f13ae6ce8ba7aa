//! Jobs: package transactions and commands in units of their own. They outlive this program; their files have the outcome.
//!
//! `jobs/<order id>/` holds `unit` (its name), `statement.pb` (root's statement, decided before the start), `events`
//! (written by the job) and, of packages, `order.pb` and `outcome.pb`. The recorder's `Acknowledge` removes it.

use crate::host::Host;
use crate::state::Work;
use crate::systemctl;
use postern_policy::{Code, Denied};
use postern_proto::root::v1::{JobEvent, JobOutcome, Outcome};
use postern_proto::v1::event::Kind;
use postern_proto::v1::{Completed, ExitInfo, Status};
use postern_root::{Error, Fault, OrderId, OutcomeState, failed, store};
use prost::Message;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

/// How often the files of a job are read.
const TICK: Duration = Duration::from_millis(5);
/// How often systemd is asked whether a unit has ended that outlived its systemctl.
const STILL: Duration = Duration::from_millis(50);
/// Largest event of a job, in bytes: 64 KiB of output and its fields.
const EVENT_MAX: usize = 128 * 1024;
/// Largest file of a job that is read as a whole, in bytes.
const FILE_MAX: u64 = 4 * 1024 * 1024;

/// The directory of a job.
pub fn directory(host: &Host, id: OrderId) -> PathBuf {
    host.root.state.join("jobs").join(id.to_string())
}

/// Where a command's record is kept until it has started.
pub fn record(host: &Host, id: OrderId) -> PathBuf {
    host.commands.join(id.to_string())
}

/// Makes the directory of a new job.
///
/// # Errors
/// `request_id_conflict`: there is one, so this order was begun before.
pub fn begin(host: &Host, id: OrderId, unit: &str, statement: &Outcome) -> Result<PathBuf, Error> {
    let path = directory(host, id);
    store::make_directory(&path)?;
    if !store::claim(&path.join("begun"), &[])? {
        return Err(Denied::new(Code::RequestIdConflict, "this order was begun before").into());
    }
    store::replace(&path.join("statement.pb"), &[&statement.encode_to_vec()], store::Durability::Synced)?;
    store::replace(&path.join("unit"), &[unit.as_bytes()], store::Durability::Synced)?;
    Ok(path)
}

/// Starts the unit of a job, forwards its events, and returns the outcome when all its processes have ended.
pub fn run(work: &mut Work<'_>, unit: &str, path: &Path) -> Result<Outcome, Error> {
    let child = systemctl::start(&work.state.host, unit)?;
    // The job continues if anything fails here; its files give the recorder the outcome.
    follow(work, child, unit, path).map_err(Error::Begun)
}

fn follow(work: &mut Work<'_>, mut child: Child, unit: &str, path: &Path) -> Result<Outcome, Fault> {
    let host = &work.state.host;
    let mut events = Events::new(path);
    while child.try_wait().map_err(Fault::io("wait for systemctl"))?.is_none() {
        events.forward(work);
        std::thread::sleep(TICK);
    }
    // If systemctl was killed, the job may still run.
    while systemctl::is_running(host, unit)? {
        events.forward(work);
        std::thread::sleep(STILL);
    }
    events.forward(work);
    outcome(host, work.authority.ordered.id)
}

/// Returns the state of a job.
pub fn state(host: &Host, id: OrderId) -> Result<OutcomeState, Fault> {
    let path = directory(host, id);
    let Some(unit) = store::read(&path.join("unit"), 1024)? else { return Ok(OutcomeState::Unknown) };
    if systemctl::is_running(host, &String::from_utf8_lossy(&unit))? {
        return Ok(OutcomeState::Running);
    }
    outcome(host, id).map(|outcome| OutcomeState::Ended(Box::new(outcome)))
}

/// Returns the outcome of a job that has ended: the job's own, the last event's, or PID 1's result.
pub fn outcome(host: &Host, id: OrderId) -> Result<Outcome, Fault> {
    let path = directory(host, id);
    let corrupt = || Fault::Corrupt("a job's files");
    if let Some(bytes) = store::read(&path.join("outcome.pb"), FILE_MAX)? {
        return Outcome::decode(bytes.as_slice()).map_err(|_| corrupt());
    }
    let statement = store::read(&path.join("statement.pb"), FILE_MAX)?.ok_or_else(corrupt)?;
    let statement = Outcome::decode(statement.as_slice()).map_err(|_| corrupt())?;
    let ended = match Events::new(&path).last() {
        Some(outcome) => command_outcome(&outcome),
        None => without_outcome(host, &path)?,
    };
    let is_done = ended.status() == Status::Done;
    let (rule, decision) = (statement.rule.clone(), statement.decision);
    let inverse = statement.inverse.filter(|_| is_done);
    let undoable = inverse.is_some();
    Ok(Outcome { completed: Some(Completed { rule, decision, undoable, ..ended }), inverse, ..statement })
}

fn command_outcome(outcome: &JobOutcome) -> Completed {
    let (code, signal, truncated) = (outcome.exit_code, outcome.signal, outcome.truncated);
    let exit = Some(ExitInfo { code, signal, truncated });
    if outcome.code.is_empty() {
        return Completed { status: Status::Done.into(), exit, ..Completed::default() };
    }
    // A command can forge its own events, but has no other code.
    Completed { exit, ..failed(Code::CommandFailed, &outcome.detail) }
}

/// Returns the outcome of a unit that ended before it wrote one.
fn without_outcome(host: &Host, path: &Path) -> Result<Completed, Fault> {
    let unit = store::read(&path.join("unit"), 1024)?.unwrap_or_default();
    let property = |name| systemctl::property(host, name, &String::from_utf8_lossy(&unit));
    // A unit that is not loaded has not run; systemd reports its result as success.
    let load = property("LoadState")?;
    let result = if load == "loaded" { property("Result")? } else { load };
    Ok(match result.as_str() {
        "timeout" => failed(Code::Timeout, "it did not end within its time (`timeout`) and was killed"),
        "success" => {
            let interrupted = failed(Code::Interrupted, "it ended without an outcome; see the journal");
            Completed { status: Status::Interrupted.into(), ..interrupted }
        }
        other => {
            failed(Code::CommandFailed, &format!("it could not be run to its end: {other}; see the journal"))
        }
    })
}

/// Removes the files of a job, once the recorder has written its end.
pub fn forget(host: &Host, id: OrderId) {
    // Files that cannot be removed now stay until the next boot or until a person removes them; they have no secret.
    for path in [record(host, id), directory(host, id)] {
        for file in store::list(&path).unwrap_or_default() {
            drop(store::remove(&file));
        }
        drop(std::fs::remove_dir(&path));
    }
}

/// The events that a job has written: `u32` little-endian length, then the message.
struct Events {
    path: PathBuf,
    file: Option<File>,
    partial: Vec<u8>,
}

impl Events {
    fn new(path: &Path) -> Self {
        Self { path: path.join("events"), file: None, partial: Vec::new() }
    }

    /// Forwards the whole events that were written since.
    fn forward(&mut self, work: &mut Work<'_>) {
        self.each(|event| {
            let kind = event.progress.map(Kind::Progress).or(event.output.map(Kind::Output));
            // The recorder may be gone; the job continues.
            drop(kind.map(|kind| work.connection.event(kind)));
        });
    }

    /// The outcome in the last event, if all are whole.
    fn last(mut self) -> Option<JobOutcome> {
        let mut last = None;
        self.each(|event| last = event.outcome);
        last.filter(|_| self.partial.is_empty())
    }

    /// Reads complete events. A command may have written the file itself: the rest of a damaged one is not read, and the
    /// job then has no outcome in it.
    fn each(&mut self, mut take: impl FnMut(JobEvent)) {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let Some(file) = &mut self.file else { return };
        let mut chunk = [0_u8; 16 * 1024];
        while self.partial.len() <= EVENT_MAX {
            let count = file.read(&mut chunk).unwrap_or(0);
            if count == 0 {
                return;
            }
            self.partial.extend_from_slice(chunk.get(..count).unwrap_or_default());
            while let Some((len, rest)) = self.partial.split_first_chunk::<4>() {
                let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
                let Some((event, after)) = rest.split_at_checked(len) else { break };
                let event = JobEvent::decode(event).unwrap_or_default();
                self.partial = after.to_vec();
                take(event);
            }
        }
    }
}
