//! The files that one policy needs.

use super::unit::{command, validator};
use super::{as_user, mounts};
use crate::host::Host;
use postern_policy::{Command, Decision, Policy, Selector};
use postern_proto::root::v1::Sandbox;
use std::collections::BTreeMap;

/// The files of one policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Unit templates by file name.
    pub units: BTreeMap<String, String>,
    /// The drop-in of `postern-files.service`.
    pub drop_in: String,
    /// Granted directories that stay read-only, one sentence each.
    pub notes: Vec<String>,
}

impl Plan {
    /// Computes them.
    ///
    /// # Errors
    /// A row or a directory that a unit file cannot hold, in words.
    pub fn of(policy: &Policy, host: &Host) -> Result<Self, String> {
        let (drop_in, notes) = mounts::drop_in(policy, host)?;
        Ok(Self { units: units(policy)?, drop_in, notes })
    }
}

/// The unit templates of a policy, by file name.
///
/// # Errors
/// As [`Plan::of`].
pub fn units(policy: &Policy) -> Result<BTreeMap<String, String>, String> {
    let mut units = as_user::units(policy)?;
    for row in policy.commands().iter().filter(|row| row.wire.sandbox() != Sandbox::Validator) {
        units.insert(file(&row.unit()), command(row)?);
    }
    for (row, live) in validators(policy)? {
        units.insert(file(&row.validator_unit(live)), validator(row, live)?);
    }
    Ok(units)
}

fn file(template: &str) -> String {
    format!("{template}@.service")
}

/// Each validator with a directory that it is asked about: what a rule lets through is staged as the whole directory.
fn validators(policy: &Policy) -> Result<Vec<(&Command, &str)>, String> {
    let mut found = Vec::new();
    let rules = policy.rules().iter().filter(|rule| rule.decision != Decision::Deny);
    for rule in rules.filter(|rule| !rule.validate.is_empty()) {
        let Selector::Files { directories, .. } = &rule.selector else { continue };
        let row = policy.command(&rule.validate).filter(|row| row.wire.sandbox() == Sandbox::Validator);
        let row = row.ok_or_else(|| format!("rule {}: {:?} is not a validator", rule.id, rule.validate))?;
        found.extend(directories.iter().map(|directory| (row, directory.as_str())));
    }
    Ok(found)
}
