//! Rows 6 and 15: starts and journal reads that hang hold up neither an operator's undo nor other clients.

use crate::packages::installed;
use crate::undo::{of, undo};
use postern_corridor::{
    CLIENT_UID, Channel, OPERATOR, World, changing, eventually, meta, rule, strings, write_request,
};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};
use prost::Message;
use std::fs;
use std::time::{Duration, Instant};

/// Clients beside the ordinary one, and the uid of the first.
const OTHERS: [&str; 4] = ["one", "two", "three", "four"];
const FIRST: u32 = 4_001_000;
/// Requests that the broker lets one client have under way.
const EACH: usize = 8;

/// A world in which `h@N.service` hangs until `release`, as the reading of journals does, and `a.service` does not.
fn world() -> World {
    let world = World::with(|at| {
        let client =
            |name: &str| root::Client { name: name.to_owned(), user: name.to_owned(), ..Default::default() };
        let hanging = |name: &str| root::Rule {
            client: name.to_owned(),
            units: strings(&["h@*.service"]),
            journal_lines: 10,
            ..rule(name, &["unit.restart", "unit.status"])
        };
        let showing = |name: &str| root::Rule {
            client: name.to_owned(),
            packages: strings(&["*"]),
            ..rule(&format!("{name}-show"), &["package.show"])
        };
        let own = root::Rule { units: strings(&["a.service"]), ..rule("a", &["unit.stop", "unit.status"]) };
        let mut rules = OTHERS.map(hanging).to_vec();
        let install = root::Rule { packages: strings(&["hello"]), ..rule("hello", &["package.install"]) };
        rules.extend(OTHERS.map(showing));
        rules.extend([own, changing(at), install]);
        root::Rules { clients: OTHERS.map(client).into(), rules, ..root::Rules::default() }
    });
    for (name, uid) in OTHERS.iter().zip(FIRST..) {
        world.add_user(name, uid);
    }
    let here = world.text("");
    let hang = hang(&world);
    world.systemctl(&format!(
        "for unit; do :; done
         state=active; [ ! -e {here}/stopped ] || [ $unit != a.service ] || state=inactive
         case $1 in
         show) printf 'Id=%s\\nNames=%s\\nLoadState=loaded\\nActiveState=%s\\n' $unit $unit $state ;;
         stop) touch {here}/stopped ;;
         start) rm {here}/stopped ;;
         restart) {hang} ;;
         esac"
    ));
    world.program("journalctl", &hang);
    world
}

/// A program that hangs until `release`: at most a minute, for a test that fails before it lets go.
fn hang(world: &World) -> String {
    let here = world.text("");
    format!(
        "echo x >>{here}/hanging; i=0; while [ ! -e {here}/go ] && [ $i -lt 300 ]; do sleep 0.2; i=$((i + 1)); done"
    )
}

fn hanging(world: &World) -> usize {
    fs::read_to_string(world.path("hanging")).unwrap_or_default().lines().count()
}

/// A file that was written and a unit that was stopped, by the ids of the requests, newest first.
fn changed(world: &World) -> [String; 2] {
    let write = write_request(&world.text("site/a"), b"x", "any");
    assert_eq!(world.ask("Helper/FileWrite", &write).completed().status(), Status::Done);
    let stop = wire::UnitStopRequest { meta: meta(Mode::Execute), unit: "a.service".to_owned() };
    assert!(world.ask("Helper/UnitStop", &stop).completed().undoable);
    eventually("they hold no place", || world.broker().running.used() == 0);
    [stop.meta, write.meta].map(|meta| meta.unwrap().request_id)
}

/// Sends this request of each other client, as often as the broker lets it.
fn sent<M: Message>(world: &World, method: &str, request: impl Fn(String) -> M) -> Vec<Channel> {
    let mut channels = Vec::new();
    for uid in (FIRST..).take(OTHERS.len()) {
        let mut channel = world.connect(uid);
        for number in 0..EACH {
            channel.send(method, &request(format!("h@{uid}-{number}.service")).encode_to_vec());
        }
        channels.push(channel);
    }
    channels
}

/// An operator takes both back while nothing that hangs has ended.
fn is_undone_at_once(world: &World, changed: &[String; 2]) {
    let mut operator = world.operator(OPERATOR);
    operator.stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for id in changed {
        let undone = undo(&mut operator, &of(id)).unwrap();
        assert_eq!(undone[0].code, "", "{undone:?}");
    }
    assert!(!world.path("site/a").exists() && !world.path("stopped").exists());
    assert!(!world.path("go").exists());
}

fn release(world: &World) {
    fs::write(world.path("go"), "").unwrap();
}

#[test]
fn an_operators_undo_is_answered_while_starts_of_several_clients_hang() {
    let world = world();
    let changed = changed(&world);
    let clients = sent(&world, "Helper/UnitRestart", |unit| wire::UnitRestartRequest {
        meta: meta(Mode::Execute),
        unit,
    });
    eventually("as many hang as the broker lets", || hanging(&world) == OTHERS.len() * EACH);
    is_undone_at_once(&world, &changed);
    // All that the broker lets run are taken: a client is told so at once.
    let write = write_request(&world.text("site/b"), b"x", "any");
    assert_eq!(world.ask("Helper/FileWrite", &write).refused().code, "busy");
    release(&world);
    drop(clients);
    eventually("nothing runs", || world.recorder().requests.unfinished().is_empty());
    assert_eq!(world.count("begin"), 2 + 2 + OTHERS.len() * EACH);
}

#[test]
fn an_operators_undo_and_another_client_are_answered_while_journal_reads_hang() {
    let world = world();
    let changed = changed(&world);
    // One client fewer than the broker lets: there is room for another's requests.
    let status = |unit: String| {
        let meta = meta(Mode::Execute);
        wire::UnitStatusRequest { meta, unit, journal_lines: 10, ..wire::UnitStatusRequest::default() }
    };
    let mut clients = Vec::new();
    for uid in (FIRST..).take(2) {
        let mut channel = world.connect(uid);
        for number in 0..EACH {
            channel.send("Helper/UnitStatus", &status(format!("h@{uid}-{number}.service")).encode_to_vec());
        }
        clients.push(channel);
    }
    eventually("journals are read", || hanging(&world) == 2 * EACH);
    is_undone_at_once(&world, &changed);
    let write = write_request(&world.text("site/b"), b"x", "any");
    assert_eq!(world.ask("Helper/FileWrite", &write).completed().status(), Status::Done);
    release(&world);
    let channel =
        world.connect(CLIENT_UID).ask("Helper/UnitStatus", &status("a.service".to_owned())).refused().clone();
    assert_eq!(channel.code, "limit_exceeded", "its rule grants no line");
    drop(clients);
}

/// Sixty requests that look up packages once delayed this undo by twelve seconds: one after the other, before it.
#[test]
fn an_operators_undo_of_an_installation_is_done_while_apt_is_asked_about_packages() {
    let world = world();
    let id = installed(&world);
    world.program("apt-cache", &hang(&world));
    let mut clients = Vec::new();
    for uid in (FIRST..).take(OTHERS.len()) {
        let mut channel = world.connect(uid);
        for _ in 0..60 / OTHERS.len() {
            let show = wire::PackageShowRequest { meta: meta(Mode::Execute), names: strings(&["hello"]) };
            channel.send("Helper/PackageShow", &show.encode_to_vec());
        }
        clients.push(channel);
    }
    eventually("as many programs run as the probe lets", || hanging(&world) >= 4);
    let started = Instant::now();
    let mut operator = world.operator(OPERATOR);
    operator.stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let undone = undo(&mut operator, &of(&id)).unwrap();
    assert_eq!(undone[0].code, "", "{undone:?}");
    assert!(world.path("acted").exists() && !world.path("go").exists());
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    release(&world);
    drop(clients);
    eventually("nothing runs", || world.recorder().requests.unfinished().is_empty());
    assert!(world.count("served") + world.count("refused") > 4, "the control: packages were looked up");
}
