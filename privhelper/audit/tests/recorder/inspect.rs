//! Reads, and facts about files.

use crate::common::{Answer, OPERATOR, Root, World, eventually, new_id, order, send};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{self as root, CloseReason};
use postern_proto::v1::{self as wire, Completed, Status};
use std::path::Path;
use std::time::Duration;

fn inspect(world: &World, claim: root::Claim) -> Answer {
    let order = order(&claim);
    let request = root::RecorderOrder {
        claim: Some(claim),
        order,
        body_sha256: vec![1; 32],
        ..root::RecorderOrder::default()
    };
    let mut stream = world.broker();
    link::send(&mut stream, Kind::RecorderInspect, &request).unwrap();
    Answer::read(&mut stream)
}

fn read(world: &World, family: &str) -> root::Claim {
    let (event, family) = ("served".to_owned(), family.to_owned());
    root::Claim { event, family, verb: "file.read".to_owned(), ..world.claim(&new_id()) }
}

/// Answers reads with output.
fn reader(socket: &Path) -> Root {
    Root::at(socket, |received, stream| {
        let output = wire::Output { data: b"content".to_vec(), ..wire::Output::default() };
        send(stream, Kind::Event, &wire::Event { seq: 0, kind: Some(wire::event::Kind::Output(output)) });
        let completed = Some(Completed { status: Status::Done.into(), ..Completed::default() });
        send(
            stream,
            Kind::Outcome,
            &root::Outcome { completed, verb: received.order.verb.clone(), ..root::Outcome::default() },
        );
    })
}

#[test]
fn a_read_is_served_and_recorded_once_without_its_content() {
    let world = World::new();
    reader(&world.host.files);
    let answer = inspect(&world, read(&world, "files"));
    assert_eq!(answer.kinds(), [Kind::Event, Kind::Recorded]);
    assert_eq!(answer.completed().status(), Status::Done);
    let served = &world.records("served")[0];
    assert_eq!((&served["outcome"]["status"], &served["verb"]), (&"done".into(), &"file.read".into()));
    assert_eq!((world.log().len(), world.log().join("").contains("content\"")), (2, false));
}

#[test]
fn reads_of_units_and_packages_go_to_the_probe() {
    let world = World::new();
    let probe = reader(&world.host.asked);
    for family in ["units", "packages"] {
        inspect(&world, read(&world, family)).completed();
    }
    assert_eq!(probe.count(Kind::RootInspect), 2);
}

#[test]
fn facts_are_answered_and_not_recorded() {
    let world = World::new();
    let facts = root::Facts {
        files: vec![root::FileFacts { size: 7, ..root::FileFacts::default() }],
        ..root::Facts::default()
    };
    let answered = facts.clone();
    Root::at(&world.host.files, move |_, stream| send(stream, Kind::Facts, &answered));
    let claim = root::Claim { event: String::new(), decision: "ask".to_owned(), ..read(&world, "files") };
    let answer = inspect(&world, claim);
    let recorded: root::Recorded = link::strict(&answer.frames[0].1).unwrap();
    assert_eq!((recorded.facts, recorded.completed), (Some(facts), None));
    assert_eq!(world.log().len(), 1);
}

#[test]
fn a_refused_read_is_recorded_as_refused() {
    let world = World::new();
    Root::at(&world.host.files, |_, stream| {
        let (code, message) = ("not_found".to_owned(), "gone".to_owned());
        let reason = CloseReason::Refused.into();
        send(stream, Kind::Close, &root::Close { reason, code, message, ..root::Close::default() });
    });
    assert_eq!(inspect(&world, read(&world, "files")).refused(), "not_found");
    assert_eq!(world.records("refused")[0]["outcome"]["code"], "not_found");
    // Nobody listens at the probe's socket.
    assert_eq!(inspect(&world, read(&world, "units")).refused(), "interrupted");
}

#[test]
fn rejects_an_effect_verb_in_an_inspect_frame() {
    let world = World::new();
    // Root answers an Inspect of a change with facts; as a read that is no answer.
    Root::at(&world.host.files, |_, stream| send(stream, Kind::Facts, &root::Facts::default()));
    assert_eq!(inspect(&world, read(&world, "files")).refused(), "interrupted");
}

#[test]
fn a_read_under_ask_needs_consent_and_takes_its_id() {
    let mut world = World::new();
    let files = reader(&world.host.files);
    let claim = root::Claim { decision: "ask".to_owned(), approvers: 1, ..read(&world, "files") };
    let id = claim.request_id.clone();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| inspect(&world, claim.clone()));
        eventually("it waits", || world.state.approvals.list().len() == 1);
        let approval = world.state.approvals.list()[0].approval_id.clone();
        world.operator(OPERATOR).approve(&approval, &world.host).unwrap();
        assert_eq!(asked.join().unwrap().kinds(), [Kind::Parked, Kind::Parked, Kind::Event, Kind::Recorded]);
    });
    let envelope = files.received.lock().unwrap()[0].inspect.envelope.clone().unwrap();
    assert_eq!(envelope.approvers, [OPERATOR]);
    for _ in 0..2 {
        assert_eq!(world.recall(&id).completed.unwrap().status(), Status::Done);
        assert_eq!(inspect(&world, claim.clone()).recalled().state, "ended");
        world.restart();
    }
    assert_eq!((world.count("pending"), world.count("served")), (1, 1));
}

#[test]
fn reads_go_on_while_paused() {
    let world = World::new();
    reader(&world.host.files);
    world.state.pause(Some("wait".to_owned())).unwrap();
    inspect(&world, read(&world, "files")).completed();
    assert_eq!(world.run(world.claim(&new_id())).refused(), "paused");
}

/// Answers reads with two events, the second one when `gate` opens.
fn slow_reader(socket: &Path, gate: std::sync::mpsc::Receiver<()>) {
    let gate = std::sync::Mutex::new(gate);
    Root::at(socket, move |_, stream| {
        for data in [b"first".to_vec(), b"second".to_vec()] {
            let output = wire::Output { data, ..wire::Output::default() };
            send(stream, Kind::Event, &wire::Event { seq: 0, kind: Some(wire::event::Kind::Output(output)) });
            gate.lock().unwrap().recv().unwrap_or_default();
        }
        let completed = Some(Completed { status: Status::Done.into(), ..Completed::default() });
        send(stream, Kind::Outcome, &root::Outcome { completed, ..root::Outcome::default() });
    });
}

#[test]
fn no_content_leaves_before_the_read_is_recorded() {
    let world = World::new();
    let (open, gate) = std::sync::mpsc::channel();
    slow_reader(&world.host.files, gate);
    let claim = read(&world, "files");
    let order = order(&claim);
    let request =
        root::RecorderOrder { claim: Some(claim), order, body_sha256: vec![1; 32], ..Default::default() };
    let mut stream = world.broker();
    link::send(&mut stream, Kind::RecorderInspect, &request).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(link::read(&mut stream).is_err(), "the first event waits for its record");
    assert_eq!(world.count("served"), 0);
    open.send(()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(link::read(&mut stream).unwrap().unwrap().0, Kind::Event);
    assert_eq!(world.count("served"), 1, "recorded while the rest is read");
    open.send(()).unwrap();
    assert_eq!(Answer::read(&mut stream).kinds(), [Kind::Event, Kind::Recorded]);
    assert_eq!(world.count("served"), 1);
}

#[test]
fn a_read_times_out_if_the_program_does_not_answer() {
    let world = World::new();
    let (_open, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    Root::at(&world.host.asked, move |_, _| gate.lock().unwrap().recv().unwrap_or_default());
    let claim = root::Claim { wait_ms: 1, ..read(&world, "units") };
    assert_eq!(inspect(&world, claim).refused(), "timeout");
}
