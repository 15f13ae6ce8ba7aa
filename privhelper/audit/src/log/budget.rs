//! How many records one uid, and how many bytes all of them, may cause. Requests beyond that are counted, not recorded.

use super::limits::Limits;
use super::record::Payer;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// Bytes are counted in slots of ten minutes: six to an hour, 144 to a day.
const SLOT: u64 = 10 * MINUTE;

/// What a record is caused by: each has a budget of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// A client's effect.
    Effect,
    /// A client's read, preview or check, and what was refused or malformed.
    Read,
    /// A call of an operator.
    Operator,
}

/// The records of each uid.
#[derive(Debug, Default)]
pub struct Budget {
    requests: HashMap<(u32, Class), Account>,
    /// Bytes within each slot, oldest first.
    bytes: HashMap<(u32, bool), VecDeque<(u64, u64)>>,
}

#[derive(Debug, Default)]
struct Account {
    /// Requests in each second that had any, oldest first.
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
    /// Counts a request that is about to be recorded. Times since boot and since 1970.
    ///
    /// # Errors
    /// It is over the budget; after how many seconds another try makes sense.
    pub fn admit(
        &mut self,
        uid: u32,
        class: Class,
        limits: Limits,
        boot: Duration,
        unix: Duration,
    ) -> Result<(), u32> {
        let now = boot.as_secs();
        let full = self.is_full(uid, class == Class::Operator, limits, now);
        self.requests.retain(|_, account| account.counts(now));
        let account = self.requests.entry((uid, class)).or_default();
        account.seconds.retain(|(second, _)| second.saturating_add(HOUR) > now);
        let times = if class == Class::Effect { 1 } else { 10 };
        let windows = [(MINUTE, limits.per_minute), (HOUR, limits.per_hour)];
        let waits = windows.map(|(window, most)| account.wait(window, most.saturating_mul(times), now));
        let Some(wait) = waits.into_iter().flatten().chain(full.then_some(MINUTE)).max() else {
            match account.seconds.back_mut().filter(|(second, _)| *second == now) {
                Some((_, count)) => *count = count.saturating_add(1),
                None => account.seconds.push_back((now, 1)),
            }
            return Ok(());
        };
        let before = account.over.unwrap_or(Suppressed { count: 0, first: unix, last: unix });
        account.over = Some(Suppressed { count: before.count.saturating_add(1), last: unix, ..before });
        Err(u32::try_from(wait).unwrap_or(u32::MAX))
    }

    /// Counts the bytes of a record.
    pub fn charge(&mut self, uid: u32, origin: Payer, bytes: usize, boot: Duration) {
        let (slot, bytes) = (boot.as_secs().div_euclid(SLOT), u64::try_from(bytes).unwrap_or(u64::MAX));
        let slots = self.bytes.entry((uid, origin == Payer::Recorder)).or_default();
        match slots.back_mut().filter(|(last, _)| *last == slot) {
            Some((_, count)) => *count = count.saturating_add(bytes),
            None => slots.push_back((slot, bytes)),
        }
    }

    /// Whether the day's bytes are used up, or a quarter of them within an hour; for one uid half of either.
    fn is_full(&mut self, uid: u32, is_operator: bool, limits: Limits, now: u64) -> bool {
        let now = now.div_euclid(SLOT);
        self.bytes.retain(|_, slots| {
            slots.retain(|(slot, _)| slot.saturating_add(144) > now);
            !slots.is_empty()
        });
        let used = |own: bool, slots_back: u64| {
            let accounts = self
                .bytes
                .iter()
                .filter(|((of, operator), _)| *operator == is_operator && (!own || *of == uid));
            let recent = accounts
                .flat_map(|(_, slots)| slots)
                .filter(|(slot, _)| slot.saturating_add(slots_back) > now);
            recent.fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes))
        };
        let day = limits.day_bytes;
        used(false, 144) >= day
            || used(false, 6) >= day >> 2
            || used(true, 144) >= day >> 1
            || used(true, 6) >= day >> 3
    }

    /// Returns what was over the budget: what no record named for a minute, or all of it at the end.
    #[must_use]
    pub fn over(&self, due: Due, boot: Duration) -> Vec<((u32, Class), Suppressed)> {
        let now = boot.as_secs();
        let is_due = |account: &Account| {
            due == Due::All || account.told.is_none_or(|told| told.saturating_add(MINUTE) <= now)
        };
        let accounts = self.requests.iter().filter(|(_, account)| is_due(account));
        accounts.filter_map(|(key, account)| Some((*key, account.over?))).collect()
    }

    /// Forgets what a record has named.
    pub fn told(&mut self, key: (u32, Class), told: Suppressed, boot: Duration) {
        if let Some(account) = self.requests.get_mut(&key) {
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

/// Which of what was over the budget is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// What no record named for a minute.
    Minutely,
    /// All: the recorder ends.
    All,
}

impl Account {
    /// Whether anything of it still counts.
    fn counts(&self, now: u64) -> bool {
        let last = self.seconds.back().map_or(0, |(second, _)| *second).max(self.told.unwrap_or(0));
        self.over.is_some() || last.saturating_add(HOUR) > now
    }

    /// In how many seconds another request fits into this window; none if one does now.
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
