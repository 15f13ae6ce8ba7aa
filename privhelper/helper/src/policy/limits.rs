//! Limits that only a plan can break.

use super::rule::{Rule, list};
use crate::error::{Code, Refusal};
use crate::plan::{Action, FilePlan, PackagePlan, Subject, UnitPlan};

impl Rule {
    /// Whether the plan keeps this rule's limits.
    ///
    /// # Errors
    /// `plan_refused`, `would_cascade` or `limit_exceeded`, with the limit's name.
    pub fn holds_plan(&self, plan: &Subject<'_>) -> Result<(), Refusal> {
        match plan {
            Subject::Nothing => Ok(()),
            Subject::Packages(packages) => self.holds_packages(packages),
            Subject::Unit(unit) => self.holds_unit(unit),
            Subject::File(file) => self.holds_file(file),
        }
    }

    fn holds_packages(&self, plan: &PackagePlan) -> Result<(), Refusal> {
        let refused = |what: String| Err(Refusal::new(Code::PlanRefused, what));
        let new = plan.steps.iter().filter(|step| step.action == Action::Install).count();
        if usize::try_from(self.max_new_packages).is_ok_and(|most| new > most) {
            return refused(format!(
                "{new} packages would be new; rule {} grants {} (`max_new_packages`)",
                self.id, self.max_new_packages
            ));
        }
        for step in &plan.steps {
            let (granted, key) = match step.action {
                Action::Install | Action::Reinstall | Action::Configure => continue,
                Action::Upgrade => (self.allow_upgrades || step.asked, "allow_upgrades"),
                Action::Downgrade => (self.allow_downgrades, "allow_downgrades"),
                Action::Remove | Action::Purge => (self.allow_removals, "allow_removals"),
            };
            if !granted {
                let what = format!(
                    "{} would be {}; rule {} does not grant it (`{key}`)",
                    step.name,
                    step.action.done(),
                    self.id
                );
                return refused(what);
            }
        }
        Ok(())
    }

    fn holds_unit(&self, plan: &UnitPlan) -> Result<(), Refusal> {
        if plan.cascade.is_empty() || self.allow_cascade {
            return Ok(());
        }
        let others = plan.cascade.iter().map(|unit| unit.id.clone()).collect::<Vec<_>>().join(", ");
        Err(Refusal::new(
            Code::WouldCascade,
            format!("{others} would be changed too; rule {} does not grant it (`allow_cascade`)", self.id),
        ))
    }

    fn holds_file(&self, plan: &FilePlan) -> Result<(), Refusal> {
        let over = |what: String| Err(Refusal::new(Code::LimitExceeded, what));
        if plan.old.is_some() {
            return Ok(());
        }
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
            [(&plan.owner, &self.owners, "owners"), (&plan.group, &self.groups, "groups")]
        {
            if name.as_ref().is_some_and(|name| !granted.contains(name)) {
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
