//! Which pack would grant what a suggested rule is for. A variable of the pack may have any value here.

use super::rules::Suggestion;
use crate::packs::pack::Pack;
use postern_policy::VerbId;
use serde::Deserialize;

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

/// A line for each pack that has a rule for something of the suggestion.
pub fn words(packs: &[Pack], suggestion: &Suggestion) -> Vec<String> {
    let mut lines = Vec::new();
    for pack in packs {
        let Ok(body) = toml::from_str::<Body>(&pack.body) else { continue };
        let is_for = |(verb, name): (VerbId, String)| body.rule.iter().any(|rule| rule.is_for(verb, &name));
        let rules = suggestion.rules.iter().filter(|rule| rule.objects().all(is_for));
        let ids = rules.map(super::rules::Rule::id).collect::<Vec<_>>();
        if !ids.is_empty() {
            let name = &pack.about.name;
            lines.push(format!("pack {name} covers {}: postern-admin pack show {name}", ids.join(", ")));
        }
    }
    lines
}

impl Selectors {
    fn is_for(&self, verb: VerbId, name: &str) -> bool {
        if !self.verbs.iter().any(|own| own == verb.name()) {
            return false;
        }
        let is_any = |patterns: &[String], text: &str| patterns.iter().any(|pattern| fits(pattern, text));
        let (directory, file) = name.rsplit_once('/').unwrap_or_default();
        let is_listed = verb == VerbId::FileList && is_any(&self.directories, name);
        is_any(&self.packages, name)
            || is_any(&self.units, name)
            || is_any(&self.commands, name)
            || is_listed
            || (is_any(&self.directories, directory) && is_any(&self.files, file))
            || [&self.packages, &self.units, &self.directories, &self.commands]
                .iter()
                .all(|list| list.is_empty())
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
