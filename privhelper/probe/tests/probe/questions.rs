//! Frames of probe.sock: what is malformed, what is refused, and the state of units.

use crate::support::{World, transaction};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{CloseReason, Hello, PackageFlags, ProbePackages, ProbeUnit, RootInspect};
use prost::Message;

fn unit(name: &str) -> ProbeUnit {
    ProbeUnit { unit: name.to_owned(), ..ProbeUnit::default() }
}

fn reason(world: &World, frames: &[u8]) -> CloseReason {
    world.probe_bytes(frames).close.unwrap().reason()
}

#[test]
fn closes_malformed_connections() {
    let world = World::new(Vec::new());
    let hello = Hello { build: link::build().to_vec() };
    let frames = |parts: &[(Kind, Vec<u8>)]| {
        let mut bytes = Vec::new();
        for (kind, payload) in parts {
            link::write(&mut bytes, *kind, payload).unwrap();
        }
        bytes
    };
    let greeting = (Kind::Hello, hello.encode_to_vec());
    let question = (Kind::ProbeUnit, unit("a.service").encode_to_vec());
    let mut unknown_field = question.1.clone();
    unknown_field.extend_from_slice(&[0xf8, 0x07, 0x01]);
    for parts in [
        vec![],
        vec![question.clone()],
        vec![greeting.clone()],
        vec![greeting.clone(), greeting.clone()],
        vec![greeting.clone(), (Kind::ProbeUnit, b"\xff".to_vec())],
        vec![greeting.clone(), (Kind::ProbeUnit, unknown_field)],
        // A frame of the recorder's, refused from the broker.
        vec![greeting.clone(), (Kind::RootInspect, RootInspect::default().encode_to_vec())],
    ] {
        assert_eq!(reason(&world, &frames(&parts)), CloseReason::Malformed, "{parts:?}");
    }
    let old = (Kind::Hello, Hello { build: vec![7; 32] }.encode_to_vec());
    assert_eq!(reason(&world, &frames(&[old, question])), CloseReason::WrongBuild);
    assert!(world.bus.calls().is_empty());
}

#[test]
fn tells_the_state_of_a_unit_alone_without_an_action() {
    let world = World::new(Vec::new());
    let more = [
        ("Names", "nginx.service web.service"),
        ("MainPID", "42"),
        ("ExecMainStatus", "-1"),
        ("MemoryCurrent", "4096"),
        ("StateChangeTimestamp", "1700000000123456"),
        ("InvocationID", "00112233445566778899aabbccddeeff"),
        ("RequiredBy", "other.service"),
    ];
    world.bus.unit("nginx.service", "active", &more);
    let reply = world.ask_unit("nginx.service", "");
    let state = reply.unit().unit.clone().unwrap();
    assert_eq!(
        (state.id.as_str(), state.names.join(" ").as_str()),
        ("nginx.service", "nginx.service web.service")
    );
    assert_eq!(
        (state.load.as_str(), state.active.as_str(), state.sub.as_str()),
        ("loaded", "active", "running")
    );
    assert_eq!((state.enabled.as_str(), state.result.as_str(), state.main_pid), ("enabled", "success", 42));
    assert_eq!((state.exit_status, state.memory_bytes), (-1, 4096));
    assert_eq!(
        (state.since_unix_us, state.invocation.as_str()),
        (1_700_000_000_123_456, "00112233445566778899aabbccddeeff")
    );
    assert!(reply.affected().is_empty());
    assert_eq!(world.bus.calls(), ["GetAll nginx.service"]);
}

#[test]
fn a_unit_without_these_properties_has_none_of_them() {
    let world = World::new(Vec::new());
    world.bus.unit("x.target", "active", &[("MemoryCurrent", &u64::MAX.to_string())]);
    let reply = world.ask_unit("x.target", "");
    let state = reply.unit().unit.clone().unwrap();
    assert_eq!((state.main_pid, state.memory_bytes, state.invocation.as_str()), (0, 0, ""));
}

#[test]
fn a_missing_unit_is_facts_with_load_not_found() {
    let world = World::new(Vec::new());
    for action in ["", "start", "enable", "disable"] {
        let reply = world.ask_unit("nosuch.service", action);
        let state = reply.unit().unit.clone().unwrap();
        assert_eq!((state.load.as_str(), state.active.as_str()), ("not-found", "inactive"), "{action}");
        assert!(reply.affected().is_empty());
    }
}

#[test]
fn rejects_invalid_unit_names_and_actions() {
    let world = World::new(Vec::new());
    for (name, action) in [
        ("", ""),
        ("nginx", ""),
        ("../nginx.service", ""),
        ("x@.service", "start"),
        ("-.mount", "stop"),
        ("a.service", "status"),
        ("a.service", "daemon-reload"),
        ("a.service", "kill"),
        ("a.service", "start "),
    ] {
        assert_eq!(world.ask_unit(name, action).code(), "invalid_argument", "{name} {action}");
    }
    assert!(world.bus.calls().is_empty());
}

#[test]
fn rejects_unknown_states_from_systemd() {
    for (name, text) in [
        ("SubState", "run\u{1b}[31m"),
        ("LoadState", "loaded\nx"),
        ("UnitFileState", "enabled and more"),
        ("Result", "Success"),
        ("Id", "a/b.service"),
        ("Names", "a.service b"),
        ("RequiredBy", "no-suffix"),
    ] {
        let world = World::new(Vec::new());
        world.bus.unit("a.service", "active", &[(name, text)]);
        assert_eq!(world.ask_unit("a.service", "stop").code(), "interrupted", "{name}");
    }
}

#[test]
fn answers_unsupported_without_systemd() {
    let world = World::new(Vec::new());
    std::fs::remove_dir(&world.host.systemd).unwrap();
    assert_eq!(world.ask_unit("a.service", "").code(), "unsupported");
    assert_eq!(world.ask_unit("a.service", "start").code(), "unsupported");
    let reply = world.probe(Kind::ProbePackages, &transaction("package.install", &["hello"]));
    assert_eq!(reply.code(), "unsupported");
    assert!(world.bus.calls().is_empty() && world.noted("apt-get", "argv").is_empty());
}

#[test]
fn an_error_of_systemd_is_told_to_the_log_alone_and_in_one_line() {
    let world = World::new(Vec::new());
    let reply = world.ask_unit("broken.service", "");
    let close = reply.close.unwrap();
    assert_eq!(close.code, "interrupted");
    assert!(close.detail.contains("UnknownObject") && !close.detail.contains('\n'), "{close:?}");
    assert!(!close.message.contains("UnknownObject"), "{close:?}");
}

#[test]
fn connects_again_after_the_bus_was_restarted() {
    let world = World::new(Vec::new());
    world.bus.unit("a.service", "active", &[]);
    let state = world.state();
    let ask = || {
        let mut frames = Vec::new();
        link::open(&mut frames, Kind::ProbeUnit, &unit("a.service")).unwrap();
        crate::support::exchange(&frames, |stream| state.serve_probe(stream)).code().to_owned()
    };
    assert_eq!((ask(), ask()), (String::new(), String::new()));
    assert_eq!(world.bus.connections(), 1, "one connection serves all");
    world.bus.break_next();
    assert_eq!(ask(), "");
    assert_eq!(world.bus.connections(), 2);
}

#[test]
fn answers_with_an_error_while_the_bus_is_gone() {
    let world = World::new(Vec::new());
    std::fs::remove_file(world.path("bus.sock")).unwrap();
    assert_eq!(world.ask_unit("a.service", "").code(), "interrupted");
}

#[test]
fn refuses_requests_that_are_no_transactions() {
    let world = World::new(Vec::new());
    let flags = Some(PackageFlags::default());
    let named =
        |verb: &str| ProbePackages { verb: verb.to_owned(), ..transaction("package.remove", &["hello"]) };
    for question in [
        named("package.show"),
        named("package.hold"),
        named("unit.start"),
        named("package.nosuch"),
        named(""),
        transaction("package.update", &[]),
        transaction("package.install", &["--option"]),
        transaction("package.install", &["a", "a"]),
        ProbePackages { verb: "package.install".to_owned(), body: b"\xff\xff".to_vec(), flags },
        ProbePackages { verb: "package.install".to_owned(), body: Vec::new(), flags },
    ] {
        assert_eq!(world.probe(Kind::ProbePackages, &question).code(), "invalid_argument", "{question:?}");
    }
    assert!(world.noted("apt-get", "argv").is_empty());
}
