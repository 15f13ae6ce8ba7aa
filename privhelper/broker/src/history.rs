//! History that limits later requests: uses of rules with a `rate`, and denials by people.
//!
//! Both are kept in one file of the broker's own and survive restarts. A denied client backs off by (uid, verb, target):
//! a minute after the first denial, twice as long after each further one, an hour at most. The same bytes are not asked
//! again within an hour.

use crate::error::{Error, Fault};
use postern_peers::{files, locked};
use postern_policy::types::Digest;
use postern_policy::{Code, Denied, Element, Grant, VerbId};
use prost::Message;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Most bytes of the file.
const FILE_MAX: u64 = 16 * 1024 * 1024;
/// The first back-off, in seconds.
const BACKOFF_MIN_S: u64 = 60;
/// The longest back-off, and how long the same bytes are not asked again, in seconds.
const BACKOFF_MAX_S: u64 = 60 * 60;
/// How long the number of denials is remembered after its back-off has ended, in seconds.
const FORGET_S: u64 = 24 * 60 * 60;
/// Most denials that are remembered; those that end first go first.
const DENIALS_MAX: usize = 1000;

/// When requests began under one rule, or under one rule for one person.
#[derive(Clone, PartialEq, Message)]
struct Used {
    #[prost(string, tag = "1")]
    rule: String,
    #[prost(uint64, repeated, tag = "2")]
    begun_unix_ms: Vec<u64>,
}

/// A denial, by digest: of (verb, target) or of a request's bytes.
#[derive(Clone, PartialEq, Message)]
struct Denial {
    #[prost(uint32, tag = "1")]
    uid: u32,
    #[prost(bytes = "vec", tag = "2")]
    about: Vec<u8>,
    #[prost(uint64, tag = "3")]
    until_unix_s: u64,
    #[prost(uint32, tag = "4")]
    times: u32,
    /// The operator's words.
    #[prost(string, tag = "5")]
    reason: String,
}

#[derive(Clone, PartialEq, Message)]
struct HistoryFile {
    #[prost(message, repeated, tag = "1")]
    used: Vec<Used>,
    #[prost(message, repeated, tag = "2")]
    denials: Vec<Denial>,
}

/// Rates and denials.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    file: Mutex<HistoryFile>,
}

/// The uses of rules that one request has taken. Given back if the request does not begin.
#[derive(Debug)]
pub struct Reservation {
    rules: Vec<String>,
    unix_ms: u64,
}

impl History {
    /// Reads what an earlier broker wrote.
    ///
    /// # Errors
    /// The file cannot be read or is damaged; an operator may remove it.
    pub fn open(path: PathBuf) -> Result<Self, Fault> {
        let bytes = files::read(&path, FILE_MAX).map_err(Fault::io("read the history"))?.unwrap_or_default();
        let damaged = |_| Fault::new(Code::Interrupted, format!("{} is damaged; remove it", path.display()));
        let file = Mutex::new(HistoryFile::decode(bytes.as_slice()).map_err(damaged)?);
        Ok(Self { path, file })
    }

    /// Counts a request that is about to begin against the `rate` of each rule that grants it, and against its `person_rate`.
    ///
    /// # Errors
    /// `rate_limited`, or it cannot be written.
    pub fn reserve(&self, grant: &Grant, asker: Option<u32>, unix_ms: u64) -> Result<Reservation, Error> {
        let mut file = locked(&self.file);
        // No window is longer than a day.
        let day_ago = unix_ms.saturating_sub(24 * 60 * 60 * 1000);
        file.used.retain(|used| used.begun_unix_ms.iter().any(|begun| *begun >= day_ago));
        let mut rules = BTreeSet::new();
        for rule in grant.rules() {
            let of_rule = (rule.id.clone(), rule.rate_count, rule.rate_window_s, String::new());
            let of_person = asker.map(|uid| {
                // No id of a rule has a blank.
                let (count, window) = (rule.person_rate_count, rule.person_rate_window_s);
                (format!("{} {uid}", rule.id), count, window, format!(" for uid {uid}"))
            });
            for (used_by, count, window, of) in [of_rule].into_iter().chain(of_person) {
                if count == 0 {
                    continue;
                }
                let words = format!("rate limit of rule {} reached ({count} in {window} s{of})", rule.id);
                file.check_rate(&used_by, (count, window), unix_ms, words)?;
                rules.insert(used_by);
            }
        }
        for rule in &rules {
            match file.used.iter_mut().find(|used| used.rule == *rule) {
                Some(used) => used.begun_unix_ms.push(unix_ms),
                None => file.used.push(Used { rule: rule.clone(), begun_unix_ms: vec![unix_ms] }),
            }
        }
        if !rules.is_empty() {
            write(&self.path, &file)?;
        }
        Ok(Reservation { rules: rules.into_iter().collect(), unix_ms })
    }

    /// Gives a reservation back: the request did not begin.
    ///
    /// # Errors
    /// It cannot be written; the request then counts after a restart.
    pub fn give_back(&self, reservation: &Reservation) -> Result<(), Fault> {
        if reservation.rules.is_empty() {
            return Ok(());
        }
        let mut file = locked(&self.file);
        for used in file.used.iter_mut().filter(|used| reservation.rules.contains(&used.rule)) {
            let place = used.begun_unix_ms.iter().position(|begun| *begun == reservation.unix_ms);
            place.map(|place| used.begun_unix_ms.swap_remove(place));
        }
        file.used.retain(|used| !used.begun_unix_ms.is_empty());
        write(&self.path, &file)
    }

    /// Checks that people may be asked for this.
    ///
    /// # Errors
    /// `denied_recently`, with the operator's words.
    pub fn may_ask(&self, question: &Question, unix_s: u64) -> Result<(), Denied> {
        let file = locked(&self.file);
        let mut denials = question.all().filter_map(|about| file.find(question.uid, about));
        let Some(denial) = denials.find(|denial| denial.until_unix_s > unix_s) else {
            return Ok(());
        };
        let wait = denial.until_unix_s.saturating_sub(unix_s);
        let retry_after_s = u32::try_from(wait).unwrap_or(u32::MAX);
        Err(Denied { retry_after_s, ..Denied::new(Code::DeniedRecently, denial.reason.clone()) })
    }

    /// Remembers that a person denied this.
    ///
    /// # Errors
    /// It cannot be written; it then holds until a restart.
    pub fn denied(&self, question: &Question, reason: &str, unix_s: u64) -> Result<(), Fault> {
        let mut file = locked(&self.file);
        file.denials.retain(|denial| denial.until_unix_s.saturating_add(FORGET_S) > unix_s);
        for about in question.all() {
            let times = file.find(question.uid, about).map_or(0, |denial| denial.times).saturating_add(1);
            let doubled = BACKOFF_MIN_S.checked_shl(times.saturating_sub(1)).unwrap_or(BACKOFF_MAX_S);
            let wait = if about == question.bytes { BACKOFF_MAX_S } else { doubled.min(BACKOFF_MAX_S) };
            let until_unix_s = unix_s.saturating_add(wait);
            let (uid, about) = (question.uid, about.as_bytes().to_vec());
            file.denials.retain(|denial| (denial.uid, &denial.about) != (uid, &about));
            file.denials.push(Denial { uid, about, until_unix_s, times, reason: reason.to_owned() });
        }
        file.denials.sort_by_key(|denial| std::cmp::Reverse(denial.until_unix_s));
        file.denials.truncate(DENIALS_MAX);
        write(&self.path, &file)
    }

    /// Forgets denials of this: a person has approved it.
    ///
    /// # Errors
    /// It cannot be written; they then count again after a restart.
    pub fn approved(&self, question: &Question) -> Result<(), Fault> {
        let mut file = locked(&self.file);
        let before = file.denials.len();
        let is_about = |denial: &Denial| question.all().any(|about| denial.about == about.as_bytes());
        file.denials.retain(|denial| denial.uid != question.uid || !is_about(denial));
        if file.denials.len() == before { Ok(()) } else { write(&self.path, &file) }
    }
}

impl HistoryFile {
    /// Drops old uses, and checks that there is room for another.
    fn check_rate(
        &mut self,
        used_by: &str,
        (count, seconds): (u32, u64),
        unix_ms: u64,
        words: String,
    ) -> Result<(), Denied> {
        let window_ms = seconds.saturating_mul(1000);
        let Some(used) = self.used.iter_mut().find(|used| used.rule == used_by) else { return Ok(()) };
        let oldest = unix_ms.saturating_sub(window_ms);
        used.begun_unix_ms.retain(|begun| *begun >= oldest);
        if used.begun_unix_ms.len() < usize::try_from(count).unwrap_or(usize::MAX) {
            return Ok(());
        }
        let first = used.begun_unix_ms.iter().min().copied().unwrap_or(unix_ms);
        let wait = first.saturating_add(window_ms).saturating_sub(unix_ms).div_ceil(1000);
        let retry_after_s = u32::try_from(wait).unwrap_or(u32::MAX);
        Err(Denied { retry_after_s, ..Denied::new(Code::RateLimited, words) })
    }

    fn find(&self, uid: u32, about: Digest) -> Option<&Denial> {
        self.denials.iter().find(|denial| denial.uid == uid && denial.about == about.as_bytes())
    }
}

/// A request that people would be asked to approve, as denials are compared.
#[derive(Debug, Clone)]
pub struct Question {
    uid: u32,
    /// The request without its `meta`.
    bytes: Digest,
    /// One of each (verb, target).
    targets: Vec<Digest>,
}

impl Question {
    /// The request of this uid with these bytes, as its grant names its targets.
    #[must_use]
    pub fn new(uid: u32, bytes: Digest, elements: &[Element]) -> Self {
        let target = |element: &Element| {
            Digest::of(&[element.verb.name().as_bytes(), b" ", element.object.name().as_bytes()])
        };
        // The rule that permits an undo is not a target.
        let named = elements.iter().filter(|element| element.verb != VerbId::RequestUndo);
        Self { uid, bytes, targets: named.map(target).collect() }
    }

    fn all(&self) -> impl Iterator<Item = Digest> {
        [self.bytes].into_iter().chain(self.targets.iter().copied())
    }
}

fn write(path: &Path, file: &HistoryFile) -> Result<(), Fault> {
    files::replace(path, &file.encode_to_vec()).map_err(Fault::io("write the history"))
}
