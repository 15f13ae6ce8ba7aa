//! Runs a named command inside its unit, with the user, sandbox and time of the policy's row.
//!
//! PID 1 passes the command as a credential and writes stdout to the job's file of events. The command's outputs are pipes
//! of this process, which keeps as much as the row permits and drains the rest: output never blocks a command.
//! When this process ends, PID 1 kills all remaining processes of the unit.

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use postern_proto::SECRET;
use postern_proto::root::v1::{CommandJob, JobEvent, JobOutcome, Secret};
use postern_proto::v1::{Output, Stream};
use prost::Message;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

/// Most bytes of a job's record.
const RECORD_MAX: u64 = 1024 * 1024;
/// Most bytes of one event.
const CHUNK: usize = 16 * 1024;
/// How often the wrapper checks whether the command has ended.
const TICK: Duration = Duration::from_millis(20);
/// How long outputs are still read that children of the ended command keep open.
const LINGER: Duration = Duration::from_millis(500);
/// The environment of every named command, unless its row says otherwise.
const ENVIRONMENT: [(&str, &str); 4] =
    [("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("LC_ALL", "C.UTF-8"), ("TERM", "dumb"), ("PAGER", "cat")];

/// An error of the wrapper, in one line for the journal.
#[derive(Debug)]
pub struct Fault(String);

impl Fault {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// Runs the record's command and writes its events; the last one is the outcome.
///
/// # Errors
/// Input that cannot be read or output that cannot be written. A damaged record and a program that does not start are
/// outcomes.
pub fn command(input: impl Read, output: impl Write) -> Result<(), Fault> {
    let mut bytes = Vec::new();
    let read = input.take(RECORD_MAX.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Fault::new(format!("cannot read the record: {error}")))?;
    let mut events = Events(output);
    let outcome = match CommandJob::decode(bytes.as_slice()) {
        Ok(job) if u64::try_from(bytes.len()).is_ok_and(|len| len <= RECORD_MAX) => {
            run(&job, &mut events).unwrap_or_else(|fault| failed(&fault.to_string()))
        }
        Ok(_) | Err(_) => failed("the record is damaged"),
    };
    events.send(&JobEvent { outcome: Some(outcome), ..JobEvent::default() })
}

fn failed(detail: &str) -> JobOutcome {
    let detail = detail.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
    JobOutcome { code: "command_failed".to_owned(), detail, ..JobOutcome::default() }
}

/// Starts the program with the constant environment and the row's, outputs in pipes, stdin null.
#[expect(clippy::disallowed_methods, reason = "the program is the policy's, which root wrote")]
fn start(argv: &[String], env: &[String], cwd: &str) -> Result<Child, Fault> {
    let named = argv.split_first().filter(|(program, _)| program.starts_with('/'));
    let (program, arguments) = named.ok_or_else(|| Fault::new("the record names no program"))?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(ENVIRONMENT).current_dir(cwd);
    command.envs(env.iter().filter_map(|pair| pair.split_once('=')));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| Fault::new(format!("{program}: {error}")))
}

/// Makes a sealed memory file (`memfd_create(2)`) of a value, which the started program inherits.
fn in_memory(value: &[u8]) -> Result<File, Fault> {
    let failed = |error: &dyn fmt::Display| Fault::new(format!("cannot pass on a value: {error}"));
    // Open across exec, and so it stays for the program's own children.
    let made = memfd_create(c"postern", MFdFlags::MFD_ALLOW_SEALING).map_err(|error| failed(&error))?;
    let mut file = File::from(made);
    file.write_all(value).and_then(|()| file.rewind()).map_err(|error| failed(&error))?;
    fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::all())).map_err(|error| failed(&error))?;
    Ok(file)
}

/// The events: `u32` little-endian length, then the message.
struct Events<W>(W);

impl<W: Write> Events<W> {
    fn send(&mut self, event: &JobEvent) -> Result<(), Fault> {
        let message = event.encode_to_vec();
        let len = u32::try_from(message.len()).map_err(|_| Fault::new("an event is too long"))?;
        let mut bytes = len.to_le_bytes().to_vec();
        bytes.extend_from_slice(&message);
        let written = self.0.write_all(&bytes).and_then(|()| self.0.flush());
        written.map_err(|error| Fault::new(format!("cannot write an event: {error}")))
    }
}

fn run(job: &CommandJob, events: &mut Events<impl Write>) -> Result<JobOutcome, Fault> {
    let (argv, secrets) = with_secrets(job)?;
    let mut child = start(&argv, &job.env, &job.cwd)?;
    drop(secrets);
    let (sender, chunks) = mpsc::sync_channel(4);
    if let Some(pipe) = child.stdout.take() {
        read(pipe, Stream::Stdout, sender.clone());
    }
    if let Some(pipe) = child.stderr.take() {
        read(pipe, Stream::Stderr, sender.clone());
    }
    drop(sender);
    let mut forwarded = Forwarded { most: job.output_bytes, events, stdout: 0, stderr: 0, truncated: false };
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        let open = forwarded.take(&chunks)?;
        if ended.is_none() {
            let status = if open { child.try_wait() } else { child.wait().map(Some) };
            let status = status.map_err(|error| Fault::new(format!("cannot wait: {error}")))?;
            ended = status.map(|status| (status, Instant::now()));
        }
        if let Some((status, at)) = ended
            && (!open || at.elapsed() >= LINGER)
        {
            return Ok(outcome(status, forwarded.truncated));
        }
    }
}

/// The arguments, and the open files that some of them name by their numbers.
fn with_secrets(job: &CommandJob) -> Result<(Vec<String>, Vec<File>), Fault> {
    let (mut argv, mut held) = (job.argv.clone(), Vec::new());
    for Secret { place, value } in &job.secrets {
        let named = usize::try_from(*place).ok().and_then(|place| argv.get_mut(place));
        let named = named.and_then(|argument| Some((argument.strip_suffix(SECRET)?.to_owned(), argument)));
        let (key, argument) = named.ok_or_else(|| Fault::new("a secret without a place in the record"))?;
        let file = in_memory(value)?;
        *argument = format!("{key}/dev/fd/{}", file.as_raw_fd());
        held.push(file);
    }
    Ok((argv, held))
}

fn outcome(status: ExitStatus, truncated: bool) -> JobOutcome {
    let ended = match (status.code(), status.signal()) {
        (Some(0), _) => JobOutcome::default(),
        (Some(code), _) => failed(&format!("it ended with exit code {code}")),
        (None, signal) => failed(&format!("it was ended by signal {}", signal.unwrap_or_default())),
    };
    let (exit_code, signal) = (status.code().unwrap_or_default(), status.signal().unwrap_or_default());
    JobOutcome { exit_code, signal, truncated, ..ended }
}

type Chunk = (Stream, Vec<u8>);

/// Reads one output to its end, on a thread that ends with the process.
fn read(mut pipe: impl Read + Send + 'static, stream: Stream, chunks: SyncSender<Chunk>) {
    thread::spawn(move || {
        let mut buffer = vec![0; CHUNK];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            let read = buffer.get(..count).unwrap_or_default().to_vec();
            if chunks.send((stream, read)).is_err() {
                return;
            }
        }
    });
}

/// Turns the outputs into events, up to the row's limit.
struct Forwarded<'a, W> {
    /// Most bytes of each.
    most: u64,
    events: &'a mut Events<W>,
    stdout: u64,
    stderr: u64,
    truncated: bool,
}

impl<W: Write> Forwarded<'_, W> {
    /// Takes what has been read; false when both outputs are closed.
    fn take(&mut self, chunks: &Receiver<Chunk>) -> Result<bool, Fault> {
        match chunks.recv_timeout(TICK) {
            Ok((stream, data)) => self.keep(stream, data).map(|()| true),
            Err(RecvTimeoutError::Timeout) => Ok(true),
            Err(RecvTimeoutError::Disconnected) => Ok(false),
        }
    }

    fn keep(&mut self, stream: Stream, mut data: Vec<u8>) -> Result<(), Fault> {
        let seen = if stream == Stream::Stderr { &mut self.stderr } else { &mut self.stdout };
        let room = self.most.saturating_sub(*seen);
        let had_room = *seen <= self.most;
        *seen = seen.saturating_add(u64::try_from(data.len()).unwrap_or(u64::MAX));
        let truncated = *seen > self.most;
        data.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        self.truncated |= truncated;
        // The first chunk over the limit is cut and marked; later ones are dropped.
        if !had_room {
            return Ok(());
        }
        let output = Output { stream: stream.into(), data, truncated };
        self.events.send(&JobEvent { output: Some(output), ..JobEvent::default() })
    }
}
