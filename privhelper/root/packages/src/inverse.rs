//! The inverse of a transaction: an ordinary request of another verb, and exactly the steps that it may take.

use crate::job::{Work, downgrades};
use postern_policy::{Grant, VerbId};
use postern_proto::root::v1::{Inverse, PackageFacts};
use postern_proto::v1::{
    Action, Completed, Package, PackageInstallRequest, PackageRemoveRequest, PackageStep, Status,
};
use postern_root::Authority;
use prost::Message;
use std::collections::BTreeSet;

/// Most packages that one request names.
const NAMES_MAX: usize = 64;

/// Returns the inverse; none if the work has none, or no request can express it.
pub fn of(authority: &Authority<'_>, grant: &Grant, work: &Work, done: &Completed) -> Option<Inverse> {
    if done.status() != Status::Done {
        return None;
    }
    let steps = match work {
        Work::Update => return None,
        Work::Mark { .. } => Vec::new(),
        Work::Transaction(transaction, expected) => inverse_steps(transaction.verb, expected),
    };
    let names = match work {
        Work::Mark { .. } => done.packages.iter().map(|package| package.name.clone()).collect::<Vec<_>>(),
        Work::Update | Work::Transaction(..) => steps.iter().map(|step| step.name.clone()).collect(),
    };
    // A package on two architectures cannot be named alone.
    let distinct = names.iter().collect::<BTreeSet<_>>().len();
    if names.is_empty() || distinct != names.len() || distinct > NAMES_MAX {
        return None;
    }
    let (verb, body) = request(work, &steps, names);
    let steps = PackageFacts { steps, ..PackageFacts::default() };
    let inverse = authority.inverse_of(grant, verb, body)?;
    let needs_person = downgrades(&steps) || inverse.needs_person;
    let steps = (!steps.steps.is_empty()).then_some(steps);
    Some(Inverse { needs_person, steps, ..inverse })
}

/// Returns the inverse request, without `meta`.
fn request(work: &Work, steps: &[PackageStep], names: Vec<String>) -> (VerbId, Vec<u8>) {
    let verb = match work {
        Work::Mark { holds: true, .. } => Some(VerbId::PackageUnhold),
        Work::Mark { holds: false, .. } => Some(VerbId::PackageHold),
        Work::Update | Work::Transaction(..) => {
            steps.iter().all(|step| step.action() == Action::Remove).then_some(VerbId::PackageRemove)
        }
    };
    if let Some(verb) = verb {
        // The messages of these verbs have the same fields.
        return (verb, PackageRemoveRequest { meta: None, names }.encode_to_vec());
    }
    // The candidate is asked for and must be the recorded version; only an earlier one is asked for by version.
    let package = |step: &PackageStep| Package {
        name: step.name.clone(),
        version: if step.action() == Action::Downgrade { step.new.clone() } else { String::new() },
    };
    let packages = steps.iter().map(package).collect();
    (VerbId::PackageInstall, PackageInstallRequest { meta: None, packages }.encode_to_vec())
}

/// Returns the steps of the inverse. Packages that an installation upgraded besides keep their new version.
fn inverse_steps(asked: VerbId, steps: &[PackageStep]) -> Vec<PackageStep> {
    let of = |step: &PackageStep| {
        let (inverse, old, new) = match (asked, step.action()) {
            (VerbId::PackageInstall, Action::Install) => (Action::Remove, &step.new, ""),
            (VerbId::PackageRemove | VerbId::PackageAutoremove, Action::Remove)
            | (VerbId::PackagePurge, Action::Purge) => (Action::Install, &step.new, step.old.as_str()),
            (VerbId::PackageUpgrade, Action::Upgrade) => (Action::Downgrade, &step.new, step.old.as_str()),
            _ => return None,
        };
        Some(PackageStep {
            action: inverse.into(),
            old: old.clone(),
            new: new.to_owned(),
            asked: true,
            sources: Vec::new(),
            ..step.clone()
        })
    };
    steps.iter().filter_map(of).collect()
}
