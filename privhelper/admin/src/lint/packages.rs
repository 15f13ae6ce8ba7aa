//! Findings about granted packages.

use super::facts::Facts;
use super::glob::Star;
use super::grant::{Grant, LintFinding};
use super::names::{self, VerbGroup};
use super::table::{Direction, PACKAGES};
use crate::finding::Class;
use postern_policy::VerbId;

/// Verbs that bring packages.
const ON: &[VerbId] = &[VerbId::PackageInstall, VerbId::PackageUpgrade];
const OFF: &[VerbId] = &[VerbId::PackageRemove, VerbId::PackagePurge];
/// Verbs that make apt or dpkg run their hooks.
pub(super) const RUNS_HOOKS: &[VerbId] = &[
    VerbId::PackageInstall,
    VerbId::PackageUpgrade,
    VerbId::PackageRemove,
    VerbId::PackagePurge,
    VerbId::PackageAutoremove,
    VerbId::PackageUpdate,
    VerbId::PackageRepair,
];

pub(super) fn check(rule: &Grant<'_>, facts: Option<&Facts>, found: &mut Vec<LintFinding>) {
    let groups = [
        VerbGroup { direction: Direction::Add, verbs: ON, word: "install" },
        VerbGroup { direction: Direction::Remove, verbs: OFF, word: "remove" },
    ];
    names::check(rule, &rule.rule.packages, Star::Anything, (PACKAGES, &groups), found);
    if rule.has_verb(ON) {
        sources(rule, facts, found);
    }
    limits(rule, found);
}

/// Maintainer scripts run as root: whose they are is decided by the sources.
fn sources(rule: &Grant<'_>, facts: Option<&Facts>, found: &mut Vec<LintFinding>) {
    let sources = &rule.rule.sources;
    if sources.is_empty() {
        let what = "install from every source that this host has, now or later (no `sources`)";
        let here = match facts.map(|facts| facts.package_hosts.as_slice()) {
            None | Some([]) => String::new(),
            Some(hosts) => format!("; on this host they are {}", hosts.join(", ")),
        };
        let how = format!("the scripts of whatever package such a source offers run as root{here}");
        found.push(rule.finding("any-source", Class::Combined, "", what, &how));
    }
    let wildcard = rule.rule.packages.iter().find(|name| name.contains('*'));
    if let Some(name) = wildcard.filter(|_| sources.len() != 1) {
        let what = format!("install any package that is named {name}");
        let how = "with more than one source a package of such a name can be somebody else's, and its scripts run as root";
        found.push(rule.finding("wildcard-packages", Class::Combined, name, &what, how));
    }
}

fn limits(rule: &Grant<'_>, found: &mut Vec<LintFinding>) {
    if rule.rule.allow_removals && (rule.has_verb(ON) || rule.has_verb(OFF)) {
        let what = "remove packages that it does not name (allow_removals)";
        let how = "dependencies decide which packages those are, not this policy";
        found.push(rule.finding("removals", Class::Defence, "", what, how));
    }
    if rule.rule.allow_downgrades && rule.has_verb(ON) {
        let what = "install older versions than those that are there (allow_downgrades)";
        let how = "an older version has the holes that were closed since";
        found.push(rule.finding("downgrades", Class::Combined, "", what, how));
    }
}
