//! How long after their time the agent's records were anchored: until then their user could have rewritten them.
//!
//! A time is the agent's own word. It cannot lie far ahead of the anchor that covers its record, nor far behind the anchor before
//! it, unless the host's clock was set: both are reported.

use super::record::Record;
use jiff::Timestamp;
use serde::Serialize;

/// Seconds that are no delay: an anchor is due once a minute, and a helper that restarts misses some.
const PROMPT: i64 = 300;
/// Spans that are kept, and those of them that people are shown.
const KEPT: usize = 100;
const SHOWN: usize = 5;

/// When the recorder noted an end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noted {
    /// The agent's record.
    pub seq: u64,
    /// The recorder's time, in seconds since 1970.
    pub at: i64,
}

/// The anchors that say when a record was known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Anchors {
    /// By the order of the recorder; the numbers rise.
    noted: Vec<Noted>,
    /// The recorder's log begins with its first record. If not, an earlier anchor may be gone.
    is_whole: bool,
}

/// Records in a row of which the same is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
    /// The most seconds of one of them.
    pub seconds: u64,
}

/// Spans, the first of them; more are counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans {
    /// In order.
    pub first: Vec<Span>,
    /// How many more there are.
    pub more: usize,
    /// The last record that is in one.
    last: Option<u64>,
}

/// The delays of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delays {
    /// Records that were anchored late.
    pub late: Spans,
    /// Records whose times are not between those of the anchors around them.
    pub misdated: Spans,
    /// When the oldest record was written that is not anchored.
    pub waits_since: Option<i64>,
    /// Records up to this one may have been anchored by a file of the recorder's that is gone.
    pub unknown_to: Option<u64>,
    /// The anchor that covers the next record.
    next: usize,
}

impl Anchors {
    /// The anchors, as the recorder noted them one after the other.
    #[must_use]
    pub fn new(noted: impl Iterator<Item = Noted>, is_whole: bool) -> Self {
        let mut rising: Vec<Noted> = Vec::new();
        for one in noted {
            // An end that was covered before says nothing new.
            if rising.last().is_none_or(|last| last.seq < one.seq) {
                rising.push(one);
            }
        }
        Self { noted: rising, is_whole }
    }
}

impl Spans {
    fn add(&mut self, seq: u64, seconds: u64) {
        let follows = self.last.is_some_and(|last| seq == last || seq == last.saturating_add(1));
        self.last = Some(seq);
        if !follows && self.first.len() < KEPT {
            self.first.push(Span { from: seq, to: seq, seconds });
        } else if !follows {
            self.more += 1;
        } else if let (Some(span), 0) = (self.first.last_mut(), self.more) {
            (span.to, span.seconds) = (seq, span.seconds.max(seconds));
        }
    }

    /// The records, for people; `None` where there are none.
    fn words(&self, before: &str, after: &str) -> Option<String> {
        let span = |span: &Span| {
            let Span { from, to, seconds } = span;
            let records = if from == to { from.to_string() } else { format!("{from} to {to}") };
            format!("{records} ({before} {}{after})", length(*seconds))
        };
        let mut words: Vec<String> = self.first.iter().take(SHOWN).map(span).collect();
        let more = self.first.len().saturating_sub(SHOWN) + self.more;
        if more > 0 {
            words.push(format!("{more} more spans"));
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

impl Delays {
    /// Takes the next record of the log.
    pub(super) fn take(&mut self, anchors: &Anchors, record: &Record<'_>) {
        let noted = &anchors.noted;
        while noted.get(self.next).is_some_and(|anchor| anchor.seq < record.seq) {
            self.next += 1;
        }
        let before = self.next.checked_sub(1).and_then(|index| noted.get(index));
        let covering = noted.get(self.next);
        let Some(at) = seconds(record.time) else { return self.misdated.add(record.seq, 0) };
        let ahead = covering.map_or(0, |anchor| at.saturating_sub(anchor.at));
        let behind = before.map_or(0, |anchor| anchor.at.saturating_sub(at));
        if let Some(wrong) = over(ahead.max(behind)) {
            self.misdated.add(record.seq, wrong);
        }
        match covering {
            None => self.waits_since = self.waits_since.or(Some(at)),
            Some(anchor) if self.next == 0 && !anchors.is_whole => self.unknown_to = Some(anchor.seq),
            Some(anchor) => {
                if let Some(late) = over(anchor.at.saturating_sub(at)) {
                    self.late.add(record.seq, late);
                }
            }
        }
    }

    /// How long the oldest record waits for its anchor, if that is not just written.
    #[must_use]
    pub fn waits(&self, now: u64) -> Option<u64> {
        over(i64::try_from(now).ok()?.saturating_sub(self.waits_since?))
    }

    /// What was found, in lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let late = self.late.words("up to", " after their time").map(|records| {
            format!("anchored late: records {records}; until then their user could have rewritten them")
        });
        let misdated = self.misdated.words("by", "").map(|records| {
            format!(
                "misdated: records {records}: their times are not between those of the anchors around them; the host's clock was \
                 set, or their user wrote other times"
            )
        });
        let unknown = self.unknown_to.map(|to| {
            format!("how soon records up to {to} were anchored is not known: older files of the recorder's log are gone")
        });
        [late, misdated, unknown].into_iter().flatten().collect()
    }
}

/// A delay that is one.
fn over(seconds: i64) -> Option<u64> {
    u64::try_from(seconds).ok().filter(|_| seconds > PROMPT)
}

/// The time of a record, in seconds since 1970.
fn seconds(time: &[u8]) -> Option<i64> {
    Some(std::str::from_utf8(time).ok()?.parse::<Timestamp>().ok()?.as_second())
}

/// The time of the recorder's record as it is in the log.
pub(super) fn noted(seq: u64, time: &str) -> Option<Noted> {
    Some(Noted { seq, at: seconds(time.as_bytes())? })
}

/// A length of time in its two largest units.
pub(super) fn length(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes} min"),
        (0, _) => format!("{hours} h {minutes} min"),
        (_, _) => format!("{days} d {hours} h"),
    }
}
