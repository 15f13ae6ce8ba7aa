//! The same id acts once: within a run, at the same time, and across a restart.

use postern_corridor::{
    CLIENT_UID, STRANGER_UID, World, eventually, meta, meta_with, new_id, rule, site_rules, strings,
    write_request,
};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status, event::Kind};
use prost::Message;

fn with_id(id: &str, path: &str, content: &[u8]) -> wire::FileWriteRequest {
    wire::FileWriteRequest { meta: meta_with(id, Mode::Execute), ..write_request(path, content, "any") }
}

fn result(of: &str) -> wire::RequestResultRequest {
    wire::RequestResultRequest { meta: meta(Mode::Execute), of: of.to_owned() }
}

#[test]
fn an_id_acts_once_and_is_answered_alike_also_after_a_restart() {
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
fn refuses_other_bytes_under_a_used_id() {
    let world = World::new(site_rules);
    let (path, id) = (world.text("site/a.html"), new_id());
    let mut channel = world.connect(CLIENT_UID);
    channel.ask("Helper/FileWrite", &with_id(&id, &path, b"one"));
    let other = channel.ask("Helper/FileWrite", &with_id(&id, &path, b"two"));
    assert_eq!(other.refused().code, "request_id_conflict");
    assert_eq!(std::fs::read(&path).unwrap(), b"one");
}

#[test]
fn an_id_is_unknown_to_other_uids() {
    let world = World::new(site_rules);
    let (path, id) = (world.text("site/a.html"), new_id());
    world.connect(CLIENT_UID).ask("Helper/FileWrite", &with_id(&id, &path, b"one"));
    let asked = world.connect(STRANGER_UID).ask("Helper/RequestResult", &result(&id));
    assert_eq!(asked.refused().code, "unknown_client");
    let none = world.connect(CLIENT_UID).ask("Helper/RequestResult", &result(&new_id()));
    assert_eq!(none.refused().code, "unknown_request");
}

#[test]
fn a_refused_request_does_not_take_its_id() {
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
fn a_second_call_follows_the_first_and_neither_acts_twice() {
    let world =
        World::new(|_| vec![root::Rule { units: strings(&["a.service"]), ..rule("a", &["unit.restart"]) }]);
    let go = world.path("go");
    world.systemctl(&format!(
        "case $1 in show) printf 'Id=a.service\\nNames=a.service\\nLoadState=loaded\\nActiveState=active\\n';; *) while [ ! -e {} ]; do sleep 0.01; done;; esac",
        go.display()
    ));
    let request = wire::UnitRestartRequest { meta: meta(Mode::Execute), unit: "a.service".to_owned() };
    let mut first = world.connect(CLIENT_UID);
    let stream = first.send("Helper/UnitRestart", &request.encode_to_vec());
    eventually("it begins", || world.count("begin") == 1);
    let mut second = world.connect(CLIENT_UID);
    let other = second.send("Helper/UnitRestart", &request.encode_to_vec());
    let accepted = second.event(other);
    assert!(matches!(&accepted, Some(Kind::Accepted(accepted)) if accepted.attached), "{accepted:?}");
    std::fs::write(go, "").unwrap();
    assert_eq!(first.answer(stream).completed().status(), Status::Done);
    assert_eq!(second.answer(other).completed().status(), Status::Done);
    assert_eq!((world.count("begin"), world.count("end")), (1, 1));
}
