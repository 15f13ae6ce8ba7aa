//! What dpkg is about to do, compared with what was decided.
//!
//! apt-get starts this under its lock, after the download and before dpkg has
//! changed anything (`DPkg::Pre-Install-Pkgs`, version 3 of the protocol, see
//! apt.conf(5)). Anything that is not understood stops it.

use std::io::{Read, Write};
use std::path::Path;

use postern_proto::root::v1::{JobKind, Transaction};
use postern_proto::v1::{Action, PackageStep};

use crate::meaning::one_line;
use crate::record::{JobId, Record};
use crate::{Fault, Host, dpkg, sources, sys};

/// Most bytes that apt-get says: its whole configuration, then the packages.
const INPUT_MAX: u64 = 16 * 1024 * 1024;
/// The file that says how the transaction differs.
pub const CHANGED: &str = "plan_changed";
/// The file that says that dpkg was let go on.
pub const PASSED: &str = "checked";

/// Reads apt-get's transaction and compares it with the record's.
///
/// # Errors
/// A difference, or input that is not understood; `plan_changed` in the job's
/// directory says which. apt-get must then be stopped by a non-zero exit.
pub fn check(host: &Host, id: &JobId, input: impl Read) -> Result<(), Fault> {
    let directory = host.directory(id);
    match compare(host, &directory, id, input) {
        Ok(()) => sys::create(&directory, PASSED).map(drop),
        Err(fault) => {
            let line = one_line(&fault.to_string());
            sys::create(&directory, CHANGED)?
                .write_all(line.as_bytes())
                .map_err(|error| Fault::at(&directory.join(CHANGED), &error))?;
            Err(fault)
        }
    }
}

fn compare(host: &Host, directory: &Path, id: &JobId, input: impl Read) -> Result<(), Fault> {
    let bytes = sys::read_capped(input, INPUT_MAX)?;
    let record = sys::read_record(directory, id)?;
    if record.kind != JobKind::Run {
        return Err(Fault::new("this job is no transaction"));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| Fault::new("apt-get's transaction is not UTF-8"))?;
    let real = transaction(text)?;
    if let Some(text) = difference(&real, &record) {
        return Err(Fault::new(text));
    }
    check_removals(host, &real)?;
    check_sources(host, &record.expected)
}

/// The first step that one side has and the other has not, in words.
fn difference(real: &[PackageStep], record: &Record) -> Option<String> {
    let mut expected: Vec<PackageStep> = record.expected.iter().map(comparable).collect();
    for step in real {
        match expected.iter().position(|other| other == step) {
            Some(at) => drop(expected.swap_remove(at)),
            None => return Some(format!("{} is not in the plan", words(step))),
        }
    }
    // A repair has let dpkg configure what it could before apt-get was started.
    if record.transaction == Transaction::Repair {
        expected.retain(|step| step.action() != Action::Configure);
    }
    expected.first().map(|step| format!("{} is in the plan, but would not happen", words(step)))
}

/// What the plan said without privilege, root sees for itself: nothing vital goes.
fn check_removals(host: &Host, real: &[PackageStep]) -> Result<(), Fault> {
    let gone: Vec<&PackageStep> = real.iter().filter(|step| step.action() == Action::Remove).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let rows = dpkg::rows(host, &gone.iter().map(|step| step.name.as_str()).collect::<Vec<_>>())?;
    let is_gone = |row: &&dpkg::Row| gone.iter().any(|step| step.name == row.name && step.arch == row.arch);
    let mut there = rows.iter().filter(is_gone).filter(|row| row.state != "config-files");
    there.find_map(dpkg::vital).map_or(Ok(()), |why| Err(Fault::new(why)))
}

/// The lists of packages may have changed since the plan: each version still comes from what was decided on.
fn check_sources(host: &Host, expected: &[PackageStep]) -> Result<(), Fault> {
    let mut now: Vec<PackageStep> = expected.to_vec();
    for step in &mut now {
        step.sources.clear();
    }
    if expected.iter().any(|step| !step.sources.is_empty()) {
        sources::tie(host, &mut now, &dpkg::native(host)?)?;
    }
    let differs = |(before, now): &(&PackageStep, &PackageStep)| before.sources != now.sources;
    match expected.iter().zip(&now).find(differs) {
        Some((step, now)) => {
            let sources = now.sources.join(", ");
            Err(Fault::new(format!("{} {} now comes from {sources:?}", step.name, step.new)))
        }
        None => Ok(()),
    }
}

fn words(step: &PackageStep) -> String {
    let PackageStep { name, arch, old, new, .. } = step;
    let action = step.action().as_str_name().trim_start_matches("ACTION_").to_lowercase();
    let version = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
    format!("{action} of {name} ({arch}, {} to {})", version(old), version(new))
}

/// What of a decided step the protocol can say: it does not tell a purge from a removal.
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
