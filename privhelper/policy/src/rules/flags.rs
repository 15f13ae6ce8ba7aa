//! Changes that apt may make: the same for the simulation and the run of a request.

use super::element::Element;
use super::object::Object;
use super::rule::Rule;
use crate::verb_id::VerbId;
use postern_proto::root::v1::PackageFlags;
use std::sync::Arc;

/// The flags of a transaction. They are computed once, by the decision about the request, and never change with its facts.
///
/// `recommends` decides which packages apt chooses: the first rule of each element says so, and a rule that does not grant
/// it cannot let the transaction through. Of the others some rule of each element grants it, and the facts are decided by
/// each rule's own limit.
pub(super) fn package_flags(elements: &[Element]) -> PackageFlags {
    let packages = elements.iter().filter(|element| is_transaction(element)).collect::<Vec<_>>();
    if packages.is_empty() {
        return PackageFlags::default();
    }
    let rules = || packages.iter().map(|element| element.rules.as_slice());
    let each = |grants: fn(&Rule) -> bool| rules().all(|rules| rules.iter().any(|rule| grants(rule)));
    let new = |rules: &[Arc<Rule>]| rules.iter().map(|rule| rule.max_new_packages).max();
    PackageFlags {
        recommends: rules().all(|rules| rules.first().is_some_and(|rule| rule.recommends)),
        allow_upgrades: each(|rule| rule.allow_upgrades),
        allow_removals: each(|rule| rule.allow_removals),
        allow_downgrades: each(|rule| rule.allow_downgrades),
        new_packages: each(|rule| rule.new_packages),
        max_new_packages: rules().filter_map(new).min().unwrap_or(0),
    }
}

fn is_transaction(element: &Element) -> bool {
    matches!(element.object, Object::Package { .. } | Object::AllPackages)
        || matches!(element.verb, VerbId::PackageAutoremove | VerbId::PackageRepair)
}
