//! Lists a client's own rules (`policy.describe`) and its grants of a verb; no other client's.

use postern_policy::types::Pattern;
use postern_policy::{Command, Decision, Identity, Policy, Rule, Selector, VerbId, window_words};
use postern_proto::v1 as wire;
use std::sync::Arc;

/// Most patterns in a refusal.
const NEARBY_MAX: usize = 20;

/// Describes the rules of the clients that this identity is.
#[must_use]
pub fn describe(policy: &Policy, identity: &Identity) -> wire::Description {
    let own = rules_of(policy, identity).filter(|rule| rule.is_for(identity));
    let grants = own.map(|rule| grant(rule, policy)).collect();
    wire::Description { client: policy.clients_of(identity).join("+"), grants }
}

/// Returns the grants of one verb that this identity has, as patterns.
#[must_use]
pub fn nearby(policy: &Policy, identity: &Identity, verb: VerbId) -> Vec<String> {
    let own = rules_of(policy, identity).filter(|rule| {
        rule.verbs.contains(&verb) && rule.decision != Decision::Deny && rule.is_for(identity)
    });
    own.flat_map(|rule| patterns(&rule.selector)).take(NEARBY_MAX).collect()
}

fn patterns(selector: &Selector) -> Vec<String> {
    match selector {
        Selector::Nothing => Vec::new(),
        Selector::Packages(names) | Selector::Units(names) | Selector::Commands { names, .. } => {
            strings(names)
        }
        Selector::Files { directories, files, .. } => {
            let of = |directory| files.iter().map(move |file| format!("{directory}/{file}"));
            directories.iter().flat_map(of).collect()
        }
    }
}

/// Returns the rules of the clients that this identity is, in the policy's order.
pub fn rules_of<'a>(policy: &'a Policy, identity: &Identity) -> impl Iterator<Item = &'a Arc<Rule>> {
    let clients = policy.clients_of(identity);
    policy.rules().iter().filter(move |rule| clients.contains(&rule.client.as_str()))
}

/// Returns one rule as its client may see it: without the operator's texts and without other clients.
fn grant(rule: &Rule, policy: &Policy) -> wire::Grant {
    let mut grant = wire::Grant {
        verbs: strings(rule.verbs.iter().map(|verb| verb.name())),
        decision: rule.decision.wire().into(),
        rate: if rule.rate_count == 0 {
            String::new()
        } else {
            format!("{}/{}s", rule.rate_count, rule.rate_window_s)
        },
        ..wire::Grant::default()
    };
    match &rule.selector {
        Selector::Nothing => {}
        Selector::Packages(patterns) => grant.packages = strings(patterns),
        Selector::Units(patterns) => grant.units = strings(patterns),
        Selector::Files { directories, depth, files } => {
            grant.directories = strings(directories);
            grant.files = strings(files);
            grant.limits.push(format!("depth = {depth}"));
        }
        Selector::Commands { names, parameters } => {
            let named = policy
                .commands()
                .iter()
                .filter(|command| names.iter().any(|n| n.matches(command.name.as_str())));
            grant.commands = named.map(|command| usage(command, parameters)).collect();
        }
    }
    // A deny rule has no limits.
    if rule.decision != Decision::Deny {
        limits(rule, policy, &mut grant);
    }
    grant
}

/// A command as one line: its name, each parameter with what it may be, as this rule narrows it, and what the policy says
/// that the command does.
fn usage(command: &Command, narrowed: &[(String, Vec<Pattern>)]) -> String {
    let mut words = vec![command.name.to_string()];
    for (name, kind) in &command.parameters {
        let narrowed = narrowed.iter().find(|(known, _)| known == name);
        let only =
            narrowed.map_or_else(String::new, |(_, patterns)| format!(": {}", strings(patterns).join("|")));
        words.push(format!("{name}=<{}{only}>", kind.says()));
    }
    let description = (!command.wire.description.is_empty()).then_some(command.wire.description.as_str());
    let said = [description, command.wire.no_effect.then_some("changes nothing")];
    let said = said.into_iter().flatten().collect::<Vec<_>>().join("; ");
    if !said.is_empty() {
        words.push(format!("({said})"));
    }
    words.join(" ")
}

/// The limits that the rule's verbs can meet.
fn limits(rule: &Rule, policy: &Policy, grant: &mut wire::Grant) {
    let lists = |verbs: &[VerbId]| rule.verbs.iter().any(|verb| verbs.contains(verb));
    let mut add = |key: &str, value: String| grant.limits.push(format!("{key} = {value}"));
    if rule.decision == Decision::Ask {
        add("approvers", rule.approvers.to_string());
        add("approval_ttl", format!("{}s", rule.approval_ttl_s));
    }
    if rule.approvers_exclude_asker {
        add("approvers_exclude_asker", "true".to_owned());
    }
    if rule.person_rate_count > 0 {
        add("person_rate", format!("{}/{}s", rule.person_rate_count, rule.person_rate_window_s));
    }
    if lists(&[VerbId::PackageInstall, VerbId::PackageUpgrade]) {
        add("max_new_packages", rule.max_new_packages.to_string());
    }
    for (key, granted) in [
        ("allow_upgrades", rule.allow_upgrades),
        ("allow_removals", rule.allow_removals),
        ("allow_downgrades", rule.allow_downgrades),
        ("new_packages", rule.new_packages),
        ("recommends", rule.recommends),
        ("allow_cascade", rule.allow_cascade),
    ] {
        if granted {
            add(key, "true".to_owned());
        }
    }
    if rule.keep_within_s > 0 {
        add("keep_within", format!("{}s", rule.keep_within_s));
    }
    if rule.journal_lines > 0 {
        add("journal_lines", rule.journal_lines.to_string());
    }
    if !rule.allow_create && lists(&[VerbId::FileWrite, VerbId::FilePatch]) {
        add("allow_create", "false".to_owned());
    }
    if lists(&[VerbId::FilePatch]) {
        add("max_files", rule.max_files.to_string());
    }
    if !rule.validate.is_empty() {
        add("validate", rule.validate.clone());
    }
    for (key, values) in [
        ("versions", strings(&rule.versions)),
        ("sources", rule.sources.clone()),
        ("owners", strings(&rule.owners)),
        ("groups", strings(&rule.groups)),
        ("lines", strings(&rule.lines)),
        ("hours", rule.hours.iter().map(|of| format!("{} {}", window_words(of), policy.zone())).collect()),
    ] {
        for value in values {
            add(key, value);
        }
    }
    grant.modes = strings(&rule.modes);
    grant.max_bytes = rule.max_bytes;
}

fn strings<T: ToString>(items: impl IntoIterator<Item = T>) -> Vec<String> {
    items.into_iter().map(|item| item.to_string()).collect()
}
