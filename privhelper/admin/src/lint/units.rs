//! Findings about granted units.

use super::facts::Facts;
use super::glob::Star;
use super::grant::{Grant, LintFinding};
use super::names::{self, VerbGroup};
use super::table::{Direction, UNITS};
use crate::finding::{Class, Severity};
use postern_policy::VerbId;
use postern_policy::types::Pattern;
use postern_proto::root::v1::Decision;

/// Verbs after which a unit may run that did not.
pub(super) const ON: &[VerbId] =
    &[VerbId::UnitStart, VerbId::UnitRestart, VerbId::UnitTryRestart, VerbId::UnitEnable, VerbId::UnitUnmask];
const OFF: &[VerbId] = &[VerbId::UnitStop, VerbId::UnitDisable, VerbId::UnitMask];
/// Verbs after which a unit reads its files anew.
pub(super) const READS_AGAIN: &[VerbId] =
    &[VerbId::UnitStart, VerbId::UnitRestart, VerbId::UnitTryRestart, VerbId::UnitReload, VerbId::UnitEnable];

pub(super) fn check(rule: &Grant<'_>, found: &mut Vec<LintFinding>) {
    let groups = [
        VerbGroup { direction: Direction::Add, verbs: ON, word: "start" },
        VerbGroup { direction: Direction::Remove, verbs: OFF, word: "stop" },
    ];
    names::check(rule, &rule.rule.units, Star::NoAt, (UNITS, &groups), found);
    if rule.has_verb(ON) {
        let unbounded = |unit: &&String| unit.split_once('@').is_some_and(|(_, rest)| rest.contains('*'));
        if let Some(unit) = rule.rule.units.iter().find(unbounded) {
            let what = format!("start any instance of {unit}");
            let how =
                "the instance is text of the agent's choice, which the unit puts into commands and paths";
            found.push(rule.finding("unbounded-instance", Class::Combined, unit, &what, how));
        }
    }
    let is_allowed = rule.rule.decision() == Decision::Allow;
    if rule.has_verb(&[VerbId::HostReboot]) && is_allowed && rule.rule.hours.is_empty() {
        let what = "reboot the host at any time (no `hours`, and nobody is asked)";
        let how = "every service and everybody's work on it ends";
        found.push(rule.finding("reboot-at-any-time", Class::Defence, "", what, how));
    }
    if rule.rule.allow_cascade && (rule.has_verb(ON) || rule.has_verb(OFF)) {
        let what = "start and stop dependent units that it does not name (allow_cascade)";
        let how = "unit files decide which units those are, not this policy";
        found.push(rule.finding("allow-cascade", Class::Combined, "", what, how));
    }
}

/// Names that are aliases on this host, of a unit that the client is not granted by its own name: such a request is refused.
pub(super) fn aliases(rule: &Grant<'_>, facts: Option<&Facts>, found: &mut Vec<LintFinding>) {
    let is_listed = |name: &str| {
        let patterns = rule.rule.units.iter().filter_map(|text| Pattern::new(text).ok());
        patterns.into_iter().any(|pattern: Pattern| pattern.matches_unit(name))
    };
    for unit in facts.into_iter().flat_map(|facts| &facts.units).filter(|unit| !is_listed(&unit.id)) {
        if let Some(alias) = rule.rule.units.iter().find(|name| unit.names.contains(name)) {
            let id = &unit.id;
            let message = format!(
                "on this host {alias} is an alias of {id}: requests are refused until {id} is granted; write {id:?}"
            );
            found.push(rule.remark("unit-alias", Severity::Warning, alias, message));
        }
    }
}
