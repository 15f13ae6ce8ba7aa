//! Runs a program that only reads: its output is bounded, and it is killed with its children when it does not end in time.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// How long one program of apt or dpkg may run. A simulation that rebuilds apt's cache takes 2 to 3 s.
pub const APT_TIME: Duration = Duration::from_secs(60);
/// Most bytes that one prints: the simulation of an upgrade of 10,000 packages has 3 MB.
const APT_OUTPUT: usize = 16 * 1024 * 1024;
/// The pause before it is looked again whether a program that closed its outputs has ended.
const TICK: Duration = Duration::from_millis(2);

/// The treatment of output beyond the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// The call fails.
    Fail,
    /// It is dropped.
    Drop,
}

/// Runs a program of apt or dpkg.
///
/// # Errors
/// As [`run`].
pub fn run_apt(command: &mut Command) -> io::Result<Output> {
    run(command, APT_TIME, APT_OUTPUT, Excess::Fail)
}

/// Runs a program to its end.
///
/// # Errors
/// It cannot be started, does not end within `limit` (`TimedOut`), or prints more than `most` bytes (`FileTooLarge`).
pub fn run(command: &mut Command, limit: Duration, most: usize, excess: Excess) -> io::Result<Output> {
    let deadline = Instant::now().checked_add(limit).ok_or(io::ErrorKind::InvalidInput)?;
    // A group of its own, which is killed as a whole.
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
    let mut output = Collected { most, excess, deadline, streams: [Vec::new(), Vec::new()] };
    let ended = output.read(&mut child).and_then(|()| wait(&mut child, deadline));
    if ended.is_err() {
        // It may have ended by itself; it is waited for either way.
        if let Ok(group) = i32::try_from(child.id()) {
            killpg(Pid::from_raw(group), Signal::SIGKILL).ok();
        }
        child.wait()?;
    }
    let [stdout, stderr] = output.streams;
    Ok(Output { status: ended?, stdout, stderr })
}

fn wait(child: &mut Child, deadline: Instant) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(TICK);
    }
}

/// The output of a child.
struct Collected {
    most: usize,
    excess: Excess,
    deadline: Instant,
    /// stdout and stderr.
    streams: [Vec<u8>; 2],
}

impl Collected {
    /// Reads both pipes to their ends.
    fn read(&mut self, child: &mut Child) -> io::Result<()> {
        let [stdout, stderr] = &mut self.streams;
        let (Some(out), Some(err)) = (child.stdout.as_mut(), child.stderr.as_mut()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let [mut out_is_open, mut err_is_open] = [true, true];
        while out_is_open || err_is_open {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let wanted = |is_open| if is_open { PollFlags::POLLIN } else { PollFlags::empty() };
            let mut fds = [
                PollFd::new(out.as_fd(), wanted(out_is_open)),
                PollFd::new(err.as_fd(), wanted(err_is_open)),
            ];
            poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX))?;
            let [out_is_ready, err_is_ready] = fds.map(|fd| fd.any().unwrap_or(true));
            if out_is_open && out_is_ready {
                out_is_open = read_some(out, stdout, self.most, self.excess)?;
            }
            if err_is_open && err_is_ready {
                err_is_open = read_some(err, stderr, self.most, self.excess)?;
            }
        }
        Ok(())
    }
}

/// Reads the available bytes; false at the end of the pipe.
fn read_some(pipe: &mut impl Read, into: &mut Vec<u8>, most: usize, excess: Excess) -> io::Result<bool> {
    let mut chunk = [0_u8; 16 * 1024];
    let count = pipe.read(&mut chunk)?;
    into.extend_from_slice(chunk.get(..count).unwrap_or_default());
    if into.len() > most {
        match excess {
            Excess::Fail => return Err(io::ErrorKind::FileTooLarge.into()),
            Excess::Drop => into.truncate(most),
        }
    }
    Ok(count > 0)
}
