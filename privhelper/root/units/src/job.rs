//! Jobs: package transactions and commands in units of their own. They outlive this program; their files have the outcome.
//!
//! `jobs/<order id>/` holds `unit` (its name), `statement.pb` (root's statement, decided before the start), of commands
//! `events`, and of packages `order.pb`, `status` (their progress) and `outcome.pb`. The recorder's `Acknowledge` removes it.

use crate::state::{Host, Work};
use crate::{facts, systemctl};
use postern_policy::Grant;
use postern_policy::facts::UnitState;
use postern_policy::types::UnitName;
use postern_proto::root::v1::{Inverse, JobEvent, JobOutcome, Outcome, OutcomesReply, RootExecute};
use postern_proto::v1::event::Kind;
use postern_proto::v1::{Completed, ExitInfo, Output, Status, Stream};
use postern_root::{Code, Denied, Error, Fault, OrderId, failed, outcomes, store};
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
/// Most bytes of a job's file that are read at once.
const PART: u64 = 16 * 1024;
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
pub fn begin(host: &Host, id: OrderId, unit: &UnitName, statement: &Outcome) -> Result<PathBuf, Error> {
    let path = directory(host, id);
    store::make_directory(&path)?;
    if !store::claim(&path.join("begun"), &[])? {
        return Err(Denied::new(Code::RequestIdConflict, "this order was begun before").into());
    }
    store::replace(&path.join("statement.pb"), &[&statement.encode_to_vec()], store::Durability::Synced)?;
    store::replace(&path.join("unit"), &[unit.as_str().as_bytes()], store::Durability::Synced)?;
    Ok(path)
}

/// Starts a package transaction in a unit of its own, which decides the order once more under apt's lock. Puts the order into the
/// job's directory, and follows the unit.
pub fn start_transaction(work: &mut Work<'_>, grant: &Grant) -> Result<Outcome, Error> {
    let ordered = work.authority.ordered;
    let host = &work.state.host;
    let unit = UnitName::new(&format!("postern-packages@{}.service", ordered.id))?;
    let statement = work.authority.outcome(grant, Vec::new(), Completed::default(), None);
    let path = begin(host, ordered.id, &unit, &statement)?;
    let (envelope, order) = (ordered.envelope.clone(), ordered.bytes.clone());
    let boot_id = host.root.boot_id.clone();
    let order = RootExecute { envelope, order, boot_id, ..RootExecute::default() };
    store::replace(&path.join("order.pb"), &[&order.encode_to_vec()], store::Durability::Synced)?;
    let mut outcome = run(work, &unit, &path)?;
    // apt's last output explains a failure to the client; the log has the message.
    let data = std::mem::take(&mut outcome.detail).into_bytes();
    let has_failed = outcome.completed.as_ref().is_some_and(|done| done.status() == Status::Failed);
    if has_failed && !data.is_empty() {
        let output = Output { stream: Stream::Stdout.into(), data, truncated: false };
        drop(work.connection.event(Kind::Output(output)));
    }
    Ok(outcome)
}

/// Starts the unit of a job, forwards what it writes, and returns the outcome when all its processes have ended.
pub fn run(work: &mut Work<'_>, unit: &UnitName, path: &Path) -> Result<Outcome, Error> {
    let child = systemctl::start(&work.state.host, unit.as_str())?;
    // The job continues if anything fails here; its files give the recorder the outcome.
    follow(work, child, unit, path).map_err(Error::begun)
}

fn follow(work: &mut Work<'_>, mut child: Child, unit: &UnitName, path: &Path) -> Result<Outcome, Error> {
    let (mut events, mut status) = (Events::new(path), Tail { path: path.join("status"), file: None });
    let mut forward = || {
        // The recorder may be gone; the job continues.
        let mut send = |output| drop(work.connection.event(Kind::Output(output)));
        events.each(|event| event.output.into_iter().for_each(&mut send));
        // Progress of apt-get and dpkg: lines that the broker parses.
        while let Some(data) = status.read() {
            send(Output { stream: Stream::Unspecified.into(), data, truncated: false });
        }
    };
    loop {
        let mut pause = TICK;
        let mut ended = None;
        if child.try_wait().map_err(Fault::io("wait for systemctl"))?.is_some() {
            // If systemctl was killed, the job may still run.
            pause = STILL;
            ended = Some(facts::state(&work.state.host, unit)?).filter(|unit| !is_running(unit));
        }
        forward();
        if let Some(ended) = ended {
            return Ok(outcome(path, &ended)?);
        }
        std::thread::sleep(pause);
    }
}

fn is_running(unit: &UnitState) -> bool {
    matches!(unit.active.as_str(), "activating" | "active" | "deactivating" | "reloading")
}

/// Returns the state of a job.
pub fn state(host: &Host, id: OrderId) -> Result<OutcomesReply, Error> {
    let path = directory(host, id);
    let Some(unit) = store::read(&path.join("unit"), 1024)? else { return Ok(outcomes::unknown()) };
    let unit = facts::state(host, &UnitName::new(&String::from_utf8_lossy(&unit))?)?;
    if is_running(&unit) {
        return Ok(outcomes::running());
    }
    Ok(outcomes::ended(outcome(&path, &unit)?.encode_to_vec()))
}

/// Returns the outcome of a job that has ended: the job's own, the last event's, or PID 1's result.
fn outcome(path: &Path, unit: &UnitState) -> Result<Outcome, Fault> {
    let decode = |name: &str| -> Result<Option<Outcome>, Fault> {
        let bytes = store::read(&path.join(name), FILE_MAX)?;
        let decoded = bytes.map(|bytes| Outcome::decode(bytes.as_slice())).transpose();
        decoded.map_err(|_| Fault::corrupt(name))
    };
    if let Some(outcome) = decode("outcome.pb")? {
        return Ok(outcome);
    }
    let statement = decode("statement.pb")?.ok_or_else(|| Fault::corrupt("a job"))?;
    let ended = Events::new(path).last().map_or_else(|| without_outcome(unit), |last| command_outcome(&last));
    let (rule, decision) = (statement.rule.clone(), statement.decision);
    let no_effect = statement.completed.as_ref().is_some_and(|completed| completed.no_effect);
    // A change that must be kept is taken back also if it failed half-way.
    let is_taken_back = |inverse: &Inverse| ended.status() == Status::Done || inverse.keep_within_s > 0;
    let inverse = statement.inverse.filter(is_taken_back);
    let undoable = inverse.is_some();
    Ok(Outcome {
        completed: Some(Completed { rule, decision, undoable, no_effect, ..ended }),
        inverse,
        ..statement
    })
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
fn without_outcome(unit: &UnitState) -> Completed {
    // A unit that is not loaded has not run; systemd reports its result as success.
    let result = if unit.load == "loaded" { &unit.result } else { &unit.load };
    match result.as_str() {
        "timeout" => failed(Code::Timeout, "it did not end within its time (`timeout`) and was killed"),
        "success" => {
            let interrupted = failed(Code::Interrupted, "it ended without an outcome; see the journal");
            Completed { status: Status::Interrupted.into(), ..interrupted }
        }
        other => {
            failed(Code::CommandFailed, &format!("it could not be run to its end: {other}; see the journal"))
        }
    }
}

/// Removes the files of a job, once the recorder has written its end.
pub fn forget(host: &Host, id: OrderId) {
    // The secrets first and by name: removing a directory ends at the first entry that cannot be removed.
    drop(store::remove(&record(host, id).join("job")));
    // Other files that cannot be removed now stay until the next boot or until a person removes them.
    for path in [record(host, id), directory(host, id)] {
        drop(std::fs::remove_dir_all(path));
    }
}

/// A file of a job that is read while it is written.
struct Tail {
    path: PathBuf,
    file: Option<File>,
}

impl Tail {
    /// Reads bytes that were written since; none if there are none now.
    fn read(&mut self) -> Option<Vec<u8>> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let mut part = Vec::new();
        let read = self.file.as_mut()?.take(PART).read_to_end(&mut part);
        (read.is_ok() && !part.is_empty()).then_some(part)
    }
}

/// The events that a command has written: `u32` little-endian length, then the message.
struct Events {
    file: Tail,
    partial: Vec<u8>,
}

impl Events {
    fn new(path: &Path) -> Self {
        Self { file: Tail { path: path.join("events"), file: None }, partial: Vec::new() }
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
        while self.partial.len() <= EVENT_MAX
            && let Some(part) = self.file.read()
        {
            self.partial.extend_from_slice(&part);
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
