//! Frames, strict decoding, limits of a connection, and who may ask at all.

use crate::common::{
    CLIENT_UID, GROUP_UID, STRANGER_UID, World, accept_whole, call, meta, new_id, site_rules, write_request,
};
use postern_helper::audit::Record;
use postern_helper::frame::{Assembler, Frame, Violation};
use postern_policy::Policy;
use postern_proto::frame::{CANCEL, HEAD, Head, REQUEST, encode, encode_request};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode};
use prost::Message;
use std::io::Write;
use std::time::Duration;
use wire::event::Kind;

fn describe() -> wire::PolicyDescribeRequest {
    wire::PolicyDescribeRequest { meta: meta(Mode::Execute) }
}

#[test]
fn an_unknown_verb_is_unimplemented_and_recorded() {
    let world = World::new(site_rules);
    let mut channel = world.connect(CLIENT_UID);
    for method in ["Helper/Nope", "Helper/UnitKill", "Operator/Reload", "Helper/", "x", ""] {
        let answer = channel.ask(method, &describe());
        assert_eq!((answer.code, answer.events.len()), (12, 0), "{method}");
    }
    assert_eq!(world.count("refused"), 6);
    assert_eq!(channel.ask("Helper/PolicyDescribe", &describe()).code, 0, "the connection goes on");
}

#[test]
fn what_does_not_encode_to_itself_ends_the_connection() {
    let good = describe().encode_to_vec();
    let unknown_field = [good.as_slice(), &[0xf8, 0x07, 0x01]].concat();
    let twice = [good.as_slice(), good.as_slice()].concat();
    let default_written = [good.as_slice(), &[0x12, 0x00]].concat();
    let cut = good[..good.len() - 1].to_vec();
    for body in [unknown_field, twice, default_written, cut, b"\xff\xff\xff".to_vec()] {
        let world = World::new(site_rules);
        let mut channel = world.connect(CLIENT_UID);
        let stream = channel.send("Helper/PolicyDescribe", &body);
        assert_eq!(channel.answer(stream).code, 3, "{body:?}");
        channel.left();
        assert_eq!(world.count("malformed"), 1);
    }
}

#[test]
fn a_violation_of_the_frames_ends_the_connection() {
    let head = |kind, len| Head { stream: 1, kind, len }.encode().to_vec();
    let long = "a".repeat(72);
    let cases = [
        head(9, 0),
        head(CANCEL, 1),
        head(REQUEST, 0),
        [head(REQUEST, 70_000), b"\x0bHelper/Long".to_vec()].concat(),
        [head(REQUEST, u32::MAX), b"\x10Helper/FileWrite".to_vec()].concat(),
        [head(REQUEST, 100), vec![72], long.into_bytes()].concat(),
        [head(REQUEST, 4), vec![9], b"abc".to_vec()].concat(),
        [head(REQUEST, 4), vec![2, 0xff, 0xfe, 0]].concat(),
    ];
    for bytes in cases {
        let world = World::new(site_rules);
        let mut channel = world.connect(CLIENT_UID);
        channel.stream.write_all(&bytes).unwrap();
        channel.left();
        assert_eq!(world.count("malformed"), 1, "{bytes:?}");
    }
}

#[test]
fn frames_come_together_byte_by_byte_and_never_take_more_than_their_own() {
    let request = encode(7, REQUEST, &encode_request("Helper/FileRead", b"body").unwrap()).unwrap();
    let stream = [request.as_slice(), &encode(7, CANCEL, b"").unwrap(), &request].concat();
    let mut assembler = Assembler::default();
    let mut frames = Vec::new();
    let mut rest = stream.as_slice();
    while !rest.is_empty() {
        let wanted = assembler.wanted().unwrap();
        assert!(wanted > 0 && wanted <= rest.len());
        assembler.push(&rest[..1]);
        rest = &rest[1..];
        if assembler.wanted().unwrap() == 0 {
            frames.push(assembler.take().unwrap());
        }
    }
    let whole = || Frame::Request { stream: 7, method: "Helper/FileRead".to_owned(), body: b"body".to_vec() };
    assert_eq!(frames, [whole(), Frame::Cancel { stream: 7 }, whole()]);
}

#[test]
fn bodies_are_capped_by_their_verb_before_they_arrive() {
    let mut large = Assembler::default();
    let mut push = |method: &str, len: usize| {
        let mut assembler = Assembler::default();
        let prefix = 1 + method.len();
        let head = Head { stream: 1, kind: REQUEST, len: u32::try_from(prefix + len).unwrap() };
        assembler.push(&head.encode());
        assembler.push(&[u8::try_from(method.len()).unwrap()]);
        assembler.push(method.as_bytes());
        large = Assembler::default();
        assembler.wanted()
    };
    assert_eq!(push("Helper/UnitStart", 65_536), Ok(65_536));
    assert_eq!(push("Helper/UnitStart", 65_537), Err(Violation("body too large")));
    assert_eq!(push("Helper/FileWrite", 4 << 20), Ok(4 << 20));
    assert_eq!(push("Helper/FileWrite", (4 << 20) + 1), Err(Violation("body too large")));
    assert_eq!(push("Helper/FilePatch", 8 << 20), Ok(8 << 20));
    assert_eq!(HEAD, 9);
}

#[test]
fn a_client_that_hung_up_can_ask_nothing_more() {
    let world = World::new(site_rules);
    let path = world.text("site/a.html");
    let mut channel = world.connect(CLIENT_UID);
    assert_eq!(channel.ask("Helper/PolicyDescribe", &describe()).code, 0);
    // The gateway is captured: its client has left, and it goes on asking.
    drop(channel.client.take());
    channel
        .stream
        .write_all(
            &encode(
                9,
                REQUEST,
                &encode_request("Helper/FileWrite", &write_request(&path, b"x", "any").encode_to_vec())
                    .unwrap(),
            )
            .unwrap(),
        )
        .ok();
    channel.left();
    assert!(!std::path::Path::new(&path).exists());
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn half_a_hang_up_is_one() {
    let world = World::new(site_rules);
    let channel = world.connect(CLIENT_UID);
    channel.client.as_ref().unwrap().shutdown(std::net::Shutdown::Write).unwrap();
    channel.left();
}

#[test]
fn a_ninth_stream_ends_the_connection() {
    let world = World::new(site_rules);
    world.systemctl("sleep 2");
    let mut channel = world.connect(CLIENT_UID);
    let _busy = world.helper.files.lock().unwrap();
    for number in 0..9 {
        let path = world.text(&format!("site/{number}.html"));
        channel.send("Helper/FileWrite", &write_request(&path, b"x", "any").encode_to_vec());
    }
    while channel.frame().is_some() {}
    assert_eq!(world.count("malformed"), 1);
}

#[test]
fn a_slow_reader_is_detached_and_its_effect_goes_on() {
    let world = World::new(site_rules);
    let path = world.text("site/a.html");
    std::fs::write(&path, vec![b'x'; 1_048_576]).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    // Nobody reads these answers.
    for _ in 0..4 {
        let read =
            wire::FileReadRequest { meta: meta(Mode::Execute), path: path.clone(), offset: 0, limit: 0 };
        channel.send("Helper/FileRead", &read.encode_to_vec());
    }
    let mut request = write_request(&world.text("site/b.html"), b"done", "any");
    let id = new_id();
    request.meta.as_mut().unwrap().request_id.clone_from(&id);
    channel.send("Helper/FileWrite", &request.encode_to_vec());
    std::thread::sleep(Duration::from_secs(3));
    let result = wire::RequestResultRequest { meta: meta(Mode::Execute), of: id };
    let answer = world.connect(CLIENT_UID).ask("Helper/RequestResult", &result);
    assert!(answer.completed().replayed);
    assert_eq!(std::fs::read(world.path("site/b.html")).unwrap(), b"done");
}

#[test]
fn nobody_but_the_named_uid_is_a_client() {
    let world = World::new(site_rules);
    for uid in [STRANGER_UID, 0, 65_534, 2_147_483_648, 4_294_967_294, u32::MAX] {
        let answer = world.connect(uid).ask("Helper/PolicyDescribe", &describe());
        assert_eq!(answer.refused().code, "unknown_client", "{uid}");
    }
}

/// Row 13: the policy stays loaded while /etc/group changes.
#[test]
fn follows_group_membership_without_a_reload() {
    let world = World::new(site_rules);
    let client = root::Client { name: "group".into(), group: "deploy".into(), ..root::Client::default() };
    let rules = root::Rules { clients: vec![client], ..root::Rules::default() };
    world.helper.apply(Policy::load(&accept_whole(rules)).unwrap(), &Record::default()).unwrap();
    let described = || {
        let answer = world.connect(GROUP_UID).ask("Helper/PolicyDescribe", &describe());
        match answer.events.last().and_then(|event| event.kind.clone()) {
            Some(Kind::Refused(refused)) => refused.code,
            _ => answer.completed().description.as_ref().unwrap().client.clone(),
        }
    };
    assert_eq!(described(), "unknown_client");
    std::fs::write(world.path("etc/group"), "deploy:x:4000200:member\n").unwrap();
    assert_eq!(described(), "group");
    // Who is a client now can be no operator, from the same moment on.
    let status = || {
        let request = wire::OperatorStatusRequest::default();
        call::<wire::OperatorStatus>(&mut world.operator(GROUP_UID), "Operator/Status", &request)
    };
    assert_eq!(status().unwrap_err().0, 7);
    std::fs::write(world.path("etc/group"), "deploy:x:4000200:\n").unwrap();
    assert_eq!(described(), "unknown_client");
    assert!(status().is_ok());
    std::fs::remove_file(world.path("etc/group")).unwrap();
    assert_eq!(status().unwrap_err().0, 7, "without the file nobody is known");
}

#[test]
fn a_frame_that_does_not_come_to_its_end_ends_the_connection() {
    let world = World::new(site_rules);
    let mut channel = world.connect(CLIENT_UID);
    let request =
        encode(1, REQUEST, &encode_request("Helper/PolicyDescribe", &describe().encode_to_vec()).unwrap());
    channel.stream.write_all(&request.unwrap()[..20]).unwrap();
    let started = std::time::Instant::now();
    channel.left();
    assert!(started.elapsed() >= Duration::from_secs(9), "{:?}", started.elapsed());
    assert_eq!(world.count("malformed"), 1);
}
