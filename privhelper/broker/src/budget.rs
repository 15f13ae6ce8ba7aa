//! Budgets of requests per client uid: beyond them a request is refused before it is decoded, and counted.

use postern_peers::{Suppressed, Window};
use postern_policy::{Code, Denied};
use postern_proto::root::v1::AuditLimits;
use std::collections::HashMap;
use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// Reads and checks have so many times the budget of effects.
const READS: u32 = 10;

/// The budget that a request counts against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A request that may have an effect, or bytes that were not decoded.
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
    /// Returns the limits in `[audit]` of the policy, or the defaults of `privhelper/audit/AUDIT.md`, "Budget".
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
        self.0.retain(|_, account| account.keep(now));
        let account = self.0.entry(uid).or_default();
        let (window, what) = match class {
            Class::Effect => (&mut account.effects, "requests"),
            Class::Read => (&mut account.reads, "reads and checks"),
        };
        let limits = [(MINUTE, limits.per_minute, "minute"), (HOUR, limits.per_hour, "hour")];
        let waits = limits.map(|(length, most, name)| (window.wait(length, most.into(), now), most, name));
        let Some((Some(wait), most, name)) = waits.into_iter().max_by_key(|(wait, ..)| *wait) else {
            window.add(now, 1);
            return Ok(());
        };
        self.suppress(uid, unix);
        // The waiting time is a field of its own, which the client adds to the message.
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

    /// Takes the suppressed requests of each uid that had no report within the last minute.
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
    /// Drops what matters to no limit any more; false if nothing is left.
    fn keep(&mut self, now: u64) -> bool {
        let has_any = [self.effects.keep(HOUR, now), self.reads.keep(HOUR, now)].contains(&true);
        has_any || self.over.is_some() || self.reported.is_some_and(|at| at.saturating_add(HOUR) > now)
    }
}
