//! References between tables of a policy, and two names for the same directory.

use super::client::ParsedClient;
use super::commands::ParsedCommand;
use super::parsed::ParsedPolicy;
use super::rule::{self, ParsedRule};
use super::table::{At, Table};
use super::values;
use crate::text::unknown;
use postern_policy::types::Pattern;
use postern_proto::root::v1 as root;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

/// Reports every name that nothing in the policy has.
pub(super) fn check(policy: &ParsedPolicy<'_>) {
    for rule in &policy.rules {
        known_client(rule, &policy.clients);
        let sources = policy.sources.iter().map(|(_, name, _)| name.value);
        for source in rule.table.texts("sources").unwrap_or_default() {
            known(rule.table, source, sources.clone(), "source");
        }
        validator(rule.table, &policy.commands);
        granted_commands(rule.table, &policy.commands);
    }
    for command in &policy.commands {
        reverse(command, &policy.commands);
    }
}

fn known<'a>(
    table: Table<'_>,
    name: At<&str>,
    names: impl Iterator<Item = &'a str> + Clone,
    what: &str,
) -> bool {
    let is_known = names.clone().any(|known| known == name.value);
    if !is_known {
        table.error(name.at, unknown(what, name.value, names));
    }
    is_known
}

fn known_client(rule: &ParsedRule<'_>, clients: &[ParsedClient<'_>]) {
    if let Some(client) = rule.client {
        known(rule.table, client, clients.iter().map(|(_, name, _)| name.value), "client");
    }
}

/// A validator is run by the helper, which has no values for parameters.
fn validator(table: Table<'_>, commands: &[ParsedCommand<'_>]) {
    let Some(name) = table.text("validate") else {
        return;
    };
    if !known(table, name, commands.iter().map(|command| command.name.value), "command") {
        return;
    }
    let wire = commands.iter().filter(|command| command.name.value == name.value);
    for wire in wire.filter_map(|command| command.wire.as_ref()) {
        if wire.sandbox() != root::Sandbox::Validator {
            let why = format!("command {:?} is not a validator: give it sandbox = \"validator\"", name.value);
            table.error(name.at, why);
        }
        if !wire.parameters.is_empty() {
            let why =
                format!("command {:?} has parameters, which nobody would give to a validator", name.value);
            table.error(name.at, why);
        }
    }
}

/// Every pattern names a command, and every command that is granted has the parameters that the rule narrows.
fn granted_commands(table: Table<'_>, commands: &[ParsedCommand<'_>]) {
    let params = table.table("params", rule::PARAMS);
    for text in table.texts("commands").unwrap_or_default() {
        let Ok(pattern) = Pattern::new(text.value) else {
            continue;
        };
        let granted =
            commands.iter().filter(|command| pattern.matches(command.name.value)).collect::<Vec<_>>();
        if granted.is_empty() {
            let names = commands.iter().map(|command| command.name.value);
            table.error(text.at, unknown("command", text.value, names));
        }
        for wire in granted.iter().filter_map(|command| command.wire.as_ref()) {
            if let Some(at) = table.place("keep_within").filter(|_| wire.reverse.is_empty()) {
                let why =
                    format!("`keep_within`: command {:?} has no `reverse` that takes it back", wire.name);
                table.error(at, why);
            }
            let names = || wire.parameters.iter().map(|parameter| parameter.name.as_str());
            for name in params.iter().flat_map(Table::keys).filter(|name| !names().any(|n| n == name.value)) {
                let why = unknown("parameter", name.value, names());
                table.error(name.at, format!("command {:?}: {why}", wire.name));
            }
            let is_secret = |name: &str| {
                let found = wire.parameters.iter().find(|parameter| parameter.name == name);
                found.is_some_and(|parameter| parameter.kind() == root::ParameterKind::Secret)
            };
            for name in params.iter().flat_map(Table::keys).filter(|name| is_secret(name.value)) {
                let why = "is a secret: its values cannot be listed in a policy, which others can read";
                table.error(name.at, format!("parameter {:?} {why}", name.value));
            }
        }
    }
}

/// A reverse command is run with the same values as the command that it undoes.
fn reverse(command: &ParsedCommand<'_>, commands: &[ParsedCommand<'_>]) {
    let Some(wire) = &command.wire else {
        return;
    };
    let Some(name) = command.table.text("reverse") else {
        return;
    };
    if !known(command.table, name, commands.iter().map(|command| command.name.value), "command") {
        return;
    }
    let other = commands.iter().find(|command| command.name.value == name.value);
    for parameter in other.and_then(|other| other.wire.as_ref()).iter().flat_map(|other| &other.parameters) {
        if !wire.parameters.contains(parameter) {
            let why = format!(
                "command {:?} takes {:?}, which this command does not have alike: it could not be run with the same values",
                name.value, parameter.name
            );
            command.table.error(name.at, why);
        }
        if parameter.kind() == root::ParameterKind::Secret {
            let why = "is a secret, which is kept nowhere: it could not be run with the same value";
            command
                .table
                .error(name.at, format!("command {:?} takes {:?}, which {why}", name.value, parameter.name));
        }
    }
}

/// Two directories of rules that are one inode on this host: a rule for one would be a rule for the other.
pub(super) fn same_directories(rules: &[ParsedRule<'_>]) {
    let mut known: HashMap<(u64, u64), (&str, Table<'_>, usize)> = HashMap::new();
    for rule in rules {
        for text in rule.table.texts("directories").unwrap_or_default() {
            let facts = values::directory(text.value).ok().and_then(|()| std::fs::metadata(text.value).ok());
            let Some(facts) = facts else {
                continue;
            };
            let (first, table, at) =
                *known.entry((facts.dev(), facts.ino())).or_insert((text.value, rule.table, text.at));
            if first != text.value {
                let (line, _) = table.source.position(at);
                rule.table.error(
                    text.at,
                    format!(
                        "{:?} is the same directory on this host as {first:?} at {}:{line}: write one name for it",
                        text.value, table.source.name
                    ),
                );
            }
        }
    }
}
