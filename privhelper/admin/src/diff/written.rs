//! Textual differences of two policies: clients, rules, definitions and limits, key by key.

use super::facts::{self, Fact, words};
use postern_proto::root::v1 as root;
use std::fmt;

/// The change of a client or rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is new, in these words.
    Added(String),
    /// It is gone, in these words.
    Removed(String),
    /// It is another, key by key.
    Changed(Vec<String>),
}

/// One client or rule that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// `client` or `rule`, and its name.
    pub what: String,
    /// How it differs.
    pub change: Change,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.change {
            Change::Added(words) => write!(f, "+ {}: {words}", self.what),
            Change::Removed(words) => write!(f, "- {}: {words}", self.what),
            Change::Changed(keys) => write!(f, "~ {}: {}", self.what, keys.join("; ")),
        }
    }
}

/// Everything that differs, in the order of the new policy, what is gone last.
#[must_use]
pub fn between(old: &root::Rules, new: &root::Rules) -> Vec<Difference> {
    let clients = |rules: &root::Rules| {
        rules.clients.iter().map(|c| (format!("client {}", c.name), facts::client(c))).collect::<Vec<_>>()
    };
    let rules = |rules: &root::Rules| {
        rules.rules.iter().map(|r| (format!("rule {}", r.id), facts::rule(r))).collect::<Vec<_>>()
    };
    let mut differences = compare(&clients(old), &clients(new));
    differences.extend(compare(&rules(old), &rules(new)));
    differences.extend(compare(&facts::definitions(old), &facts::definitions(new)));
    differences.extend(tables(old, new));
    let order = |rules: &root::Rules, other: &root::Rules| {
        let both = rules.rules.iter().filter(|rule| other.rules.iter().any(|r| r.id == rule.id));
        both.map(|rule| rule.id.clone()).collect::<Vec<_>>()
    };
    if order(old, new) != order(new, old) {
        let words = "another one may be named where several rules match".to_owned();
        let what = "order of the rules".to_owned();
        differences.push(Difference { what, change: Change::Changed(vec![words]) });
    }
    differences
}

fn compare(old: &[(String, Vec<Fact>)], new: &[(String, Vec<Fact>)]) -> Vec<Difference> {
    let find = |list: &[(String, Vec<Fact>)], name: &str| {
        list.iter().find(|(known, _)| known == name).map(|(_, facts)| facts.clone())
    };
    let mut differences = Vec::new();
    for (what, facts) in new {
        let change = match find(old, what) {
            None => Change::Added(words(facts)),
            Some(before) if before == *facts => continue,
            Some(before) => Change::Changed(changes(&before, facts)),
        };
        differences.push(Difference { what: what.clone(), change });
    }
    for (what, facts) in old.iter().filter(|(what, _)| find(new, what).is_none()) {
        differences.push(Difference { what: what.clone(), change: Change::Removed(words(facts)) });
    }
    differences
}

/// How the values of the keys differ, a text for each.
#[must_use]
pub fn changes(old: &[Fact], new: &[Fact]) -> Vec<String> {
    let value = |values: &[String]| if values.is_empty() { "none".to_owned() } else { values.join(" ") };
    let mut changes = Vec::new();
    for ((key, before), (_, after)) in old.iter().zip(new).filter(|(old, new)| old != new) {
        if before.len() <= 1 && after.len() <= 1 {
            changes.push(format!("{key} {} -> {}", value(before), value(after)));
            continue;
        }
        let gone = before.iter().filter(|value| !after.contains(value)).map(|value| format!("-{value}"));
        let come = after.iter().filter(|value| !before.contains(value)).map(|value| format!("+{value}"));
        let parts = gone.chain(come).collect::<Vec<_>>();
        changes.push(if parts.is_empty() {
            format!("{key} in another order")
        } else {
            format!("{key} {}", parts.join(" "))
        });
    }
    changes
}

/// Returns the differences of tables other than rules. All of them have an effect.
#[must_use]
pub fn tables(old: &root::Rules, new: &root::Rules) -> Vec<Difference> {
    compare(&facts::tables(old), &facts::tables(new))
}
