//! What dpkg is about to do, compared with what was decided.
//!
//! apt-get starts this under its lock, after the download and before dpkg has
//! changed anything (`DPkg::Pre-Install-Pkgs`, version 3 of the protocol, see
//! apt.conf(5)). Anything that is not understood stops it.

use std::io::{Read, Write};
use std::path::Path;

use postern_proto::root::v1::JobKind;
use postern_proto::v1::{Action, PackageStep};

use crate::apt::one_line;
use crate::record::JobId;
use crate::{Fault, Host, sys};

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
    match compare(&directory, id, input) {
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

fn compare(directory: &Path, id: &JobId, input: impl Read) -> Result<(), Fault> {
    let bytes = sys::read_capped(input, INPUT_MAX)?;
    let record = sys::read_record(directory, id)?;
    if record.kind != JobKind::Install {
        return Err(Fault::new("this job installs nothing"));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| Fault::new("apt-get's transaction is not UTF-8"))?;
    let real = transaction(text)?;
    match difference(&real, record.expected.iter().map(comparable).collect()) {
        Some(text) => Err(Fault::new(text)),
        None => Ok(()),
    }
}

/// The first step that one side has and the other has not, in words.
fn difference(real: &[PackageStep], mut expected: Vec<PackageStep>) -> Option<String> {
    for step in real {
        match expected.iter().position(|other| other == step) {
            Some(at) => drop(expected.swap_remove(at)),
            None => return Some(format!("{} is not in the plan", words(step))),
        }
    }
    expected.first().map(|step| format!("{} is in the plan, but would not happen", words(step)))
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
