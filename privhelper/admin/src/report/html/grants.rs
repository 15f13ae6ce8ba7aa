//! The grants of a client as tables.

use crate::limits::Breadth;
use crate::report::model::{Client, Grant, Group};
use crate::report::text::{level, used};
use maud::{Markup, PreEscaped, html};
use postern_policy::Decision;

/// A client, and all that it may do.
pub fn client(index: usize, client: &Client) -> Markup {
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
                @if grant.decision == Decision::Deny {
                    span.quiet { "a denial has no limits" }
                } @else if grant.limits.is_empty() {
                    span.quiet { "nothing to limit" }
                }
                ul.limits {
                    @for limit in &grant.limits {
                        li.wide[limit.reach == Breadth::Wide] title=(limit.key) {
                            @if limit.reach == Breadth::Wide { "▲ " } (limit.words)
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
            thead { tr { th scope="col" { "RefusalCount" } th scope="col" { "Verb" } th scope="col" { "Code" } } }
            tbody {
                @for times in &client.refused {
                    tr {
                        td data-label="RefusalCount" { (times.count) }
                        td data-label="Verb" { code { (times.what.verb) } }
                        td data-label="Code" { code { (times.what.code) } }
                    }
                }
            }
        }
    }
}
