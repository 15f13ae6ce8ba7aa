//! The decision about a command, from the rules that apply.

use super::level::{Capability, Level};
use super::rule::Rule;
use crate::protocol::confinement::Profile;
use serde::Serialize;
use std::fmt::Write;

/// A rule that applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The rule.
    pub id: String,
    /// Its level.
    pub level: Level,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Decision about a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The strictest of all rules that apply.
    pub level: Level,
    /// 0 to 100, the highest of all.
    pub score: u8,
    /// All that any of them says, each once.
    pub capabilities: Vec<Capability>,
    /// The rules, the strictest first.
    pub rules: Vec<Hit>,
    /// The sandbox to run it in.
    pub profile: Profile,
    /// Whether a person's yes may count for the same words again in this session.
    pub can_remember: bool,
    /// Without what becomes requests to the helper, on which the policy decides: by this a person is asked.
    pub own_level: Level,
    /// Programs in it that have a shim; see [`crate::shims`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shims: Vec<String>,
    /// Of several commands, those for a shim that no request does, each with why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untranslated: Vec<String>,
}

impl Decision {
    /// Why, in the words of the strictest rule.
    #[must_use]
    pub fn reason(&self) -> &str {
        self.rules.first().map_or("", |hit| &hit.reason)
    }

    /// Returns the level to act on. A shim's request has no power but the policy's, like the typed tool that a
    /// model could have called in its place.
    #[must_use]
    pub fn effective(&self) -> Level {
        match self.level {
            Level::Block => Level::Block,
            Level::Safe | Level::Confirm => self.own_level,
        }
    }

    /// The decision for people: level and score, why, and what it would reach.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = format!("{} {}\n", self.level.word(), self.score);
        for hit in self.rules.iter().filter(|hit| hit.level == self.level && !hit.reason.is_empty()) {
            let _ = writeln!(text, "  {}: {}", hit.id, hit.reason);
        }
        if !self.capabilities.is_empty() {
            let names: Vec<&str> = self.capabilities.iter().map(|c| c.name()).collect();
            let _ = writeln!(text, "  would reach: {}", names.join(" "));
        }
        text
    }
}

/// Combines the rules that apply. A fact without a rule proves nothing.
pub fn sum(hits: &[&Rule], unruled: bool) -> Decision {
    let least = if unruled || hits.is_empty() { Level::Confirm } else { Level::Safe };
    let level = hits.iter().map(|rule| rule.text.level).max().unwrap_or(least).max(least);
    let mut capabilities: Vec<Capability> = Vec::new();
    for capability in hits.iter().flat_map(|rule| &rule.text.capabilities) {
        if !capabilities.contains(capability) {
            capabilities.push(*capability);
        }
    }
    let profile = match level {
        Level::Block => Profile::None,
        Level::Confirm => Profile::WorkspaceWrite,
        Level::Safe => hits.iter().map(|rule| rule.profile()).max().unwrap_or(Profile::ReadOnly),
    };
    Decision {
        level,
        score: hits.iter().map(|rule| rule.text.score).max().unwrap_or(0).max(if unruled { 50 } else { 0 }),
        can_remember: level == Level::Confirm && !unruled && !capabilities.iter().any(|c| c.is_destructive()),
        capabilities,
        rules: hits
            .iter()
            .map(|rule| Hit {
                id: rule.text.id.clone(),
                level: rule.text.level,
                reason: rule.text.reason.clone(),
            })
            .collect(),
        profile,
        own_level: level,
        shims: Vec::new(),
        untranslated: Vec::new(),
    }
}
