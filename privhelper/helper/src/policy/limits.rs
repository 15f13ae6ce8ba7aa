//! Limits that only a plan can break.

use super::rule::list;
use super::{Object, Rule};
use crate::error::{Code, Refusal};
use crate::plan::{Action, NewFile, PackagePlan, PackageStep, Subject, UnitPlan};
use crate::verb_id::VerbId;

impl Rule {
    /// Whether the plan keeps this rule's limits, where the rule was asked about `object`. What an undo brings back is
    /// judged by the rules of its own verbs.
    ///
    /// # Errors
    /// `plan_refused`, `would_cascade` or `limit_exceeded`, with the limit's name.
    pub fn holds_plan(
        &self,
        verb: VerbId,
        object: Option<&Object>,
        plan: &Subject<'_>,
    ) -> Result<(), Refusal> {
        if verb == VerbId::RequestUndo {
            return Ok(());
        }
        match plan {
            Subject::Nothing => Ok(()),
            Subject::Packages(packages) => self.holds_packages(verb, packages),
            Subject::Unit(unit) => self.holds_unit(verb, unit),
            Subject::NewFiles(files) => {
                let is_named = |file: &&NewFile<'_>| object.is_some_and(|object| object.is_file(file.path));
                files.iter().filter(is_named).try_for_each(|file| self.holds_new_file(file))
            }
        }
    }

    fn holds_packages(&self, verb: VerbId, plan: &PackagePlan) -> Result<(), Refusal> {
        let refused = |what: String| Err(Refusal::new(Code::PlanRefused, what));
        if !self.sources.is_empty() && !plan.steps.is_empty() {
            let sources = self.sources.join(", ");
            return refused(format!(
                "rule {} grants packages from {sources} only (`sources`); this helper cannot tell yet where a package comes from",
                self.id
            ));
        }
        let new = plan.steps.iter().filter(|step| step.action == Action::Install).count();
        if new > 0 && verb == VerbId::PackageUpgrade && !self.new_packages {
            return refused(format!(
                "the upgrade would bring new packages; rule {} does not grant it (`new_packages`)",
                self.id
            ));
        }
        if usize::try_from(self.max_new_packages).is_ok_and(|most| new > most) {
            return refused(format!(
                "{new} packages would be new; rule {} grants {} (`max_new_packages`)",
                self.id, self.max_new_packages
            ));
        }
        match plan.steps.iter().find_map(|step| Some((step, self.broken_by(verb, step)?))) {
            None => Ok(()),
            Some((step, key)) => refused(format!(
                "{} would be {}; rule {} does not grant it (`{key}`)",
                step.name,
                step.action.done(),
                self.id
            )),
        }
    }

    /// The limit that one step of a transaction breaks.
    fn broken_by(&self, verb: VerbId, step: &PackageStep) -> Option<&'static str> {
        // What the verb is for, rather than what comes with it. An upgrade of all decides each package for itself.
        let is_removal = matches!(verb, VerbId::PackageRemove | VerbId::PackagePurge) && step.asked;
        let (granted, key) = match step.action {
            Action::Install | Action::Reinstall | Action::Configure => return None,
            Action::Upgrade => (self.allow_upgrades || step.asked, "allow_upgrades"),
            Action::Downgrade => (self.allow_downgrades, "allow_downgrades"),
            Action::Purge if verb == VerbId::PackageRemove => (false, "verbs"),
            Action::Remove | Action::Purge => {
                (self.allow_removals || is_removal || verb == VerbId::PackageAutoremove, "allow_removals")
            }
        };
        (!granted).then_some(key)
    }

    fn holds_unit(&self, verb: VerbId, plan: &UnitPlan) -> Result<(), Refusal> {
        if verb == VerbId::UnitStatus && plan.journal_lines > self.journal_lines {
            let (id, lines) = (&self.id, self.journal_lines);
            let why = format!("rule {id} grants {lines} lines of the journal (`journal_lines`)");
            return Err(Refusal::new(Code::LimitExceeded, why));
        }
        if plan.cascade.is_empty() || self.allow_cascade {
            return Ok(());
        }
        let others = plan.cascade.iter().map(|other| other.state.id.clone()).collect::<Vec<_>>().join(", ");
        Err(Refusal::new(
            Code::WouldCascade,
            format!("{others} would be changed too; rule {} does not grant it (`allow_cascade`)", self.id),
        ))
    }

    fn holds_new_file(&self, plan: &NewFile<'_>) -> Result<(), Refusal> {
        let over = |what: String| Err(Refusal::new(Code::LimitExceeded, what));
        if !self.allow_create {
            return over(format!("rule {} grants no new files (`allow_create`)", self.id));
        }
        // What a new file gets without being asked for is checked like what is asked for.
        if !self.modes.contains(&plan.mode) {
            return over(format!(
                "a new file would have mode {}; rule {} grants {}",
                plan.mode,
                self.id,
                list(&self.modes)
            ));
        }
        for (name, granted, key) in
            [(plan.owner, &self.owners, "owners"), (plan.group, &self.groups, "groups")]
        {
            if name.is_some_and(|name| !granted.contains(name)) {
                return over(format!(
                    "a new file would be root's; rule {} grants {} (`{key}`)",
                    self.id,
                    list(granted)
                ));
            }
        }
        Ok(())
    }
}
