//! `policy.describe`: what a client may do, rule by rule.

use postern_policy::types::Pattern;
use postern_policy::{Command, Decision, Identity, Policy, Rule, Selector, VerbId};
use postern_proto::v1 as wire;

/// Describes the rules of the clients that this identity is.
#[must_use]
pub fn describe(policy: &Policy, identity: &Identity) -> wire::Description {
    let grants = policy.rules_of(identity).map(|rule| grant(rule, policy.commands())).collect();
    wire::Description { client: policy.clients_of(identity).join("+"), grants }
}

/// Returns one rule as its client may see it: without the operator's texts and without other clients.
fn grant(rule: &Rule, commands: &[Command]) -> wire::Grant {
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
            let named =
                commands.iter().filter(|command| names.iter().any(|n| n.matches(command.name.as_str())));
            grant.commands = named.map(|command| usage(command, parameters)).collect();
        }
    }
    // A deny rule has no limits.
    if rule.decision != Decision::Deny {
        limits(rule, &mut grant);
    }
    grant
}

/// A command as one line: its name, and each parameter with what it may be, as this rule narrows it.
fn usage(command: &Command, narrowed: &[(String, Vec<Pattern>)]) -> String {
    let mut words = vec![command.name.to_string()];
    for (name, kind) in &command.parameters {
        let narrowed = narrowed.iter().find(|(known, _)| known == name);
        let only =
            narrowed.map_or_else(String::new, |(_, patterns)| format!(": {}", strings(patterns).join("|")));
        words.push(format!("{name}=<{}{only}>", kind.says()));
    }
    words.join(" ")
}

/// The limits that the rule's verbs can meet.
fn limits(rule: &Rule, grant: &mut wire::Grant) {
    let lists = |verbs: &[VerbId]| rule.verbs.iter().any(|verb| verbs.contains(verb));
    let mut add = |key: &str, value: String| grant.limits.push(format!("{key} = {value}"));
    if rule.decision == Decision::Ask {
        add("approvers", rule.approvers.to_string());
        add("approval_ttl", format!("{}s", rule.approval_ttl_s));
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
