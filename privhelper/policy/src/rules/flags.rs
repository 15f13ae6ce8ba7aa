//! What apt may do: the same for the simulation and the run of a request.

use super::element::Element;
use super::object::Object;
use super::rule::Rule;
use crate::verb_id::VerbId;
use postern_proto::root::v1 as root;
use std::sync::Arc;
use std::time::Duration;

/// Limits of a transaction. They are computed once, by the decision about the request, and never change with its facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the policy file")]
pub struct PackageFlags {
    /// Recommended packages are installed too. It decides which packages apt chooses: the first rule of each element
    /// says so, and a rule that does not grant it cannot let the transaction through.
    pub recommends: bool,
    /// Others may be upgraded. This and what follows: some rule of each element grants it, and the facts are decided
    /// by each rule's own limit.
    pub allow_upgrades: bool,
    /// Others may be removed.
    pub allow_removals: bool,
    /// Packages may be downgraded.
    pub allow_downgrades: bool,
    /// An upgrade may bring packages that were not installed.
    pub new_packages: bool,
    /// Most packages that are new.
    pub max_new_packages: u32,
    /// How long apt waits for dpkg's lock.
    pub lock_timeout: Duration,
}

impl PackageFlags {
    /// No transaction is granted.
    pub(super) const NONE: Self = Self {
        recommends: false,
        allow_upgrades: false,
        allow_removals: false,
        allow_downgrades: false,
        new_packages: false,
        max_new_packages: 0,
        lock_timeout: Duration::ZERO,
    };

    pub(super) fn of(elements: &[Element]) -> Self {
        let packages = elements.iter().filter(|element| is_transaction(element)).collect::<Vec<_>>();
        let rules = || packages.iter().map(|element| element.rules.as_slice());
        if packages.is_empty() {
            return Self::NONE;
        }
        let each = |grants: fn(&Rule) -> bool| rules().all(|rules| rules.iter().any(|rule| grants(rule)));
        let new = |rules: &[Arc<Rule>]| rules.iter().map(|rule| rule.max_new_packages).max();
        Self {
            recommends: rules().all(|rules| rules.first().is_some_and(|rule| rule.recommends)),
            allow_upgrades: each(|rule| rule.allow_upgrades),
            allow_removals: each(|rule| rule.allow_removals),
            allow_downgrades: each(|rule| rule.allow_downgrades),
            new_packages: each(|rule| rule.new_packages),
            max_new_packages: rules().filter_map(new).min().unwrap_or(0),
            lock_timeout: rules()
                .filter_map(|rules| rules.first())
                .map(|rule| rule.timeout)
                .min()
                .unwrap_or_default(),
        }
    }

    /// The flags as the probe gets them.
    #[must_use]
    pub const fn to_wire(self) -> root::PackageFlags {
        root::PackageFlags {
            recommends: self.recommends,
            allow_upgrades: self.allow_upgrades,
            allow_removals: self.allow_removals,
            allow_downgrades: self.allow_downgrades,
            new_packages: self.new_packages,
            max_new_packages: self.max_new_packages,
        }
    }
}

fn is_transaction(element: &Element) -> bool {
    matches!(element.object, Object::Package { .. } | Object::AllPackages)
        || matches!(element.verb, VerbId::PackageAutoremove | VerbId::PackageRepair)
}
