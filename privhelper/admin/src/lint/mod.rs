//! Grants that amount to root: who becomes root, how, and by which rules.
//!
//! Everything here is a pure function of the accepted form, of what its rules
//! accept, and of facts about a host. Nothing here reads a file; [`gather`] alone
//! asks the host.

mod accept;
mod agents;
mod catalog;
mod clients;
pub mod command;
mod commands;
mod compose;
pub mod facts;
mod files;
pub mod gather;
pub mod glob;
mod habits;
mod named;
mod packages;
pub mod reach;
mod sarif;
mod table;
mod units;

pub use catalog::{Kind, kind, kinds};

use crate::policy::finding::Severity;
use facts::Facts;
use postern_policy::VerbId;
use postern_proto::root::v1 as root;
use serde::Serialize;

/// How bad a grant is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Class {
    /// Code that root runs at a normal event: boot, login, timer, installation, reload.
    #[serde(rename = "R")]
    Code,
    /// Accounts, keys, trust.
    #[serde(rename = "T")]
    Trust,
    /// Root together with another grant, or with a package that may be there.
    #[serde(rename = "C")]
    Combined,
    /// Takes protection away.
    #[serde(rename = "D")]
    Defence,
}

impl Class {
    /// The letter of the finding's class.
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Code => "R",
            Self::Trust => "T",
            Self::Combined => "C",
            Self::Defence => "D",
        }
    }

    /// What a grant is that nobody accepted, by the policy's text alone.
    #[must_use]
    pub const fn severity(self) -> Severity {
        match self {
            Self::Code | Self::Trust => Severity::Error,
            Self::Combined | Self::Defence => Severity::Warning,
        }
    }

    /// Begins the sentence.
    const fn outcome(self) -> &'static str {
        match self {
            Self::Code => "becomes root",
            Self::Trust => "holds what trust rests on",
            Self::Combined => "can become root together with another grant or event",
            Self::Defence => "can take protection away",
        }
    }
}

/// A place in the policy's files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Which file, by its place in the policy.
    pub file: usize,
    /// Which byte.
    pub at: usize,
}

/// One `accept_risk`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// The finding's id, or `*`.
    pub id: String,
    /// Why.
    pub reason: String,
    /// Where the id stands.
    pub place: Place,
}

/// What the files say of a rule or client besides the accepted form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Where the table begins.
    pub place: Place,
    /// What it accepts.
    pub accepts: Vec<Accept>,
    /// Where the values of its lists stand.
    pub values: Vec<(String, Place)>,
}

/// What is linted.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The accepted form.
    pub rules: &'a root::Rules,
    /// File and line of each rule.
    pub positions: &'a [root::Position],
    /// What else stands in the files about each rule.
    pub written: &'a [Written],
    /// Where each client stands.
    pub clients: &'a [Place],
    /// What is known of the host.
    pub facts: Option<&'a Facts>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its id.
    pub id: &'static str,
    /// How bad the grant is; none for a remark.
    pub class: Option<Class>,
    /// What comes of it.
    pub severity: Severity,
    /// Where it is told.
    pub place: Place,
    /// The sentence.
    pub message: String,
    /// The rules that together do it; the first is the one that may accept it. Empty: a client's.
    pub rules: Vec<usize>,
    /// The reason for which the first rule accepts it.
    pub accepted: Option<String>,
}

/// All findings, in no order.
#[must_use]
pub fn run(input: &Input<'_>) -> Vec<Found> {
    let rules = input.grants();
    let mut found = Vec::new();
    for rule in &rules {
        files::check(input, rule, &mut found);
        units::check(rule, &mut found);
        packages::check(rule, input.facts, &mut found);
    }
    files::published(&rules, &mut found);
    files::mounts(&rules, &mut found);
    commands::check(input, &rules, &mut found);
    clients::check(input, &mut found);
    if let Some(facts) = input.facts {
        compose::check(&rules, facts, &mut found);
        agents::check(input, facts, &mut found);
    }
    accept::apply(input, &mut found);
    found
}

/// A rule that lets something through, with where it stands.
#[derive(Debug)]
struct Grant<'a> {
    index: usize,
    rule: &'a root::Rule,
    written: Option<&'a Written>,
    position: Option<&'a root::Position>,
    verbs: Vec<VerbId>,
}

impl<'a> Input<'a> {
    /// Every rule but the deny rules.
    fn grants(&self) -> Vec<Grant<'a>> {
        let lets_through =
            |rule: &&root::Rule| matches!(rule.decision(), root::Decision::Allow | root::Decision::Ask);
        let grant = |(index, rule): (usize, &'a root::Rule)| Grant {
            index,
            rule,
            written: self.written.get(index),
            position: self.positions.get(index),
            verbs: rule.verbs.iter().filter_map(|name| VerbId::from_name(name)).collect(),
        };
        self.rules.rules.iter().enumerate().filter(|(_, rule)| lets_through(rule)).map(grant).collect()
    }
}

impl Grant<'_> {
    fn does(&self, verbs: &[VerbId]) -> bool {
        self.verbs.iter().any(|verb| verbs.contains(verb))
    }

    fn writes(&self) -> bool {
        self.does(reach::WRITES)
    }

    fn accepts(&self, id: &str) -> bool {
        self.written.is_some_and(|written| written.accepts.iter().any(|accept| accept.id == id))
    }

    /// `rule web (policy.toml:12)`.
    fn name(&self) -> String {
        match self.position {
            Some(position) => format!("rule {} ({}:{})", self.rule.id, position.file, position.line),
            None => format!("rule {}", self.rule.id),
        }
    }

    /// Where this value of one of its lists stands; else where the rule begins.
    fn place(&self, value: &str) -> Place {
        let Some(written) = self.written else {
            return Place::default();
        };
        written.values.iter().find(|(text, _)| text == value).map_or(written.place, |(_, place)| *place)
    }

    /// A finding of this rule by the policy's text: "agent becomes root: rule r may …, and …".
    fn found(&self, id: &'static str, class: Class, value: &str, what: &str, how: &str) -> Found {
        let mut found = self.found_on_host(id, class, value, what, how);
        found.severity = class.severity();
        if found.severity == Severity::Error {
            found.message.push_str(&advice(id));
        }
        found
    }

    /// The same where it is so on this host: there it may be true today and not tomorrow, so it warns.
    fn found_on_host(&self, id: &'static str, class: Class, value: &str, what: &str, how: &str) -> Found {
        let asked =
            if self.rule.decision() == root::Decision::Ask { " when a person approves it" } else { "" };
        let (client, rule) = (&self.rule.client, &self.rule.id);
        Found {
            id,
            class: Some(class),
            severity: Severity::Warning,
            place: self.place(value),
            message: format!("{client} {}: rule {rule} may {what}{asked}, and {how}", class.outcome()),
            rules: vec![self.index],
            accepted: None,
        }
    }
}

/// How a finding is accepted.
fn advice(id: &str) -> String {
    format!("; if that is meant, say why with accept_risk = {{ {id} = \"REASON\" }}")
}

/// `a, b and 3 more`.
fn some(items: &[String]) -> String {
    const SHOWN: usize = 3;
    match items.len().checked_sub(SHOWN) {
        None | Some(0) => items.join(", "),
        Some(more) => format!("{} and {more} more", items[..SHOWN].join(", ")),
    }
}
