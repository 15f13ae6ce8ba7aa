//! The outcome of a decision that lets a request through.

use super::decision::Decision;
use super::element::Element;
use super::rule::Rule;
use crate::facts::{Facts, PackageStep};
use postern_proto::root::v1::PackageFlags;
use std::sync::Arc;
use std::time::Duration;

/// How long a request waits for approval where no rule sets it: the policy's own default.
const DEFAULT_TTL: Duration = Duration::from_secs(15 * 60);

/// The proof that the policy lets a request through. Only this crate makes one:
///
/// ```compile_fail,E0451
/// fn forge(known: postern_policy::Grant) -> postern_policy::Grant {
///     postern_policy::Grant { elements: Vec::new(), ..known }
/// }
/// ```
#[derive(Debug)]
pub struct Grant {
    pub(super) elements: Vec<Element>,
    pub(super) flags: PackageFlags,
    /// The lowest decision, whatever the rules say: the undo of an approved request needs approval too.
    pub(super) least: Decision,
}

impl Grant {
    /// The grant of an operator's undo, which no rule decides.
    pub fn of_operator() -> Self {
        Self { elements: Vec::new(), flags: PackageFlags::default(), least: Decision::Allow }
    }

    /// The elements of the request, then what the facts added to them.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// The rules that are used: the first of each element.
    pub fn rules(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.elements.iter().filter_map(|element| element.rules.first())
    }

    /// The id of the rule that answers and records name: the first of those that decide. Empty for verbs that are open.
    pub fn rule_id(&self) -> &str {
        let decision = self.decision();
        let decides = self.rules().find(|rule| rule.decision == decision).or_else(|| self.rules().next());
        decides.map_or("", |rule| rule.id.as_str())
    }

    /// The strictest decision of the rules used. Verbs that are open are allowed.
    pub fn decision(&self) -> Decision {
        self.rules().map(|rule| rule.decision).max().unwrap_or(Decision::Allow).max(self.least)
    }

    /// The changes that apt may make, in simulation and run.
    pub const fn package_flags(&self) -> PackageFlags {
        self.flags
    }

    /// Whether the request itself names this step. The mark of a simulation is not used.
    pub fn asks_for(&self, step: &PackageStep) -> bool {
        self.elements.iter().any(|element| element.asks_for(step))
    }

    /// The facts, with each step marked that the request itself names.
    pub(super) fn marked(&self, facts: &Facts) -> Facts {
        let mut facts = facts.clone();
        if let Facts::Packages(packages) = &mut facts {
            for step in &mut packages.steps {
                step.asked = self.asks_for(step);
            }
        }
        facts
    }

    /// Whether the content that the request replaces is kept for undo: not if one rule says `keep_for_undo = false`.
    pub fn keeps_for_undo(&self) -> bool {
        !self.rules().any(|rule| rule.no_undo_copy)
    }

    /// After how many seconds a change is taken back that nobody kept: the shortest of the rules used; 0 = it stays.
    pub fn keep_within_s(&self) -> u64 {
        self.rules().map(|rule| rule.keep_within_s).filter(|time| *time > 0).min().unwrap_or(0)
    }

    /// How many people must approve: the most that any `ask` rule of the request requires.
    pub fn approvers(&self) -> u32 {
        self.ask_rules().map(|rule| rule.approvers).max().unwrap_or(1)
    }

    /// Whether the person who asked cannot approve.
    pub fn excludes_asker(&self) -> bool {
        self.ask_rules().any(|rule| rule.approvers_exclude_asker)
    }

    /// How long the request waits for approval: the shortest time of any `ask` rule of the request.
    pub fn approval_ttl(&self) -> Duration {
        let shortest = self.ask_rules().map(|rule| rule.approval_ttl_s).min();
        shortest.map_or(DEFAULT_TTL, Duration::from_secs)
    }

    /// Rules that allow set neither, also where `least` requires approval.
    fn ask_rules(&self) -> impl Iterator<Item = &Arc<Rule>> {
        let all = self.elements.iter().flat_map(|element| &element.rules);
        all.filter(|rule| rule.decision == Decision::Ask)
    }

    /// The longest wait for locks and jobs: the shortest of the rules used; a minute for open verbs.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.rules().map(|rule| rule.timeout_s).min().unwrap_or(60))
    }
}
