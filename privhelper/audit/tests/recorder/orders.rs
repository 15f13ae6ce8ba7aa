//! An effect from claim to recorded end.

use crate::common::{
    Answer, BROKER, CLIENT, OPERATOR, Root, World, done, eventually, new_id, order, send, unknown,
};
use postern_policy::types::Digest;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{self as root, CloseReason};
use postern_proto::v1::{self as wire, Completed, Status};
use prost::Message;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

#[test]
fn records_begin_before_root_gets_the_order_and_end_before_the_answer() {
    let world = World::new();
    let log = world.path("log/audit.jsonl");
    let files = Root::at(&world.host.files, move |received, stream| {
        if received.kind == Kind::RootExecute {
            let text = std::fs::read_to_string(&log).unwrap();
            let digest = Digest::of(&[&received.execute.order]);
            let begin = format!("\"event\":\"begin\",\"order\":\"{digest}\"");
            assert!(text.contains(&begin) && !text.contains("\"event\":\"end\""), "{text}");
            send(stream, Kind::Outcome, &done(&received.order));
        }
    });
    let id = new_id();
    let completed = world.run(world.claim(&id)).completed();
    assert_eq!((completed.status(), completed.undoable), (Status::Done, true));
    assert_eq!((completed.rule.as_str(), completed.decision()), ("site", wire::Decision::Allow));
    let (begin, end) = (&world.records("begin")[0], &world.records("end")[0]);
    assert_eq!((&begin["verb"], &begin["args"]["path"]), (&"file.write".into(), &"/srv/a".into()));
    assert_eq!(
        begin["client"],
        serde_json::json!({ "name": "agent", "uid": CLIENT, "gid": CLIENT, "pid": 7 })
    );
    assert_eq!(
        (&end["outcome"]["status"], &end["outcome"]["objects"][0]),
        (&"done".into(), &"/srv/a".into())
    );
    assert_eq!((&end["undo"]["kind"], end["args"].is_null()), (&"file.write".into(), true));
    let envelope = files.executed()[0].envelope().clone();
    assert_eq!((envelope.seq, envelope.step(), envelope.by_operator), (2, root::Step::Whole, false));
    assert!(envelope.approvers.is_empty() && envelope.approved.is_empty());
    eventually("root is told that it may forget", || files.count(Kind::Acknowledge) == 1);
    assert_eq!(files.received.lock().unwrap()[1].order_id, link::order_id(CLIENT, &id));
}

#[test]
fn end_says_what_root_states_not_what_the_broker_claims() {
    let world = World::new();
    Root::at(&world.host.files, |received, stream| {
        let statement = root::Outcome {
            verb: "file.remove".to_owned(),
            uid: 12,
            rule: "other".to_owned(),
            decision: wire::Decision::Ask.into(),
            detail: "for the log alone".to_owned(),
            ..done(&received.order)
        };
        send(stream, Kind::Outcome, &statement);
    });
    world.run(world.claim(&new_id())).completed();
    let end = &world.records("end")[0];
    assert_eq!(
        (&end["verb"], &end["rule"], &end["decision"]),
        (&"file.remove".into(), &"other".into(), &"ask".into())
    );
    assert_eq!((&end["client"]["uid"], &end["outcome"]["detail"]), (&12.into(), &"for the log alone".into()));
}

#[test]
fn relays_content_and_secrets_unread_and_events_in_order() {
    let world = World::new();
    let root = Root::at(&world.host.units, |received, stream| {
        if received.kind == Kind::RootExecute {
            for item in ["one", "two"] {
                let progress = wire::Progress { item: item.to_owned(), ..wire::Progress::default() };
                let kind = Some(wire::event::Kind::Progress(progress));
                send(stream, Kind::Event, &wire::Event { seq: 0, kind });
            }
            send(stream, Kind::Outcome, &done(&received.order));
        }
    });
    let content = vec![7; 600_000];
    let mut claim = world.claim(&new_id());
    claim.family = "commands".to_owned();
    let announced = root::Content { size: 600_000, sha256: vec![0; 32] };
    let order = root::Order { contents: vec![announced], ..link::strict(&order(&claim)).unwrap() };
    let execute = root::RecorderOrder {
        order: order.encode_to_vec(),
        content_bytes: 600_000,
        secrets: true,
        ..World::execute(claim)
    };
    let mut stream = world.broker();
    link::send(&mut stream, Kind::RecorderExecute, &execute).unwrap();
    link::send_content(&mut stream, &content).unwrap();
    link::write(&mut stream, Kind::Secrets, b"hidden").unwrap();
    let answer = Answer::read(&mut stream);
    assert_eq!(answer.kinds(), [Kind::Event, Kind::Event, Kind::Recorded]);
    let received = &root.executed()[0];
    assert_eq!((&received.content, received.secrets.as_slice()), (&content, &b"hidden"[..]));
    assert_eq!(received.execute.order, execute.order);
    assert!(!world.log().join("").contains("hidden"));
}

#[test]
fn an_order_is_sent_again_only_if_root_did_not_start_it() {
    let world = World::new();
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let files = Root::at(&world.host.files, move |received, stream| {
        if received.kind == Kind::RootExecute {
            if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                let reason = CloseReason::NotStarted.into();
                return send(stream, Kind::Close, &root::Close { reason, ..root::Close::default() });
            }
            send(stream, Kind::Outcome, &done(&received.order));
        }
    });
    world.run(world.claim(&new_id())).completed();
    assert_eq!((files.executed().len(), world.count("begin"), world.count("end")), (2, 1, 1));
    let seqs = files.executed().iter().map(|one| one.envelope().seq).collect::<Vec<_>>();
    assert_eq!(seqs, [2, 2], "under the same begin");
}

#[test]
fn an_order_that_root_never_starts_has_failed() {
    let world = World::new();
    let reason = CloseReason::NotStarted.into();
    let files = Root::at(&world.host.files, move |_, stream| {
        send(stream, Kind::Close, &root::Close { reason, ..root::Close::default() });
    });
    let completed = world.run(world.claim(&new_id())).completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "busy"));
    assert_eq!((files.executed().len(), world.count("end")), (2, 1));
}

#[test]
fn a_refusal_by_root_after_begin_is_recorded_as_end() {
    let world = World::new();
    Root::at(&world.host.files, |_, stream| {
        let (code, message) = ("no_grant".to_owned(), "no".to_owned());
        let reason = CloseReason::Refused.into();
        send(stream, Kind::Close, &root::Close { reason, code, message, detail: "why".to_owned() });
    });
    let completed = world.run(world.claim(&new_id())).completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "no_grant"));
    let end = &world.records("end")[0];
    assert_eq!((&end["outcome"]["code"], &end["outcome"]["detail"]), (&"no_grant".into(), &"why".into()));
}

#[test]
fn learns_the_outcome_when_root_dies_in_the_middle() {
    let world = World::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let files = Root::at(&world.host.files, move |received, stream| match received.kind {
        Kind::Outcomes if counted.fetch_add(1, Ordering::SeqCst) < 2 => {
            let state = "running".to_owned();
            send(stream, Kind::OutcomesReply, &root::OutcomesReply { state, outcome: Vec::new() });
        }
        Kind::Outcomes => {
            let order = root::Order { uid: CLIENT, verb: "file.write".to_owned(), ..root::Order::default() };
            let outcome = done(&order).encode_to_vec();
            send(stream, Kind::OutcomesReply, &root::OutcomesReply { state: "ended".to_owned(), outcome });
        }
        // It dies: no last frame.
        _ => {}
    });
    let completed = world.run(world.claim(&new_id())).completed();
    assert_eq!(completed.status(), Status::Done);
    assert_eq!((files.executed().len(), files.count(Kind::Outcomes), world.count("end")), (1, 3, 1));
}

#[test]
fn an_order_without_an_outcome_is_recorded_as_interrupted() {
    let world = World::new();
    Root::at(&world.host.files, |received, stream| {
        if received.kind == Kind::Outcomes {
            send(stream, Kind::OutcomesReply, &unknown());
        }
    });
    let id = new_id();
    let completed = world.run(world.claim(&id)).completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Interrupted, "interrupted"));
    assert_eq!((world.count("interrupted"), world.count("end")), (1, 0));
    assert_eq!(world.recall(&id).completed.unwrap().status(), Status::Interrupted);
}

#[test]
fn the_effect_goes_on_when_the_broker_hangs_up() {
    let world = World::new();
    let gate = Arc::new(Barrier::new(2));
    let waits = Arc::clone(&gate);
    Root::at(&world.host.files, move |received, stream| {
        if received.kind == Kind::RootExecute {
            waits.wait();
            send(stream, Kind::Outcome, &done(&received.order));
        }
    });
    let (id, mut stream) = (new_id(), world.broker());
    link::send(&mut stream, Kind::RecorderExecute, &World::execute(world.claim(&id))).unwrap();
    eventually("it has begun", || world.count("begin") == 1);
    drop(stream);
    gate.wait();
    eventually("it has ended", || world.count("end") == 1);
    eventually("it is known", || world.recall(&id).completed.is_some());
}

#[test]
fn an_effect_does_not_wait_for_a_broker_that_does_not_read() {
    let world = World::new();
    Root::at(&world.host.files, |received, stream| {
        if received.kind == Kind::RootExecute {
            let data = vec![b'x'; 64 * 1024];
            for _ in 0..40 {
                let output = wire::Output { data: data.clone(), ..wire::Output::default() };
                send(
                    stream,
                    Kind::Event,
                    &wire::Event { seq: 0, kind: Some(wire::event::Kind::Output(output)) },
                );
            }
            send(stream, Kind::Outcome, &done(&received.order));
        }
    });
    let mut deaf = world.broker();
    link::send(&mut deaf, Kind::RecorderExecute, &World::execute(world.claim(&new_id()))).unwrap();
    eventually("it has ended", || world.count("end") == 1);
}

#[test]
fn refuses_an_order_of_another_policy_or_of_no_client() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let stale = root::Claim { policy: Digest::ZERO.to_string(), ..world.claim(&new_id()) };
    assert_eq!(world.run(stale).refused(), "plan_changed");
    for uid in [OPERATOR, BROKER, 0] {
        let stranger = root::Claim { uid, ..world.claim(&new_id()) };
        assert_eq!(world.run(stranger).refused(), "unknown_client");
    }
    std::fs::remove_file(&world.host.accepted).unwrap();
    let claim = root::Claim { policy: Digest::ZERO.to_string(), ..root::Claim::default() };
    let claim = root::Claim {
        family: "files".to_owned(),
        uid: CLIENT,
        request_id: new_id(),
        decision: "allow".to_owned(),
        ..claim
    };
    assert_eq!(world.run(claim).refused(), "interrupted");
    assert_eq!((files.executed().len(), world.count("begin"), world.count("refused")), (0, 0, 5));
}

#[test]
fn keeps_no_inverse_that_is_too_large_and_promises_no_undo() {
    let world = World::new();
    Root::at(&world.host.files, |received, stream| {
        if received.kind == Kind::RootExecute {
            let mut outcome = done(&received.order);
            outcome.inverse.as_mut().unwrap().body = vec![0; link::INVERSE_MAX];
            send(stream, Kind::Outcome, &outcome);
        }
    });
    let id = new_id();
    assert!(!world.run(world.claim(&id)).completed().undoable);
    assert_eq!(world.recall(&id).inverse, None);
    assert!(world.records("end")[0]["undo"].is_null());
}

#[test]
fn the_largest_outcome_fits_into_the_space_that_is_reserved_for_it() {
    let world = World::new();
    Root::at(&world.host.files, |received, stream| {
        if received.kind == Kind::RootExecute {
            let mut outcome = done(&received.order);
            outcome.inverse.as_mut().unwrap().body = vec![0; link::INVERSE_MAX - 300];
            let file = |number: u32| wire::FileInfo {
                path: format!("/{number:0>4000}"),
                ..wire::FileInfo::default()
            };
            let packages =
                vec![wire::PackageInfo { name: "p".repeat(60), ..wire::PackageInfo::default() }; 500];
            let files = (0..64).map(file).collect();
            outcome.completed = Some(Completed { files, packages, ..outcome.completed.unwrap() });
            outcome.objects = (0..64).map(|number| format!("/{number:0>4000}")).collect();
            outcome.detail = "d".repeat(10_000);
            send(stream, Kind::Outcome, &outcome);
        }
    });
    assert!(world.run(world.claim(&new_id())).completed().undoable);
    let end = world.log().into_iter().find(|line| line.contains("\"event\":\"end\"")).unwrap();
    assert!((500_000..640 * 1024).contains(&end.len()), "{}", end.len());
}

#[test]
fn an_end_that_cannot_be_written_is_written_once_it_can() {
    let world = World::new();
    let (log, away) = (world.path("log"), world.path("away"));
    let (from, to) = (log.clone(), away.clone());
    Root::at(&world.host.files, move |received, stream| {
        if received.kind == Kind::RootExecute {
            std::fs::rename(&from, &to).unwrap();
            send(stream, Kind::Outcome, &done(&received.order));
        }
    });
    let (id, mut stream) = (new_id(), world.broker());
    link::send(&mut stream, Kind::RecorderExecute, &World::execute(world.claim(&id))).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    assert!(link::read(&mut stream).is_err(), "it was answered before its end was on disk");
    assert_eq!(world.recall(&id).state, "running");
    std::fs::rename(&away, &log).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(Answer::read(&mut stream).completed().status(), Status::Done);
    assert_eq!((world.count("begin"), world.count("end"), world.count("interrupted")), (1, 1, 0));
}
