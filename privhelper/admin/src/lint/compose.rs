//! Composition: what a rule may write, and who on this host runs or reads it as root.
//!
//! A pure function of rules and facts.

use super::facts::{ANY_INSTANCE, Facts, Inode, Link, Unit};
use super::glob::{Star, both};
use super::grant::{Grant, LintFinding, shorten};
use super::packages::RUNS_HOOKS;
use super::reach::{self, is_below};
use super::table;
use super::unit_paths::{code_of, config_of, words};
use super::units::READS_AGAIN;
use crate::finding::Class;
use std::collections::BTreeMap;

pub(super) fn check(rules: &[Grant<'_>], facts: &Facts, found: &mut Vec<LintFinding>) {
    let reads = reads(rules, facts);
    let links: Vec<_> = facts.links.iter().filter_map(|link| Some((link, entry_of(link)?))).collect();
    for rule in rules.iter().filter(|rule| rule.writes()) {
        with_units(rules, rule, &reads, found);
        with_hooks(rules, rule, facts, found);
        with_links(rule, &links, found);
    }
    for rule in rules.iter().filter(|rule| !rule.rule.directories.is_empty()) {
        above(rule, facts, found);
    }
}

/// Why a unit reads its files again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trigger<'a> {
    /// A rule, by its place among the grants.
    Rule(usize),
    /// A timer, socket or path unit.
    Unit(&'a str),
    /// The next boot.
    Boot,
}

/// A path (or everything below one) that a unit reads or runs with the power of root.
struct Read<'a> {
    path: String,
    unit: &'a Unit,
    trigger: Trigger<'a>,
}

/// The paths that root's units read, for units that something starts or reloads.
fn reads<'a>(rules: &[Grant<'_>], facts: &'a Facts) -> Vec<Read<'a>> {
    let granted: Vec<_> = rules.iter().enumerate().filter(|(_, rule)| rule.has_verb(READS_AGAIN)).collect();
    let rule_for = |unit: &Unit| {
        // Facts hold one instance of a template for all of them.
        let id = unit.id.replacen(&format!("@{ANY_INSTANCE}."), "@*.", 1);
        let is_named = |pattern: &String| {
            let names = unit.names.iter().chain([&id]);
            names.into_iter().any(|name| both(pattern, Star::NoAt, name, Star::Anything))
        };
        let rule = granted.iter().find(|(_, rule)| rule.rule.units.iter().any(is_named));
        rule.map(|(index, _)| Trigger::Rule(*index))
    };
    let starters = starters(facts);
    let mut reads = Vec::new();
    for unit in facts.units.iter().filter(|unit| unit.enabled != "transient") {
        let starters = || starters.get(unit.id.as_str()).into_iter().flatten().copied();
        let event = rule_for(unit)
            .or_else(|| starters().find_map(rule_for))
            .or_else(|| starters().find(|starter| is_on(starter)).map(|starter| Trigger::Unit(&starter.id)));
        let code = event.or_else(|| is_on(unit).then_some(Trigger::Boot));
        for (paths, trigger) in [(code_of(unit), code), (config_of(unit), event)] {
            if let Some(trigger) = trigger {
                reads.extend(paths.into_iter().map(|path| Read { path, unit, trigger }));
            }
        }
    }
    reads
}

/// Timers, sockets and path units by what they start.
fn starters(facts: &Facts) -> BTreeMap<&str, Vec<&Unit>> {
    let mut starters: BTreeMap<&str, Vec<&Unit>> = BTreeMap::new();
    for unit in &facts.units {
        for name in &unit.triggers {
            starters.entry(name).or_default().push(unit);
        }
    }
    starters
}

/// Whether it runs after a boot. A unit that another one pulls in is active then.
fn is_on(unit: &Unit) -> bool {
    matches!(unit.enabled.as_str(), "enabled" | "enabled-runtime") || unit.active == "active"
}

fn with_units(rules: &[Grant<'_>], rule: &Grant<'_>, reads: &[Read<'_>], found: &mut Vec<LintFinding>) {
    // One finding for each way in which it happens, with all its units.
    let mut by_trigger: BTreeMap<Option<usize>, Vec<(&Read<'_>, &str)>> = BTreeMap::new();
    for read in reads {
        if let Some(directory) = reach::from(rule.rule, &read.path) {
            let key = match read.trigger {
                Trigger::Rule(index) => Some(index),
                Trigger::Unit(_) | Trigger::Boot => None,
            };
            let hits = by_trigger.entry(key).or_default();
            if hits.iter().all(|(known, _)| known.unit.id != read.unit.id) {
                hits.push((read, directory));
            }
        }
    }
    for (trigger, hits) in by_trigger {
        let Some((first, directory)) = hits.first() else {
            continue;
        };
        let shown: Vec<_> =
            hits.iter().map(|(read, _)| format!("{} ({})", read.unit.id, read.path)).collect();
        let other = trigger.and_then(|index| rules.get(index));
        let when = match (other, first.trigger) {
            (Some(other), _) => format!("{} may start, restart or reload it", other.name()),
            (None, Trigger::Unit(name)) => format!("{name} starts it"),
            (None, Trigger::Boot | Trigger::Rule(_)) => "it starts at boot".to_owned(),
        };
        let what = format!("write below {directory}");
        let how = format!("on this host root runs or reads it in {}; {when}", shorten(&shown));
        let mut finding = rule.finding_on_host("composition", Class::Code, directory, &what, &how);
        finding.rules.extend(other.map(|other| other.index).filter(|index| *index != rule.index));
        found.push(finding);
    }
}

fn with_hooks(rules: &[Grant<'_>], rule: &Grant<'_>, facts: &Facts, found: &mut Vec<LintFinding>) {
    let Some(runs) = rules.iter().find(|other| other.has_verb(RUNS_HOOKS)) else {
        return;
    };
    for hook in &facts.hooks {
        let hit = words(&hook.command).find_map(|path| Some((path, reach::from(rule.rule, path)?)));
        if let Some((path, directory)) = hit {
            let what = format!("write {path} below {directory}");
            let verb =
                runs.verbs.iter().find(|verb| RUNS_HOOKS.contains(verb)).map_or("", |verb| verb.name());
            let how = format!("{} runs it as root at every {verb}, which {} grants", hook.key, runs.name());
            let mut finding = rule.finding_on_host("hook-composition", Class::Code, directory, &what, &how);
            finding.rules.push(runs.index);
            found.push(finding);
            return;
        }
    }
}

/// The entry of the table that a link is, or leads to.
fn entry_of(link: &Link) -> Option<(&'static table::Row, &'static str)> {
    let (parent, name) = link.path.rsplit_once('/')?;
    let name = [name.to_owned()];
    let is_link = |entry: &str| {
        // The parent of a path in / has no name of its own.
        let is_there = !parent.is_empty() && reach::reaches(parent, 1, &name, entry);
        is_there || is_below(entry, &[&link.path])
    };
    table::writes().find_map(|row| row.paths.iter().find(|entry| is_link(entry)).map(|entry| (row, *entry)))
}

fn with_links(
    rule: &Grant<'_>,
    links: &[(&Link, (&'static table::Row, &'static str))],
    found: &mut Vec<LintFinding>,
) {
    for (link, (row, entry)) in links {
        let target = &link.target;
        let hit = reach::from(rule.rule, target).or_else(|| reach::from(rule.rule, &format!("{target}/**")));
        // A path that the table has itself is reported by its own finding.
        if let Some(directory) = hit.filter(|_| reach::from(rule.rule, entry).is_none()) {
            let what = format!("write {target} below {directory}");
            let how = format!("on this host {} is a link to it, where {}", link.path, row.how);
            found.push(rule.finding_on_host("linked-place", row.class, directory, &what, &how));
            return;
        }
    }
}

/// Every directory above what a rule reads or writes must be root's alone, and no link.
fn above(rule: &Grant<'_>, facts: &Facts, found: &mut Vec<LintFinding>) {
    for directory in &rule.rule.directories {
        let link = facts.links.iter().find(|link| is_below(directory, &[&link.path]));
        if let Some(link) = link {
            let what = format!("use {directory}");
            let how = format!(
                "on this host {} is a link to {}, so the helper refuses it: name the directory itself",
                link.path, link.target
            );
            found.push(rule.finding_on_host("linked-directory", Class::Combined, directory, &what, &how));
            return;
        }
        let parents =
            facts.inodes.iter().filter(|inode| is_below(directory, &[&inode.path]) || inode.path == "/");
        // With `as` the directory may be the user's, and its group may write there.
        let is_open = |inode: &&Inode| match rule.rule.as_user.as_str() {
            "" => inode.uid != 0 || inode.bits() & 0o022 != 0,
            _ => inode.bits() & 0o1002 == 0o002,
        };
        let open = parents.filter(|inode| inode.kind == "directory").find(is_open);
        if let Some(inode) = open.filter(|_| rule.writes()) {
            let what = format!("write below {directory}");
            let how = format!(
                "on this host others than root can change {} (uid {}, mode {}), so the helper refuses it",
                inode.path, inode.uid, inode.mode
            );
            found.push(rule.finding_on_host("parent-writable", Class::Combined, directory, &what, &how));
            return;
        }
    }
}
