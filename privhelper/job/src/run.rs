//! The transaction itself, as root in a unit of its own.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::stat::{Mode, umask};
use postern_proto::root::v1::{JobKind, JobOutcome, Transaction};
use postern_proto::v1::Phase;
use prost::Message;

use crate::dpkg::{self, Row};
use crate::follow::{Follower, spawn};
use crate::record::{JobId, Record};
use crate::{Fault, Host, apt, check, hold, meaning, states, sys};

/// Most bytes of output in the outcome.
const OUTPUT_MAX: u64 = 16 * 1024;

/// Runs the job of this id and writes its outcome.
///
/// # Errors
/// The job has no readable directory, has run before, or its outcome cannot be
/// written. A record that does not hold is an outcome, `invalid_argument`.
pub fn run(host: &Host, id: &JobId) -> Result<(), Fault> {
    umask(Mode::from_bits_truncate(0o022));
    let directory = host.directory(id);
    // Made anew or not at all: a job that was started once is never started again.
    let output = sys::create(&directory, "output")
        .map_err(|fault| Fault::new(format!("no directory, or the job has run before: {fault}")))?;
    let mut outcome = match sys::read_record(&directory, id) {
        Ok(record) => match record.kind {
            JobKind::Run => transact(host, &directory, &record, &output),
            JobKind::Update => update(host, &directory, &record, &output),
            JobKind::Hold | JobKind::Unhold => hold::mark(host, &directory, &record, &output),
            JobKind::Unspecified | JobKind::Plan | JobKind::Show | JobKind::Command => {
                Ok(meaning::outcome("invalid_argument", "not a job for root"))
            }
        }
        .unwrap_or_else(|fault| meaning::outcome("package_failed", &fault.to_string())),
        Err(fault) => meaning::outcome("invalid_argument", &fault.to_string()),
    };
    outcome.output = sys::tail(&directory.join("output"), OUTPUT_MAX);
    sys::write_whole(&directory, "outcome.pb", &outcome.encode_to_vec())
}

fn update(host: &Host, directory: &Path, record: &Record, output: &File) -> Result<JobOutcome, Fault> {
    let status = sys::create(directory, "status")?;
    let mut follower = Follower::new(directory, &host.lists_lock, Phase::Update)?;
    follower.wait_for_lock(Duration::from_secs(record.lock_timeout_s.into()));
    let argv = apt::update(sys::inheritable(&status)?);
    let ended = follower.follow(spawn(&host.apt_get, &argv, output)?)?;
    Ok(outcome(directory, record, ended, follower.failed))
}

fn transact(host: &Host, directory: &Path, record: &Record, output: &File) -> Result<JobOutcome, Fault> {
    let repairs = record.transaction == Transaction::Repair;
    if repairs
        && record.expected.is_empty()
        && !dpkg::interrupted(host)
        && !dpkg::rows(host, &[])?.iter().any(Row::half_done)
    {
        return Ok(meaning::outcome("", "nothing is left half done"));
    }
    let status = sys::create(directory, "status")?;
    let number = sys::inheritable(&status)?;
    let mut follower = Follower::new(directory, &host.dpkg_lock, Phase::Download)?;
    if repairs {
        follower.wait_for_lock(Duration::from_secs(record.lock_timeout_s.into()));
        // Where it fails for want of another package, apt-get may bring that: what counts is the state afterwards.
        follower.follow(spawn(&host.dpkg, &apt::configure(number), output)?)?;
        follower.failed = None;
    }
    let argv = apt::transaction(record, number, &host.job);
    let ended = follower.follow(spawn(&host.apt_get, &argv, output)?)?;
    let mut outcome = outcome(directory, record, ended, follower.failed);
    let was_let_go_on = !outcome.steps.is_empty();
    if (repairs || was_let_go_on)
        && let Err(fault) = states::add(host, directory, record, &mut outcome)
    {
        // How it went is known; what dpkg has now is not.
        let said = meaning::one_line(&format!("{} ({fault})", outcome.detail));
        if !outcome.code.is_empty() {
            outcome.detail = said;
        }
    }
    Ok(outcome)
}

/// What became of it: the strongest evidence first.
fn outcome(directory: &Path, record: &Record, ended: ExitStatus, failed: Option<String>) -> JobOutcome {
    let output = sys::tail(&directory.join("output"), OUTPUT_MAX);
    let changed = sys::tail(&directory.join(check::CHANGED), OUTPUT_MAX);
    let general = meaning::failure(&output);
    let mut outcome = if ended.success() {
        JobOutcome::default()
    } else if !changed.is_empty() {
        meaning::outcome("plan_changed", &String::from_utf8_lossy(&changed))
    } else if let Some(signal) = ended.signal() {
        meaning::outcome("package_failed", &format!("apt-get was killed by signal {signal}"))
    } else if let Some(text) = failed.filter(|_| general.code != "no_space") {
        meaning::outcome("package_failed", &text)
    } else {
        general
    };
    outcome.exit_code = ended.code().unwrap_or_default();
    outcome.signal = ended.signal().unwrap_or_default();
    // apt-get asks for no check when there is nothing to do: then nothing was done.
    if directory.join(check::PASSED).exists() {
        outcome.steps.clone_from(&record.expected);
    }
    outcome
}
