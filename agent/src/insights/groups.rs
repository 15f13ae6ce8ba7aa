//! Groups that do not depend on the order in which their members come.

use super::report::ID_LIMIT;
use std::collections::BTreeSet;

/// Ids of one group: their number, and the newest of them. An id of version 7 begins with its time.
#[derive(Clone, Debug, Default)]
pub struct Ids {
    count: usize,
    newest: BTreeSet<String>,
}

impl Ids {
    /// Takes an id in; true if it is the newest so far.
    pub fn add(&mut self, id: String) -> bool {
        self.count += 1;
        let is_newest = self.newest.last().is_none_or(|newest| id > *newest);
        self.newest.insert(id);
        if self.newest.len() > ID_LIMIT {
            self.newest.pop_first();
        }
        is_newest
    }

    /// How many there were.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The newest one.
    pub fn newest(&self) -> &str {
        self.newest.last().map_or("", String::as_str)
    }

    /// The newest ones, from the newest on.
    pub fn list(&self) -> Vec<String> {
        self.newest.iter().rev().cloned().collect()
    }
}

/// The smallest of the times that so many percent of them do not exceed (nearest rank); 0 where there is none.
pub fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}
