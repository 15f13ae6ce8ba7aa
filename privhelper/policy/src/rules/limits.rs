//! Limits that only the facts of a request can break.

use super::decision::Decision;
use super::object::Object;
use super::rule::{Rule, list};
use super::source;
use crate::error::{Code, Denied};
use crate::facts::{Action, Facts, Origin, PackageStep, PackageTransaction, UnitFacts};
use crate::types::{FileMode, UserName};
use crate::verb_id::VerbId;
use postern_proto::root::v1::{self as root, PackageFlags};

impl Rule {
    /// Whether the facts keep this rule's limits. Facts of an undo are judged by the rules of the inverse's
    /// verbs.
    ///
    /// # Errors
    /// `plan_refused`, `would_cascade` or `limit_exceeded`, with the limit's name.
    pub(super) fn holds_facts(
        &self,
        verb: VerbId,
        facts: &Facts,
        flags: PackageFlags,
        sources: &[root::Source],
    ) -> Result<(), Denied> {
        if verb == VerbId::RequestUndo {
            return Ok(());
        }
        match facts {
            Facts::None | Facts::Files(_) => Ok(()),
            Facts::Packages(packages) => self.holds_packages(verb, packages, flags, sources),
            Facts::Unit(unit) => self.holds_unit(unit),
        }
    }

    fn holds_packages(
        &self,
        verb: VerbId,
        plan: &PackageTransaction,
        flags: PackageFlags,
        sources: &[root::Source],
    ) -> Result<(), Denied> {
        let (id, most) = (&self.id, self.max_new_packages);
        let refused = |what: String| Err(Denied::new(Code::PlanRefused, what));
        let not_granted =
            |what: &str, key: &str| refused(format!("{what}; rule {id} does not grant it (`{key}`)"));
        if !self.sources.is_empty()
            && let Some(step) = plan.steps.iter().find(|step| !self.has_sources(step, sources))
        {
            let granted = self.sources.join(", ");
            let from = step.sources.iter().map(Origin::to_string).collect::<Vec<_>>().join(" and from ");
            let from =
                if from.is_empty() { "no configured source that can be told".to_owned() } else { from };
            return refused(format!(
                "{} {} would come from {from}; rule {id} grants packages from {granted} only (`sources`)",
                step.name, step.new
            ));
        }
        if flags.recommends && !self.recommends {
            return not_granted("recommended packages come along", "recommends");
        }
        let new = plan.steps.iter().filter(|step| step.action == Action::Install).count();
        if new > 0 && verb == VerbId::PackageUpgrade && !self.new_packages {
            return not_granted("the upgrade would bring new packages", "new_packages");
        }
        // The packages of a repair are not known before; its rules have no such limit.
        let is_counted = verb != VerbId::PackageRepair;
        if is_counted && usize::try_from(most).is_ok_and(|most| new > most) {
            return refused(format!(
                "{new} packages would be new; rule {id} grants {most} (`max_new_packages`)"
            ));
        }
        match plan.steps.iter().find_map(|step| Some((step, self.broken_by(verb, step)?))) {
            None => Ok(()),
            Some((step, key)) => not_granted(&format!("{} would be {}", step.name, step.action.done()), key),
        }
    }

    /// Whether all that offer what this step fetches are granted. apt may take the bytes from any of them.
    fn has_sources(&self, step: &PackageStep, sources: &[root::Source]) -> bool {
        let granted = |origin: &Origin| {
            sources.iter().any(|source| self.sources.contains(&source.name) && source::has(source, origin))
        };
        match step.action {
            Action::Remove | Action::Purge | Action::Configure => true,
            Action::Install | Action::Upgrade | Action::Downgrade | Action::Reinstall => {
                !step.sources.is_empty() && step.sources.iter().all(granted)
            }
        }
    }

    /// The limit that one step of a transaction breaks.
    fn broken_by(&self, verb: VerbId, step: &PackageStep) -> Option<&'static str> {
        // The verb's own change needs no limit, only side effects do. An upgrade of all decides each package.
        let is_removal = matches!(verb, VerbId::PackageRemove | VerbId::PackagePurge) && step.asked;
        let (granted, key) = match step.action {
            Action::Install | Action::Reinstall | Action::Configure => return None,
            Action::Upgrade => {
                (self.allow_upgrades || step.asked || verb == VerbId::PackageRepair, "allow_upgrades")
            }
            Action::Downgrade => (self.allow_downgrades, "allow_downgrades"),
            Action::Purge if verb == VerbId::PackageRemove => (false, "verbs"),
            Action::Remove | Action::Purge => {
                (self.allow_removals || is_removal || verb == VerbId::PackageAutoremove, "allow_removals")
            }
        };
        (!granted).then_some(key)
    }

    fn holds_unit(&self, plan: &UnitFacts) -> Result<(), Denied> {
        let cascade = plan.affected.iter().filter(|other| other.is_cascade());
        let others = cascade.map(|other| other.state.id.as_str()).collect::<Vec<_>>();
        if others.is_empty() || self.allow_cascade {
            return Ok(());
        }
        // Which ones they are tells their state, which a person has not yet agreed to.
        let others =
            if self.decision == Decision::Ask { "other units".to_owned() } else { others.join(", ") };
        let id = &self.id;
        let why = format!("{others} would be changed too; rule {id} does not grant it (`allow_cascade`)");
        Err(Denied::new(Code::WouldCascade, why))
    }

    /// Whether a new file or directory keeps the limits. Default mode, owner and group are checked like
    /// requested ones.
    ///
    /// # Errors
    /// `limit_exceeded` with the limit's name.
    pub fn holds_new_file(&self, verb: VerbId, object: &Object) -> Result<(), Denied> {
        let over = |what: String| Err(Denied::new(Code::LimitExceeded, what));
        let Object::File { mode, owner, group, .. } = object else { return Ok(()) };
        if !self.allow_create {
            return over(format!("rule {} grants no new files (`allow_create`)", self.id));
        }
        let default = if verb == VerbId::FileMkdir { FileMode::DIRECTORY } else { FileMode::DEFAULT };
        let mode = mode.unwrap_or(default);
        if !self.modes.contains(&mode) {
            let (id, modes) = (&self.id, list(&self.modes));
            return over(format!("a new file would have mode {mode}; rule {id} grants {modes}"));
        }
        for (name, granted, key) in [(owner, &self.owners, "owners"), (group, &self.groups, "groups")] {
            let name = name.as_ref().map_or("root", UserName::as_str);
            if !granted.iter().any(|granted| granted.as_str() == name) {
                let (id, granted) = (&self.id, list(granted));
                return over(format!("a new file would be {name}'s; rule {id} grants {granted} (`{key}`)"));
            }
        }
        Ok(())
    }
}
