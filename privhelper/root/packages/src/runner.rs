//! Runs apt-get, apt-mark and dpkg as root.
//!
//! They write to files of the job, never to a pipe of ours: if this program is killed, dpkg continues and maintainer
//! scripts can still write. Nothing here reads the progress: postern-units forwards the file `status` while the job
//! runs, and the broker, which has no power, parses it.

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use postern_apt::programs;
use postern_root::host::lock_holder;
use postern_root::{Fault, one_line, store};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::process::ExitStatus;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often a lock is looked at.
const TICK: Duration = Duration::from_millis(5);
/// Most bytes of progress in which the first failed package is looked for.
const STATUS_MAX: u64 = 4 * 1024 * 1024;

/// The programs of one job.
pub struct Runner<'a> {
    /// The job's directory.
    pub directory: &'a Path,
    output: File,
    status: File,
}

impl<'a> Runner<'a> {
    /// Makes the file `status` in the job's directory. Both outputs of programs are added to `output`.
    pub fn new(directory: &'a Path, output: File) -> Result<Self, Fault> {
        let status = store::create(&directory.join("status")).map_err(Fault::io("make status"))?;
        Ok(Self { directory, output, status })
    }

    /// The descriptor for the program's status lines, which the next program inherits.
    pub fn status_fd(&self) -> Result<RawFd, Fault> {
        fcntl(&self.status, FcntlArg::F_SETFD(FdFlag::empty())).map_err(Fault::io("pass on a descriptor"))?;
        Ok(self.status.as_raw_fd())
    }

    /// Waits until nobody holds the lock, and writes down who does. Returns the rest of the time.
    pub fn wait_for(&mut self, lock: &Path, limit: Duration) -> Duration {
        let start = Instant::now();
        let mut known = None;
        while let Some(pid) = lock_holder(lock).ok().flatten().filter(|_| start.elapsed() < limit) {
            if known.replace(pid) != Some(pid) {
                let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                // A full disk loses progress; it must not stop a transaction.
                drop(writeln!(self.status, "locked:{pid}:{}", one_line(&name)));
            }
            sleep(TICK);
        }
        limit.saturating_sub(start.elapsed())
    }

    /// Runs a program to its end.
    pub fn run(&self, program: &Path, argv: &[String]) -> Result<ExitStatus, Fault> {
        let output = || self.output.try_clone().map_err(Fault::io(program.display()));
        let mut command = programs::command(program, programs::ROOT);
        command.args(argv).stdout(output()?).stderr(output()?);
        command.status().map_err(Fault::io(program.display()))
    }

    /// The last `max` bytes that the programs wrote.
    pub fn tail(&self, max: u64) -> Vec<u8> {
        tail(&self.directory.join("output"), max)
    }

    /// The first package that dpkg could not finish, and why: `pmerror:PACKAGE:PERCENT:TEXT` in apt-get's progress.
    pub fn failed_package(&self) -> Option<String> {
        let status = tail(&self.directory.join("status"), STATUS_MAX);
        let status = String::from_utf8_lossy(&status);
        let failed = status.lines().find_map(|line| line.strip_prefix("pmerror:"))?;
        let (package, rest) = failed.split_once(':')?;
        let (_, why) = rest.split_once(':')?;
        Some(format!("{package}: {why}"))
    }
}

/// The last `max` bytes of a file; none if it cannot be read.
pub fn tail(path: &Path, max: u64) -> Vec<u8> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(max)))?;
        let mut bytes = Vec::new();
        file.take(max).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().unwrap_or_default()
}
