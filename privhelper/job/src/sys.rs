//! The powerful calls: starting programs, making files, asking for locks.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use nix::fcntl::{FcntlArg, FdFlag, SealFlag, fcntl};
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use postern_proto::root::v1::JobEvent;
use prost::Message;

use crate::Fault;
use crate::meaning::one_line;
use crate::record::{JobId, RECORD_MAX, Record};

/// The whole environment of every program started here, but for `HOME`.
/// No `/usr/local`: administrators' groups may write there.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
    ("LC_ALL", "C.UTF-8"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("DEBIAN_PRIORITY", "critical"),
    ("APT_LISTCHANGES_FRONTEND", "none"),
    ("APT_LISTBUGS_FRONTEND", "none"),
    ("NEEDRESTART_SUSPEND", "1"),
    ("UCF_FORCE_CONFFOLD", "1"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
];

/// What every named command finds in its environment, unless its row says otherwise.
const NAMED_ENVIRONMENT: [(&str, &str); 4] =
    [("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("LC_ALL", "C.UTF-8"), ("TERM", "dumb"), ("PAGER", "cat")];

/// `HOME` of what runs as root.
pub const ROOT: &str = "/root";
/// `HOME` of what runs without privilege: nothing is to be found or kept there.
const NOBODY: &str = "/nonexistent";

/// A program with the constant environment, nothing on stdin, in `/`.
#[expect(clippy::disallowed_methods, reason = "the one place that starts programs; the paths are Host's")]
pub fn command(program: &Path, home: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(ENVIRONMENT).env("HOME", home).current_dir("/").stdin(Stdio::null());
    command
}

/// A named command with its own environment besides what is constant, both outputs in pipes, nothing on stdin.
/// It stays in the working directory that its unit gives this process.
#[expect(clippy::disallowed_methods, reason = "the program is the policy's, which root wrote")]
pub fn named(argv: &[String], env: &[String], cwd: &str) -> Result<Child, Fault> {
    let (program, arguments) = argv.split_first().ok_or_else(|| Fault::new("no program"))?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(NAMED_ENVIRONMENT).current_dir(cwd);
    command.envs(env.iter().filter_map(|pair| pair.split_once('=')));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| Fault::at(Path::new(program), &error))
}

/// Both at once: each mostly waits for a program of apt or dpkg.
pub fn both<A: Send, B>(
    first: impl FnOnce() -> Result<A, Fault> + Send,
    second: impl FnOnce() -> Result<B, Fault>,
) -> Result<(A, B), Fault> {
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second()?;
        Ok((first.join().map_err(|_| Fault::new("a thread has panicked"))??, second))
    })
}

/// How a program without privilege ended, and what it wrote.
pub fn ask(program: &Path, arguments: &[&str]) -> Result<Output, Fault> {
    command(program, NOBODY).args(arguments).output().map_err(|error| Fault::at(program, &error))
}

/// A new file, 0600, for appending; an existing name of any kind is an error.
#[expect(clippy::disallowed_methods, reason = "the one place that makes files; in the job's directory only")]
pub fn create(directory: &Path, name: &str) -> Result<File, Fault> {
    let path = directory.join(name);
    let made = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
    made.map_err(|error| Fault::at(&path, &error))
}

/// Makes a file that is either absent or whole, also after a power cut.
pub fn write_whole(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), Fault> {
    let temporary = format!(".{name}.new");
    let mut file = create(directory, &temporary)?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(directory.join(&temporary), directory.join(name)))
        .and_then(|()| File::open(directory)?.sync_all())
        .map_err(|error| Fault::at(&directory.join(name), &error))
}

/// The record of this job; the id inside must be the directory's.
pub fn read_record(directory: &Path, id: &JobId) -> Result<Record, Fault> {
    let path = directory.join("job.pb");
    let file = File::open(&path).map_err(|error| Fault::at(&path, &error))?;
    let record = Record::decode(&read_capped(file, RECORD_MAX)?)?;
    if record.id != *id {
        return Err(Fault::new("the record is another job's"));
    }
    Ok(record)
}

/// All of the input, or an error if it is longer than `max` bytes.
pub fn read_capped(input: impl Read, max: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    input
        .take(max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Fault::new(format!("cannot read: {error}")))?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len <= max) {
        Ok(bytes)
    } else {
        Err(Fault::new(format!("longer than {max} bytes")))
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

/// Lets the next started program inherit this file, and says under which number.
pub fn inheritable(file: &File) -> Result<RawFd, Fault> {
    fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))
        .map_err(|error| Fault::new(format!("cannot pass on a descriptor: {error}")))?;
    Ok(file.as_raw_fd())
}

/// A value in memory alone, which nobody can change, as a file that a program started from here inherits.
pub fn in_memory(value: &[u8]) -> Result<File, Fault> {
    let failed = |error: &dyn std::fmt::Display| Fault::new(format!("cannot pass on a value: {error}"));
    // Open across exec, and so it stays for the program's own children.
    let made = memfd_create(c"postern", MFdFlags::MFD_ALLOW_SEALING).map_err(|error| failed(&error))?;
    let mut file = File::from(made);
    file.write_all(value).and_then(|()| file.rewind()).map_err(|error| failed(&error))?;
    fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::all())).map_err(|error| failed(&error))?;
    Ok(file)
}

/// The process that holds a lock as apt and dpkg take it (fcntl, whole file).
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

/// What a process calls itself, for a person to read.
pub fn process_name(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm"))
        .map_or_else(|_| "another process".to_owned(), |name| one_line(&name))
}

/// The events file, or the stream that takes its place: `u32` little-endian length, then the message.
pub struct Events<W>(pub W);

impl<W: Write> Events<W> {
    pub fn send(&mut self, event: &JobEvent) -> Result<(), Fault> {
        let message = event.encode_to_vec();
        let len = u32::try_from(message.len()).map_err(|_| Fault::new("an event is too long"))?;
        let mut bytes = len.to_le_bytes().to_vec();
        bytes.extend_from_slice(&message);
        self.0
            .write_all(&bytes)
            .and_then(|()| self.0.flush())
            .map_err(|error| Fault::new(format!("cannot write an event: {error}")))
    }
}
