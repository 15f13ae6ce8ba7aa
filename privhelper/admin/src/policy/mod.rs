//! Compiles a policy's TOML files to the accepted form, and reports every error, not only the first.
//!
//! Decisions are made by the code that root runs; this module adds only what
//! an operator must know before a policy can be accepted.

pub mod accepted;
pub mod apply;
mod client;
mod commands;
pub mod edit;
mod examples;
mod files;
pub mod finding;
mod hours;
mod identities;
pub mod keys;
mod limits;
mod names;
mod parameters;
mod parsed;
mod reach;
mod rule;
mod rule_text;
mod settings;
pub mod sign_off;
pub mod source;
mod table;
pub(crate) mod values;

pub use identities::Purpose;

use crate::finding::{Location, Severity};
use crate::host::Host;
use crate::lint;
use finding::{Finding, Findings};
use parsed::ParsedPolicy;
use postern_policy::Policy;
use postern_policy::types::Digest;
use postern_proto::root::v1 as root;
use prost::Message;
use source::Source;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use table::{At, Table};
use toml::de::DeTable;

/// A policy that can be accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    /// Clients and rules with every default filled in.
    pub rules: root::Rules,
    /// File and line of each rule.
    pub positions: Vec<root::Position>,
    /// SHA-256 of the encoded rules.
    pub digest: Digest,
    /// The text of each rule, for the lint.
    pub texts: Vec<lint::RuleText>,
    /// Where each client's table begins.
    pub clients: Vec<Location>,
}

impl Compiled {
    /// Adds the host's time zone where a rule has `hours`.
    fn set_zone(&mut self, localtime: &Path) -> Result<(), String> {
        if self.rules.rules.iter().any(|rule| !rule.hours.is_empty()) {
            (self.rules.zone, self.rules.clock_changes) = hours::zone(localtime)?;
            self.digest = Digest::of(&[&self.rules.encode_to_vec()]);
        }
        Ok(())
    }

    /// The lint's view of it.
    #[must_use]
    pub fn lint_input<'a>(&'a self, facts: Option<&'a lint::facts::Facts>) -> lint::Input<'a> {
        let Self { rules, positions, texts, clients, digest: _ } = self;
        lint::Input { rules, positions, texts, clients, facts }
    }
}

/// Checks the policy in these files. The compiled form has the rules without an error of their own; it is a policy
/// only if no finding is an error.
#[must_use]
pub fn check(sources: &[Source], found: Findings, purpose: Purpose, host: &Host) -> (Vec<Finding>, Compiled) {
    let findings = RefCell::new(found);
    let parsed = sources.iter().map(|source| (source, parse(source, &findings))).collect::<Vec<_>>();
    let tables = parsed.iter().filter_map(|(source, entries)| {
        entries.as_ref().map(|entries| Table::new(source, 0, entries, &findings))
    });
    let policy = ParsedPolicy::read(&tables.collect::<Vec<_>>());
    // A file that is no TOML may hold what the other files name.
    let is_whole = parsed.iter().all(|(_, entries)| entries.is_some()) && !sources.is_empty();
    policy.check(is_whole, purpose, host);
    let mut compiled = policy.compile();
    if let Some(first) = sources.first()
        && let Err(why) = compiled.set_zone(&host.localtime)
    {
        findings.borrow_mut().error(first, 0, format!("the time zone of `hours` cannot be read: {why}"));
    }
    if let Some(first) = sources.first().filter(|_| findings.borrow().errors() == 0)
        && let Err(why) = Policy::compile(&compiled.rules, compiled.digest)
    {
        findings.borrow_mut().error(first, 0, format!("the helper refuses the policy: {why}"));
    }
    (findings.into_inner().sorted(), compiled)
}

impl ParsedPolicy<'_> {
    /// Reports errors between the tables: duplicate and unknown names, examples, accounts.
    fn check(&self, is_whole: bool, purpose: Purpose, host: &Host) {
        let accounts = host.accounts;
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
            identities::check_client(*table, wire, purpose, accounts);
        }
        for rule in &self.rules {
            identities::check_people(rule, accounts);
            identities::check_as_user(rule, &self.clients, purpose, host);
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
            ..root::Rules::default()
        };
        Compiled {
            digest: Digest::of(&[&rules.encode_to_vec()]),
            positions: whole().map(position).collect(),
            texts: whole().map(|(table, _)| rule_text::read(table)).collect(),
            clients: self.clients.iter().map(|(table, ..)| rule_text::location(*table, table.at)).collect(),
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

fn unique<'a>(named: impl Iterator<Item = (Table<'a>, At<&'a str>)>, what: &str) {
    let mut known: HashMap<&str, (Table<'_>, usize)> = HashMap::new();
    for (table, name) in named {
        if let Some((first, at)) = known.get(name.value) {
            let (line, _) = first.source.position(*at);
            let why = format!("{what} {:?} is already defined at {}:{line}", name.value, first.source.name);
            table.error(name.at, why);
        } else {
            known.insert(name.value, (table, name.at));
        }
    }
}
