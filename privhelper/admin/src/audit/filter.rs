//! Which records a command is about.

use super::chosen;
use crate::host::Host;
use crate::io::Exit;
use crate::policy::values::seconds;
use crate::text::unknown;
use clap::Args;
use postern_policy::VerbId;
use postern_record::rfc3339;
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Which records: those that fit all that is said.
#[derive(Debug, Args)]
pub struct FilterArgs {
    /// The log's files in order [default: all of /var/log/postern]
    files: Vec<PathBuf>,
    /// Only records since then: 90s, 10m, 1h or 2d ago, or a time in UTC such as 2026-11-21 or "2026-11-21 04:13"
    #[arg(long, value_name = "TIME", value_parser = when)]
    since: Option<When>,
    /// Only records before then
    #[arg(long, value_name = "TIME", value_parser = when)]
    until: Option<When>,
    /// Only records of this boot
    #[arg(long)]
    boot: bool,
    /// Only records of this event, such as begin, end or refused
    #[arg(long, value_parser = event)]
    event: Option<String>,
    /// Only records of this client: its name, or the uid that the kernel reported
    #[arg(long)]
    client: Option<String>,
    /// Only records that are for this person, by name or uid, as the client claims; a row says where a session of theirs was quoted
    #[arg(long)]
    person: Option<String>,
    /// Only records whose request quoted an open session of the person for whom the client says it is
    #[arg(long)]
    with_session: bool,
    /// Only records of this verb
    #[arg(long, value_parser = verb)]
    verb: Option<String>,
    /// Only records in which this rule decided
    #[arg(long)]
    rule: Option<String>,
    /// Only records of this request; the beginning of an id will do
    #[arg(long, value_name = "ID")]
    request: Option<String>,
    /// Only records of this task, as the client claims; `show` adds those of the agent's own log, in order of time
    #[arg(long)]
    task: Option<String>,
    /// Only records with this decision: allow, ask or deny
    #[arg(long, value_parser = decision)]
    decision: Option<String>,
    /// Only records that ended so: a status such as done or failed, or a code such as `no_grant`
    #[arg(long)]
    outcome: Option<String>,
}

/// The events of records (`privhelper/audit/AUDIT.md`).
pub const EVENTS: [&str; 21] = [
    "start",
    "stop",
    "policy_applied",
    "served",
    "previewed",
    "refused",
    "malformed",
    "pending",
    "approval",
    "paused",
    "resumed",
    "begin",
    "end",
    "interrupted",
    "not_taken_back",
    "torn",
    "rotated",
    "suppressed",
    "note",
    "sealed",
    "tampered",
];

/// An event's name.
fn event(text: &str) -> Result<String, String> {
    permitted("event", text, &EVENTS)
}

/// A verb's name.
fn verb(text: &str) -> Result<String, String> {
    permitted("verb", text, &VerbId::ALL.iter().map(|verb| verb.name()).collect::<Vec<_>>())
}

/// A decision's name.
fn decision(text: &str) -> Result<String, String> {
    permitted("decision", text, &["allow", "ask", "deny"])
}

fn permitted(what: &str, text: &str, words: &[&str]) -> Result<String, String> {
    if words.contains(&text) { Ok(text.to_owned()) } else { Err(unknown(what, text, words.iter().copied())) }
}

/// The beginning of a time as records write it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct When(String);

/// A time, or how long ago.
fn when(text: &str) -> Result<When, String> {
    if let Ok(ago) = seconds(text) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        return Ok(When(rfc3339(now.saturating_sub(Duration::from_secs(ago)))));
    }
    let form = "0000-00-00T00:00:00.000000";
    let time = text.strip_suffix('Z').unwrap_or(text).replacen(' ', "T", 1);
    let fits = |(byte, like): (u8, u8)| if like == b'0' { byte.is_ascii_digit() } else { byte == like };
    let is_time = matches!(time.len(), 10 | 16 | 19 | 21..=26) && time.bytes().zip(form.bytes()).all(fits);
    let number = |from: usize| time.get(from..from + 2).map_or(0, |two| two.parse::<u32>().unwrap_or(99));
    let is_one = matches!(number(5), 1..=12)
        && matches!(number(8), 1..=31)
        && number(11) < 24
        && number(14) < 60
        && number(17) <= 60;
    if is_time && is_one {
        return Ok(When(time));
    }
    Err("write 90s, 10m, 1h or 2d for a time ago, or a time in UTC such as 2026-11-21 or \"2026-11-21 04:13\"".to_owned())
}

/// A filter whose names are resolved.
#[derive(Debug)]
pub struct Filter<'a> {
    args: &'a FilterArgs,
    boot: Option<&'a str>,
    person: Option<u32>,
}

impl FilterArgs {
    /// The task whose whole story is wanted: that of this host's logs.
    pub fn task(&self) -> Option<&str> {
        self.task.as_deref().filter(|_| self.files.is_empty())
    }

    /// Resolves names, and which files these are.
    ///
    /// # Errors
    /// How the command ends, and why: a name means nothing here, or there is no log.
    pub fn resolve<'a>(&'a self, host: &'a Host) -> Result<(Filter<'a>, Vec<PathBuf>), (Exit, String)> {
        let filter = self.filter(host).map_err(|why| (Exit::Usage, why))?;
        Ok((filter, chosen(host, &self.files).map_err(|why| (Exit::Failed, why))?))
    }

    fn filter<'a>(&'a self, host: &'a Host) -> Result<Filter<'a>, String> {
        let person = |name: &String| {
            let uid = name.parse().ok().or_else(|| (host.accounts.user)(name));
            uid.ok_or_else(|| format!("--person: {}", host.accounts.no_user(name)))
        };
        let boot = || host.boot_id.as_deref().ok_or_else(|| "--boot: this boot's id is not known".to_owned());
        Ok(Filter {
            args: self,
            boot: self.boot.then(boot).transpose()?,
            person: self.person.as_ref().map(person).transpose()?,
        })
    }
}

impl Filter<'_> {
    /// Whether this record is one of them.
    #[must_use]
    pub fn fits(&self, record: &Value) -> bool {
        self.args.task.as_ref().is_none_or(|task| record["task"] == task.as_str())
            && self.fits_besides_task(record)
    }

    /// Whether it is one of them but for its task.
    #[must_use]
    pub fn fits_besides_task(&self, record: &Value) -> bool {
        let args = self.args;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let is = |wanted: &Option<String>, value: &Value| {
            wanted.as_ref().is_none_or(|wanted| value.as_str() == Some(wanted))
        };
        let time = text(&record["time"]);
        let client = &record["client"];
        let is_client = |wanted: &String| {
            client["name"].as_str() == Some(wanted)
                || client["uid"].as_u64().is_some_and(|uid| uid.to_string() == *wanted)
        };
        let outcome = &record["outcome"];
        let ended = |wanted: &String| {
            [&outcome["status"], &outcome["code"]].iter().any(|is| is.as_str() == Some(wanted))
        };
        args.since.as_ref().is_none_or(|When(since)| time >= *since)
            && args.until.as_ref().is_none_or(|When(until)| time < *until)
            && self.boot.is_none_or(|boot| record["boot_id"].as_str() == Some(boot))
            && is(&args.event, &record["event"])
            && args.client.as_ref().is_none_or(is_client)
            && (!args.with_session || record["asked_by"].is_object())
            && self.person.is_none_or(|uid| record["claimed_by"]["uid"].as_u64() == Some(uid.into()))
            && is(&args.verb, &record["verb"])
            && is(&args.rule, &record["rule"])
            && args.request.as_ref().is_none_or(|id| text(&record["request_id"]).starts_with(id.as_str()))
            && is(&args.decision, &record["decision"])
            && args.outcome.as_ref().is_none_or(ended)
    }
}
