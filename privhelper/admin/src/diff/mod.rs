//! The difference in effect between two policies, exact over the pattern language.
//!
//! Whether a request is granted depends only on which patterns match its names and on which side of each limit it
//! stands. All sets of patterns that some name can match are walked ([`objects`], [`automaton`]), and for each the
//! limits that the rules do not share ([`probe`]); what the two policies say of each such request is asked of the
//! helper's own decision ([`judge`]). Every example is decided once more under both whole policies before it is told.
//!
//! A refusal is a refusal: a `deny` over what nothing grants changes no effect. Requests about several objects are
//! decided object by object, so that what is the same for each object is the same for all of them.

mod along;
mod automaton;
pub mod command;
mod commands;
mod effect;
mod facet;
mod facts;
mod json;
mod judge;
mod limits;
mod lines;
mod objects;
mod parents;
mod probe;
mod rate;
mod show;
mod written;

pub use automaton::{Budget, Exhausted};
pub use effect::{Effect, Turn};
pub use facet::{Identity, Which};
pub use json::json;
pub use judge::{Outcome, Principal, Verdict};
pub use probe::{Plan, Probe};
pub use show::text;
pub use written::{Change, Difference};

use effect::{Case, Effects};
use facet::{Facet, Known};
use judge::Court;
use objects::Class;
use postern_policy::{Object, VerbId};
use postern_proto::root::v1 as root;
use rate::Rates;
use std::collections::BTreeSet;

/// Steps of single patterns for each verb: some seconds of work.
const STEPS: u64 = 400_000_000;
/// Most identities of which everyone who is several of them is looked at.
const IDENTITIES_MAX: usize = 10;

/// One of the two policies.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What it says.
    pub rules: &'a root::Rules,
    /// Where each rule stands; may be empty.
    pub positions: &'a [root::Position],
}

/// A verb for which nothing is proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unproven {
    /// The verb.
    pub verb: VerbId,
    /// Why, in words.
    pub why: &'static str,
}

/// Everything that differs.
#[derive(Debug, Default)]
pub struct Report {
    /// Clients that come and go.
    pub clients: Vec<(Which, Identity)>,
    /// The requests that are decided otherwise.
    pub effects: Vec<Effect>,
    /// What no single request shows: shared rates, and the tables that are no rules.
    pub general: Vec<String>,
    /// What is written otherwise, with an effect or without.
    pub written: Vec<Difference>,
    /// Verbs for which there may be more.
    pub unproven: Vec<Unproven>,
}

impl Report {
    /// Whether anything differs but words.
    #[must_use]
    pub fn is_change(&self) -> bool {
        !self.clients.is_empty() || !self.effects.is_empty() || !self.general.is_empty()
    }
}

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
    judge::check(&old)?;
    judge::check(&new)?;
    let (known_old, known_new) = (facet::known(&old), facet::known(&new));
    let mut comparison = Comparison {
        sides: [old, new],
        known: [&known_old, &known_new],
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
            Err(Failure::Policy(why)) => return Err(why),
        }
    }
    report.general.extend(comparison.rates.changes([&known_old, &known_new]));
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
    Policy(String),
}

impl From<Exhausted> for Failure {
    fn from(Exhausted: Exhausted) -> Self {
        Self::Exhausted
    }
}

struct Comparison<'a> {
    sides: [Side<'a>; 2],
    known: [&'a [Known<'a>]; 2],
    effects: Effects,
    rates: Rates,
}

impl<'a> Comparison<'a> {
    /// Whether the same rules may be decided otherwise.
    fn is_law_changed(&self, verb: VerbId) -> bool {
        let [old, new] = self.sides.map(|side| side.rules);
        old.protect != new.protect || (verb == VerbId::CommandRun && old.commands != new.commands)
    }

    fn verb(&mut self, verb: VerbId, budget: &mut Budget) -> Result<(), Failure> {
        let (mut facets, same) = facet::facets(verb, self.known[0], self.known[1]);
        if self.is_law_changed(verb) {
            for facet in &mut facets {
                facet.differs = true;
            }
        }
        if facet::is_limit_of("rate", verb) {
            self.rates.same(&same);
        }
        if facets.iter().all(|facet| !facet.differs) {
            return Ok(());
        }
        for class in objects::classes(verb, &facets, self.sides.map(|side| side.rules), budget)? {
            let members = class.members.iter().map(|place| &facets[*place]).collect::<Vec<_>>();
            for who in principals(&members)? {
                self.class(verb, &class, &members, &who, budget)?;
            }
        }
        Ok(())
    }

    /// Compares what one principal may do to the objects of one class.
    fn class(
        &mut self,
        verb: VerbId,
        class: &Class,
        members: &[&Facet<'a>],
        who: &Principal,
        budget: &mut Budget,
    ) -> Result<(), Failure> {
        let own = members.iter().filter(|facet| who.contains(&facet.known.who)).copied().collect::<Vec<_>>();
        if own.iter().all(|facet| !facet.differs) {
            return Ok(());
        }
        // Of rules that say the same the first one decides, and the others add nothing.
        let profiles = |which| {
            let mut profiles = Vec::new();
            for facet in own.iter().filter(|facet| facet.which == which) {
                if !profiles.contains(&facet.profile) {
                    profiles.push(facet.profile);
                }
            }
            profiles
        };
        let is_rated = own.iter().any(|facet| facet.known.rule.rate_count > 0);
        if !self.is_law_changed(verb) && !is_rated && profiles(Which::Old) == profiles(Which::New) {
            return Ok(());
        }
        // To read two small policies is far more than a step.
        budget.take(2000 * own.len())?;
        let places = |which| {
            own.iter().filter(|facet| facet.which == which).map(|facet| facet.index).collect::<Vec<_>>()
        };
        let court =
            |side: &Side<'_>, which| Court::new(side, who, Some(&places(which))).map_err(Failure::Policy);
        let (old, new) = (court(&self.sides[0], Which::Old)?, court(&self.sides[1], Which::New)?);
        let rules = own.iter().map(|facet| facet.known.rule);
        let rules = rules.filter(|rule| rule.decision() != root::Decision::Deny).collect::<Vec<_>>();
        let defined = self.sides.map(|side| match &class.object {
            Object::Command { name, .. } => facts::defined(name.as_str(), side.rules),
            Object::Nothing
            | Object::Package { .. }
            | Object::AllPackages
            | Object::Unit { .. }
            | Object::File { .. }
            | Object::Undo { .. } => Vec::new(),
        });
        for probe in probe::probes(verb, &class.object, &rules, budget)? {
            let (before, after) = (old.decide(verb, &probe), new.decide(verb, &probe));
            // What refuses the plainest request whatever its limits refuses the others too.
            let is_firm = |outcome: &Outcome| ["no_grant", "denied", "protected"].contains(&outcome.code);
            let ends = if is_firm(&before) {
                after.verdict != Verdict::Refused
            } else {
                is_firm(&after) && before.verdict != Verdict::Refused
            };
            let is_over = is_firm(&before) && is_firm(&after);
            self.rates.decided(verb, self.known, &before, &after);
            let case = Case { verb, who: who.clone(), probe, before, after };
            if let Some(turn) = Turn::between(&case, self.known, &defined) {
                self.effects.add(case, turn);
            }
            if ends || is_over {
                break;
            }
        }
        Ok(())
    }
}

/// Everyone whom these rules can speak of: one user at most, and any groups. Those who are less come first.
fn principals(members: &[&Facet<'_>]) -> Result<Vec<Principal>, Exhausted> {
    let all = members.iter().map(|facet| facet.known.who.clone()).collect::<BTreeSet<_>>();
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
