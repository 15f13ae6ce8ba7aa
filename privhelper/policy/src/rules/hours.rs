//! Maintenance windows: the weekly hours in which a rule lets anything through.
//!
//! The wall clock of the host's time zone decides. `policy apply` writes the zone into the accepted policy: a client that may
//! set the host's zone moves no window. A window in an hour that summer time skips does not open on that day; one in an
//! hour that comes twice opens twice.

use super::accepted::Policy;
use super::rule::Rule;
use crate::error::{Code, Denied};
use postern_proto::root::v1::{ClockChange, Window};

/// Minutes of a day and of a week.
const DAY: i64 = 24 * 60;
const WEEK: i64 = 7 * DAY;
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

impl Policy {
    /// Whether one of the rule's windows is open, if it has any.
    ///
    /// # Errors
    /// `limit_exceeded`, with the time at which one opens next.
    pub(super) fn holds_hours(&self, rule: &Rule, unix_s: u64) -> Result<(), Denied> {
        let changes = &self.wire.clock_changes;
        let opened = |at: i64| {
            let minute = minute_of_week(changes, at)?;
            rule.hours.iter().any(|window| is_open(*window, minute)).then_some(minute)
        };
        let now = i64::try_from(unix_s).unwrap_or(i64::MAX);
        if rule.hours.is_empty() || opened(now).is_some() {
            return Ok(());
        }
        // Two weeks: summer time may skip a window of the first.
        let minutes =
            (1..=2 * WEEK).map(|minute| now.div_euclid(60).saturating_add(minute).saturating_mul(60));
        let next = minutes.into_iter().find_map(|at| Some((at, opened(at)?)));
        let opens = next.map_or_else(
            || "its clock shows no time of the policy's calendar".to_owned(),
            |(_, minute)| format!("it opens next on {} ({})", name(minute), self.wire.zone),
        );
        let why = format!("rule {} is closed at this time (`hours`); {opens}", rule.id);
        let wait = next.and_then(|(at, _)| u32::try_from(at.saturating_sub(now)).ok()).unwrap_or(0);
        Err(Denied { retry_after_s: wait, ..Denied::new(Code::LimitExceeded, why) })
    }
}

/// The minute of the week at this time; none before the first change that the policy knows.
fn minute_of_week(changes: &[ClockChange], unix_s: i64) -> Option<i64> {
    let begun = changes.partition_point(|change| change.unix_s <= unix_s);
    let offset = changes.get(begun.checked_sub(1)?)?.offset_s;
    // 1970-01-01 was a Thursday.
    let minutes = unix_s.checked_add(offset.into())?.div_euclid(60).checked_add(3 * DAY)?;
    Some(minutes.rem_euclid(WEEK))
}

fn is_open(window: Window, minute: i64) -> bool {
    minute.saturating_sub(window.start.into()).rem_euclid(WEEK) < window.minutes.into()
}

/// `Sun 02:00`.
fn name(minute: i64) -> String {
    let day = usize::try_from(minute.rem_euclid(WEEK) / DAY).ok().and_then(|day| DAYS.get(day));
    format!("{} {}", day.unwrap_or(&""), clock(minute))
}

/// `02:00`.
fn clock(minute: i64) -> String {
    format!("{:02}:{:02}", minute.rem_euclid(DAY) / 60, minute.rem_euclid(60))
}

/// A window as policies have it: `Sun 02:00-05:00`.
pub fn window_words(window: &Window) -> String {
    let end = i64::from(window.start).saturating_add(window.minutes.into());
    let end = if end.rem_euclid(DAY) == 0 { "24:00".to_owned() } else { clock(end) };
    format!("{}-{end}", name(window.start.into()))
}
