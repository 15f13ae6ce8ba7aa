//! When a calendar event comes next: systemd says, through `systemd-analyze calendar`.
//!
//! No parser of our own can disagree with systemd then, on syntax, time zones or the changes of summer time, and none
//! has to be kept up with it. It costs one short process when a schedule is made and one after each run.

use crate::protocol::schedule::CalendarEvent;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::process::Command;

/// Longest time that it may take.
const TIME: Duration = Duration::from_secs(5);
/// The end of `systemd-analyze`'s message about text that is no calendar event.
const INVALID: &str = "Failed to parse calendar specification";

/// Why the next times are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CalendarError {
    /// The text is no calendar event.
    Invalid(String),
    /// Systemd could not be asked.
    Unavailable(String),
}

/// Finds the next times of a calendar event after a time, in seconds since 1970: up to `count`, none if it never comes.
///
/// # Errors
/// Systemd does not say so.
pub async fn next_times(
    program: &Path,
    event: &CalendarEvent,
    after_unix_s: i64,
    count: u8,
) -> Result<Vec<i64>, CalendarError> {
    let unavailable =
        |why: &str| CalendarError::Unavailable(format!("{} calendar: {why}", program.display()));
    let running = Command::new(program)
        .arg("calendar")
        .arg(format!("--iterations={count}"))
        .arg(format!("--base-time=@{after_unix_s}"))
        .arg("--")
        .arg(event.for_systemd())
        .env_clear()
        .env("LANG", "C.UTF-8")
        .current_dir("/")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(TIME, running)
        .await
        .map_err(|_| unavailable("no answer within 5 s"))?
        .map_err(|error| unavailable(&error.to_string()))?;
    let Output { status, stdout, stderr } = output;
    if !status.success() {
        let message = String::from_utf8_lossy(&stderr);
        let message = message.trim();
        return Err(if message.contains(INVALID) {
            let event = event.for_systemd();
            CalendarError::Invalid(format!("{event:?} is no calendar event of systemd.time(7)"))
        } else {
            unavailable(if message.is_empty() { "it failed" } else { message })
        });
    }
    let text = String::from_utf8_lossy(&stdout);
    let times = times(&text);
    if times.is_empty() && !text.lines().any(|line| line.trim_end().ends_with("elapse: never")) {
        return Err(unavailable("its answer has no time"));
    }
    Ok(times)
}

/// Reads the times in an answer. Each stands in local time and, where that is not UTC, in UTC as well; of a zone that is UTC
/// under the name GMT in that one alone.
#[must_use]
pub fn times(answer: &str) -> Vec<i64> {
    let time = |line: &str| {
        let (label, value) = line.split_once(": ")?;
        // "Original form" and "Normalized form" repeat the event, which may look like a time.
        if label.ends_with("form") {
            return None;
        }
        let value = value.trim_end();
        let value = value.strip_suffix(" UTC").or_else(|| value.strip_suffix(" GMT"))?;
        let at = DateTime::strptime("%a %Y-%m-%d %H:%M:%S", value).ok()?;
        Some(at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
    };
    let mut times: Vec<i64> = answer.lines().filter_map(time).collect();
    times.dedup();
    times
}
