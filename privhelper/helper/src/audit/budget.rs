//! How many records a client may cause: what is over it is counted, not recorded.

use super::limits::Limits;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// A longer record counts as several.
const RECORD: usize = 4096;

/// The records of each uid.
#[derive(Debug, Default)]
pub struct Budget(HashMap<u32, Account>);

#[derive(Debug, Default)]
struct Account {
    /// Records in each second that had any, oldest first.
    seconds: VecDeque<(u64, u32)>,
    over: Option<Suppressed>,
    /// The second since boot in which the last `suppressed` record was due.
    told: Option<u64>,
}

/// Requests that got no record of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suppressed {
    /// How many.
    pub count: u64,
    /// When the first came, since 1970.
    pub first: Duration,
    /// When the last came.
    pub last: Duration,
}

impl Budget {
    /// Whether a request of this uid gets a record; if not, it is counted. Times since boot and since 1970.
    ///
    /// # Errors
    /// It does not; after how many seconds one will.
    pub fn admit(&mut self, uid: u32, limits: Limits, boot: Duration, unix: Duration) -> Result<(), u32> {
        let now = boot.as_secs();
        self.0.retain(|_, account| account.counts(now));
        let account = self.0.entry(uid).or_default();
        account.seconds.retain(|(second, _)| second.saturating_add(HOUR) > now);
        let wait = [(MINUTE, limits.per_minute), (HOUR, limits.per_hour)]
            .into_iter()
            .filter_map(|(window, most)| account.wait(window, most, now))
            .max();
        let Some(wait) = wait else {
            return Ok(());
        };
        let before = account.over.unwrap_or(Suppressed { count: 0, first: unix, last: unix });
        account.over = Some(Suppressed { count: before.count.saturating_add(1), last: unix, ..before });
        Err(u32::try_from(wait).unwrap_or(u32::MAX))
    }

    /// Counts a record of this many bytes.
    pub fn charge(&mut self, uid: u32, bytes: usize, boot: Duration) {
        let records = u32::try_from(bytes.div_ceil(RECORD)).unwrap_or(u32::MAX);
        let seconds = &mut self.0.entry(uid).or_default().seconds;
        match seconds.back_mut().filter(|(second, _)| *second == boot.as_secs()) {
            Some((_, count)) => *count = count.saturating_add(records),
            None => seconds.push_back((boot.as_secs(), records)),
        }
    }

    /// What was over the budget and has not been told for a minute, or all of it at the end.
    #[must_use]
    pub fn over(&self, due: Due, boot: Duration) -> Vec<(u32, Suppressed)> {
        let now = boot.as_secs();
        let is_due = |account: &Account| {
            due == Due::All || account.told.is_none_or(|told| told.saturating_add(MINUTE) <= now)
        };
        let accounts = self.0.iter().filter(|(_, account)| is_due(account));
        accounts.filter_map(|(uid, account)| Some((*uid, account.over?))).collect()
    }

    /// It was told: what came since is counted anew.
    pub fn told(&mut self, uid: u32, told: Suppressed, boot: Duration) {
        if let Some(account) = self.0.get_mut(&uid) {
            let more = |over: &Suppressed| over.count > told.count;
            account.over = account.over.filter(more).map(|over| Suppressed {
                count: over.count.saturating_sub(told.count),
                first: told.last,
                last: over.last,
            });
            account.told = Some(boot.as_secs());
        }
    }
}

/// Which of what was over the budget is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// What nothing was said of for a minute.
    Minutely,
    /// All: the helper ends.
    All,
}

impl Account {
    /// Whether anything of it still counts.
    fn counts(&self, now: u64) -> bool {
        let last = self.seconds.back().map_or(0, |(second, _)| *second).max(self.told.unwrap_or(0));
        self.over.is_some() || last.saturating_add(HOUR) > now
    }

    /// In how many seconds there is room within this window; none if there is now.
    fn wait(&self, window: u64, most: u32, now: u64) -> Option<u64> {
        let mut left = most;
        for (second, count) in self.seconds.iter().rev() {
            if second.saturating_add(window) <= now {
                return None;
            }
            left = left.saturating_sub(*count);
            if left == 0 {
                return Some(second.saturating_add(window).saturating_sub(now).max(1));
            }
        }
        None
    }
}
