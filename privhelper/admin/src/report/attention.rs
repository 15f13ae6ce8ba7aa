//! Remarks that a reviewer should read first.

use super::idle::DAYS;
use super::model::{Attention, Grant, Log, Person, Report};
use crate::finding::Severity;
use crate::limits::Breadth;
use postern_policy::Decision;

/// From which score on a grant is named among what to look at first: effects that do not simply come back.
const HIGH: u32 = 65;

/// The list: what is wrong around the grants, then the grants by risk.
pub fn attention(report: &Report) -> Vec<Attention> {
    let mut words = Vec::new();
    match &report.log {
        Log::Read { valid: false, chain, .. } => words.push(format!("Audit log: {chain}.")),
        Log::Unread { why } => words.push(format!("No use of any rule is known: {why}.")),
        Log::Read { .. } => {}
    }
    if !report.policy.standing.is_active() {
        words.push(format!("This policy is {}.", report.policy.standing.words()));
    }
    for Person { name, uid } in &report.people.barred {
        words.push(format!(
            "{name} ({uid}) is in postern-operators and cannot approve, being a client of the policy: take them out."
        ));
    }
    if report.summary.ask > 0 && report.people.operators.as_ref().is_none_or(Vec::is_empty) {
        let nobody = "Rules ask a person, and nobody but root may approve: postern-operators has no member.";
        words.push(nobody.to_owned());
    }
    let found = report.findings.iter().filter(|finding| finding.severity != Severity::Note);
    let found = found.map(|finding| {
        let severity = finding.severity.as_str();
        let words = format!("{severity} at {}:{}: {}", finding.file, finding.line, finding.message);
        Attention { rule: finding.rules.first().cloned(), words }
    });
    let general = words.into_iter().map(|words| Attention { rule: None, words });
    let mut grants =
        report.clients.iter().flat_map(|c| &c.groups).flat_map(|g| &g.grants).collect::<Vec<_>>();
    grants.retain(|grant| grant.decision != Decision::Deny);
    // Equal risks stay in the policy's order.
    grants.sort_by_key(|grant| std::cmp::Reverse(grant.risk));
    general.chain(found).chain(grants.into_iter().filter_map(of_grant)).collect()
}

/// Why a grant is worth a look, if it is.
fn of_grant(grant: &Grant) -> Option<Attention> {
    let mut why = Vec::new();
    if let Some(risk) = grant.risk.filter(|risk| grant.decision == Decision::Allow && *risk >= HIGH) {
        why.push(format!("risk {risk} without asking anybody"));
    }
    why.extend(grant.accepted_risks.iter().map(|accepted| format!("accepts {}", accepted.finding)));
    let wide = grant.limits.iter().filter(|limit| limit.reach == Breadth::Wide);
    why.extend(wide.map(|limit| limit.words.clone()));
    let unused = grant.unused.as_ref().filter(|unused| unused.is_long);
    why.extend(unused.map(|unused| format!("granted, {}", unused.words())));
    if grant.idle {
        why.push(format!("granted, not used in {DAYS} days"));
    }
    let words = format!("{}.", why.join("; "));
    (!why.is_empty()).then(|| Attention { rule: Some(grant.id.clone()), words })
}
