//! What a client with a grant, a simulation that lies or a crash could once make of the helper.

use crate::common::{
    CLIENT_UID, World, id_at, meta, meta_with, new_id, rule, site_rules, strings, write_request,
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
fn waiting_ends_and_the_effect_and_its_record_do_not() {
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
fn those_who_attach_and_leave_take_no_descriptors_with_them() {
    let world = held();
    let request = start();
    let mut first = world.connect(CLIENT_UID);
    let stream = first.send("Helper/UnitStart", &request.encode_to_vec());
    // Accepted, and that it starts: nothing more comes before the end.
    assert!(first.frame().is_some() && first.frame().is_some());
    let calling = || {
        std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter(|fd| {
                fd.as_ref().is_ok_and(|fd| {
                    std::fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
                })
            })
            .count()
    };
    let before = calling();
    for _ in 0..100 {
        let mut channel = world.connect(CLIENT_UID);
        channel.send("Helper/UnitStart", &request.encode_to_vec());
        assert!(channel.frame().is_some());
        drop(channel.client.take());
        channel.left();
    }
    // Other tests of this process have sockets too.
    assert!(calling() < before + 80, "{} descriptors are left", calling() - before);
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
fn streams_that_the_client_left_are_free_again_and_their_requests_still_count() {
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
fn an_open_stream_cannot_be_opened_again() {
    let world = starting("sleep 1");
    let mut channel = world.connect(CLIENT_UID);
    let payload = postern_proto::frame::encode_request("Helper/UnitStart", &start().encode_to_vec()).unwrap();
    let frame = encode(7, postern_proto::frame::REQUEST, &payload).unwrap();
    channel.stream.write_all(&[frame.as_slice(), &frame].concat()).unwrap();
    while channel.frame().is_some() {}
    assert_eq!(world.count("malformed"), 1);
}

#[test]
fn a_large_log_of_ids_loses_none() {
    let mut world = World::new(site_rules);
    let old = root::RequestRecord {
        uid: CLIENT_UID,
        digest: vec![0; 32],
        verb: "file.write".to_owned(),
        begun_unix_us: 5_000_000,
        completed: Some(wire::Completed { message: "x".repeat(60_000), ..wire::Completed::default() }),
        ..root::RequestRecord::default()
    };
    let mut log = std::fs::OpenOptions::new().append(true).open(world.path("state/requests/log")).unwrap();
    for number in 0..1200 {
        let record = root::RequestRecord { request_id: id_at(1, number), ..old.clone() };
        log.write_all(&record.encode_length_delimited_to_vec()).unwrap();
    }
    let (path, id) = (world.text("site/a.html"), new_id());
    let request =
        wire::FileWriteRequest { meta: meta_with(&id, Mode::Execute), ..write_request(&path, b"one", "any") };
    world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    world.restart();
    assert!(world.connect(CLIENT_UID).ask("Helper/FileWrite", &request).completed().replayed);
    assert!(std::fs::metadata(world.path("state/requests/log")).unwrap().len() < 100_000, "not written anew");
}

#[test]
fn an_id_that_was_ahead_does_not_act_again_a_day_later() {
    static SHIFT: AtomicU64 = AtomicU64::new(0);
    let mut world = World::new(site_rules);
    world.host.now = || SystemTime::now() + Duration::from_secs(SHIFT.load(Ordering::Relaxed));
    world.restart();
    let ahead = u64::try_from(world.host.unix().as_millis()).unwrap() + 290_000;
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
fn a_simulation_that_lies_at_length_leaves_a_log_that_can_be_continued() {
    let mut world =
        World::new(|_| vec![root::Rule { packages: strings(&["hello"]), ..rule("p", &["package.show"]) }]);
    for size in [400_000, 20_000_000] {
        let outcome =
            root::JobOutcome { code: "not_found".to_owned(), detail: "x".repeat(size), ..Default::default() };
        let event = root::JobEvent { outcome: Some(outcome), ..root::JobEvent::default() }.encode_to_vec();
        let frame = [u32::try_from(event.len()).unwrap().to_le_bytes().as_slice(), &event].concat();
        std::fs::write(world.path("lie"), frame).unwrap();
        let (lie, jobs) = (world.text("lie"), world.text("state/jobs"));
        world.systemctl(&format!(
            "for unit in \"$@\"; do :; done; id=${{unit#postern-plan@}}; cp {lie} {jobs}/${{id%.service}}/events"
        ));
        let show = wire::PackageShowRequest { meta: meta(Mode::Execute), names: strings(&["hello"]) };
        let refused = world.connect(CLIENT_UID).ask("Helper/PackageShow", &show).refused().clone();
        assert!(refused.message.len() < 1000, "{}", refused.code);
    }
    assert!(world.log().iter().all(|line| line.len() < 64 * 1024));
    world.restart();
}

#[test]
fn objects_of_a_record_are_bounded() {
    let world = World::new(site_rules);
    let long = postern_helper::audit::Json::new().text("t", &"x".repeat(100_000));
    let record = postern_helper::audit::Record { plan: long, ..postern_helper::audit::Record::default() };
    world.helper.audit.note(postern_helper::audit::Event::Previewed, &record).unwrap();
    let line = world.log().pop().unwrap();
    assert!(line.contains("\"plan\":{\"size\":100006,\"sha256\":\""), "{line}");
}

#[test]
fn a_large_file_is_not_read_into_root() {
    let world = World::new(site_rules);
    let path = world.text("site/big.html");
    std::fs::File::create(&path).unwrap().set_len(3 << 30).unwrap();
    for mode in [Mode::Preview, Mode::Execute] {
        let request = wire::FileWriteRequest { meta: meta(mode), ..write_request(&path, b"x", "any") };
        assert_eq!(world.connect(CLIENT_UID).ask("Helper/FileWrite", &request).refused().code, "too_large");
    }
    assert_eq!(std::fs::read_dir(world.path("state/undo")).unwrap().count(), 0);
}

#[test]
fn a_directory_below_that_others_own_or_write_is_refused() {
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
fn what_decides_who_is_root_is_protected_whatever_a_rule_says() {
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
        "/var/lib/postern-helper/policy/accepted.pb",
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
