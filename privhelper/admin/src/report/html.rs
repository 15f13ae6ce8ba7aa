//! The report as one page that stands alone: no script, nothing fetched, light and dark, for screen, phone and paper.
//!
//! Every text goes through maud, which escapes it for HTML; the whole page goes through [`escape`] a line at a time, so
//! that nothing in it turns text around or hides.

use super::model::{
    Attention, Client, Command, Decision, Grant, Group, Log, People, Person, Report, Standing,
};
use super::text::{level, log_words, person, used};
use crate::policy::finding::Finding;
use crate::text::{count, escape};
use crate::words::Reach;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::io::{self, Write};

const STYLE: &str = include_str!("style.css");
/// Nothing is loaded and nothing runs, also if an escape were ever missed.
const RULES: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

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
                nav aria-label="Contents" { (contents(report)) }
                (PreEscaped("\n"))
                main {
                    (first(&report.attention))
                    @for (index, of) in report.clients.iter().enumerate() { (client(index, of)) }
                    @if !report.commands.is_empty() { (commands(&report.commands)) }
                    (people(&report.people))
                    (log(&report.log))
                    (findings(&report.findings))
                    (legend())
                }
            }
        }
    }
}

fn head(report: &Report) -> Markup {
    let policy = &report.policy;
    let is_law = matches!(policy.standing, Standing::Accepted | Standing::Recorded);
    let summary = &report.summary;
    let rules = |number: usize| if number == 1 { "rule" } else { "rules" };
    html! {
        p.kicker { "Postern policy report" }
        h1 { "What the agent can do on " span.host { (report.host) } }
        p.standing.off[!is_law] {
            (if is_law { "● " } else { "▲ " }) "This policy is " strong { (policy.standing.words()) }
            @if let Some(applied) = &policy.applied { ", applied " (applied) }
            @if let Some(by) = &policy.applied_by { " by " (person(by)) } "."
        }
        dl.facts {
            div { dt { "policy" } dd { code.digest { (policy.digest) } } }
            div { dt { "read from" } dd { (policy.from) } }
            @for note in &policy.notes { div { dt { "note" } dd { "▲ " (note) } } }
            div { dt { "audit log" } dd { (log_words(&report.log)) } }
            div { dt { "written" } dd { (report.written) } }
        }
        ul.tiles aria-label="In numbers" {
            li.allow { strong { (summary.allow) } span { (rules(summary.allow)) " allow" } }
            li.ask { strong { (summary.ask) } span { (rules(summary.ask)) " ask a person" } }
            li.deny { strong { (summary.deny) } span { (rules(summary.deny)) " deny" } }
            li { strong { (summary.highest_risk) } span { "highest risk, of 100" } }
            li {
                strong { (summary.never_used.map_or_else(|| "?".to_owned(), |unused| unused.to_string())) }
                span { "granted, never used" }
            }
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
            @if attention.is_empty() { p { "Nothing stands out." } }
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

fn client(index: usize, client: &Client) -> Markup {
    html! {
        (PreEscaped("\n"))
        section.client id=(format!("client-{index}")) {
            h2 { "Client " (client.name) }
            p.who { (client.who) }
            @if client.groups.is_empty() { p { "Nothing is granted." } }
            @for group in &client.groups { (grants(index, client, group)) }
            @if !client.refused.is_empty() { (refused(client)) }
        }
    }
}

fn grants(index: usize, client: &Client, group: &Group) -> Markup {
    html! {
        h3 id=(format!("client-{index}-{}", group.title)) { (group.title) }
        table.grants {
            caption { (group.title) ": what " (client.name) " may do, rule by rule" }
            thead {
                tr {
                    th scope="col" { "Rule" }
                    th scope="col" { "May" }
                    th scope="col" { "Within" }
                    th scope="col" { "Risk" }
                    th scope="col" { "Used" }
                }
            }
            tbody { @for grant in &group.grants { (row(grant)) } }
        }
    }
}

fn row(grant: &Grant) -> Markup {
    let sign = match grant.decision {
        Decision::Allow => "✓ allow",
        Decision::Ask => "? ask",
        Decision::Deny => "✕ deny",
    };
    let (number, words) = used(grant);
    html! {
        (PreEscaped("\n"))
        tr.(grant.decision.as_str()) id=(format!("rule-{}", grant.id)) {
            th scope="row" {
                span.badge.(grant.decision.as_str()) { (sign) }
                span.rule { (grant.id) }
                @if let Some(approval) = &grant.approval { span.approval { (approval) } }
                span.why { (grant.justification) }
                @for accepted in &grant.accepted_risks {
                    span.accepts { "▲ accepts " code { (accepted.finding) } ": " (accepted.reason) }
                }
                span.place { (grant.place) }
            }
            td data-label="May" { (may(grant)) }
            td data-label="Within" {
                @if grant.limits.is_empty() { span.quiet { "no limits: it only takes away" } }
                ul.limits {
                    @for limit in &grant.limits {
                        li.wide[limit.reach == Reach::Wide] title=(limit.key) {
                            @if limit.reach == Reach::Wide { "▲ " } (limit.words)
                        }
                    }
                }
            }
            td data-label="Risk" { (risk(grant)) }
            td data-label="Used" {
                strong.number { (number) }
                @for word in words { span.quiet { (word) } }
            }
        }
    }
}

fn may(grant: &Grant) -> Markup {
    html! {
        ul.verbs { @for verb in &grant.verbs { li { code { (verb) } } } }
        @for objects in &grant.objects {
            div.objects {
                span.quiet { (objects.label) }
                ul { @for pattern in &objects.patterns { li { code { (pattern) } } } }
            }
        }
    }
}

fn risk(grant: &Grant) -> Markup {
    html! {
        @if let Some(risk) = grant.risk {
            strong.number { (risk) } " " span.level { (level(risk)) }
            div.bar aria-hidden="true" { div style=(format!("width:{}%", risk.min(100))) {} }
            @for capability in &grant.capabilities { span.quiet { (capability) } }
        } @else {
            span.quiet { "none" }
        }
    }
}

fn refused(client: &Client) -> Markup {
    html! {
        h3 { "Refused" }
        table.plain {
            caption { "What was refused to " (client.name) ", as the audit log counts it" }
            thead { tr { th scope="col" { "Times" } th scope="col" { "Verb" } th scope="col" { "Code" } } }
            tbody {
                @for times in &client.refused {
                    tr {
                        td data-label="Times" { (times.count) }
                        td data-label="Verb" { code { (times.what.verb) } }
                        td data-label="Code" { code { (times.what.code) } }
                    }
                }
            }
        }
    }
}

fn commands(commands: &[Command]) -> Markup {
    html! {
        section #commands {
            h2 { "Commands" }
            table.plain {
                caption { "Programs that rules grant by name" }
                thead { tr { th scope="col" { "Name" } th scope="col" { "Runs" } th scope="col" { "How" } } }
                tbody {
                    @for command in commands {
                        tr {
                            th scope="row" { code { (command.name) } }
                            td data-label="Runs" { code { (command.argv.join(" ")) } }
                            td data-label="How" { (command.runs) }
                        }
                    }
                }
            }
        }
    }
}

fn people(people: &People) -> Markup {
    let names = |people: &Option<Vec<Person>>, none: &str| {
        html! {
            @match people {
                None => { span.quiet { "this host has no such group" } }
                Some(people) if people.is_empty() => { span.quiet { (none) } }
                Some(people) => { ul { @for of in people { li { (person(of)) } } } }
            }
        }
    };
    let rows = [
        ("postern-operators", "approve, deny, undo and pause", names(&people.operators, "nobody but root")),
        ("postern-users", "give the agent tasks", names(&people.users, "nobody")),
        ("postern-auditors", "read the policy and the audit log", names(&people.auditors, "nobody but root")),
    ];
    html! {
        section #people {
            h2 { "People" }
            table.plain {
                caption { "Who stands around the agent" }
                thead { tr { th scope="col" { "Group" } th scope="col" { "May" } th scope="col" { "Who" } } }
                tbody {
                    @for (group, may, who) in rows {
                        tr {
                            th scope="row" { code { (group) } }
                            td data-label="May" { (may) }
                            td data-label="Who" { (who) }
                        }
                    }
                }
            }
            @if !people.barred.is_empty() {
                p.warning {
                    "▲ " (people.barred.iter().map(person).collect::<Vec<_>>().join(", "))
                    " in postern-operators cannot approve: a client of the policy approves nothing."
                }
            }
        }
    }
}

fn log(log: &Log) -> Markup {
    html! {
        section #log {
            h2 { "Audit log" }
            @match log {
                Log::Unread { why } => { p.warning { "▲ It was not read, so nothing is said of use: " (why) "." } }
                Log::Read { records, unreadable, first, last, head_seq, chain, valid, .. } => {
                    p.warning[!*valid] { (if *valid { "● " } else { "▲ " }) (chain) "." }
                    p {
                        (records) " records from " (first) " to " (last) "; the last is number " (head_seq) "."
                        @if *unreadable > 0 { " Lines that are no record: " (unreadable) "." }
                        " A request over several objects counts for the rule that its record names, and a rule's id "
                        "counts through all policies that had it."
                    }
                }
            }
        }
    }
}

fn findings(findings: &[Finding]) -> Markup {
    html! {
        section #findings {
            h2 { "Findings" }
            @if findings.is_empty() {
                p { "● " code { "policy check" } " finds nothing in this policy." }
            } @else {
                table.plain {
                    caption { "What " code { "policy check" } " finds in this policy" }
                    thead { tr { th scope="col" { "Kind" } th scope="col" { "What" } th scope="col" { "Where" } } }
                    tbody {
                        @for finding in findings {
                            tr {
                                td data-label="Kind" { (finding.severity.as_str()) }
                                td data-label="What" { (finding.message) }
                                td data-label="Where" { code { (finding.file) ":" (finding.line) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn legend() -> Markup {
    html! {
        section #legend {
            h2 { "How to read this" }
            p {
                "The agent has no root of its own. It asks a small root helper, which does only what a rule here "
                "allows; what no rule names is refused. Of the rules that speak of a request the strictest decides: "
                strong { "deny" } " before " strong { "ask" } " before " strong { "allow" } "."
            }
            p {
                "Risk is computed from verbs and places, never written by hand: to look is 5 to 15, to change what "
                "comes back 40 to 70, to change what may not come back 75 and more. ▲ marks what lets much through. "
                "Every client may also ask what it may do, and for the results of its own requests."
            }
        }
    }
}
