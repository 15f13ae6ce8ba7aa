//! Rules that nobody needed for a long time, by the log's own clock: its last record is now.

use super::model::Unused;
use crate::audit::uses::{RuleUse, Uses};

/// From how many days without use a rule is named.
pub const DAYS: i64 = 90;

/// Whether a rule was used, and not in the log's last [`DAYS`].
pub fn is_idle(own: &RuleUse, uses: &Uses) -> bool {
    let now = uses.head.as_ref().and_then(|(_, time)| day(time));
    let last = own.last.as_deref().and_then(day);
    now.zip(last).is_some_and(|(now, last)| now.saturating_sub(last) >= DAYS)
}

/// Since when a rule of this policy was not used, if it never was. A rule cannot be older than the log can tell: the log begins, or
/// the policy was applied, and an earlier policy may not have had the rule.
pub fn unused(own: &RuleUse, uses: &Uses, policy: &str) -> Option<Unused> {
    if own.is_used() {
        return None;
    }
    let first = uses.first.as_deref()?;
    let (since, reason) = match &uses.in_force {
        Some(known) if known.policy != policy => return None,
        // A log that begins with a start was begun under a policy that was applied before.
        Some(known) if known.by_uid.is_some() => (known.time.as_str(), "the policy was applied then"),
        Some(_) | None => (first, "the log begins there"),
    };
    let now = uses.head.as_ref().and_then(|(_, time)| day(time));
    let is_long = now.zip(day(since)).is_some_and(|(now, since)| now.saturating_sub(since) >= DAYS);
    Some(Unused { since: since.get(..10)?.to_owned(), reason, is_long })
}

/// Days since 1970-01-01 of a record's time (Hinnant's days from civil). A month begins in March, so that the leap day is a year's last.
fn day(rfc3339: &str) -> Option<i64> {
    let mut parts = rfc3339.get(..10)?.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468)
}
