//! Work in units of its own: it outlives this program, and its files tell what became of it.
//!
//! `jobs/<order id>/` holds `unit` (its name), `statement.pb` (root's statement, decided before the start), `events`
//! (written by the job) and, of packages, `order.pb` and `outcome.pb`. The recorder's `Acknowledge` removes it.

use crate::host::Host;
use crate::state::Work;
use crate::systemctl;
use postern_policy::Code;
use postern_proto::root::v1::{JobEvent, JobOutcome, Outcome};
use postern_proto::v1::event::Kind;
use postern_proto::v1::{Completed, ExitInfo, Status};
use postern_root::{Error, Fault, OrderId, OutcomeState, store};
use prost::Message;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the files of a job are read.
const TICK: Duration = Duration::from_millis(5);
/// How often systemd is asked whether a unit is gone that outlived its systemctl.
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
        return Err(
            postern_policy::Denied::new(Code::RequestIdConflict, "this order was begun before").into()
        );
    }
    store::replace(&path.join("statement.pb"), &[&statement.encode_to_vec()], store::Durability::Synced)?;
    store::replace(&path.join("unit"), &[unit.as_bytes()], store::Durability::Synced)?;
    Ok(path)
}

/// Starts the unit of a job, forwards its events, and returns when nothing of it runs any more.
pub fn run(work: &mut Work<'_>, unit: &str, path: &Path) -> Result<(), Fault> {
    let host = &work.state.host;
    let mut child = systemctl::start(host, unit)?;
    let mut events = Events::new(path);
    loop {
        let ended = child.try_wait().map_err(Fault::io("wait for systemctl"))?;
        events.forward(work)?;
        if ended.is_some() {
            break;
        }
        std::thread::sleep(TICK);
    }
    // A systemctl that was killed has ended before its job.
    while systemctl::is_running(host, unit)? {
        std::thread::sleep(STILL);
        events.forward(work)?;
    }
    events.forward(work)
}

/// Tells what is known of a job.
pub fn state(host: &Host, id: OrderId) -> Result<OutcomeState, Fault> {
    let path = directory(host, id);
    let Some(unit) = store::read(&path.join("unit"), 1024)? else { return Ok(OutcomeState::Unknown) };
    if systemctl::is_running(host, &String::from_utf8_lossy(&unit))? {
        return Ok(OutcomeState::Running);
    }
    outcome(host, id).map(|outcome| OutcomeState::Ended(Box::new(outcome)))
}

/// The outcome of a job that has ended: the job's own, the last event's, or what PID 1 tells.
pub fn outcome(host: &Host, id: OrderId) -> Result<Outcome, Fault> {
    let path = directory(host, id);
    let corrupt = || Fault::Corrupt { what: "a job's files" };
    if let Some(bytes) = store::read(&path.join("outcome.pb"), FILE_MAX)? {
        return Outcome::decode(bytes.as_slice()).map_err(|_| corrupt());
    }
    let statement = store::read(&path.join("statement.pb"), FILE_MAX)?.ok_or_else(corrupt)?;
    let statement = Outcome::decode(statement.as_slice()).map_err(|_| corrupt())?;
    let ended = match Events::new(&path).last()? {
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
    // No other code is a command's, whatever it has made of its own events.
    let code = Code::CommandFailed.as_str().to_owned();
    let message = outcome.detail.chars().filter(|c| !c.is_control()).take(500).collect();
    Completed { status: Status::Failed.into(), code, message, exit, ..Completed::default() }
}

/// Of a unit that ended before it wrote its outcome.
fn without_outcome(host: &Host, path: &Path) -> Result<Completed, Fault> {
    let unit = store::read(&path.join("unit"), 1024)?.unwrap_or_default();
    let result = systemctl::property(host, "Result", &String::from_utf8_lossy(&unit))?;
    let (status, code, message) = match result.as_str() {
        "timeout" => (
            Status::Failed,
            Code::Timeout,
            "it did not end within its time (`timeout`) and was killed".to_owned(),
        ),
        "success" => (
            Status::Interrupted,
            Code::Interrupted,
            "it ended without an outcome; see the journal".to_owned(),
        ),
        other => (
            Status::Failed,
            Code::CommandFailed,
            format!("it could not be run to its end: {other}; see the journal"),
        ),
    };
    Ok(Completed { status: status.into(), code: code.as_str().to_owned(), message, ..Completed::default() })
}

/// Removes what a job leaves, once the recorder has written its end.
pub fn forget(host: &Host, id: OrderId) {
    // What cannot be removed now is removed with the next boot or by hand; it holds no secret.
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
    fn forward(&mut self, work: &mut Work<'_>) -> Result<(), Fault> {
        self.each(|event| {
            let kind = event.progress.map(Kind::Progress).or(event.output.map(Kind::Output));
            // The recorder may be gone; the job goes on.
            drop(kind.map(|kind| work.connection.event(kind)));
        })
    }

    /// The outcome in the last event, if all are whole.
    fn last(mut self) -> Result<Option<JobOutcome>, Fault> {
        let mut last = None;
        self.each(|event| last = event.outcome)?;
        Ok(last.filter(|_| self.partial.is_empty()))
    }

    fn each(&mut self, mut take: impl FnMut(JobEvent)) -> Result<(), Fault> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut chunk = [0_u8; 16 * 1024];
        loop {
            let count = file.read(&mut chunk).map_err(Fault::io("read a job's events"))?;
            if count == 0 {
                return Ok(());
            }
            self.partial.extend_from_slice(chunk.get(..count).unwrap_or_default());
            while let Some((len, rest)) = self.partial.split_first_chunk::<4>() {
                let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
                let Some((event, after)) = rest.split_at_checked(len) else { break };
                let event = JobEvent::decode(event).unwrap_or_default();
                self.partial = after.to_vec();
                take(event);
            }
            if self.partial.len() > EVENT_MAX {
                return Err(Fault::Corrupt { what: "a job's events" });
            }
        }
    }
}
