//! `postern-packages check`: decides the transaction that dpkg is about to run, and compares it with the decided one.
//!
//! apt-get starts this under its lock, after the download and before dpkg has changed anything
//! (`DPkg::Pre-Install-Pkgs`, version 3 of the protocol, apt.conf(5)). Anything that is not understood stops it.

use crate::job::{self, Host, Job};
use postern_apt::{dpkg, sources};
use postern_policy::facts::{PackageStep as Decided, PackageTransaction};
use postern_policy::{Facts, VerbId};
use postern_proto::v1::{Action, PackageStep};
use postern_root::{Fault, OrderId, one_line, store};
use std::io::Read;

/// Most bytes of apt-get's protocol: its whole configuration, then the packages.
const INPUT_MAX: u64 = 16 * 1024 * 1024;
/// The file with the difference between the two transactions.
pub const CHANGED: &str = "plan_changed";
/// The file that exists once the check has passed.
pub const PASSED: &str = "checked";

/// Reads apt-get's transaction, compares and decides it.
///
/// # Errors
/// A difference, a refusal, or input that cannot be parsed; the file `plan_changed` in the job's directory says which.
/// The caller must then exit with a non-zero status, which stops apt-get.
pub fn check(host: &Host, id: OrderId, input: impl Read) -> Result<(), Fault> {
    let job = Job::load(host, id)?;
    match compare(host, &job, input) {
        Ok(()) => store::claim(&job.directory.join(PASSED), &[]).map(drop),
        Err(fault) => {
            let line = one_line(&fault.to_string());
            store::claim(&job.directory.join(CHANGED), &[line.as_bytes()])?;
            Err(fault)
        }
    }
}

fn compare(host: &Host, job: &Job, input: impl Read) -> Result<(), Fault> {
    let bytes = store::read_capped(input, INPUT_MAX).map_err(Fault::io("read apt-get's transaction"))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Fault::new("apt-get's transaction is not UTF-8"))?;
    let real = transaction(text)?;
    let denied = |denied: postern_policy::Denied| Fault::new(denied.message);
    let authority = job.authority().map_err(denied)?;
    let (grant, work) = job::decide(&authority).map_err(denied)?;
    let asked = work.transaction()?.request.verb;
    if let Some(text) = difference(&real, &work.expected, asked) {
        return Err(Fault::new(text));
    }
    check_removals(host, &real)?;
    let steps = with_sources(host, asked, &work.expected, authority.inverse.is_some())?;
    let transaction = PackageTransaction { steps, ..PackageTransaction::default() };
    authority.decide_facts(grant, &Facts::Packages(transaction)).map(drop).map_err(denied)
}

/// Adds to the steps their sources as root reads them now. The lists may have changed since the plan: each version must
/// still come from a decided source.
fn with_sources(
    host: &Host,
    asked: VerbId,
    expected: &[PackageStep],
    is_undo: bool,
) -> Result<Vec<Decided>, Fault> {
    let mut now = expected.to_vec();
    for step in &mut now {
        step.sources.clear();
        if asked == VerbId::PackagePurge && step.action() == Action::Remove {
            step.action = Action::Purge.into();
        }
    }
    sources::tie(&host.apt, &mut now, &dpkg::native(&host.apt)?)?;
    let differs = |(before, now): &(&PackageStep, &PackageStep)| before.sources != now.sources;
    if !is_undo && let Some((step, now)) = expected.iter().zip(&now).find(differs) {
        let sources = now.sources.join(", ");
        return Err(Fault::new(format!("{} {} now comes from {sources:?}", step.name, step.new)));
    }
    let decided = now.iter().map(Decided::from_wire).collect::<Result<_, _>>();
    decided.map_err(|invalid: postern_policy::Invalid| Fault::new(invalid.to_string()))
}

/// The first step that one side has and the other has not, in words.
fn difference(real: &[PackageStep], expected: &[PackageStep], asked: VerbId) -> Option<String> {
    let mut expected: Vec<PackageStep> = expected.iter().map(comparable).collect();
    for step in real {
        match expected.iter().position(|other| other == step) {
            Some(at) => drop(expected.swap_remove(at)),
            None => return Some(format!("{} is not in the plan", words(step))),
        }
    }
    // For a repair, dpkg has configured some packages before apt-get was started.
    if asked == VerbId::PackageRepair {
        expected.retain(|step| step.action() != Action::Configure);
    }
    expected.first().map(|step| format!("{} is in the plan, but would not happen", words(step)))
}

/// Checks that no essential or required package is removed: the plan was made without privilege.
fn check_removals(host: &Host, real: &[PackageStep]) -> Result<(), Fault> {
    let gone: Vec<&PackageStep> = real.iter().filter(|step| step.action() == Action::Remove).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let rows = dpkg::rows(&host.apt, &gone.iter().map(|step| step.name.as_str()).collect::<Vec<_>>())?;
    let is_gone = |row: &&dpkg::Row| gone.iter().any(|step| row.is(&step.name, &step.arch));
    let mut there = rows.iter().filter(is_gone).filter(|row| row.is_there());
    there.find_map(dpkg::vital).map_or(Ok(()), |why| Err(Fault::new(why)))
}

fn words(step: &PackageStep) -> String {
    let PackageStep { name, arch, old, new, .. } = step;
    let action = step.action().as_str_name().trim_start_matches("ACTION_").to_lowercase();
    let version = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
    format!("{action} of {name} ({arch}, {} to {})", version(old), version(new))
}

/// Returns a decided step as the protocol shows it, which does not distinguish a purge from a removal.
fn comparable(step: &PackageStep) -> PackageStep {
    let action = if step.action() == Action::Purge { Action::Remove.into() } else { step.action };
    PackageStep { action, sources: Vec::new(), asked: false, ..step.clone() }
}

/// The steps that apt-get names, in its order.
fn transaction(text: &str) -> Result<Vec<PackageStep>, Fault> {
    let body = text
        .strip_prefix("VERSION 3\n")
        .and_then(|rest| rest.split_once("\n\n"))
        .and_then(|(_, packages)| packages.strip_suffix('\n'))
        .ok_or_else(|| Fault::new("apt-get's transaction is not in version 3 of the protocol"))?;
    let mut steps = Vec::new();
    for line in body.split('\n') {
        let step = step(line).ok_or_else(|| Fault::new(format!("cannot read apt-get's line {line:?}")))?;
        // Each package that is installed is also configured: one step, not two. A
        // configuration alone finishes a package that an earlier run left half done.
        let done =
            |other: &PackageStep| other.name == step.name && other.arch == step.arch && other.new == step.new;
        if step.action() != Action::Configure || !steps.iter().any(done) {
            steps.push(step);
        }
    }
    Ok(steps)
}

/// `name old arch multiarch direction new arch multiarch file`.
fn step(line: &str) -> Option<PackageStep> {
    let words: Vec<&str> = line.splitn(9, ' ').collect();
    let [name, old, old_arch, _, direction, new, new_arch, _, file] = *words.as_slice() else { return None };
    let action = match (file, direction) {
        ("**REMOVE**", _) => Action::Remove,
        ("**CONFIGURE**", "<" | "=" | ">") => Action::Configure,
        (path, "<") if path.starts_with('/') && old == "-" => Action::Install,
        (path, "<") if path.starts_with('/') => Action::Upgrade,
        (path, "=") if path.starts_with('/') => Action::Reinstall,
        (path, ">") if path.starts_with('/') => Action::Downgrade,
        _ => return None,
    };
    let version = |text: &str| if text == "-" { String::new() } else { text.to_owned() };
    let (arch, new) =
        if action == Action::Remove { (old_arch, String::new()) } else { (new_arch, version(new)) };
    let [name, arch, old] = [name.to_owned(), arch.to_owned(), version(old)];
    Some(PackageStep { action: action.into(), name, arch, old, new, ..PackageStep::default() })
}
