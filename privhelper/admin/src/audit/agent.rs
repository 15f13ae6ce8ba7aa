//! The agent's own log: its chain, held against the ends of it that the recorder's log has (`agent.note`).
//!
//! The agent may change its files at will. It cannot change what the recorder has noted: a log that was cut, changed or
//! replaced before the last anchor does not match. What comes after it is the agent's word alone.

use super::chain::{self, Extent, Verdict};
use super::delays::{Anchors, length, noted};
use super::files::files_of_another_user;
use super::lines::Lines;
use super::proof::{KnownRecord, Proof, Source};
use super::record::{Hex, Record, hex};
use crate::host::Host;
use crate::text::{count, escape, now};
use postern_policy::types::Digest;
use postern_record::rfc3339;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;
use std::iter;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The user of `postern serve`.
const USER: &str = "postern";
/// The agent removes no file that was written within 30 days; a day is for clocks that are set.
const KEPT: Duration = Duration::from_secs(29 * 24 * 60 * 60);
/// A log that changes while it is read is read again, if something seems to be wrong with it.
const TRIES: usize = 3;

/// An end of the agent's log that the recorder noted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Anchor {
    /// Number and hash of the agent's record.
    seq: u64,
    hash: Hex,
    /// Number and time of the recorder's.
    noted: u64,
    time: String,
}

/// The members of a `note` that count.
#[derive(Deserialize)]
struct Note {
    time: String,
    client: Client,
    args: Args,
}

#[derive(Deserialize)]
struct Client {
    uid: u32,
}

#[derive(Deserialize)]
struct Args {
    seq: u64,
    tip: String,
}

/// The verification of the agent's log.
#[derive(Debug)]
pub struct AgentLog {
    verdict: Verdict,
    files: usize,
    /// The last record of it that is anchored.
    anchored: Option<u64>,
    /// What is wrong, in one sentence.
    wrong: Option<String>,
}

/// Verifies the agent's log of this host against the anchors in these files of the recorder's. None: there is neither. A log that
/// is there and that root cannot read is not valid: its user decides what stands at its place.
///
/// # Errors
/// Why it cannot be verified: the recorder's log cannot be read, or the caller may not read the agent's.
pub fn verify(host: &Host, recorders: &[PathBuf]) -> Result<Option<AgentLog>, String> {
    let Some(uid) = (host.accounts.user)(USER) else { return Ok(None) };
    let (anchors, known_since) = anchors(recorders, uid)?;
    let list = || match files_of_another_user(&host.agent_log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed,
    };
    let known = anchors.iter().map(|anchor| KnownRecord {
        seq: anchor.seq,
        hash: anchor.hash,
        key: None,
        source: Source::Anchor,
    });
    let proof = Proof { known: known.collect(), anchors: known_since, ..Proof::default() };
    let mut attempt = 1;
    loop {
        let found = match list() {
            Ok(found) => found,
            Err(error) => return unreadable(&host.agent_log, &error),
        };
        if found.is_empty() && anchors.is_empty() {
            return Ok(None);
        }
        let size = || found.last().and_then(|file| Some(file.symlink_metadata().ok()?.len()));
        let before = size();
        let verdict = chain::verify(&found, Extent::Agents, &proof);
        let is_right = verdict.as_ref().is_ok_and(|verdict| verdict.bad.is_none());
        // A record that is just being written, and a file that is just being put away, look like a fault.
        let has_moved = || size() != before || list().is_ok_and(|now| now != found);
        if !is_right && attempt < TRIES && has_moved() {
            attempt += 1;
            continue;
        }
        return match verdict {
            Ok(verdict) => Ok(Some(AgentLog::new(verdict, found.len(), &anchors))),
            Err((file, error)) => unreadable(&file, &error),
        };
    }
}

/// A file of the agent's that cannot be read: nothing is proven.
fn unreadable(path: &Path, error: &io::Error) -> Result<Option<AgentLog>, String> {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return Err("only root can read the agent's log".to_owned());
    }
    let wrong = format!("{} cannot be read: {error}", path.display());
    let verdict = Verdict::default();
    Ok(Some(AgentLog { verdict, files: 0, anchored: None, wrong: Some(wrong) }))
}

/// The anchors of this uid in the recorder's log, by the number of the agent's record; and when they were noted.
fn anchors(recorders: &[PathBuf], uid: u32) -> Result<(Vec<Anchor>, Anchors), String> {
    let (mut anchors, mut first) = (Vec::new(), None);
    for file in recorders {
        let failed = |error: io::Error| format!("{}: {error}", file.display());
        let mut lines = Lines::open(file).map_err(failed)?;
        while let Some((line, _)) = lines.next().map_err(failed)? {
            let Ok(record) = Record::read(line) else { continue };
            first = first.or(Some(record.seq));
            if record.event == b"note" {
                anchors.extend(Anchor::of(&record, uid));
            }
        }
    }
    let noted = anchors.iter().filter_map(|anchor: &Anchor| noted(anchor.seq, &anchor.time));
    let since = Anchors::new(noted, first == Some(1));
    // The first note of an end says when it was known.
    anchors.sort_by_key(|anchor| (anchor.seq, anchor.noted));
    anchors.dedup_by(|later, first| (later.seq, later.hash) == (first.seq, first.hash));
    Ok((anchors, since))
}

impl Anchor {
    fn of(record: &Record<'_>, uid: u32) -> Option<Self> {
        let note: Note = serde_json::from_slice(record.line).ok()?;
        let hash = hex(&Digest::from_hex(&note.args.tip)?.array());
        let anchor = Self { seq: note.args.seq, hash, noted: record.seq, time: note.time };
        (note.client.uid == uid).then_some(anchor)
    }
}

impl AgentLog {
    fn new(verdict: Verdict, files: usize, anchors: &[Anchor]) -> Self {
        let anchored = verdict.state.known_to;
        let wrong = match &verdict.bad {
            Some(bad) => Some(format!("{}: {}", bad.kind.name(), bad.reason)),
            None => removed(&verdict, anchors),
        };
        Self { verdict, files, anchored, wrong }
    }

    /// Whether it is what the recorder noted.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.wrong.is_none()
    }

    /// What was found, in lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let Verdict { records, first_seq, last_seq, .. } = &self.verdict;
        let records = count(usize::try_from(*records).unwrap_or(usize::MAX), "record");
        let span = match (first_seq, last_seq) {
            (Some(first), Some(last)) => format!(" ({first} to {last})"),
            _ => String::new(),
        };
        if let Some(wrong) = &self.wrong {
            let file = self.verdict.bad.as_ref().map_or_else(String::new, |bad| {
                let line = if bad.line == 0 { String::new() } else { format!(":{}", bad.line) };
                format!("{}{line}: ", bad.file.display())
            });
            return vec![
                format!("agent's log: NOT VALID: {}", escape(&format!("{file}{wrong}"))),
                format!("agent's log: valid before it: {records}{span}"),
            ];
        }
        let valid = format!("agent's log: valid: {records}{span} in {}", count(self.files, "file"));
        let (anchored, last) = (self.anchored.unwrap_or(0), last_seq.unwrap_or(0));
        let waits = self.verdict.delays.waits(now());
        let waits =
            waits.map_or_else(String::new, |age| format!("; the oldest of them waits for {}", length(age)));
        let first = match (anchored, last.saturating_sub(anchored)) {
            (0, _) => format!(
                "{valid}, not anchored in the recorder's log: its user could have rewritten all of it{waits}"
            ),
            (_, 0) => format!("{valid}, anchored in the recorder's log to its end"),
            (_, after) => {
                let after = count(usize::try_from(after).unwrap_or(usize::MAX), "record");
                format!(
                    "{valid}, anchored in the recorder's log up to record {anchored}; {after} behind it not yet{waits}"
                )
            }
        };
        let found = self.verdict.delays.lines().into_iter().map(|line| format!("agent's log: {line}"));
        iter::once(first).chain(found).collect()
    }

    /// The same as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let Verdict { records, first_seq, last_seq, delays, .. } = &self.verdict;
        json!({
            "valid": self.is_right(), "files": self.files, "records": records, "first_seq": first_seq,
            "last_seq": last_seq, "anchored_to": self.anchored, "wrong": self.wrong,
            "late": delays.late.first, "more_late": delays.late.more, "misdated": delays.misdated.first,
            "more_misdated": delays.misdated.more, "lateness_unknown_to": delays.unknown_to,
            "unanchored_for_s": delays.waits(now()),
        })
    }
}

/// Says that records are gone which retention cannot have removed yet.
fn removed(verdict: &Verdict, anchors: &[Anchor]) -> Option<String> {
    let first = verdict.first_seq?;
    let since = rfc3339(Duration::from_secs(now()).saturating_sub(KEPT));
    let young = anchors.iter().filter(|anchor| anchor.seq < first && anchor.time > since);
    let Anchor { seq, noted, time, .. } = young.max_by_key(|anchor| anchor.seq)?;
    Some(format!(
        "removal: record {noted} of the recorder noted record {seq} at {time}, and records before {first} are gone, \
         though the agent keeps them for 30 days"
    ))
}
