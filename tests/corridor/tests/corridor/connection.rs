//! Clients and operators are looked up at each request.

use postern_corridor::{CLIENT_UID, GROUP_UID, World, call, meta, new_id, site_rules, write_request};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, event::Kind};
use prost::Message;
use std::time::Duration;

fn describe() -> wire::PolicyDescribeRequest {
    wire::PolicyDescribeRequest { meta: meta(Mode::Execute) }
}

/// Row 13: the policy stays loaded while /etc/group changes.
#[test]
fn group_membership_counts_at_each_request_for_clients_and_operators() {
    let world = World::with(|_| {
        let client = root::Client { name: "group".into(), group: "deploy".into(), ..root::Client::default() };
        root::Rules { clients: vec![client], ..root::Rules::default() }
    });
    let described = || {
        let answer = world.connect(GROUP_UID).ask("Helper/PolicyDescribe", &describe());
        match answer.events.last().and_then(|event| event.kind.clone()) {
            Some(Kind::Refused(refused)) => refused.code,
            _ => answer.completed().description.as_ref().unwrap().client.clone(),
        }
    };
    assert_eq!(described(), "unknown_client");
    std::fs::write(world.path("group"), "deploy:x:4000200:member\n").unwrap();
    assert_eq!(described(), "group");
    // A new client is no operator from the same moment on.
    let status = || {
        let request = wire::OperatorStatusRequest::default();
        call::<wire::OperatorStatus>(&mut world.operator(GROUP_UID), "Operator/Status", &request)
    };
    assert_eq!(status().unwrap_err().0, 7);
    std::fs::write(world.path("group"), "deploy:x:4000200:\n").unwrap();
    assert_eq!(described(), "unknown_client");
    assert!(status().is_ok());
    std::fs::remove_file(world.path("group")).unwrap();
    assert_eq!(status().unwrap_err().0, 7, "without the file nobody is known");
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
