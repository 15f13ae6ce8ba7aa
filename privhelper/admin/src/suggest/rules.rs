//! From refused elements to rules. A rule grants each of its verbs on each of its objects, so that objects share a rule only if
//! the same verbs and limits were asked of all of them.

use super::limits::Limits;
use super::seen::{Basis, Wanted};
use super::toml_text::{list, quoted};
use crate::explain::request::Target;
use postern_policy::VerbId;
use postern_proto::root::v1 as root;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const REFUSED: &str = "asked for and refused, as the audit log says: write here why it may be done";
const APPROVED: &str =
    "approved each time and never denied, as the audit log says: write here why nobody needs to be asked";

/// Rules for a person to read.
#[derive(Debug, Default)]
pub struct Suggestion {
    /// In the order of output.
    pub rules: Vec<Rule>,
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    id: String,
    client: String,
    verbs: BTreeSet<VerbId>,
    selector: Selector,
    names: BTreeSet<String>,
    limits: Limits,
    basis: Basis,
}

/// The kind of object, and what objects of one rule share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Selector {
    Packages,
    Units,
    /// Files in this directory.
    Files(String),
    /// This directory, to be listed.
    Listing(String),
    Commands,
    Nothing,
}

/// Client, kind of objects, the object's name, the verb, and the limits that requests must share.
type Object = (String, Selector, String, VerbId, Limits);
/// Key of one suggested rule: client, selector, effect or not, verbs, limits.
type Group = (String, Selector, bool, BTreeSet<VerbId>, Limits);

/// Suggests rules for these elements. Elements that cannot be bounded are left out, and named in `notes`.
pub fn of(
    wanted: &BTreeSet<Wanted>,
    policy: &root::Rules,
    basis: Basis,
    notes: &mut BTreeSet<String>,
) -> Suggestion {
    let mut objects: BTreeMap<Object, Limits> = BTreeMap::new();
    for one in wanted {
        let (selector, name) = match selector(one, policy) {
            Ok(found) => found,
            Err(why) => {
                notes.insert(format!("{}: {why}", one.words()));
                continue;
            }
        };
        let mut own = one.limits.clone();
        if let Target::Package(_, Some(version)) = &one.element.target {
            own.versions.insert(version.clone());
        }
        let key = (client_of(one, policy), selector, name, one.element.verb, own.shared());
        objects.entry(key).and_modify(|limits| limits.add(&own)).or_insert(own);
    }
    // Verbs of one object with the same limits, then objects with the same verbs.
    let mut verbs: BTreeMap<(String, Selector, bool, String, Limits), BTreeSet<VerbId>> = BTreeMap::new();
    for ((client, selector, name, verb, _), limits) in objects {
        verbs.entry((client, selector, verb.is_effect(), name, limits)).or_default().insert(verb);
    }
    let mut groups: BTreeMap<Group, BTreeSet<String>> = BTreeMap::new();
    for ((client, selector, is_effect, name, limits), verbs) in verbs {
        groups.entry((client, selector, is_effect, verbs, limits)).or_default().insert(name);
    }
    let taken = policy.rules.iter().map(|rule| rule.id.as_str()).collect::<BTreeSet<_>>();
    let mut free =
        (1..).map(|number| format!("suggested-{number}")).filter(|id| !taken.contains(id.as_str()));
    let rule = |((client, selector, _, verbs, limits), names): (Group, _)| {
        let id = free.next().unwrap_or_default();
        Rule { id, client, verbs, selector, names, limits, basis }
    };
    Suggestion { rules: groups.into_iter().map(rule).collect() }
}

/// Of several clients that one user is, the one that is this user alone: a group's rule is for others too.
fn client_of(one: &Wanted, policy: &root::Rules) -> String {
    let names = one.client.split('+').collect::<Vec<_>>();
    let known = || policy.clients.iter().filter(|client| names.contains(&client.name.as_str()));
    let client = known().find(|client| !client.user.is_empty()).or_else(|| known().next());
    client.map_or_else(String::new, |client| client.name.clone())
}

/// The selector and the name of an element's object; why there is no rule for it.
fn selector(one: &Wanted, policy: &root::Rules) -> Result<(Selector, String), &'static str> {
    let found = match &one.element.target {
        Target::Package(name, _) => (Selector::Packages, name.clone()),
        Target::Unit(name) => (Selector::Units, name.clone()),
        Target::Nothing => (Selector::Nothing, String::new()),
        Target::File(file) if one.element.verb == VerbId::FileList => {
            (Selector::Listing(file.path.clone()), String::new())
        }
        Target::File(file) => match file.path.rsplit_once('/') {
            Some((directory, name)) if !directory.is_empty() && !name.is_empty() => {
                (Selector::Files(directory.to_owned()), name.to_owned())
            }
            _ => return Err("files of the root directory are not granted one by one"),
        },
        Target::Command(name, parameters) => {
            if !policy.commands.iter().any(|command| command.name == *name) {
                return Err("the policy has no such command; a pack may (postern-admin pack list)");
            }
            if !parameters.is_empty() {
                return Err(
                    "the log has no values of its parameters, so a rule would be wider than what was asked",
                );
            }
            (Selector::Commands, name.clone())
        }
        Target::AllPackages => return Err("every package at once is no bounded grant; see the pack updates"),
        Target::Undo(_) => return Err("an undo is granted by the rule of its change"),
    };
    // In a pattern it would stand for any text.
    let is_literal = match &found.0 {
        Selector::Files(directory) | Selector::Listing(directory) => !directory.contains('*'),
        Selector::Packages | Selector::Units | Selector::Commands | Selector::Nothing => true,
    };
    if found.1.contains('*') || !is_literal {
        return Err("its name has a `*`, which would be a pattern");
    }
    Ok(found)
}

impl Suggestion {
    /// All rules as TOML.
    pub fn text(&self) -> String {
        self.rules.iter().map(|rule| ["\n", &rule.text()].concat()).collect()
    }
}

impl Rule {
    /// Each verb with each object, as requests name it.
    pub fn objects(&self) -> impl Iterator<Item = (VerbId, String)> + '_ {
        let name = |name: &String| match &self.selector {
            Selector::Files(directory) => format!("{directory}/{name}"),
            Selector::Listing(directory) => directory.clone(),
            Selector::Packages | Selector::Units | Selector::Commands | Selector::Nothing => name.clone(),
        };
        self.verbs.iter().flat_map(move |verb| self.names.iter().map(move |own| (*verb, name(own))))
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn text(&self) -> String {
        let mut text = format!("[[rule]]\nid = {}\nclient = {}\n", quoted(&self.id), quoted(&self.client));
        let mut line = |line: String| {
            let _ = writeln!(text, "{line}");
        };
        line(format!("verbs = {}", list(self.verbs.iter().map(|verb| verb.name()))));
        let names = list(self.names.iter());
        match &self.selector {
            Selector::Packages => line(format!("packages = {names}")),
            Selector::Units => line(format!("units = {names}")),
            Selector::Files(directory) => {
                line(format!("directories = {}\nfiles = {names}", list([directory])));
            }
            Selector::Listing(directory) => line(format!("directories = {}", list([directory]))),
            Selector::Commands => line(format!("commands = {names}")),
            Selector::Nothing => {}
        }
        self.limits.lines(&self.verbs).into_iter().for_each(&mut line);
        // Changes, and reads of content, ask a person each time.
        let is_plain = self.verbs.iter().all(|verb| matches!(verb, VerbId::UnitStatus | VerbId::PackageShow));
        let (decision, why) = match self.basis {
            Basis::Refusals if is_plain && self.limits.journal_lines == 0 => ("allow", REFUSED),
            Basis::Refusals => ("ask", REFUSED),
            Basis::Approvals => ("allow", APPROVED),
        };
        line(format!("decision = \"{decision}\""));
        line(format!("justification = {}", quoted(why)));
        text
    }
}
