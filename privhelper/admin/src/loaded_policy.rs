//! Loads the policy that `explain` and `report` are about: a named one, else the accepted one if this user may read it,
//! else the installed files.

use crate::host::Host;
use crate::io::{Exit, Io};
use crate::policy::accepted;
use crate::policy::apply::load;
use crate::policy::finding::Finding;
use crate::policy::source::{Owner, Source};
use crate::policy::{Compiled, Purpose};
use crate::text::escape;
use postern_policy::types::Digest;
use postern_policy::{Decision, Identity, Policy};
use postern_proto::root::v1 as root;
use serde::{Deserialize, Serializer};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Where the policy was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The accepted policy.
    Accepted {
        /// When, in seconds since 1970.
        unix_s: u64,
        /// By which real uid.
        uid: u32,
    },
    /// Files, which may differ from the accepted policy.
    Files(PathBuf),
}

/// Remarks of a rule's author, which decide nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleRemarks {
    /// Why the rule is there.
    pub justification: String,
    /// Findings that it accepts, each with the reason.
    pub accept_risk: BTreeMap<String, String>,
}

/// A policy with the positions and remarks of its rules.
#[derive(Debug)]
pub struct LoadedPolicy {
    /// Clients and rules with every default.
    pub rules: root::Rules,
    /// SHA-256 of the encoded rules.
    pub digest: Digest,
    /// Where it was read.
    pub origin: Origin,
    /// The findings of `policy check`.
    pub findings: Vec<Finding>,
    /// Remarks about where it was read.
    pub notes: Vec<String>,
    positions: Vec<root::Position>,
    remarks: BTreeMap<String, RuleRemarks>,
    etc: PathBuf,
}

/// Why no policy could be loaded.
#[derive(Debug)]
pub struct PolicyLoadError {
    /// In one line.
    pub why: String,
    /// The errors in its files.
    pub findings: Vec<Finding>,
}

impl PolicyLoadError {
    /// Prints the findings and the reason.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn print(&self, io: &mut Io<'_>) -> io::Result<Exit> {
        for finding in &self.findings {
            writeln!(io.err, "{finding}")?;
        }
        writeln!(io.err, "{}", escape(&self.why))?;
        Ok(Exit::Failed)
    }
}

impl LoadedPolicy {
    /// Loads the policy in `named`, or without it the accepted policy, or the installed files.
    ///
    /// # Errors
    /// It cannot be read or has errors.
    pub fn load(host: &Host, named: Option<&Path>) -> Result<Self, PolicyLoadError> {
        if let Some(path) = named {
            return Self::of_files(host, path, Owner::Anybody, Vec::new());
        }
        let directory = host.accepted_dir();
        let note = match accepted::read(&directory) {
            Ok(Some(accepted)) => return Ok(Self::of_accepted(host, &directory, accepted)),
            Ok(None) => "no policy was accepted yet: these files have no effect",
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                "only root can read the accepted policy; these are the installed files"
            }
            Err(error) => {
                let why = format!("{}: {error}", directory.join(accepted::FILE).display());
                return Err(PolicyLoadError { why, findings: Vec::new() });
            }
        };
        Self::of_files(host, &host.etc, Owner::Only(host.owner_uid), vec![note.to_owned()])
    }

    /// The rules in force and their digest, or those of the installed files, without a review; none if nobody can load them.
    #[must_use]
    pub fn rules(host: &Host) -> Option<(root::Rules, Digest)> {
        match accepted::read(&host.accepted_dir()) {
            Ok(Some(accepted)) => return Some((accepted.rules, accepted.digest)),
            Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return None,
            Ok(None) | Err(_) => {}
        }
        let (_, _, compiled) = load(&host.etc, Owner::Only(host.owner_uid), Purpose::Review, host);
        compiled.map(|compiled| (compiled.rules, compiled.digest))
    }

    fn of_files(host: &Host, path: &Path, owner: Owner, notes: Vec<String>) -> Result<Self, PolicyLoadError> {
        let (sources, findings, compiled) = load(path, owner, Purpose::Review, host);
        let Some(Compiled { rules, positions, digest, .. }) = compiled else {
            let why = format!("the policy in {} has errors", path.display());
            return Err(PolicyLoadError { why, findings });
        };
        let (origin, remarks) = (Origin::Files(path.to_owned()), remarks(&sources));
        Ok(Self { rules, digest, origin, findings, notes, positions, remarks, etc: path.to_owned() })
    }

    fn of_accepted(host: &Host, directory: &Path, accepted: accepted::Accepted) -> Self {
        let mut notes = Vec::new();
        // The copy beside it is what it was compiled from; the files may have been edited since.
        let copy = accepted::files(directory).ok().flatten().unwrap_or_default();
        let (sources, mut findings, _) = load(&copy, Owner::Only(host.owner_uid), Purpose::Review, host);
        for finding in &mut findings {
            if let Ok(relative) = Path::new(&finding.file).strip_prefix(&copy) {
                finding.file = host.etc.join(relative).display().to_string();
            }
        }
        if sources.is_empty() {
            findings.clear();
            notes.push("the accepted files cannot be read: justifications are missing".to_owned());
        }
        let (_, _, installed) = load(&host.etc, Owner::Only(host.owner_uid), Purpose::Review, host);
        if installed.is_none_or(|installed| installed.digest != accepted.digest) {
            let etc = host.etc.display();
            notes.push(format!(
                "the files in {etc} differ from the accepted policy: lines are those of the accepted files"
            ));
        }
        Self {
            rules: accepted.rules,
            digest: accepted.digest,
            origin: Origin::Accepted { unix_s: accepted.applied_unix_s, uid: accepted.applied_by },
            findings,
            notes,
            positions: accepted.positions,
            remarks: remarks(&sources),
            etc: host.etc.clone(),
        }
    }

    /// `file:line` of the rule at `index`.
    #[must_use]
    pub fn position(&self, index: usize) -> String {
        let Some(position) = self.positions.get(index) else {
            return String::new();
        };
        // A policy that is one file of any name has no other file below it.
        let file = if self.etc.is_file() { self.etc.clone() } else { self.etc.join(&position.file) };
        format!("{}:{}", file.display(), position.line)
    }

    /// The remarks of the author of a rule.
    #[must_use]
    pub fn remarks(&self, id: &str) -> RuleRemarks {
        self.remarks.get(id).cloned().unwrap_or_default()
    }

    /// The uids of a client on this host; none if the user or group does not exist here.
    #[must_use]
    pub fn uids(host: &Host, client: &root::Client) -> Option<Vec<u32>> {
        if client.group.is_empty() {
            return (host.accounts.user)(&client.user).map(|uid| vec![uid]);
        }
        host.group(&client.group).map(|(_, uids)| uids)
    }

    /// The names of all clients that the user of client `name` is on this host: a user may also be in a client's group.
    #[must_use]
    pub fn names_of_same_user(&self, host: &Host, name: &str) -> Vec<String> {
        let of = |client: &root::Client| Self::uids(host, client).unwrap_or_default();
        let own = self.rules.clients.iter().find(|client| client.name == name);
        // Members of a group differ in which other clients they are.
        let uid = own.filter(|own| own.group.is_empty()).and_then(|own| of(own).first().copied());
        let same =
            |client: &&root::Client| client.name == name || uid.is_some_and(|uid| of(client).contains(&uid));
        self.rules.clients.iter().filter(same).map(|client| client.name.clone()).collect()
    }

    /// Compiles the policy so that [`requester`] is exactly the clients of these names: a policy can be explained on a host
    /// that has none of its users. No rule has `hours`: they are explained beside the decision.
    ///
    /// # Errors
    /// The helper refuses the policy.
    pub fn for_clients(&self, names: &[String]) -> Result<Policy, String> {
        let mut rules = self.rules.clone();
        for client in &mut rules.clients {
            let user = if names.contains(&client.name) { "requester" } else { "other" };
            (client.user, client.group) = (user.to_owned(), String::new());
        }
        for rule in &mut rules.rules {
            rule.hours.clear();
        }
        Policy::compile(&rules, self.digest)
    }
}

/// The decision of a rule. A rule without one is never accepted, and is shown as the strictest.
#[must_use]
pub fn decision_of(rule: &root::Rule) -> Decision {
    match rule.decision() {
        root::Decision::Allow => Decision::Allow,
        root::Decision::Ask => Decision::Ask,
        root::Decision::Deny | root::Decision::Unspecified => Decision::Deny,
    }
}

/// Serializes a decision as the policy writes it.
///
/// # Errors
/// As the serializer.
pub fn serialize_decision<S: Serializer>(decision: &Decision, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(decision.as_str())
}

/// The identity of the client that a request is explained for.
#[must_use]
pub fn requester() -> Identity {
    Identity { uid: 1, users: vec!["requester".to_owned()], ..Identity::default() }
}

/// The same with an open session of this person.
#[must_use]
pub fn requester_for(person: Option<Identity>) -> Identity {
    Identity { asker: person.map(Box::new), ..requester() }
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    rule: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    #[serde(default)]
    justification: String,
    #[serde(default)]
    accept_risk: BTreeMap<String, String>,
}

/// The remarks of every rule. The files were checked already, so one that cannot be parsed has no remarks.
fn remarks(sources: &[Source]) -> BTreeMap<String, RuleRemarks> {
    let files = sources.iter().filter_map(|source| toml::from_str::<File>(&source.text).ok());
    let entries = files.flat_map(|file| file.rule);
    let remark = |entry: Entry| {
        (entry.id, RuleRemarks { justification: entry.justification, accept_risk: entry.accept_risk })
    };
    entries.map(remark).collect()
}
