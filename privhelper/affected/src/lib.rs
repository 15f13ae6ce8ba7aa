//! The rule of affected units: which other units a change of one unit changes too.
//!
//! A job of systemd pulls in jobs of other units (systemd.unit(5), "Mapping of unit properties to their inverses").
//! Observed with systemd 252 and 257 for each kind of dependency, by `systemctl --show-transaction` and by the states
//! before and after:
//!
//! | job | pulls in |
//! |---|---|
//! | start, restart | start of `Requires=`, `BindsTo=`, `Wants=`, `Upholds=`; stop of `Conflicts=` and `ConflictedBy=` |
//! | stop | stop of `RequiredBy=`, `RequisiteOf=`, `BoundBy=`, `ConsistsOf=`, `PropagatesStopTo=`; later of what it needed that has `StopWhenUnneeded=` |
//! | restart | restart of the first four of these, with 257 stop of `PropagatesStopTo=` |
//! | reload | reload of `PropagatesReloadTo=`, also where the unit itself does not run |
//! | any but reload | start of `OnSuccess=` or `OnFailure=`, when the unit ends |
//! | start of a timer, path, socket | start of `Triggers=`, at once where the time has come |
//!
//! * A job that changes nothing pulls in nothing: the closure does not go through a unit, of any type, that is active
//!   and would start, nor through one that is down and would stop. The request's own unit is the exception.
//! * A unit with an unmet condition does not start, but what it wants does. `ConditionResult` is that of the last try
//!   and may have changed, so that such a unit counts like any other.
//! * `--now` starts or stops the named unit alone, not those of `Also=`. systemd reads all unit files before that, so
//!   that properties must not be older than the files.
//! * `UpheldBy=` of an active unit starts the unit when it is enabled (257).
//! * A unit has `Requires=` on its slice: slices need no rule of their own.
//!
//! Not seen: `FailureAction=`, `StartLimitAction=`, what the programs of units do, and what reading changed unit files
//! brings (`unit.daemon-reload`).

#![expect(clippy::must_use_candidate, reason = "pure functions: nobody calls one and drops its result")]

mod install;
mod properties;

pub use install::{Install, InstallLink, LOOKUPS_MAX, SETTINGS};
pub use properties::{Dependency, UnitProperties};

use Dependency::{
    BindsTo, BoundBy, ConflictedBy, Conflicts, ConsistsOf, OnFailure, OnSuccess, PropagatesReloadTo,
    PropagatesStopTo, RequiredBy, Requires, Requisite, RequisiteOf, Triggers, Upholds, Wants,
};
use postern_policy::VerbId::{
    self, UnitDisable, UnitEnable, UnitMask, UnitReload, UnitRestart, UnitStart, UnitStop, UnitTryRestart,
};
use postern_policy::facts::{AffectedUnit, UnitFacts, UnitState, all_names};
use postern_policy::request::UnitRequest;
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The jobs of the request's own unit: by which verbs, and by which with `now`.
const JOBS: [(VerbId, &[VerbId], &[VerbId]); 4] = [
    (UnitStart, &[UnitStart], &[UnitEnable]),
    (UnitStop, &[UnitStop], &[UnitDisable, UnitMask]),
    (UnitRestart, &[UnitRestart, UnitTryRestart], &[]),
    (UnitReload, &[UnitReload], &[]),
];

/// Which jobs pull in which job of which neighbours.
const PULLED_IN: [(&[VerbId], &[Dependency], VerbId); 7] = [
    (&[UnitStart, UnitRestart], &[Requires, BindsTo, Wants, Upholds, Triggers], UnitStart),
    (&[UnitStart, UnitRestart], &[Conflicts, ConflictedBy], UnitStop),
    (&[UnitStop], &[RequiredBy, RequisiteOf, BoundBy, ConsistsOf], UnitStop),
    (&[UnitRestart], &[RequiredBy, RequisiteOf, BoundBy, ConsistsOf], UnitRestart),
    (&[UnitStop, UnitRestart], &[PropagatesStopTo], UnitStop),
    (&[UnitReload], &[PropagatesReloadTo], UnitReload),
    (&[UnitStart, UnitStop, UnitRestart], &[OnSuccess, OnFailure], UnitStart),
];

/// Finds the units that a change affects besides its own, which has these properties. `look_up` asks systemd for those of more
/// units, and returns them in the order of the names; `install` are the links of enabling and disabling.
///
/// # Errors
/// `plan_too_large`: more than [`LOOKUPS_MAX`] lookups. `precondition_failed`: a unit file changed since systemd read it. As
/// `look_up`.
pub fn affected_units<E: From<Denied>>(
    request: &UnitRequest,
    own: UnitProperties,
    install: &Install,
    look_up: impl Fn(&[UnitName]) -> Result<Vec<UnitProperties>, E>,
) -> Result<UnitFacts, E> {
    let state = own.state.clone();
    let mut known = BTreeMap::from([(request.unit.clone(), own)]);
    loop {
        let (missing, jobs, seen) = (BTreeSet::new(), VecDeque::new(), BTreeSet::new());
        let mut walk = Walk { request, install, known: &known, missing, jobs, seen, affected: Vec::new() };
        walk.begin();
        while let Some((job, unit)) = walk.jobs.pop_front() {
            walk.pull_in(job, unit);
        }
        let missing = walk.missing.into_iter().cloned().collect::<Vec<_>>();
        if known.len().saturating_add(missing.len()) > LOOKUPS_MAX {
            let why = format!("more than {LOOKUPS_MAX} units may change with {}", request.unit);
            return Err(Denied::new(Code::PlanTooLarge, why).into());
        }
        if missing.is_empty() {
            if let Some(unit) = known.values().find(|unit| request.now && unit.needs_reload) {
                let why = format!("{} changed on disk; ask for unit.daemon-reload first", unit.state.id);
                return Err(Denied::new(Code::PreconditionFailed, why).into());
            }
            return Ok(UnitFacts { state, affected: walk.affected });
        }
        let units = look_up(&missing)?;
        if units.len() != missing.len() {
            // A unit without properties would be asked for again without end, or be taken for another.
            return Err(Denied::new(Code::Interrupted, "systemd did not describe every unit").into());
        }
        known.extend(missing.into_iter().zip(units));
    }
}

/// The closure as it grows.
struct Walk<'a> {
    request: &'a UnitRequest,
    install: &'a Install,
    /// The properties that systemd returned, by the requested name.
    known: &'a BTreeMap<UnitName, UnitProperties>,
    missing: BTreeSet<&'a UnitName>,
    jobs: VecDeque<(VerbId, &'a UnitProperties)>,
    seen: BTreeSet<(VerbId, &'a str)>,
    affected: Vec<AffectedUnit>,
}

impl<'a> Walk<'a> {
    /// The unit's own job, which pulls in others also where it changes nothing itself; and the links.
    fn begin(&mut self) {
        let (verb, now) = (self.request.verb, self.request.now);
        let Some(unit) = self.known.get(&self.request.unit) else { return };
        let is_among = |verbs: &[VerbId]| verbs.contains(&verb);
        let job = JOBS.into_iter().find(|(_, by, with_now)| is_among(by) || (now && is_among(with_now)));
        if let Some((job, ..)) = job.filter(|(job, ..)| verb != UnitTryRestart || changes(*job, unit)) {
            self.seen.insert((job, &unit.state.id));
            self.jobs.push_back((job, unit));
        }
        self.seen.insert((verb, &unit.state.id));
        for name in &self.install.also {
            self.reach(verb, name, "Also", &unit.state.id);
        }
        for link in &self.install.links {
            self.install(link);
        }
    }

    /// Adds the units that get or lose a name or a dependency. A target is not affected by `WantedBy=`: it only groups units.
    fn install(&mut self, link: &'a InstallLink) {
        let InstallLink { setting, holder, unit } = link;
        let is_group = *setting == "WantedBy" && holder.as_str().ends_with(".target");
        let mut own = [&self.request.unit, unit].into_iter().filter_map(|name| self.known.get(name));
        if is_group || own.any(|own| all_names(&own.state).contains(holder.as_str())) {
            return;
        }
        self.reach(self.request.verb, holder, setting, unit.as_str());
        let upholds = *setting == "UpheldBy" && self.request.verb == UnitEnable;
        if upholds && self.known.get(holder).is_some_and(|holder| !changes(UnitStart, holder)) {
            self.reach(UnitStart, unit, setting, unit.as_str());
        }
    }

    fn pull_in(&mut self, job: VerbId, unit: &'a UnitProperties) {
        let id = unit.state.id.as_str();
        for (_, kinds, pulled) in PULLED_IN.iter().filter(|(jobs, ..)| jobs.contains(&job)) {
            for kind in *kinds {
                unit.neighbours(*kind).for_each(|name| self.reach(*pulled, name, kind.property(), id));
            }
        }
        let known = self.known;
        let may_stop = |name: &&UnitName| known.get(*name).is_none_or(|unit| unit.stops_when_unneeded);
        for kind in [Requires, Requisite, BindsTo, Wants, Upholds].into_iter().filter(|_| job == UnitStop) {
            let needed = unit.neighbours(kind).filter(may_stop);
            needed.for_each(|name| self.reach(UnitStop, name, kind.property(), id));
        }
        // The dependencies that are made before the start.
        if job == UnitStart && self.request.verb == UnitEnable {
            let names = all_names(&unit.state);
            for InstallLink { setting, holder, unit } in &self.install.links {
                if *setting != "Alias" && names.contains(holder.as_str()) {
                    self.reach(UnitStart, unit, setting, unit.as_str());
                }
            }
        }
    }

    /// Adds a unit that the verb changes, once, with the setting and the unit that lead to it.
    fn reach(&mut self, verb: VerbId, name: &'a UnitName, setting: &str, of: &str) {
        let known = self.known.get(name);
        if known.is_none() && !name.is_template() {
            self.missing.insert(name);
            return;
        }
        // A template has no state: its name alone is decided.
        let template = || UnitState { id: name.to_string(), ..UnitState::default() };
        let id = known.map_or(name.as_str(), |unit| unit.state.id.as_str());
        if known.is_none_or(|unit| changes(verb, unit)) && self.seen.insert((verb, id)) {
            let state = known.map_or_else(template, |unit| unit.state.clone());
            self.affected.push(AffectedUnit { verb, cause: format!("{setting}= of {of}"), state });
            self.jobs.extend(known.map(|unit| (verb, unit)));
        }
    }
}

/// Whether the verb changes the unit as it is. A unit on its way up may still be started, one on its way down stopped.
fn changes(verb: VerbId, unit: &UnitProperties) -> bool {
    let UnitState { load, active, .. } = &unit.state;
    if verb == UnitStart {
        return load == "loaded" && !matches!(active.as_str(), "active" | "reloading" | "refreshing");
    }
    let is_job = [UnitStop, UnitRestart, UnitReload].contains(&verb);
    !is_job || !matches!(active.as_str(), "inactive" | "failed")
}
