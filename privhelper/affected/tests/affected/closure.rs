//! Which units a change affects. The expectations are jobs that systemd 252 and 257 enqueued.

use crate::answers::install;
use postern_affected::{Install, LOOKUPS_MAX, UnitProperties, affected_units};
use postern_policy::facts::AffectedUnit;
use postern_policy::request::UnitRequest;
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied, VerbId};
use std::cell::RefCell;
use std::collections::BTreeSet;

pub fn name(text: &str) -> UnitName {
    UnitName::new(text).unwrap()
}

/// Units as `NAME ACTIVE PROPERTY=VALUE;…`; those that are not listed do not exist.
struct Host(Vec<UnitProperties>);

impl Host {
    fn new(units: &[&str]) -> Self {
        let read = |unit: &&str| {
            let mut words = unit.splitn(3, ' ');
            let (id, active) = (words.next().unwrap(), words.next().unwrap());
            let more = words.next().unwrap_or_default().replace(';', "\n");
            let text = format!("Id={id}\nNames={id}\nLoadState=loaded\nActiveState={active}\n{more}\n");
            UnitProperties::parse(&text).unwrap().remove(0)
        };
        Self(units.iter().map(read).collect())
    }

    fn show(&self, asked: &UnitName) -> UnitProperties {
        let is_asked =
            |unit: &&UnitProperties| postern_policy::facts::all_names(&unit.state).contains(asked.as_str());
        let missing = || {
            let text = format!("Id={asked}\nNames={asked}\nLoadState=not-found\nActiveState=inactive\n");
            UnitProperties::parse(&text).unwrap().remove(0)
        };
        self.0.iter().find(is_asked).cloned().unwrap_or_else(missing)
    }

    /// Every affected unit; no unit is asked for twice.
    fn gather(
        &self,
        verb: VerbId,
        unit: &str,
        now: bool,
        install: &Install,
    ) -> Result<Vec<AffectedUnit>, Denied> {
        let request = UnitRequest { verb, unit: name(unit), now };
        let asked = RefCell::new(BTreeSet::from([name(unit)]));
        let look_up = |names: &[UnitName]| {
            let is_new = |name: &UnitName| asked.borrow_mut().insert(name.clone());
            assert!(names.iter().all(is_new), "asked twice: {names:?}");
            Ok::<_, Denied>(names.iter().map(|name| self.show(name)).collect())
        };
        let facts = affected_units(&request, self.show(&name(unit)), install, look_up)?;
        assert_eq!(facts.state, self.show(&name(unit)).state);
        Ok(facts.affected)
    }

    fn closure(&self, verb: VerbId, unit: &str, now: bool, install: &Install) -> Result<Vec<String>, Denied> {
        let affected = self.gather(verb, unit, now, install)?;
        let mut told =
            affected.iter().map(|other| format!("{} {}", other.word(), other.state.id)).collect::<Vec<_>>();
        told.sort();
        Ok(told)
    }

    fn affected(&self, verb: VerbId, unit: &str) -> Vec<String> {
        self.closure(verb, unit, false, &Install::default()).unwrap()
    }
}

/// Returns the effect on `b.service` of a change of `a.service`, which has `PROPERTY=b.service`.
fn effect(property: &str, verb: VerbId, a: &str, b: &str) -> String {
    let host = Host::new(&[&format!("a.service {a} {property}=b.service"), &format!("b.service {b}")]);
    let affected = host.affected(verb, "a.service");
    assert!(affected.len() <= 1, "{affected:?}");
    affected.first().map(|told| told.replace(" b.service", "")).unwrap_or_default()
}

#[test]
fn a_job_pulls_in_the_jobs_that_systemd_enqueues() {
    use VerbId::{UnitReload, UnitRestart, UnitStart, UnitStop};
    // Of b that is down and of b that is up, for start, stop, restart and reload of a.
    let table = [
        ("Requires", ["start", "", "start", ""], ["", "", "", ""]),
        ("BindsTo", ["start", "", "start", ""], ["", "", "", ""]),
        ("Wants", ["start", "", "start", ""], ["", "", "", ""]),
        ("Upholds", ["start", "", "start", ""], ["", "", "", ""]),
        ("Requisite", ["", "", "", ""], ["", "", "", ""]),
        ("RequiredBy", ["", "", "", ""], ["", "stop", "restart", ""]),
        ("RequisiteOf", ["", "", "", ""], ["", "stop", "restart", ""]),
        ("BoundBy", ["", "", "", ""], ["", "stop", "restart", ""]),
        ("ConsistsOf", ["", "", "", ""], ["", "stop", "restart", ""]),
        ("PropagatesStopTo", ["", "", "", ""], ["", "stop", "stop", ""]),
        ("Conflicts", ["", "", "", ""], ["stop", "", "stop", ""]),
        ("ConflictedBy", ["", "", "", ""], ["stop", "", "stop", ""]),
        ("PropagatesReloadTo", ["", "", "", ""], ["", "", "", "reload"]),
        ("OnSuccess", ["start", "start", "start", ""], ["", "", "", ""]),
        ("OnFailure", ["start", "start", "start", ""], ["", "", "", ""]),
        ("Triggers", ["start", "", "start", ""], ["", "", "", ""]),
        ("PartOf", ["", "", "", ""], ["", "", "", ""]),
        ("WantedBy", ["", "", "", ""], ["", "", "", ""]),
        ("UpheldBy", ["", "", "", ""], ["", "", "", ""]),
        ("TriggeredBy", ["", "", "", ""], ["", "", "", ""]),
        ("ReloadPropagatedFrom", ["", "", "", ""], ["", "", "", ""]),
        ("StopPropagatedFrom", ["", "", "", ""], ["", "", "", ""]),
        ("JoinsNamespaceOf", ["", "", "", ""], ["", "", "", ""]),
        ("After", ["", "", "", ""], ["", "", "", ""]),
    ];
    for (property, down, up) in table {
        for (verb, down, up) in [UnitStart, UnitStop, UnitRestart, UnitReload]
            .into_iter()
            .zip(down)
            .zip(up)
            .map(|((verb, down), up)| (verb, down, up))
        {
            // Whether a itself runs makes no difference.
            for a in ["active", "inactive", "failed"] {
                for (b, expected) in [("inactive", down), ("failed", down), ("active", up), ("reloading", up)]
                {
                    assert_eq!(effect(property, verb, a, b), expected, "{property} {verb:?} {a} {b}");
                }
            }
        }
    }
}

#[test]
fn a_unit_between_two_states_is_affected_either_way() {
    assert_eq!(effect("Wants", VerbId::UnitStart, "inactive", "activating"), "start");
    assert_eq!(effect("Wants", VerbId::UnitStart, "inactive", "deactivating"), "start");
    assert_eq!(effect("Conflicts", VerbId::UnitStart, "inactive", "activating"), "stop");
    assert_eq!(effect("RequiredBy", VerbId::UnitStop, "active", "deactivating"), "stop");
    assert_eq!(effect("RequiredBy", VerbId::UnitStop, "active", "maintenance"), "stop");
}

#[test]
fn a_restart_only_if_it_runs_affects_nothing_where_it_does_not() {
    assert_eq!(effect("RequiredBy", VerbId::UnitTryRestart, "active", "active"), "restart");
    assert_eq!(effect("Wants", VerbId::UnitTryRestart, "active", "inactive"), "start");
    assert_eq!(effect("RequiredBy", VerbId::UnitTryRestart, "inactive", "active"), "");
    for verb in [VerbId::UnitResetFailed, VerbId::UnitMask, VerbId::UnitUnmask, VerbId::UnitStatus] {
        for property in ["Requires", "RequiredBy", "Conflicts", "PropagatesReloadTo"] {
            assert_eq!(effect(property, verb, "active", "active"), "", "{verb:?} {property}");
        }
    }
}

#[test]
fn a_start_follows_dependencies_of_inactive_units_only() {
    for kind in ["service", "target", "slice", "mount", "socket"] {
        let chain = |active: &str| {
            let a = format!("a.service inactive Wants=b.{kind}");
            Host::new(&[&a, &format!("b.{kind} {active} Wants=c.service"), "c.service inactive"])
                .affected(VerbId::UnitStart, "a.service")
        };
        assert_eq!(chain("active"), [""; 0]);
        assert_eq!(chain("inactive"), [format!("start b.{kind}"), "start c.service".to_owned()]);
    }
    // The named unit itself is gone through whether it runs or not.
    let host = Host::new(&["a.service active Wants=b.service", "b.service inactive"]);
    assert_eq!(host.affected(VerbId::UnitStart, "a.service"), ["start b.service"]);
}

#[test]
fn a_stop_affects_units_that_require_the_stopped_unit() {
    let host = Host::new(&[
        "a.service active RequiredBy=b.service d.service",
        "b.service active BoundBy=c.service",
        "c.service active",
        "d.service inactive ConsistsOf=e.service",
        "e.service active",
    ]);
    assert_eq!(host.affected(VerbId::UnitStop, "a.service"), ["stop b.service", "stop c.service"]);
}

#[test]
fn an_affected_restart_stops_and_starts_its_own_dependents() {
    let host = Host::new(&[
        "a.service active ConsistsOf=b.service",
        "b.service active Conflicts=c.service;Wants=d.service",
        "c.service active RequiredBy=e.service",
        "d.service inactive",
        "e.service active",
    ]);
    let expected = ["restart b.service", "start d.service", "stop c.service", "stop e.service"];
    assert_eq!(host.affected(VerbId::UnitRestart, "a.service"), expected);
}

#[test]
fn units_that_cannot_start_are_not_counted() {
    for load in ["masked", "not-found", "error", "bad-setting"] {
        let b = format!("b.service inactive LoadState={load}");
        let host = Host::new(&["a.service inactive Wants=b.service missing.service", &b]);
        assert_eq!(host.affected(VerbId::UnitStart, "a.service"), [""; 0], "{load}");
    }
}

#[test]
fn a_unit_that_is_no_longer_needed_stops_too() {
    let host = Host::new(&[
        "a.service active Wants=b.service c.service",
        "b.service active StopWhenUnneeded=yes;Requires=d.service",
        "c.service active",
        "d.service active StopWhenUnneeded=yes",
    ]);
    assert_eq!(host.affected(VerbId::UnitStop, "a.service"), ["stop b.service", "stop d.service"]);
    assert_eq!(host.affected(VerbId::UnitRestart, "a.service"), [""; 0]);
}

#[test]
fn dependency_circles_end() {
    let host = Host::new(&[
        "a.service active RequiredBy=b.service;Requires=b.service",
        "b.service active RequiredBy=a.service;Requires=a.service",
    ]);
    assert_eq!(host.affected(VerbId::UnitStop, "a.service"), ["stop b.service"]);
    assert_eq!(host.affected(VerbId::UnitRestart, "a.service"), ["restart b.service"]);
}

#[test]
fn too_many_units_are_refused() {
    let units = (0..LOOKUPS_MAX).map(|number| format!("u{number}.service")).collect::<Vec<_>>();
    let a = |many: usize| format!("a.service active RequiredBy={}", units[..many].join(" "));
    let up = units.iter().map(|unit| format!("{unit} active")).collect::<Vec<_>>();
    let ask = |many| {
        let a = a(many);
        let all = [a.as_str()].into_iter().chain(up.iter().map(String::as_str)).collect::<Vec<_>>();
        Host::new(&all).closure(VerbId::UnitStop, "a.service", false, &Install::default())
    };
    assert_eq!(ask(LOOKUPS_MAX - 1).unwrap().len(), LOOKUPS_MAX - 1);
    assert_eq!(ask(LOOKUPS_MAX).unwrap_err().code, Code::PlanTooLarge);
}

#[test]
fn with_now_the_unit_is_started_or_stopped_and_facts_must_not_be_stale() {
    let host = |stale: &str| {
        let b = format!("b.service active NeedDaemonReload={stale}");
        Host::new(&["a.service active RequiredBy=b.service;Wants=c.service", &b, "c.service inactive"])
    };
    let none = Install::default();
    let ask = |verb, now, stale| host(stale).closure(verb, "a.service", now, &none);
    for verb in [VerbId::UnitDisable, VerbId::UnitMask] {
        assert_eq!(ask(verb, true, "no").unwrap(), ["stop b.service"]);
        assert_eq!(ask(verb, false, "no").unwrap(), [""; 0]);
        assert_eq!(ask(verb, true, "yes").unwrap_err().code, Code::PreconditionFailed);
    }
    assert_eq!(ask(VerbId::UnitEnable, true, "no").unwrap(), ["start c.service"]);
    assert_eq!(ask(VerbId::UnitEnable, false, "no").unwrap(), [""; 0]);
    assert_eq!(ask(VerbId::UnitStop, false, "yes").unwrap(), ["stop b.service"]);
}

#[test]
fn an_alias_in_the_request_or_in_a_dependency_is_the_unit() {
    let host = Host::new(&[
        "ssh.service active Names=ssh.service sshd.service;RequiredBy=b.service",
        "b.service active Names=b.service alias.service",
    ]);
    assert_eq!(host.affected(VerbId::UnitStop, "sshd.service"), ["stop b.service"]);
}

#[test]
fn enabling_affects_who_gets_a_name_or_a_dependency() {
    let host = Host::new(&[
        "a.service inactive Names=a.service own.service",
        "x.service active",
        "down.service inactive",
        "other.service active Names=other.service second.service",
        "also.socket active",
    ]);
    let enable =
        |files: &str| host.closure(VerbId::UnitEnable, "a.service", false, &install("a.service", files));
    for (files, expected) in [
        ("Alias=own.service", [""; 0].as_slice()),
        ("Alias=new.service", &["enable new.service"]),
        ("Alias=second.service", &["enable other.service"]),
        ("RequiredBy=x.service", &["enable x.service"]),
        ("WantedBy=x.service", &["enable x.service"]),
        ("WantedBy=multi-user.target", &[]),
        ("RequiredBy=multi-user.target", &["enable multi-user.target"]),
        ("WantedBy=t@.service", &["enable t@.service"]),
        ("Also=also.socket a.service own.service", &["enable also.socket"]),
        // An active unit starts at once what it upholds, without `now`.
        ("UpheldBy=x.service", &["enable x.service", "start a.service"]),
        ("UpheldBy=down.service", &["enable down.service"]),
    ] {
        assert_eq!(enable(files).unwrap(), expected, "{files}");
    }
}

#[test]
fn a_start_after_enabling_has_the_new_dependencies() {
    let host =
        Host::new(&["a.service inactive", "b.service inactive Conflicts=c.service", "c.service active"]);
    let mut install = install("a.service", "Also=b.service");
    install.read_files(&name("b.service"), "WantedBy=a.service").unwrap();
    let affected = host.closure(VerbId::UnitEnable, "a.service", true, &install).unwrap();
    assert_eq!(affected, ["enable b.service", "start b.service", "stop c.service"]);
    let affected = host.closure(VerbId::UnitEnable, "a.service", false, &install).unwrap();
    assert_eq!(affected, ["enable b.service"]);
}

#[test]
fn disabling_affects_who_loses_a_dependency() {
    let host =
        Host::new(&["a.service active Names=a.service own.service", "b.socket active", "x.service active"]);
    let mut install = Install::default();
    let text = "enabled\n /etc/systemd/system/own.service\n /etc/systemd/system/x.service.wants/a.service\n \
        /etc/systemd/system/sockets.target.wants/b.socket\n";
    install.read_links(&name("a.service"), text).unwrap();
    let affected = host.closure(VerbId::UnitDisable, "a.service", false, &install).unwrap();
    assert_eq!(affected, ["disable b.socket", "disable x.service"]);
}

#[test]
fn says_which_setting_leads_to_a_unit() {
    let host = Host::new(&["a.service active RequiredBy=b.service", "b.service active"]);
    let affected = host.gather(VerbId::UnitStop, "a.service", false, &Install::default()).unwrap();
    assert_eq!(affected[0].cause, "RequiredBy= of a.service");
    assert_eq!(affected[0].state.active, "active");
}

#[test]
fn an_answer_without_every_unit_is_an_error_and_not_asked_for_again() {
    let host = Host::new(&["a.service inactive Requires=b.service c.service"]);
    let request = UnitRequest { verb: VerbId::UnitStart, unit: name("a.service"), now: false };
    for given in [0, 1, 3] {
        let calls = std::cell::Cell::new(0);
        let look_up = |names: &[UnitName]| {
            calls.set(calls.get() + 1);
            assert!(calls.get() < 3, "asks without end");
            let shown = names.iter().cycle().take(given).map(|name| host.show(name));
            Ok::<_, Denied>(shown.collect())
        };
        let own = host.show(&request.unit);
        let denied = affected_units(&request, own, &Install::default(), look_up).unwrap_err();
        assert_eq!(denied.code, Code::Interrupted, "{given} answers");
    }
}
