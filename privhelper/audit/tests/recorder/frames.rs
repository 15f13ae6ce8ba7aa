//! recorder.sock: who may connect, strict frames, and what a claim may be.

use crate::common::{Answer, BROKER, CLIENT, Root, World, new_id};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{self as root, CloseReason};
use std::io::Write;
use std::os::unix::net::UnixStream;

fn close(stream: &mut UnixStream) -> CloseReason {
    let (kind, payload) = link::read(stream).unwrap().unwrap();
    assert_eq!(kind, Kind::Close);
    assert!(link::read(stream).unwrap().is_none(), "a frame follows the last");
    link::strict::<root::Close>(&payload).unwrap().reason()
}

#[test]
fn closes_connections_of_any_uid_but_the_brokers() {
    let world = World::new();
    for uid in [0, CLIENT, BROKER + 1] {
        let mut stream = world.connect(uid);
        // It may be closed already.
        drop(link::send(&mut stream, Kind::Hello, &root::Hello { build: link::build().to_vec() }));
        assert!(matches!(link::read(&mut stream), Ok(None) | Err(_)));
    }
    assert_eq!(world.log().len(), 1);
}

#[test]
fn refuses_another_build() {
    let world = World::new();
    let mut stream = world.connect(BROKER);
    link::send(&mut stream, Kind::Hello, &root::Hello { build: vec![0; 32] }).unwrap();
    assert_eq!(close(&mut stream), CloseReason::WrongBuild);
}

#[test]
fn malformed_frames_end_the_connection_and_are_recorded() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let valid = World::execute(world.claim(&new_id()));
    let with = |change: &dyn Fn(&mut root::Claim)| {
        let mut execute = valid.clone();
        change(execute.claim.as_mut().unwrap());
        prost::Message::encode_to_vec(&execute)
    };
    let cases: Vec<(Kind, Vec<u8>)> = vec![
        // A field that this build does not know; no claim; a kind that only root is sent.
        (Kind::RecorderExecute, [prost::Message::encode_to_vec(&valid), vec![0x7a, 1, 1]].concat()),
        (Kind::RecorderExecute, Vec::new()),
        (Kind::RootExecute, prost::Message::encode_to_vec(&valid)),
        (
            Kind::Recall,
            prost::Message::encode_to_vec(&root::Recall { request_id: "x".to_owned(), ..Default::default() }),
        ),
        (Kind::Note, Vec::new()),
        (Kind::RecorderExecute, with(&|claim| claim.request_id = String::new())),
        (Kind::RecorderExecute, with(&|claim| claim.family = "everything".to_owned())),
        (Kind::RecorderExecute, with(&|claim| claim.target = "a\nb".to_owned())),
        (Kind::RecorderExecute, with(&|claim| claim.verb = "v".repeat(501))),
        (Kind::RecorderExecute, with(&|claim| claim.objects = vec!["o".to_owned(); 1025])),
        (Kind::RecorderExecute, with(&|claim| claim.args_json = r#"{"a":1},"decision":"deny""#.to_owned())),
        (Kind::RecorderExecute, with(&|claim| claim.plan_json = "{\"a\":1}\n".to_owned())),
        (Kind::RecorderExecute, with(&|claim| claim.undo_of = "x".to_owned())),
    ];
    for (count, (kind, payload)) in (1..).zip(cases) {
        let mut stream = world.broker();
        link::write(&mut stream, kind, &payload).unwrap();
        assert_eq!(close(&mut stream), CloseReason::Malformed, "{count}");
        assert_eq!((world.count("malformed"), world.log().len()), (count, count + 1));
    }
    assert_eq!(files.executed().len(), 0);
}

#[test]
fn content_must_be_as_long_as_announced() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    for part in [&b"123"[..], b""] {
        let id = new_id();
        let mut execute = World::execute(world.claim(&id));
        execute.content_bytes = 2;
        let mut stream = world.broker();
        link::send(&mut stream, Kind::RecorderExecute, &execute).unwrap();
        link::write(&mut stream, Kind::Content, part).unwrap();
        assert_eq!(close(&mut stream), CloseReason::Malformed);
        assert_eq!(world.recall(&id).state, "unknown");
    }
    assert_eq!(files.executed().len(), 0);
}

#[test]
fn refuses_more_content_than_memory_before_it_comes() {
    let world = World::new();
    let mut execute = World::execute(world.claim(&new_id()));
    execute.content_bytes = 1 << 40;
    let mut stream = world.broker();
    link::send(&mut stream, Kind::RecorderExecute, &execute).unwrap();
    assert_eq!(Answer::read(&mut stream).refused(), "busy");
    assert_eq!(world.state.memory.used(), 0);
}

#[test]
fn notes_and_recalls_share_one_connection() {
    let world = World::new();
    let mut stream = world.broker();
    for event in ["served", "previewed", "refused", "malformed", "suppressed"] {
        let claim = root::Claim {
            event: event.to_owned(),
            sha256: vec![1; 32],
            size: 5,
            count: 3,
            status: "done".to_owned(),
            ..world.claim(&new_id())
        };
        link::send(&mut stream, Kind::Note, &root::Note { claim: Some(claim) }).unwrap();
        assert_eq!(link::read(&mut stream).unwrap().unwrap(), (Kind::Recorded, Vec::new()));
        assert_eq!(world.count(event), 1);
        let recall = root::Recall {
            uid: CLIENT,
            request_id: new_id(),
            body_sha256: vec![1; 32],
            attach: false,
            ..root::Recall::default()
        };
        link::send(&mut stream, Kind::Recall, &recall).unwrap();
        let (kind, payload) = link::read(&mut stream).unwrap().unwrap();
        assert_eq!(
            (kind, link::strict::<root::Recalled>(&payload).unwrap().state.as_str()),
            (Kind::Recalled, "new")
        );
    }
    assert_eq!(world.records("served")[0]["outcome"]["status"], "done");
    assert_eq!(world.records("suppressed")[0]["count"], 3);
}

#[test]
fn a_note_cannot_claim_an_effect() {
    let world = World::new();
    for event in ["begin", "end", "approval", "policy_applied", "start", ""] {
        let claim = root::Claim { event: event.to_owned(), ..world.claim(&new_id()) };
        let mut stream = world.broker();
        link::send(&mut stream, Kind::Note, &root::Note { claim: Some(claim) }).unwrap();
        assert_eq!(close(&mut stream), CloseReason::Malformed);
    }
}

#[test]
fn an_incomplete_frame_is_not_recorded() {
    let world = World::new();
    let mut stream = world.broker();
    stream.write_all(&[255, 0, 0, 0, Kind::RecorderExecute.number(), 1, 2]).unwrap();
    drop(stream);
    assert_eq!(world.log().len(), 1);
}
