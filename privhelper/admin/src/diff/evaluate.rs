//! Decides requests under a policy by the code of the helper's programs.

use super::probe::{Plan, Probe};
use super::side::{Identity, Principal, Side};
use postern_policy::facts::{
    Action, AffectedUnit, FileFacts, PackageStep, PackageTransaction, UnitFacts, UnitState,
};
use postern_policy::types::{Digest, PackageName};
use postern_policy::{Code, Decision, Facts, Object, Policy, VerbId};
use postern_proto::root::v1 as root;

/// The outcome of a request, ordered by permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Nothing is done.
    Refused,
    /// A person is asked.
    Asks,
    /// It is done.
    Allowed,
}

/// One policy's decision of one request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The outcome.
    pub verdict: Verdict,
    /// The code of a refusal, else empty.
    pub code: &'static str,
    /// The id of the rule that decides, or empty.
    pub rule: String,
    /// Why it is refused, in the words that the client gets.
    pub message: String,
}

/// The user that each client of the principal gets here; real accounts play no part.
const USER: &str = "one";

/// Checks that the helper's programs would load the policy.
///
/// # Errors
/// Why not, in words.
pub fn check_compiles(side: &Side<'_>) -> Result<(), String> {
    Policy::compile(side.rules, Digest::of(&[])).map(drop)
}

/// A policy reduced to the rules of one principal, and perhaps to those of one class of objects.
#[derive(Debug)]
pub struct PolicyEvaluator {
    policy: Policy,
    who: postern_policy::Identity,
}

impl PolicyEvaluator {
    /// Compiles the policy for this principal. `keep`: the indices of the rules to keep; none = all.
    ///
    /// # Errors
    /// The helper would refuse the policy, in words.
    pub fn new(side: &Side<'_>, principal: &Principal, keep: Option<&[usize]>) -> Result<Self, String> {
        let is_one = |client: &&root::Client| principal.contains(&Identity::of(client));
        let clients = side.rules.clients.iter().filter(is_one);
        let clients = clients.map(|client| root::Client {
            name: client.name.clone(),
            user: USER.to_owned(),
            group: String::new(),
        });
        let clients = clients.collect::<Vec<_>>();
        let speaks = |rule: &&root::Rule| clients.iter().any(|client| client.name == rule.client);
        // Probes have no package sources, no time and no person: changes of these keys are shown as text.
        let from_anywhere = |rule: &root::Rule| root::Rule {
            sources: Vec::new(),
            hours: Vec::new(),
            people: Vec::new(),
            approvers_exclude_asker: false,
            ..rule.clone()
        };
        let rules = match keep {
            Some(places) => places
                .iter()
                .map(|place| &side.rules.rules[*place])
                .filter(speaks)
                .map(from_anywhere)
                .collect(),
            None => side.rules.rules.iter().filter(speaks).map(from_anywhere).collect(),
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
        let who = postern_policy::Identity { uid: 1, users: vec![USER.to_owned()], ..Default::default() };
        Policy::compile(&rules, Digest::of(&[])).map(|policy| Self { policy, who })
    }

    /// Decides the request and its possible facts under this policy.
    #[must_use]
    pub fn decide(&self, verb: VerbId, probe: &Probe) -> Outcome {
        let required_grants = [(verb, object(probe))];
        let granted = self.policy.decide(&self.who, &required_grants);
        let granted =
            granted.and_then(|granted| self.policy.decide_facts(granted, &self.who, &facts(verb, probe)));
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
                let denies = |rule: &&std::sync::Arc<postern_policy::Rule>| {
                    rule.decision == Decision::Deny && rule.selects(verb, &probe.object)
                };
                let rule = self.policy.rules().iter().find(denies).filter(|_| code == Code::Denied);
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

/// Returns the grants of the request: journal lines are a part of it.
fn object(probe: &Probe) -> Object {
    match (&probe.plan, &probe.object) {
        (Plan::Journal { lines }, Object::Unit { name, .. }) => {
            Object::Unit { name: name.clone(), journal_lines: *lines }
        }
        (_, object) => object.clone(),
    }
}

/// The facts as the verbs would gather them.
fn facts(verb: VerbId, probe: &Probe) -> Facts {
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
            Facts::Packages(PackageTransaction { steps, ..PackageTransaction::default() })
        }
        (Plan::Unit { cascade }, Object::Unit { name, .. }) => {
            let state = |id: &str| UnitState { id: id.to_owned(), ..UnitState::default() };
            let other = cascade.then(|| AffectedUnit {
                verb: VerbId::UnitStop,
                cause: String::new(),
                state: state("other.service"),
            });
            Facts::Unit(Box::new(UnitFacts {
                state: state(name.as_str()),
                affected: other.into_iter().collect(),
            }))
        }
        (Plan::File { create: true }, Object::File { path, .. }) => {
            Facts::Files(vec![FileFacts { path: path.clone(), old: None, xattrs: Vec::new() }])
        }
        (
            Plan::Nothing
            | Plan::Packages { .. }
            | Plan::Unit { .. }
            | Plan::Journal { .. }
            | Plan::File { .. },
            Object::Nothing
            | Object::Reboot { .. }
            | Object::Package { .. }
            | Object::AllPackages
            | Object::Unit { .. }
            | Object::File { .. }
            | Object::Command { .. }
            | Object::Undo { .. },
        ) => Facts::None,
    }
}

fn step(name: PackageName, action: Action, asked: bool) -> PackageStep {
    let (old, new, sources) = (String::new(), String::new(), Vec::new());
    PackageStep { action, name, arch: "amd64".to_owned(), old, new, sources, asked }
}
