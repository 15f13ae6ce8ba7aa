//! Decisions about the units that change along with another.

use crate::common::{agent, rule, strings};
use crate::rules::{decide, decided, policy, policy_with, unit};
use postern_policy::facts::{AffectedUnit, UnitFacts, UnitState};
use postern_policy::types::UnitName;
use postern_policy::{Code, Denied, Facts, Grant, Policy, VerbId};
use postern_proto::root::v1 as root;
use root::Decision::{Allow, Ask, Deny};

fn state(names: &[&str]) -> UnitState {
    let (active, enabled) = ("active".to_owned(), "enabled".to_owned());
    UnitState { id: names[0].to_owned(), names: strings(names), active, enabled, ..UnitState::default() }
}

fn along(verb: VerbId, names: &[&str]) -> AffectedUnit {
    AffectedUnit { verb, cause: "Requires= of a.service".to_owned(), state: state(names) }
}

fn facts(affected: &[AffectedUnit]) -> UnitFacts {
    let affected = affected.to_vec();
    UnitFacts { state: state(&["a.service"]), affected }
}

fn restart(policy: &Policy, affected: &[AffectedUnit]) -> Result<Grant, Denied> {
    let by = decide(policy, &[(VerbId::UnitRestart, unit("a.service"))])?;
    policy.decide_facts(by, &agent(), &Facts::Unit(Box::new(facts(affected))))
}

fn granted(cascade: bool, decision: root::Decision) -> root::Rule {
    let a = root::Rule { units: strings(&["a.service"]), ..rule("a", &["unit.restart"]) };
    decided(root::Rule { allow_cascade: cascade, ..a }, decision)
}

fn denied(verb: &str, names: &[&str]) -> root::Rule {
    decided(root::Rule { units: strings(names), ..rule("never", &[verb]) }, Deny)
}

#[test]
fn a_unit_is_granted_by_its_own_name_whatever_its_aliases_are() {
    let asks = |name: &'static str, names: &[&str]| {
        let unit_facts = UnitFacts { state: state(names), affected: Vec::new() };
        let facts = Facts::Unit(Box::new(unit_facts));
        move |policy: &Policy| {
            let by = decide(policy, &[(VerbId::UnitRestart, unit(name))])?;
            policy.decide_facts(by, &agent(), &facts)
        }
    };
    let own = asks("a.service", &["a.service", "alias.service"]);
    let alias = asks("alias.service", &["a.service", "alias.service"]);
    let by_alias = root::Rule { units: strings(&["alias.service"]), ..granted(false, Allow) };
    assert!(own(&policy(vec![granted(false, Allow)])).is_ok());
    // The alias alone grants nothing, and the refusal names the unit.
    let refused = alias(&policy(vec![by_alias.clone()])).unwrap_err();
    assert_eq!((refused.code, refused.missing.as_str()), (Code::NoGrant, "unit.restart a.service"));
    assert_eq!(refused.message, "the unit is an alias of a.service, which no rule grants");
    let both = root::Rule { units: strings(&["a.service", "alias.service"]), ..granted(false, Allow) };
    assert!(alias(&policy(vec![both])).is_ok());
    // Rules that name an alias count.
    let denied = policy(vec![granted(false, Allow), denied("unit.restart", &["alias.service"])]);
    assert_eq!(own(&denied).unwrap_err().code, Code::Denied);
    let asked = decided(root::Rule { id: "asks".to_owned(), ..by_alias }, Ask);
    let strict = own(&policy(vec![granted(false, Allow), asked])).unwrap();
    assert_eq!(strict.decision(), postern_policy::Decision::Ask);
}

#[test]
fn limits_of_a_rule_that_allows_an_alias_do_not_bind_the_unit_and_those_of_rules_that_ask_do() {
    // The clock of the tests is at the beginning of a Thursday.
    let hours = |day: u32| vec![root::Window { start: day * 24 * 60, minutes: 60 }];
    let own = || granted(true, Allow);
    let by_alias = |decision| {
        let cascades = root::Rule { id: "alias".to_owned(), ..granted(true, decision) };
        root::Rule { units: strings(&["*alias.service"]), ..cascades }
    };
    let narrow = |decision| root::Rule { allow_cascade: false, ..by_alias(decision) };
    let closed = |decision| root::Rule { hours: hours(0), ..by_alias(decision) };
    let open = |decision| root::Rule { hours: hours(3), ..by_alias(decision) };
    let named = |id: &str, rule| root::Rule { id: id.to_owned(), ..rule };
    let of_ann = |rule| root::Rule { people: strings(&["ann"]), ..rule };
    let decides = |name: &str, rules: Vec<root::Rule>, protect: &[&str]| {
        let clock_changes = vec![root::ClockChange { unix_s: 0, offset_s: 0 }];
        let protect = Some(root::Protect { units: strings(protect), ..root::Protect::default() });
        let policy = policy_with(root::Rules { rules, clock_changes, protect, ..root::Rules::default() });
        let state = state(&["a.service", "alias.service", "second-alias.service"]);
        let affected = vec![along(VerbId::UnitStop, &["c.service"])];
        let facts = Facts::Unit(Box::new(UnitFacts { state, affected }));
        let by = decide(&policy, &[(VerbId::UnitRestart, unit(name))]);
        let by = by.and_then(|by| policy.decide_facts(by, &agent(), &facts));
        by.map(|grant| (grant.decision(), grant.rules().count())).map_err(|why| why.code)
    };
    let [allow, ask] = [postern_policy::Decision::Allow, postern_policy::Decision::Ask];
    for (rules, expected) in [
        // What is allowed under another name neither limits nor loosens.
        (vec![own(), by_alias(Allow)], Ok((allow, 1))),
        (vec![own(), narrow(Allow)], Ok((allow, 1))),
        (vec![own(), closed(Allow)], Ok((allow, 1))),
        (vec![granted(false, Allow), by_alias(Allow)], Err(Code::WouldCascade)),
        (vec![by_alias(Allow)], Err(Code::NoGrant)),
        // No rule that asks is left out, also one with a broken limit or beside rules that allow.
        (vec![own(), by_alias(Ask)], Ok((ask, 3))),
        (vec![own(), open(Ask)], Ok((ask, 3))),
        (vec![own(), narrow(Ask)], Err(Code::WouldCascade)),
        (vec![own(), closed(Ask)], Err(Code::LimitExceeded)),
        (vec![own(), named("wide", by_alias(Allow)), closed(Ask)], Err(Code::LimitExceeded)),
        (vec![own(), closed(Allow), named("also", open(Ask))], Ok((ask, 3))),
        (vec![own(), closed(Allow), of_ann(named("ann", closed(Ask)))], Ok((allow, 1))),
        // Nor one that denies.
        (vec![own(), by_alias(Deny)], Err(Code::Denied)),
        (vec![own(), named("also", by_alias(Ask)), by_alias(Deny)], Err(Code::Denied)),
    ] {
        let of = |rule: &root::Rule| format!("{} {:?}", rule.id, rule.decision());
        let shown = rules.iter().map(of).collect::<Vec<_>>();
        assert_eq!(decides("a.service", rules, &[]), expected, "{shown:?}");
    }
    // The name that a request has must be granted as it is.
    assert_eq!(decides("alias.service", vec![own(), by_alias(Allow)], &[]), Ok((allow, 2)));
    assert_eq!(decides("alias.service", vec![own(), narrow(Allow)], &[]), Err(Code::WouldCascade));
    assert_eq!(decides("alias.service", vec![own(), closed(Allow)], &[]), Err(Code::LimitExceeded));
    // A unit is protected under each of its names, also under one of which no rule speaks.
    assert_eq!(decides("a.service", vec![own()], &["second-*"]), Err(Code::Protected));
    assert_eq!(decides("a.service", vec![own(), narrow(Allow)], &["second-*"]), Err(Code::Protected));
}

#[test]
fn a_wide_rule_without_journal_lines_does_not_limit_those_of_a_unit_with_an_alias() {
    let status = |id: &str, units: &[&str], journal_lines| root::Rule {
        units: strings(units),
        journal_lines,
        ..rule(id, &["unit.status"])
    };
    let wide = status("wide", &["*.service"], 0);
    let asks = |policy: &Policy, name: &str| {
        let name = UnitName::new(name).unwrap();
        let object = postern_policy::Object::Unit { name, journal_lines: 20 };
        let by = decide(policy, &[(VerbId::UnitStatus, object)])?;
        let facts = UnitFacts { state: state(&["a.service", "alias.service"]), affected: Vec::new() };
        policy.decide_facts(by, &agent(), &Facts::Unit(Box::new(facts)))
    };
    let own = policy(vec![wide.clone(), status("own", &["a.service"], 50)]);
    assert!(asks(&own, "a.service").is_ok());
    // Lines are granted under the unit's own name alone, and a request by an alias needs them under both.
    for granted in ["alias.service", "b.service"] {
        let other = policy(vec![wide.clone(), status("other", &[granted], 50)]);
        for name in ["a.service", "alias.service"] {
            assert_eq!(asks(&other, name).unwrap_err().code, Code::LimitExceeded, "{granted} {name}");
        }
    }
    assert_eq!(asks(&own, "alias.service").unwrap_err().code, Code::LimitExceeded);
    let both = policy(vec![wide, status("both", &["a.service", "alias.service"], 50)]);
    assert!(asks(&both, "alias.service").is_ok() && asks(&both, "a.service").is_ok());
}

#[test]
fn units_that_start_along_need_no_grant_and_the_others_allow_cascade() {
    use VerbId::{UnitDisable, UnitEnable, UnitReload, UnitRestart, UnitStart, UnitStop};
    let (narrow, wide) = (policy(vec![granted(false, Allow)]), policy(vec![granted(true, Allow)]));
    assert!(restart(&narrow, &[along(UnitStart, &["b.service"])]).is_ok());
    for verb in [UnitStop, UnitRestart, UnitReload, UnitEnable, UnitDisable] {
        let others = [along(UnitStart, &["b.service"]), along(verb, &["c.service"])];
        let refused = restart(&narrow, &others).unwrap_err();
        assert_eq!(refused.code, Code::WouldCascade, "{verb:?}");
        assert!(refused.message.starts_with("c.service would be changed too"), "{}", refused.message);
        assert!(restart(&wide, &others).is_ok(), "{verb:?}");
    }
}

#[test]
fn a_new_alias_needs_allow_cascade_only_where_a_unit_has_the_name() {
    let narrow = policy(vec![granted(false, Allow)]);
    let mut alias = along(VerbId::UnitEnable, &["new.service"]);
    assert_eq!(restart(&narrow, &[alias.clone()]).unwrap_err().code, Code::WouldCascade);
    (alias.state.load, alias.state.active) = ("not-found".to_owned(), "inactive".to_owned());
    assert!(restart(&narrow, &[alias]).is_ok());
}

#[test]
fn a_denied_unit_is_not_affected_by_any_of_its_names() {
    use VerbId::{UnitEnable, UnitReload, UnitRestart, UnitStart, UnitStop};
    for names in [["ssh.service", "sshd.service"], ["sshd.service", "ssh.service"]] {
        for (verb, denies) in [
            (UnitStart, "unit.start"),
            (UnitStop, "unit.stop"),
            (UnitReload, "unit.reload"),
            (UnitEnable, "unit.enable"),
            (UnitRestart, "unit.restart"),
            (UnitRestart, "unit.stop"),
            (UnitRestart, "unit.start"),
            (UnitRestart, "unit.try-restart"),
            // By the verb of the request too, whatever happens to it.
            (UnitStart, "unit.restart"),
        ] {
            let policy = policy(vec![granted(true, Allow), denied(denies, &["sshd.service"])]);
            let refused = restart(&policy, &[along(verb, &names)]).unwrap_err();
            assert_eq!(refused.code, Code::Denied, "{names:?} {verb:?} {denies}");
            assert_eq!(refused.message, "rule never denies sshd.service, which would come along");
        }
        for (verb, denies) in [(UnitStart, "unit.stop"), (UnitStop, "unit.start"), (UnitStart, "unit.status")]
        {
            let policy = policy(vec![granted(true, Allow), denied(denies, &["sshd.service"])]);
            assert!(restart(&policy, &[along(verb, &names)]).is_ok(), "{verb:?} {denies}");
        }
    }
}

#[test]
fn a_protected_unit_is_not_affected_by_any_of_its_names() {
    let protect = Some(root::Protect { units: strings(&["vault*.service"]), ..root::Protect::default() });
    let policy =
        policy_with(root::Rules { rules: vec![granted(true, Allow)], protect, ..root::Rules::default() });
    for names in [
        ["b.service", "vault-agent.service"],
        ["vault-agent.service", "b.service"],
        ["b.service", "dbus.service"],
        ["b.service", "dbus-broker.service"],
        ["systemd-resolved.service", "b.service"],
        ["user@.service", "b.service"],
    ] {
        for verb in [VerbId::UnitStart, VerbId::UnitStop, VerbId::UnitEnable] {
            let refused = restart(&policy, &[along(verb, &names)]).unwrap_err();
            assert_eq!(refused.code, Code::Protected, "{names:?} {verb:?}");
        }
    }
    // The name that the bus starts a service by protects nothing.
    let bus = along(VerbId::UnitStop, &["avahi-daemon.service", "dbus-org.freedesktop.Avahi.service"]);
    assert!(restart(&policy, &[bus]).is_ok());
}

#[test]
fn a_refusal_does_not_name_affected_units_before_a_person_agreed() {
    let policy = policy(vec![granted(false, Ask)]);
    let refused = restart(&policy, &[along(VerbId::UnitStop, &["c.service"])]).unwrap_err();
    assert_eq!(refused.code, Code::WouldCascade);
    assert!(!refused.message.contains("c.service"), "{}", refused.message);
}
