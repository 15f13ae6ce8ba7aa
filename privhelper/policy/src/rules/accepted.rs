//! The accepted policy, compiled from the rules that `postern-admin policy apply` accepted.

use super::command::Command;
use super::protect::Protect;
use super::rule::Rule;
use super::source::Source;
use crate::accounts::Identity;
use crate::types::{Digest, UserName};
use crate::verb_id::VerbId;
use postern_proto::root::v1 as root;
use prost::Message;
use std::collections::HashSet;
use std::sync::Arc;

/// Who a client of the policy is. A name that does not exist on the host matches nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// One user.
    User(UserName),
    /// The members of a group, by the user's entry or the group's.
    Group(UserName),
}

impl Who {
    /// Whether this identity is the client.
    #[must_use]
    pub fn is(&self, who: &Identity) -> bool {
        match self {
            Self::User(name) => who.users.iter().any(|user| user == name.as_str()),
            Self::Group(name) => who.groups.iter().any(|group| group == name.as_str()),
        }
    }
}

/// One `[[client]]`.
#[derive(Debug, Clone)]
pub struct Client {
    /// The name that rules use.
    pub name: String,
    /// Who that is.
    pub who: Who,
}

/// What holds where the accepted form says nothing of approvals.
const APPROVALS: root::ApprovalLimits = root::ApprovalLimits { max_pending: 100, max_pending_per_client: 3 };

/// What holds where it says nothing of copies for undo.
const UNDO: root::UndoLimits =
    root::UndoLimits { max_bytes: 256 * 1024 * 1024, max_count: 1000, max_age_s: 30 * 24 * 60 * 60 };

/// An accepted policy. The default admits nobody.
#[derive(Debug, Default)]
pub struct Policy {
    digest: Digest,
    clients: Vec<Client>,
    rules: Vec<Arc<Rule>>,
    /// For each rule its client's place and a bit for each of its verbs: most rules are passed over by these alone.
    index: Vec<(usize, u64)>,
    commands: Vec<Command>,
    pub(super) sources: Vec<Source>,
    pub(super) protect: Protect,
    approvals: root::ApprovalLimits,
    audit: root::AuditLimits,
    undo: root::UndoLimits,
}

impl Policy {
    /// Reads the accepted form, whole or not at all.
    ///
    /// # Errors
    /// The digest is not that of the rules, a field is not what it must be, two rules share an id, a rule names
    /// an unknown client.
    pub fn load(bytes: &[u8]) -> Result<Self, String> {
        let corrupt = || "the accepted policy is damaged".to_owned();
        let accepted = root::AcceptedPolicy::decode(bytes).map_err(|_| corrupt())?;
        let digest = Digest::of(&[&accepted.rules]);
        let rules = root::Rules::decode(accepted.rules.as_slice()).map_err(|_| corrupt())?;
        if accepted.digest != digest.as_bytes() || rules.version != 1 {
            return Err(corrupt());
        }
        Self::compile(&rules, digest)
    }

    /// Makes a policy of decoded rules; the reason in words if it can't.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn compile(rules: &root::Rules, digest: Digest) -> Result<Self, String> {
        let mut clients: Vec<Client> = Vec::new();
        for client in &rules.clients {
            if clients.iter().any(|known| known.name == client.name) {
                return Err(format!("client {:?} stands twice", client.name));
            }
            let who = who(client)?;
            clients.push(Client { name: client.name.clone(), who });
        }
        let mut commands: Vec<Command> = Vec::new();
        for command in &rules.commands {
            let compiled =
                Command::new(command).map_err(|why| format!("command {:?}: {why}", command.name))?;
            if commands.iter().any(|known| known.name == compiled.name) {
                return Err(format!("command {:?} stands twice", command.name));
            }
            commands.push(compiled);
        }
        let mut compiled: Vec<Arc<Rule>> = Vec::new();
        let mut ids = HashSet::new();
        let mut index = Vec::new();
        for rule in &rules.rules {
            let rule = Rule::new(rule).map_err(|why| format!("rule {:?}: {why}", rule.id))?;
            if !ids.insert(rule.id.clone()) {
                return Err(format!("rule {:?} stands twice", rule.id));
            }
            let Some(client) = clients.iter().position(|client| client.name == rule.client) else {
                return Err(format!("rule {:?}: no client is named {:?}", rule.id, rule.client));
            };
            index.push((client, rule.verbs.iter().fold(0, |bits, verb| bits | bit(*verb))));
            compiled.push(Arc::new(rule));
        }
        let protect = Protect::new(&rules.protect.clone().unwrap_or_default())?;
        let approvals = rules.approvals.unwrap_or(APPROVALS);
        let (audit, undo) = (rules.audit.unwrap_or_default(), rules.undo.unwrap_or(UNDO));
        let sources = rules.sources.iter().map(Source::new).collect();
        Ok(Self {
            digest,
            clients,
            rules: compiled,
            index,
            commands,
            sources,
            protect,
            approvals,
            audit,
            undo,
        })
    }

    /// SHA-256 of the encoded rules.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The clients, in the policy's order.
    #[must_use]
    pub fn clients(&self) -> &[Client] {
        &self.clients
    }

    /// The rules, in the policy's order.
    #[must_use]
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// The commands that rules can grant.
    #[must_use]
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// The command of this name.
    #[must_use]
    pub fn command(&self, name: &str) -> Option<&Command> {
        self.commands.iter().find(|command| command.name.as_str() == name)
    }

    /// The command that takes this one back.
    #[must_use]
    pub fn reverse(&self, name: &str) -> Option<&Command> {
        self.command(name).and_then(|command| self.command(&command.wire.reverse))
    }

    /// How the audit log is kept, and how much of it is a client's; 0 = not said.
    #[must_use]
    pub fn audit(&self) -> &root::AuditLimits {
        &self.audit
    }

    /// How many requests may wait for a person.
    #[must_use]
    pub fn approvals(&self) -> root::ApprovalLimits {
        self.approvals
    }

    /// How much is kept for undo, of each client.
    #[must_use]
    pub fn undo(&self) -> root::UndoLimits {
        self.undo
    }

    /// The names of the clients that this identity is. Empty: it is no client.
    #[must_use]
    pub fn clients_of(&self, who: &Identity) -> Vec<&str> {
        self.clients.iter().filter(|client| client.who.is(who)).map(|client| client.name.as_str()).collect()
    }

    /// The indexes of those clients.
    pub(super) fn client_indexes(&self, who: &Identity) -> Vec<usize> {
        let clients = self.clients.iter().enumerate();
        clients.filter(|(_, client)| client.who.is(who)).map(|(index, _)| index).collect()
    }

    /// The rules that list this verb for one of these clients.
    pub(super) fn rules_for(&self, clients: &[usize], verb: VerbId) -> impl Iterator<Item = &Arc<Rule>> {
        let bit = bit(verb);
        let speaking = move |(client, verbs): &(usize, u64)| verbs & bit != 0 && clients.contains(client);
        self.index.iter().zip(&self.rules).filter(move |(entry, _)| speaking(entry)).map(|(_, rule)| rule)
    }
}

/// A verb's place in the list of all as a bit. There are fewer than 64.
fn bit(verb: VerbId) -> u64 {
    let place =
        VerbId::ALL.iter().position(|known| *known == verb).and_then(|place| u32::try_from(place).ok());
    place.and_then(|place| 1_u64.checked_shl(place)).unwrap_or(0)
}

fn who(client: &root::Client) -> Result<Who, String> {
    let name = |text: &str| UserName::new("client", text).map_err(|invalid| invalid.to_string());
    match (client.user.as_str(), client.group.as_str()) {
        (user, "") => name(user).map(Who::User),
        ("", group) => name(group).map(Who::Group),
        _ => Err(format!("client {:?} has a user and a group", client.name)),
    }
}
