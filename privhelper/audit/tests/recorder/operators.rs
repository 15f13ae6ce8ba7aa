//! operator.sock: who may call, and every call.

use crate::common::{CLIENT, MEMBER, OPERATOR, ROOT, Root, World, accept, eventually, new_id, plenty};
use postern_policy::types::Digest;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Status};
use std::fs;

const CALLS: [&str; 9] = ["Pending", "Show", "Decide", "Watch", "Undo", "Pause", "Resume", "Status", "Apply"];

#[test]
fn a_client_cannot_be_an_operator_by_any_call() {
    let world = World::new();
    // By its entry in passwd, and by a group.
    for uid in [CLIENT, MEMBER] {
        let mut own = world.operator(uid);
        for call in CALLS.into_iter().chain(["Nope"]) {
            let answer = own.call::<wire::OperatorPending>(call, &wire::OperatorPendingRequest {});
            assert_eq!(answer.unwrap_err().0, 7, "{call}");
        }
    }
    assert_eq!((world.count("refused"), world.count("paused")), (20, 0));
}

#[test]
fn membership_in_a_clients_group_is_looked_up_at_each_call() {
    let world = World::new();
    let status = |operator: &mut crate::common::Operator| {
        operator.call::<wire::OperatorStatus>("Status", &wire::OperatorStatusRequest {}).map(|_| ())
    };
    let mut operator = world.operator(OPERATOR);
    status(&mut operator).unwrap();
    fs::write(world.path("group"), "helpers:x:4000100:ann,op\n").unwrap();
    assert_eq!(status(&mut operator).unwrap_err().0, 7);
    fs::write(world.path("group"), "helpers:x:4000100:ann\n").unwrap();
    status(&mut operator).unwrap();
    fs::remove_file(world.path("group")).unwrap();
    fs::create_dir(world.path("group")).unwrap();
    assert_eq!(
        status(&mut operator).unwrap_err().0,
        7,
        "an account file that cannot be read makes nobody an operator"
    );
}

#[test]
fn without_a_readable_policy_only_root_is_an_operator() {
    for policy in [Some("damaged"), None] {
        let world = World::new();
        match policy {
            Some(text) => fs::write(world.path("accepted.pb"), text).unwrap(),
            None => fs::remove_file(world.path("accepted.pb")).unwrap(),
        }
        for uid in [CLIENT, MEMBER, OPERATOR, ROOT] {
            let request = wire::OperatorPauseRequest::default();
            let paused = world.operator(uid).call::<wire::OperatorPaused>("Pause", &request);
            assert_eq!(paused.map_err(|(code, _)| code).is_ok(), uid == ROOT, "{policy:?} {uid}");
        }
        assert_eq!(world.count("paused"), 1);
    }
}

#[test]
fn malformed_and_unknown_calls_are_refused_and_recorded() {
    let world = World::new();
    let mut operator = world.operator(OPERATOR);
    let unknown = operator.call::<wire::OperatorStatus>("Nope", &wire::OperatorStatusRequest {});
    assert_eq!(unknown.unwrap_err().0, 12);
    // A field that this recorder does not know.
    operator.send("Operator/Decide", &[0x7a, 0x01, 0x01]);
    assert_eq!(operator.frame().unwrap().1[0], 3);
    assert!(operator.frame().is_none(), "the connection ends");
    assert_eq!((world.count("refused"), world.count("malformed")), (1, 1));
}

#[test]
fn a_pause_stops_new_effects_and_survives_a_restart() {
    let mut world = World::new();
    let files = Root::willing(&world.host.files);
    let reason = "looking into it".to_owned();
    let request = wire::OperatorPauseRequest { reason };
    let paused: wire::OperatorPaused = world.operator(OPERATOR).call("Pause", &request).unwrap();
    assert!(paused.running.is_empty());
    for _ in 0..2 {
        let close = world.run(world.claim(&new_id())).close();
        assert_eq!((close.code.as_str(), close.message.as_str()), ("paused", "looking into it"));
        let status: wire::OperatorStatus =
            world.operator(OPERATOR).call("Status", &wire::OperatorStatusRequest {}).unwrap();
        assert_eq!(status.paused, "looking into it");
        world.restart();
    }
    world
        .operator(OPERATOR)
        .call::<wire::OperatorResumed>("Resume", &wire::OperatorResumeRequest {})
        .unwrap();
    assert_eq!(world.run(world.claim(&new_id())).completed().status(), Status::Done);
    assert_eq!((world.count("paused"), world.count("resumed"), files.executed().len()), (1, 1, 1));
}

#[test]
fn pause_lists_running_requests_and_holds_approved_ones() {
    let world = World::new();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let files = Root::at(&world.host.files, move |received, stream| {
        if received.kind == Kind::RootExecute {
            gate.lock().unwrap().recv().unwrap();
            crate::common::send(stream, Kind::Outcome, &crate::common::done(&received.order));
        }
    });
    let id = new_id();
    let mut running = world.broker();
    link::send(&mut running, Kind::RecorderExecute, &World::execute(world.claim(&id))).unwrap();
    eventually("it runs", || files.executed().len() == 1);
    let asking = root::Claim {
        decision: "ask".to_owned(),
        objects: Vec::new(),
        approval_ttl_s: 900,
        ..world.claim(&new_id())
    };
    let mut waiting = world.broker();
    link::send(&mut waiting, Kind::RecorderExecute, &World::execute(asking)).unwrap();
    eventually("it waits", || world.state.approvals.list().len() == 1);
    let mut operator = world.operator(OPERATOR);
    let paused: wire::OperatorPaused =
        operator.call("Pause", &wire::OperatorPauseRequest { reason: String::new() }).unwrap();
    assert_eq!(paused.running.iter().map(|one| one.request_id.clone()).collect::<Vec<_>>(), [id]);
    let approval = world.state.approvals.list()[0].approval_id.clone();
    operator.approve(&approval, &world.host).unwrap();
    assert_eq!(crate::common::Answer::read(&mut waiting).refused(), "paused");
    open.send(()).unwrap();
    eventually("what ran ends", || world.count("end") == 1);
    assert_eq!(files.executed().len(), 1);
}

#[test]
fn resume_ends_a_pause_that_is_only_in_memory() {
    let world = World::new();
    let mut operator = world.operator(OPERATOR);
    let reason = "x".to_owned();
    operator.call::<wire::OperatorPaused>("Pause", &wire::OperatorPauseRequest { reason }).unwrap();
    fs::remove_file(world.path("state/paused")).unwrap();
    operator.call::<wire::OperatorResumed>("Resume", &wire::OperatorResumeRequest {}).unwrap();
    assert_eq!(world.state.paused(), None);
}

#[test]
fn only_root_may_apply_a_policy_and_it_is_recorded_first() {
    let world = World::new();
    let apply = |uid: u32, digest: &str| {
        let request = wire::OperatorApplyRequest { policy_digest: digest.to_owned() };
        world.operator(uid).call::<wire::OperatorApplied>("Apply", &request).map(|_| ())
    };
    let digest = Digest::of(&[b"next"]).to_string();
    assert_eq!(apply(OPERATOR, &digest).unwrap_err().0, 7);
    assert!(apply(ROOT, "next").unwrap_err().1.starts_with("invalid_argument: "));
    assert_eq!(world.count("policy_applied"), 0);
    apply(ROOT, &digest).unwrap();
    assert_eq!(world.records("policy_applied")[0]["policy"], digest);
    fs::rename(world.path("log"), world.path("away")).unwrap();
    assert!(apply(ROOT, &digest).unwrap_err().1.starts_with("audit_unavailable: "));
}

#[test]
fn a_replaced_policy_is_used_at_once_and_named_in_status_and_start() {
    let mut world = World::new();
    let before = world.policy();
    accept(&world.path(""), 2, plenty());
    assert_ne!(world.policy(), before);
    let mut root = world.operator(ROOT);
    let mut status = || root.call::<wire::OperatorStatus>("Status", &wire::OperatorStatusRequest {}).unwrap();
    assert_eq!(
        (status().policy_digest, status().clients),
        (world.policy(), vec!["agent".to_owned(), "people".to_owned()])
    );
    fs::write(world.path("accepted.pb"), "damaged").unwrap();
    assert!(status().notes[0].contains("the accepted policy is damaged"));
    assert_eq!(status().policy_digest, "");
    world.restart();
    let starts = world.records("start");
    assert_eq!((&starts[0]["policy"], starts[1]["policy"].is_null()), (&before.into(), true));
    assert!(starts[1]["outcome"]["detail"].as_str().unwrap().contains("damaged"));
}
