//! The inverse of a transaction: an ordinary request of another verb, and exactly the steps that it may take.

use crate::job::{Work, downgrades};
use postern_apt::Action as Asked;
use postern_policy::{Decision, Grant, VerbId};
use postern_proto::root::v1::{Inverse, PackageFacts};
use postern_proto::v1::{
    Action, Completed, Package, PackageHoldRequest, PackageInstallRequest, PackageRemoveRequest, PackageStep,
    PackageUnholdRequest, Status,
};
use postern_root::{Authority, Fault, Key};
use prost::Message;
use std::collections::BTreeSet;

/// Most packages that one request names.
const NAMES_MAX: usize = 64;

/// The signed inverse; none where the work has none, or no request could name it.
///
/// # Errors
/// It cannot be signed.
pub fn of(
    authority: &Authority<'_>,
    grant: &Grant,
    key: &Key,
    work: &Work,
    done: &Completed,
) -> Result<Option<Inverse>, Fault> {
    if done.status() != Status::Done {
        return Ok(None);
    }
    let steps = match work {
        Work::Update => return Ok(None),
        Work::Mark { .. } => Vec::new(),
        Work::Transaction(transaction, expected) => inverse_steps(transaction.action, expected),
    };
    let names = match work {
        Work::Mark { .. } => done.packages.iter().map(|package| package.name.clone()).collect::<Vec<_>>(),
        Work::Update | Work::Transaction(..) => steps.iter().map(|step| step.name.clone()).collect(),
    };
    // A package on two architectures cannot be named alone.
    let distinct = names.iter().collect::<BTreeSet<_>>().len();
    if names.is_empty() || distinct != names.len() || distinct > NAMES_MAX {
        return Ok(None);
    }
    let (verb, body) = request(work, &steps, names);
    let steps = PackageFacts { steps, ..PackageFacts::default() };
    let order = &authority.ordered.order;
    let inverse = Inverse {
        family: "units".to_owned(),
        order_id: order.order_id.clone(),
        uid: order.uid,
        rules: Authority::rules(grant),
        verb: verb.name().to_owned(),
        body,
        needs_person: downgrades(&steps) || grant.decision() == Decision::Ask,
        steps: (!steps.steps.is_empty()).then_some(steps),
        ..Inverse::default()
    };
    key.sign(inverse).map(Some)
}

/// The request that takes it back, without `meta`.
fn request(work: &Work, steps: &[PackageStep], names: Vec<String>) -> (VerbId, Vec<u8>) {
    if let Work::Mark { holds: true, .. } = work {
        return (VerbId::PackageUnhold, PackageUnholdRequest { meta: None, names }.encode_to_vec());
    }
    if let Work::Mark { holds: false, .. } = work {
        return (VerbId::PackageHold, PackageHoldRequest { meta: None, names }.encode_to_vec());
    }
    if steps.iter().all(|step| step.action() == Action::Remove) {
        return (VerbId::PackageRemove, PackageRemoveRequest { meta: None, names }.encode_to_vec());
    }
    // The candidate is asked for and must be the recorded version; only an earlier one is asked for by version.
    let package = |step: &PackageStep| Package {
        name: step.name.clone(),
        version: if step.action() == Action::Downgrade { step.new.clone() } else { String::new() },
    };
    let packages = steps.iter().map(package).collect();
    (VerbId::PackageInstall, PackageInstallRequest { meta: None, packages }.encode_to_vec())
}

/// Exactly what takes the steps of a transaction back. Upgrades that an installation brought along stay: they are no
/// part of what was asked for.
fn inverse_steps(action: Asked, steps: &[PackageStep]) -> Vec<PackageStep> {
    let of = |step: &PackageStep| {
        let (inverse, old, new) = match (action, step.action()) {
            (Asked::Install, Action::Install) => (Action::Remove, &step.new, ""),
            (Asked::Remove | Asked::Autoremove, Action::Remove) | (Asked::Purge, Action::Purge) => {
                (Action::Install, &step.new, step.old.as_str())
            }
            (Asked::Upgrade, Action::Upgrade) => (Action::Downgrade, &step.new, step.old.as_str()),
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
