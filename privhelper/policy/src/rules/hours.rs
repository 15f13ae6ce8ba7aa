//! Maintenance windows: the weekly hours in which a rule lets anything through.
//!
//! The wall clock of the host's time zone decides. `policy apply` writes the zone into the accepted policy: a client that may
//! set the host's zone moves no window. A window in an hour that summer time skips does not open on that day; one in an
//! hour that comes twice opens twice.

use super::accepted::Policy;
use super::object::{Object, RequiredGrant};
use super::rule::Rule;
use crate::error::{Code, Denied};
use postern_proto::root::v1::{ClockChange, Window};

/// Minutes of a day and of a week.
const DAY: i64 = 24 * 60;
const WEEK: i64 = 7 * DAY;
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The times at which the rules of a request must be open: now, and when the host would reboot. None to cancel a reboot, which
/// could otherwise not be stopped once the window is closed.
pub(super) fn times(unix_s: u64, grants: &[RequiredGrant]) -> Vec<u64> {
    let reboot = grants
        .iter()
        .find_map(|(_, object)| if let Object::Reboot { after_s } = object { Some(*after_s) } else { None });
    match reboot {
        None => vec![unix_s],
        Some(None) => Vec::new(),
        Some(Some(after_s)) => vec![unix_s, unix_s.saturating_add(after_s.into())],
    }
}

impl Policy {
    /// Whether at each of these times one of the rule's windows is open, if it has any.
    ///
    /// # Errors
    /// `limit_exceeded`, with the time at which one opens next.
    pub(super) fn holds_hours(&self, rule: &Rule, times: &[u64]) -> Result<(), Denied> {
        times.iter().try_for_each(|unix_s| {
            let when =
                if times.first() == Some(unix_s) { "at this time" } else { "when the host would reboot" };
            self.is_open_at(rule, *unix_s, when)
        })
    }

    fn is_open_at(&self, rule: &Rule, unix_s: u64, when: &str) -> Result<(), Denied> {
        let changes = &self.wire.clock_changes;
        let now = i64::try_from(unix_s).unwrap_or(i64::MAX);
        let begun = changes.partition_point(|change| change.unix_s <= now);
        let minute = begun.checked_sub(1).and_then(|at| minute_of_week(*changes.get(at)?, now));
        let is_open = |minute| rule.hours.iter().any(|window| is_open(*window, minute));
        if rule.hours.is_empty() || minute.is_some_and(is_open) {
            return Ok(());
        }
        let next = next_opening(&rule.hours, changes.get(begun.saturating_sub(1)..).unwrap_or_default(), now);
        let opens = next.filter(|_| minute.is_some()).map_or_else(
            || "its clock shows no time of the policy's calendar".to_owned(),
            |(_, minute)| format!("it opens next on {} ({})", name(minute), self.wire.zone),
        );
        let why = format!("rule {} is closed {when} (`hours`); {opens}", rule.id);
        let wait = next.and_then(|(at, _)| u32::try_from(at.saturating_sub(now)).ok()).unwrap_or(0);
        Err(Denied { retry_after_s: wait, ..Denied::new(Code::LimitExceeded, why) })
    }
}

/// When one of these windows opens next, with its minute of the week. `changes` begin with the one that holds now. Within a
/// change each window opens once a week; a later change can begin within a window.
fn next_opening(hours: &[Window], changes: &[ClockChange], now: i64) -> Option<(i64, i64)> {
    let ends = changes.iter().skip(1).map(|next| next.unix_s).chain([i64::MAX]);
    changes.iter().zip(ends).find_map(|(change, until)| {
        let from = change.unix_s.max(now);
        let minute = minute_of_week(*change, from)?;
        let opening = |window: &Window| {
            let wait = i64::from(window.start).saturating_sub(minute).rem_euclid(WEEK);
            let wait = if from > now && is_open(*window, minute) { 0 } else { wait };
            let at = from.div_euclid(60).saturating_add(wait).saturating_mul(60);
            (at < until).then_some((at, minute.saturating_add(wait).rem_euclid(WEEK)))
        };
        hours.iter().filter_map(opening).min()
    })
}

/// The minute of the week at this time, while the offset of this change holds.
fn minute_of_week(change: ClockChange, unix_s: i64) -> Option<i64> {
    // 1970-01-01 was a Thursday.
    let minutes = unix_s.checked_add(change.offset_s.into())?.div_euclid(60).checked_add(3 * DAY)?;
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
