//! The report as one self-contained page: no script, nothing fetched, light and dark, for screen, phone and paper.
//!
//! Every text goes through maud, which escapes it for HTML; the whole page goes through [`escape`] a line at a time, so
//! that nothing in it turns text around or hides.

mod about;
mod grants;
mod overview;

use super::model::{Attention, Log, Report};
use super::text::{log_words, person};
use crate::text::{count, escape};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::io::{self, Write};

pub(crate) const STYLE: &str = include_str!("style.css");
/// Nothing is loaded and nothing runs, also if an escape were ever missed.
pub(crate) const RULES: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Writes the page.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for line in page(report).into_string().lines() {
        writeln!(out, "{}", escape(line))?;
    }
    Ok(())
}

fn page(report: &Report) -> Markup {
    let title = format!("What the agent can do on {}", report.host);
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
                (PreEscaped("\n<style>\n")) (PreEscaped(STYLE)) (PreEscaped("</style>\n"))
            }
            body {
                header { (head(report)) }
                (PreEscaped("\n"))
                (overview::overview(&report.overview))
                (PreEscaped("\n"))
                section.origin aria-label="Numbers and origin" { (origin(report)) }
                (PreEscaped("\n"))
                nav aria-label="Contents" { (contents(report)) }
                (PreEscaped("\n"))
                main {
                    (first(&report.attention))
                    @for (index, of) in report.clients.iter().enumerate() { (grants::client(index, of)) }
                    @if !report.commands.is_empty() { (about::commands(&report.commands)) }
                    (about::people(&report.people))
                    (about::log(&report.log))
                    (about::findings(&report.findings))
                    (about::legend())
                }
            }
        }
    }
}

fn head(report: &Report) -> Markup {
    let policy = &report.policy;
    let is_active = policy.standing.is_active();
    html! {
        p.kicker { "Postern policy report" }
        h1 { "What the agent can do on " span.host { (report.host) } }
        p.standing.off[!is_active] {
            (if is_active { "● " } else { "▲ " }) "This policy is " strong { (policy.standing.words()) }
            @if let Some(applied) = &policy.applied { ", applied " (applied) }
            @if let Some(by) = &policy.applied_by { " by " (person(by)) } "."
        }
    }
}

/// The rules in numbers, and where the page's facts are from.
fn origin(report: &Report) -> Markup {
    let (policy, summary) = (&report.policy, &report.summary);
    let rules = |number: usize| if number == 1 { "rule" } else { "rules" };
    html! {
        ul.tiles aria-label="In numbers" {
            li.allow { strong { (summary.allow) } span { (rules(summary.allow)) " allow" } }
            li.ask { strong { (summary.ask) } span { (rules(summary.ask)) " ask a person" } }
            li.deny { strong { (summary.deny) } span { (rules(summary.deny)) " deny" } }
            li { strong { (summary.highest_risk) } span { "highest risk, of 100" } }
            li {
                strong { (summary.never_used.map_or_else(|| "?".to_owned(), |unused| unused.to_string())) }
                span { (match (summary.never_used, &report.log) {
                    (Some(_), _) => "granted, never used",
                    (None, Log::Read { .. }) => "never used: not known for 90 days",
                    (None, Log::Unread { .. }) => "never used: the audit log was not read",
                }) }
            }
            @if let Some(idle) = summary.idle.filter(|idle| *idle > 0) {
                li { strong { (idle) } span { "granted, not used in 90 days" } }
            }
        }
        dl.facts {
            div { dt { "policy" } dd { code.digest { (policy.digest) } } }
            div { dt { "read from" } dd { (policy.from) } }
            @for note in &policy.notes { div { dt { "note" } dd { "▲ " (note) } } }
            div { dt { "audit log" } dd { (log_words(&report.log)) } }
            div { dt { "written" } dd { (report.written) } }
        }
    }
}

fn contents(report: &Report) -> Markup {
    html! {
        h2 { "Contents" }
        ol {
            li { a href="#first" { "Look at first" } }
            @for (index, client) in report.clients.iter().enumerate() {
                li {
                    a href=(format!("#client-{index}")) { "Client " (client.name) }
                    @if !client.groups.is_empty() {
                        ul {
                            @for group in &client.groups {
                                li {
                                    a href=(format!("#client-{index}-{}", group.title)) { (group.title) }
                                    span.quiet { " " (count(group.grants.len(), "rule")) }
                                }
                            }
                        }
                    }
                }
            }
            @if !report.commands.is_empty() { li { a href="#commands" { "Commands" } } }
            li { a href="#people" { "People" } }
            li { a href="#log" { "Audit log" } }
            li { a href="#findings" { "Findings" } }
            li { a href="#legend" { "How to read this" } }
        }
    }
}

fn first(attention: &[Attention]) -> Markup {
    html! {
        section #first {
            h2 { "Look at first" }
            @if attention.is_empty() { p { "Nothing needs attention." } }
            ul.first {
                @for item in attention {
                    li {
                        @match &item.rule {
                            Some(rule) => { a href=(format!("#rule-{rule}")) { code { (rule) } } }
                            None => { span.quiet { "in general" } }
                        }
                        span { (item.words) }
                    }
                }
            }
        }
    }
}
