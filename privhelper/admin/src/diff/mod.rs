//! The difference in effect between two policies, exact over the pattern language.
//!
//! Whether a request is granted depends only on which patterns match its names and on which side of each limit it
//! stands. All sets of patterns that some name can match are walked ([`objects`], [`automaton`]), and for each the
//! limits that the rules do not share ([`probes`]). The helper's own decision code decides each such request under both
//! policies ([`evaluate`]). Every example is decided once more under both whole policies before it is shown.
//!
//! A refusal is a refusal: a `deny` over what nothing grants changes no effect. Requests about several objects are
//! decided object by object, so that what is the same for each object is the same for all of them.

mod along;
mod automaton;
mod class;
pub mod command;
mod commands;
mod effect;
mod evaluate;
mod facts;
mod json;
mod limits;
mod lines;
mod objects;
mod parents;
mod probe;
mod probes;
mod rate;
mod report;
mod show;
mod side;
mod verb_rule;
mod written;

pub use automaton::{Budget, Exhausted};
pub use effect::{Effect, EffectChange};
pub use evaluate::{Outcome, Verdict};
pub use json::json;
pub use probe::{Plan, Probe};
pub use report::{Report, Unproven};
pub use show::text;
pub use side::{Identity, Principal, Side, Which};
pub use written::{Change, Difference};

use crate::policy::keys;
use class::ObjectClass;
use effect::{ComparedRequest, Effects};
use evaluate::PolicyEvaluator;
use postern_policy::{Object, VerbId};
use postern_proto::root::v1 as root;
use rate::Rates;
use std::collections::BTreeSet;
use verb_rule::{ResolvedRule, VerbRule};

/// Steps of single patterns for each verb: some seconds of work.
const STEPS: u64 = 400_000_000;
/// Most identities of which everyone who is several of them is looked at.
const IDENTITIES_MAX: usize = 10;

/// The difference between two policies.
///
/// # Errors
/// The helper would refuse one of them, in words.
pub fn between(old: Side<'_>, new: Side<'_>) -> Result<Report, String> {
    within(old, new, STEPS)
}

/// The same with so many steps for each verb.
///
/// # Errors
/// As [`between`].
pub fn within(old: Side<'_>, new: Side<'_>, steps: u64) -> Result<Report, String> {
    let mut report = Report { written: written::between(old.rules, new.rules), ..Report::default() };
    let clients = |side: Side<'_>| side.rules.clients.iter().map(Identity::of).collect::<BTreeSet<_>>();
    let (before, after) = (clients(old), clients(new));
    report.clients.extend(after.difference(&before).map(|who| (Which::New, who.clone())));
    report.clients.extend(before.difference(&after).map(|who| (Which::Old, who.clone())));
    report.general.extend(written::tables(old.rules, new.rules).iter().map(ToString::to_string));
    // Errors of a policy are reported before it is compared.
    evaluate::check_compiles(&old)?;
    evaluate::check_compiles(&new)?;
    let (old_rules, new_rules) = (verb_rule::resolve(&old), verb_rule::resolve(&new));
    let mut comparison = Comparison {
        sides: [old, new],
        rules: [&old_rules, &new_rules],
        effects: Effects::default(),
        rates: Rates::default(),
    };
    for verb in VerbId::ALL.iter().filter(|verb| !verb.is_open()) {
        match comparison.verb(*verb, &mut Budget::new(steps)) {
            Ok(()) => {}
            Err(Failure::Exhausted) => {
                let why =
                    "not proven: its patterns overlap in too many ways, or parameters of such kinds differ";
                report.unproven.push(Unproven { verb: *verb, why });
            }
            Err(Failure::People) => {
                let why =
                    "not proven: a rule of it names `people`, and others may let everybody else through";
                report.unproven.push(Unproven { verb: *verb, why });
            }
            Err(Failure::Policy(why)) => return Err(why),
        }
    }
    report.general.extend(comparison.rates.changes([&old_rules, &new_rules]));
    report.general.extend(along::changes(old.rules, new.rules));
    let Comparison { effects, .. } = comparison;
    let (effects, wrong) = effects.confirmed([old, new])?;
    report.effects = effects;
    let why = "an example was not confirmed: this is a fault of this program";
    report.unproven.extend(wrong.into_iter().map(|verb| Unproven { verb, why }));
    Ok(report)
}

enum Failure {
    Exhausted,
    /// Requests are compared as if each rule were for whoever asks, which misses those of others.
    People,
    Policy(String),
}

impl From<Exhausted> for Failure {
    fn from(Exhausted: Exhausted) -> Self {
        Self::Exhausted
    }
}

struct Comparison<'a> {
    sides: [Side<'a>; 2],
    rules: [&'a [ResolvedRule<'a>]; 2],
    effects: Effects,
    rates: Rates,
}

impl<'a> Comparison<'a> {
    /// Whether equal rules can decide differently: definitions that they refer to are not the same.
    fn are_definitions_changed(&self, verb: VerbId) -> bool {
        let [old, new] = self.sides.map(|side| side.rules);
        old.protect != new.protect || (verb == VerbId::CommandRun && old.commands != new.commands)
    }

    fn verb(&mut self, verb: VerbId, budget: &mut Budget) -> Result<(), Failure> {
        let (mut verb_rules, same) = verb_rule::of_verb(verb, self.rules[0], self.rules[1]);
        if self.are_definitions_changed(verb) {
            for verb_rule in &mut verb_rules {
                verb_rule.differs = true;
            }
        }
        if keys::is_limit_of("rate", verb) {
            self.rates.same(&same);
        }
        if verb_rules.iter().all(|verb_rule| !verb_rule.differs) {
            return Ok(());
        }
        for class in objects::classes(verb, &verb_rules, self.sides.map(|side| side.rules), budget)? {
            let members = class.members.iter().map(|place| &verb_rules[*place]).collect::<Vec<_>>();
            for who in principals(&members)? {
                self.class(verb, &class, &members, &who, budget)?;
            }
        }
        let names_people = |rule: &root::Rule| !rule.people.is_empty() || rule.approvers_exclude_asker;
        if verb_rules.iter().any(|verb_rule| names_people(verb_rule.resolved.rule)) {
            return Err(Failure::People);
        }
        Ok(())
    }

    /// Compares what one principal may do to the objects of one class.
    fn class(
        &mut self,
        verb: VerbId,
        class: &ObjectClass,
        members: &[&VerbRule<'a>],
        who: &Principal,
        budget: &mut Budget,
    ) -> Result<(), Failure> {
        let own = members
            .iter()
            .filter(|verb_rule| who.contains(&verb_rule.resolved.who))
            .copied()
            .collect::<Vec<_>>();
        if own.iter().all(|verb_rule| !verb_rule.differs) {
            return Ok(());
        }
        // Of rules that say the same the first one decides, and the others add nothing.
        let profiles = |which| {
            let mut profiles = Vec::new();
            for verb_rule in own.iter().filter(|verb_rule| verb_rule.which == which) {
                if !profiles.contains(&verb_rule.profile) {
                    profiles.push(verb_rule.profile);
                }
            }
            profiles
        };
        let is_rated = own.iter().any(|verb_rule| verb_rule.resolved.rule.rate_count > 0);
        if !self.are_definitions_changed(verb) && !is_rated && profiles(Which::Old) == profiles(Which::New) {
            return Ok(());
        }
        // To read two small policies is far more than a step.
        budget.take(2000 * own.len())?;
        let places = |which| {
            own.iter()
                .filter(|verb_rule| verb_rule.which == which)
                .map(|verb_rule| verb_rule.index)
                .collect::<Vec<_>>()
        };
        let evaluator = |side: &Side<'_>, which| {
            PolicyEvaluator::new(side, who, Some(&places(which))).map_err(Failure::Policy)
        };
        let (old, new) = (evaluator(&self.sides[0], Which::Old)?, evaluator(&self.sides[1], Which::New)?);
        let rules = own.iter().map(|verb_rule| verb_rule.resolved.rule);
        let rules = rules.filter(|rule| rule.decision() != root::Decision::Deny).collect::<Vec<_>>();
        let defined = self.sides.map(|side| match &class.object {
            Object::Command { name, .. } => facts::defined(name.as_str(), side.rules),
            Object::Nothing
            | Object::Reboot { .. }
            | Object::Package { .. }
            | Object::AllPackages
            | Object::Unit { .. }
            | Object::File { .. }
            | Object::Undo { .. } => Vec::new(),
        });
        for probe in probes::probes(verb, &class.object, &rules, budget)? {
            let (before, after) = (old.decide(verb, &probe), new.decide(verb, &probe));
            // A policy that refuses the plainest request for such a reason refuses the others too.
            let is_firm = |outcome: &Outcome| ["no_grant", "denied", "protected"].contains(&outcome.code);
            let ends = if is_firm(&before) {
                after.verdict != Verdict::Refused
            } else {
                is_firm(&after) && before.verdict != Verdict::Refused
            };
            let is_over = is_firm(&before) && is_firm(&after);
            self.rates.decided(verb, self.rules, &before, &after);
            let case = ComparedRequest { verb, who: who.clone(), probe, before, after };
            if let Some(change) = EffectChange::between(&case, self.rules, &defined) {
                self.effects.add(case, change);
            }
            if ends || is_over {
                break;
            }
        }
        Ok(())
    }
}

/// Every principal to which these rules can apply: at most one user, and any groups. Those with fewer identities come
/// first.
fn principals(members: &[&VerbRule<'_>]) -> Result<Vec<Principal>, Exhausted> {
    let all = members.iter().map(|verb_rule| verb_rule.resolved.who.clone()).collect::<BTreeSet<_>>();
    if all.len() > IDENTITIES_MAX {
        return Err(Exhausted);
    }
    let mut principals = vec![Principal::new()];
    for who in all {
        let is_user = |who: &Identity| matches!(who, Identity::User(_));
        let more = principals.iter().filter(|others| !(is_user(&who) && others.iter().any(is_user)));
        let more = more.map(|others| others.iter().chain([&who]).cloned().collect()).collect::<Vec<_>>();
        principals.extend(more);
    }
    principals.retain(|principal| !principal.is_empty());
    principals.sort_by_key(BTreeSet::len);
    Ok(principals)
}
