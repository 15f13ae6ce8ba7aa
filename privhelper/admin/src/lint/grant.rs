//! Rules that grant something, and the findings about them.

use super::input::{Input, RuleText};
use super::reach;
use crate::finding::{Class, Location, Severity};
use postern_policy::VerbId;
use postern_proto::root::v1 as root;

/// One finding of the lint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintFinding {
    /// The id of its kind.
    pub id: &'static str,
    /// The class of the grant; none for a remark.
    pub class: Option<Class>,
    /// How bad the finding is.
    pub severity: Severity,
    /// The value or table that it points at.
    pub location: Location,
    /// One sentence.
    pub message: String,
    /// The rules that cause it together; the first is the one that may accept it. Empty for a finding about a client.
    pub rules: Vec<usize>,
    /// The reason for which the first rule accepts it.
    pub accepted: Option<String>,
}

/// An allow or ask rule.
#[derive(Debug)]
pub struct Grant<'a> {
    /// Its index in the policy.
    pub index: usize,
    /// The compiled rule.
    pub rule: &'a root::Rule,
    /// Its verbs.
    pub verbs: Vec<VerbId>,
    text: Option<&'a RuleText>,
    position: Option<&'a root::Position>,
}

impl<'a> Input<'a> {
    /// Every rule but the deny rules.
    #[must_use]
    pub fn grants(&self) -> Vec<Grant<'a>> {
        let is_grant =
            |rule: &&root::Rule| matches!(rule.decision(), root::Decision::Allow | root::Decision::Ask);
        let grant = |(index, rule): (usize, &'a root::Rule)| Grant {
            index,
            rule,
            text: self.texts.get(index),
            position: self.positions.get(index),
            verbs: rule.verbs.iter().filter_map(|name| VerbId::from_name(name)).collect(),
        };
        self.rules.rules.iter().enumerate().filter(|(_, rule)| is_grant(rule)).map(grant).collect()
    }
}

impl Grant<'_> {
    /// Whether the rule has one of these verbs.
    #[must_use]
    pub fn has_verb(&self, verbs: &[VerbId]) -> bool {
        self.verbs.iter().any(|verb| verbs.contains(verb))
    }

    /// Whether the rule lets files be changed.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.has_verb(reach::WRITES)
    }

    /// Whether the rule accepts findings of this id.
    #[must_use]
    pub fn accepts(&self, id: &str) -> bool {
        self.text.is_some_and(|text| text.acceptances.iter().any(|acceptance| acceptance.id == id))
    }

    /// `rule web (policy.toml:12)`.
    #[must_use]
    pub fn name(&self) -> String {
        match self.position {
            Some(position) => format!("rule {} ({}:{})", self.rule.id, position.file, position.line),
            None => format!("rule {}", self.rule.id),
        }
    }

    /// Where this value of one of its lists is written; otherwise where the rule begins.
    #[must_use]
    pub fn location(&self, value: &str) -> Location {
        let Some(text) = self.text else {
            return Location::default();
        };
        text.values.iter().find(|(known, _)| known == value).map_or(text.location, |(_, location)| *location)
    }

    /// A finding by the policy's text: "agent becomes root: rule r may WHAT, and HOW".
    #[must_use]
    pub fn finding(&self, id: &'static str, class: Class, value: &str, what: &str, how: &str) -> LintFinding {
        let mut finding = self.finding_on_host(id, class, value, what, how);
        finding.severity = class.severity();
        if finding.severity == Severity::Error {
            finding.message.push_str(&how_to_accept(id));
        }
        finding
    }

    /// A finding by facts about this host. The facts can change without the policy, so it only warns.
    #[must_use]
    pub fn finding_on_host(
        &self,
        id: &'static str,
        class: Class,
        value: &str,
        what: &str,
        how: &str,
    ) -> LintFinding {
        let approved =
            if self.rule.decision() == root::Decision::Ask { " when a person approves it" } else { "" };
        let (client, rule) = (&self.rule.client, &self.rule.id);
        let message = format!("{client} {}: rule {rule} may {what}{approved}, and {how}", class.outcome());
        LintFinding { class: Some(class), ..self.remark(id, Severity::Warning, value, message) }
    }

    /// A finding with its own sentence and without a class.
    #[must_use]
    pub fn remark(&self, id: &'static str, severity: Severity, value: &str, message: String) -> LintFinding {
        let (location, rules) = (self.location(value), vec![self.index]);
        LintFinding { id, class: None, severity, location, message, rules, accepted: None }
    }
}

/// Ends the message of an error that a rule can accept.
#[must_use]
pub fn how_to_accept(id: &str) -> String {
    format!("; if that is meant, say why with accept_risk = {{ {id} = \"REASON\" }}")
}

/// `a, b and 3 more`.
#[must_use]
pub fn shorten(items: &[String]) -> String {
    const SHOWN: usize = 3;
    match items.len().checked_sub(SHOWN) {
        None | Some(0) => items.join(", "),
        Some(more) => format!("{} and {more} more", items[..SHOWN].join(", ")),
    }
}
