//! The parts of the page after the grants: commands, people, the log, findings, and an explanation of terms.

use crate::policy::finding::Finding;
use crate::report::model::{Command, Log, People, Person};
use crate::report::text::person;
use maud::{Markup, html};

/// Programs that rules grant by name.
pub fn commands(commands: &[Command]) -> Markup {
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

/// People around the agent.
pub fn people(people: &People) -> Markup {
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
                caption { "People around the agent" }
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

/// The state of the log.
pub fn log(log: &Log) -> Markup {
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

/// The findings of `policy check`.
pub fn findings(findings: &[Finding]) -> Markup {
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

/// An explanation of terms.
pub fn legend() -> Markup {
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
