//! Validated writes: stage, validate, commit under one `begin`.

use crate::common::{Received, Root, World, done, eventually, new_id, order, send, unknown};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{self as root, Step};
use postern_proto::v1::{Completed, Status};
use prost::Message;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::mpsc::channel;

fn staged() -> root::Staged {
    let validator =
        |name: &str, live: &str| root::RequiredValidator { name: name.to_owned(), live: live.to_owned() };
    root::Staged {
        stage_id: vec![5; 32],
        digest: vec![6; 32],
        validators: vec![validator("nginx", "/a"), validator("nginx", "/b"), validator("lint", "/a")],
        mac: vec![7; 32],
        ..root::Staged::default()
    }
}

/// postern-files: stages what comes whole, and does what is committed.
fn files(received: &Received, stream: &mut UnixStream) {
    match received.kind {
        Kind::RootExecute if received.step() == Step::Whole => {
            let outcome = root::Outcome { staged: Some(staged()), ..root::Outcome::default() };
            send(stream, Kind::Outcome, &outcome);
        }
        Kind::RootExecute if received.envelope().agreements.len() < 3 => {
            let (reason, code) = (root::CloseReason::Refused.into(), "validation_failed".to_owned());
            let message = "no agreement; the copy is removed".to_owned();
            send(stream, Kind::Close, &root::Close { reason, code, message, ..root::Close::default() });
        }
        Kind::RootExecute => send(stream, Kind::Outcome, &done(&received.order)),
        Kind::Outcomes => send(stream, Kind::OutcomesReply, &unknown()),
        _ => {}
    }
}

/// The copy is given up by a commit that nobody has agreed to.
fn assert_given_up(files: &Root) {
    let executed = files.executed();
    assert_eq!(executed.len(), 2);
    assert_eq!(executed[1].step(), Step::Commit);
    assert_eq!(executed[1].envelope().stage_id, staged().stage_id);
    assert!(executed[1].envelope().agreements.is_empty());
}

fn agrees(received: &Received, stream: &mut UnixStream) {
    if received.kind == Kind::RootExecute {
        let envelope = received.envelope();
        let (validator, live) = (envelope.validator.clone(), envelope.live.clone());
        let agreement =
            Some(root::Agreement { validator, live, mac: vec![8; 32], ..root::Agreement::default() });
        send(stream, Kind::Outcome, &root::Outcome { agreement, ..root::Outcome::default() });
    }
}

#[test]
fn stages_validates_each_and_commits_with_all_agreements() {
    let world = World::new();
    let (files, units) = (Root::at(&world.host.files, files), Root::at(&world.host.units, agrees));
    let claim = world.claim(&new_id());
    let announced = root::Content { size: 3, sha256: vec![0; 32] };
    let order = root::Order { contents: vec![announced], ..link::strict(&order(&claim)).unwrap() };
    let execute =
        root::RecorderOrder { order: order.encode_to_vec(), content_bytes: 3, ..World::execute(claim) };
    let mut stream = world.broker();
    link::send(&mut stream, Kind::RecorderExecute, &execute).unwrap();
    link::send_content(&mut stream, b"new").unwrap();
    assert_eq!(crate::common::Answer::read(&mut stream).completed().status(), Status::Done);
    let (whole, commit) = (files.executed()[0].clone(), files.executed()[1].clone());
    assert_eq!((whole.content.as_slice(), commit.content.as_slice()), (&b"new"[..], &b""[..]));
    assert_eq!((commit.step(), commit.envelope().agreements.len()), (Step::Commit, 3));
    assert_eq!((&commit.envelope().stage_id, &commit.envelope().stage_digest), (&vec![5; 32], &vec![6; 32]));
    let executed = units.executed();
    let asked = executed.iter().map(|one| (&*one.envelope().validator, &*one.envelope().live));
    assert_eq!(asked.collect::<Vec<_>>(), [("nginx", "/a"), ("nginx", "/b"), ("lint", "/a")]);
    assert_eq!(units.executed()[0].envelope().staged, Some(staged()));
    assert!(files.executed().iter().chain(&units.executed()).all(|one| one.envelope().seq == 2));
    assert_eq!((world.count("begin"), world.count("end")), (1, 1));
}

#[test]
fn a_rejecting_validator_ends_the_request_and_drops_the_stage() {
    let world = World::new();
    let files = Root::at(&world.host.files, files);
    let units = Root::at(&world.host.units, |received, stream| {
        if received.kind == Kind::RootExecute && received.envelope().live == "/b" {
            let completed = Completed {
                status: Status::Failed.into(),
                code: "validation_failed".to_owned(),
                ..Completed::default()
            };
            return send(
                stream,
                Kind::Outcome,
                &root::Outcome { completed: Some(completed), ..root::Outcome::default() },
            );
        }
        agrees(received, stream);
    });
    let completed = world.run(world.claim(&new_id())).completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "validation_failed"));
    assert_eq!((completed.message.as_str(), units.executed().len(), world.count("end")), ("", 2, 1));
    assert_given_up(&files);
}

#[test]
fn a_validator_that_dies_counts_as_a_rejection() {
    let world = World::new();
    let files = Root::at(&world.host.files, files);
    Root::at(&world.host.units, |received, stream| {
        if received.kind == Kind::Outcomes {
            send(stream, Kind::OutcomesReply, &unknown());
        }
    });
    let completed = world.run(world.claim(&new_id())).completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "validation_failed"));
    assert!(completed.message.contains("did not end"));
    assert_given_up(&files);
}

#[test]
fn no_turn_is_held_while_a_validator_runs() {
    let world = World::new();
    Root::at(&world.host.files, |received, stream| match received.order.rule.as_str() {
        "plain" if received.kind == Kind::RootExecute => send(stream, Kind::Outcome, &done(&received.order)),
        _ => files(received, stream),
    });
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let units = Root::at(&world.host.units, move |received, stream| {
        gate.lock().unwrap().recv().unwrap();
        agrees(received, stream);
    });
    let mut slow = world.broker();
    link::send(&mut slow, Kind::RecorderExecute, &World::execute(world.claim(&new_id()))).unwrap();
    eventually("it validates", || units.executed().len() == 1);
    let plain = root::Claim { rule: "plain".to_owned(), wait_ms: 0, ..world.claim(&new_id()) };
    assert_eq!(world.run(plain).completed().status(), Status::Done);
    for _ in 0..3 {
        open.send(()).unwrap();
    }
    assert_eq!(crate::common::Answer::read(&mut slow).completed().status(), Status::Done);
}
