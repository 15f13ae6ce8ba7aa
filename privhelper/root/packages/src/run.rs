//! `postern-packages run`: runs the work of an order, as root in a unit of its own, and writes its outcome.

use crate::follow::Follower;
use crate::host::Host;
use crate::job::{self, Job, Work};
use crate::{check, files, hold, inverse, states};
use nix::sys::stat::{Mode, umask};
use postern_apt::dpkg::{self, Row};
use postern_apt::{Action, Transaction, apt_errors, arguments};
use postern_policy::{Code, Denied, Grant};
use postern_proto::root::v1::Outcome;
use postern_proto::v1::{Completed, PackageStep, Phase, Plan, Status};
use postern_root::store::{self, Durability};
use postern_root::{Fault, OrderId, failed, one_line, unchanged};
use prost::Message;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
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
    // Created exclusively: a job that was started once is never started again.
    let output = files::create(&job.directory, "output")
        .map_err(|fault| Fault::new(format!("the job has run before: {fault}")))?;
    // After that wait the policy and the accounts of then decide.
    let followed = follower(host, &job, output).and_then(|mut follower| {
        let job = Job::load(host, id).map_err(|fault| package_failed(&fault))?;
        decided(host, &job, &mut follower)
    });
    let outcome = followed.unwrap_or_else(|denied| Outcome {
        completed: Some(failed(denied.code, &denied.message)),
        ..Outcome::default()
    });
    let path = job.directory.join("outcome.pb");
    store::replace(&path, &[&outcome.encode_to_vec()], Durability::Synced)
}

fn package_failed(fault: &Fault) -> Denied {
    Denied::new(Code::PackageFailed, fault.to_string())
}

/// What follows the work. It has waited for apt's lock in place of programs that do not wait by themselves.
fn follower<'a>(host: &'a Host, job: &'a Job, output: File) -> Result<Follower<'a>, Denied> {
    let (grant, work) = job::decide(&job.authority()?)?;
    let (lock, phase, waits_itself) = match &work {
        Work::Update => (&host.apt.lists_lock, Phase::Update, false),
        Work::Mark { .. } => (&host.apt.dpkg_lock, Phase::Run, false),
        Work::Transaction(transaction, _) => {
            (&host.apt.dpkg_lock, Phase::Download, transaction.action != Action::Repair)
        }
    };
    let mut follower =
        Follower::new(&job.directory, output, lock, phase).map_err(|fault| package_failed(&fault))?;
    if !waits_itself {
        follower.wait_for_lock(grant.timeout());
    }
    Ok(follower)
}

/// Decides, acts, and states what was done.
fn decided(host: &Host, job: &Job, follower: &mut Follower<'_>) -> Result<Outcome, Denied> {
    let authority = job.authority()?;
    let (grant, work) = job::decide(&authority)?;
    let mut completed = authority
        .witness(&grant)
        .and_then(|()| perform(host, &grant, &work, follower))
        .unwrap_or_else(|fault| failed(Code::PackageFailed, &fault.to_string()));
    if authority.inverse.is_some() && completed.code == Code::PlanChanged.as_str() {
        Code::UndoConflict.as_str().clone_into(&mut completed.code);
    }
    let objects = completed.packages.iter().map(|package| package.name.clone()).collect();
    let detail = String::from_utf8_lossy(&follower.tail(OUTPUT_MAX)).into_owned();
    let inverse = inverse::of(&authority, &grant, &job.key, &work, &completed);
    let outcome = authority.outcome(&grant, objects, completed);
    Ok(Outcome { inverse, detail, ..outcome })
}

fn perform(host: &Host, grant: &Grant, work: &Work, follower: &mut Follower<'_>) -> Result<Completed, Fault> {
    match work {
        Work::Transaction(transaction, expected) => {
            transact(host, follower, transaction, expected, grant.timeout())
        }
        Work::Update => {
            let argv = arguments::update(follower.status_fd()?);
            let ended = follower.run(&host.apt.apt_get, &argv)?;
            Ok(completed(follower, &[], ended))
        }
        Work::Mark { holds, names } => hold::mark(host, follower, *holds, names),
    }
}

fn transact(
    host: &Host,
    follower: &mut Follower<'_>,
    transaction: &Transaction,
    expected: &[PackageStep],
    wait: Duration,
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
    let status_fd = follower.status_fd()?;
    if repairs {
        // Where it fails for want of another package, apt-get may bring that: the state afterwards counts.
        follower.run(&host.apt.dpkg, &arguments::configure(status_fd))?;
        follower.failed = None;
    }
    let id = follower.directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let run = arguments::Run { status_fd, check: (&host.program, id), lock_timeout_s: wait.as_secs() };
    let argv = arguments::transaction(transaction, &run);
    let ended = follower.run(&host.apt.apt_get, &argv)?;
    let mut completed = completed(follower, expected, ended);
    let was_let_go_on = completed.plan.is_some();
    if (repairs || was_let_go_on)
        && let Err(fault) =
            states::add(host, follower.directory, (transaction.action, expected), &mut completed)
        && !completed.code.is_empty()
    {
        // How it ended is known; the state of the packages is not.
        completed.message = one_line(&format!("{} ({fault})", completed.message));
    }
    if completed.status() == Status::Done && !was_let_go_on && !repairs {
        return Ok(unchanged(nothing_to_do(transaction.action)));
    }
    Ok(completed)
}

/// Returns how the work ended, from the strongest evidence.
fn completed(follower: &mut Follower<'_>, expected: &[PackageStep], ended: ExitStatus) -> Completed {
    let changed = files::tail(&follower.directory.join(check::CHANGED), OUTPUT_MAX);
    let failure = apt_errors::failure(&follower.tail(OUTPUT_MAX));
    let broken = follower.failed.take();
    let mut completed = if ended.success() {
        Completed { status: Status::Done.into(), ..Completed::default() }
    } else if !changed.is_empty() {
        failed(Code::PlanChanged, &String::from_utf8_lossy(&changed))
    } else if let Some(signal) = ended.signal() {
        failed(Code::PackageFailed, &format!("apt-get was killed by signal {signal}"))
    } else if let Some(text) = broken.filter(|_| failure.code != Code::NoSpace) {
        failed(Code::PackageFailed, &text)
    } else {
        failed(failure.code, &failure.message)
    };
    // apt-get starts no check if there is nothing to do: then nothing was done.
    if follower.directory.join(check::PASSED).exists() {
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
