//! Accepted findings: those with a reason in `accept_risk` of their rule.

use super::{Found, Input, catalog, files};
use crate::policy::finding::Severity;
use crate::text::did_you_mean;

/// Accepts every finding.
const ALL: &str = "*";

/// Marks what is accepted, and tells of acceptances that accept nothing.
pub(super) fn apply(input: &Input<'_>, found: &mut Vec<Found>) {
    let mut remarks = Vec::new();
    for (index, written) in input.written.iter().enumerate() {
        let Some(rule) = input.rules.rules.get(index).filter(|_| !written.accepts.is_empty()) else {
            continue;
        };
        for accept in &written.accepts {
            let mut hit = 0;
            let mine = |found: &&mut Found| {
                found.rules.first() == Some(&index)
                    && found.severity != Severity::Note
                    && found.accepted.is_none()
            };
            for finding in found.iter_mut().filter(mine) {
                if accept.id == ALL || accept.id == finding.id {
                    finding.accepted = Some(accept.reason.clone());
                    finding.severity = Severity::Note;
                    hit += 1;
                }
            }
            let remark = |id, severity, message| Found {
                id,
                class: None,
                severity,
                place: accept.place,
                message,
                rules: vec![index],
                accepted: None,
            };
            if accept.id == ALL {
                let message = format!(
                    "rule {} accepts every finding, those of tomorrow too ({hit} today): name them instead",
                    rule.id
                );
                remarks.push(remark("accepts-everything", Severity::Note, message));
            } else if hit == 0 && !is_for_a_host(&accept.id, input) {
                let known = catalog::kinds().filter(|kind| kind.is_of_rule).map(|kind| kind.id);
                let meant = if catalog::kind(&accept.id).is_some() {
                    String::new()
                } else {
                    did_you_mean(&accept.id, known)
                };
                let message =
                    format!("`accept_risk` names {:?}, which is no finding of this rule{meant}", accept.id);
                remarks.push(remark("accepts-nothing", Severity::Warning, message));
            }
        }
    }
    found.extend(remarks);
}

/// Whether the finding could be one on another host, or only of a rule that is checked with facts.
fn is_for_a_host(id: &str, input: &Input<'_>) -> bool {
    id != files::OUTSIDE && input.facts.is_none() && catalog::kind(id).is_some_and(|kind| kind.is_of_host)
}
