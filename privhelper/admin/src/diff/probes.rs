//! Requests that tell limits apart: for each limit that rules do not share, one value on either side of each threshold.

use super::automaton::{Budget, Exhausted};
use super::limits::{Limits, spread, thresholds};
use super::probe::{Plan, Probe};
use postern_policy::{Object, VerbId};
use postern_proto::root::v1 as root;

/// The requests that find out whether these rules grant the same about this object, the plainest first.
///
/// # Errors
/// There are too many for the budget.
pub fn probes(
    verb: VerbId,
    object: &Object,
    rules: &[&root::Rule],
    budget: &mut Budget,
) -> Result<Vec<Probe>, Exhausted> {
    let limits = Limits { verb, rules };
    let first = Probe { object: object.clone(), plan: limits.plan(object), beyond: Vec::new() };
    let mut probes = vec![first];
    match object {
        Object::Nothing | Object::Reboot { .. } | Object::Command { .. } | Object::Undo { .. } => {}
        Object::Package { .. } | Object::AllPackages => {
            limits.versions(&mut probes, budget)?;
            limits.transactions(&mut probes, budget)?;
        }
        Object::Unit { .. } => {
            if limits.vary("allow_cascade", |rule| rule.allow_cascade) {
                spread(&mut probes, "allow_cascade", &[true], budget, |probe, cascade| {
                    probe.plan = Plan::Unit { cascade: *cascade };
                })?;
            }
            if limits.vary("journal_lines", |rule| rule.journal_lines) {
                let counts = thresholds(rules.iter().map(|rule| rule.journal_lines));
                spread(&mut probes, "journal_lines", &counts, budget, |probe, lines| {
                    probe.plan = Plan::Journal { lines: *lines };
                })?;
            }
        }
        Object::File { .. } => limits.files(&mut probes, budget)?,
    }
    probes.retain(|probe| is_request(verb, &probe.object));
    probes.sort_by_key(|probe| probe.beyond.len());
    Ok(probes)
}

/// Whether the request names what its verb is about.
fn is_request(verb: VerbId, object: &Object) -> bool {
    match object {
        Object::File { mode: None, .. } if verb == VerbId::FileSetMode => false,
        Object::File { owner: None, group: None, .. } if verb == VerbId::FileSetOwner => false,
        Object::Nothing
        | Object::Reboot { .. }
        | Object::Package { .. }
        | Object::AllPackages
        | Object::Unit { .. }
        | Object::File { .. }
        | Object::Command { .. }
        | Object::Undo { .. } => true,
    }
}
