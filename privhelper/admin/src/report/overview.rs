//! The first screen of the report: for each client what it may do, what needs a person, and what amounts to root.

use super::model::{Client, Grant, Line, Overview, Report};
use crate::finding::Class;
use crate::lint;
use crate::policy::finding::Finding;
use postern_policy::Decision;
use std::collections::BTreeSet;

/// Most patterns that a line names.
const PATTERNS: usize = 3;
/// Most lines of one list; the details have all.
const LINES: usize = 6;

/// A part for each client, then one for each person or group that rules name.
pub fn overview(report: &Report) -> Vec<Overview> {
    let grants = || report.clients.iter().flat_map(|client| &client.groups).flat_map(|group| &group.grants);
    let people = grants().flat_map(|grant| &grant.people).collect::<BTreeSet<_>>();
    let people = people.into_iter().map(|name| of_person(name, report));
    report.clients.iter().map(|client| of_client(client, report)).chain(people).collect()
}

/// Lists the grants that name a person, which a client can use while it quotes their session.
fn of_person(name: &str, report: &Report) -> Overview {
    let grants = report.clients.iter().flat_map(|client| &client.groups).flat_map(|group| &group.grants);
    let named = grants.filter(|grant| grant.people.iter().any(|of| of == name));
    let (asks, may) = named.partition::<Vec<_>, _>(|grant| grant.decision == Decision::Ask);
    let ids = asks.iter().chain(&may).map(|grant| grant.id.as_str()).collect::<BTreeSet<_>>();
    let is_own = |finding: &&Finding| finding.rules.iter().any(|id| ids.contains(id.as_str()));
    let lines = |grants: &[&Grant]| {
        let lines = grants.iter().map(|grant| Line { rule: Some(grant.id.clone()), words: words(grant) });
        shortened(lines.collect())
    };
    let who = "named by `people`, with an open session; besides, what the client may for anybody".to_owned();
    Overview {
        client: name.to_owned(),
        who,
        may: lines(&may),
        asks: lines(&asks),
        root: root(report, is_own),
    }
}

fn of_client(client: &Client, report: &Report) -> Overview {
    let grants = || client.groups.iter().flat_map(|group| &group.grants);
    let decided = |decision: Decision| {
        let lines = grants().filter(|grant| grant.decision == decision);
        lines.map(|grant| Line { rule: Some(grant.id.clone()), words: words(grant) }).collect()
    };
    let ids = grants().map(|grant| grant.id.as_str()).collect::<BTreeSet<_>>();
    // Rules of several clients can cause a finding together.
    let is_own = |finding: &&Finding| {
        let is_of_client =
            finding.rules.is_empty() && finding.message.starts_with(&format!("{} ", client.name));
        is_of_client || finding.rules.iter().any(|id| ids.contains(id.as_str()))
    };
    let root = root(report, is_own);
    Overview {
        client: client.name.clone(),
        who: client.who.clone(),
        may: shortened(decided(Decision::Allow)),
        asks: shortened(decided(Decision::Ask)),
        root,
    }
}

/// The findings that amount to root, of those that are the client's or person's own.
fn root(report: &Report, is_own: impl Fn(&&Finding) -> bool) -> Vec<Line> {
    let found = report.findings.iter().filter(is_own).filter(|finding| rank(finding).is_some());
    let mut found = found.collect::<Vec<_>>();
    // Grants that are root alone come before those that need another grant; otherwise in the policy's order.
    found.sort_by_key(|finding| rank(finding));
    let mut root = found.into_iter().map(of_finding).collect::<Vec<_>>();
    root.dedup();
    shortened(root)
}

/// `write, remove *.html in /var/www/html`.
fn words(grant: &Grant) -> String {
    let verbs = grant.verbs.iter().filter(|verb| *verb != "request.undo");
    let verbs = verbs.map(|verb| verb.split_once('.').map_or(verb.as_str(), |(_, action)| action));
    let mut words = verbs.collect::<Vec<_>>().join(", ");
    for objects in &grant.objects {
        let label = match objects.label {
            "in" | "below" | "with" => format!(" {}", objects.label),
            _ => String::new(),
        };
        let named = objects.patterns.iter().take(PATTERNS).cloned().collect::<Vec<_>>().join(", ");
        let more = objects.patterns.len().saturating_sub(PATTERNS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        words = format!("{words}{label} {named}{more}");
    }
    let approval = grant.approval.as_ref().map_or_else(String::new, |approval| format!(" ({approval})"));
    format!("{words}{approval}")
}

/// How near to root a finding's grant is; none for one that is not about that.
const fn rank(finding: &Finding) -> Option<u8> {
    match finding.class {
        Some(Class::Code | Class::Trust) => Some(0),
        Some(Class::Combined) => Some(1),
        Some(Class::Defence) | None => None,
    }
}

/// Why a finding's grant is as good as root, and whether its rule accepts that.
fn of_finding(finding: &Finding) -> Line {
    let why = lint::kind(finding.id).map_or(finding.message.as_str(), |kind| kind.help);
    let accepted = finding.accepted.as_ref().map_or("", |_| " (accepted)");
    let with = if rank(finding) == Some(1) { "with another grant or event: " } else { "" };
    Line { rule: finding.rules.first().cloned(), words: format!("{with}{why}{accepted}") }
}

fn shortened(mut lines: Vec<Line>) -> Vec<Line> {
    let more = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    if more > 0 {
        lines.push(Line { rule: None, words: format!("and {more} more, below") });
    }
    lines
}
