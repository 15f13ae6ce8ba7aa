//! The report for a terminal.

use super::idle::DAYS;
use super::model::{Client, Grant, Line, Log, Overview, People, Person, PolicyFacts, Report, Unused};
use crate::limits::Breadth;
use crate::policy::apply::short;
use crate::text::{count, escape};
use postern_policy::Decision;
use std::io::{self, Write};

/// How long a line of details grows.
const WIDTH: usize = 100;

/// Writes the report.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Lines(out);
    let title = format!("What the agent can do on {}", report.host);
    lines.line(&title)?;
    lines.line(&"=".repeat(title.chars().count()))?;
    for (name, words) in facts(report) {
        lines.line(&format!("{name:<10} {words}"))?;
    }
    let summary = &report.summary;
    let mut unused = summary.never_used.map_or_else(String::new, |unused| format!(", {unused} never used"));
    if let Some(idle) = summary.idle.filter(|idle| *idle > 0) {
        unused = format!("{unused}, {idle} not in {DAYS} days");
    }
    let numbers = format!(
        "{} allow, {} ask, {} deny{unused}; highest risk {} of 100",
        summary.allow, summary.ask, summary.deny, summary.highest_risk
    );
    lines.line(&format!("{:<10} {numbers}", "rules"))?;
    report.overview.iter().try_for_each(|of| overview(of, &mut lines))?;
    lines.title("Look at first")?;
    if report.attention.is_empty() {
        lines.line("Nothing needs attention.")?;
    }
    for item in &report.attention {
        let rule = item.rule.as_ref().map_or_else(String::new, |rule| format!("{rule}: "));
        lines.line(&format!("* {rule}{}", item.words))?;
    }
    for of in &report.clients {
        client(of, &mut lines)?;
    }
    if !report.commands.is_empty() {
        lines.title("Commands that rules grant by name")?;
    }
    for command in &report.commands {
        lines.line(&format!("{}: {}", command.name, command.argv.join(" ")))?;
        lines.line(&format!("    {}", command.runs))?;
    }
    lines.title("People")?;
    for (name, words) in people(&report.people) {
        lines.line(&format!("{name:<26} {words}"))?;
    }
    lines.title("Findings of `policy check`")?;
    if report.findings.is_empty() {
        lines.line("None.")?;
    }
    report.findings.iter().try_for_each(|finding| lines.line(&finding.to_string()))
}

/// Lines that hold one line each, whatever is put into them.
struct Lines<'a>(&'a mut dyn Write);

impl Lines<'_> {
    fn line(&mut self, words: &str) -> io::Result<()> {
        writeln!(self.0, "{}", escape(words).trim_end())
    }

    /// A label and words, broken between words where the line would be too long; nothing if there are no words.
    fn detail(&mut self, label: &str, words: &str) -> io::Result<()> {
        let mut line = format!("    {label:<9}");
        let mut is_empty = true;
        for word in escape(words).split(' ').filter(|word| !word.is_empty()) {
            if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.line(&line)?;
                line = " ".repeat(13);
            }
            line.push(' ');
            line.push_str(word);
            is_empty = false;
        }
        if is_empty { Ok(()) } else { self.line(&line) }
    }

    fn title(&mut self, words: &str) -> io::Result<()> {
        self.line("")?;
        self.line(words)?;
        self.line(&"-".repeat(words.chars().count()))
    }
}

fn overview(of: &Overview, lines: &mut Lines<'_>) -> io::Result<()> {
    lines.title(&format!("In short: {} ({})", of.client, of.who))?;
    for (title, list) in parts(of) {
        lines.line(title)?;
        if list.is_empty() {
            lines.line("  nothing")?;
        }
        for line in list {
            let rule = line.rule.as_ref().map_or_else(String::new, |rule| format!("{rule}: "));
            lines.line(&format!("  {rule}{}", line.words))?;
        }
    }
    Ok(())
}

/// The three lists of a client in short, for text and Markdown.
pub fn parts(of: &Overview) -> [(&'static str, &[Line]); 3] {
    [("May, without asking:", &of.may), ("Needs a person:", &of.asks), ("Amounts to root:", &of.root)]
}

/// The policy, the log and the time of the report as labelled lines, for every format.
pub fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let mut facts = vec![("policy", policy(&report.policy))];
    facts.extend(report.policy.notes.iter().map(|note| ("note", note.clone())));
    facts.push(("audit log", log_words(&report.log)));
    facts.push(("written", report.written.clone()));
    facts
}

fn policy(policy: &PolicyFacts) -> String {
    let by = policy.applied_by.as_ref().map_or_else(String::new, |by| format!(" by {}", person(by)));
    let applied = policy.applied.as_ref().map_or_else(String::new, |time| format!(", applied {time}{by}"));
    format!("{}, {}{applied} (from {})", short(&policy.digest), policy.standing.words(), policy.from)
}

/// The state of the log in one line.
pub fn log_words(log: &Log) -> String {
    match log {
        Log::Unread { why } => format!("not read: {why}"),
        Log::Read { unreadable, first, last, head_seq, chain, .. } => {
            let lines = count(usize::try_from(*unreadable).unwrap_or(usize::MAX), "line");
            let odd = if *unreadable == 0 { String::new() } else { format!("; {lines} no record") };
            format!("{first} to {last}, last record {head_seq}; {chain}{odd}")
        }
    }
}

/// The groups of people and their powers.
pub fn people(people: &People) -> Vec<(&'static str, String)> {
    let list = |people: &Option<Vec<Person>>, none: &str| match people {
        None => "this host has no such group".to_owned(),
        Some(people) if people.is_empty() => none.to_owned(),
        Some(people) => people.iter().map(person).collect::<Vec<_>>().join(", "),
    };
    let mut lines = vec![
        ("may approve (operators)", list(&people.operators, "nobody but root")),
        ("may give tasks (users)", list(&people.users, "nobody")),
        ("may read (auditors)", list(&people.auditors, "nobody but root")),
    ];
    if !people.barred.is_empty() {
        let barred = people.barred.iter().map(person).collect::<Vec<_>>().join(", ");
        lines.insert(
            1,
            ("cannot, though operators", format!("{barred}: a client of the policy approves nothing")),
        );
    }
    lines
}

/// `alice (1000)`.
pub fn person(person: &Person) -> String {
    format!("{} ({})", person.name, person.uid)
}

fn client(client: &Client, lines: &mut Lines<'_>) -> io::Result<()> {
    lines.title(&format!("Client {}: {}", client.name, client.who))?;
    if client.groups.is_empty() {
        lines.line("Nothing is granted.")?;
    }
    for group in &client.groups {
        let [title, head] = [group.title, "DECISION  RISK        USED  VERBS"];
        lines.line("")?;
        lines.line(&format!("{:<28} {head}", title.to_uppercase()))?;
        group.grants.iter().try_for_each(|of| grant(of, lines))?;
    }
    if !client.refused.is_empty() {
        lines.line("")?;
        lines.line("REFUSED")?;
    }
    for times in &client.refused {
        lines.line(&format!("{:>6} x {} ({})", times.count, times.what.verb, times.what.code))?;
    }
    Ok(())
}

fn grant(grant: &Grant, lines: &mut Lines<'_>) -> io::Result<()> {
    let risk = grant.risk.map_or_else(|| "  -".to_owned(), |risk| format!("{risk:>3} {}", level(risk)));
    let verbs = grant.verbs.join(", ");
    lines.line(&format!(
        "{:<28} {:<8} {risk:<14} {:>5}  {verbs}",
        grant.id,
        grant.decision.as_str(),
        used(grant).0
    ))?;
    let mut detail = |label: &str, words: String| lines.detail(label, &words);
    for objects in &grant.objects {
        detail(objects.label, objects.patterns.join(", "))?;
    }
    detail("approval", grant.approval.clone().unwrap_or_default())?;
    detail("limits", limits(grant))?;
    for accepted in &grant.accepted_risks {
        detail("accepts", format!("{}: {}", accepted.finding, accepted.reason))?;
    }
    detail("why", grant.justification.clone())?;
    detail("at", grant.place.clone())?;
    detail("log", used(grant).1.join("; "))
}

/// Those that let much through are marked.
fn limits(grant: &Grant) -> String {
    let mark = |reach| if reach == Breadth::Wide { "! " } else { "" };
    let words = grant.limits.iter().map(|limit| format!("{}{}", mark(limit.reach), limit.words));
    words.collect::<Vec<_>>().join("; ")
}

/// A word for a score, so that no colour is needed.
pub fn level(risk: u32) -> &'static str {
    match risk {
        0..20 => "low",
        20..60 => "medium",
        60..80 => "high",
        _ => "very high",
    }
}

/// The uses of a grant according to the log: a number, and details.
pub fn used(grant: &Grant) -> (String, Vec<String>) {
    let Some(uses) = &grant.uses else {
        return ("?".to_owned(), Vec::new());
    };
    let mut words = Vec::new();
    if grant.decision != Decision::Deny {
        words.extend(grant.unused.as_ref().map(Unused::words));
        if grant.idle {
            words.push(format!("granted, not used in {DAYS} days"));
        }
        words.extend(uses.last.as_ref().map(|last| format!("last {}", minute(last))));
        if uses.failed > 0 {
            words.push(format!("{} failed", uses.failed));
        }
        if uses.asked > 0 {
            words.push(format!("{} asked a person", uses.asked));
        }
        if uses.previewed > 0 {
            words.push(format!("{} only looked ahead", uses.previewed));
        }
    }
    if uses.refused > 0 {
        let last = uses.last_refused.as_deref().map_or_else(String::new, minute);
        words.push(format!("{} refused, last {last}", uses.refused));
    }
    let number = if grant.decision == Decision::Deny { "-".to_owned() } else { uses.used.to_string() };
    (number, words)
}

/// `2026-11-21 04:13` of a record's time, UTC.
fn minute(rfc3339: &str) -> String {
    rfc3339.chars().take(16).collect::<String>().replacen('T', " ", 1)
}
