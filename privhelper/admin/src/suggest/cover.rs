//! Which pack would grant what a suggested rule is for. A variable of the pack may have any value here.

use super::rules::{Rule, Suggestion};
use crate::packs::pack::Pack;
use postern_policy::VerbId;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A pack's body, as far as selectors go.
#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    rule: Vec<Selectors>,
}

#[derive(Deserialize)]
struct Selectors {
    verbs: Vec<String>,
    #[serde(default)]
    packages: Vec<String>,
    #[serde(default)]
    units: Vec<String>,
    #[serde(default)]
    directories: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    commands: Vec<String>,
}

/// How a pack covers something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cover {
    /// By names of its own.
    Named,
    /// By a variable alone: the operator would name it.
    Any,
}

/// A line for each pack that has a rule for something of the suggestion; one that takes any name only where no other pack covers it.
pub fn words(packs: &[Pack], suggestion: &Suggestion) -> Vec<String> {
    let bodies = packs.iter().filter_map(|pack| Some((pack, toml::from_str::<Body>(&pack.body).ok()?)));
    let bodies = bodies.collect::<Vec<_>>();
    let mut covered: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for rule in &suggestion.rules {
        let covers =
            bodies.iter().filter_map(|(pack, body)| Some((pack, body.cover(rule)?))).collect::<Vec<_>>();
        let best = covers.iter().map(|(_, cover)| *cover).min();
        for (pack, _) in covers.iter().filter(|(_, cover)| Some(*cover) == best) {
            covered.entry(&pack.about.name).or_default().push(rule.id());
        }
    }
    let line = |(name, ids): (&str, Vec<&str>)| {
        format!("pack {name} covers {}: postern-admin pack show {name}", ids.join(", "))
    };
    covered.into_iter().map(line).collect()
}

impl Body {
    /// How the pack covers all objects of a rule, if it does.
    fn cover(&self, rule: &Rule) -> Option<Cover> {
        let of =
            |(verb, name): (VerbId, String)| self.rule.iter().filter_map(|own| own.is_for(verb, &name)).min();
        rule.objects().map(of).try_fold(Cover::Named, |worst, cover| Some(worst.max(cover?)))
    }
}

impl Selectors {
    fn is_for(&self, verb: VerbId, name: &str) -> Option<Cover> {
        if !self.verbs.iter().any(|own| own == verb.name()) {
            return None;
        }
        let among = |patterns: &[String], text: &str| {
            let fitting = patterns.iter().filter(|pattern| fits(pattern, text));
            let is_any =
                |pattern: &String| pattern == "*" || (pattern.starts_with("${") && pattern.ends_with('}'));
            fitting.map(|pattern| if is_any(pattern) { Cover::Any } else { Cover::Named }).min()
        };
        let (directory, file) = name.rsplit_once('/').unwrap_or_default();
        let in_directory = || among(&self.files, file).and(among(&self.directories, directory));
        let listed = || (verb == VerbId::FileList).then(|| among(&self.directories, name)).flatten();
        let is_bare = || {
            let lists = [&self.packages, &self.units, &self.directories, &self.commands];
            lists.iter().all(|list| list.is_empty()).then_some(Cover::Named)
        };
        among(&self.packages, name)
            .or_else(|| among(&self.units, name))
            .or_else(|| among(&self.commands, name))
            .or_else(listed)
            .or_else(in_directory)
            .or_else(is_bare)
    }
}

/// Whether a pattern with `*` and variables fits: both stand for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = Vec::new();
    let mut rest = pattern;
    while let Some(at) = rest.find(['*', '$']) {
        let (before, from) = rest.split_at(at);
        parts.push(before);
        rest = match from.strip_prefix("${").and_then(|name| name.split_once('}')) {
            Some((_, after)) => after,
            None => from.get(1..).unwrap_or_default(),
        };
    }
    let Some(mut left) = parts.first().map_or(Some(text), |first| text.strip_prefix(first)) else {
        return false;
    };
    if parts.is_empty() {
        return text == rest;
    }
    for part in parts.iter().skip(1) {
        match left.find(part) {
            Some(at) => left = left.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    left.ends_with(rest)
}
