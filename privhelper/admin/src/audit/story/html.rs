//! The story as one self-contained page, for a ticket: no script, nothing fetched, as the report's page.
//!
//! Every text goes through maud, which escapes it for HTML; the whole page goes through [`escape`] a line at a time.

use super::records::{Entry, Source, Story};
use super::words;
use crate::audit::view;
use crate::report::{RULES, STYLE};
use crate::text::{count, escape};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;
use std::io::{self, Write};

/// What the page needs besides the report's style.
const OWN: &str = "pre { margin: .5rem 0 0; padding: .5rem .75rem; background: var(--tint); border: 1px solid var(--line); \
                   border-radius: .375rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8125rem; }\n\
                   .story th, .story td { padding: .375rem .5rem; } .story td:first-child { white-space: nowrap; }\n\
                   .story tr.agent > td:first-child { border-left: 4px dashed var(--bar); }\n\
                   .story tr.recorder > td:first-child { border-left: 4px solid var(--allow); }\n\
                   @media print { .story tr { break-inside: avoid; } }\n";

/// The story of a task, and how far it is proven.
pub struct Page<'a> {
    /// The task's id.
    pub task: &'a str,
    /// This host's name.
    pub host: &'a str,
    /// When the page is written.
    pub written: &'a str,
    /// The records.
    pub story: &'a Story,
    /// How far they are proven, a sentence each; whether all is well.
    pub proof: (&'a [String], bool),
    /// The names of people.
    pub user_name: fn(u32) -> String,
}

/// Writes the page.
///
/// # Errors
/// It cannot be written.
pub fn write(page: &Page<'_>, out: &mut dyn Write) -> io::Result<()> {
    for line in markup(page).into_string().lines() {
        writeln!(out, "{}", escape(line))?;
    }
    Ok(())
}

fn markup(page: &Page<'_>) -> Markup {
    let title = format!("Task {} on {}", page.task, page.host);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(RULES);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (title) }
                (PreEscaped("\n<style>\n")) (PreEscaped(STYLE)) (PreEscaped(OWN)) (PreEscaped("</style>\n"))
            }
            body {
                header { (head(page)) }
                (PreEscaped("\n"))
                main { (table(page)) (legend()) }
            }
        }
    }
}

fn head(page: &Page<'_>) -> Markup {
    let entries = &page.story.entries;
    let agents = |event: &str| {
        entries.iter().find(|entry| entry.source == Source::Agent && entry.text("event") == event)
    };
    let person = agents("task_begun").and_then(|begun| begun.record["person"]["uid"].as_u64());
    let person = person.and_then(|uid| u32::try_from(uid).ok());
    let person = person.map(|uid| format!("{} (uid {uid})", (page.user_name)(uid)));
    let ended =
        entries.iter().rfind(|entry| entry.source == Source::Agent && entry.text("event") == "task_ended");
    let (proof, is_proven) = page.proof;
    html! {
        p.kicker { "Postern task record" }
        h1 { "Task " code { (page.task) } " on " span.host { (page.host) } }
        @for sentence in proof {
            p.standing.off[!is_proven] { (if is_proven { "● " } else { "▲ " }) (sentence) }
        }
        dl.facts {
            @if let Some(person) = person { div { dt { "given by" } dd { (person) } } }
            @if let Some(first) = entries.first() { div { dt { "begins" } dd { (time(first)) } } }
            @if let Some(ended) = ended { div { dt { "ended" } dd { (time(ended)) ": " (words::summary(&ended.record)) } } }
            div { dt { "records" } dd { (count(entries.len(), "record")) } }
            @for note in &page.story.notes { div { dt { "note" } dd { "▲ " (note) } } }
            div { dt { "written" } dd { (page.written) } }
        }
    }
}

fn table(page: &Page<'_>) -> Markup {
    html! {
        section #records {
            h2 { "What happened" }
            @if page.story.entries.is_empty() { p { "No record names this task." } }
            @else {
                table.story {
                    thead { tr { th { "Time (UTC)" } th { "Source" } th { "What" } th { "How" } } }
                    tbody { @for entry in &page.story.entries { (record(entry)) (PreEscaped("\n")) } }
                }
            }
        }
    }
}

fn record(entry: &Entry) -> Markup {
    let (class, source) = match entry.source {
        Source::Agent => ("agent", "agent"),
        Source::Recorder => ("recorder", "recorder"),
    };
    let record = &entry.record;
    let (what, how) = match entry.source {
        Source::Agent => ([entry.text("tool"), entry.text("model")].concat(), words::summary(record)),
        Source::Recorder => (entry.text("verb").to_owned(), view::summary(record)),
    };
    let who = if entry.source == Source::Recorder { view::client(record) } else { String::new() };
    html! {
        tr class=(class) {
            td data-label="Time" { (time(entry)) }
            td data-label="Source" { (source) " " span.quiet { (record["seq"].to_string()) } @if !who.is_empty() { span.quiet { " " (who) } } }
            td data-label="What" { strong { (entry.text("event")) } @if !what.is_empty() { " " code { (what) } } @if !entry.text("request_id").is_empty() { span.quiet { " " (entry.text("request_id")) } } }
            td data-label="How" { (how) (shown(&record["shown"])) }
        }
    }
}

/// The text that a person saw with a question.
fn shown(shown: &Value) -> Markup {
    let details = match &shown["details"] {
        Value::String(details) => details.clone(),
        Value::Object(of) => {
            let (size, sha256) =
                (of.get("size").unwrap_or(&Value::Null), of.get("sha256").and_then(Value::as_str));
            format!("{size} bytes, sha256 {}", sha256.unwrap_or_default())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => String::new(),
    };
    let lines = details.lines().map(escape).collect::<Vec<_>>().join("\n");
    html! { @if !lines.is_empty() { pre { (lines) } } }
}

fn legend() -> Markup {
    html! {
        section #legend {
            h2 { "How to read this" }
            p {
                "Records of the recorder say what was asked of the root helper, who approved it, and what root did. Records of the agent are \
                 its own word; the recorder notes the end of the agent's log once a minute and at each task's end, so that none can be \
                 changed later unnoticed. Commands, words and plans are named by their SHA-256. The task of a request is its client's claim."
            }
        }
    }
}

fn time(entry: &Entry) -> String {
    let time = entry.text("time");
    time.get(..23).unwrap_or(time).replacen('T', " ", 1)
}
