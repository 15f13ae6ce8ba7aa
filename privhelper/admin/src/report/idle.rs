//! Rules that nobody needed for a long time, by the log's own clock: its last record is now.

use crate::audit::uses::{RuleUse, Uses};

/// From how many days without use a rule is named.
pub const DAYS: i64 = 90;

/// Whether a rule was used, and not in the log's last [`DAYS`].
pub fn is_idle(own: &RuleUse, uses: &Uses) -> bool {
    let now = uses.head.as_ref().and_then(|(_, time)| day(time));
    let last = own.last.as_deref().and_then(day);
    now.zip(last).is_some_and(|(now, last)| now.saturating_sub(last) >= DAYS)
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
