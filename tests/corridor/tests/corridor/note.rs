//! `agent.note`: a client has the end of its own record noted. It is a record, and nothing else.

use crate::captured::claim;
use postern_corridor::{CLIENT_UID, STRANGER_UID, World, changing, meta, meta_with, new_id};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};
use std::fs;

const TIP: [u8; 32] = [0xab; 32];

fn request(seq: u64, tip: &[u8], mode: Mode) -> wire::AgentNoteRequest {
    wire::AgentNoteRequest { meta: meta(mode), seq, tip: tip.to_vec() }
}

fn world() -> World {
    World::new(|at| vec![changing(at)])
}

#[test]
fn a_tip_becomes_one_record_of_the_client_that_sent_it() {
    let world = world();
    let answer = world.ask("Helper/AgentNote", &request(7, &TIP, Mode::Execute));
    assert_eq!(answer.completed().status(), Status::Done);
    let [noted] = &world.records("note")[..] else { panic!("{:?}", world.log()) };
    assert_eq!((&noted["verb"], &noted["client"]["uid"]), (&"agent.note".into(), &CLIENT_UID.into()));
    let tip = "ab".repeat(32);
    assert_eq!(noted["args"], serde_json::json!({ "seq": 7, "tip": tip }));
    // No effect, no order, nothing served: the recorder's own start is the only other record.
    let events = ["begin", "end", "served", "pending"].map(|event| world.count(event));
    assert_eq!((events, world.calls().len()), ([0; 4], 0));
}

#[test]
fn a_tip_is_32_bytes() {
    let world = world();
    for tip in [&[][..], &TIP[..31], &[TIP, TIP].concat()] {
        let answer = world.ask("Helper/AgentNote", &request(1, tip, Mode::Execute));
        assert_eq!(
            (answer.refused().code.as_str(), &*answer.refused().message),
            ("invalid_argument", "tip: must be 32 bytes")
        );
    }
    assert_eq!((world.count("note"), world.count("refused")), (0, 3));
}

#[test]
fn nobody_but_a_client_of_the_policy_notes_anything() {
    let world = world();
    let answer = world.connect(STRANGER_UID).ask("Helper/AgentNote", &request(1, &TIP, Mode::Execute));
    assert_eq!(answer.refused().code, "unknown_client");
    assert_eq!(world.count("note"), 0);
}

#[test]
fn a_dry_run_notes_nothing() {
    let world = world();
    for mode in [Mode::Preview, Mode::Check] {
        let answer = world.ask("Helper/AgentNote", &request(1, &TIP, mode));
        assert_eq!(answer.completed().status(), Status::Previewed);
    }
    assert_eq!((world.count("note"), world.count("previewed")), (0, 2));
}

#[test]
fn the_thirteenth_note_of_a_minute_is_refused_and_other_requests_are_not() {
    let world = world();
    let mut channel = world.connect(CLIENT_UID);
    for seq in 1..=12 {
        let answer = channel.ask("Helper/AgentNote", &request(seq, &TIP, Mode::Execute));
        assert_eq!(answer.completed().status(), Status::Done, "{seq}");
    }
    let answer = channel.ask("Helper/AgentNote", &request(13, &TIP, Mode::Execute));
    let refused = answer.refused();
    assert_eq!(refused.code, "rate_limited");
    assert!((1..=60).contains(&refused.retry_after_s), "{refused:?}");
    assert_eq!((world.count("note"), world.count("refused")), (12, 1));
    let describe = wire::PolicyDescribeRequest { meta: meta(Mode::Execute) };
    assert_eq!(channel.ask("Helper/PolicyDescribe", &describe).completed().status(), Status::Done);
}

#[test]
fn a_note_takes_no_request_id() {
    let world = world();
    let id = new_id();
    let note = wire::AgentNoteRequest { meta: meta_with(&id, Mode::Execute), seq: 1, tip: TIP.to_vec() };
    for _ in 0..2 {
        let done = world.ask("Helper/AgentNote", &note);
        assert!(!done.completed().replayed);
    }
    assert_eq!(world.count("note"), 2);
}

/// Sends a note to the recorder as the broker does; the code of a refusal, or nothing.
fn noted(world: &World, claim: root::Claim) -> Option<String> {
    let mut broker = world.as_broker();
    link::open(&mut broker, Kind::Note, &root::Note { claim: Some(claim) }).unwrap();
    match link::read(&mut broker).unwrap().unwrap() {
        (Kind::Recorded, _) => None,
        (Kind::Close, payload) => Some(link::strict::<root::Close>(&payload).unwrap().code),
        (other, _) => panic!("{other:?}"),
    }
}

#[test]
fn a_captured_broker_gains_records_by_it_and_no_effect() {
    let audit = Some(root::AuditLimits::default());
    let world = World::with(|at| root::Rules { rules: vec![changing(at)], audit, ..root::Rules::default() });
    fs::write(world.path("site/a"), "old").unwrap();
    // Whatever verb such a note names: only its record is written.
    for verb in ["agent.note", "request.keep", "file.write", "request.undo"] {
        let claim =
            root::Claim { event: "note".to_owned(), ..claim(&world, &new_id(), verb, &world.text("site/a")) };
        assert_eq!(noted(&world, claim), None, "{verb}");
    }
    assert_eq!((world.count("note"), world.count("begin"), world.count("end")), (4, 0, 0));
    assert_eq!(fs::read_to_string(world.path("site/a")).unwrap(), "old");
    // Nor does it reach further than the budget of reads.
    let code = (0..2000).find_map(|_| {
        noted(&world, root::Claim { event: "note".to_owned(), ..claim(&world, &new_id(), "agent.note", "") })
    });
    assert_eq!(code.as_deref(), Some("rate_limited"));
    assert!(world.count("note") <= 600, "{}", world.count("note"));
}
