//! `postern-packages run`: runs the work of an order, as root in a unit of its own, and writes its outcome.

use crate::check;
use crate::job::{self, Host, Job, Work};
use crate::runner::{Runner, tail};
use nix::sys::stat::{Mode, umask};
use postern_apt::dpkg::{self, Row};
use postern_apt::{apt_errors, arguments};
use postern_policy::VerbId;
use postern_policy::types::PackageName;
use postern_proto::root::v1::Outcome;
use postern_proto::v1::{Action as StepAction, Completed, PackageInfo, PackageStep, Plan, Status};
use postern_root::host::lock_holder;
use postern_root::store::{self, Durability};
use postern_root::{Code, Denied, Fault, OrderId, failed, one_line, unchanged};
use prost::Message;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

/// Most bytes of output that are parsed and returned.
const OUTPUT_MAX: u64 = 16 * 1024;

/// Runs the job of this order and writes its outcome.
///
/// # Errors
/// The job has no readable directory, has run before, or its outcome cannot be written. A refusal is an outcome.
pub fn run(host: &Host, id: OrderId) -> Result<(), Fault> {
    umask(Mode::from_bits_truncate(0o022));
    let job = Job::load(host, id)?;
    // Created exclusively: a job that was started once is never started again. Any later failure is an outcome.
    let output = store::create(&job.directory.join("output")).map_err(Fault::io("a job runs once"))?;
    let failure = |fault: Fault| Denied::new(Code::PackageFailed, fault.to_string());
    let ended = Runner::new(&job.directory, output).map_err(failure).and_then(|mut runner| {
        let left = wait(host, &job, &mut runner)?;
        // After that wait the policy and the accounts of then decide.
        let job = Job::load(host, id).map_err(failure)?;
        decided(host, &job, &runner, left)
    });
    let outcome = ended.unwrap_or_else(|denied| Outcome {
        completed: Some(failed(denied.code, &denied.message)),
        ..Outcome::default()
    });
    let path = job.directory.join("outcome.pb");
    store::replace(&path, &[&outcome.encode_to_vec()], Durability::Synced)
}

/// Waits for apt's lock: not every program waits by itself. If another process takes it after that, apt-get waits for
/// the rest of the time, and other programs fail as `busy`.
fn wait(host: &Host, job: &Job, runner: &mut Runner<'_>) -> Result<Duration, Denied> {
    let (grant, work) = job::decide(&job.authority()?)?;
    let is_update = work.request.verb == VerbId::PackageUpdate;
    let lock = if is_update { &host.apt.lists_lock } else { &host.apt.dpkg_lock };
    Ok(runner.wait_for(lock, grant.timeout()))
}

/// Decides, acts, and states what was done.
fn decided(host: &Host, job: &Job, runner: &Runner<'_>, left: Duration) -> Result<Outcome, Denied> {
    let authority = job.authority()?;
    let (grant, work) = job::decide(&authority)?;
    let performed = authority.witness(&grant).and_then(|()| Ok(perform(host, runner, &work, left)?));
    let mut completed = performed.unwrap_or_else(|error| failed(Code::PackageFailed, &error.detail()));
    if authority.inverse.is_some() && completed.code == Code::PlanChanged.as_str() {
        Code::UndoConflict.as_str().clone_into(&mut completed.code);
    }
    let objects = completed.packages.iter().map(|package| package.name.clone()).collect();
    let detail = String::from_utf8_lossy(&runner.tail(OUTPUT_MAX)).into_owned();
    let inverse = job::inverse(&authority, &grant, &work, &completed);
    let outcome = authority.outcome(&grant, objects, completed, inverse);
    Ok(Outcome { detail, ..outcome })
}

fn perform(host: &Host, runner: &Runner<'_>, work: &Work, left: Duration) -> Result<Completed, Fault> {
    let (expected, verb) = (&work.expected, work.request.verb);
    if verb == VerbId::PackageUpdate {
        let ended = runner.run(&host.apt.apt_get, &arguments::update(runner.status_fd()?))?;
        return Ok(completed(runner, &[], ended));
    }
    if let Some(holds) = job::marks(verb) {
        let names = work.request.packages.iter().map(|package| package.name.clone()).collect::<Vec<_>>();
        return mark(host, runner, holds, &names);
    }
    let transaction = work.transaction()?;
    let repairs = verb == VerbId::PackageRepair;
    let is_whole = || -> Result<bool, Fault> {
        Ok(!dpkg::interrupted(&host.apt) && !dpkg::rows(&host.apt, &[])?.iter().any(Row::half_done))
    };
    if expected.is_empty() && (!repairs || is_whole()?) {
        return Ok(unchanged(transaction.nothing_to_do));
    }
    let status_fd = runner.status_fd()?;
    if repairs {
        // Where it fails for want of another package, apt-get may bring that: the state afterwards counts.
        runner.run(&host.apt.dpkg, &arguments::configure(status_fd))?;
    }
    let id = runner.directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let argv = arguments::transaction(&transaction, status_fd, (&host.program, id), left.as_secs());
    let ended = runner.run(&host.apt.apt_get, &argv)?;
    let mut completed = completed(runner, expected, ended);
    let was_let_go_on = completed.plan.is_some();
    if (repairs || was_let_go_on)
        && let Err(fault) = add_states(host, runner.directory, (verb, expected), &mut completed)
        && !completed.code.is_empty()
    {
        // How it ended is known; the state of the packages is not.
        completed.message = one_line(&format!("{} ({fault})", completed.message));
    }
    if completed.status() == Status::Done && !was_let_go_on && !repairs {
        return Ok(unchanged(transaction.nothing_to_do));
    }
    Ok(completed)
}

/// Returns how the work ended, from the strongest evidence.
fn completed(runner: &Runner<'_>, expected: &[PackageStep], ended: ExitStatus) -> Completed {
    let changed = tail(&runner.directory.join(check::CHANGED), OUTPUT_MAX);
    let failure = apt_errors::failure(&runner.tail(OUTPUT_MAX));
    let mut completed = if ended.success() {
        Completed { status: Status::Done.into(), ..Completed::default() }
    } else if !changed.is_empty() {
        failed(Code::PlanChanged, &String::from_utf8_lossy(&changed))
    } else if let Some(signal) = ended.signal() {
        failed(Code::PackageFailed, &format!("apt-get was killed by signal {signal}"))
    } else if let Some(text) = runner.failed_package().filter(|_| failure.code != Code::NoSpace) {
        failed(Code::PackageFailed, &text)
    } else {
        failed(failure.code, &failure.message)
    };
    // apt-get starts no check if there is nothing to do: then nothing was done.
    if runner.directory.join(check::PASSED).exists() {
        completed.plan = Some(Plan { packages: expected.to_vec(), ..Plan::default() });
    }
    completed
}

/// Adds to an outcome the state of each package, and names those that are half-configured.
fn add_states(
    host: &Host,
    directory: &Path,
    (verb, expected): (VerbId, &[PackageStep]),
    outcome: &mut Completed,
) -> Result<(), Fault> {
    let names: Vec<&str> = expected.iter().map(|step| step.name.as_str()).collect();
    let rows = dpkg::rows(&host.apt, if verb == VerbId::PackageRepair { &[] } else { &names })?;
    let half = rows.iter().filter(|row| row.half_done());
    let half: Vec<String> = half.map(|row| format!("{} is {}", row.info.name, row.info.state)).collect();
    if !half.is_empty() {
        if outcome.code.is_empty() {
            outcome.status = Status::Failed.into();
            Code::PackageFailed.as_str().clone_into(&mut outcome.code);
        }
        let and = if outcome.message.is_empty() { "" } else { "; " };
        outcome.message = one_line(&format!("{}{and}{}", outcome.message, half.join(", ")));
    }
    outcome.packages = expected.iter().map(|step| info(step, &rows)).collect();
    let is_removal = |step: &&PackageStep| matches!(step.action(), StepAction::Remove | StepAction::Purge);
    let staying = expected.iter().filter(|step| !is_removal(step));
    let staying: Vec<&str> = staying.map(|step| step.name.as_str()).collect();
    if staying.is_empty() {
        return Ok(());
    }
    // The order was written just before the start, by the same clock as dpkg's files.
    let path = directory.join("order.pb");
    let began = std::fs::metadata(&path).map_err(Fault::io(path.display()))?;
    let since = (began.ctime(), began.ctime_nsec());
    for (name, arch, file) in dpkg::kept_conffiles(&host.apt, &staying, since)? {
        let package = outcome.packages.iter_mut().find(|info| info.name == name && info.arch == arch);
        if let Some(info) = package {
            info.conffiles_kept.push(file);
        }
    }
    Ok(())
}

/// Returns the state after a step; dpkg has no entry of a purged package.
fn info(step: &PackageStep, rows: &[Row]) -> PackageInfo {
    let row = rows.iter().find(|row| row.is(&step.name, &step.arch));
    let (name, arch, state) = (step.name.clone(), step.arch.clone(), "not-installed".to_owned());
    row.map_or_else(|| PackageInfo { name, arch, state, ..PackageInfo::default() }, |row| row.info.clone())
}

/// Marks the packages that need it, and checks dpkg's state afterwards.
fn mark(host: &Host, runner: &Runner<'_>, holds: bool, names: &[PackageName]) -> Result<Completed, Fault> {
    if dpkg::interrupted(&host.apt) {
        let denied = apt_errors::needs_repair("dpkg was interrupted");
        return Ok(failed(denied.code, &denied.message));
    }
    let mut others = Vec::new();
    for (name, info) in names.iter().zip(installed(host, names)?) {
        let Some(info) = info else {
            return Ok(failed(Code::NotFound, &format!("{name} is not installed")));
        };
        if info.held != holds {
            others.push(name.clone());
        }
    }
    if others.is_empty() {
        return Ok(unchanged(if holds { "held already" } else { "not held" }));
    }
    runner.run(&host.apt.apt_mark, &arguments::mark(holds, &others))?;
    let packages = installed(host, &others)?.into_iter().flatten().collect::<Vec<_>>();
    if let Some(info) = packages.iter().find(|info| info.held != holds) {
        let is_locked = lock_holder(&host.apt.dpkg_lock).is_ok_and(|holder| holder.is_some());
        let code = if is_locked { Code::Busy } else { Code::PackageFailed };
        let words = if holds { "is not held" } else { "is still held" };
        let written = runner.tail(4096);
        let why = format!("{} {words}: {}", info.name, String::from_utf8_lossy(&written));
        return Ok(failed(code, &why));
    }
    Ok(Completed { status: Status::Done.into(), packages, ..Completed::default() })
}

/// Returns the state of each of these packages; none of one of which nothing, or its configuration alone, is there.
fn installed(host: &Host, names: &[PackageName]) -> Result<Vec<Option<PackageInfo>>, Fault> {
    let native = dpkg::native(&host.apt)?;
    let names = names.iter().map(PackageName::as_str).collect::<Vec<_>>();
    let rows = dpkg::rows(&host.apt, &names)?;
    let row = |name: &&str| dpkg::find(&rows, &native, name).filter(|row| row.is_there());
    Ok(names.iter().map(|name| row(name).map(|row| row.info.clone())).collect())
}
