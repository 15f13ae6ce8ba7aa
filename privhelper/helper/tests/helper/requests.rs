//! The same id acts once: within a run, at the same time, and across a restart.

use crate::common::{CLIENT_UID, World, meta, meta_with, new_id, rule, site_rules, strings, write_request};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status, event::Kind};
use prost::Message;
use std::io::Write;

fn with_id(id: &str, path: &str, content: &[u8]) -> wire::FileWriteRequest {
    wire::FileWriteRequest { meta: meta_with(id, Mode::Execute), ..write_request(path, content, "any") }
}

fn result(of: &str) -> wire::RequestResultRequest {
    wire::RequestResultRequest { meta: meta(Mode::Execute), of: of.to_owned() }
}

#[test]
fn the_same_id_acts_once_and_answers_alike() {
    let mut world = World::new(site_rules);
    let (path, id) = (world.text("site/a.html"), new_id());
    let first = world.connect(CLIENT_UID).ask("Helper/FileWrite", &with_id(&id, &path, b"one"));
    std::fs::write(&path, "changed by a person").unwrap();
    for _ in 0..2 {
        let again = world.connect(CLIENT_UID).ask("Helper/FileWrite", &with_id(&id, &path, b"one"));
        assert!(again.completed().replayed);
        assert_eq!(again.completed().files, first.completed().files);
        let asked = world.connect(CLIENT_UID).ask("Helper/RequestResult", &result(&id));
        assert_eq!(asked.completed().files, first.completed().files);
        world.restart();
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"changed by a person");
    assert_eq!(world.count("begin"), 1);
}

#[test]
fn other_bytes_under_a_used_id_are_a_conflict() {
    let world = World::new(site_rules);
    let (path, id) = (world.text("site/a.html"), new_id());
    let mut channel = world.connect(CLIENT_UID);
    channel.ask("Helper/FileWrite", &with_id(&id, &path, b"one"));
    let other = channel.ask("Helper/FileWrite", &with_id(&id, &path, b"two"));
    assert_eq!(other.refused().code, "request_id_conflict");
    assert_eq!(std::fs::read(&path).unwrap(), b"one");
}

#[test]
fn to_another_uid_an_id_is_unknown() {
    let world = World::new(site_rules);
    let (path, id) = (world.text("site/a.html"), new_id());
    world.connect(CLIENT_UID).ask("Helper/FileWrite", &with_id(&id, &path, b"one"));
    let asked = world.connect(crate::common::STRANGER_UID).ask("Helper/RequestResult", &result(&id));
    assert_eq!(asked.refused().code, "unknown_client");
    assert_eq!(
        world
            .helper
            .requests
            .result(1, &postern_policy::types::RequestId::new(&id).unwrap())
            .unwrap_err()
            .code
            .as_str(),
        "unknown_request"
    );
    let none = world.connect(CLIENT_UID).ask("Helper/RequestResult", &result(&new_id()));
    assert_eq!(none.refused().code, "unknown_request");
}

#[test]
fn a_second_call_attaches_to_the_first() {
    let world = World::new(site_rules);
    let (path, id) = (world.text("site/a.html"), new_id());
    let request = with_id(&id, &path, b"one");
    let busy = world.helper.files.lock().unwrap();
    let mut first = world.connect(CLIENT_UID);
    let stream = first.send("Helper/FileWrite", &request.encode_to_vec());
    while world.count("begin") == 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let mut second = world.connect(CLIENT_UID);
    let other = second.send("Helper/FileWrite", &request.encode_to_vec());
    let (_, payload) = second.frame().unwrap();
    let accepted = wire::Event::decode(payload.as_slice()).unwrap();
    assert!(matches!(accepted.kind, Some(Kind::Accepted(accepted)) if accepted.attached));
    drop(busy);
    assert_eq!(first.answer(stream).completed().status(), Status::Done);
    assert_eq!(second.answer(other).completed().status(), Status::Done);
    assert_eq!((world.count("begin"), world.count("end")), (1, 1));
}

#[test]
fn what_a_killed_helper_began_is_interrupted() {
    let mut world = World::new(site_rules);
    let id = new_id();
    let record = root::RequestRecord {
        uid: CLIENT_UID,
        request_id: id.clone(),
        digest: vec![0; 32],
        verb: "file.write".to_owned(),
        begun_unix_us: u64::try_from(world.host.unix().as_micros()).unwrap(),
        ..root::RequestRecord::default()
    };
    let mut log = std::fs::OpenOptions::new().append(true).open(world.path("state/requests/log")).unwrap();
    log.write_all(&record.encode_length_delimited_to_vec()).unwrap();
    // And a torn entry behind it, which never took effect.
    log.write_all(&[200, 1, 2, 3]).unwrap();
    world.restart();
    let mut channel = world.connect(CLIENT_UID);
    let completed = loop {
        let answer = channel.ask("Helper/RequestResult", &result(&id));
        match &answer.events.last().unwrap().kind {
            Some(Kind::Completed(completed)) => break completed.clone(),
            _ => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    };
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Interrupted, "interrupted"));
    assert_eq!(world.count("interrupted"), 1);
    world.restart();
    assert_eq!(world.count("interrupted"), 1, "recorded twice");
}

#[test]
fn a_refusal_does_not_take_the_id() {
    let world = World::new(site_rules);
    let id = new_id();
    let mut channel = world.connect(CLIENT_UID);
    let refused = channel.ask("Helper/FileWrite", &with_id(&id, "/etc/hosts", b"x"));
    assert_eq!(refused.refused().code, "no_grant");
    let done = channel.ask("Helper/FileWrite", &with_id(&id, &world.text("site/a.html"), b"x"));
    assert_eq!(done.completed().status(), Status::Done);
}

#[test]
fn a_rate_counts_effects_alone_and_survives_a_restart() {
    let mut world = World::new(|at| {
        let site = at.join("site").to_str().unwrap().to_owned();
        let rule = rule("site", &["file.read", "file.write"]);
        vec![root::Rule {
            directories: vec![site],
            files: strings(&["*"]),
            rate_count: 2,
            rate_window_s: 3600,
            ..rule
        }]
    });
    let path = world.text("site/a");
    let mut channel = world.connect(CLIENT_UID);
    for content in [b"1", b"2"] {
        let preview =
            wire::FileWriteRequest { meta: meta(Mode::Preview), ..write_request(&path, content, "any") };
        assert_eq!(channel.ask("Helper/FileWrite", &preview).completed().status(), Status::Previewed);
        assert_eq!(
            channel.ask("Helper/FileWrite", &write_request(&path, content, "any")).completed().status(),
            Status::Done
        );
    }
    for _ in 0..2 {
        let refused = world.connect(CLIENT_UID).ask("Helper/FileWrite", &write_request(&path, b"3", "any"));
        assert_eq!(
            (refused.refused().code.as_str(), refused.refused().retry_after_s > 0),
            ("rate_limited", true)
        );
        world.restart();
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"2");
}

#[test]
fn an_outcome_of_long_paths_is_kept_in_little_room() {
    let world = World::new(site_rules);
    let (id, watchers) = (new_id(), std::sync::Arc::default());
    let begun_unix_us = u64::try_from(world.host.unix().as_micros()).unwrap();
    let begun = root::RequestRecord {
        uid: CLIENT_UID,
        request_id: id.clone(),
        begun_unix_us,
        ..root::RequestRecord::default()
    };
    for length in [100, 4000] {
        let file = |number: usize| wire::FileInfo {
            path: format!("/{number}{}", "x".repeat(length)),
            sha256: "0".repeat(64),
            owner: "o".repeat(64),
            ..wire::FileInfo::default()
        };
        let completed = wire::Completed { files: (0..64).map(file).collect(), ..wire::Completed::default() };
        world.helper.requests.take(begun.clone(), &watchers).unwrap();
        world.helper.requests.finish(CLIENT_UID, &id, &completed).unwrap();
        let id = postern_policy::types::RequestId::new(&id).unwrap();
        let kept = world.helper.requests.result(CLIENT_UID, &id).unwrap();
        assert!(kept.encoded_len() <= 16 * 1024, "{}", kept.encoded_len());
        let most = if length == 100 { 64 } else { 4 };
        assert_eq!(kept.files.len(), most);
        assert!(kept.files.iter().zip(&completed.files).all(|(kept, file)| kept.path == file.path));
        world.helper.requests.release(CLIENT_UID, id.as_str()).unwrap();
    }
}
