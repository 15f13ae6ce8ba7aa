//! Changes of units: decided again on root's own facts, then one word for systemctl.

use crate::support::{AGENT, OPERATOR, World, facts, rule};
use postern_proto::root::v1::Decision;
use postern_proto::v1::{Status, UnitEnableRequest};
use prost::Message;

fn world(verbs: &[&str]) -> World {
    World::new(vec![rule("nginx", Decision::Allow, verbs, &["nginx.service"])], Vec::new())
}

#[test]
fn starts_a_unit_and_states_what_it_did() {
    let world = world(&["unit.start", "request.undo"]);
    world.unit("nginx.service", "inactive", "");
    world.act("sed -i s/ActiveState=.*/ActiveState=active/ \"$here/units/$unit\"");
    let reply = world.execute(&world.nginx("unit.start", "inactive", &[]));
    let outcome = reply.outcome();
    let completed = outcome.completed.as_ref().unwrap();
    assert_eq!((completed.status(), completed.undoable), (Status::Done, true));
    assert_eq!((outcome.verb.as_str(), outcome.uid, outcome.rule.as_str()), ("unit.start", AGENT, "nginx"));
    assert_eq!(outcome.objects, ["nginx.service"]);
    let unit = completed.unit.as_ref().unwrap();
    assert_eq!((unit.was_active.as_str(), unit.active.as_str()), ("inactive", "active"));
    assert_eq!(world.acts(), ["start --no-pager --no-ask-password -- nginx.service"]);
    let environment = std::fs::read_to_string(world.path("env")).unwrap();
    assert!(environment.contains("SYSTEMCTL_SKIP_SYSV=1") && !environment.contains("HOME="), "{environment}");
}

#[test]
fn reports_a_failed_change_with_the_complaint_of_systemctl() {
    let world = world(&["unit.start"]);
    world.unit("nginx.service", "inactive", "Result=exit-code\n");
    world.act("echo 'Warning: x' >&2; echo 'Job for nginx.service failed.' >&2; exit 1");
    let reply = world.execute(&world.nginx("unit.start", "inactive", &[]));
    let completed = reply.outcome().completed.clone().unwrap();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "unit_failed"));
    assert_eq!(completed.message, "Job for nginx.service failed. (result exit-code, exit status 0)");
    assert!(reply.outcome().inverse.is_none());
}

#[test]
fn an_error_after_the_change_is_reported_as_failed_and_not_refused() {
    for verb in ["unit.start", "unit.stop"] {
        let world = world(&[verb]);
        world.unit("nginx.service", "inactive", "");
        world.act("rm \"$here/systemctl\"");
        let reply = world.execute(&world.nginx(verb, "inactive", &[]));
        assert_eq!(world.acts().len(), 1);
        assert!(reply.outcome.is_none() && reply.close.is_none(), "{reply:?}");
    }
}

#[test]
fn rejects_an_ungranted_change_before_systemctl_starts() {
    let world = world(&["unit.start"]);
    world.unit("nginx.service", "active", "");
    assert_eq!(world.execute(&world.nginx("unit.stop", "active", &[])).code(), "no_grant");
    let stranger =
        postern_proto::root::v1::Order { uid: OPERATOR, ..world.nginx("unit.start", "active", &[]) };
    assert_eq!(world.execute(&stranger).code(), "unknown_client");
    assert!(!world.path("calls").exists());
}

#[test]
fn rejects_a_unit_that_changed_since_it_was_decided() {
    let world = world(&["unit.stop"]);
    world.unit("nginx.service", "inactive", "");
    assert_eq!(world.execute(&world.nginx("unit.stop", "active", &[])).code(), "plan_changed");
    assert!(world.acts().is_empty());
}

#[test]
fn a_policy_that_is_replaced_while_systemd_is_asked_stops_the_change() {
    let world = world(&["unit.stop"]);
    world.unit("nginx.service", "active", "");
    let order = world.nginx("unit.stop", "active", &[]);
    let replace = "cp \"$here/accepted.pb\" \"$here/next\" && mv \"$here/next\" \"$here/accepted.pb\"";
    std::fs::write(world.path("show.sh"), replace).unwrap();
    assert_eq!(world.execute(&order).code(), "plan_changed");
    assert!(world.acts().is_empty());
    std::fs::remove_file(world.path("show.sh")).unwrap();
    assert_eq!(world.execute(&order).code(), "");
    assert_eq!(world.acts().len(), 1);
}

#[test]
fn rejects_affected_units_that_the_broker_left_out() {
    let world = World::new(
        vec![
            rule("nginx", Decision::Allow, &["unit.start"], &["nginx.service"]),
            rule("keep", Decision::Deny, &["unit.stop"], &["other.service"]),
        ],
        Vec::new(),
    );
    world.unit("nginx.service", "inactive", "Conflicts=other.service\n");
    world.unit("other.service", "active", "");
    // A broker that conceals it, and one that tells it.
    assert_eq!(world.execute(&world.nginx("unit.start", "inactive", &[])).code(), "plan_changed");
    let told = world.nginx("unit.start", "inactive", &[("other.service", "stop")]);
    assert_eq!(world.execute(&told).code(), "denied");
    assert!(world.acts().is_empty());
}

#[test]
fn an_ask_rule_needs_approval_by_people_who_are_no_clients() {
    let world =
        World::new(vec![rule("nginx", Decision::Ask, &["unit.restart"], &["nginx.service"])], Vec::new());
    world.unit("nginx.service", "active", "");
    let order = world.nginx("unit.restart", "active", &[]);
    assert_eq!(world.execute(&order).code(), "not_approved");
    assert_eq!(world.execute_as(world.approved(&order, &[AGENT]), &order, None).code(), "not_approved");
    let other = world.nginx("unit.stop", "active", &[]);
    assert_eq!(world.execute_as(world.approved(&other, &[OPERATOR]), &order, None).code(), "not_approved");
    assert!(world.acts().is_empty());
    let reply = world.execute_as(world.approved(&order, &[OPERATOR]), &order, None);
    assert_eq!(reply.outcome().completed.as_ref().unwrap().status(), Status::Done);
}

#[test]
fn an_undo_brings_the_state_back_unless_it_changed_since() {
    let world = world(&["unit.start", "unit.stop", "request.undo"]);
    world.unit("nginx.service", "inactive", "");
    world.act(
        "case $word in start) to=active;; *) to=inactive;; esac; \
         sed -i s/ActiveState=.*/ActiveState=$to/ \"$here/units/$unit\"",
    );
    let inverse =
        world.execute(&world.nginx("unit.start", "inactive", &[])).outcome().inverse.clone().unwrap();
    assert_eq!(inverse.verb, "unit.stop");
    world.unit("nginx.service", "failed", "");
    assert_eq!(world.execute(&world.undo(inverse.clone())).code(), "undo_conflict");
    world.unit("nginx.service", "active", "");
    let undone = world.execute(&world.undo(inverse.clone()));
    assert_eq!(undone.outcome().completed.as_ref().unwrap().status(), Status::Done);
    assert_eq!(undone.outcome().verb, "request.undo");
    let forged = postern_proto::root::v1::Inverse { verb: "unit.start".to_owned(), ..inverse };
    assert_eq!(world.execute(&world.undo(forged)).code(), "undo_gone");
}

#[test]
fn reads_the_properties_after_the_files_of_a_unit_that_is_enabled() {
    let world = world(&["unit.enable", "unit.start"]);
    world.unit("nginx.service", "inactive", "NeedDaemonReload=no\n");
    std::fs::write(world.path("units/nginx.service.file"), "[Install]\nWantedBy=multi-user.target\n")
        .unwrap();
    // Its file changes before systemctl reads it: another program would start than the one that was decided.
    std::fs::write(
        world.path("cat.sh"),
        "sed -i s/NeedDaemonReload=.*/NeedDaemonReload=yes/ \"$here/units/$unit\"",
    )
    .unwrap();
    let body = UnitEnableRequest { meta: None, unit: "nginx.service".to_owned(), now: true }.encode_to_vec();
    let order = world.order(AGENT, "unit.enable", body, Some(facts("nginx.service", "inactive", &[])));
    assert_eq!(world.execute(&order).code(), "precondition_failed");
    assert!(world.acts().is_empty());
}
