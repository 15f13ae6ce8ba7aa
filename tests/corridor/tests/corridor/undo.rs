//! An operator undoes requests: one, those of a task, or those since a time.

use postern_corridor::{
    CLIENT_UID, Channel, OPERATOR, World, meta, new_id, rule, site_rules, strings, write_request,
};
use postern_proto::frame::EVENT;
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};
use prost::Message;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Undoes requests: the outcome of each, or the error's text.
pub fn undo(
    channel: &mut Channel,
    request: &wire::OperatorUndoRequest,
) -> Result<Vec<wire::OperatorUndone>, String> {
    channel.replies("Operator/Undo", request).map_err(|(_, text)| text)
}

pub fn of(id: &str) -> wire::OperatorUndoRequest {
    wire::OperatorUndoRequest { request_id: id.to_owned(), ..Default::default() }
}

fn write(world: &World, name: &str, content: &str, task: &str) -> String {
    let mut request = write_request(&world.text(&format!("site/{name}")), content.as_bytes(), "any");
    let meta = request.meta.as_mut().unwrap();
    task.clone_into(&mut meta.task);
    let id = meta.request_id.clone();
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!(answer.completed().status(), Status::Done);
    id
}

fn read(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.path(&format!("site/{name}"))).ok()
}

#[test]
fn restores_content_and_mode_once() {
    let world = World::new(site_rules);
    let path = world.path("site/a.html");
    fs::write(&path, "before").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let id = write(&world, "a.html", "after", "");
    let mut operator = world.operator(OPERATOR);
    let dry = undo(&mut operator, &wire::OperatorUndoRequest { dry_run: true, ..of(&id) }).unwrap();
    assert_eq!((dry[0].code.as_str(), dry[0].target.as_str()), ("", path.to_str().unwrap()));
    assert_eq!(read(&world, "a.html").unwrap(), "after", "a dry run changes nothing");
    assert_eq!(undo(&mut operator, &of(&id)).unwrap()[0].code, "");
    assert_eq!(read(&world, "a.html").unwrap(), "before");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
    assert_eq!(undo(&mut operator, &of(&id)).unwrap()[0].code, "undo_gone");
    let log = world.log();
    let begins =
        log.iter().filter(|line| line.contains("\"event\":\"begin\"") && line.contains("request.undo"));
    let begins = begins.collect::<Vec<_>>();
    assert_eq!(begins.len(), 1);
    assert!(begins[0].contains(&format!("\"uid\":{OPERATOR}")) && begins[0].contains(&id));
    assert_eq!(fs::read_dir(world.path("site")).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn removes_a_new_file_unless_it_changed_since() {
    let world = World::new(site_rules);
    let id = write(&world, "new.html", "x", "");
    let mut operator = world.operator(OPERATOR);
    fs::write(world.path("site/new.html"), "a person's work").unwrap();
    assert_eq!(undo(&mut operator, &of(&id)).unwrap()[0].code, "undo_conflict");
    assert_eq!(read(&world, "new.html").unwrap(), "a person's work");
    fs::write(world.path("site/new.html"), "x").unwrap();
    assert_eq!(undo(&mut operator, &of(&id)).unwrap()[0].code, "");
    assert_eq!(read(&world, "new.html"), None);
    assert_eq!(fs::read_dir(world.path("site")).unwrap().count(), 0);
}

#[test]
fn undoes_a_task_newest_first_up_to_a_file_that_changed_since() {
    let mut world = World::new(site_rules);
    write(&world, "a.html", "1", "t1");
    write(&world, "b.html", "1", "t1");
    write(&world, "a.html", "2", "t1");
    write(&world, "c.html", "1", "t2");
    let task = wire::OperatorUndoRequest { task: "t1".to_owned(), ..Default::default() };
    world.restart();
    let mut operator = world.operator(OPERATOR);
    fs::write(world.path("site/b.html"), "changed").unwrap();
    let told = undo(&mut operator, &task).unwrap();
    let codes = told.iter().map(|undone| undone.code.as_str()).collect::<Vec<_>>();
    assert_eq!(codes, ["", "undo_conflict"]);
    assert_eq!((read(&world, "a.html").unwrap(), read(&world, "c.html").unwrap()), ("1".into(), "1".into()));
    fs::write(world.path("site/b.html"), "1").unwrap();
    let told = undo(&mut operator, &task).unwrap();
    assert!(told.iter().all(|undone| undone.code.is_empty()) && told.len() == 2, "{told:?}");
    assert_eq!((read(&world, "a.html"), read(&world, "b.html")), (None, None));
    let since = wire::OperatorUndoRequest { since_unix_s: 1, ..Default::default() };
    assert_eq!(undo(&mut operator, &since).unwrap().len(), 1);
    assert_eq!(read(&world, "c.html"), None);
    assert!(undo(&mut operator, &since).unwrap_err().starts_with("unknown_request: "));
}

#[test]
fn stops_a_unit_that_a_request_started() {
    let world = World::new(|_| {
        let units = strings(&["nginx.service"]);
        vec![root::Rule { units, ..rule("unit", &["unit.start"]) }]
    });
    let shown = |active: &str| {
        format!(
            "Id=nginx.service\\nNames=nginx.service\\nLoadState=loaded\\nActiveState={active}\\nUnitFileState=disabled\\n"
        )
    };
    world.systemctl(&format!(
        "state=$(dirname $0)/is_up\ncase $1 in show) [ -e $state ] && printf '{}' || printf '{}';; start) touch $state;; stop) rm $state;; esac",
        shown("active"),
        shown("inactive")
    ));
    let request = wire::UnitStartRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned() };
    let id = request.meta.as_ref().unwrap().request_id.clone();
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStart", &request);
    assert_eq!(answer.completed().status(), Status::Done);
    let mut operator = world.operator(OPERATOR);
    assert_eq!(undo(&mut operator, &of(&id)).unwrap()[0].code, "");
    assert!(!world.path("is_up").exists());
    assert_eq!(undo(&mut operator, &of(&id)).unwrap()[0].code, "undo_gone");
}

#[test]
fn undoes_mask_and_unmask() {
    let world = World::new(|_| {
        let units = strings(&["nginx.service"]);
        vec![root::Rule { units, ..rule("unit", &["unit.mask", "unit.unmask"]) }]
    });
    let shown = |enabled: &str| {
        format!(
            "Id=nginx.service\\nNames=nginx.service\\nLoadState=loaded\\nActiveState=inactive\\nUnitFileState={enabled}\\n"
        )
    };
    world.systemctl(&format!(
        "state=$(dirname $0)/is_masked\ncase $1 in show) [ -e $state ] && printf '{}' || printf '{}';; mask) touch $state;; unmask) rm $state;; esac",
        shown("masked"),
        shown("enabled")
    ));
    let unit = || "nginx.service".to_owned();
    let (mut channel, mut operator) = (world.connect(CLIENT_UID), world.operator(OPERATOR));
    let mask = || wire::UnitMaskRequest { meta: meta(Mode::Execute), unit: unit(), now: false };
    let id = |meta: &Option<wire::Meta>| meta.as_ref().unwrap().request_id.clone();
    let request = mask();
    assert_eq!(channel.ask("Helper/UnitMask", &request).completed().status(), Status::Done);
    assert_eq!(undo(&mut operator, &of(&id(&request.meta))).unwrap()[0].code, "");
    assert!(!world.path("is_masked").exists());
    assert_eq!(channel.ask("Helper/UnitMask", &mask()).completed().status(), Status::Done);
    let request = wire::UnitUnmaskRequest { meta: meta(Mode::Execute), unit: unit() };
    assert_eq!(channel.ask("Helper/UnitUnmask", &request).completed().status(), Status::Done);
    assert_eq!(undo(&mut operator, &of(&id(&request.meta))).unwrap()[0].code, "");
    assert!(world.path("is_masked").exists());
}

#[test]
fn needs_exactly_one_of_request_task_and_time() {
    let world = World::new(site_rules);
    let mut operator = world.operator(OPERATOR);
    let both = wire::OperatorUndoRequest { task: "t".to_owned(), ..of("x") };
    assert!(undo(&mut operator, &both).unwrap_err().starts_with("invalid_argument: "));
    let nothing = wire::OperatorUndoRequest::default();
    assert!(undo(&mut operator, &nothing).unwrap_err().starts_with("invalid_argument: "));
    assert!(undo(&mut world.operator(CLIENT_UID), &of("x")).unwrap_err().starts_with("denied: "));
}

#[test]
fn does_not_undo_where_a_person_changed_the_mode_since() {
    let world = World::new(site_rules);
    let path = world.path("site/a.html");
    fs::write(&path, "before").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let id = write(&world, "a.html", "after", "");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let mut operator = world.operator(OPERATOR);
    assert_eq!(undo(&mut operator, &of(&id)).unwrap()[0].code, "undo_conflict");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
}

#[test]
fn reports_every_request_of_a_long_undo() {
    let world = World::new(site_rules);
    for number in 0..2500_u64 {
        let unit =
            wire::UnitInfo { id: format!("{}{number}.service", "u".repeat(200)), ..Default::default() };
        let completed =
            wire::Completed { status: Status::Done.into(), unit: Some(unit), ..Default::default() };
        world.recorder().requests.restore(root::RequestState {
            uid: CLIENT_UID,
            request_id: new_id(),
            verb: "unit.start".to_owned(),
            family: "units".to_owned(),
            begun_unix_us: 5_000_000 + number,
            task: "t".to_owned(),
            inverse: root::Inverse { uid: CLIENT_UID, ..Default::default() }.encode_to_vec(),
            completed: Some(completed),
            ..Default::default()
        });
    }
    let mut operator = world.operator(OPERATOR);
    let all = wire::OperatorUndoRequest { task: "t".to_owned(), dry_run: true, ..Default::default() };
    operator.send("Operator/Undo", &all.encode_to_vec());
    let mut told = 0;
    while let Some((head, _)) = operator.frame().filter(|(head, _)| head.kind == EVENT) {
        assert_eq!(head.stream, 1);
        told += 1;
        // As slow as a terminal.
        std::thread::sleep(std::time::Duration::from_micros(300));
    }
    assert_eq!(told, 2500);
}

#[test]
fn refuses_to_stop_a_denied_unit_along_with_a_granted_one() {
    let world = World::new(|_| {
        let of = |id: &str, unit: &str| root::Rule { units: strings(&[unit]), ..rule(id, &["unit.stop"]) };
        let never = root::Rule { decision: root::Decision::Deny.into(), ..of("never", "ssh.service") };
        vec![root::Rule { allow_cascade: true, ..of("free", "nginx.service") }, never]
    });
    let shown = |id: &str, more: &str| {
        format!("Id={id}\\nNames={id}\\nLoadState=loaded\\nActiveState=active\\n{more}")
    };
    world.systemctl(&format!(
        "case \"$*\" in *ssh*) printf '{}';; show*) printf '{}';; esac",
        shown("ssh.service", ""),
        shown("nginx.service", "RequiredBy=ssh.service\\n")
    ));
    let stop = wire::UnitStopRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned() };
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStop", &stop);
    assert_eq!(answer.refused().code, "denied");
    assert!(answer.refused().message.contains("ssh.service"));
}

#[test]
fn the_undo_of_a_mask_stops_nothing() {
    let world = World::new(|_| {
        let units = strings(&["nginx.service"]);
        vec![root::Rule { units, ..rule("unit", &["unit.mask", "unit.unmask"]) }]
    });
    let shown = |active: &str, enabled: &str| {
        format!(
            "Id=nginx.service\\nNames=nginx.service\\nLoadState=loaded\\nActiveState={active}\\nUnitFileState={enabled}\\n"
        )
    };
    world.systemctl(&format!(
        "state=$(dirname $0)/is_masked\ncase $1 in show) [ -e $state ] && printf '{}' || printf '{}';; mask) touch $state;; unmask) rm $state;; stop) touch $(dirname $0)/stopped;; esac",
        shown("active", "masked"),
        shown("reloading", "enabled")
    ));
    let (mut channel, mut operator) = (world.connect(CLIENT_UID), world.operator(OPERATOR));
    let request =
        wire::UnitMaskRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned(), now: false };
    assert_eq!(channel.ask("Helper/UnitMask", &request).completed().status(), Status::Done);
    let id = request.meta.as_ref().unwrap().request_id.clone();
    assert_eq!(undo(&mut operator, &of(&id)).unwrap()[0].code, "");
    assert!(!world.path("stopped").exists(), "undo of a mask without now stopped a running service");
}
