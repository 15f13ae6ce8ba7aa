//! Accepted findings: those with a reason in `accept_risk` of their rule.

use super::grant::LintFinding;
use super::input::Input;
use super::{catalog, files};
use crate::finding::Severity;
use crate::text::unknown;
use std::collections::BTreeSet;

/// Accepts every finding.
const ALL: &str = "*";

/// Marks accepted findings, and reports entries of `accept_risk` that match no finding.
pub(super) fn apply(input: &Input<'_>, found: &mut Vec<LintFinding>) {
    let mut remarks = Vec::new();
    for (index, text) in input.texts.iter().enumerate() {
        let Some(rule) = input.rules.rules.get(index).filter(|_| !text.acceptances.is_empty()) else {
            continue;
        };
        for acceptance in &text.acceptances {
            let mut hit = 0;
            let mine = |found: &&mut LintFinding| {
                found.rules.first() == Some(&index)
                    && found.severity != Severity::Note
                    && found.accepted.is_none()
            };
            for finding in found.iter_mut().filter(mine) {
                if acceptance.id == ALL || acceptance.id == finding.id {
                    finding.accepted = Some(acceptance.reason.clone());
                    finding.severity = Severity::Note;
                    hit += 1;
                }
            }
            let remark = |id, severity, message| LintFinding {
                id,
                class: None,
                severity,
                location: acceptance.location,
                message,
                rules: vec![index],
                accepted: None,
            };
            if acceptance.id == ALL {
                let message = format!(
                    "rule {} accepts every finding, including future ones ({hit} now): name them instead",
                    rule.id
                );
                remarks.push(remark("accepts-everything", Severity::Note, message));
            } else if hit == 0 && !is_for_a_host(&acceptance.id) {
                let is_own =
                    |finding: &&LintFinding| finding.rules.first() == Some(&index) && finding.class.is_some();
                let own = found.iter().filter(is_own).map(|finding| finding.id).collect::<BTreeSet<_>>();
                let message = if catalog::kind(&acceptance.id).is_some() {
                    let own = own.into_iter().collect::<Vec<_>>();
                    let has = if own.is_empty() {
                        "it has none".to_owned()
                    } else {
                        format!("it has {}", own.join(", "))
                    };
                    format!(
                        "`accept_risk` names {:?}, and this rule has no such finding: {has}",
                        acceptance.id
                    )
                } else {
                    format!("`accept_risk` names an {}", unknown("finding", &acceptance.id, own))
                };
                remarks.push(remark("accepts-nothing", Severity::Warning, message));
            }
        }
    }
    found.extend(remarks);
}

/// Whether the finding depends on a host: it may come with the next package or rule, so its acceptance is never idle.
fn is_for_a_host(id: &str) -> bool {
    id != files::OUTSIDE && catalog::kind(id).is_some_and(|kind| kind.is_of_host)
}
