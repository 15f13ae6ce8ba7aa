//! The input of the lint: the compiled policy, where its tables and values are written, and facts about a host.

use super::facts::Facts;
use crate::finding::Location;
use postern_proto::root::v1 as root;

/// One entry of a rule's `accept_risk`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// The finding's id, or `*`.
    pub id: String,
    /// Why the finding is accepted.
    pub reason: String,
    /// Where the id is written.
    pub location: Location,
}

/// The text of a rule, as far as the compiled form does not have it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleText {
    /// Where the rule's table begins.
    pub location: Location,
    /// The findings that it accepts.
    pub acceptances: Vec<Acceptance>,
    /// The values of its lists, with where each is written.
    pub values: Vec<(String, Location)>,
}

/// A policy to lint.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The compiled policy.
    pub rules: &'a root::Rules,
    /// File and line of each rule.
    pub positions: &'a [root::Position],
    /// The text of each rule.
    pub texts: &'a [RuleText],
    /// Where each client's table begins.
    pub clients: &'a [Location],
    /// Facts about the host; none if the policy is checked by its text alone.
    pub facts: Option<&'a Facts>,
}
