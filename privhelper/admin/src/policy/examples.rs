//! The examples of a rule, decided by the very code that root runs.

use super::keys::{self, Kind};
use super::rule::CompiledRule;
use super::table::Table;
use crate::text::unknown;
use postern_policy::types::{
    Arguments, CommandName, Digest, FileMode, PackageName, PackageVersion, TargetPath, UnitName, UserName,
};
use postern_policy::{Decision, Identity, Object, Policy, VerbId};
use postern_proto::root::v1 as root;
use std::sync::Arc;

/// The identity of the rule's client in examples.
fn client() -> Identity {
    Identity { uid: 1, users: vec!["client".to_owned()], ..Identity::default() }
}

/// Checks the examples of a rule, and that it grants nothing that no rule can grant.
pub fn check(table: Table<'_>, rule: &CompiledRule, commands: &[root::Command], protect: &root::Protect) {
    let client =
        root::Client { name: rule.wire.client.clone(), user: "client".to_owned(), group: String::new() };
    let rules = root::Rules {
        version: 1,
        clients: vec![client],
        // An example need not have content, so a validator would refuse it; it has no time, and is nobody's.
        rules: vec![root::Rule {
            validate: String::new(),
            hours: Vec::new(),
            people: Vec::new(),
            approvers_exclude_asker: false,
            ..rule.wire.clone()
        }],
        commands: commands.to_vec(),
        protect: Some(protect.clone()),
        ..root::Rules::default()
    };
    let policy = match Policy::compile(&rules, Digest::ZERO) {
        Ok(policy) => policy,
        Err(why) => return table.error(table.at, format!("the helper refuses the rule: {why}")),
    };
    protected(table, rule, &policy);
    for (key, expected) in [("matches", true), ("does_not_match", false)] {
        for example in table.tables(key, "a list of examples such as [{ path = \"/srv/x\" }]") {
            run(example, rule, &policy, expected);
        }
    }
}

/// One example. Those verbs of the rule count whose requests hold everything that it names.
fn run(example: Table<'_>, rule: &CompiledRule, policy: &Policy, expected: bool) {
    let known = keys::EXAMPLE.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    example.check_keys(&known);
    let named = keys::EXAMPLE.iter().filter(|(name, _)| example.place(name).is_some()).collect::<Vec<_>>();
    let mut verbs = rule.verbs.clone();
    verbs.retain(|verb| Kind::of(*verb).is_some());
    verbs.retain(|verb| named.iter().all(|(_, holds)| holds(*verb)));
    if verbs.is_empty() {
        return example.error(example.at, "no verb of this rule takes such a request");
    }
    if let Some(only) = example.text("verb") {
        if verbs.iter().all(|verb| verb.name() != only.value) {
            let permitted = verbs.iter().map(|verb| verb.name());
            return example
                .error(only.at, unknown("verb of this rule for such a request", only.value, permitted));
        }
        verbs.retain(|verb| verb.name() == only.value);
    }
    let before = example.findings().borrow().errors();
    let objects = objects(example, rule.kind);
    if example.findings().borrow().errors() > before {
        return;
    }
    for verb in verbs {
        let said = match &objects {
            Ok(objects) => decide(policy, rule.decision, verb, objects),
            Err(invalid) => Err(invalid.clone()),
        };
        match (said, expected) {
            (Ok(()), false) => {
                let why = format!("this must not match, but it does for {} (`does_not_match`)", verb.name());
                example.error(example.at, why);
            }
            (Err(why), true) => {
                let why = format!("this must match, but it does not for {}: {why} (`matches`)", verb.name());
                example.error(example.at, why);
            }
            (Ok(()), true) | (Err(_), false) => {}
        }
    }
}

/// Whether this rule alone lets the request through (or denies some of it, if that is what it decides).
fn decide(policy: &Policy, decision: Decision, verb: VerbId, objects: &[Object]) -> Result<(), String> {
    match decision {
        Decision::Allow | Decision::Ask => match policy.decide(&client(), &required_grants(verb, objects)) {
            Ok(_) => Ok(()),
            Err(refusal) => Err(refusal.message),
        },
        Decision::Deny => {
            let denies =
                policy.rules().iter().any(|rule| objects.iter().any(|object| rule.selects(verb, object)));
            if denies { Ok(()) } else { Err("the rule does not select it".to_owned()) }
        }
    }
}

fn required_grants(verb: VerbId, objects: &[Object]) -> Vec<(VerbId, Object)> {
    objects.iter().map(|object| (verb, object.clone())).collect()
}

/// The objects of an example's request. A request that is not even valid is an `Err`: nothing matches it.
fn objects(example: Table<'_>, kind: Kind) -> Result<Vec<Object>, String> {
    let invalid = |invalid: postern_policy::Invalid| invalid.to_string();
    let missing = |key: &str| {
        example.error(example.at, format!("the example lacks `{key}`"));
        String::new()
    };
    match kind {
        Kind::Nothing => Ok(vec![Object::Nothing]),
        Kind::Packages => {
            let version = example.text("version").map(|text| PackageVersion::new(text.value)).transpose();
            let version = version.map_err(invalid)?;
            let names = example.texts("packages").filter(|names| !names.is_empty());
            let names = names.ok_or_else(|| missing("packages"))?;
            let object = |name: &str| {
                let name = PackageName::new(name).map_err(invalid)?;
                Ok(Object::Package { name, version: version.clone() })
            };
            names.iter().map(|name| object(name.value)).collect()
        }
        Kind::Units => {
            let name = example.text("unit").ok_or_else(|| missing("unit"))?;
            Ok(vec![Object::unit(UnitName::new(name.value).map_err(invalid)?)])
        }
        Kind::Files => {
            let path = example.text("path").ok_or_else(|| missing("path"))?;
            let text = |key| example.text(key).map(|text| text.value);
            let mode = text("mode").map(FileMode::new).transpose().map_err(invalid)?;
            let owner =
                text("owner").map(|name| UserName::new("owner", name)).transpose().map_err(invalid)?;
            let group =
                text("group").map(|name| UserName::new("group", name)).transpose().map_err(invalid)?;
            let content: Option<Arc<[u8]>> = text("content").map(|content| content.as_bytes().into());
            let size = content.as_ref().map_or(0, |content| content.len() as u64);
            let bytes = example.number("bytes", 0..=u64::MAX).map_or(size, |bytes| bytes.value);
            let path = TargetPath::new(path.value).map_err(invalid)?;
            Ok(vec![Object::File { path, bytes, content, mode, owner, group }])
        }
        Kind::Commands => {
            let name = example.text("command").ok_or_else(|| missing("command"))?;
            let given = example.table("params", "a table such as { size = \"1G\" }");
            let mut pairs = Vec::new();
            for key in given.iter().flat_map(Table::keys) {
                if let Some(value) = given.and_then(|given| given.text(key.value)) {
                    pairs.push((key.value.to_owned(), value.value.to_owned()));
                }
            }
            pairs.sort();
            let arguments = Arguments::new(pairs).map_err(invalid)?;
            Ok(vec![Object::Command { name: CommandName::new(name.value).map_err(invalid)?, arguments }])
        }
    }
}

/// The words of an error about a name that no rule can grant.
pub(super) const PROTECTED: &str = "is protected: no rule can grant";

/// Reports protected names in an allow or ask rule: no rule can grant them.
fn protected(table: Table<'_>, rule: &CompiledRule, policy: &Policy) {
    if rule.decision == Decision::Deny {
        return;
    }
    let key = match rule.kind {
        Kind::Nothing | Kind::Commands => return,
        Kind::Packages => "packages",
        Kind::Units => "units",
        Kind::Files => "directories",
    };
    for text in table.texts(key).unwrap_or_default() {
        let object = match rule.kind {
            Kind::Nothing | Kind::Commands => None,
            Kind::Packages => {
                PackageName::new(text.value).ok().map(|name| Object::Package { name, version: None })
            }
            Kind::Units => UnitName::new(text.value).ok().map(Object::unit),
            Kind::Files => TargetPath::new(&format!("{}/x", text.value)).ok().map(Object::read),
        };
        let Some(object) = object else {
            continue;
        };
        for verb in &rule.verbs {
            let refusal = policy.decide(&client(), &[(*verb, object.clone())]).err();
            if refusal.is_some_and(|refusal| refusal.code == postern_policy::Code::Protected) {
                table.error(
                    text.at,
                    format!("{:?} {PROTECTED} {}: that stays with the operator", text.value, verb.name()),
                );
                break;
            }
        }
    }
}
