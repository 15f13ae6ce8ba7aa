//! Starting a program of systemd: the only programs that root starts itself.
//!
//! The environment is constant, stdin is null, no shell and no pager is anywhere.

use crate::error::Fault;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What a child sees of the environment (reference: apt-dpkg-systemd 4.2, 4.6).
const ENVIRONMENT: [(&str, &str); 7] = [
    ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
    ("LC_ALL", "C.UTF-8"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("SYSTEMD_PAGER", ""),
    ("SYSTEMD_PAGERSECURE", "1"),
    // An init script beside the unit would run update-rc.d, which fails in the helper's sandbox.
    ("SYSTEMCTL_SKIP_SYSV", "1"),
];
/// Most bytes that a child's stdout or stderr may have.
const OUTPUT_MAX: usize = 1024 * 1024;

/// The longest that anything is waited for.
pub(super) const LONGEST: Duration = Duration::from_secs(60 * 60);

/// A child that has ended.
#[derive(Debug)]
pub struct Finished {
    /// How.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
}

/// What becomes of a child that does not end in time.
pub(super) enum Late<'a> {
    /// It only looks.
    Kill,
    /// It changes something. Whoever waits is told, and the waiting goes on for an hour.
    Tell(&'a dyn Fn()),
}

/// What becomes of output beyond what is kept.
#[derive(Clone, Copy)]
pub(super) enum Much {
    /// It is an error: half an answer is none.
    Fail,
    /// It is left out.
    KeepFirst,
}

/// Runs it to its end.
///
/// # Errors
/// It can't be started, does not end within `limit`, or prints more than 1 MiB.
pub(super) fn run(
    program: &Path,
    args: &[&str],
    limit: Duration,
    late: Late<'_>,
    much: Much,
) -> Result<Finished, Fault> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where root starts a program, from a fixed path"
    )]
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(ENVIRONMENT).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Fault::io("start a program of systemd"))?;
    let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(Fault::Program { what: "a program of systemd has no pipes".to_owned() });
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut read = collect((&mut out, &mut stdout), (&mut err, &mut stderr), limit, much);
    if let (Err(Fault::Timeout { .. }), Late::Tell(tell)) = (&read, late) {
        tell();
        read = collect((&mut out, &mut stdout), (&mut err, &mut stderr), LONGEST, much);
    }
    if read.is_err() {
        // It may have ended by itself meanwhile; waiting follows either way.
        drop(child.kill());
    }
    let status = child.wait().map_err(Fault::io("wait for a program of systemd"))?;
    read?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Finished { status, stdout: text(stdout), stderr: text(stderr) })
}

/// Reads both pipes to their ends.
fn collect(
    (out, stdout): (&mut ChildStdout, &mut Vec<u8>),
    (err, stderr): (&mut ChildStderr, &mut Vec<u8>),
    limit: Duration,
    much: Much,
) -> Result<(), Fault> {
    let deadline = Instant::now().checked_add(limit);
    let (mut out_open, mut err_open) = (true, true);
    while out_open || err_open {
        let left = deadline.map_or(limit, |at| at.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Err(Fault::Timeout { what: "a program of systemd" });
        }
        let (out_ready, err_ready) = {
            let wanted = |open| if open { PollFlags::POLLIN } else { PollFlags::empty() };
            let mut fds =
                [PollFd::new(out.as_fd(), wanted(out_open)), PollFd::new(err.as_fd(), wanted(err_open))];
            poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX))
                .map_err(Fault::io("poll a program of systemd"))?;
            let [out, err] = fds;
            (out_open && out.any().unwrap_or(true), err_open && err.any().unwrap_or(true))
        };
        if out_ready {
            out_open = read_some(out, stdout, much)?;
        }
        if err_ready {
            err_open = read_some(err, stderr, much)?;
        }
    }
    Ok(())
}

/// Reads what is there; false at the end.
fn read_some(pipe: &mut impl Read, into: &mut Vec<u8>, much: Much) -> Result<bool, Fault> {
    let mut chunk = [0_u8; 16 * 1024];
    let count = pipe.read(&mut chunk).map_err(Fault::io("read from a program of systemd"))?;
    into.extend_from_slice(chunk.get(..count).unwrap_or_default());
    let over = into.len().saturating_sub(OUTPUT_MAX);
    match much {
        Much::Fail if over > 0 => {
            return Err(Fault::Program { what: "a program of systemd printed more than 1 MiB".to_owned() });
        }
        Much::Fail => {}
        Much::KeepFirst => into.truncate(OUTPUT_MAX),
    }
    Ok(count > 0)
}
