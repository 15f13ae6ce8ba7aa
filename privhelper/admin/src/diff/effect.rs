//! Effects of the difference, gathered: one entry per group of objects with the same rules.

use super::class::EXAMPLES_MAX;
use super::evaluate::{Outcome, PolicyEvaluator, Verdict};
use super::facts::Fact;
use super::probe::{Probe, is_probed};
use super::side::{Principal, Side};
use super::verb_rule::ResolvedRule;
use super::written;
use crate::policy::keys::is_limit_of;
use postern_policy::VerbId;
use std::collections::HashMap;

/// How what may be done changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EffectChange {
    /// It is done now, and was not or only after asking.
    Allowed,
    /// A person is asked now.
    Asks,
    /// It is refused now.
    Refused,
    /// It is granted as before, but otherwise: what differs, key by key.
    Changed(Vec<String>),
}

impl EffectChange {
    /// How the two answers to one request differ, if what may be done differs. `defined`: what the request's object
    /// stands for.
    pub(super) fn between(
        case: &ComparedRequest,
        known: [&[ResolvedRule<'_>]; 2],
        defined: &[Vec<Fact>; 2],
    ) -> Option<Self> {
        let ComparedRequest { verb, before: old, after: new, .. } = case;
        match (old.verdict, new.verdict) {
            (Verdict::Refused, Verdict::Refused) => None,
            (Verdict::Allowed, Verdict::Allowed) | (Verdict::Asks, Verdict::Asks) => {
                let of = |which: usize, outcome| {
                    let mut facts = settings(*verb, known[which], outcome);
                    facts.extend(defined[which].clone());
                    facts
                };
                let changes = written::changes(&of(0, old), &of(1, new));
                (!changes.is_empty()).then_some(Self::Changed(changes))
            }
            (_, Verdict::Allowed) => Some(Self::Allowed),
            (_, Verdict::Asks) => Some(Self::Asks),
            (_, Verdict::Refused) => Some(Self::Refused),
        }
    }
}

/// The keys of the deciding rule that no probe tests, such as `rate` and `timeout`.
fn settings(verb: VerbId, known: &[ResolvedRule<'_>], outcome: &Outcome) -> Vec<Fact> {
    let rule = known.iter().find(|known| known.rule.id == outcome.rule);
    let facts = rule.into_iter().flat_map(|known| &known.facts);
    let is_setting = |key: &str| {
        !["decision", "client", "verbs"].contains(&key) && is_limit_of(key, verb) && !is_probed(key, verb)
    };
    facts.filter(|(key, _)| is_setting(key)).cloned().collect()
}

/// One difference in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// How it differs.
    pub change: EffectChange,
    /// For which verbs alike.
    pub verbs: Vec<VerbId>,
    /// For whom.
    pub who: Principal,
    /// Requests that show it, the smallest first; all of them confirmed under both policies.
    pub examples: Vec<Probe>,
    /// The old policy's decision of the first example.
    pub old: Outcome,
    /// The new policy's decision of it.
    pub new: Outcome,
}

/// One request and what becomes of it.
pub(super) struct ComparedRequest {
    pub verb: VerbId,
    pub who: Principal,
    pub probe: Probe,
    pub before: Outcome,
    pub after: Outcome,
}

type Key = (VerbId, EffectChange, Outcome, Outcome);

#[derive(Debug, Default)]
pub(super) struct Effects {
    list: Vec<Effect>,
    known: HashMap<Key, Vec<usize>>,
}

impl Effects {
    /// Notes a difference, unless a plainer request of the same kind shows it already.
    pub fn add(&mut self, case: ComparedRequest, change: EffectChange) {
        let ComparedRequest { verb, who, probe, before, after } = case;
        let key = (verb, change.clone(), nameless(&before), nameless(&after));
        let known = self.known.entry(key).or_default();
        for place in known.iter() {
            let effect = &mut self.list[*place];
            let shown = effect
                .examples
                .first()
                .is_some_and(|example| example.beyond.iter().all(|limit| probe.beyond.contains(limit)));
            if !shown || !effect.who.is_subset(&who) {
                continue;
            }
            let name = probe.object.name();
            let is_told = |told: &Probe| told.beyond != probe.beyond || told.object.name() == name;
            if effect.who == who
                && effect.examples.len() < EXAMPLES_MAX
                && !effect.examples.iter().any(is_told)
            {
                effect.examples.push(probe);
            }
            return;
        }
        known.push(self.list.len());
        let (verbs, examples) = (vec![verb], vec![probe]);
        self.list.push(Effect { change, verbs, who, examples, old: before, new: after });
    }

    /// Decides every example under both whole policies, and joins verbs that fare alike. Also the verbs of examples
    /// that are decided otherwise than they were here.
    ///
    /// # Errors
    /// A policy that the helper would refuse.
    pub fn confirmed(self, sides: [Side<'_>; 2]) -> Result<(Vec<Effect>, Vec<VerbId>), String> {
        let mut evaluators = HashMap::new();
        let mut wrong = Vec::new();
        let mut joined: Vec<Effect> = Vec::new();
        let mut places: HashMap<_, usize> = HashMap::new();
        for effect in self.list {
            if !evaluators.contains_key(&effect.who) {
                let evaluator = |side| PolicyEvaluator::new(side, &effect.who, None);
                evaluators.insert(effect.who.clone(), [evaluator(&sides[0])?, evaluator(&sides[1])?]);
            }
            let verb = effect.verbs[0];
            let [old, new] = &evaluators[&effect.who];
            let is_so = |example: &Probe| {
                nameless(&old.decide(verb, example)) == nameless(&effect.old)
                    && nameless(&new.decide(verb, example)) == nameless(&effect.new)
            };
            if !effect.examples.iter().all(is_so) {
                wrong.push(verb);
                continue;
            }
            let alike = |example: &Probe| (example.describe(), example.visible_plan());
            let shown = effect.examples.iter().map(alike).collect::<Vec<_>>();
            let key = (
                effect.change.clone(),
                effect.who.clone(),
                shown,
                nameless(&effect.old),
                nameless(&effect.new),
            );
            if let Some(place) = places.get(&key) {
                joined[*place].verbs.push(verb);
            } else {
                places.insert(key, joined.len());
                joined.push(effect);
            }
        }
        wrong.dedup();
        Ok((joined, wrong))
    }
}

/// An outcome without the name of the object, so that those of many objects are alike.
fn nameless(outcome: &Outcome) -> Outcome {
    let message = if outcome.code == "protected" { String::new() } else { outcome.message.clone() };
    Outcome { message, ..outcome.clone() }
}
