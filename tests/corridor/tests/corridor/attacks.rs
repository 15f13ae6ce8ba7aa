//! A client with a grant gets no more than that: rates, places, descriptors, stale ids, large files.

use postern_corridor::{
    CLIENT_UID, World, eventually, id_at, meta, meta_with, rule, site_rules, strings, write_request,
};
use postern_proto::frame::{CANCEL, END, encode};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status, event::Kind};
use prost::Message;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

fn shown(id: &str) -> String {
    format!(
        "Id={id}\nNames={id}\nLoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\nResult=success\nMainPID=42\n\n"
    )
}

/// A world in which nginx.service may be started, and systemctl starts it as this script says.
fn starting(script: &str) -> World {
    let units = || strings(&["nginx.service"]);
    let world = World::new(|_| vec![root::Rule { units: units(), ..rule("start", &["unit.start"]) }]);
    world.systemctl(&format!(
        "case $1 in show) printf '%s' '{}';; start) {script};; esac",
        shown("nginx.service")
    ));
    world
}

/// A start that goes on until the test lets it end.
fn held() -> World {
    starting("for n in $(seq 600); do [ -e \"$(dirname \"$0\")/go\" ] && break; sleep 0.05; done")
}

fn release(world: &World) {
    std::fs::write(world.path("go"), "").unwrap();
}

fn start() -> wire::UnitStartRequest {
    wire::UnitStartRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned() }
}

fn result(of: &str) -> wire::RequestResultRequest {
    wire::RequestResultRequest { meta: meta(Mode::Execute), of: of.to_owned() }
}

#[test]
fn wait_ms_ends_the_waiting_and_neither_effect_nor_record() {
    let world = held();
    let mut request = start();
    request.meta.as_mut().unwrap().wait_ms = 100;
    let id = request.meta.as_ref().unwrap().request_id.clone();
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStart", &request);
    assert_eq!(answer.completed().code, "timeout");
    assert_eq!((world.count("begin"), world.count("end")), (1, 0), "the end is recorded before it is there");
    release(&world);
    let mut channel = world.connect(CLIENT_UID);
    let completed = loop {
        match &channel.ask("Helper/RequestResult", &result(&id)).events.last().unwrap().kind {
            Some(Kind::Completed(completed)) => break completed.clone(),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Unchanged, ""));
    assert_eq!(world.count("end"), 1);
}

#[test]
fn the_rate_of_every_rule_that_is_used_counts() {
    let units = || strings(&["nginx.service"]);
    let world = World::new(|_| {
        let start = rule("start", &["unit.start"]);
        vec![
            root::Rule { units: units(), ..rule("enable", &["unit.enable"]) },
            root::Rule { units: units(), rate_count: 1, rate_window_s: 3600, ..start },
        ]
    });
    world.systemctl(&format!(
        "case $1 in cat) echo '[Install]';; show) printf '%s' '{}';; esac",
        shown("nginx.service")
    ));
    let mut channel = world.connect(CLIENT_UID);
    let mut enable = || {
        let unit = "nginx.service".to_owned();
        channel
            .ask("Helper/UnitEnable", &wire::UnitEnableRequest { meta: meta(Mode::Execute), unit, now: true })
    };
    assert_eq!(enable().completed().status(), Status::Unchanged);
    assert_eq!(enable().refused().code, "rate_limited");
}

#[test]
fn callers_that_attach_and_leave_give_their_places_back() {
    let world = held();
    let request = start();
    let mut first = world.connect(CLIENT_UID);
    let stream = first.send("Helper/UnitStart", &request.encode_to_vec());
    // Accepted, and that it starts: nothing more comes before the end.
    assert!(first.frame().is_some() && first.frame().is_some());
    for _ in 0..10 {
        let mut channel = world.connect(CLIENT_UID);
        channel.send("Helper/UnitStart", &request.encode_to_vec());
        assert!(channel.frame().is_some());
        drop(channel.client.take());
    }
    eventually("only the first has a place", || world.broker().running.used() == 1);
    release(&world);
    assert_eq!(first.answer(stream).completed().status(), Status::Unchanged);
}

#[test]
fn one_client_cannot_take_all_threads() {
    let world = held();
    let mut channels: Vec<_> = (0..3).map(|_| world.connect(CLIENT_UID)).collect();
    for channel in &mut channels {
        for _ in 0..4 {
            channel.send("Helper/UnitStart", &start().encode_to_vec());
        }
    }
    let began = std::time::Instant::now();
    while world.count("refused") == 0 && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    release(&world);
    let (mut busy, mut ended) = (0, 0);
    for channel in &mut channels {
        let mut left = 4;
        while left > 0 {
            let (head, payload) = channel.frame().unwrap();
            if head.kind == END {
                left -= 1;
                ended += 1;
            } else {
                let event = wire::Event::decode(payload.as_slice()).unwrap();
                busy += usize::from(
                    matches!(&event.kind, Some(Kind::Refused(refused)) if refused.code == "busy"),
                );
            }
        }
    }
    assert_eq!(ended, 12);
    assert!(busy > 0, "twelve requests of one uid ran at once");
    assert!(world.count("begin") <= 8);
}

#[test]
fn cancelled_streams_are_free_again_and_their_requests_still_count() {
    let world = held();
    let mut channel = world.connect(CLIENT_UID);
    for _ in 0..8 {
        let stream = channel.send("Helper/UnitStart", &start().encode_to_vec());
        channel.stream.write_all(&encode(stream, CANCEL, &[]).unwrap()).unwrap();
    }
    let describe = wire::PolicyDescribeRequest { meta: meta(Mode::Execute) };
    assert_eq!(channel.ask("Helper/PolicyDescribe", &describe).code, 8, "resource exhausted");
    release(&world);
    assert_eq!(world.count("malformed"), 0);
}

#[test]
fn an_id_that_was_ahead_does_not_act_again_a_day_later() {
    static SHIFT: AtomicU64 = AtomicU64::new(0);
    let mut world = World::new(site_rules);
    let now: fn() -> SystemTime = || SystemTime::now() + Duration::from_secs(SHIFT.load(Ordering::Relaxed));
    (world.hosts.recorder.audit.now, world.hosts.broker.now) = (now, now);
    world.restart();
    let ahead = u64::try_from(world.hosts.recorder.audit.unix().as_millis()).unwrap() + 290_000;
    let path = world.text("site/a.html");
    let meta = meta_with(&id_at(ahead, 1), Mode::Execute);
    let request = wire::FileWriteRequest { meta, ..write_request(&path, b"one", "any") };
    assert_eq!(
        world.connect(CLIENT_UID).ask("Helper/FileWrite", &request).completed().status(),
        Status::Done
    );
    for later in [86_400 + 60, 86_400 + 600] {
        SHIFT.store(later, Ordering::Relaxed);
        world.restart();
        let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
        match &answer.events.last().unwrap().kind {
            Some(Kind::Completed(completed)) => assert!(completed.replayed),
            Some(Kind::Refused(refused)) => assert_eq!(refused.code, "request_id_expired"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(world.count("begin"), 1);
}

#[test]
fn two_calls_that_plan_at_once_act_once_and_both_are_answered() {
    let world = starting(":");
    world.systemctl(&format!("case $1 in show) sleep 0.5; printf '%s' '{}';; esac", shown("nginx.service")));
    let request = start();
    let (mut first, mut second) = (world.connect(CLIENT_UID), world.connect(CLIENT_UID));
    let one = first.send("Helper/UnitStart", &request.encode_to_vec());
    std::thread::sleep(Duration::from_millis(100));
    let two = second.send("Helper/UnitStart", &request.encode_to_vec());
    assert_eq!(first.answer(one).completed().status(), Status::Unchanged);
    assert_eq!(second.answer(two).completed().status(), Status::Unchanged);
    assert_eq!((world.count("begin"), world.count("end")), (1, 1));
}

#[test]
fn a_large_file_is_not_read_into_memory() {
    let world = World::new(site_rules);
    let path = world.text("site/big.html");
    std::fs::File::create(&path).unwrap().set_len(3 << 30).unwrap();
    for mode in [Mode::Preview, Mode::Execute] {
        let request = wire::FileWriteRequest { meta: meta(mode), ..write_request(&path, b"x", "any") };
        assert_eq!(world.connect(CLIENT_UID).ask("Helper/FileWrite", &request).refused().code, "too_large");
    }
    assert_eq!(std::fs::read_dir(world.path("files/undo")).unwrap().count(), 0);
}

#[test]
fn refuses_a_directory_that_others_may_write() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new(|at| {
        let mut rules = site_rules(at);
        rules[0].depth = 3;
        rules
    });
    let sub = world.path("site/sub");
    std::fs::create_dir(&sub).unwrap();
    let path = world.text("site/sub/a.html");
    let mut channel = world.connect(CLIENT_UID);
    let mut write = || channel.ask("Helper/FileWrite", &write_request(&path, b"x", "any"));
    assert_eq!(write().completed().status(), Status::Done);
    std::fs::set_permissions(&sub, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(write().refused().code, "unsafe_path");
}

#[test]
fn files_that_decide_who_is_root_are_protected_from_every_rule() {
    let world = World::new(|_| {
        let directories = strings(&["/etc", "/var", "/usr"]);
        vec![root::Rule {
            directories,
            files: strings(&["*"]),
            depth: 6,
            ..rule("all", &["file.write", "file.read"])
        }]
    });
    let mut channel = world.connect(CLIENT_UID);
    for path in [
        "/etc/passwd",
        "/etc/passwd-",
        "/etc/shadow",
        "/etc/sudoers",
        "/etc/sudoers.d/x",
        "/etc/cron.d/x",
        "/etc/crontab",
        "/etc/systemd/system/x.service",
        "/etc/pam.d/sshd",
        "/etc/apt/apt.conf.d/x",
        "/etc/ld.so.preload",
        "/usr/bin/x",
        "/etc/polkit-1/rules.d/x",
        "/var/lib/dpkg/status",
        "/etc/postern/policy.toml",
        "/var/lib/postern-policy/accepted.pb",
        "/var/lib/postern-files/key",
        "/var/lib/postern-root/key",
        "/var/lib/postern-audit/reserve",
    ] {
        let answer = channel.ask("Helper/FileWrite", &write_request(path, b"x", "any"));
        assert_eq!(answer.refused().code, "protected", "{path}");
    }
}

#[test]
fn a_restart_stops_what_conflicts_and_enabling_reaches_what_also_says() {
    let units = || strings(&["xa.service"]);
    let verbs = ["unit.restart", "unit.enable", "unit.stop"];
    let world = World::new(|_| vec![root::Rule { units: units(), ..rule("xa", &verbs) }]);
    let of = |id: &str, extra: &str| shown(id).replace("\n\n", &format!("\n{extra}\n\n"));
    let (xa, xb) = (of("xa.service", "Conflicts=xb.service"), of("xb.service", ""));
    let script = |xa: &str, cat: &str| {
        format!(
            "case \"$*\" in show*xb.service*|show*systemd-*) printf '%s' '{xb}';; show*) printf '%s' '{xa}';; cat*) printf '{cat}';; esac"
        )
    };
    world.systemctl(&script(&xa, ""));
    let mut channel = world.connect(CLIENT_UID);
    let unit = || "xa.service".to_owned();
    let restart = wire::UnitRestartRequest { meta: meta(Mode::Execute), unit: unit() };
    assert_eq!(channel.ask("Helper/UnitRestart", &restart).refused().code, "would_cascade");
    world.systemctl(&script(&of("xa.service", ""), "[Install]\\nAlso=xb.service\\n"));
    let enable = wire::UnitEnableRequest { meta: meta(Mode::Execute), unit: unit(), now: false };
    assert_eq!(channel.ask("Helper/UnitEnable", &enable).refused().code, "would_cascade");
    let protected = script(&of("xa.service", ""), "[Install]\\nAlso = systemd-networkd.service\\n");
    world.systemctl(&protected.replace("xb.service", "systemd-networkd.service"));
    let enable = wire::UnitEnableRequest { meta: meta(Mode::Execute), unit: unit(), now: false };
    assert_eq!(channel.ask("Helper/UnitEnable", &enable).refused().code, "protected");
    assert_eq!(world.count("begin"), 0);
}
