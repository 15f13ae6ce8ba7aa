//! Policies, denials, turns, budgets and programs that change while requests are under way.

use crate::approvals::ask;
use crate::undo::{of, undo};
use postern_corridor::{
    CLIENT_UID, Channel, OPERATOR, World, accepted, changing, eventually, meta, rule, site_rules, strings,
    write_request,
};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status, Verdict};
use prost::Message;
use std::fs;

/// A rule for restarts of a unit.
fn unit(id: &str) -> root::Rule {
    root::Rule { units: strings(&["a.service"]), ..rule(id, &["unit.restart"]) }
}

/// A systemctl whose restarts take until the file `go` exists.
fn held(world: &World) {
    world.systemctl(&format!(
        "case $1 in show) printf 'Id=a.service\\nNames=a.service\\nLoadState=loaded\\nActiveState=active\\n';;
         restart) echo x >>{0}/restarts; while [ ! -e {0}/go ]; do sleep 0.01; done;; esac",
        world.text("")
    ));
}

fn restart(channel: &mut Channel) -> u32 {
    let request = wire::UnitRestartRequest { meta: meta(Mode::Execute), unit: "a.service".to_owned() };
    channel.send("Helper/UnitRestart", &request.encode_to_vec())
}

fn restarts(world: &World) -> usize {
    fs::read_to_string(world.path("restarts")).unwrap_or_default().lines().count()
}

fn release(world: &World) {
    fs::write(world.path("go"), "").unwrap();
}

/// Row 3 of the faults that the rebuild mends.
#[test]
fn a_grant_that_is_revoked_while_an_order_waits_for_its_turn_is_not_exercised() {
    let world = World::new(|_| vec![unit("a")]);
    held(&world);
    let (mut first, mut second) = (world.connect(CLIENT_UID), world.connect(CLIENT_UID));
    let one = restart(&mut first);
    eventually("the first restarts", || restarts(&world) == 1);
    let two = restart(&mut second);
    eventually("the second has its facts", || world.recorder().requests.unfinished().len() == 2);
    world.replace_policy(&accepted(vec![root::Rule { units: strings(&["b.service"]), ..unit("b") }]));
    release(&world);
    assert_eq!(first.answer(one).completed().status(), Status::Done);
    assert_eq!(second.answer(two).completed().code, "plan_changed");
    assert_eq!(restarts(&world), 1);
}

#[test]
fn a_new_policy_is_obeyed_while_an_order_under_the_old_one_still_runs() {
    let reload = |id: &str| rule(id, &["unit.daemon-reload"]);
    let world = World::new(|_| vec![unit("a"), reload("reload")]);
    held(&world);
    let mut slow = world.connect(CLIENT_UID);
    let stream = restart(&mut slow);
    eventually("it restarts", || restarts(&world) == 1);
    world.apply(vec![reload("other")]);
    let again = wire::UnitDaemonReloadRequest { meta: meta(Mode::Execute) };
    let answer = world.ask("Helper/UnitDaemonReload", &again);
    assert_eq!((answer.completed().status(), answer.completed().rule.as_str()), (Status::Done, "other"));
    release(&world);
    assert_eq!(slow.answer(stream).completed().status(), Status::Done);
}

/// Row 6.
#[test]
fn a_long_start_holds_up_neither_other_objects_nor_an_operators_undo() {
    let world = World::new(|at| vec![changing(at), unit("a")]);
    held(&world);
    let mut slow = world.connect(CLIENT_UID);
    let stream = restart(&mut slow);
    eventually("it restarts", || restarts(&world) == 1);
    let write = write_request(&world.text("site/a"), b"x", "any");
    assert_eq!(world.ask("Helper/FileWrite", &write).completed().status(), Status::Done);
    let id = write.meta.unwrap().request_id;
    assert_eq!(undo(&mut world.operator(OPERATOR), &of(&id)).unwrap()[0].code, "");
    assert!(!world.path("site/a").exists());
    // A request that times out waiting for the unit uses up neither its id nor its rate.
    let mut busy = wire::UnitRestartRequest { meta: meta(Mode::Execute), unit: "a.service".to_owned() };
    busy.meta.as_mut().unwrap().wait_ms = 200;
    assert_eq!(world.ask("Helper/UnitRestart", &busy).refused().code, "busy");
    release(&world);
    assert_eq!(slow.answer(stream).completed().status(), Status::Done);
    eventually("nothing runs", || world.recorder().requests.unfinished().is_empty());
    assert_eq!((world.count("begin"), restarts(&world)), (3, 1));
    assert_eq!(world.ask("Helper/UnitRestart", &busy).completed().status(), Status::Done);
}

/// Row 21.
#[test]
fn a_denial_is_remembered_across_a_restart() {
    let asked = |at: &std::path::Path| root::Rule { decision: root::Decision::Ask.into(), ..changing(at) };
    let mut world = World::new(|at| vec![asked(at)]);
    let write = || write_request(&world.text("site/a"), b"x", "any");
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &write());
    world.operator(OPERATOR).decide(&waiting.approval_id, b"", Verdict::Deny, "no").unwrap();
    assert_eq!(client.answer(stream).refused().code, "not_approved");
    let again = write();
    world.restart();
    assert_eq!(world.ask("Helper/FileWrite", &again).refused().code, "denied_recently");
}

#[test]
fn a_program_that_is_asked_to_end_finishes_its_orders_and_the_next_one_goes_on() {
    let world = World::new(|at| vec![changing(at), unit("a")]);
    held(&world);
    let mut client = world.connect(CLIENT_UID);
    let stream = restart(&mut client);
    eventually("it restarts", || restarts(&world) == 1);
    world.units.terminate();
    world.files.terminate();
    let write = write_request(&world.text("site/a"), b"x", "any");
    assert_eq!(world.ask("Helper/FileWrite", &write).completed().status(), Status::Done);
    release(&world);
    assert_eq!(client.answer(stream).completed().status(), Status::Done);
    let stream = restart(&mut client);
    assert_eq!(client.answer(stream).completed().status(), Status::Done);
    assert_eq!(restarts(&world), 2);
}

/// Row 22.
#[test]
fn where_the_rule_keeps_no_copy_the_answer_says_that_it_cannot_be_undone() {
    let world = World::new(|at| vec![root::Rule { no_undo_copy: true, ..changing(at) }]);
    fs::write(world.path("site/log"), vec![b'x'; 20 << 20]).unwrap();
    let request = postern_corridor::remove(&world.text("site/log"));
    let look = wire::FileRemoveRequest { meta: meta(Mode::Preview), ..request.clone() };
    let plan = world.ask("Helper/FileRemove", &look).completed().plan.clone().unwrap();
    assert!(plan.files[0].not_kept, "the plan says so");
    let answer = world.ask("Helper/FileRemove", &request);
    assert_eq!((answer.completed().status(), answer.completed().undoable), (Status::Done, false));
    let id = request.meta.unwrap().request_id;
    let back = wire::RequestUndoRequest { meta: meta(Mode::Execute), of: id.clone() };
    assert_eq!(world.ask("Helper/RequestUndo", &back).refused().code, "undo_gone");
    assert_eq!(undo(&mut world.operator(OPERATOR), &of(&id)).unwrap()[0].code, "undo_gone");
}

/// Row 23: broker and recorder count alike, and neither counts a request twice.
#[test]
fn a_client_has_60_effects_and_600_checks_a_minute_and_learns_the_limit() {
    let world = World::with(|at| {
        let audit = Some(root::AuditLimits::default());
        root::Rules { rules: site_rules(at), audit, ..root::Rules::default() }
    });
    let mut channel = world.connect(CLIENT_UID);
    let path = world.text("site/a.html");
    for number in 0..60_u32 {
        let request = write_request(&path, &number.to_le_bytes(), "any");
        let answer = channel.ask("Helper/FileWrite", &request);
        assert_eq!(answer.completed().status(), Status::Done, "{number}");
    }
    let refused = channel.ask("Helper/FileWrite", &write_request(&path, b"x", "any"));
    assert_eq!(refused.refused().code, "rate_limited");
    assert!(refused.refused().message.contains("60"), "{}", refused.refused().message);
    assert!((1..=60).contains(&refused.refused().retry_after_s));
    for number in 0..600 {
        let check = wire::FileWriteRequest { meta: meta(Mode::Check), ..write_request(&path, b"x", "any") };
        let answer = channel.ask("Helper/FileWrite", &check);
        assert_eq!(answer.completed().status(), Status::Previewed, "{number}");
    }
    let check = wire::FileWriteRequest { meta: meta(Mode::Check), ..write_request(&path, b"x", "any") };
    assert_eq!(channel.ask("Helper/FileWrite", &check).refused().code, "rate_limited");
    assert_eq!((world.count("begin"), world.count("previewed")), (60, 600));
}

#[test]
fn a_listed_line_is_a_limit_of_a_real_write() {
    let world = World::new(|at| {
        site_rules(at).into_iter().map(|rule| root::Rule { lines: strings(&["a = *"]), ..rule }).collect()
    });
    let path = world.text("site/a.html");
    let answer = world.ask("Helper/FileWrite", &write_request(&path, b"a = 1\n", "absent"));
    assert_eq!(answer.completed().status(), Status::Done);
    let answer = world.ask("Helper/FileWrite", &write_request(&path, b"a = 1\nsecret\n", "any"));
    assert_eq!(answer.refused().code, "limit_exceeded");
    assert!(!answer.refused().message.contains("secret"));
    assert_eq!(fs::read(&path).unwrap(), b"a = 1\n");
}
