//! Facets: one rule limited to one verb, to find rules that are equal in both policies.

use super::Side;
use super::facts::{self, Fact};
use crate::policy::keys::{self, Role};
use postern_policy::VerbId;
use postern_proto::root::v1 as root;
use std::collections::{BTreeMap, HashMap};

/// Which of the two policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    /// The one before.
    Old,
    /// The one after.
    New,
}

/// The user or group of a client, whatever its name in the policies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// A user.
    User(String),
    /// A group.
    Group(String),
}

impl Identity {
    /// The user or group of this client.
    #[must_use]
    pub fn of(client: &root::Client) -> Self {
        if client.group.is_empty() {
            Self::User(client.user.clone())
        } else {
            Self::Group(client.group.clone())
        }
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User(name) => write!(f, "user {name}"),
            Self::Group(name) => write!(f, "group {name}"),
        }
    }
}

/// A rule with its facts, so that they are put together once.
#[derive(Debug)]
pub struct Known<'a> {
    /// The rule.
    pub rule: &'a root::Rule,
    /// Whom it speaks of.
    pub who: Identity,
    /// Every key with its value; names of definitions with what they stand for.
    pub facts: Vec<Fact>,
}

/// All rules of a policy. One whose client is none speaks of nobody.
#[must_use]
pub fn known<'a>(side: &Side<'a>) -> Vec<Known<'a>> {
    let clients = side.rules.clients.iter().map(|client| (client.name.as_str(), Identity::of(client)));
    let clients = clients.collect::<HashMap<_, _>>();
    let definitions = facts::definitions(side.rules);
    let known = side.rules.rules.iter().map(|rule| {
        let who = clients.get(rule.client.as_str()).cloned();
        let facts = facts::resolved(rule, &definitions);
        Known { rule, who: who.unwrap_or(Identity::User(String::new())), facts }
    });
    known.collect()
}

/// One rule limited to one verb.
#[derive(Debug)]
pub struct Facet<'a> {
    /// The client of the rule.
    pub which: Which,
    /// The rule's place in its policy.
    pub index: usize,
    /// The rule.
    pub known: &'a Known<'a>,
    /// What it decides and under which limits, as a number: alike for facets that differ in their selectors alone.
    pub profile: usize,
    /// Whether the other policy has no such rule at such a place in the order.
    pub differs: bool,
}

/// Whether a key that is no selector says anything of requests of this verb. A key that is in no vocabulary does.
#[must_use]
pub fn is_limit_of(key: &str, verb: VerbId) -> bool {
    match keys::RULE.iter().find(|known| known.name == key) {
        Some(known) => matches!(known.role, Role::Limit | Role::Asking) && (known.used_by)(verb),
        None => key != "client",
    }
}

/// The rules of both policies that speak of the verb, the old ones first, each in their order; and which of them
/// stand for one another.
#[must_use]
pub fn facets<'a>(
    verb: VerbId,
    old: &'a [Known<'a>],
    new: &'a [Known<'a>],
) -> (Vec<Facet<'a>>, Vec<(usize, usize)>) {
    let is_used = old.iter().chain(new).next().map_or_else(Vec::new, |known| {
        let selects = |key: &str| {
            keys::RULE.iter().any(|known| known.name == key && known.role == Role::Selector)
                || key == "decision"
        };
        known.facts.iter().map(|(key, _)| selects(key) || is_limit_of(key, verb)).collect::<Vec<_>>()
    });
    let of = |rules: &'a [Known<'a>], which| {
        let speaking = rules.iter().enumerate();
        let speaking = speaking.filter(|(_, known)| known.rule.verbs.iter().any(|name| name == verb.name()));
        speaking
            .map(|(index, known)| Facet { which, index, known, profile: 0, differs: true })
            .collect::<Vec<_>>()
    };
    let (mut old, mut new) = (of(old, Which::Old), of(new, Which::New));
    let mut profiles = HashMap::new();
    for facet in old.iter_mut().chain(&mut new) {
        let facts = facet.known.facts.iter().filter(|(key, _)| *key == "decision" || is_limit_of(key, verb));
        let next = profiles.len();
        facet.profile = *profiles.entry(facts.collect::<Vec<_>>()).or_insert(next);
    }
    let words = |facet: &Facet<'_>| {
        let facts = facet.known.facts.iter().zip(&is_used).filter(|(_, used)| **used);
        (facet.known.who.clone(), facts.map(|(fact, _)| fact.clone()).collect::<Vec<_>>())
    };
    let mut places: HashMap<_, Vec<usize>> = HashMap::new();
    for (place, facet) in new.iter().enumerate().rev() {
        places.entry(words(facet)).or_default().push(place);
    }
    let same = old.iter().enumerate();
    let same = same.filter_map(|(place, facet)| Some((place, places.get_mut(&words(facet))?.pop()?)));
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
