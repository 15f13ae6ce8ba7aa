//! Counts the uses of each rule in the log, and the refusals. One pass, in memory that does not
//! grow with the log.

use super::lines::{End, Lines};
use postern_policy::{Code, VerbId};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The outcomes of the requests that one rule decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RuleUse {
    /// Requests that were begun or answered under it.
    pub used: u64,
    /// Of those, effects that ended otherwise than done.
    pub failed: u64,
    /// Requests that waited for a person.
    pub asked: u64,
    /// Dry runs and checks.
    pub previewed: u64,
    /// Requests that it denied, or that broke its limits.
    pub refused: u64,
    /// When it was last named, but for refusals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// When it last refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_refused: Option<String>,
}

impl RuleUse {
    /// Whether somebody asked for what it grants, also for an answer without an effect.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.used + self.asked + self.previewed > 0
    }
}

/// The refusals of one client, verb and code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Refused {
    /// The client's name.
    pub client: String,
    /// The verb.
    pub verb: String,
    /// The stable code.
    pub code: String,
}

/// The last record that names the accepted policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordedPolicy {
    /// The policy's digest.
    pub policy: String,
    /// The record's number.
    pub seq: u64,
    /// When.
    pub time: String,
    /// The uid that applied it, if this is a `policy_applied` record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_uid: Option<u32>,
}

/// The uses in a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// Records that could be read.
    pub records: u64,
    /// Lines that are no record.
    pub unreadable: u64,
    /// Time of the first record.
    pub first: Option<String>,
    /// Number and time of the last.
    pub head: Option<(u64, String)>,
    /// The accepted policy, as the recorder recorded it.
    pub in_force: Option<RecordedPolicy>,
    /// By rule id: of those asked for.
    pub rules: BTreeMap<String, RuleUse>,
    /// How often what was refused.
    pub refused: BTreeMap<Refused, u64>,
}

#[derive(Deserialize)]
struct Line<'a> {
    seq: u64,
    #[serde(borrow)]
    time: Cow<'a, str>,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow, default)]
    verb: Cow<'a, str>,
    #[serde(borrow, default)]
    rule: Cow<'a, str>,
    #[serde(borrow, default)]
    policy: Cow<'a, str>,
    #[serde(borrow, default)]
    client: Client<'a>,
    #[serde(borrow, default)]
    outcome: Outcome<'a>,
}

#[derive(Default, Deserialize)]
struct Client<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    uid: Option<u32>,
}

#[derive(Default, Deserialize)]
struct Outcome<'a> {
    #[serde(borrow, default)]
    status: Cow<'a, str>,
    #[serde(borrow, default)]
    code: Cow<'a, str>,
    #[serde(borrow, default)]
    detail: Cow<'a, str>,
}

/// Counts what the files say of these clients and rules.
///
/// # Errors
/// A file cannot be read, and which.
pub fn count(files: &[PathBuf], clients: &[String], rules: &[String]) -> Result<Uses, (PathBuf, io::Error)> {
    let mut uses =
        Uses { rules: rules.iter().map(|id| (id.clone(), RuleUse::default())).collect(), ..Uses::default() };
    for file in files {
        one(file, clients, &mut uses).map_err(|error| (file.clone(), error))?;
    }
    Ok(uses)
}

fn one(file: &Path, clients: &[String], uses: &mut Uses) -> io::Result<()> {
    let mut lines = Lines::open(file)?;
    while let Some((bytes, end)) = lines.next()? {
        match serde_json::from_slice::<Line<'_>>(bytes) {
            Ok(line) if end == End::Whole => uses.take(&line, clients),
            Ok(_) | Err(_) => uses.unreadable += 1,
        }
    }
    Ok(())
}

impl Uses {
    fn take(&mut self, line: &Line<'_>, clients: &[String]) {
        self.records += 1;
        if self.first.is_none() {
            self.first = Some(line.time.to_string());
        }
        self.head = Some((line.seq, line.time.to_string()));
        match line.event.as_ref() {
            "start" | "policy_applied" => {
                // A start takes up again what was applied before, and so does applying the same once more: who did that first, and
                // when, stays known.
                let is_start = line.event == "start";
                let is_known = |known: &RecordedPolicy| {
                    known.policy == line.policy && (is_start || known.by_uid.is_some())
                };
                let known = self.in_force.take().filter(is_known);
                let by_uid = line.client.uid.filter(|_| !is_start);
                let (policy, time) = (line.policy.to_string(), line.time.to_string());
                self.in_force = known.or(Some(RecordedPolicy { policy, seq: line.seq, time, by_uid }));
            }
            "served" | "begin" => self.rule(line, |rule| rule.used += 1),
            "pending" => self.rule(line, |rule| rule.asked += 1),
            "previewed" => self.rule(line, |rule| rule.previewed += 1),
            "end" if !matches!(line.outcome.status.as_ref(), "done" | "unchanged") => {
                self.rule(line, |rule| rule.failed += 1);
            }
            "interrupted" => self.rule(line, |rule| rule.failed += 1),
            "refused" => self.refusal(line, clients),
            _ => {}
        }
    }

    fn rule(&mut self, line: &Line<'_>, note: impl FnOnce(&mut RuleUse)) {
        if let Some(rule) = self.rules.get_mut(line.rule.as_ref()) {
            note(rule);
            rule.last = Some(line.time.to_string());
        }
    }

    fn refusal(&mut self, line: &Line<'_>, clients: &[String]) {
        if let Some(rule) = refusing(line).and_then(|id| self.rules.get_mut(id)) {
            rule.refused += 1;
            rule.last_refused = Some(line.time.to_string());
        }
        // Only known words are kept, so that a tampered log cannot fill the memory.
        let verb = VerbId::from_name(&line.verb).map_or("another verb", VerbId::name);
        let code = Code::from_name(&line.outcome.code).map_or("another code", Code::as_str);
        let known = clients.iter().filter(|client| line.client.name.split('+').any(|name| name == **client));
        for client in known {
            let key = Refused { client: client.clone(), verb: verb.to_owned(), code: code.to_owned() };
            *self.refused.entry(key).or_default() += 1;
        }
    }
}

/// The rule that refused: the record's, or the one that the refusal's message begins with ("rule web denies …").
fn refusing<'a>(line: &'a Line<'_>) -> Option<&'a str> {
    if !line.rule.is_empty() {
        return Some(&line.rule);
    }
    matches!(line.outcome.code.as_ref(), "denied" | "limit_exceeded").then_some(())?;
    line.outcome.detail.strip_prefix("rule ")?.split(' ').next()
}
