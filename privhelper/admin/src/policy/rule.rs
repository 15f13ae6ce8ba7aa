//! One `[[rule]]`: checked key by key, with every default filled in.

use super::keys::{self, Kind, Role};
use super::limits::{list, required_list};
use super::table::{At, Table};
use super::{limits, rule_text, values};
use crate::text::unknown;
use postern_policy::{Decision, VerbId};
use postern_proto::root::v1 as root;

/// The form of a rule's `params`, for error messages.
pub(super) const PARAMS: &str = "a table such as { size = [\"1*\"] }";

/// A rule as far as it could be read.
pub struct ParsedRule<'a> {
    /// Its table.
    pub table: Table<'a>,
    /// Its id.
    pub id: Option<At<&'a str>>,
    /// The client that it names.
    pub client: Option<At<&'a str>>,
    /// The accepted form, if the rule has no error of its own.
    pub rule: Option<CompiledRule>,
}

/// A rule without errors.
pub struct CompiledRule {
    /// The accepted form.
    pub wire: root::Rule,
    /// Its verbs.
    pub verbs: Vec<VerbId>,
    /// The kind of their objects.
    pub kind: Kind,
    /// Its decision.
    pub decision: Decision,
}

/// Reads a rule and reports what is wrong with it.
#[must_use]
pub fn parse(table: Table<'_>) -> ParsedRule<'_> {
    let before = table.findings().borrow().errors();
    let id = table.required("id");
    if let Some(id) = id.filter(|id| !values::is_id(id.value)) {
        table.error(id.at, format!("{:?} is not a valid id: use 1 to 64 of a-z, 0-9 and '-'", id.value));
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
                    rule_text::check(table);
                }
                Decision::Deny => {
                    wire.set_decision(root::Decision::Deny);
                    left_out(table, &wire);
                }
            }
            Some(CompiledRule { wire, verbs, kind, decision })
        }
        _ => None,
    };
    let is_whole = table.findings().borrow().errors() == before;
    ParsedRule { table, id, client, rule: rule.filter(|_| is_whole) }
}

/// The verbs and their kind, if all of them are known and of one kind.
fn verbs(table: Table<'_>) -> Option<(Vec<VerbId>, Kind)> {
    let Some(names) = table.texts("verbs") else {
        if table.place("verbs").is_none() {
            table.error(table.at, "`verbs` is missing");
        }
        return None;
    };
    if names.is_empty() {
        table.error(table.place("verbs").unwrap_or(table.at), "`verbs` is empty: the rule matches nothing");
    }
    let mut verbs: Vec<At<VerbId>> = Vec::new();
    let mut kind = None;
    for name in &names {
        let Some(verb) = verb(table, *name) else {
            continue;
        };
        verbs.push(At { value: verb, at: name.at });
        // `request.undo` can be listed beside verbs of any kind.
        let Some(its) = Kind::of(verb) else {
            continue;
        };
        let first = *kind.get_or_insert(its);
        if first != its {
            let (first, its) = (first.as_str(), its.as_str());
            let why = format!(
                "`{}` is about {its}, the verbs before it are about {first}: write a separate rule for it",
                name.value
            );
            table.error(name.at, why);
        }
    }
    (verbs.len() == names.len()).then_some(())?;
    if let (None, Some(undo)) = (kind, verbs.first()) {
        let why = "`request.undo` alone undoes nothing: list it beside the verbs that the rule lets through";
        table.error(undo.at, why);
    }
    Some((verbs.into_iter().map(|verb| verb.value).collect(), kind?))
}

/// The verb of this name; unknown verbs and verbs that no rule may list are reported.
fn verb(table: Table<'_>, name: At<&str>) -> Option<VerbId> {
    let Some(verb) = VerbId::from_name(name.value) else {
        let known = VerbId::ALL.iter().filter(|verb| !verb.is_open()).map(|verb| verb.name());
        table.error(name.at, unknown("verb", name.value, known));
        return None;
    };
    if verb.is_open() {
        table
            .error(name.at, format!("`{}` is open to every client and never listed: remove it", verb.name()));
        return None;
    }
    Some(verb)
}

fn decision(table: Table<'_>) -> Option<Decision> {
    let text = table.required("decision")?;
    match text.value {
        "allow" => Some(Decision::Allow),
        "deny" => Some(Decision::Deny),
        "ask" => Some(Decision::Ask),
        other => {
            table.error(text.at, unknown("decision", other, ["allow", "ask", "deny"]));
            None
        }
    }
}

/// Unknown keys, keys that no verb of the rule uses, and keys of another decision.
fn check_keys(table: Table<'_>, verbs: Option<&(Vec<VerbId>, Kind)>, decision: Option<Decision>) {
    let names = keys::RULE.iter().map(|key| key.name).collect::<Vec<_>>();
    table.check_keys(&names);
    for key in keys::RULE {
        let Some(at) = table.place(key.name) else {
            continue;
        };
        let is_used = verbs.is_none_or(|(verbs, _)| verbs.iter().any(|verb| (key.used_by)(*verb)));
        if !is_used {
            table.error(at, format!("`{}` is used by no verb of this rule: remove it", key.name));
            continue;
        }
        match (key.role, decision) {
            (Role::Limit, Some(Decision::Deny)) if key.name == "people" => {
                let why = "nobody has to open a session, so that `people` in a deny rule would bar nobody: deny it \
                           to all, or grant it to the people who may with `people` in an allow or ask rule";
                table.error(at, why);
            }
            (Role::Limit, Some(Decision::Deny)) => {
                table.error(at, format!("`{}` is a limit, and a deny rule has none: remove it", key.name));
            }
            (Role::Asking, Some(Decision::Allow | Decision::Deny)) => {
                table.error(at, format!("only an ask rule has `{}`: remove it", key.name));
            }
            (Role::Plain | Role::Selector | Role::Limit | Role::Asking, _) => {}
        }
    }
    if let (Some((verbs, _)), Some(Decision::Deny)) = (verbs, decision)
        && verbs.contains(&VerbId::RequestUndo)
    {
        let at = table.place("verbs").unwrap_or(table.at);
        table.error(at, "a deny rule decides nothing that could be undone: remove `request.undo`");
    }
}

fn selectors(table: Table<'_>, verbs: &[VerbId], kind: Kind, wire: &mut root::Rule) {
    let nothing = "the rule matches nothing";
    match kind {
        Kind::Nothing => {}
        Kind::Packages => wire.packages = required_list(table, "packages", values::package_pattern, nothing),
        Kind::Units => wire.units = required_list(table, "units", values::unit_pattern, nothing),
        Kind::Files => {
            wire.directories = required_list(table, "directories", values::directory, nothing);
            let depth = table.number("depth", 1..=32).map_or(1, |depth| depth.value);
            wire.depth = u32::try_from(depth).unwrap_or(1);
            // A read rule without `files` covers every file; a write rule must name them.
            wire.files = if table.place("files").is_none() && verbs.iter().all(|verb| !keys::is_effect(*verb))
            {
                vec!["*".to_owned()]
            } else {
                required_list(table, "files", values::pattern, nothing)
            };
        }
        Kind::Commands => {
            wire.commands = required_list(table, "commands", values::command_pattern, nothing);
            wire.parameters = parameters(table);
        }
    }
}

/// Warns of names that a deny rule seems to cover and does not.
fn left_out(table: Table<'_>, wire: &root::Rule) {
    let at = |key| table.place(key).unwrap_or(table.at);
    if wire.units.iter().any(|text| text.contains('*')) && !wire.units.iter().any(|text| text.contains('@')) {
        table.warn(at("units"), "`*` does not cross '@': instances such as a@b.service are not denied; list them too, such as \"*@*\"");
    }
    if wire.files.iter().any(|text| text.starts_with('*')) && !wire.files.iter().any(|text| text == ".*") {
        table.warn(at("files"), "`*` takes no leading dot: hidden files are not denied; list \".*\" too");
    }
}

/// The permitted values of each parameter, sorted by name.
fn parameters(table: Table<'_>) -> Vec<root::ParameterGrant> {
    let Some(inner) = table.table("params", PARAMS) else {
        return Vec::new();
    };
    let mut grants = Vec::new();
    for name in inner.keys() {
        let patterns = list(inner, name.value, values::text_pattern).unwrap_or_default();
        if patterns.is_empty() {
            table.error(name.at, format!("`{}` lists no pattern: the rule matches nothing", name.value));
        }
        grants.push(root::ParameterGrant { name: name.value.to_owned(), patterns });
    }
    grants.sort_by(|a, b| a.name.cmp(&b.name));
    grants
}
