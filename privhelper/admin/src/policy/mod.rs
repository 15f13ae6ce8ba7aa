//! From TOML files to the accepted form: everything that is wrong is collected, not only the first.
//!
//! Objects are decided by the code that root runs; this module adds only what
//! an operator must be told before a policy can be accepted.

pub mod accepted;
pub mod apply;
mod examples;
pub mod finding;
pub(crate) mod keys;
mod limits;
mod risk;
mod rule;
pub mod source;
mod table;
mod values;

use crate::text::did_you_mean;
use finding::{Finding, Findings, Severity};
use postern_helper::policy::{Accounts, Policy};
use postern_helper::types::Digest;
use postern_proto::root::v1 as root;
use prost::Message;
use rule::Parsed;
use source::Source;
use std::cell::RefCell;
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
}

/// Checks the policy that these files are. There is a compiled form exactly if there are no errors.
#[must_use]
pub fn check(
    sources: &[Source],
    found: Findings,
    purpose: Purpose,
    accounts: Accounts,
) -> (Vec<Finding>, Option<Compiled>) {
    let findings = RefCell::new(found);
    let parsed = sources.iter().map(|source| (source, parse(source, &findings))).collect::<Vec<_>>();
    let mut clients = Vec::new();
    let mut rules = Vec::new();
    for (source, entries) in &parsed {
        if let Some(entries) = entries {
            let table = Table::new(source, 0, entries, &findings);
            top(table);
            clients.extend(table.tables("client", "written as [[client]]").into_iter().filter_map(client));
            rules.extend(table.tables("rule", "written as [[rule]]").into_iter().map(rule::parse));
        }
    }
    // A file that is no TOML may hold the clients that the other files' rules name.
    let is_whole = parsed.iter().all(|(_, entries)| entries.is_some()) && !sources.is_empty();
    unique(clients.iter().map(|(table, name, _)| (*table, *name)), "client");
    unique(rules.iter().filter_map(|rule| Some((rule.table, rule.id?))), "rule");
    for rule in &rules {
        if is_whole {
            known_client(rule, &clients);
        }
        if let Some(whole) = &rule.rule {
            examples::check(rule.table, whole);
        }
    }
    for (table, _, wire) in &clients {
        resolve(*table, wire, purpose, accounts);
    }
    if findings.borrow().errors() > 0 {
        return (findings.into_inner().sorted(), None);
    }
    let compiled = compile(&clients, &rules, accounts);
    if let (Err(why), Some(first)) = (&compiled, sources.first()) {
        findings.borrow_mut().error(first, 0, format!("the helper refuses the policy: {why}"));
    }
    (findings.into_inner().sorted(), compiled.ok())
}

/// The file as TOML; syntax errors are reported, and then there is none.
fn parse<'a>(source: &'a Source, findings: &RefCell<Findings>) -> Option<DeTable<'a>> {
    let (document, errors) = DeTable::parse_recoverable(&source.text);
    for error in &errors {
        let at = error.span().map_or(0, |span| span.start);
        findings.borrow_mut().error(source, at, error.message());
    }
    errors.is_empty().then(|| document.into_inner())
}

fn top(table: Table<'_>) {
    table.check_keys(keys::TOP, keys::TOP_LATER);
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
    table.check_keys(keys::CLIENT, &[]);
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
            && let Err(invalid) = postern_helper::types::UserName::new("name", text.value)
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
    } else if !exists {
        let why = format!("there is no {key} {name:?} on this host");
        table.findings().borrow_mut().add(severity, table.source, at, why);
    }
}

fn known_client(rule: &Parsed<'_>, clients: &[Client<'_>]) {
    if let Some(client) = rule.client
        && !clients.iter().any(|(_, name, _)| name.value == client.value)
    {
        let hint = did_you_mean(client.value, clients.iter().map(|(_, name, _)| name.value));
        rule.table.error(client.at, format!("no client is named {:?}{hint}", client.value));
    }
}

fn unique<'a>(named: impl Iterator<Item = (Table<'a>, At<&'a str>)>, what: &str) {
    let mut known: Vec<(Table<'_>, At<&str>)> = Vec::new();
    for (table, name) in named {
        if let Some((first, at)) = known.iter().find(|(_, first)| first.value == name.value) {
            let (line, _) = first.source.position(at.at);
            let why = format!("{what} {:?} stands at {}:{line} already", name.value, first.source.name);
            table.error(name.at, why);
        } else {
            known.push((table, name));
        }
    }
}

fn compile(clients: &[Client<'_>], parsed: &[Parsed<'_>], accounts: Accounts) -> Result<Compiled, String> {
    let positions = parsed.iter().map(|rule| {
        let (line, _) = rule.table.source.position(rule.table.at);
        root::Position { file: rule.table.source.relative.clone(), line: u32::try_from(line).unwrap_or(0) }
    });
    let rules = root::Rules {
        version: 1,
        clients: clients.iter().map(|(_, _, wire)| wire.clone()).collect(),
        rules: parsed.iter().filter_map(|rule| rule.rule.as_ref().map(|whole| whole.wire.clone())).collect(),
        ..root::Rules::default()
    };
    let digest = Digest::of(&[&rules.encode_to_vec()]);
    Policy::compile(&rules, digest, accounts)?;
    Ok(Compiled { digest, positions: positions.collect(), rules })
}
