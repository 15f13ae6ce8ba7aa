//! Lines that a person sees while a request waits for somebody's approval.

use crate::protocol::event::Completed;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// How the person finds the outcome later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Later {
    /// The agent goes on with this task.
    Task(String),
    /// The helper keeps the outcome of this request.
    Request(String),
    /// The task ends with this process; so many a request is still done.
    Nowhere,
}

/// The time of day here, with the date where it is not today's.
#[must_use]
pub fn clock(unix_s: u64) -> String {
    let zone = TimeZone::system();
    let Some(at) = i64::try_from(unix_s).ok().and_then(|s| Timestamp::from_second(s).ok()) else {
        return format!("second {unix_s} since 1970");
    };
    let (at, now) = (at.to_zoned(zone.clone()), Timestamp::now().to_zoned(zone));
    let format = if at.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    at.strftime(format).to_string()
}

/// Says when a change is taken back by itself, and how it is kept; `None` if it stays.
#[must_use]
pub fn deadline(done: &Completed, request_id: &str) -> Option<String> {
    let until = (done.keep_until_unix_s > 0).then(|| moment(done.keep_until_unix_s))?;
    Some(match done.loaded_by.as_slice() {
        [] => format!("taken back at {until}; to keep it, log in anew and run: postern keep {request_id}"),
        loads => format!(
            "taken back at {until}, or with its load; to keep it, keep a later run of {}",
            loads.join(" and ")
        ),
    })
}

/// A time with its date and zone, as the person's clock shows it.
#[must_use]
pub fn moment(unix_s: u64) -> String {
    let at = i64::try_from(unix_s).ok().and_then(|s| Timestamp::from_second(s).ok());
    at.map_or_else(
        || format!("second {unix_s} since 1970"),
        |at| at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string(),
    )
}

/// The time of day at which a request was made, by its id.
#[must_use]
pub fn time_of(request_id: &str) -> Option<String> {
    let (unix_s, _) = uuid::Uuid::try_parse(request_id).ok()?.get_timestamp()?.to_unix();
    Some(clock(unix_s))
}

/// Says who can approve, until when, and what the person can do meanwhile. `which` is the argument of
/// `postern-admin approve`, `who` names people.
#[must_use]
pub fn waiting(which: &str, expires_unix_s: u64, rule: &str, who: &str, later: &Later) -> Vec<String> {
    let by = if rule.is_empty() { String::new() } else { format!(" (rule {rule})") };
    let now = u64::try_from(Timestamp::now().as_second()).unwrap_or_default();
    let minutes = expires_unix_s.saturating_sub(now).div_ceil(60);
    let plural = if minutes == 1 { "" } else { "s" };
    let mut lines = vec![
        format!(
            "  waits for approval{by} until {}, {minutes} minute{plural} from now",
            clock(expires_unix_s)
        ),
        format!("  who can approve: {who}"),
        format!("  with: postern-admin approve {which}"),
    ];
    match later {
        Later::Task(id) => {
            lines.push(format!("  this terminal may be closed; to look again: postern tasks show {id}"));
        }
        Later::Request(id) => {
            lines.push(format!("  this terminal may be closed; to look again: postern result {id}"));
        }
        Later::Nowhere => {
            lines.push("  with --direct the steps after this one need this terminal to stay open".to_owned());
        }
    }
    lines
}
