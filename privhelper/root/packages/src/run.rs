//! Runs the work of an order, as root in a unit of its own, and writes what became of it.

use crate::follow::{Follower, spawn};
use crate::host::Host;
use crate::job::{self, Job, Work};
use crate::outcome::{failed, unchanged};
use crate::{check, files, hold, inverse, states};
use nix::sys::stat::{Mode, umask};
use postern_apt::dpkg::{self, Row};
use postern_apt::{Action, Fault, Transaction, apt_errors, arguments};
use postern_policy::{Code, Denied, Grant};
use postern_proto::root::v1::Outcome;
use postern_proto::v1::{Completed, PackageStep, Phase, Plan, Status};
use postern_root::OrderId;
use prost::Message;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

/// Most bytes of output that are looked at and told.
const OUTPUT_MAX: u64 = 16 * 1024;

/// Runs the job of this order and writes its outcome.
///
/// # Errors
/// The job has no readable directory, has run before, or its outcome cannot be written. A refusal is an outcome.
pub fn run(host: &Host, id: OrderId) -> Result<(), Fault> {
    umask(Mode::from_bits_truncate(0o022));
    let fault = |fault: postern_root::Fault| Fault::new(fault.to_string());
    let job = Job::load(host, id).map_err(fault)?;
    // Made anew or not at all: a job that was started once is never started again.
    let output = files::create(&job.directory, "output")
        .map_err(|fault| Fault::new(format!("the job has run before: {fault}")))?;
    let outcome = match decided(host, &job, &output) {
        Ok(outcome) => outcome,
        Err(denied) => {
            Outcome { completed: Some(failed(denied.code, &denied.message)), ..Outcome::default() }
        }
    };
    files::write_whole(&job.directory, "outcome.pb", &outcome.encode_to_vec())
}

/// Decides, acts, and states what was done.
fn decided(host: &Host, job: &Job, output: &File) -> Result<Outcome, Denied> {
    let authority = job.authority(host)?;
    let (grant, work) = job::decide(&authority)?;
    let completed = authority
        .witness(&grant)
        .map_err(|fault| Fault::new(fault.to_string()))
        .and_then(|()| perform(host, &job.directory, &grant, &work, output))
        .unwrap_or_else(|fault| failed(Code::PackageFailed, &fault.to_string()));
    let objects = completed.packages.iter().map(|package| package.name.clone()).collect();
    let detail =
        String::from_utf8_lossy(&files::tail(&job.directory.join("output"), OUTPUT_MAX)).into_owned();
    let signed = inverse::of(&authority, &grant, &job.key, &work, &completed);
    let outcome = authority.outcome(&grant, objects, completed);
    // What was done is told also where it cannot be undone.
    Ok(Outcome { inverse: signed.ok().flatten(), detail, ..outcome })
}

fn perform(
    host: &Host,
    directory: &Path,
    grant: &Grant,
    work: &Work,
    output: &File,
) -> Result<Completed, Fault> {
    let wait = grant.timeout();
    match work {
        Work::Transaction(transaction, expected) => {
            transact(host, directory, (transaction, expected), wait, output)
        }
        Work::Update => update(host, directory, wait, output),
        Work::Mark { holds, names } => hold::mark(host, directory, (*holds, names), wait, output),
    }
}

fn update(host: &Host, directory: &Path, wait: Duration, output: &File) -> Result<Completed, Fault> {
    let status = files::create(directory, "status")?;
    let mut follower = Follower::new(directory, &host.apt.lists_lock, Phase::Update)?;
    follower.wait_for_lock(wait);
    let argv = arguments::update(files::inheritable(&status)?);
    let ended = follower.follow(spawn(&host.apt.apt_get, &argv, output)?)?;
    Ok(completed(directory, &[], ended, follower.failed))
}

fn transact(
    host: &Host,
    directory: &Path,
    (transaction, expected): (&Transaction, &[PackageStep]),
    wait: Duration,
    output: &File,
) -> Result<Completed, Fault> {
    let repairs = transaction.action == Action::Repair;
    if expected.is_empty() {
        let is_whole = || -> Result<bool, Fault> {
            Ok(!dpkg::interrupted(&host.apt) && !dpkg::rows(&host.apt, &[])?.iter().any(Row::half_done))
        };
        if !repairs || is_whole()? {
            return Ok(unchanged(nothing_to_do(transaction.action)));
        }
    }
    let status = files::create(directory, "status")?;
    let status_fd = files::inheritable(&status)?;
    let mut follower = Follower::new(directory, &host.apt.dpkg_lock, Phase::Download)?;
    if repairs {
        follower.wait_for_lock(wait);
        // Where it fails for want of another package, apt-get may bring that: the state afterwards counts.
        follower.follow(spawn(&host.apt.dpkg, &arguments::configure(status_fd), output)?)?;
        follower.failed = None;
    }
    let id = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let run = arguments::Run { status_fd, check: (&host.program, id), lock_timeout_s: wait.as_secs() };
    let argv = arguments::transaction(transaction, &run);
    let ended = follower.follow(spawn(&host.apt.apt_get, &argv, output)?)?;
    let mut completed = completed(directory, expected, ended, follower.failed);
    let was_let_go_on = completed.plan.is_some();
    if (repairs || was_let_go_on)
        && let Err(fault) = states::add(host, directory, (transaction.action, expected), &mut completed)
        && !completed.code.is_empty()
    {
        // How it ended is known; the state of the packages is not.
        completed.message = apt_errors::one_line(&format!("{} ({fault})", completed.message));
    }
    if completed.status() == Status::Done && !was_let_go_on && !repairs {
        return Ok(unchanged(nothing_to_do(transaction.action)));
    }
    Ok(completed)
}

/// How the work ended: the strongest evidence first.
fn completed(
    directory: &Path,
    expected: &[PackageStep],
    ended: ExitStatus,
    broken: Option<String>,
) -> Completed {
    let output = files::tail(&directory.join("output"), OUTPUT_MAX);
    let changed = files::tail(&directory.join(check::CHANGED), OUTPUT_MAX);
    let (code, detail) = apt_errors::failure(&output);
    let mut completed = if ended.success() {
        Completed { status: Status::Done.into(), ..Completed::default() }
    } else if !changed.is_empty() {
        failed(Code::PlanChanged, &String::from_utf8_lossy(&changed))
    } else if let Some(signal) = ended.signal() {
        failed(Code::PackageFailed, &format!("apt-get was killed by signal {signal}"))
    } else if let Some(text) = broken.filter(|_| code != Code::NoSpace) {
        failed(Code::PackageFailed, &text)
    } else {
        failed(code, &detail)
    };
    // apt-get asks for no check where there is nothing to do: then nothing was done.
    if directory.join(check::PASSED).exists() {
        completed.plan = Some(Plan { packages: expected.to_vec(), ..Plan::default() });
    }
    completed
}

const fn nothing_to_do(action: Action) -> &'static str {
    match action {
        Action::Install => "installed already",
        Action::Remove => "not installed",
        Action::Purge => "nothing of it is left",
        Action::Upgrade => "nothing newer is offered",
        Action::Autoremove => "nothing to do",
        Action::Repair => "nothing is left half done",
    }
}
