//! A named command, in the sandbox that PID 1 has made of its row.
//!
//! Its outputs are pipes of this process, which keeps as much as the row lets through and reads on: a command is
//! never stopped by what it prints. When this process ends, PID 1 kills whatever the command has left running.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use postern_proto::SECRET;
use postern_proto::root::v1::{CommandJob, JobEvent, JobOutcome, Secret};
use postern_proto::v1::{Output, Stream};

use crate::record::{RECORD_MAX, Record};
use crate::sys::Events;
use crate::{Fault, meaning, sys};

/// Most bytes of one event.
const CHUNK: usize = 16 * 1024;
/// How often it is looked whether the command has ended.
const TICK: Duration = Duration::from_millis(20);
/// How long outputs are read that the ended command's children hold open.
const LINGER: Duration = Duration::from_millis(500);

/// Runs the record's command; the events end with the outcome.
///
/// # Errors
/// Input that cannot be read or output that cannot be written. A record that does not hold and a program that does
/// not start are outcomes.
pub fn command(input: impl Read, output: impl Write) -> Result<(), Fault> {
    let bytes = sys::read_capped(input, RECORD_MAX)?;
    let mut events = Events(output);
    let outcome = match Record::decode(&bytes).map(|record| record.command) {
        Ok(Some(job)) => match run(&job, &mut events) {
            Ok(outcome) => outcome,
            Err(fault) => meaning::outcome("command_failed", &fault.to_string()),
        },
        Ok(None) => meaning::outcome("invalid_argument", "not a command's job"),
        Err(fault) => meaning::outcome("invalid_argument", &fault.to_string()),
    };
    events.send(&JobEvent { outcome: Some(outcome), ..JobEvent::default() })
}

fn run(job: &CommandJob, events: &mut Events<impl Write>) -> Result<JobOutcome, Fault> {
    let (argv, secrets) = with_secrets(job)?;
    let mut child = sys::named(&argv, &job.env, &job.cwd)?;
    drop(secrets);
    let (sender, chunks) = mpsc::sync_channel(4);
    if let Some(pipe) = child.stdout.take() {
        read(pipe, Stream::Stdout, sender.clone());
    }
    if let Some(pipe) = child.stderr.take() {
        read(pipe, Stream::Stderr, sender.clone());
    }
    drop(sender);
    let mut kept = Kept { most: job.output_bytes, events, stdout: 0, stderr: 0, truncated: false };
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        let open = kept.take(&chunks)?;
        if ended.is_none() {
            let status = if open { child.try_wait() } else { child.wait().map(Some) };
            let status = status.map_err(|error| Fault::new(format!("cannot wait: {error}")))?;
            ended = status.map(|status| (status, Instant::now()));
        }
        if let Some((status, at)) = ended
            && (!open || at.elapsed() >= LINGER)
        {
            return Ok(outcome(status, kept.truncated));
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
        let file = sys::in_memory(value)?;
        *argument = format!("{key}/dev/fd/{}", file.as_raw_fd());
        held.push(file);
    }
    Ok((argv, held))
}

fn outcome(status: ExitStatus, truncated: bool) -> JobOutcome {
    let said = match (status.code(), status.signal()) {
        (Some(0), _) => JobOutcome::default(),
        (Some(code), _) => meaning::outcome("command_failed", &format!("it ended with exit code {code}")),
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            meaning::outcome("command_failed", &format!("it was ended by signal {signal}"))
        }
    };
    let (exit_code, signal) = (status.code().unwrap_or_default(), status.signal().unwrap_or_default());
    JobOutcome { exit_code, signal, truncated, ..said }
}

type Chunk = (Stream, Vec<u8>);

/// Reads one output to its end. Nobody waits for this thread: it ends with the process.
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

/// What of the outputs becomes events.
struct Kept<'a, W> {
    /// Most bytes of each.
    most: u64,
    events: &'a mut Events<W>,
    stdout: u64,
    stderr: u64,
    truncated: bool,
}

impl<W: Write> Kept<'_, W> {
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
        // The first chunk that does not fit says so, what comes after it is dropped.
        if !had_room {
            return Ok(());
        }
        let output = Output { stream: stream.into(), data, truncated };
        self.events.send(&JobEvent { output: Some(output), ..JobEvent::default() })
    }
}
