//! A client's connection: strict decoding, caps, who may ask at all, and what is answered before anything is decoded.

use crate::common::{
    CLIENT_UID, STRANGER_UID, World, change, describe, eventually, meta, rule, site, start, unit, write,
};
use crate::fakes::{done, send};
use postern_broker::events::{ChannelSender, EventSender, Grpc, Streams};
use postern_proto::frame::{CANCEL, Head, REQUEST, encode, encode_request};
use postern_proto::link::Kind;
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, event};
use prost::Message;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn answers_unimplemented_for_an_unknown_verb_and_records_it() {
    let world = World::new(Vec::new());
    let mut channel = world.connect(CLIENT_UID);
    for method in ["Helper/Nope", "Helper/UnitKill", "Operator/Reload", "Helper/", "x", ""] {
        let answer = channel.ask(method, &describe());
        assert_eq!((answer.code, answer.events.len()), (12, 0), "{method}");
    }
    assert_eq!(world.recorder.events(), ["refused"; 6]);
    assert_eq!(channel.ask("Helper/PolicyDescribe", &describe()).code, 0, "the connection goes on");
}

#[test]
fn a_stream_counts_until_its_request_has_ended_and_not_until_the_thread_has() {
    let (streams, (ours, _theirs)) = (Arc::new(Streams::default()), UnixStream::pair().unwrap());
    let sender = Arc::new(ChannelSender::new(ours));
    let [ended, left] = [1, 2].map(|stream| {
        assert!(streams.open(stream));
        EventSender::new(Arc::clone(&sender), stream, Arc::clone(&streams))
    });
    assert!(ended.end(None, Grpc::Ok, "") && !ended.end(None, Grpc::Ok, ""));
    assert_eq!(streams.running(), 1);
    assert!(streams.open(1), "the client has read the end");
    streams.leave(2);
    assert_eq!(streams.running(), 1, "a request that was left still runs");
    drop((ended, left));
    assert_eq!(streams.running(), 0);
}

#[test]
fn a_request_has_ended_before_its_last_event_is_read() {
    let (streams, (ours, theirs)) = (Arc::new(Streams::default()), UnixStream::pair().unwrap());
    ours.set_nonblocking(true).unwrap();
    let sender = Arc::new(ChannelSender::new(ours));
    assert!(streams.open(1));
    let events = EventSender::new(Arc::clone(&sender), 1, Arc::clone(&streams));
    // A slow reader, so that the last event waits: who reads it may ask for the next request at once.
    let long = || event::Kind::Refused(wire::Refused { message: "x".repeat(80 << 10), ..Default::default() });
    while !sender.has_unsent() {
        events.event(long());
    }
    events.event(long());
    let last = std::thread::spawn(move || events.finish(event::Kind::Output(wire::Output::default())));
    eventually("the request has ended", || streams.running() == 0);
    assert!(!last.is_finished(), "its last event waits for the reader");
    drop(theirs);
    last.join().unwrap();
}

#[test]
fn closes_the_connection_on_a_non_canonical_message() {
    let good = describe().encode_to_vec();
    let unknown_field = [good.as_slice(), &[0xf8, 0x07, 0x01]].concat();
    let twice = [good.as_slice(), good.as_slice()].concat();
    let default_written = [good.as_slice(), &[0x12, 0x00]].concat();
    let cut = good[..good.len() - 1].to_vec();
    for body in [unknown_field, twice, default_written, cut, b"\xff\xff\xff".to_vec()] {
        let world = World::new(Vec::new());
        let mut channel = world.connect(CLIENT_UID);
        let stream = channel.send("Helper/PolicyDescribe", &body);
        assert_eq!(channel.answer(stream).code, 3, "{body:?}");
        channel.left();
        let note = world.recorder.note("malformed");
        assert_eq!((note.size, note.sha256.len(), note.uid), (body.len() as u64, 32, CLIENT_UID));
        assert!(note.args_json.is_empty() && note.detail.is_empty(), "never the text: {note:?}");
    }
}

#[test]
fn ends_the_connection_for_a_violation_of_the_frames() {
    let head = |kind, len| Head { stream: 1, kind, len }.encode().to_vec();
    let cases = [
        head(9, 0),
        head(CANCEL, 1),
        head(REQUEST, 0),
        [head(REQUEST, 70_000), b"\x0bHelper/Long".to_vec()].concat(),
        [head(REQUEST, u32::MAX), b"\x10Helper/FileWrite".to_vec()].concat(),
    ];
    for bytes in cases {
        let world = World::new(Vec::new());
        let mut channel = world.connect(CLIENT_UID);
        channel.stream.write_all(&bytes).unwrap();
        channel.left();
        assert_eq!(world.recorder.events(), ["malformed"], "{bytes:?}");
    }
}

#[test]
fn ends_the_connection_for_a_frame_that_does_not_come_whole_in_time() {
    let world = World::new(Vec::new());
    let mut channel = world.connect(CLIENT_UID);
    let request = encode_request("Helper/PolicyDescribe", &describe().encode_to_vec()).unwrap();
    channel.stream.write_all(&encode(1, REQUEST, &request).unwrap()[..20]).unwrap();
    let started = Instant::now();
    channel.left();
    assert!(started.elapsed() >= Duration::from_secs(9), "{:?}", started.elapsed());
    assert_eq!(world.recorder.events(), ["malformed"]);
}

#[test]
fn accepts_no_further_request_after_the_client_has_left() {
    let world = World::new(vec![site(&["file.write"])]);
    let mut channel = world.connect(CLIENT_UID);
    assert_eq!(channel.ask("Helper/PolicyDescribe", &describe()).code, 0);
    // The gateway is captured: its client has left, and it goes on asking.
    drop(channel.client.take());
    let request = write("/srv/site/a", b"x", "any").encode_to_vec();
    let frame = encode(9, REQUEST, &encode_request("Helper/FileWrite", &request).unwrap()).unwrap();
    channel.stream.write_all(&frame).ok();
    channel.left();
    assert!(world.recorder.executed.lock().unwrap().is_empty());
    assert!(world.recorder.inspected.lock().unwrap().is_empty());
}

#[test]
fn treats_a_half_closed_socket_as_closed() {
    let world = World::new(Vec::new());
    let channel = world.connect(CLIENT_UID);
    channel.client.as_ref().unwrap().shutdown(std::net::Shutdown::Write).unwrap();
    channel.left();
}

#[test]
fn admits_nobody_but_the_clients_of_the_policy() {
    let world = World::new(vec![site(&["file.write"])]);
    for uid in [STRANGER_UID, 0, 65_534, 2_147_483_648, 4_294_967_294, u32::MAX] {
        for method in ["Helper/PolicyDescribe", "Helper/RequestResult"] {
            let of = crate::common::new_id();
            let result = wire::RequestResultRequest { meta: meta(Mode::Execute), of };
            let answer = if method == "Helper/PolicyDescribe" {
                world.connect(uid).ask(method, &describe())
            } else {
                world.connect(uid).ask(method, &result)
            };
            assert_eq!(answer.refused().code, "unknown_client", "{uid}");
        }
    }
    assert!(world.recorder.recalls.lock().unwrap().is_empty(), "nobody's id is asked for");
}

#[test]
fn membership_in_a_group_counts_at_each_request() {
    let client = root::Client { name: "team".to_owned(), user: String::new(), group: "team".to_owned() };
    let rule = root::Rule { client: "team".to_owned(), ..unit("u", "x.service", &["unit.start"]) };
    let world = World::of(root::Rules { clients: vec![client], rules: vec![rule], ..root::Rules::default() });
    let mut channel = world.connect(STRANGER_UID);
    let mut code = || {
        let answer = channel.ask("Helper/UnitStart", &start("x.service"));
        match &answer.events.last().unwrap().kind {
            Some(event::Kind::Refused(refused)) => refused.code.clone(),
            _ => "done".to_owned(),
        }
    };
    assert_eq!(code(), "unknown_client");
    std::fs::write(world.path("group"), "team:x:4000200:stranger\n").unwrap();
    assert_eq!(code(), "done");
    std::fs::write(world.path("group"), "team:x:4000200:\n").unwrap();
    assert_eq!(code(), "unknown_client");
}

#[test]
fn ends_the_connection_for_a_ninth_stream() {
    let world = World::new(vec![site(&["file.write"])]);
    let (release, held) = std::sync::mpsc::channel::<()>();
    world.recorder.on_inspect(move |_, _| {
        held.recv().ok();
    });
    let mut channel = world.connect(CLIENT_UID);
    for number in 0..9 {
        let request = write(&format!("/srv/site/{number}"), b"x", "any");
        channel.send("Helper/FileWrite", &request.encode_to_vec());
    }
    while channel.frame().is_some() {}
    assert_eq!(world.recorder.events(), ["malformed"]);
    drop(release);
}

#[test]
fn one_client_cannot_use_all_connections() {
    let world = World::new(vec![unit("u", "x.service", &["unit.start"])]);
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    world.recorder.on_execute(move |_, stream| {
        held.lock().unwrap().recv().ok();
        send(stream, Kind::Recorded, &done());
    });
    let mut channels = (0..3).map(|_| world.connect(CLIENT_UID)).collect::<Vec<_>>();
    for channel in &mut channels {
        for _ in 0..4 {
            channel.send("Helper/UnitStart", &start("x.service").encode_to_vec());
        }
    }
    eventually("four are refused", || world.recorder.events().len() == 4);
    assert_eq!(world.state.running.used(), 8);
    drop(release);
    eventually("places are given back", || world.state.running.used() == 0);
    assert_eq!(world.recorder.note("refused").code, "busy");
}

#[test]
fn refuses_a_large_body_without_a_grant_before_it_arrives() {
    let other = root::Rule { client: "agent".to_owned(), ..site(&["file.read", "file.patch"]) };
    let world = World::new(vec![other]);
    let mut channel = world.connect(CLIENT_UID);
    let request = encode_request("Helper/FileWrite", &vec![0xff; 4 << 20]).unwrap();
    let frame = encode(1, REQUEST, &request).unwrap();
    // The head alone is enough to be refused.
    channel.stream.write_all(&frame[..100]).unwrap();
    let answer = channel.answer(1);
    assert_eq!(
        (answer.refused().code.as_str(), answer.refused().missing.as_str()),
        ("no_grant", "file.write")
    );
    assert_eq!(world.state.bodies.used(), 0);
    // Its late frames are dropped without decoding; the connection continues.
    channel.stream.write_all(&frame[100..]).unwrap();
    let stream = 2;
    let request = encode_request("Helper/PolicyDescribe", &describe().encode_to_vec()).unwrap();
    channel.stream.write_all(&encode(stream, REQUEST, &request).unwrap()).unwrap();
    assert_eq!(channel.answer(stream).completed().status(), wire::Status::Done);
    assert_eq!(world.recorder.events(), ["refused", "served"]);
    assert_eq!(world.recorder.note("refused").client, "agent");
}

#[test]
fn refuses_a_body_larger_than_any_rule_grants_before_it_arrives() {
    let small = root::Rule { max_bytes: 1000, max_files: 3, ..site(&["file.write", "file.patch"]) };
    let world = World::new(vec![small]);
    let ask = |method: &str, len: usize| {
        let mut channel = world.connect(CLIENT_UID);
        let request = encode_request(method, &vec![0xff; len]).unwrap();
        channel.stream.write_all(&encode(1, REQUEST, &request).unwrap()).unwrap();
        channel.answer(1)
    };
    assert_eq!(ask("Helper/FileWrite", 65_536 + 1001).refused().code, "limit_exceeded");
    assert_eq!(ask("Helper/FilePatch", 65_536 + 3001).refused().code, "limit_exceeded");
    assert_eq!(ask("Helper/FilePatch", 65_536 + 3000).code, 3, "it is decoded, and is no message");
}

#[test]
fn takes_no_more_bodies_into_memory_than_a_uid_may_have() {
    let world = World::new(vec![root::Rule { max_bytes: 8 << 20, ..site(&["file.patch"]) }]);
    let mut channels = Vec::new();
    for _ in 0..2 {
        let mut channel = world.connect(CLIENT_UID);
        let head = Head { stream: 1, kind: REQUEST, len: (8 << 20) + 17 };
        channel.stream.write_all(&head.encode()).unwrap();
        channel.stream.write_all(b"\x10Helper/FilePatch").unwrap();
        channels.push(channel);
    }
    eventually("two bodies are admitted", || world.state.bodies.used() == 2 * (8 << 20));
    let mut third = world.connect(CLIENT_UID);
    let patch = wire::FilePatchRequest {
        meta: meta(Mode::Check),
        changes: vec![change("/srv/site/a", &[b'x'; 100_000], "any")],
    };
    let answer = third.ask("Helper/FilePatch", &patch);
    assert_eq!(answer.refused().code, "busy");
    drop(channels);
    eventually("memory is given back", || world.state.bodies.used() == 0);
    assert_eq!(third.ask("Helper/FilePatch", &patch).completed().status(), wire::Status::Previewed);
}

#[test]
fn refuses_a_flood_undecoded_and_reports_it_once() {
    let limits = root::AuditLimits { records_per_minute: 1, ..root::AuditLimits::default() };
    let rules = vec![site(&["file.write"])];
    let world = World::of(root::Rules { rules, audit: Some(limits), ..root::Rules::default() });
    let mut channel = world.connect(CLIENT_UID);
    let check = wire::FileWriteRequest { meta: meta(Mode::Check), ..write("/srv/site/a", b"x", "any") };
    for _ in 0..10 {
        assert_eq!(channel.ask("Helper/FileWrite", &check).completed().status(), wire::Status::Previewed);
    }
    let refused = channel.ask("Helper/FileWrite", &check);
    let refused = refused.refused();
    assert_eq!(refused.code, "rate_limited");
    let message = format!("rate limit reached (10 reads and checks a minute for uid {CLIENT_UID})");
    assert_eq!(refused.message, message);
    assert!((1..=60).contains(&refused.retry_after_s));
    // Effects have a budget of their own: one, which bytes that nobody can read use up.
    let stream = channel.send("Helper/Unheard", b"");
    assert_eq!(channel.answer(stream).code, 12);
    let before = world.recorder.events().len();
    for _ in 0..20 {
        let stream = channel.send("Helper/FileWrite", &[0xff; 40]);
        assert_eq!(channel.answer(stream).refused().code, "rate_limited");
    }
    assert_eq!(world.recorder.events().len(), before, "no record each");
    world.state.report();
    world.state.report();
    let note = world.recorder.note("suppressed");
    assert_eq!((note.uid, note.count), (CLIENT_UID, 21));
    assert!(note.first_unix_us > 0 && note.first_unix_us <= note.last_unix_us);
    assert_eq!(world.recorder.events().len(), before + 1);
}

#[test]
fn detaches_a_slow_reader_and_its_order_goes_on() {
    let world = World::new(vec![unit("u", "x.service", &["unit.start"]), rule("r", &["package.update"])]);
    let (ended, end) = std::sync::mpsc::channel::<()>();
    world.recorder.on_execute(move |_, stream| {
        for _ in 0..200 {
            let data = vec![b'x'; 64 * 1024];
            let output = wire::Output { stream: wire::Stream::Stdout.into(), data, truncated: false };
            let kind = Some(event::Kind::Output(output));
            send(stream, Kind::Event, &wire::Event { seq: 0, kind });
        }
        send(stream, Kind::Recorded, &done());
        ended.send(()).unwrap();
    });
    let mut channel = world.connect(CLIENT_UID);
    // Nobody reads its answer.
    channel.send("Helper/UnitStart", &start("x.service").encode_to_vec());
    end.recv_timeout(Duration::from_secs(50)).expect("the recorder is read to the end");
    while channel.frame().is_some() {}
    eventually("its place is given back", || world.state.running.used() == 0);
}
