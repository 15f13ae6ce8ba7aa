//! The part of the policy that a client may see: its own rules, and its grants of the same verb.

use super::accepted::Policy;
use super::decision::Decision;
use super::object::Selector;
use super::rule::Rule;
use crate::accounts::Identity;
use crate::verb_id::VerbId;
use std::sync::Arc;

impl Policy {
    /// Every rule of the clients that this identity is, in the policy's order.
    pub fn rules_of(&self, who: &Identity) -> impl Iterator<Item = &Arc<Rule>> {
        let clients = self.clients_of(who);
        self.rules().iter().filter(move |rule| clients.contains(&rule.client.as_str()))
    }
}

/// Returns the grants of the same clients for the same verb, as patterns.
pub(super) fn nearby(policy: &Policy, clients: &[usize], verb: VerbId) -> Vec<String> {
    let own = policy.rules_for(clients, verb).filter(|rule| rule.decision != Decision::Deny);
    own.flat_map(|rule| texts(&rule.selector)).take(20).collect()
}

fn texts(selector: &Selector) -> Vec<String> {
    match selector {
        Selector::Nothing => Vec::new(),
        Selector::Packages(patterns)
        | Selector::Units(patterns)
        | Selector::Commands { names: patterns, .. } => patterns.iter().map(ToString::to_string).collect(),
        Selector::Files { directories, files, .. } => {
            let of = |directory| files.iter().map(move |file| format!("{directory}/{file}"));
            directories.iter().flat_map(of).collect()
        }
    }
}
