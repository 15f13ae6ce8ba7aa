//! The transaction itself, as root in a unit of its own.
//!
//! apt-get writes to files, never to a pipe of ours: if this program is killed,
//! dpkg goes on and every maintainer script still has somewhere to write.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::stat::{Mode, umask};
use postern_proto::root::v1::{JobEvent, JobKind, JobOutcome};
use postern_proto::v1::{Phase, Progress};
use prost::Message;

use crate::record::{JobId, Record};
use crate::status::{self, Line};
use crate::sys::{self, Events};
use crate::{Fault, Host, apt, check};

/// How often apt-get's progress is looked at.
const TICK: Duration = Duration::from_millis(75);
/// Most bytes of output in the outcome.
const OUTPUT_MAX: u64 = 16 * 1024;
/// Longest line of progress, in bytes; apt-get's are far shorter.
const LINE_MAX: usize = 64 * 1024;

/// Runs the job of this id and writes its outcome.
///
/// # Errors
/// The job has no readable directory, has run before, or its outcome cannot be
/// written. A record that does not hold is an outcome, `invalid_argument`.
pub fn run(host: &Host, id: &JobId) -> Result<(), Fault> {
    umask(Mode::from_bits_truncate(0o022));
    let directory = host.directory(id);
    // Made anew or not at all: a job that was started once is never started again.
    let output = sys::create(&directory, "output")
        .map_err(|fault| Fault::new(format!("no directory, or the job has run before: {fault}")))?;
    let mut outcome = match sys::read_record(&directory, id) {
        Ok(record) => match record.kind {
            JobKind::Install | JobKind::Update => transact(host, &directory, &record, output)
                .unwrap_or_else(|fault| apt::outcome("package_failed", &fault.to_string())),
            JobKind::Unspecified | JobKind::PlanInstall | JobKind::Show | JobKind::Command => {
                apt::outcome("invalid_argument", "not a job for root")
            }
        },
        Err(fault) => apt::outcome("invalid_argument", &fault.to_string()),
    };
    outcome.output = sys::tail(&directory.join("output"), OUTPUT_MAX);
    sys::write_whole(&directory, "outcome.pb", &outcome.encode_to_vec())
}

fn transact(host: &Host, directory: &Path, record: &Record, output: File) -> Result<JobOutcome, Fault> {
    let errors = output.try_clone().map_err(|error| Fault::at(directory, &error))?;
    let status = sys::create(directory, "status")?;
    let number = sys::inheritable(&status)?;
    let (argv, lock, downloading) = if record.kind == JobKind::Update {
        (apt::update(number), &host.lists_lock, Phase::Update)
    } else {
        (apt::install(record, number, &host.job), &host.dpkg_lock, Phase::Download)
    };
    let mut follower = Follower::new(directory, lock, downloading)?;
    if record.kind == JobKind::Update {
        follower.wait_for_lock(Duration::from_secs(record.lock_timeout_s.into()));
    }
    let child = sys::command(&host.apt_get, sys::ROOT)
        .args(argv)
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|error| Fault::at(&host.apt_get, &error))?;
    drop(status);
    let ended = follower.follow(child)?;
    Ok(outcome(directory, record, ended, follower.failed))
}

/// What became of it: the strongest evidence first.
fn outcome(directory: &Path, record: &Record, ended: ExitStatus, failed: Option<String>) -> JobOutcome {
    let output = sys::tail(&directory.join("output"), OUTPUT_MAX);
    let changed = sys::tail(&directory.join(check::CHANGED), OUTPUT_MAX);
    let general = apt::failure(&output);
    let mut outcome = if ended.success() {
        JobOutcome::default()
    } else if !changed.is_empty() {
        apt::outcome("plan_changed", &String::from_utf8_lossy(&changed))
    } else if let Some(signal) = ended.signal() {
        apt::outcome("package_failed", &format!("apt-get was killed by signal {signal}"))
    } else if let Some(text) = failed.filter(|_| general.code != "no_space") {
        apt::outcome("package_failed", &text)
    } else {
        general
    };
    outcome.exit_code = ended.code().unwrap_or_default();
    outcome.signal = ended.signal().unwrap_or_default();
    // apt-get asks for no check when there is nothing to do: then nothing was done.
    if directory.join(check::PASSED).exists() {
        outcome.steps.clone_from(&record.expected);
    }
    outcome
}

/// Turns what apt-get writes into events.
struct Follower<'a> {
    status: File,
    partial: Vec<u8>,
    events: Events<File>,
    lock: &'a Path,
    downloading: Phase,
    last: Option<Progress>,
    /// apt-get has written something, so it waits for no lock.
    heard: bool,
    /// The first package that dpkg could not finish, and why.
    failed: Option<String>,
}

impl<'a> Follower<'a> {
    fn new(directory: &Path, lock: &'a Path, downloading: Phase) -> Result<Self, Fault> {
        let path = directory.join("status");
        let status = File::open(&path).map_err(|error| Fault::at(&path, &error))?;
        let events = Events(sys::create(directory, "events")?);
        let (partial, last, failed) = (Vec::new(), None, None);
        Ok(Self { status, partial, events, lock, downloading, last, heard: false, failed })
    }

    /// apt-get does not wait for the lists' lock by itself; without luck it then fails as `busy`.
    fn wait_for_lock(&mut self, limit: Duration) {
        let start = Instant::now();
        while self.report_holder(None) && start.elapsed() < limit {
            sleep(TICK);
        }
    }

    fn follow(&mut self, mut child: Child) -> Result<ExitStatus, Fault> {
        let own = i32::try_from(child.id()).ok();
        loop {
            let ended = child.try_wait().map_err(|error| Fault::new(format!("cannot wait: {error}")))?;
            self.read_status();
            if let Some(ended) = ended {
                return Ok(ended);
            }
            if !self.heard {
                self.report_holder(own);
            }
            sleep(TICK);
        }
    }

    /// apt-get says only on stderr that it waits; whether somebody else has the lock.
    fn report_holder(&mut self, own: Option<i32>) -> bool {
        let holder = sys::lock_holder(self.lock).filter(|pid| Some(*pid) != own);
        if let Some(pid) = holder {
            let detail = format!("the lock is held by {} (process {pid})", sys::process_name(pid));
            self.report(Progress { phase: Phase::Waiting.into(), detail, ..Progress::default() });
        }
        holder.is_some()
    }

    fn read_status(&mut self) {
        // What cannot be read now is read at the next tick; progress never stops the work.
        if self.status.read_to_end(&mut self.partial).is_err() {
            return;
        }
        let Some(end) = self.partial.iter().rposition(|byte| *byte == b'\n') else {
            if self.partial.len() > LINE_MAX {
                self.partial.clear();
            }
            return;
        };
        let rest = self.partial.split_off(end.saturating_add(1));
        let lines = std::mem::replace(&mut self.partial, rest);
        self.heard = true;
        for line in String::from_utf8_lossy(&lines).lines() {
            match status::parse(line, self.downloading) {
                Some(Line::Progress(progress)) => self.report(progress),
                Some(Line::Failed { package, text }) => {
                    self.failed.get_or_insert_with(|| format!("{package}: {text}"));
                }
                None => {}
            }
        }
    }

    fn report(&mut self, progress: Progress) {
        if self.last.as_ref() == Some(&progress) {
            return;
        }
        self.last = Some(progress.clone());
        // A full disk loses progress; it must not stop a transaction half way.
        drop(self.events.send(&JobEvent { progress: Some(progress), ..JobEvent::default() }));
    }
}
