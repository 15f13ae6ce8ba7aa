//! What systemctl, systemd-run and journalctl are asked: argv comes from typed values, and names can't be read as options.

use crate::audit::{Asked, Ticket};
use crate::error::Fault;
use crate::host::Host;
pub use crate::sys::child::Finished;
use crate::sys::child::{LONGEST, Late, Much, run};
use postern_policy::rules::protect::RESTARTABLE;
use postern_policy::types::UnitName;
use postern_policy::{Grant, VerbId};
use std::time::Duration;

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
    /// `try-restart`
    TryRestart,
    /// `reset-failed`
    ResetFailed,
    /// `mask`
    Mask,
    /// `unmask`
    Unmask,
}

impl UnitAction {
    /// systemctl's word.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.verb().name().trim_start_matches("unit.")
    }

    /// The verb that asks for it.
    #[must_use]
    pub const fn verb(self) -> VerbId {
        match self {
            Self::Start => VerbId::UnitStart,
            Self::Stop => VerbId::UnitStop,
            Self::Restart => VerbId::UnitRestart,
            Self::Reload => VerbId::UnitReload,
            Self::Enable => VerbId::UnitEnable,
            Self::Disable => VerbId::UnitDisable,
            Self::TryRestart => VerbId::UnitTryRestart,
            Self::ResetFailed => VerbId::UnitResetFailed,
            Self::Mask => VerbId::UnitMask,
            Self::Unmask => VerbId::UnitUnmask,
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
pub fn show_units(
    host: &Host,
    _: &Grant,
    properties: &str,
    units: &[UnitName],
    limit: Duration,
) -> Result<Finished, Fault> {
    let mut args = vec!["show", "--no-pager", "--timestamp=unix", properties, "--"];
    args.extend(units.iter().map(UnitName::as_str));
    systemctl(host, &args, limit, Late::Kill)
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
    let mut args = vec![action.word(), "--no-pager", "--no-ask-password"];
    if now {
        args.push("--now");
    }
    if RESTARTABLE.contains(&unit.as_str()) {
        args.push("--no-block");
    }
    args.extend(["--", unit.as_str()]);
    systemctl(host, &args, limit, Late::Tell(late))
}

/// Lets systemd read its units again: an effect. After `limit` `late` is called, and the waiting goes on.
///
/// # Errors
/// As [`show_units`].
pub fn daemon_reload(host: &Host, _: &Ticket, limit: Duration, late: &dyn Fn()) -> Result<Finished, Fault> {
    systemctl(host, &["daemon-reload", "--no-ask-password"], limit, Late::Tell(late))
}

/// Which lines of the journal.
#[derive(Debug, Clone, Copy)]
pub struct Lines {
    /// The last so many.
    pub most: u32,
    /// None that are older; the beginning of 1970 = any.
    pub since: Duration,
}

/// What the journal has of one unit, the newest first: a probe. Of more than 1 MiB the first, so the newest.
///
/// # Errors
/// As [`show_units`].
pub fn journal(host: &Host, _: &Grant, unit: &UnitName, lines: Lines) -> Result<Finished, Fault> {
    let since = format!("--since=@{}.{:06}", lines.since.as_secs(), lines.since.subsec_micros());
    let (unit, most) = (format!("--unit={unit}"), format!("--lines={}", lines.most));
    // All: else of what is not plain text only the size is shown. Reverse: else `--since` with `--lines` means
    // the first lines on Debian 12 and the last on Debian 13.
    let form =
        ["--quiet", "--no-pager", "--all", "--no-hostname", "--utc", "--output=short-iso", "--reverse"];
    let args = [form.as_slice(), &[&most, &since, &unit]].concat();
    run(&host.programs.journalctl, &args, Duration::from_secs(30), Late::Kill, Much::KeepFirst)
}

/// Waits until the journal has what units have written so far: a probe.
///
/// # Errors
/// As [`show_units`].
pub fn sync_journal(host: &Host, _: &Grant) -> Result<Finished, Fault> {
    run(&host.programs.journalctl, &["--sync"], Duration::from_secs(5), Late::Kill, Much::Fail)
}

/// What is asked about the files of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitFiles {
    /// What they say.
    Content,
    /// The links to them, after a line that says whether the unit is enabled.
    Links,
}

/// Reads what systemd knows of a unit's files: a probe.
///
/// # Errors
/// As [`show_units`].
pub fn unit_files(host: &Host, _: &Grant, what: UnitFiles, unit: &UnitName) -> Result<Finished, Fault> {
    let word: &[&str] = match what {
        UnitFiles::Content => &["cat"],
        UnitFiles::Links => &["is-enabled", "--full"],
    };
    let args = [word, &["--no-pager", "--", unit.as_str()]].concat();
    systemctl(host, &args, Duration::from_secs(30), Late::Kill)
}

/// Runs an unprivileged plan to its end: a probe.
///
/// # Errors
/// As [`show_units`].
pub fn run_plan(host: &Host, _: &Grant, id: &str, limit: Duration) -> Result<Finished, Fault> {
    systemctl(host, &["start", "--no-ask-password", "--", &unit_of(JobUnit::Plan, id)], limit, Late::Kill)
}

/// Starts a job and does not wait: an effect.
///
/// # Errors
/// As [`show_units`].
pub fn start_job(host: &Host, _: &Ticket, id: &str) -> Result<Finished, Fault> {
    let args = ["start", "--no-block", "--no-ask-password", "--", &unit_of(JobUnit::Run, id)];
    systemctl(host, &args, LONGEST, Late::Kill)
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
    run(&host.programs.systemd_run, &args, LONGEST, Late::Kill, Much::Fail)
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

fn systemctl(host: &Host, args: &[&str], limit: Duration, late: Late<'_>) -> Result<Finished, Fault> {
    run(&host.programs.systemctl, args, limit, late, Much::Fail)
}
