//! What a reviewer looks at first.

use super::grants::is_unused;
use super::model::{Attention, Grant, Log, Report, Standing};
use crate::policy::finding::Severity;
use crate::words::Reach;
use postern_helper::policy::Decision;

/// From which score on a grant is named among what to look at first: effects that do not simply come back.
const HIGH: u32 = 65;

/// The list, the gravest first.
pub fn attention(report: &Report) -> Vec<Attention> {
    let mut list = Vec::new();
    let mut say = |rule: Option<&Grant>, words: String| {
        list.push(Attention { rule: rule.map(|grant| grant.id.clone()), words });
    };
    match &report.log {
        Log::Read { valid: false, chain, .. } => say(None, format!("Audit log: {chain}.")),
        Log::Unread { why } => say(None, format!("No use of any rule is known: {why}.")),
        Log::Read { .. } => {}
    }
    if matches!(report.policy.standing, Standing::Another | Standing::Unknown) {
        say(None, format!("This policy is {}.", report.policy.standing.words()));
    }
    for person in &report.people.barred {
        let who = format!("{} ({})", person.name, person.uid);
        say(
            None,
            format!(
                "{who} is in postern-operators and cannot approve, being a client of the policy: take them out."
            ),
        );
    }
    if report.summary.ask > 0 && report.people.operators.as_ref().is_none_or(Vec::is_empty) {
        say(
            None,
            "Rules ask a person, and nobody but root may approve: postern-operators has no member."
                .to_owned(),
        );
    }
    for finding in report.findings.iter().filter(|finding| finding.severity != Severity::Note) {
        let severity = finding.severity.as_str();
        say(None, format!("{severity} at {}:{}: {}", finding.file, finding.line, finding.message));
    }
    let mut grants =
        report.clients.iter().flat_map(|c| &c.groups).flat_map(|g| &g.grants).collect::<Vec<_>>();
    grants.retain(|grant| grant.decision != Decision::Deny);
    // Equal risks stay in the policy's order.
    grants.sort_by_key(|grant| std::cmp::Reverse(grant.risk));
    for grant in grants {
        let mut why = Vec::new();
        let risk = grant.risk.unwrap_or_default();
        if grant.decision == Decision::Allow && risk >= HIGH {
            why.push(format!("risk {risk} without asking anybody"));
        }
        for accepted in &grant.accepted_risks {
            why.push(format!("accepts {}", accepted.finding));
        }
        let wide = grant.limits.iter().filter(|limit| limit.reach == Reach::Wide);
        why.extend(wide.map(|limit| limit.words.clone()));
        if is_unused(grant) {
            why.push("granted, never used".to_owned());
        }
        if !why.is_empty() {
            say(Some(grant), format!("{}.", why.join("; ")));
        }
    }
    list
}
