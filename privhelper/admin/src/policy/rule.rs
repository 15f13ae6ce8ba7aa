//! One `[[rule]]`: checked key by key, with every default filled in.

use super::keys::{self, Kind, Role};
use super::table::{At, Table};
use super::{limits, values, written};
use crate::text::did_you_mean;
use postern_helper::policy::Decision;
use postern_helper::verb_id::VerbId;
use postern_proto::root::v1 as root;

/// A rule as far as it could be read.
pub struct Parsed<'a> {
    /// The table that it stands in.
    pub table: Table<'a>,
    /// Its id.
    pub id: Option<At<&'a str>>,
    /// The client that it names.
    pub client: Option<At<&'a str>>,
    /// The accepted form, if the rule has no error of its own.
    pub rule: Option<Whole>,
}

/// A rule without errors.
pub struct Whole {
    /// The accepted form.
    pub wire: root::Rule,
    /// Its verbs.
    pub verbs: Vec<VerbId>,
    /// What they speak of.
    pub kind: Kind,
    /// What it decides.
    pub decision: Decision,
}

/// Reads a rule and reports what is wrong with it.
#[must_use]
pub fn parse(table: Table<'_>) -> Parsed<'_> {
    let before = table.findings().borrow().errors();
    let id = table.required("id");
    if let Some(id) = id.filter(|id| !values::is_id(id.value)) {
        table.error(id.at, format!("{:?} is no id: write 1 to 64 of a-z, 0-9 and '-'", id.value));
    }
    let client = table.required("client");
    let verbs = verbs(table);
    let decision = decision(table);
    if let Some(text) = table.required("justification").filter(|text| text.value.len() > 500) {
        table.error(text.at, "`justification` is longer than 500 bytes");
    }
    check_keys(table, verbs.as_ref(), decision);
    let rule = match (id, client, verbs, decision) {
        (Some(id), Some(client), Some((verbs, kind)), Some(decision)) => {
            let mut wire = root::Rule {
                id: id.value.to_owned(),
                client: client.value.to_owned(),
                verbs: verbs.iter().map(|verb| verb.name().to_owned()).collect(),
                ..root::Rule::default()
            };
            selectors(table, &verbs, kind, &mut wire);
            match decision {
                Decision::Allow | Decision::Ask => {
                    wire.set_decision(if decision == Decision::Ask {
                        root::Decision::Ask
                    } else {
                        root::Decision::Allow
                    });
                    limits::fill(table, &verbs, kind, &mut wire);
                    written::check(table);
                }
                Decision::Deny => wire.set_decision(root::Decision::Deny),
            }
            Some(Whole { wire, verbs, kind, decision })
        }
        _ => None,
    };
    let is_whole = table.findings().borrow().errors() == before;
    Parsed { table, id, client, rule: rule.filter(|_| is_whole) }
}

/// The verbs and what they speak of, if all of them are known, built, and of one kind.
fn verbs(table: Table<'_>) -> Option<(Vec<VerbId>, Kind)> {
    let Some(names) = table.texts("verbs") else {
        if table.place("verbs").is_none() {
            table.error(table.at, "`verbs` is missing");
        }
        return None;
    };
    if names.is_empty() {
        table.error(table.place("verbs").unwrap_or(table.at), "`verbs` is empty: the rule speaks of nothing");
    }
    let mut verbs: Vec<VerbId> = Vec::new();
    let mut kind = None;
    for name in &names {
        let Some((verb, its)) = verb(table, *name) else {
            continue;
        };
        let first = *kind.get_or_insert(its);
        if first != its {
            let (first, its) = (first.as_str(), its.as_str());
            let why = format!(
                "`{}` speaks of {its}, the verbs before it of {first}: make it a rule of its own",
                name.value
            );
            table.error(name.at, why);
        }
        verbs.push(verb);
    }
    (verbs.len() == names.len()).then_some(())?;
    Some((verbs, kind?))
}

/// The verb of this name and what it speaks of; what is none is reported.
fn verb(table: Table<'_>, name: At<&str>) -> Option<(VerbId, Kind)> {
    let Some(verb) = VerbId::from_name(name.value) else {
        let known = VerbId::ALL.iter().filter(|verb| !verb.is_open()).map(|verb| verb.name());
        table.error(name.at, format!("unknown verb {:?}{}", name.value, did_you_mean(name.value, known)));
        return None;
    };
    let kind = Kind::of(verb);
    if verb.is_open() {
        table
            .error(name.at, format!("`{}` is open to every client and never listed: remove it", verb.name()));
    } else if kind.is_none() {
        table.error(name.at, format!("verb `{}` is not built yet: remove it", verb.name()));
    }
    kind.map(|kind| (verb, kind))
}

fn decision(table: Table<'_>) -> Option<Decision> {
    let text = table.required("decision")?;
    match text.value {
        "allow" => Some(Decision::Allow),
        "deny" => Some(Decision::Deny),
        "ask" => Some(Decision::Ask),
        other => {
            let hint = did_you_mean(other, ["allow", "ask", "deny"]);
            let why = format!("{other:?} is no decision, write \"allow\", \"ask\" or \"deny\"{hint}");
            table.error(text.at, why);
            None
        }
    }
}

/// Unknown keys, keys that no verb of the rule uses, and limits of a deny rule.
fn check_keys(table: Table<'_>, verbs: Option<&(Vec<VerbId>, Kind)>, decision: Option<Decision>) {
    let names = keys::RULE.iter().map(|key| key.name).collect::<Vec<_>>();
    table.check_keys(&names, keys::RULE_LATER);
    for key in keys::RULE {
        let Some(at) = table.place(key.name) else {
            continue;
        };
        let is_used = verbs.is_none_or(|(verbs, _)| verbs.iter().any(|verb| (key.used_by)(*verb)));
        if !is_used {
            table.error(at, format!("`{}` is used by no verb of this rule: remove it", key.name));
        } else if decision == Some(Decision::Deny) && key.role == Role::Limit {
            table.error(at, format!("`{}` is a limit, and a deny rule has none: remove it", key.name));
        }
    }
}

fn selectors(table: Table<'_>, verbs: &[VerbId], kind: Kind, wire: &mut root::Rule) {
    match kind {
        Kind::Nothing => {}
        Kind::Packages => wire.packages = patterns(table, "packages", values::package_pattern),
        Kind::Units => wire.units = patterns(table, "units", values::unit_pattern),
        Kind::Files => {
            wire.directories = patterns(table, "directories", values::directory);
            let depth = table.number("depth", 1..=32).map_or(1, |depth| depth.value);
            wire.depth = u32::try_from(depth).unwrap_or(1);
            // What a client may read of a directory may be everything; what it may write is named.
            wire.files = if table.place("files").is_none() && verbs.iter().all(|verb| !keys::is_effect(*verb))
            {
                vec!["*".to_owned()]
            } else {
                patterns(table, "files", values::pattern)
            };
        }
    }
}

/// A list that must be there and not be empty.
fn patterns(table: Table<'_>, key: &str, check: fn(&str) -> Result<(), String>) -> Vec<String> {
    match table.place(key) {
        None => table.error(table.at, format!("`{key}` is missing: without it the rule matches nothing")),
        Some(at) => {
            let texts = limits::list(table, key, check);
            if texts.as_ref().is_some_and(Vec::is_empty) {
                table.error(at, format!("`{key}` is empty: the rule matches nothing"));
            }
            return texts.unwrap_or_default();
        }
    }
    Vec::new()
}
