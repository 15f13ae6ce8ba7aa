//! A full disk: ends and operators' records have space of their own, and nothing begins without a record.

use crate::common::{Answer, OPERATOR, Root, World, done, eventually, new_id, send};
use postern_proto::link::{self, INVERSE_MAX, Kind};
use postern_proto::v1::{self as wire, Status};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::channel;

/// Set in the process that has a mount namespace of its own.
const INSIDE: &str = "POSTERN_SMALL_DISK";

/// Runs this test again where file systems may be mounted.
fn in_namespace(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount"]).arg(std::env::current_exe().unwrap());
    let status = unshare.args([test, "--exact", "--test-threads=1"]).env(INSIDE, "1").status().unwrap();
    assert!(status.success(), "{status}");
    false
}

/// A world whose log is on a disk of this many MiB.
fn world_on(mib: u32) -> World {
    let directory = tempfile::Builder::new().prefix("space").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::create_dir(directory.path().join("log")).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"]);
    assert!(mount.arg(directory.path().join("log")).status().unwrap().success());
    crate::common::furnish(directory.path());
    World::at(directory)
}

/// Writes until nothing more fits.
fn fill(log: &Path) {
    let mut file = std::fs::File::create(log.join("filler")).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    while file.write_all(&[1]).is_ok() {}
}

#[test]
fn an_effect_that_has_begun_gets_its_end_on_a_full_disk_and_none_begins() {
    if !in_namespace("space::an_effect_that_has_begun_gets_its_end_on_a_full_disk_and_none_begins") {
        return;
    }
    let world = world_on(8);
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let files = Root::at(&world.host.files, move |received, stream| {
        if received.kind == Kind::RootExecute {
            gate.lock().unwrap().recv().unwrap();
            let mut outcome = done(&received.order);
            outcome.inverse.as_mut().unwrap().body = vec![1; INVERSE_MAX - 300];
            send(stream, Kind::Outcome, &outcome);
        }
    });
    let claims = [0, 1].map(|number| postern_proto::root::v1::Claim {
        objects: vec![number.to_string()],
        ..world.claim(&new_id())
    });
    let mut streams = claims.map(|claim| {
        let mut stream = world.broker();
        link::send(&mut stream, Kind::RecorderExecute, &World::execute(claim)).unwrap();
        stream
    });
    eventually("both run", || files.executed().len() == 2);
    fill(&world.path("log"));
    assert_eq!(world.run(world.claim(&new_id())).refused(), "audit_unavailable");
    for _ in 0..streams.len() {
        open.send(()).unwrap();
    }
    for stream in &mut streams {
        let completed = Answer::read(stream).completed();
        assert_eq!((completed.status(), completed.undoable), (Status::Done, true));
    }
    assert_eq!((world.count("begin"), world.count("end")), (2, 2));
    // Operators have space too.
    let reason = "full".to_owned();
    let mut operator = world.operator(OPERATOR);
    operator.call::<wire::OperatorPaused>("Pause", &wire::OperatorPauseRequest { reason }).unwrap();
    assert_eq!(world.count("paused"), 1);
    std::fs::remove_file(world.path("log/filler")).unwrap();
    operator.call::<wire::OperatorResumed>("Resume", &wire::OperatorResumeRequest {}).unwrap();
    open.send(()).unwrap();
    world.run(world.claim(&new_id())).completed();
}

#[test]
fn refuses_to_begin_more_than_the_disk_has_space_to_end() {
    if !in_namespace("space::refuses_to_begin_more_than_the_disk_has_space_to_end") {
        return;
    }
    let world = world_on(4);
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    Root::at(&world.host.files, move |received, stream| {
        if received.kind == Kind::RootExecute {
            gate.lock().unwrap().recv().unwrap();
            send(stream, Kind::Outcome, &done(&received.order));
        }
    });
    let mut streams = Vec::new();
    loop {
        let object = streams.len().to_string();
        let claim = postern_proto::root::v1::Claim { objects: vec![object], ..world.claim(&new_id()) };
        let mut stream = world.broker();
        link::send(&mut stream, Kind::RecorderExecute, &World::execute(claim)).unwrap();
        eventually("it begins or is refused", || {
            world.count("begin") > streams.len() || postern_peers::hung_up(&stream)
        });
        if world.count("begin") == streams.len() {
            assert_eq!(Answer::read(&mut stream).refused(), "audit_unavailable");
            break;
        }
        streams.push(stream);
    }
    assert!((2..6).contains(&streams.len()), "{}", streams.len());
    for _ in 0..streams.len() {
        open.send(()).unwrap();
    }
    for stream in &mut streams {
        Answer::read(stream).completed();
    }
}

#[test]
fn rotation_keeps_the_reserved_space_of_running_effects() {
    if !in_namespace("space::rotation_keeps_the_reserved_space_of_running_effects") {
        return;
    }
    let world = world_on(8);
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let files = Root::at(&world.host.files, move |received, stream| {
        if received.kind == Kind::RootExecute {
            gate.lock().unwrap().recv().unwrap();
            send(stream, Kind::Outcome, &done(&received.order));
        }
    });
    let mut stream = world.broker();
    link::send(&mut stream, Kind::RecorderExecute, &World::execute(world.claim(&new_id()))).unwrap();
    eventually("it runs", || files.executed().len() == 1);
    let limits = postern_audit::log::Limits { max_bytes: 1, ..postern_audit::log::Limits::default() };
    world.state.log.limit(limits);
    world.state.log.tick();
    assert_eq!(world.count("rotated"), 1);
    fill(&world.path("log"));
    open.send(()).unwrap();
    assert_eq!(Answer::read(&mut stream).completed().status(), Status::Done);
    // On a full disk the old file goes on instead.
    world.state.log.tick();
    assert!(
        world.state.log.notes().iter().any(|note| note.contains("cannot be rotated")),
        "{:?}",
        world.state.log.notes()
    );
    assert_eq!((world.count("rotated"), world.count("end")), (1, 1));
}

#[test]
fn reserved_disk_space_shows_that_a_recorder_has_started() {
    // `postern-admin policy apply` looks for it: before the first start a policy is applied without a recorder.
    assert!(World::new().path("state/reserve").exists());
}
