//! Requests that tell limits apart: for each limit that rules do not share, one value on either side of each threshold.

use super::automaton::{Budget, Exhausted};
use super::facet::is_limit_of;
use super::limits::{Limits, spread, thresholds};
use postern_policy::{Object, VerbId};
use postern_proto::root::v1 as root;

/// The side effects of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Plan {
    /// Nothing.
    Nothing,
    /// A transaction of apt.
    Packages {
        /// Packages that are newly installed, the one asked for with them.
        new: u32,
        /// Whether others are upgraded.
        upgrades: bool,
        /// Whether others are removed.
        removals: bool,
        /// Whether others are downgraded.
        downgrades: bool,
    },
    /// Whether another unit is dragged along.
    Unit {
        /// It is.
        cascade: bool,
    },
    /// Lines of a unit's journal.
    Journal {
        /// How many.
        lines: u32,
    },
    /// Whether the file is a new one.
    File {
        /// It is.
        create: bool,
    },
}

/// One request about one object, with what it would come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The object with all that is asked for.
    pub object: Object,
    /// Its side effects.
    pub plan: Plan,
    /// The limits that it goes to, by their keys. Empty: the plainest request.
    pub beyond: Vec<&'static str>,
}

/// Whether [`probes`] tries the values of this limit. The others are compared as they are written.
#[must_use]
pub fn is_probed(key: &str, verb: VerbId) -> bool {
    match key {
        "versions" | "max_new_packages" | "allow_upgrades" | "allow_removals" | "allow_downgrades"
        | "new_packages" | "lines" | "allow_cascade" | "journal_lines" | "modes" | "owners" | "groups"
        | "allow_create" => true,
        "max_bytes" => is_limit_of("allow_create", verb),
        _ => false,
    }
}

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
        Object::Nothing | Object::Command { .. } | Object::Undo { .. } => {}
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

impl Probe {
    /// Returns the side effects that are shown; nothing if there is none.
    #[must_use]
    pub fn told(&self) -> Plan {
        match &self.plan {
            Plan::Unit { cascade: false } | Plan::Journal { lines: 0 } | Plan::File { create: false } => {
                Plan::Nothing
            }
            plan => plan.clone(),
        }
    }
}

/// Whether the request names what its verb is about.
fn is_request(verb: VerbId, object: &Object) -> bool {
    match object {
        Object::File { mode: None, .. } if verb == VerbId::FileSetMode => false,
        Object::File { owner: None, group: None, .. } if verb == VerbId::FileSetOwner => false,
        Object::Nothing
        | Object::Package { .. }
        | Object::AllPackages
        | Object::Unit { .. }
        | Object::File { .. }
        | Object::Command { .. }
        | Object::Undo { .. } => true,
    }
}
