//! What a rule may do with units.

use super::glob::{Star, both};
use super::table::{UNITS, When};
use super::{Class, Found, Grant, some};
use postern_helper::verb_id::VerbId;

/// Verbs after which a unit may run that did not.
pub(super) const ON: &[VerbId] =
    &[VerbId::UnitStart, VerbId::UnitRestart, VerbId::UnitTryRestart, VerbId::UnitEnable, VerbId::UnitUnmask];
const OFF: &[VerbId] = &[VerbId::UnitStop, VerbId::UnitDisable, VerbId::UnitMask];
/// Verbs after which a unit reads its files anew.
pub(super) const READS_AGAIN: &[VerbId] =
    &[VerbId::UnitStart, VerbId::UnitRestart, VerbId::UnitTryRestart, VerbId::UnitReload, VerbId::UnitEnable];

pub(super) fn check(rule: &Grant<'_>, found: &mut Vec<Found>) {
    for row in UNITS {
        let (verbs, word) = match row.when {
            When::On => (ON, "start"),
            When::Off => (OFF, "stop"),
        };
        if !rule.does(verbs) {
            continue;
        }
        let meets =
            |pattern: &str| row.patterns().find(|name| both(pattern, Star::NoAt, name, Star::Anything));
        let hits: Vec<_> =
            rule.rule.units.iter().filter_map(|unit| meets(unit).map(|name| (unit, name))).collect();
        if let Some((first, _)) = hits.first() {
            let shown: Vec<_> = hits.iter().map(|(unit, name)| show(unit, name)).collect();
            let what = format!("{word} {}", some(&shown));
            found.push(rule.found(row.id, row.class, first, &what, row.how));
        }
    }
    if rule.does(ON) {
        let unbounded = |unit: &&String| unit.split_once('@').is_some_and(|(_, rest)| rest.contains('*'));
        if let Some(unit) = rule.rule.units.iter().find(unbounded) {
            let what = format!("start any instance of {unit}");
            let how =
                "the instance is text of the agent's choice, which the unit puts into commands and paths";
            found.push(rule.found("unbounded-instance", Class::Combined, unit, &what, how));
        }
    }
    if rule.rule.allow_cascade && (rule.does(ON) || rule.does(OFF)) {
        let what = "start and stop units that it does not name, as far as they hang together (allow_cascade)";
        let how = "which those are, the unit files decide and not this policy";
        found.push(rule.found("allow-cascade", Class::Combined, "", what, how));
    }
}

/// A unit's name, with what makes it one of the table if it is a pattern.
fn show(granted: &str, entry: &str) -> String {
    if granted.contains('*') { format!("{granted} (which can be {entry})") } else { granted.to_owned() }
}
