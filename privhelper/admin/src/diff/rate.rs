//! Rates are counted by rule: a rule that is split grants twice as many, though no single request shows it.

use super::evaluate::{Outcome, Verdict};
use super::verb_rule::ResolvedRule;
use crate::policy::keys::is_limit_of;
use postern_policy::VerbId;
use std::collections::BTreeSet;

/// Which rules count the same requests before and after.
#[derive(Debug, Default)]
pub struct Rates(BTreeSet<(usize, usize)>);

impl Rates {
    /// These rules are equal in both policies.
    pub fn same(&mut self, pairs: &[(usize, usize)]) {
        self.0.extend(pairs);
    }

    /// A request is decided by these rules.
    pub fn decided(&mut self, verb: VerbId, known: [&[ResolvedRule<'_>]; 2], old: &Outcome, new: &Outcome) {
        if old.verdict == Verdict::Refused || new.verdict == Verdict::Refused || !is_limit_of("rate", verb) {
            return;
        }
        let place = |known: &[ResolvedRule<'_>], outcome: &Outcome| {
            known.iter().position(|known| known.rule.id == outcome.rule)
        };
        if let (Some(old), Some(new)) = (place(known[0], old), place(known[1], new)) {
            self.0.insert((old, new));
        }
    }

    /// The rates that are counted otherwise, a sentence for each.
    #[must_use]
    pub fn changes(&self, known: [&[ResolvedRule<'_>]; 2]) -> Vec<String> {
        let [old, new] = known;
        let ids = |known: &[ResolvedRule<'_>], places: &[usize]| {
            places.iter().map(|place| known[*place].rule.id.clone()).collect::<Vec<_>>().join(" and ")
        };
        let is_rated = |known: &ResolvedRule<'_>| known.rule.rate_count > 0;
        let after =
            |place| self.0.iter().filter(|pair| pair.0 == place).map(|pair| pair.1).collect::<Vec<_>>();
        let before =
            |place| self.0.iter().filter(|pair| pair.1 == place).map(|pair| pair.0).collect::<Vec<_>>();
        let split = (0..old.len()).filter(|place| is_rated(&old[*place])).filter_map(|place| {
            let places = after(place);
            let id = &old[place].rule.id;
            (places.len() > 1).then(|| {
                format!("~ the rate of rule {id} is now counted apart by the rules {}", ids(new, &places))
            })
        });
        let joined = (0..new.len()).filter(|place| is_rated(&new[*place])).filter_map(|place| {
            let places = before(place);
            let id = &new[place].rule.id;
            (places.len() > 1).then(|| {
                format!(
                    "~ the rate of rule {id} now counts what the rules {} counted apart",
                    ids(old, &places)
                )
            })
        });
        split.chain(joined).collect()
    }
}
