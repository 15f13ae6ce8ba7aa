//! The directories in which the kernel lets `postern-files` change anything: those that rules grant, and no other.

use super::text::{Lines, quoted};
use crate::host::Host;
use postern_policy::types::TargetPath;
use postern_policy::{Decision, Policy, Selector, VerbId};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Directories in which a rule lets files be changed, in order.
#[must_use]
pub fn writable(policy: &Policy) -> BTreeSet<&TargetPath> {
    let changes = |verb: &VerbId| !matches!(verb, VerbId::FileRead | VerbId::FileList);
    let rules = policy.rules().iter();
    let rules = rules.filter(|rule| rule.as_user.is_empty() && rule.decision != Decision::Deny);
    let rules = rules.filter(|rule| rule.verbs.iter().any(changes));
    let directories = rules.flat_map(|rule| match &rule.selector {
        Selector::Files { directories, .. } => directories.as_slice(),
        Selector::Nothing | Selector::Packages(_) | Selector::Units(_) | Selector::Commands { .. } => &[],
    });
    directories.collect()
}

/// Those that are below no other one: each costs time at every start of the program.
#[must_use]
pub fn merged<'a>(directories: &BTreeSet<&'a TargetPath>) -> Vec<&'a TargetPath> {
    let is_below_another = |one: &TargetPath| directories.iter().any(|other| one.below(other).is_some());
    directories.iter().copied().filter(|one| !is_below_another(one)).collect()
}

/// The drop-in, and what is left out of it.
pub(super) fn drop_in(policy: &Policy, host: &Host) -> Result<(String, Vec<String>), String> {
    let mut text = Lines::new();
    text.add("# Directories in which rules let files be changed; `-`, since one that is missing would let no start succeed.\n[Service]\n");
    let (mut safe, mut notes) = (BTreeSet::new(), Vec::new());
    for directory in writable(policy) {
        match check(&host.root, directory, host.owner_uid) {
            Ok(()) => drop(safe.insert(directory)),
            Err(why) => {
                notes.push(format!("nothing in {directory} can be changed (unsafe_path): {why}"));
            }
        }
    }
    for directory in merged(&safe) {
        text.set("ReadWritePaths", quoted(&format!("-{directory}"))?);
    }
    Ok((text.0, notes))
}

/// Whether root alone decides where this path leads, one component at a time: PID 1 follows symbolic links in
/// `ReadWritePaths=`. A directory that is missing is safe if nobody else can make it.
fn check(root: &Path, directory: &TargetPath, owner: u32) -> Result<(), String> {
    let mut path = root.to_owned();
    for component in directory.as_str().split('/').filter(|component| !component.is_empty()) {
        path.push(component);
        let facts = match fs::symlink_metadata(&path) {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        let name = path.display();
        if facts.is_symlink() {
            return Err(format!("{name} is a symbolic link"));
        }
        if !facts.is_dir() {
            return Err(format!("{name} is not a directory"));
        }
        if facts.uid() != owner || facts.mode() & 0o022 != 0 {
            return Err(format!("others than root can change {name}"));
        }
    }
    Ok(())
}
