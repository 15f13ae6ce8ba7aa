//! Schedules: tasks that begin by themselves, at times or when a unit has failed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Schedules that one person may have.
pub const SCHEDULES_LIMIT: usize = 20;
/// Shortest time between two runs, in seconds.
pub const SHORTEST: i64 = 60;
/// Longest interval, in seconds: a year of 366 days.
const LONGEST: u64 = 366 * 24 * 3600;
/// Shortest time between two runs for a failed unit, in seconds.
pub const SPACING: i64 = 600;
/// Most runs for a failed unit within [`DAY`]; after them the schedule pauses.
pub const RUNS_A_DAY: usize = 5;
/// In seconds.
const DAY: i64 = 24 * 3600;
/// A clock that was set back by less changes nothing.
const SET_BACK: i64 = 60;
/// Longest calendar event, in bytes.
const EVENT_LIMIT: usize = 200;

/// The trigger of a schedule: a calendar event, an interval or a failed unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A calendar event of systemd.time(7), or `daily TIME`.
    #[schema(value_type = String)]
    At(CalendarEvent),
    /// So many seconds after the run before; 60 or more.
    #[schema(value_type = u64)]
    EveryS(Interval),
    /// This unit enters the state `failed`.
    #[schema(value_type = String)]
    OnFailed(UnitName),
}

/// Text that may be a calendar event: systemd says whether it is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CalendarEvent(String);

/// Seconds between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Interval(u64);

/// A unit's name with its suffix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UnitName(String);

impl CalendarEvent {
    /// Returns the event as systemd reads it. Systemd has no `daily TIME`; the time alone means the same.
    #[must_use]
    pub fn for_systemd(&self) -> &str {
        let time = self.0.strip_prefix("daily ").map(str::trim_start);
        time.filter(|time| time.starts_with(|first: char| first.is_ascii_digit())).unwrap_or(&self.0)
    }
}

impl TryFrom<String> for CalendarEvent {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" *-:,./~+_".contains(&byte);
        if text.trim().is_empty() || text.len() > EVENT_LIMIT || !text.bytes().all(is_plain) {
            return Err("a calendar event is written as in systemd.time(7), such as \"daily 02:00\" or \
                        \"Mon..Fri 06:30 Europe/Berlin\""
                .to_owned());
        }
        Ok(Self(text))
    }
}

impl From<CalendarEvent> for String {
    fn from(event: CalendarEvent) -> Self {
        event.0
    }
}

impl Interval {
    /// Returns the interval in seconds.
    #[must_use]
    pub fn seconds(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }
}

impl TryFrom<u64> for Interval {
    type Error = String;

    fn try_from(seconds: u64) -> Result<Self, String> {
        if !(SHORTEST.unsigned_abs()..=LONGEST).contains(&seconds) {
            return Err("an interval is 1 minute to 366 days".to_owned());
        }
        Ok(Self(seconds))
    }
}

impl From<Interval> for u64 {
    fn from(interval: Interval) -> Self {
        interval.0
    }
}

impl UnitName {
    /// Returns the name with its suffix.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for UnitName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(&byte);
        if text.is_empty() || text.starts_with(['.', '-']) || !text.bytes().all(is_plain) {
            return Err(format!("{text:?} is no name of a unit"));
        }
        let name = if text.contains('.') { text } else { format!("{text}.service") };
        if name.len() > 255 { Err("a unit's name has at most 255 bytes".to_owned()) } else { Ok(Self(name)) }
    }
}

impl From<UnitName> for String {
    fn from(name: UnitName) -> Self {
        name.0
    }
}

/// Whether a schedule begins runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleState {
    /// It does.
    Active,
    /// Not until it is resumed.
    Paused,
    /// Its last time is over.
    Ended,
}

/// A schedule, as the HTTP service shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Schedule {
    /// A UUID of version 7.
    pub id: String,
    /// The name of its owner when it was made.
    pub person: String,
    /// The order.
    pub task: String,
    /// The trigger of its runs.
    pub trigger: Trigger,
    /// Whether it begins runs.
    pub state: ScheduleState,
    /// Why it was paused, or why the last run was left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The next run, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_unix_s: Option<i64>,
    /// When the next run was planned, in seconds since 1970.
    pub planned_unix_s: i64,
    /// The last failure of the unit that was seen: systemd's time of it, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_failure_us: Option<u64>,
    /// When the trigger's last runs began, in seconds since 1970, the newest last.
    pub begun_unix_s: Vec<i64>,
    /// The task of the last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_task: Option<String>,
}

/// The response of a schedule to a failure of its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// Nothing: there is none, or it was seen before.
    Nothing,
    /// A run.
    Run,
    /// No run, for this reason: the run before it has not ended.
    LeaveOut(String),
    /// Nothing yet: the run before it began too short a time ago.
    Wait,
    /// Pause the schedule, for this reason.
    Pause(String),
}

impl Schedule {
    /// Returns whether a run is due, also one whose time is long over because the host or the agent was off.
    #[must_use]
    pub fn is_due(&self, now: i64) -> bool {
        self.is_active() && self.next_unix_s.is_some_and(|next| next <= now)
    }

    /// Returns whether it begins runs.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.state == ScheduleState::Active
    }

    /// Returns whether the clock was set back since the next run was planned: that time may be years ahead.
    #[must_use]
    pub fn was_set_back(&self, now: i64) -> bool {
        self.is_active() && now.saturating_add(SET_BACK) < self.planned_unix_s
    }

    /// Returns whether the next run has to be planned: a run was made, or the clock was set back.
    #[must_use]
    pub fn needs_plan(&self, now: i64) -> bool {
        let is_timed = !matches!(self.trigger, Trigger::OnFailed(_));
        is_timed && self.is_active() && (self.next_unix_s.is_none() || self.was_set_back(now))
    }

    /// Returns the time after which the next run is looked for.
    #[must_use]
    pub fn plan_from(&self, now: i64) -> i64 {
        if self.was_set_back(now) { now } else { now.max(self.planned_unix_s) }
    }

    /// Takes the time that is due, and plans the next one of an interval.
    pub fn take_due(&mut self, now: i64) {
        let due = self.next_unix_s.unwrap_or(now);
        // Systemd tells whole seconds: looked for from the same second on, this time would come again.
        self.planned_unix_s = now.max(due.saturating_add(1));
        self.next_unix_s = match &self.trigger {
            Trigger::EveryS(interval) => {
                let (in_step, from_now) =
                    (due.saturating_add(interval.seconds()), now.saturating_add(interval.seconds()));
                Some(if in_step > now { in_step } else { from_now })
            }
            Trigger::At(_) | Trigger::OnFailed(_) => None,
        };
    }

    /// Plans the next run; without one the schedule has ended.
    pub fn plan(&mut self, now: i64, next: Option<i64>) {
        (self.planned_unix_s, self.next_unix_s) = (now, next);
        if next.is_none() && !matches!(self.trigger, Trigger::OnFailed(_)) {
            self.state = ScheduleState::Ended;
        }
    }

    /// Begins a run: by its trigger at a time, or by its person.
    pub fn begin(&mut self, by_trigger: Option<i64>, task: &str) {
        if self.is_active() {
            self.note.clear();
        }
        self.begun_unix_s.extend(by_trigger);
        let over = self.begun_unix_s.len().saturating_sub(RUNS_A_DAY);
        self.begun_unix_s.drain(..over);
        self.last_task = Some(task.to_owned());
    }

    /// Pauses it.
    pub fn pause(&mut self, why: &str) {
        self.state = ScheduleState::Paused;
        self.next_unix_s = None;
        why.clone_into(&mut self.note);
    }

    /// Decides what follows from the unit's failure at this time of systemd's, if it has failed.
    #[must_use]
    pub fn on_failure(&self, now: i64, failed_us: Option<u64>, is_running: bool) -> OnFailure {
        if !self.is_active() || failed_us.is_none() || failed_us == self.seen_failure_us {
            return OnFailure::Nothing;
        }
        if is_running {
            return OnFailure::LeaveOut("the unit failed again while the last run was at work".to_owned());
        }
        let since = |within: i64| {
            let is_recent = |begun: &&i64| (0..within).contains(&now.saturating_sub(**begun));
            self.begun_unix_s.iter().filter(is_recent).count()
        };
        if since(DAY) >= RUNS_A_DAY {
            return OnFailure::Pause(format!("{RUNS_A_DAY} runs within a day, and the unit failed again"));
        }
        if since(SPACING) > 0 { OnFailure::Wait } else { OnFailure::Run }
    }
}
