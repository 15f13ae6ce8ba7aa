//! The accepted policy, compiled from the rules that `postern-admin policy apply` accepted.

use super::command::Command;
use super::decision::Decision;
use super::grant::Grant;
use super::protect::Protect;
use super::rule::Rule;
use crate::accounts::Identity;
use crate::types::{Digest, TargetPath, UserName};
use crate::verb_id::VerbId;
use postern_proto::link::strict;
use postern_proto::root::v1 as root;
use std::collections::HashSet;
use std::sync::Arc;

/// Default limits of approvals.
const APPROVALS: root::ApprovalLimits = root::ApprovalLimits { max_pending: 100, max_pending_per_client: 3 };

/// Default limits of undo copies.
const UNDO: root::UndoLimits =
    root::UndoLimits { max_bytes: 256 * 1024 * 1024, max_count: 1000, max_age_s: 30 * 24 * 60 * 60 };

/// An accepted policy. The default admits nobody.
#[derive(Debug, Default)]
pub struct Policy {
    digest: Digest,
    /// The decoded form: clients, sources and limits are read from it.
    pub(super) wire: root::Rules,
    rules: Vec<Arc<Rule>>,
    /// For each rule its client's place and a bit for each of its verbs: most rules are passed over by these alone.
    index: Vec<(usize, u64)>,
    commands: Vec<Command>,
    pub(super) protect: Protect,
}

impl Policy {
    /// Reads the accepted form, whole or not at all.
    ///
    /// # Errors
    /// The digest is not that of the rules, a field is unknown (a limit of a newer version) or not what it must be, two
    /// rules share an id, a rule names an unknown client.
    pub fn load(bytes: &[u8]) -> Result<Self, String> {
        let read = strict::<root::AcceptedPolicy>(bytes).and_then(|accepted| {
            let digest = Digest::of(&[&accepted.rules]);
            let rules = strict::<root::Rules>(&accepted.rules)?;
            (accepted.digest == digest.as_bytes() && rules.version == 1).then_some((rules, digest))
        });
        let damaged = "the accepted policy is damaged, or of another version: run postern-admin policy apply";
        let (rules, digest) = read.ok_or(damaged)?;
        Self::compile(&rules, digest)
    }

    /// Makes a policy of decoded rules; the reason in words if it can't.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn compile(rules: &root::Rules, digest: Digest) -> Result<Self, String> {
        each_once("client", rules.clients.iter().map(|client| client.name.as_str()))?;
        each_once("command", rules.commands.iter().map(|command| command.name.as_str()))?;
        each_once("rule", rules.rules.iter().map(|rule| rule.id.as_str()))?;
        rules.clients.iter().try_for_each(check_client)?;
        let command = |wire: &root::Command| {
            Command::new(wire).map_err(|why| format!("command {:?}: {why}", wire.name))
        };
        let commands = rules.commands.iter().map(command).collect::<Result<_, _>>()?;
        let (mut compiled, mut index) = (Vec::new(), Vec::new());
        for rule in &rules.rules {
            let rule = Rule::new(rule).map_err(|why| format!("rule {:?}: {why}", rule.id))?;
            let Some(client) = rules.clients.iter().position(|client| client.name == rule.client) else {
                return Err(format!("rule {:?}: no client is named {:?}", rule.id, rule.client));
            };
            if !rule.hours.is_empty() && rules.clock_changes.is_empty() {
                return Err(format!("rule {:?}: `hours` without a time zone", rule.id));
            }
            index.push((client, rule.verbs.iter().fold(0, |bits, verb| bits | bit(*verb))));
            compiled.push(Arc::new(rule));
        }
        let protect = Protect::new(&rules.protect.clone().unwrap_or_default())
            .map_err(|why| format!("protect: {why}"))?;
        let wire = root::Rules { rules: Vec::new(), commands: Vec::new(), ..rules.clone() };
        Ok(Self { digest, wire, rules: compiled, index, commands, protect })
    }

    /// SHA-256 of the encoded rules.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The clients, in the policy's order.
    pub fn clients(&self) -> &[root::Client] {
        &self.wire.clients
    }

    /// The rules, in the policy's order.
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// The commands that rules can grant.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// The command of this name.
    pub fn command(&self, name: &str) -> Option<&Command> {
        self.commands.iter().find(|command| command.name.as_str() == name)
    }

    /// The name of the time zone of `hours`.
    pub fn zone(&self) -> &str {
        &self.wire.zone
    }

    /// How the audit log is kept, and how much of it is a client's; 0 = not said.
    pub fn audit(&self) -> root::AuditLimits {
        self.wire.audit.unwrap_or_default()
    }

    /// How many requests may wait for a person.
    pub fn approvals(&self) -> root::ApprovalLimits {
        self.wire.approvals.unwrap_or(APPROVALS)
    }

    /// How much is kept for undo, of each client.
    pub fn undo(&self) -> root::UndoLimits {
        self.wire.undo.unwrap_or(UNDO)
    }

    /// The names of the clients that this identity is. Empty: it is no client.
    pub fn clients_of(&self, who: &Identity) -> Vec<&str> {
        let named = self.client_indexes(who).into_iter().filter_map(|index| self.clients().get(index));
        named.map(|client| client.name.as_str()).collect()
    }

    /// Whether this identity is a person: in `postern-users`, not root, and no client, which could speak for itself.
    pub fn is_person(&self, who: &Identity) -> bool {
        let is_user = who.groups.iter().any(|group| group == "postern-users");
        is_user && who.uid != 0 && self.client_indexes(who).is_empty()
    }

    /// The rule with `as` through which a file is reached, and its directory. Of an undo, as the user whose process did what
    /// is `undone`; of an operator's undo, which no rule decides, any rule that still reaches the file as that user.
    pub fn as_user<'a>(
        &'a self,
        grant: &'a Grant,
        undone: Option<&str>,
        path: &TargetPath,
    ) -> Option<(&'a Rule, &'a TargetPath)> {
        let of_operator = grant.elements().is_empty();
        let any = self.rules.iter().filter(|rule| of_operator && rule.decision != Decision::Deny);
        let is_same =
            |rule: &&Arc<Rule>| !rule.as_user.is_empty() && undone.is_none_or(|user| user == rule.as_user);
        let of_file = grant.elements().iter().filter(|element| element.object.is_file(path));
        let mut rules = of_file.filter_map(|element| element.rules.first()).chain(any).filter(is_same);
        rules.find_map(|rule| Some((&**rule, rule.selector.directory_of(VerbId::FileWrite, path)?)))
    }

    /// Why no file may be reached as this user (`as` of a rule): its power is not that over its own files alone.
    pub fn too_strong(&self, who: &Identity) -> Option<String> {
        let client = self.clients_of(who).first().map(|name| format!("it is the client {name}"));
        who.too_strong().or(client)
    }

    /// Adds the person whose session a client quoted. A uid that is no person (any more) is nobody.
    pub fn asked_by(&self, who: Identity, person: Identity) -> Identity {
        let asker = self.is_person(&person).then(|| Box::new(person));
        Identity { asker, ..who }
    }

    /// Whether a rule wants to know who asks.
    pub fn names_people(&self) -> bool {
        self.rules.iter().any(|rule| !rule.people.is_empty() || rule.approvers_exclude_asker)
    }

    /// The indexes of those clients.
    pub(super) fn client_indexes(&self, who: &Identity) -> Vec<usize> {
        let clients = self.clients().iter().enumerate();
        clients.filter(|(_, client)| is_client(client, who)).map(|(index, _)| index).collect()
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

fn each_once<'a>(what: &str, mut names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut known = HashSet::new();
    let twice = names.find(|name| !known.insert(*name));
    twice.map_or(Ok(()), |name| Err(format!("{what} {name:?} stands twice")))
}

/// Whether this identity is the client. A name that does not exist on the host matches nobody.
fn is_client(client: &root::Client, who: &Identity) -> bool {
    who.users.contains(&client.user) || who.groups.contains(&client.group)
}

fn check_client(client: &root::Client) -> Result<(), String> {
    match (client.user.as_str(), client.group.as_str()) {
        (name, "") | ("", name) => {
            UserName::new("client", name).map(drop).map_err(|invalid| invalid.to_string())
        }
        _ => Err(format!("client {:?} has a user and a group", client.name)),
    }
}
