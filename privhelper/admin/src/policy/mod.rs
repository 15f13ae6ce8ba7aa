//! From TOML files to the accepted form: everything that is wrong is collected, not only the first.
//!
//! Objects are decided by the code that root runs; this module adds only what
//! an operator must be told before a policy can be accepted.

pub mod accepted;
pub mod apply;
mod commands;
mod examples;
pub mod finding;
mod identities;
pub(crate) mod keys;
mod limits;
mod names;
mod parameters;
mod reach;
mod rule;
mod settings;
pub mod source;
mod table;
pub(crate) mod values;
mod written;

use crate::host::Accounts;
use crate::lint;
use finding::{Finding, Findings, Severity};
use postern_policy::Policy;
use postern_policy::types::Digest;
use postern_proto::root::v1 as root;
use prost::Message;
use rule::Parsed;
use source::Source;
use std::cell::RefCell;
use std::collections::HashMap;
use table::{At, Table};
use toml::de::DeTable;

/// What the policy is checked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A review, perhaps on another host.
    Review,
    /// To be in force here.
    Apply,
}

/// A policy that can be accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    /// Clients and rules with every default filled in.
    pub rules: root::Rules,
    /// Where each rule stands.
    pub positions: Vec<root::Position>,
    /// SHA-256 of the encoded rules.
    pub digest: Digest,
    /// What stands in the files about each rule besides the accepted form.
    pub written: Vec<lint::Written>,
    /// Where each client stands.
    pub clients: Vec<lint::Place>,
}

impl Compiled {
    /// What the lint sees of it.
    #[must_use]
    pub fn lint_input<'a>(&'a self, facts: Option<&'a lint::facts::Facts>) -> lint::Input<'a> {
        let Self { rules, positions, written, clients, digest: _ } = self;
        lint::Input { rules, positions, written, clients, facts }
    }
}

/// Checks the policy that these files are. What is compiled holds the rules that have no error of their own: it is a
/// policy only if no finding is an error.
#[must_use]
pub fn check(
    sources: &[Source],
    found: Findings,
    purpose: Purpose,
    accounts: Accounts,
) -> (Vec<Finding>, Compiled) {
    let findings = RefCell::new(found);
    let parsed = sources.iter().map(|source| (source, parse(source, &findings))).collect::<Vec<_>>();
    let tables = parsed.iter().filter_map(|(source, entries)| {
        entries.as_ref().map(|entries| Table::new(source, 0, entries, &findings))
    });
    let read = read(&tables.collect::<Vec<_>>());
    // A file that is no TOML may hold what the other files name.
    let is_whole = parsed.iter().all(|(_, entries)| entries.is_some()) && !sources.is_empty();
    read.check(is_whole, purpose, accounts);
    let compiled = read.compile();
    if let Some(first) = sources.first().filter(|_| findings.borrow().errors() == 0)
        && let Err(why) = Policy::compile(&compiled.rules, compiled.digest)
    {
        findings.borrow_mut().error(first, 0, format!("the helper refuses the policy: {why}"));
    }
    (findings.into_inner().sorted(), compiled)
}

/// Everything that stands in the files, as far as it could be read.
struct Read<'a> {
    clients: Vec<Client<'a>>,
    sources: Vec<settings::Source<'a>>,
    commands: Vec<commands::Parsed<'a>>,
    rules: Vec<Parsed<'a>>,
    settings: settings::Settings,
}

fn read<'a>(files: &[Table<'a>]) -> Read<'a> {
    let all = |key: &'static str, what: &'static str| {
        files.iter().flat_map(|file| file.tables(key, what)).collect::<Vec<_>>()
    };
    for file in files {
        top(*file);
    }
    Read {
        clients: all("client", "written as [[client]]").into_iter().filter_map(client).collect(),
        sources: all("source", "written as [[source]]").into_iter().filter_map(settings::source).collect(),
        commands: all("command", "written as [[command]]").into_iter().filter_map(commands::parse).collect(),
        rules: all("rule", "written as [[rule]]").into_iter().map(rule::parse).collect(),
        settings: settings::parse(files),
    }
}

impl Read<'_> {
    /// What is wrong between the parts.
    fn check(&self, is_whole: bool, purpose: Purpose, accounts: Accounts) {
        unique(self.clients.iter().map(|(table, name, _)| (*table, *name)), "client");
        unique(self.sources.iter().map(|(table, name, _)| (*table, *name)), "source");
        unique(self.commands.iter().map(|command| (command.table, command.name)), "command");
        unique(self.rules.iter().filter_map(|rule| Some((rule.table, rule.id?))), "rule");
        if is_whole {
            names::check(self);
        }
        let commands = self.commands.iter().filter_map(|command| command.wire.clone()).collect::<Vec<_>>();
        for rule in &self.rules {
            if let Some(whole) = &rule.rule {
                examples::check(rule.table, whole, &commands, &self.settings.protect);
            }
        }
        for (table, _, wire) in &self.clients {
            resolve(*table, wire, purpose, accounts);
        }
        identities::check_commands(&self.commands, &self.clients, accounts);
        names::same_directories(&self.rules);
        reach::check(&self.rules);
    }

    /// The accepted form of what has no error of its own.
    fn compile(&self) -> Compiled {
        let whole = || self.rules.iter().filter_map(|rule| Some((rule.table, rule.rule.as_ref()?)));
        let position = |(table, _): (Table<'_>, _)| {
            let (line, _) = table.source.position(table.at);
            root::Position { file: table.source.relative.clone(), line: u32::try_from(line).unwrap_or(0) }
        };
        let settings = &self.settings;
        let rules = root::Rules {
            version: 1,
            clients: self.clients.iter().map(|(_, _, wire)| wire.clone()).collect(),
            rules: whole().map(|(_, rule)| rule.wire.clone()).collect(),
            sources: self.sources.iter().map(|(_, _, wire)| wire.clone()).collect(),
            commands: self.commands.iter().filter_map(|command| command.wire.clone()).collect(),
            audit: Some(settings.audit),
            undo: Some(settings.undo),
            approvals: Some(settings.approvals),
            protect: Some(settings.protect.clone()),
        };
        Compiled {
            digest: Digest::of(&[&rules.encode_to_vec()]),
            positions: whole().map(position).collect(),
            written: whole().map(|(table, _)| written::read(table)).collect(),
            clients: self.clients.iter().map(|(table, ..)| written::place(*table, table.at)).collect(),
            rules,
        }
    }
}

/// The file as TOML; syntax errors are reported, and then there is none.
fn parse<'a>(source: &'a Source, findings: &RefCell<Findings>) -> Option<DeTable<'a>> {
    let (document, errors) = DeTable::parse_recoverable(&source.text);
    for error in &errors {
        let at = error.span().map_or(0, |span| span.start);
        findings.borrow_mut().add_as("policy-syntax", Severity::Error, source, at, error.message());
    }
    errors.is_empty().then(|| document.into_inner())
}

fn top(table: Table<'_>) {
    table.check_keys(keys::TOP);
    let is_main = table.source.relative == "policy.toml";
    match (is_main, table.place("version")) {
        (true, None) => table.error(0, "`version = 1` is missing"),
        (false, Some(at)) => table.error(at, "`version` stands in policy.toml only"),
        (true, Some(_)) => {
            // A number outside the range is reported there.
            let _ = table.number("version", 1..=1);
        }
        (false, None) => {}
    }
}

type Client<'a> = (Table<'a>, At<&'a str>, root::Client);

fn client(table: Table<'_>) -> Option<Client<'_>> {
    table.check_keys(keys::CLIENT);
    let name = table.required("name")?;
    if !values::is_id(name.value) {
        table.error(
            name.at,
            format!("{:?} is no client's name: write 1 to 64 of a-z, 0-9 and '-'", name.value),
        );
    }
    let (user, group) = (table.text("user"), table.text("group"));
    match (table.place("user"), table.place("group")) {
        (None, None) => table.error(table.at, "the client needs a `user` or a `group`"),
        (Some(_), Some(at)) => table.error(at, "the client has a `user` and a `group`: write two clients"),
        (Some(_), None) | (None, Some(_)) => {}
    }
    for (key, text) in [("user", user), ("group", group)] {
        if let Some(text) = text
            && let Err(invalid) = postern_policy::types::UserName::new("name", text.value)
        {
            table.error(text.at, format!("{:?} as `{key}` {}", text.value, invalid.why));
        }
    }
    let text = |at: Option<At<&str>>| at.map_or_else(String::new, |at| at.value.to_owned());
    Some((table, name, root::Client { name: name.value.to_owned(), user: text(user), group: text(group) }))
}

/// Whether the client exists here. On a reviewer's host it need not.
fn resolve(table: Table<'_>, client: &root::Client, purpose: Purpose, accounts: Accounts) {
    let severity = match purpose {
        Purpose::Review => Severity::Warning,
        Purpose::Apply => Severity::Error,
    };
    let (user, group) = ((accounts.user)(&client.user), (accounts.group)(&client.group));
    let is_user = table.place("user").is_some();
    let (key, name) = if is_user { ("user", &client.user) } else { ("group", &client.group) };
    let Some(at) = table.place(key).filter(|_| !name.is_empty()) else {
        return;
    };
    let exists = if is_user { user.is_some() } else { group.is_some() };
    let has_root = if is_user {
        user == Some(0)
    } else {
        group.is_some_and(|(gid, members)| gid == 0 || members.contains(&0))
    };
    if has_root {
        table.error(at, "root cannot be a client: the helper takes no operator's word from a client");
    } else if identities::is_client_a_program(&client.user, &client.group, accounts) {
        table.error(at, format!("{name:?} is of Postern's own programs, which cannot be clients"));
    } else if !exists {
        let why = format!("there is no {key} {name:?} on this host");
        table.findings().borrow_mut().add(severity, table.source, at, why);
    }
}

fn unique<'a>(named: impl Iterator<Item = (Table<'a>, At<&'a str>)>, what: &str) {
    let mut known: HashMap<&str, (Table<'_>, usize)> = HashMap::new();
    for (table, name) in named {
        if let Some((first, at)) = known.get(name.value) {
            let (line, _) = first.source.position(*at);
            let why = format!("{what} {:?} stands at {}:{line} already", name.value, first.source.name);
            table.error(name.at, why);
        } else {
            known.insert(name.value, (table, name.at));
        }
    }
}
