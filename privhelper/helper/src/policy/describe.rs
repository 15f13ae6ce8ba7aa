//! What a client may do, as far as it may know it.

use super::rule::{Rule, Selector, list};
use super::{Decision, Peer, Policy};
use crate::verb_id::VerbId;

/// One rule as its client may know it: no text of the operator's, no word of other clients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grant {
    /// Names of verbs.
    pub verbs: Vec<String>,
    /// Allow or deny.
    pub denies: bool,
    /// Patterns of packages.
    pub packages: Vec<String>,
    /// Patterns of units.
    pub units: Vec<String>,
    /// Directories.
    pub directories: Vec<String>,
    /// Patterns of file names.
    pub files: Vec<String>,
    /// Modes that may be set.
    pub modes: Vec<String>,
    /// Bytes of a file's content; 0 where no file is meant.
    pub max_bytes: u64,
    /// Such as `12/3600s`; empty = no rate.
    pub rate: String,
    /// Other limits, each as `key = value`.
    pub limits: Vec<String>,
}

impl Policy {
    /// Every rule that speaks of this peer, in the policy's order.
    #[must_use]
    pub fn describe(&self, peer: Peer) -> Vec<Grant> {
        let clients = self.clients_of(peer);
        self.rules()
            .iter()
            .filter(|rule| clients.contains(&rule.client.as_str()))
            .map(|rule| grant(rule))
            .collect()
    }
}

/// What the same clients are granted of the same verb: patterns, never what exists.
pub(super) fn nearby(policy: &Policy, clients: &[&str], verb: VerbId) -> Vec<String> {
    let own = policy.rules().iter().filter(|rule| {
        rule.decision == Decision::Allow
            && rule.verbs.contains(&verb)
            && clients.contains(&rule.client.as_str())
    });
    own.flat_map(|rule| texts(&rule.selector)).take(20).collect()
}

fn texts(selector: &Selector) -> Vec<String> {
    match selector {
        Selector::Nothing => Vec::new(),
        Selector::Packages(patterns) | Selector::Units(patterns) => {
            patterns.iter().map(ToString::to_string).collect()
        }
        Selector::Files { directories, files, .. } => {
            let of = |directory| files.iter().map(move |file| format!("{directory}/{file}"));
            directories.iter().flat_map(of).collect()
        }
    }
}

fn strings<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

fn grant(rule: &Rule) -> Grant {
    let mut grant = Grant {
        verbs: rule.verbs.iter().map(|verb| verb.name().to_owned()).collect(),
        denies: rule.decision == Decision::Deny,
        rate: rule.rate.map_or_else(String::new, |rate| format!("{}/{}s", rate.count, rate.window.as_secs())),
        ..Grant::default()
    };
    match &rule.selector {
        Selector::Nothing => {}
        Selector::Packages(patterns) => {
            grant.packages = strings(patterns);
            if rule.verbs.contains(&VerbId::PackageInstall) {
                grant.limits.push(format!("max_new_packages = {}", rule.max_new_packages));
            }
            if !rule.versions.is_empty() {
                grant.limits.push(format!("versions = {}", list(&rule.versions)));
            }
        }
        Selector::Units(patterns) => {
            grant.units = strings(patterns);
            if rule.allow_cascade {
                grant.limits.push("allow_cascade = true".to_owned());
            }
        }
        Selector::Files { directories, depth, files } => {
            grant.directories = strings(directories);
            grant.files = strings(files);
            grant.modes = strings(&rule.modes);
            grant.max_bytes = rule.max_bytes;
            grant.limits.push(format!("depth = {depth}"));
        }
    }
    grant
}
