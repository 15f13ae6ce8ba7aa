//! Budgets of requests per client uid: beyond them a request is refused before it is decoded, and counted.

use postern_policy::{Code, Denied};
use postern_proto::root::v1::AuditLimits;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// Reads and checks have so many times the budget of effects.
const READS: u32 = 10;

/// What a request counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A request that may have an effect, or bytes of which nothing is known.
    Effect,
    /// A read, PREVIEW or CHECK.
    Read,
}

/// How many requests a uid has within a minute and within an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    per_minute: u32,
    per_hour: u32,
}

impl Limits {
    /// Those of a policy's `[audit]`, or the defaults of CONTRACTS 7 where it has none.
    #[must_use]
    pub fn new(audit: &AuditLimits, class: Class) -> Self {
        let or = |set: u32, default: u32| if set == 0 { default } else { set };
        let times = if class == Class::Read { READS } else { 1 };
        Self {
            per_minute: or(audit.records_per_minute, 60).saturating_mul(times),
            per_hour: or(audit.records_per_hour, 2000).saturating_mul(times),
        }
    }
}

/// Requests in each second that had any, oldest first.
#[derive(Debug, Default)]
struct Window(VecDeque<(u64, u32)>);

/// Requests that were over a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suppressed {
    /// How many.
    pub count: u64,
    /// When the first came, since 1970.
    pub first: Duration,
    /// When the last came.
    pub last: Duration,
}

#[derive(Debug, Default)]
struct Account {
    effects: Window,
    reads: Window,
    over: Option<Suppressed>,
    /// The second since boot in which the last `suppressed` record was due.
    reported: Option<u64>,
}

/// The requests of each uid within the last hour.
#[derive(Debug, Default)]
pub struct Budget(HashMap<u32, Account>);

impl Budget {
    /// Counts a request. Times since boot and since 1970.
    ///
    /// # Errors
    /// `rate_limited`: the uid has used its budget up.
    pub fn admit(
        &mut self,
        uid: u32,
        class: Class,
        limits: Limits,
        (boot, unix): (Duration, Duration),
    ) -> Result<(), Denied> {
        let now = boot.as_secs();
        self.0.retain(|_, account| account.counts(now));
        let account = self.0.entry(uid).or_default();
        let (window, what) = match class {
            Class::Effect => (&mut account.effects, "requests"),
            Class::Read => (&mut account.reads, "reads and checks"),
        };
        window.0.retain(|(second, _)| second.saturating_add(HOUR) > now);
        let limits = [(MINUTE, limits.per_minute, "minute"), (HOUR, limits.per_hour, "hour")];
        let waits = limits.map(|(length, most, name)| (window.wait(length, most, now), most, name));
        let Some((Some(wait), most, name)) = waits.into_iter().max_by_key(|(wait, ..)| *wait) else {
            window.add(now);
            return Ok(());
        };
        self.suppress(uid, unix);
        // How long to wait is a field of its own, which whoever shows the message adds.
        let message = format!("rate limit reached ({most} {what} a {name} for uid {uid})");
        let retry_after_s = u32::try_from(wait).unwrap_or(u32::MAX);
        Err(Denied { retry_after_s, ..Denied::new(Code::RateLimited, message) })
    }

    /// Counts a request that gets no record of its own.
    pub fn suppress(&mut self, uid: u32, unix: Duration) {
        let over = &mut self.0.entry(uid).or_default().over;
        let before = over.unwrap_or(Suppressed { count: 0, first: unix, last: unix });
        *over = Some(Suppressed { count: before.count.saturating_add(1), last: unix, ..before });
    }

    /// Takes what was over the budgets of uids of which nothing was reported for a minute.
    pub fn report(&mut self, boot: Duration) -> Vec<(u32, Suppressed)> {
        let now = boot.as_secs();
        let is_due = |account: &Account| account.reported.is_none_or(|at| at.saturating_add(MINUTE) <= now);
        let due = self.0.iter_mut().filter(|(_, account)| is_due(account));
        due.filter_map(|(uid, account)| {
            let over = account.over.take()?;
            account.reported = Some(now);
            Some((*uid, over))
        })
        .collect()
    }
}

impl Account {
    /// Whether it still matters to any limit.
    fn counts(&self, now: u64) -> bool {
        let last = |window: &Window| window.0.back().map_or(0, |(second, _)| *second);
        let last = last(&self.effects).max(last(&self.reads)).max(self.reported.unwrap_or(0));
        self.over.is_some() || last.saturating_add(HOUR) > now
    }
}

impl Window {
    fn add(&mut self, now: u64) {
        match self.0.back_mut().filter(|(second, _)| *second == now) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.0.push_back((now, 1)),
        }
    }

    /// In how many seconds there is room within the last `length` seconds; none if there is now.
    fn wait(&self, length: u64, most: u32, now: u64) -> Option<u64> {
        let mut left = most;
        for (second, count) in self.0.iter().rev() {
            if second.saturating_add(length) <= now {
                return None;
            }
            left = left.saturating_sub(*count);
            if left == 0 {
                return Some(second.saturating_add(length).saturating_sub(now).max(1));
            }
        }
        None
    }
}
