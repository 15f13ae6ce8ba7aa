//! Plans as the client and the audit see them.

use super::{Action, PackagePlan, PackageStep, Subject, UnitPlan, UnitState};
use crate::audit::Json;
use crate::error::Fault;
use crate::types::PackageName;
use crate::verb::Planned;
use postern_proto::v1 as wire;

impl Action {
    const fn wire(self) -> wire::Action {
        match self {
            Self::Install => wire::Action::Install,
            Self::Upgrade => wire::Action::Upgrade,
            Self::Downgrade => wire::Action::Downgrade,
            Self::Reinstall => wire::Action::Reinstall,
            Self::Remove => wire::Action::Remove,
            Self::Purge => wire::Action::Purge,
            Self::Configure => wire::Action::Configure,
        }
    }

    const fn of_wire(action: wire::Action) -> Option<Self> {
        match action {
            wire::Action::Install => Some(Self::Install),
            wire::Action::Upgrade => Some(Self::Upgrade),
            wire::Action::Downgrade => Some(Self::Downgrade),
            wire::Action::Reinstall => Some(Self::Reinstall),
            wire::Action::Remove => Some(Self::Remove),
            wire::Action::Purge => Some(Self::Purge),
            wire::Action::Configure => Some(Self::Configure),
            wire::Action::Unspecified => None,
        }
    }
}

impl PackageStep {
    /// The step as messages hold it.
    #[must_use]
    pub fn wire(&self) -> wire::PackageStep {
        wire::PackageStep {
            action: self.action.wire().into(),
            name: self.name.to_string(),
            arch: self.arch.clone(),
            old: self.old.clone(),
            new: self.new.clone(),
            sources: Vec::new(),
            asked: self.asked,
        }
    }

    /// A step that a job wrote.
    ///
    /// # Errors
    /// It is no step of ours.
    pub fn of_wire(step: &wire::PackageStep) -> Result<Self, Fault> {
        let corrupt = || Fault::Corrupt { what: "a plan of packages" };
        Ok(Self {
            action: Action::of_wire(step.action()).ok_or_else(corrupt)?,
            name: PackageName::new(&step.name).map_err(|_| corrupt())?,
            arch: step.arch.clone(),
            old: step.old.clone(),
            new: step.new.clone(),
            asked: step.asked,
        })
    }
}

impl Planned for PackagePlan {
    fn subject(&self) -> Subject<'_> {
        Subject::Packages(self)
    }

    fn wire(&self) -> wire::Plan {
        wire::Plan {
            packages: self.steps.iter().map(PackageStep::wire).collect(),
            download_bytes: self.download_bytes,
            disk_bytes: self.disk_bytes,
            ..wire::Plan::default()
        }
    }

    fn json(&self) -> Json {
        let steps = self.steps.iter().map(|step| {
            let json = Json::new().text("action", step.action.done()).text("name", step.name.as_str());
            json.text("arch", &step.arch)
                .text("old", &step.old)
                .text("new", &step.new)
                .flag("asked", step.asked)
        });
        Json::new().objects("packages", steps)
    }

    fn text(&self) -> Vec<u8> {
        let step = |step: &PackageStep| {
            let asked = if step.asked { "asked for" } else { "comes along" };
            let (name, arch, old, new) = (&step.name, &step.arch, or_none(&step.old), or_none(&step.new));
            format!("{name} ({arch}) is {}: {old} -> {new}, {asked}\n", step.action.done())
        };
        let (download, disk) = (self.download_bytes, self.disk_bytes);
        let steps = self.steps.iter().map(step).collect::<String>();
        format!("{steps}fetches {download} bytes, takes {disk} bytes of disk\n").into_bytes()
    }
}

fn or_none(version: &str) -> &str {
    if version.is_empty() { "none" } else { version }
}

impl UnitState {
    /// The state as messages hold it.
    #[must_use]
    pub fn wire(&self) -> wire::UnitInfo {
        wire::UnitInfo {
            id: self.id.clone(),
            load: self.load.clone(),
            active: self.active.clone(),
            sub: self.sub.clone(),
            enabled: self.enabled.clone(),
            result: self.result.clone(),
            main_pid: self.main_pid,
            since_unix_us: self.since_unix_us,
            memory_bytes: self.memory_bytes,
            was_active: String::new(),
            was_enabled: String::new(),
            exit_status: self.exit_status,
        }
    }

    fn step(&self, verb: &str, cascade: bool) -> wire::UnitStep {
        let (active, enabled) = (self.active.clone(), self.enabled.clone());
        wire::UnitStep { id: self.id.clone(), verb: verb.to_owned(), cascade, active, enabled }
    }
}

impl Planned for UnitPlan {
    fn subject(&self) -> Subject<'_> {
        Subject::Unit(self)
    }

    fn wire(&self) -> wire::Plan {
        let units = self.steps().map(|(verb, unit, cascade)| unit.step(verb, cascade)).collect();
        wire::Plan { units, ..wire::Plan::default() }
    }

    fn json(&self) -> Json {
        let step = |(verb, unit, cascade): (&str, &UnitState, bool)| {
            let json = Json::new().text("id", &unit.id).text("verb", verb);
            json.text("active", &unit.active).text("enabled", &unit.enabled).flag("cascade", cascade)
        };
        Json::new().objects("units", self.steps().map(step))
    }

    fn text(&self) -> Vec<u8> {
        let step = |(verb, unit, cascade): (&str, &UnitState, bool)| {
            let why = if cascade { "; it comes along" } else { "" };
            format!("{verb} {}, which is {} and {}{why}\n", unit.id, unit.active, or_none(&unit.enabled))
        };
        self.steps().map(step).collect::<String>().into_bytes()
    }
}

impl UnitPlan {
    /// Everything that is done: what, to which unit, and whether it is dragged along.
    fn steps(&self) -> impl Iterator<Item = (&'static str, &UnitState, bool)> {
        let own = [Some(self.action), self.now].into_iter().flatten();
        let others = self.cascade.iter().map(|other| (other.verb, &other.state, true));
        own.map(|verb| (verb, &self.state, false)).chain(others)
    }
}
