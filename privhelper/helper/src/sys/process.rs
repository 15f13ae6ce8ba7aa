//! Starting systemctl and systemd-run: the only programs that root starts itself.
//!
//! argv comes from typed values, `--` stands before names, the environment is
//! constant, stdin is null, no shell and no pager is anywhere.

use crate::audit::{Asked, Ticket};
use crate::error::Fault;
use crate::host::Host;
use crate::policy::Authorized;
use crate::types::UnitName;
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

/// What is done to a unit. Each has one fixed word for systemctl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitAction {
    /// `start`
    Start,
    /// `stop`
    Stop,
    /// `restart`
    Restart,
    /// `reload`
    Reload,
    /// `enable`
    Enable,
    /// `disable`
    Disable,
}

impl UnitAction {
    /// systemctl's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::Reload => "reload",
            Self::Enable => "enable",
            Self::Disable => "disable",
        }
    }
}

/// What a job's unit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobUnit {
    /// `postern-job@`: root, one approved thing.
    Run,
    /// `postern-plan@`: unprivileged, changes nothing.
    Plan,
    /// `postern-command-`: a named command, in the sandbox of its row.
    Command,
}

/// Reads properties of units: a probe.
///
/// # Errors
/// systemctl can't be started, does not end within `limit`, or prints more than 1 MiB.
pub fn show_units<V>(
    host: &Host,
    _: &Authorized<V>,
    properties: &str,
    units: &[&UnitName],
    limit: Duration,
) -> Result<Finished, Fault> {
    let mut args = vec!["show", "--no-pager", "--timestamp=unix", properties, "--"];
    args.extend(units.iter().map(|unit| unit.as_str()));
    systemctl(host, &args, limit, Late::Kill)
}

/// As [`show_units`] of one unit that is about to be changed.
///
/// # Errors
/// As [`show_units`].
pub fn show_changed(host: &Host, _: &Ticket, properties: &str, unit: &UnitName) -> Result<Finished, Fault> {
    let args = ["show", "--no-pager", "--timestamp=unix", properties, "--", unit.as_str()];
    systemctl(host, &args, Duration::from_secs(30), Late::Kill)
}

/// Changes a unit: an effect. After `limit` `late` is called, and the waiting goes on.
///
/// # Errors
/// As [`show_units`].
pub fn change_unit(
    host: &Host,
    _: &Ticket,
    action: UnitAction,
    now: bool,
    unit: &UnitName,
    limit: Duration,
    late: &dyn Fn(),
) -> Result<Finished, Fault> {
    let mut args = vec![action.word(), "--no-pager", "--no-ask-password", "--quiet"];
    if now {
        args.push("--now");
    }
    args.extend(["--", unit.as_str()]);
    systemctl(host, &args, limit, Late::Tell(late))
}

/// What the files of a unit say: a probe.
///
/// # Errors
/// As [`show_units`].
pub fn unit_files<V>(host: &Host, _: &Authorized<V>, unit: &UnitName) -> Result<Finished, Fault> {
    systemctl(host, &["cat", "--no-pager", "--", unit.as_str()], Duration::from_secs(30), Late::Kill)
}

/// Runs an unprivileged plan to its end: a probe.
///
/// # Errors
/// As [`show_units`].
pub fn run_plan<V>(host: &Host, _: &Authorized<V>, id: &str, limit: Duration) -> Result<Finished, Fault> {
    systemctl(host, &["start", "--no-ask-password", "--", &unit_of(JobUnit::Plan, id)], limit, Late::Kill)
}

/// Starts a job and does not wait: an effect.
///
/// # Errors
/// As [`show_units`].
pub fn start_job(host: &Host, _: &Ticket, id: &str) -> Result<Finished, Fault> {
    let args = ["start", "--no-block", "--no-ask-password", "--", &unit_of(JobUnit::Run, id)];
    systemctl(host, &args, HOUR, Late::Kill)
}

/// Writes one line to the terminals of the operators who are logged in: a unit does, and this does not wait.
///
/// # Errors
/// As [`show_units`].
pub fn tell_operators(host: &Host, _: &Asked, approval: &str) -> Result<Finished, Fault> {
    let unit = format!("postern-wall@{approval}.service");
    let args = ["start", "--no-block", "--no-ask-password", "--", &unit];
    systemctl(host, &args, Duration::from_secs(30), Late::Kill)
}

/// Has PID 1 make the unit of a named command and start it, and does not wait: an effect. All that differs between
/// commands stands in `properties`; the command itself stands in the job's record, where PID 1 expands nothing.
///
/// # Errors
/// As [`show_units`].
pub fn start_command(host: &Host, _: &Ticket, id: &str, properties: &[String]) -> Result<Finished, Fault> {
    let unit = format!("--unit={}", unit_of(JobUnit::Command, id));
    let mut args =
        vec!["--quiet", "--no-block", "--no-ask-password", "--collect", &unit, "--service-type=oneshot"];
    args.extend(properties.iter().map(String::as_str));
    args.extend(["--", JOB, "command"]);
    start(&host.programs.systemd_run, &args, HOUR, Late::Kill)
}

/// The program of jobs.
pub const JOB: &str = "/usr/libexec/postern/postern-job";

/// `ActiveState` of a job that this helper, or the one before it, started.
///
/// # Errors
/// As [`show_units`].
pub fn job_state(host: &Host, _: &Ticket, unit: JobUnit, id: &str) -> Result<String, Fault> {
    let args = ["show", "--property=ActiveState", "--value", "--", &unit_of(unit, id)];
    systemctl(host, &args, Duration::from_secs(30), Late::Kill)
        .map(|finished| finished.stdout.trim().to_owned())
}

fn unit_of(unit: JobUnit, id: &str) -> String {
    match unit {
        JobUnit::Run => format!("postern-job@{id}.service"),
        JobUnit::Plan => format!("postern-plan@{id}.service"),
        JobUnit::Command => format!("postern-command-{id}.service"),
    }
}

/// The longest that anything is waited for.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// What becomes of a child that does not end in time.
enum Late<'a> {
    /// It only looks.
    Kill,
    /// It changes something. Whoever waits is told, and the waiting goes on for an hour.
    Tell(&'a dyn Fn()),
}

fn systemctl(host: &Host, args: &[&str], limit: Duration, late: Late<'_>) -> Result<Finished, Fault> {
    start(&host.programs.systemctl, args, limit, late)
}

fn start(program: &Path, args: &[&str], limit: Duration, late: Late<'_>) -> Result<Finished, Fault> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where root starts a program, each from a fixed path"
    )]
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(ENVIRONMENT).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Fault::io("start systemctl"))?;
    let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(Fault::Program { what: "systemctl has no pipes".to_owned() });
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut read = collect((&mut out, &mut stdout), (&mut err, &mut stderr), limit);
    if let (Err(Fault::Timeout { .. }), Late::Tell(tell)) = (&read, late) {
        tell();
        read = collect((&mut out, &mut stdout), (&mut err, &mut stderr), HOUR);
    }
    if read.is_err() {
        // It may have ended by itself meanwhile; waiting follows either way.
        drop(child.kill());
    }
    let status = child.wait().map_err(Fault::io("wait for systemctl"))?;
    read?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Finished { status, stdout: text(stdout), stderr: text(stderr) })
}

/// Reads both pipes to their ends.
fn collect(
    (out, stdout): (&mut ChildStdout, &mut Vec<u8>),
    (err, stderr): (&mut ChildStderr, &mut Vec<u8>),
    limit: Duration,
) -> Result<(), Fault> {
    let deadline = Instant::now().checked_add(limit);
    let (mut out_open, mut err_open) = (true, true);
    while out_open || err_open {
        let left = deadline.map_or(limit, |at| at.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Err(Fault::Timeout { what: "systemctl" });
        }
        let (out_ready, err_ready) = {
            let wanted = |open| if open { PollFlags::POLLIN } else { PollFlags::empty() };
            let mut fds =
                [PollFd::new(out.as_fd(), wanted(out_open)), PollFd::new(err.as_fd(), wanted(err_open))];
            poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX))
                .map_err(Fault::io("poll systemctl"))?;
            let [out, err] = fds;
            (out_open && out.any().unwrap_or(true), err_open && err.any().unwrap_or(true))
        };
        if out_ready {
            out_open = read_some(out, stdout)?;
        }
        if err_ready {
            err_open = read_some(err, stderr)?;
        }
    }
    Ok(())
}

/// Reads what is there; false at the end.
fn read_some(pipe: &mut impl Read, into: &mut Vec<u8>) -> Result<bool, Fault> {
    let mut chunk = [0_u8; 16 * 1024];
    let count = pipe.read(&mut chunk).map_err(Fault::io("read from systemctl"))?;
    into.extend_from_slice(chunk.get(..count).unwrap_or_default());
    if into.len() > OUTPUT_MAX {
        return Err(Fault::Program { what: "systemctl printed more than 1 MiB".to_owned() });
    }
    Ok(count > 0)
}
