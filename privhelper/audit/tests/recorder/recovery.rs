//! At start the recorder completes requests that an earlier process began.

use crate::common::{CLIENT, Root, World, done, eventually, new_id, send, unknown};
use postern_audit::claims::with_state;
use postern_audit::log::Record;
use postern_proto::link::Kind;
use postern_proto::root::v1::{self as root, RequestState};
use postern_proto::v1::Status;
use postern_record::Json;
use prost::Message;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

impl World {
    /// Leaves a `begin` behind, as a recorder does that was killed right after it.
    fn leave_begun(&self, family: &str) -> String {
        let id = new_id();
        let state = RequestState {
            uid: CLIENT,
            request_id: id.clone(),
            family: family.to_owned(),
            verb: "file.write".to_owned(),
            client: "agent".to_owned(),
            rule: "site".to_owned(),
            decision: "allow".to_owned(),
            begun_unix_us: 1,
            ..RequestState::default()
        };
        let begun_unix_us = u64::try_from(self.host.audit.unix().as_micros()).unwrap();
        let own = with_state(Json::new(), &RequestState { begun_unix_us, ..state });
        self.state
            .log
            .begin(&Record {
                own,
                claim: root::Claim { request_id: id.clone(), ..Default::default() },
                ..Record::default()
            })
            .unwrap();
        id
    }
}

#[test]
fn asks_root_for_each_begin_without_end_and_waits_for_what_runs() {
    let mut world = World::new();
    let asked = AtomicUsize::new(0);
    let units = Root::at(&world.host.units, move |received, stream| {
        if received.kind != Kind::Outcomes {
            return;
        }
        let reply = if asked.fetch_add(1, Ordering::SeqCst) < 3 {
            root::OutcomesReply { state: "running".to_owned(), outcome: Vec::new() }
        } else {
            let order =
                root::Order { uid: CLIENT, verb: "package.install".to_owned(), ..root::Order::default() };
            root::OutcomesReply { state: "ended".to_owned(), outcome: done(&order).encode_to_vec() }
        };
        send(stream, Kind::OutcomesReply, &reply);
    });
    let id = world.leave_begun("packages");
    world.restart();
    assert_eq!(world.recall(&id).state, "running");
    eventually("it ends", || world.count("end") == 1);
    eventually("root may forget it", || units.count(Kind::Acknowledge) == 1);
    let known = world.recall(&id);
    assert_eq!((known.completed.unwrap().status(), known.inverse.is_some()), (Status::Done, true));
    world.restart();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!((world.count("end"), world.count("interrupted"), units.count(Kind::Outcomes)), (1, 0, 4));
}

#[test]
fn recovery_records_an_unknown_order_as_interrupted_once() {
    let mut world = World::new();
    Root::at(&world.host.files, |received, stream| {
        if received.kind == Kind::Outcomes {
            send(stream, Kind::OutcomesReply, &unknown());
        }
    });
    let id = world.leave_begun("files");
    for _ in 0..3 {
        world.restart();
        eventually("it is recorded", || world.count("interrupted") == 1);
    }
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!((world.count("interrupted"), world.count("end")), (1, 0));
    let record = &world.records("interrupted")[0];
    assert_eq!((&record["client"]["name"], &record["rule"]), (&"agent".into(), &"site".into()));
    assert_eq!(world.recall(&id).completed.unwrap().status(), Status::Interrupted);
}

#[test]
fn an_order_that_was_staged_and_not_committed_is_interrupted() {
    let mut world = World::new();
    Root::at(&world.host.files, |received, stream| {
        let staged = Some(root::Staged::default());
        let outcome =
            root::Outcome { staged, completed: done(&received.order).completed, ..root::Outcome::default() };
        let reply = root::OutcomesReply { state: "ended".to_owned(), outcome: outcome.encode_to_vec() };
        send(stream, Kind::OutcomesReply, &reply);
    });
    world.leave_begun("files");
    world.restart();
    eventually("it is recorded", || world.count("interrupted") == 1);
}

#[test]
fn retries_recovery_while_root_does_not_answer_and_continues_after_a_restart() {
    let mut world = World::new();
    let id = world.leave_begun("files");
    world.restart();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(world.recall(&id).state, "running");
    world.state.stop(Duration::from_millis(100)).unwrap();
    assert_eq!((world.count("interrupted"), world.count("end"), world.count("stop")), (0, 0, 1));
    Root::at(&world.host.files, |received, stream| {
        let order = root::Order { uid: CLIENT, verb: "file.write".to_owned(), ..root::Order::default() };
        if received.kind == Kind::Outcomes {
            let reply =
                root::OutcomesReply { state: "ended".to_owned(), outcome: done(&order).encode_to_vec() };
            send(stream, Kind::OutcomesReply, &reply);
        }
    });
    world.restart();
    eventually("it ends", || world.count("end") == 1);
}

#[test]
fn a_repeated_request_attaches_to_its_recovery() {
    let mut world = World::new();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    Root::at(&world.host.files, move |received, stream| {
        if received.kind == Kind::Outcomes {
            gate.lock().unwrap().recv().unwrap();
            send(stream, Kind::OutcomesReply, &unknown());
        }
    });
    let id = world.leave_begun("files");
    world.restart();
    let mut stream = world.broker();
    let recall = root::Recall {
        uid: CLIENT,
        request_id: id,
        body_sha256: Vec::new(),
        attach: true,
        ..root::Recall::default()
    };
    postern_proto::link::send(&mut stream, Kind::Recall, &recall).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    open.send(()).unwrap();
    let answer = crate::common::Answer::read(&mut stream);
    assert_eq!(answer.kinds(), [Kind::Recalled, Kind::Recorded]);
    assert_eq!(answer.completed().code, "interrupted");
}
