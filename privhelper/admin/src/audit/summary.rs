//! `audit summary`: how often what was asked for, by whom, under which rule, and what was refused.

use super::filter::{Filter, FilterArgs};
use super::follow::{Reading, Step, Until};
use super::lines::End;
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::text::{count, escape};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Most names in a table, so that a tampered log cannot fill the memory.
const NAMES_MAX: usize = 10_000;
const OTHERS: &str = "(others)";

/// `audit summary`.
#[derive(Debug, Args)]
pub struct SummaryArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// The outcomes of requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct Tally {
    /// Effects that were begun, and what was answered without one.
    hits: u64,
    /// Effects that ended otherwise than done.
    failed: u64,
    /// That waited for a person.
    asked: u64,
    /// Dry runs and checks.
    previewed: u64,
    /// That came to nothing.
    refused: u64,
}

/// The counts over a log.
#[derive(Debug, Default, Serialize)]
struct Summary {
    v: u64,
    records: u64,
    /// Lines that are no record.
    unreadable: u64,
    first: String,
    last: String,
    verbs: BTreeMap<String, Tally>,
    rules: BTreeMap<String, Tally>,
    clients: BTreeMap<String, Tally>,
    /// By the uid of the person whose open session was quoted.
    asked_by: BTreeMap<String, Tally>,
    /// By uid, as clients claim.
    claimed_by: BTreeMap<String, Tally>,
    decisions: BTreeMap<String, u64>,
    /// By code: what was refused or failed.
    codes: BTreeMap<String, u64>,
    events: BTreeMap<String, u64>,
}

/// `audit summary`.
///
/// # Errors
/// The result cannot be written.
pub fn summary(host: &Host, args: &SummaryArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    let (filter, files) = match args.filter.resolve(host) {
        Ok(resolved) => resolved,
        Err((exit, why)) => {
            writeln!(io.err, "{}", escape(&why))?;
            return Ok(exit);
        }
    };
    let mut reading = Reading::new(host, files, Until::End);
    let mut summary = Summary { v: 1, ..Summary::default() };
    loop {
        match reading.next() {
            Ok(Step::Line(end)) => summary.line(reading.line().2, end, &filter),
            Ok(Step::Caught | Step::End) => break,
            Err(error) => {
                writeln!(io.err, "{}: {error}", escape(&reading.line().0.display().to_string()))?;
                return Ok(Exit::Failed);
            }
        }
    }
    if args.json {
        let json = serde_json::to_string(&summary).map_err(io::Error::from)?;
        writeln!(io.out, "{}", crate::text::escape_json(&json))?;
    } else {
        summary.print(io.out)?;
    }
    if summary.unreadable > 0 {
        writeln!(io.err, "{} lines are no record: see `audit verify`", summary.unreadable)?;
    }
    Ok(Exit::Done)
}

impl Summary {
    fn line(&mut self, line: &[u8], end: End, filter: &Filter<'_>) {
        let record = serde_json::from_slice::<Value>(line).ok().filter(|_| end == End::Whole);
        match record.filter(Value::is_object) {
            Some(record) if filter.fits(&record) => self.take(&record),
            Some(_) => {}
            None => self.unreadable += 1,
        }
    }

    fn take(&mut self, record: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.records += 1;
        self.last = text(&record["time"]);
        if self.records == 1 {
            self.first.clone_from(&self.last);
        }
        let event = text(&record["event"]);
        let (decision, outcome) = (text(&record["decision"]), &record["outcome"]);
        let is_failed = !matches!(outcome["status"].as_str(), Some("done" | "unchanged"));
        let note: Option<fn(&mut Tally)> = match event.as_str() {
            "served" | "begin" => Some(|tally| tally.hits += 1),
            "pending" => Some(|tally| tally.asked += 1),
            "previewed" => Some(|tally| tally.previewed += 1),
            "refused" => Some(|tally| tally.refused += 1),
            "interrupted" => Some(|tally| tally.failed += 1),
            "end" if is_failed => Some(|tally| tally.failed += 1),
            _ => None,
        };
        // The decision of a request that waited is counted with its `pending` record.
        let decides = matches!(event.as_str(), "served" | "previewed" | "refused" | "pending")
            || event == "begin" && decision != "ask";
        add(&mut self.events, event, |count| *count += 1);
        if decides {
            add(&mut self.decisions, decision, |count| *count += 1);
        }
        let Some(note) = note else { return };
        add(&mut self.verbs, text(&record["verb"]), note);
        add(&mut self.rules, text(&record["rule"]), note);
        add(&mut self.clients, text(&record["client"]["name"]), note);
        let uid = |who: &str| record[who]["uid"].as_u64().map_or_else(String::new, |uid| uid.to_string());
        add(&mut self.asked_by, uid("asked_by"), note);
        add(&mut self.claimed_by, uid("claimed_by"), note);
        add(&mut self.codes, text(&outcome["code"]), |count| *count += 1);
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let records = count(usize::try_from(self.records).unwrap_or(usize::MAX), "record");
        if self.records == 0 {
            return writeln!(out, "no record matches");
        }
        writeln!(out, "{records} from {} to {}", escape(&self.first), escape(&self.last))?;
        tallies(out, "VERB", &self.verbs)?;
        tallies(out, "RULE", &self.rules)?;
        tallies(out, "CLIENT", &self.clients)?;
        tallies(out, "FOR UID, WITH AN OPEN SESSION", &self.asked_by)?;
        tallies(out, "FOR UID, AS CLIENTS CLAIM", &self.claimed_by)?;
        counts(out, "DECISION", &self.decisions)?;
        counts(out, "REFUSED OR FAILED", &self.codes)?;
        counts(out, "EVENT", &self.events)
    }
}

/// Counts under a name, unless there is none or there are too many.
fn add<T: Default>(table: &mut BTreeMap<String, T>, name: String, note: impl FnOnce(&mut T)) {
    if name.is_empty() {
        return;
    }
    let is_new = table.len() >= NAMES_MAX && !table.contains_key(&name);
    note(table.entry(if is_new { OTHERS.to_owned() } else { name }).or_default());
}

fn tallies(out: &mut dyn Write, name: &str, table: &BTreeMap<String, Tally>) -> io::Result<()> {
    if table.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{name:<36} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "hits", "failed", "asked", "previewed", "refused"
    )?;
    for (name, Tally { hits, failed, asked, previewed, refused }) in
        by(table, |tally| tally.hits + tally.refused)
    {
        writeln!(out, "{name:<36} {hits:>9} {failed:>9} {asked:>9} {previewed:>9} {refused:>9}")?;
    }
    Ok(())
}

fn counts(out: &mut dyn Write, name: &str, table: &BTreeMap<String, u64>) -> io::Result<()> {
    if table.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{name:<36} {:>9}", "records")?;
    by(table, |count| *count).iter().try_for_each(|(name, count)| writeln!(out, "{name:<36} {count:>9}"))
}

/// The most first; those that are even by name.
fn by<T>(table: &BTreeMap<String, T>, weight: impl Fn(&T) -> u64) -> Vec<(String, &T)> {
    let mut rows = table.iter().map(|(name, value)| (escape(name), value)).collect::<Vec<_>>();
    rows.sort_by_key(|(_, value)| std::cmp::Reverse(weight(value)));
    rows
}
