//! What a program of packages writes, turned into events while it runs.
//!
//! It writes to files, never to a pipe of ours: if this program is killed, dpkg goes on and every maintainer script
//! still has somewhere to write.

use crate::files;
use crate::progress::{self, Line};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use postern_apt::apt_errors::one_line;
use postern_apt::{Fault, programs};
use postern_proto::root::v1::JobEvent;
use postern_proto::v1::{Phase, Progress};
use prost::Message;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often the progress is looked at.
const TICK: Duration = Duration::from_millis(5);
/// Longest line of progress, in bytes; apt-get's are far shorter.
const LINE_MAX: usize = 64 * 1024;

/// Starts a program as root, both its outputs at the end of this file.
pub fn spawn(program: &Path, argv: &[String], output: &File) -> Result<Child, Fault> {
    let clone = || output.try_clone().map_err(|error| Fault::at(program, &error));
    let mut command = programs::command(program, programs::ROOT);
    command.args(argv).stdout(clone()?).stderr(clone()?);
    command.spawn().map_err(|error| Fault::at(program, &error))
}

/// Turns what the program writes into events.
pub struct Follower<'a> {
    status: File,
    partial: Vec<u8>,
    events: File,
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
        let events = files::create(directory, "events")?;
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
        let holder = lock_holder(self.lock).filter(|pid| Some(*pid) != own);
        if let Some(pid) = holder {
            let detail = format!("the lock is held by {} (process {pid})", process_name(pid));
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
            match progress::parse(line, self.downloading) {
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
        drop(self.send(progress));
    }

    /// An event: `u32` little-endian length, then the message.
    fn send(&mut self, progress: Progress) -> std::io::Result<()> {
        let event = JobEvent { progress: Some(progress), ..JobEvent::default() }.encode_to_vec();
        let len = u32::try_from(event.len()).unwrap_or(u32::MAX).to_le_bytes();
        self.events.write_all(&[&len[..], &event].concat())
    }
}

/// The process that holds a lock as apt and dpkg take it (fcntl(2), whole file).
pub fn lock_holder(path: &Path) -> Option<i32> {
    let file = File::open(path).ok()?;
    let mut lock = libc::flock {
        l_type: i16::try_from(libc::F_WRLCK).ok()?,
        l_whence: i16::try_from(libc::SEEK_SET).ok()?,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(&file, FcntlArg::F_GETLK(&mut lock)).ok()?;
    (i32::from(lock.l_type) != libc::F_UNLCK).then_some(lock.l_pid)
}

/// The name of a process, for a person to read.
fn process_name(pid: i32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm"))
        .map_or_else(|_| "another process".to_owned(), |name| one_line(&name))
}
