//! `host.reboot`: scheduled, cancelled, undone, and what the recorder's next start says of it.

use crate::approvals::ask as ask_people;
use postern_corridor::{CLIENT_UID, OPERATOR, STRANGER_UID, World, eventually, meta, new_id, rule};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status, Verdict};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A systemd-logind that keeps what is scheduled where the real one does, under these rules of two clients.
fn world_of(rules: Vec<root::Rule>) -> World {
    let (name, user) = ("other".to_owned(), "stranger".to_owned());
    let other = root::Rule { client: name.clone(), ..rule("others", &["host.reboot"]) };
    let world = World::with(|_| root::Rules {
        rules: rules.into_iter().chain([other]).collect(),
        clients: vec![root::Client { name, user, group: String::new() }],
        zone: "UTC".to_owned(),
        clock_changes: vec![root::ClockChange { unix_s: 0, offset_s: 0 }],
        ..root::Rules::default()
    });
    world.systemctl(&format!(
        "case $1 in -r) sleep 0.1; at=$(($(date +%s) + ${{2#+}} * 60))
         printf 'USEC=%s000000\\nWARN_WALL=1\\nMODE=reboot\\nWALL_MESSAGE=%s\\n' $at \"$3\" >{0}/scheduled ;;
         -c) rm {0}/scheduled ;; esac",
        world.text("").trim_end_matches('/')
    ));
    world
}

fn world() -> World {
    world_of(vec![rule("reboot", &["host.reboot", "request.undo"])])
}

fn reboot(delay_s: u32) -> wire::HostRebootRequest {
    wire::HostRebootRequest { meta: meta(Mode::Execute), delay_s, cancel: false }
}

fn cancel() -> wire::HostRebootRequest {
    wire::HostRebootRequest { cancel: true, ..reboot(0) }
}

/// The status, or the code.
fn ended(answer: &postern_corridor::Answer) -> String {
    match answer.events.last().unwrap().kind.as_ref().unwrap() {
        wire::event::Kind::Completed(done) if done.code.is_empty() => format!("{:?}", done.status()),
        wire::event::Kind::Completed(done) => done.code.clone(),
        _ => answer.refused().code.clone(),
    }
}

fn ask(world: &World, request: &wire::HostRebootRequest) -> String {
    ended(&world.ask("Helper/HostReboot", request))
}

fn undo(world: &World, of: &str) -> String {
    let undo = wire::RequestUndoRequest { meta: meta(Mode::Execute), of: of.to_owned() };
    ended(&world.ask("Helper/RequestUndo", &undo))
}

fn calls(world: &World) -> Vec<String> {
    world.calls().iter().map(|call| call[..2].join(" ")).collect()
}

fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn schedules_a_reboot_and_its_undo_cancels_that_reboot() {
    let world = world();
    let request = reboot(300);
    let answer = world.ask("Helper/HostReboot", &request);
    let done = answer.completed();
    assert_eq!((done.status(), done.undoable), (Status::Done, true));
    assert!((unix_s() + 290..=unix_s() + 301).contains(&done.reboot_unix_s), "{}", done.reboot_unix_s);
    let id = request.meta.unwrap().request_id;
    let begin = world.records("begin").remove(0);
    assert_eq!(begin["args"]["delay_s"], 300, "{begin}");
    assert_eq!(ask(&world, &reboot(60)), "busy", "one is scheduled");
    assert_eq!(undo(&world, &id), "Done");
    assert!(!world.path("scheduled").exists());
    assert_eq!(calls(&world), ["-r +5", "-c ENV"]);
    assert_eq!(ask(&world, &cancel()), "not_found", "nothing is scheduled");
}

#[test]
fn is_refused_without_a_grant_and_waits_for_people_where_a_rule_says_so() {
    let none = world_of(vec![rule("reload", &["unit.daemon-reload"])]);
    assert_eq!(ask(&none, &reboot(60)), "no_grant");
    let asked = root::Rule { decision: root::Decision::Ask.into(), ..rule("reboot", &["host.reboot"]) };
    let world = world_of(vec![asked]);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask_people(&mut client, "Helper/HostReboot", &reboot(60));
    let mut operator = world.operator(OPERATOR);
    let shown = operator.show(&waiting.approval_id).1;
    assert!(none.calls().is_empty() && world.calls().is_empty());
    assert_eq!(operator.decide(&waiting.approval_id, &shown, Verdict::Approve, ""), Ok(0));
    assert_eq!((ended(&client.answer(stream)).as_str(), calls(&world).len()), ("Done", 1));
}

/// Hours that are open from this many minutes before now for so many minutes.
fn open(from_minutes_ago: u64, minutes: u32) -> Vec<root::Rule> {
    let start = (unix_s() / 60 + 3 * 24 * 60 - from_minutes_ago) % (7 * 24 * 60);
    let hours = vec![root::Window { start: u32::try_from(start).unwrap(), minutes }];
    vec![root::Rule { hours, ..rule("night", &["host.reboot", "request.undo"]) }]
}

#[test]
fn the_reboot_itself_is_within_the_hours_of_its_rule() {
    let world = world_of(open(10, 60));
    let answer = world.ask("Helper/HostReboot", &reboot(2 * 3600));
    let refused = answer.refused();
    assert_eq!(refused.code, "limit_exceeded");
    assert!(refused.message.contains("closed when the host would reboot"), "{}", refused.message);
    assert_eq!((ask(&world, &reboot(600)).as_str(), calls(&world).len()), ("Done", 1));
    let closed = world_of(open(60, 30));
    assert_eq!((ask(&closed, &reboot(60)).as_str(), closed.calls().len()), ("limit_exceeded", 0));
}

/// For the broker, an hour behind, the reboot is within the hours.
#[test]
fn root_decides_the_time_of_the_reboot_itself() {
    let mut world = world_of(open(70, 100));
    world.hosts.broker.now = || SystemTime::now() - Duration::from_secs(3600);
    world.restart_broker();
    let mut request = reboot(3600);
    let ms = (unix_s() - 3600) * 1000;
    request.meta.as_mut().unwrap().request_id = postern_corridor::id_at(ms, 1);
    let answer = world.ask("Helper/HostReboot", &request);
    assert_eq!((ended(&answer).as_str(), world.calls().len()), ("limit_exceeded", 0));
}

#[test]
fn a_cancel_and_an_undo_are_not_bound_by_hours() {
    for is_undo in [false, true] {
        let world = world_of(open(10, 60));
        let request = reboot(600);
        assert_eq!(ask(&world, &request), "Done");
        let rules = open(120, 30);
        let apply = root::Rules {
            rules,
            zone: "UTC".to_owned(),
            clock_changes: vec![root::ClockChange { unix_s: 0, offset_s: 0 }],
            ..root::Rules::default()
        };
        world.replace_policy(&postern_corridor::accepted_whole(apply));
        assert_eq!(ask(&world, &reboot(60)), "limit_exceeded");
        let id = request.meta.unwrap().request_id;
        let ended = if is_undo { undo(&world, &id) } else { ask(&world, &cancel()) };
        assert_eq!((ended.as_str(), world.path("scheduled").exists()), ("Done", false));
    }
}

#[test]
fn a_client_cancels_its_own_reboot_alone() {
    let world = world();
    let as_other = |request: &wire::HostRebootRequest| {
        ended(&world.connect(STRANGER_UID).ask("Helper/HostReboot", request))
    };
    assert_eq!((ask(&world, &reboot(60)), as_other(&cancel())), ("Done".to_owned(), "not_found".to_owned()));
    assert_eq!((ask(&world, &cancel()), as_other(&reboot(60))), ("Done".to_owned(), "Done".to_owned()));
    assert_eq!((ask(&world, &cancel()), as_other(&cancel())), ("not_found".to_owned(), "Done".to_owned()));
    // A person's, also one who speaks of ours.
    for message in ["new disks", "re:Postern:host.reboot:4000001:x", "Postern:host.reboot:40000011:x"] {
        let scheduled = format!("USEC=1\nMODE=poweroff\nWALL_MESSAGE={message}\n");
        fs::write(world.path("scheduled"), scheduled).unwrap();
        assert_eq!(
            (ask(&world, &cancel()).as_str(), ask(&world, &reboot(60)).as_str()),
            ("not_found", "busy")
        );
    }
    assert!(world.path("scheduled").exists());
}

#[test]
fn of_two_reboots_at_once_one_is_scheduled() {
    let world = world();
    let both = std::thread::scope(|scope| {
        let both = [CLIENT_UID, STRANGER_UID].map(|uid| {
            let world = &world;
            scope.spawn(move || ended(&world.connect(uid).ask("Helper/HostReboot", &reboot(60))))
        });
        both.map(|one| one.join().unwrap())
    });
    assert!(both.contains(&"Done".to_owned()) && both.contains(&"busy".to_owned()), "{both:?}");
    assert_eq!(calls(&world).len(), 1);
}

#[test]
fn fails_where_something_else_is_scheduled_afterwards() {
    let world = world();
    let scheduled = world.text("scheduled");
    world.systemctl(&format!("printf 'USEC=1\\nWALL_MESSAGE=new disks\\n' >{scheduled}"));
    assert_eq!(ask(&world, &reboot(60)), "unit_failed");
    fs::remove_file(&scheduled).unwrap();
    world.systemctl("");
    assert_eq!(ask(&world, &reboot(60)), "unit_failed", "nothing is scheduled");
    fs::write(&scheduled, format!("USEC=1\nWALL_MESSAGE=Postern:host.reboot:{CLIENT_UID}:x\n")).unwrap();
    assert_eq!(ask(&world, &cancel()), "unit_failed", "it is still scheduled");
}

#[test]
fn refuses_delays_that_are_no_whole_minutes_up_to_a_day() {
    let world = world();
    for delay_s in [0, 1, 59, 61, 86_460, u32::MAX] {
        assert_eq!(ask(&world, &reboot(delay_s)), "invalid_argument", "{delay_s}");
    }
    assert_eq!(ask(&world, &wire::HostRebootRequest { cancel: true, ..reboot(60) }), "invalid_argument");
    assert!(world.calls().is_empty());
}

#[test]
fn refuses_to_reboot_while_another_process_holds_dpkgs_lock() {
    let world = world();
    // A lock of this very process would not count (fcntl_locking(2)).
    let lock = "use Fcntl; open F, '+>', $ARGV[0] or die; $| = 1;
        my $lock = pack('ssx![l!]l!l!i', F_WRLCK, 0, 0, 0, 0);
        fcntl(F, F_SETLK, $lock) or die; print \"held\\n\"; <STDIN>";
    let mut dpkg = Command::new("perl")
        .args(["-e", lock, &world.text("dpkg.lock")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(dpkg.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!((line.as_str(), ask(&world, &reboot(60)).as_str()), ("held\n", "busy"));
    drop(dpkg.stdin.take());
    assert!(dpkg.wait().unwrap().success());
    assert_eq!(ask(&world, &reboot(60)), "Done");
}

/// Starts the recorder in another boot, and returns what its start says.
fn boot(world: &mut World) -> String {
    new_id().clone_into(&mut world.hosts.recorder.audit.boot_id);
    world.restart_recorder();
    let starts = world.records("start");
    starts.last().unwrap()["outcome"]["detail"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_recorders_next_start_says_what_was_scheduled_and_when_the_host_was_up_again() {
    let mut world = world();
    let request = reboot(3600);
    assert_eq!(ask(&world, &request), "Done");
    world.restart_recorder();
    assert!(world.records("start").last().unwrap()["outcome"].is_null(), "the same boot");
    let detail = boot(&mut world);
    let id = request.meta.unwrap().request_id;
    assert!(detail.starts_with(&format!("request {id} had scheduled a reboot for 20")), "{detail}");
    // The power failed: it is not said that this reboot took place.
    assert!(detail.contains("; the host was up again at 20") && !detail.contains("took place"), "{detail}");
    assert_eq!(boot(&mut world), "", "a later boot is another's");
}

#[test]
fn a_start_after_a_cancelled_or_failed_reboot_names_none() {
    let mut world = world();
    assert_eq!((ask(&world, &reboot(60)), ask(&world, &cancel())), ("Done".to_owned(), "Done".to_owned()));
    assert_eq!(boot(&mut world), "");
    let request = reboot(60);
    assert_eq!(ask(&world, &request), "Done");
    assert_eq!(undo(&world, &request.meta.unwrap().request_id), "Done");
    assert_eq!(boot(&mut world), "");
    world.systemctl("exit 1");
    assert_eq!(ask(&world, &reboot(60)), "unit_failed");
    assert_eq!(boot(&mut world), "");
    eventually("nothing is scheduled", || !world.path("scheduled").exists());
}
