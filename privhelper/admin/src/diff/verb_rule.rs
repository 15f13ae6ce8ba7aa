//! One rule limited to one verb, to find the rules that are equal in both policies.

use super::facts::{self, Fact};
use super::side::{Identity, Side, Which};
use crate::policy::keys::{self, Role, is_limit_of};
use postern_policy::VerbId;
use postern_proto::root::v1 as root;
use std::collections::{BTreeMap, HashMap};

/// A rule with the values of its keys, resolved once.
#[derive(Debug)]
pub struct ResolvedRule<'a> {
    /// The rule.
    pub rule: &'a root::Rule,
    /// The client.
    pub who: Identity,
    /// Every key with its value; names of definitions with the definition.
    pub facts: Vec<Fact>,
}

/// Resolves all rules of a policy. A rule with an unknown client applies to nobody.
#[must_use]
pub fn resolve<'a>(side: &Side<'a>) -> Vec<ResolvedRule<'a>> {
    let clients = side.rules.clients.iter().map(|client| (client.name.as_str(), Identity::of(client)));
    let clients = clients.collect::<HashMap<_, _>>();
    let definitions = facts::definitions(side.rules);
    let resolved = side.rules.rules.iter().map(|rule| {
        let who = clients.get(rule.client.as_str()).cloned();
        let facts = facts::resolved(rule, &definitions);
        ResolvedRule { rule, who: who.unwrap_or(Identity::User(String::new())), facts }
    });
    resolved.collect()
}

/// One rule limited to one verb.
#[derive(Debug)]
pub struct VerbRule<'a> {
    /// The policy that has the rule.
    pub which: Which,
    /// The index of the rule in its policy.
    pub index: usize,
    /// The rule.
    pub resolved: &'a ResolvedRule<'a>,
    /// A number for its decision and limits: equal for rules that differ in their selectors alone.
    pub profile: usize,
    /// Whether the other policy has no equal rule at the same position relative to the other equal rules.
    pub differs: bool,
}

/// The rules of both policies with this verb, the old ones first, each in the order of their policy; and the pairs of
/// equal rules.
#[must_use]
pub fn of_verb<'a>(
    verb: VerbId,
    old: &'a [ResolvedRule<'a>],
    new: &'a [ResolvedRule<'a>],
) -> (Vec<VerbRule<'a>>, Vec<(usize, usize)>) {
    let is_used = old.iter().chain(new).next().map_or_else(Vec::new, |known| {
        let selects = |key: &str| {
            keys::RULE.iter().any(|known| known.name == key && known.role == Role::Selector)
                || key == "decision"
        };
        known.facts.iter().map(|(key, _)| selects(key) || is_limit_of(key, verb)).collect::<Vec<_>>()
    });
    let of = |rules: &'a [ResolvedRule<'a>], which| {
        let speaking = rules.iter().enumerate();
        let speaking = speaking.filter(|(_, known)| known.rule.verbs.iter().any(|name| name == verb.name()));
        speaking
            .map(|(index, resolved)| VerbRule { which, index, resolved, profile: 0, differs: true })
            .collect::<Vec<_>>()
    };
    let (mut old, mut new) = (of(old, Which::Old), of(new, Which::New));
    let mut profiles = HashMap::new();
    for verb_rule in old.iter_mut().chain(&mut new) {
        let facts =
            verb_rule.resolved.facts.iter().filter(|(key, _)| *key == "decision" || is_limit_of(key, verb));
        let next = profiles.len();
        verb_rule.profile = *profiles.entry(facts.collect::<Vec<_>>()).or_insert(next);
    }
    let words = |verb_rule: &VerbRule<'_>| {
        let facts = verb_rule.resolved.facts.iter().zip(&is_used).filter(|(_, used)| **used);
        (verb_rule.resolved.who.clone(), facts.map(|(fact, _)| fact.clone()).collect::<Vec<_>>())
    };
    let mut places: HashMap<_, Vec<usize>> = HashMap::new();
    for (place, verb_rule) in new.iter().enumerate().rev() {
        places.entry(words(verb_rule)).or_default().push(place);
    }
    let same = old.iter().enumerate();
    let same = same.filter_map(|(place, verb_rule)| Some((place, places.get_mut(&words(verb_rule))?.pop()?)));
    let same = in_order(&same.collect::<Vec<_>>());
    for (before, after) in &same {
        old[*before].differs = false;
        new[*after].differs = false;
    }
    let pairs = same.iter().map(|(before, after)| (old[*before].index, new[*after].index)).collect();
    old.extend(new);
    (old, pairs)
}

/// The longest run of pairs that are in the same order on both sides: the others have moved. The first of each pair
/// rises already.
fn in_order(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length of a run the lowest end of one, with the pair before it (patience sorting).
    let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
    let mut before = vec![None; pairs.len()];
    for (at, (_, place)) in pairs.iter().enumerate() {
        before[at] = ends.range(..place).next_back().map(|(_, at)| *at);
        if let Some(higher) = ends.range(place..).next().map(|(place, _)| *place) {
            ends.remove(&higher);
        }
        ends.insert(*place, at);
    }
    let last = ends.values().next_back().copied();
    let mut run = std::iter::successors(last, |at| before[*at]).map(|at| pairs[at]).collect::<Vec<_>>();
    run.reverse();
    run
}
