//! Turns the output of apt-get and dpkg into events while they run.
//!
//! They write to files, never to a pipe of ours: if this program is killed, dpkg continues and maintainer scripts can
//! still write.

use crate::files;
use crate::progress::{self, Line};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;
use postern_apt::programs;
use postern_proto::root::v1::JobEvent;
use postern_proto::v1::{Phase, Progress};
use postern_root::{Fault, one_line};
use prost::Message;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::process::ExitStatus;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often the progress is read.
const TICK: Duration = Duration::from_millis(5);
/// Longest line of progress, in bytes; apt-get's are far shorter.
const LINE_MAX: usize = 64 * 1024;

/// Runs the programs of one job as root, and turns what they write into events.
pub struct Follower<'a> {
    /// The job's directory.
    pub directory: &'a Path,
    output: File,
    written: File,
    status: File,
    partial: Vec<u8>,
    events: File,
    lock: &'a Path,
    downloading: Phase,
    last: Option<Progress>,
    /// apt-get has written something, so it does not wait for the lock.
    heard: bool,
    /// The first package that dpkg could not finish, and why.
    pub failed: Option<String>,
}

impl<'a> Follower<'a> {
    /// Makes the files `status` and `events` in the job's directory. Both outputs of programs are added to `output`.
    pub fn new(directory: &'a Path, output: File, lock: &'a Path, downloading: Phase) -> Result<Self, Fault> {
        let path = directory.join("status");
        let written = files::create(directory, "status")?;
        let status = File::open(&path).map_err(Fault::at(&path))?;
        let events = files::create(directory, "events")?;
        Ok(Self {
            directory,
            output,
            written,
            status,
            partial: Vec::new(),
            events,
            lock,
            downloading,
            last: None,
            heard: false,
            failed: None,
        })
    }

    /// The descriptor for the program's status lines, which the next program inherits.
    pub fn status_fd(&self) -> Result<RawFd, Fault> {
        fcntl(&self.written, FcntlArg::F_SETFD(FdFlag::empty()))
            .map_err(Fault::io("pass on a descriptor"))?;
        Ok(self.written.as_raw_fd())
    }

    /// The last `max` bytes that the programs wrote.
    pub fn tail(&self, max: u64) -> Vec<u8> {
        files::tail(&self.directory.join("output"), max)
    }

    /// Waits for the lock, for programs that do not. If another process takes it first, they fail as `busy`.
    pub fn wait_for_lock(&mut self, limit: Duration) {
        let start = Instant::now();
        while self.report_holder(None) && start.elapsed() < limit {
            sleep(TICK);
        }
        // From here on the program or one of its children holds the lock.
        self.heard = true;
    }

    /// Runs a program to its end.
    pub fn run(&mut self, program: &Path, argv: &[String]) -> Result<ExitStatus, Fault> {
        let output = || self.output.try_clone().map_err(Fault::at(program));
        let mut command = programs::command(program, programs::ROOT);
        command.args(argv).stdout(output()?).stderr(output()?);
        let mut child = command.spawn().map_err(Fault::at(program))?;
        let own = i32::try_from(child.id()).ok();
        loop {
            let ended = child.try_wait().map_err(Fault::io("wait"))?;
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

    /// Reports another process that holds the lock, since apt-get reports its waiting only on stderr; true if there is one.
    fn report_holder(&mut self, own: Option<i32>) -> bool {
        let holder = lock_holder(self.lock).filter(|pid| Some(*pid) != own);
        if let Some(pid) = holder {
            let detail = format!("the lock is held by {} (process {pid})", process_name(pid));
            self.report(Progress { phase: Phase::Waiting.into(), detail, ..Progress::default() });
        }
        holder.is_some()
    }

    fn read_status(&mut self) {
        // Read errors are ignored: the next tick tries again, and progress never stops the work.
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
                Some(Line::Failed(why)) => {
                    self.failed.get_or_insert(why);
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
