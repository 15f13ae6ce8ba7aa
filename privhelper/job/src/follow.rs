//! What a program of packages writes, turned into events while it runs.
//!
//! It writes to files, never to a pipe of ours: if this program is killed, dpkg goes on and every maintainer script
//! still has somewhere to write.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use postern_proto::root::v1::JobEvent;
use postern_proto::v1::{Phase, Progress};

use crate::Fault;
use crate::status::{self, Line};
use crate::sys::{self, Events};

/// How often the progress is looked at.
const TICK: Duration = Duration::from_millis(5);
/// Longest line of progress, in bytes; apt-get's are far shorter.
const LINE_MAX: usize = 64 * 1024;

/// Starts a program as root, both its outputs at the end of this file.
pub fn spawn(program: &Path, argv: &[String], output: &File) -> Result<Child, Fault> {
    let clone = || output.try_clone().map_err(|error| Fault::at(program, &error));
    let mut command = sys::command(program, sys::ROOT);
    command.args(argv).stdout(clone()?).stderr(clone()?);
    command.spawn().map_err(|error| Fault::at(program, &error))
}

/// Turns what the program writes into events.
pub struct Follower<'a> {
    status: File,
    partial: Vec<u8>,
    events: Events<File>,
    lock: &'a Path,
    downloading: Phase,
    last: Option<Progress>,
    /// apt-get has written something, so it waits for no lock.
    heard: bool,
    /// The first package that dpkg could not finish, and why.
    pub failed: Option<String>,
}

impl<'a> Follower<'a> {
    /// Reads the file `status` of the job's directory, and makes its `events`.
    pub fn new(directory: &Path, lock: &'a Path, downloading: Phase) -> Result<Self, Fault> {
        let path = directory.join("status");
        let status = File::open(&path).map_err(|error| Fault::at(&path, &error))?;
        let events = Events(sys::create(directory, "events")?);
        let (partial, last, failed) = (Vec::new(), None, None);
        Ok(Self { status, partial, events, lock, downloading, last, heard: false, failed })
    }

    /// For programs that do not wait by themselves; without luck they then fail as `busy`.
    pub fn wait_for_lock(&mut self, limit: Duration) {
        let start = Instant::now();
        while self.report_holder(None) && start.elapsed() < limit {
            sleep(TICK);
        }
        // From here on the lock is the program's own, or a child's of it.
        self.heard = true;
    }

    /// Until the program has ended.
    pub fn follow(&mut self, mut child: Child) -> Result<ExitStatus, Fault> {
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
