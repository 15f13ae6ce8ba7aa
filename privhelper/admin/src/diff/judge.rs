//! What a policy says of a request: always the helper's own decision.

use super::Side;
use super::facet::Identity;
use super::probe::{Plan, Probe};
use postern_helper::error::Code;
use postern_helper::plan::{
    Action, Dragged, NewFile, PackagePlan, PackageStep, Subject, UnitPlan, UnitState,
};
use postern_helper::policy::{Accounts, Decision, Object, Peer, Policy};
use postern_helper::types::{Digest, FileMode, PackageName, TargetPath, UserName};
use postern_helper::verb_id::VerbId;
use postern_proto::root::v1 as root;
use std::collections::BTreeSet;

/// What becomes of a request. The order is what may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Nothing is done.
    Refused,
    /// A person is asked.
    Asks,
    /// It is done.
    Allowed,
}

/// What one policy says of one request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// What becomes of it.
    pub verdict: Verdict,
    /// The code of a refusal, else empty.
    pub code: &'static str,
    /// The id of the rule that decides, or empty.
    pub rule: String,
    /// Why it is refused, in the words that the client gets.
    pub message: String,
}

/// Everyone who is all of these at once.
pub type Principal = BTreeSet<Identity>;

/// The uid of the one who asks here; real accounts play no part.
const UID: u32 = 1;
const PEER: Peer = Peer { uid: UID, gid: u32::MAX, pid: 0 };
const ACCOUNTS: Accounts = Accounts { user: |_| Some(UID), group: |_| None };

/// Whether the helper would take the policy.
///
/// # Errors
/// Why not, in words.
pub fn check(side: &Side<'_>) -> Result<(), String> {
    Policy::compile(side.rules, Digest::of(&[]), ACCOUNTS).map(drop)
}

/// A policy with those rules only that speak of one principal, and perhaps of one class of objects.
#[derive(Debug)]
pub struct Court(Policy);

impl Court {
    /// The policy as this principal meets it. `keep`: places of rules that can count; none = all.
    ///
    /// # Errors
    /// The helper would refuse the policy, in words.
    pub fn new(side: &Side<'_>, principal: &Principal, keep: Option<&[usize]>) -> Result<Self, String> {
        let is_one = |client: &&root::Client| principal.contains(&Identity::of(client));
        let clients = side.rules.clients.iter().filter(is_one);
        let clients = clients.map(|client| root::Client {
            name: client.name.clone(),
            user: "one".to_owned(),
            group: String::new(),
        });
        let clients = clients.collect::<Vec<_>>();
        let speaks = |rule: &&root::Rule| clients.iter().any(|client| client.name == rule.client);
        let rules = match keep {
            Some(places) => {
                places.iter().map(|place| &side.rules.rules[*place]).filter(speaks).cloned().collect()
            }
            None => side.rules.rules.iter().filter(speaks).cloned().collect(),
        };
        let rules = root::Rules {
            version: side.rules.version,
            clients,
            rules,
            sources: side.rules.sources.clone(),
            commands: side.rules.commands.clone(),
            protect: side.rules.protect.clone(),
            ..root::Rules::default()
        };
        Policy::compile(&rules, Digest::of(&[]), ACCOUNTS).map(Self)
    }

    /// What this policy says of the request and of what it would come to.
    #[must_use]
    pub fn decide(&self, verb: VerbId, probe: &Probe) -> Outcome {
        let wishes = [(verb, probe.object.clone())];
        let planned = Planned::new(verb, probe);
        let granted = self
            .0
            .decide::<()>(PEER, &wishes)
            .and_then(|granted| self.0.decide_plan(PEER, granted, &wishes, &planned.subject()));
        match granted {
            Ok(granted) => {
                let verdict = match granted.decision() {
                    Decision::Allow => Verdict::Allowed,
                    Decision::Ask => Verdict::Asks,
                    Decision::Deny => Verdict::Refused,
                };
                let rule = granted.rule_id().to_owned();
                Outcome { verdict, code: "", rule, message: String::new() }
            }
            Err(refusal) => {
                // To be no client and to be granted nothing is the same for what may be done.
                let code = if refusal.code == Code::UnknownClient { Code::NoGrant } else { refusal.code };
                let denies = |rule: &&std::sync::Arc<postern_helper::policy::Rule>| {
                    rule.decision == Decision::Deny && rule.selects(verb, &probe.object)
                };
                let rule = self.0.rules().iter().find(denies).filter(|_| code == Code::Denied);
                Outcome {
                    verdict: Verdict::Refused,
                    code: code.as_str(),
                    rule: rule.map_or_else(String::new, |rule| rule.id.clone()),
                    message: if matches!(code, Code::NoGrant | Code::Denied) {
                        String::new()
                    } else {
                        refusal.message
                    },
                }
            }
        }
    }
}

/// A plan as the verbs would make it.
enum Planned {
    Nothing,
    Packages(PackagePlan),
    Unit(Box<UnitPlan>),
    NewFile { path: TargetPath, mode: FileMode, owner: Option<UserName>, group: Option<UserName> },
}

impl Planned {
    fn new(verb: VerbId, probe: &Probe) -> Self {
        match (&probe.plan, &probe.object) {
            (
                Plan::Packages { new, upgrades, removals, downgrades },
                Object::Package { .. } | Object::AllPackages,
            ) => {
                let asked = if verb == VerbId::PackageRemove {
                    Action::Remove
                } else if verb == VerbId::PackagePurge {
                    Action::Purge
                } else if verb == VerbId::PackageUpgrade || *new == 0 {
                    Action::Upgrade
                } else {
                    Action::Install
                };
                let mut steps = Vec::new();
                if let Object::Package { name, .. } = &probe.object {
                    steps.push(step(name.clone(), asked, true));
                }
                let others = (u32::from(asked == Action::Install)..*new).map(|_| Action::Install);
                let others = others
                    .chain(upgrades.then_some(Action::Upgrade))
                    .chain(removals.then_some(Action::Remove))
                    .chain(downgrades.then_some(Action::Downgrade));
                let other = |number| PackageName::new(&format!("other-{number}")).ok();
                steps.extend(
                    others.zip(1..).filter_map(|(action, number)| Some(step(other(number)?, action, false))),
                );
                Self::Packages(PackagePlan { steps, ..PackagePlan::default() })
            }
            (Plan::Unit { cascade }, Object::Unit(name)) => {
                let state = |id: &str| UnitState { id: id.to_owned(), ..UnitState::default() };
                let other = cascade.then(|| Dragged { verb: "stop", state: state("other.service") });
                Self::Unit(Box::new(UnitPlan {
                    state: state(name.as_str()),
                    cascade: other.into_iter().collect(),
                    ..UnitPlan::default()
                }))
            }
            (Plan::Journal { lines }, Object::Unit(name)) => {
                let state = UnitState { id: name.as_str().to_owned(), ..UnitState::default() };
                Self::Unit(Box::new(UnitPlan { state, journal_lines: *lines, ..UnitPlan::default() }))
            }
            (Plan::File { create: true }, Object::File { path, mode, owner, group, .. }) => {
                let root = || UserName::new("owner", "root").ok();
                Self::NewFile {
                    path: path.clone(),
                    mode: mode.unwrap_or(FileMode::DEFAULT),
                    owner: owner.clone().or_else(root),
                    group: group.clone().or_else(root),
                }
            }
            (
                Plan::Nothing
                | Plan::Packages { .. }
                | Plan::Unit { .. }
                | Plan::Journal { .. }
                | Plan::File { .. },
                Object::Nothing
                | Object::Package { .. }
                | Object::AllPackages
                | Object::Unit(_)
                | Object::File { .. }
                | Object::Command { .. }
                | Object::Undo { .. },
            ) => Self::Nothing,
        }
    }

    fn subject(&self) -> Subject<'_> {
        match self {
            Self::Nothing => Subject::Nothing,
            Self::Packages(plan) => Subject::Packages(plan),
            Self::Unit(plan) => Subject::Unit(plan),
            Self::NewFile { path, mode, owner, group } => Subject::NewFiles(vec![NewFile {
                path,
                mode: *mode,
                owner: owner.as_ref(),
                group: group.as_ref(),
            }]),
        }
    }
}

fn step(name: PackageName, action: Action, asked: bool) -> PackageStep {
    PackageStep { action, name, arch: "amd64".to_owned(), old: String::new(), new: String::new(), asked }
}
