//! One request of each family from the client's bytes to the record of its end.

use postern_corridor::{CLIENT_UID, OPERATOR, World, changing, meta, rule, strings, write_request};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status, event::Kind};
use prost::Message;

#[test]
fn writes_a_file_and_undoes_it() {
    let world = World::new(|at| vec![changing(at)]);
    let path = world.text("site/index.html");
    let request = write_request(&path, b"hello\n", "absent");
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!(answer.completed().status(), Status::Done);
    assert!(answer.completed().undoable);
    assert_eq!(std::fs::read(&path).unwrap(), b"hello\n");
    assert_eq!((world.count("begin"), world.count("end")), (1, 1));
    let of = request.meta.unwrap().request_id;
    let undo = wire::RequestUndoRequest { meta: meta(Mode::Execute), of };
    let answer = world.connect(CLIENT_UID).ask("Helper/RequestUndo", &undo);
    assert_eq!(answer.completed().status(), Status::Done);
    assert!(!std::path::Path::new(&path).exists());
}

#[test]
fn writes_a_file_once_a_person_approves() {
    let world = World::new(|at| vec![root::Rule { decision: root::Decision::Ask.into(), ..changing(at) }]);
    let path = world.text("site/index.html");
    let request = write_request(&path, b"hello\n", "absent");
    let mut channel = world.connect(CLIENT_UID);
    let stream = channel.send("Helper/FileWrite", &request.encode_to_vec());
    let waiting = loop {
        if let Kind::Waiting(waiting) = channel.event(stream).expect("it waits") {
            break waiting;
        }
    };
    assert_eq!(world.operator(OPERATOR).approve(&waiting.approval_id), Ok(0));
    let answer = channel.answer(stream);
    assert_eq!(answer.completed().status(), Status::Done);
    assert_eq!((world.count("pending"), world.count("approval"), world.count("end")), (1, 1, 1));
}

#[test]
fn restarts_a_unit() {
    let rule = root::Rule { units: strings(&["nginx.service"]), ..rule("nginx", &["unit.restart"]) };
    let world = World::new(|_| vec![rule]);
    world.systemctl(
        "case $1 in show) printf 'Id=nginx.service\\nNames=nginx.service\\nLoadState=loaded\\nActiveState=active\\nSubState=running\\nUnitFileState=enabled\\nResult=success\\n';; esac",
    );
    let request = wire::UnitRestartRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned() };
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitRestart", &request);
    assert_eq!(answer.completed().status(), Status::Done, "{:?}", answer.completed());
    assert_eq!((world.count("begin"), world.count("end")), (1, 1));
}
