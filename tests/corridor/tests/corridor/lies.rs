//! A captured probe lies about units and packages. Root gathers its own facts: what differs from them is refused, and
//! nothing happens. Of reads, which the probe answers itself, the client hears the lie, and the record says that the read
//! was served.

use crate::packages::{all_ways, apt, step as done};
use postern_corridor::{Answer, CLIENT_UID, Listener, World, meta, rule, strings};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Action, Completed, Decision, Mode, Status};
use prost::Message;
use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;

/// A unit as it is not.
fn unit(id: &str, active: &str) -> root::UnitState {
    root::UnitState {
        id: id.to_owned(),
        names: vec![id.to_owned()],
        load: "loaded".to_owned(),
        active: active.to_owned(),
        ..root::UnitState::default()
    }
}

fn units(unit: root::UnitState, affected: Vec<root::AffectedUnit>) -> root::Facts {
    let unit = root::UnitFacts { unit: Some(unit), affected };
    root::Facts { unit: Some(unit), ..root::Facts::default() }
}

/// A probe that answers every question of broker and recorder by these bytes.
fn answering(world: &mut World, kind: Kind, message: &impl Message) -> Listener {
    let mut bytes = Vec::new();
    link::write(&mut bytes, kind, &message.encode_to_vec()).unwrap();
    answering_bytes(world, bytes)
}

fn answering_bytes(world: &mut World, bytes: Vec<u8>) -> Listener {
    let socket = world.path("captured.sock");
    drop(fs::remove_file(&socket));
    let listener = Listener::bind(&socket, move |mut stream: UnixStream| {
        // The greeting and the question. The peer may be gone.
        drop(link::read(&mut stream));
        drop(link::read(&mut stream));
        drop(stream.write_all(&bytes));
    });
    world.hosts.broker.probe_socket.clone_from(&socket);
    world.hosts.recorder.asked = socket;
    world.restart();
    listener
}

/// PID 1's truth: a stop of `app.service` stops `db.service` too, which a rule denies; `alias.service` is `ssh.service`.
fn world() -> World {
    let verbs = ["unit.stop", "unit.restart", "unit.status"];
    let granted = root::Rule { units: strings(&["app.service", "alias.service"]), ..rule("app", &verbs) };
    let denied = root::Rule {
        units: strings(&["db.service"]),
        decision: root::Decision::Deny.into(),
        ..rule("db", &verbs)
    };
    let world = World::new(|_| vec![granted, denied]);
    world.systemctl(
        "verb=$1; for last; do :; done
         [ $last = alias.service ] && last=ssh.service
         case $verb in
         cat) echo '[Install]' ;;
         show) printf 'Id=%s\\nNames=%s\\nLoadState=loaded\\nActiveState=active\\n' $last $last
            [ $last != app.service ] || echo RequiredBy=db.service ;;
         esac",
    );
    world
}

fn stop(world: &World, unit: &str) -> Answer {
    let request = wire::UnitStopRequest { meta: meta(Mode::Execute), unit: unit.to_owned() };
    world.ask("Helper/UnitStop", &request)
}

/// Nothing but questions were put to PID 1.
fn is_untouched(world: &World) {
    let calls = world.calls();
    assert!(calls.iter().all(|call| ["show", "cat", "is-enabled"].contains(&call[0].as_str())), "{calls:?}");
}

#[test]
fn the_truth_about_units_refuses_what_the_lies_would_allow() {
    let world = world();
    assert_eq!(stop(&world, "app.service").refused().code, "denied", "the control");
}

#[test]
fn units_that_a_captured_probe_conceals_are_found_by_root() {
    let mut world = world();
    let _probe = answering(&mut world, Kind::Facts, &units(unit("app.service", "active"), Vec::new()));
    assert_eq!(stop(&world, "app.service").completed().code, "plan_changed");
    is_untouched(&world);
    assert_eq!((world.count("begin"), world.count("end")), (1, 1));
}

#[test]
fn a_name_that_a_captured_probe_conceals_is_found_by_root() {
    let mut world = world();
    let _probe = answering(&mut world, Kind::Facts, &units(unit("alias.service", "active"), Vec::new()));
    let answer = stop(&world, "alias.service");
    assert!(["no_grant", "plan_changed"].contains(&answer.completed().code.as_str()), "{answer:?}");
    is_untouched(&world);
}

#[test]
fn a_state_that_a_captured_probe_invents_is_found_by_root() {
    let mut world = world();
    let restart = wire::UnitRestartRequest { meta: meta(Mode::Execute), unit: "app.service".to_owned() };
    let _probe = answering(&mut world, Kind::Facts, &units(unit("app.service", "failed"), Vec::new()));
    assert_eq!(world.ask("Helper/UnitRestart", &restart).completed().code, "plan_changed");
    is_untouched(&world);
}

#[test]
fn a_captured_probe_can_have_what_is_granted_refused() {
    let mut world = world();
    let db = root::AffectedUnit {
        unit: Some(unit("db.service", "active")),
        effect: "stop".to_owned(),
        cause: "RequiredBy= of app.service".to_owned(),
    };
    let missing = root::UnitState { load: "not-found".to_owned(), ..unit("app.service", "inactive") };
    let lies = [
        (units(unit("app.service", "active"), vec![db]), "denied"),
        (units(missing, Vec::new()), "not_found"),
    ];
    for (lie, code) in lies {
        let _probe = answering(&mut world, Kind::Facts, &lie);
        assert_eq!(stop(&world, "app.service").refused().code, code);
    }
    is_untouched(&world);
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn text_of_a_captured_probe_reaches_no_record_and_no_screen() {
    let mut world = world();
    let hostile = "x\u{1b}[2J\nrule: approved by root";
    let named = root::UnitState { names: vec![hostile.to_owned()], ..unit("app.service", "active") };
    let caused = root::AffectedUnit {
        unit: Some(unit("new.service", "inactive")),
        effect: "start".to_owned(),
        cause: hostile.to_owned(),
    };
    let lies = [
        units(unit(hostile, "active"), Vec::new()),
        units(named, Vec::new()),
        units(unit("app.service", hostile), Vec::new()),
        units(unit("app.service", "active"), vec![caused]),
        root::Facts::default(),
    ];
    for lie in lies {
        let _probe = answering(&mut world, Kind::Facts, &lie);
        let refused = stop(&world, "app.service").refused().clone();
        assert_eq!(refused.code, "interrupted", "{lie:?}");
        assert!(!refused.message.contains("approved"), "{refused:?}");
    }
    assert!(!world.log().join("\n").contains("approved by root"));
    is_untouched(&world);
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn a_captured_probe_that_breaks_the_protocol_has_the_request_refused() {
    let mut world = world();
    let mut cut = Vec::new();
    link::write(&mut cut, Kind::Facts, &units(unit("app.service", "active"), Vec::new()).encode_to_vec())
        .unwrap();
    cut.pop();
    let mut other = Vec::new();
    link::write(&mut other, Kind::Outcome, &root::Outcome::default().encode_to_vec()).unwrap();
    // Nothing, a half frame, a length of 4 GiB, bytes that are no facts, and another message.
    for bytes in [Vec::new(), cut, vec![255, 255, 255, 255, 39], vec![1, 0, 0, 0, 39, 255], other] {
        let _probe = answering_bytes(&mut world, bytes.clone());
        let code = stop(&world, "app.service").refused().code.clone();
        assert!(["interrupted", "audit_unavailable"].contains(&code.as_str()), "{code} for {bytes:?}");
    }
    is_untouched(&world);
    assert_eq!(world.count("begin"), 0);
}

/// `root does not check its answers` (SECURITY.md): a lie about a read reaches its client, and changes nothing.
#[test]
fn a_captured_probe_lies_about_reads_to_those_whom_the_policy_grants_them() {
    let mut world = world();
    let lied =
        wire::UnitInfo { id: "app.service".to_owned(), active: "failed".to_owned(), ..Default::default() };
    let completed = Completed {
        status: Status::Done.into(),
        decision: Decision::Allow.into(),
        unit: Some(lied),
        ..Completed::default()
    };
    let outcome =
        root::Outcome { verb: "unit.status".to_owned(), completed: Some(completed), ..Default::default() };
    let _probe = answering(&mut world, Kind::Outcome, &outcome);
    // The broker's facts about the unit come from the probe too: this one has no answer for them.
    let status = |unit: &str| wire::UnitStatusRequest {
        meta: meta(Mode::Execute),
        unit: unit.to_owned(),
        ..Default::default()
    };
    world.hosts.broker.probe_socket = world.path("probe.sock");
    world.restart_broker();
    let answer = world.ask("Helper/UnitStatus", &status("app.service"));
    assert_eq!(answer.completed().unit.as_ref().unwrap().active, "failed");
    assert_eq!(world.ask("Helper/UnitStatus", &status("other.service")).refused().code, "no_grant");
    assert_eq!((world.count("served"), world.count("begin")), (1, 0));
    is_untouched(&world);
}

fn step(name: &str, sources: &[&str]) -> wire::PackageStep {
    wire::PackageStep {
        action: Action::Install.into(),
        name: name.to_owned(),
        arch: "amd64".to_owned(),
        new: "1".to_owned(),
        sources: strings(sources),
        ..wire::PackageStep::default()
    }
}

/// apt would install `extra` beside the package that is asked for.
#[test]
fn packages_and_sources_that_a_captured_probe_conceals_are_found_under_apts_lock() {
    let mut world =
        World::new(|_| vec![root::Rule { packages: strings(&["hello"]), ..rule("p", &["package.install"]) }]);
    let here = world.text("");
    let real = |names: &[&str]| {
        let line = |name: &&str| format!("{name} - - none < 1 amd64 none /{name}.deb\n");
        let lines = names.iter().map(line).collect::<String>();
        fs::write(format!("{here}/transaction"), format!("VERSION 3\nAPT::Architecture=amd64\n\n{lines}"))
            .unwrap();
    };
    world.program(
        "apt-get",
        &format!(
            "for word; do case $word in DPkg::Pre-Install-Pkgs::=*) hook=${{word#*=}} ;; esac; done
             [ -n \"$hook\" ] || exit 0
             $hook <{here}/transaction || exit 100
             touch {here}/acted"
        ),
    );
    let lies: [(&[&str], wire::PackageStep); 2] = [
        (&["hello", "extra"], step("hello", &[])),
        (&["hello"], step("hello", &["/etc/apt/sources.list:1 http://deb.example.org/debian -"])),
    ];
    for (names, lie) in lies {
        real(names);
        let packages = root::PackageFacts { steps: vec![lie], ..root::PackageFacts::default() };
        let facts = root::Facts { packages: Some(packages), ..root::Facts::default() };
        let _probe = answering(&mut world, Kind::Facts, &facts);
        let packages = vec![wire::Package { name: "hello".to_owned(), version: String::new() }];
        let request = wire::PackageInstallRequest { meta: meta(Mode::Execute), packages };
        let answer = world.connect(CLIENT_UID).ask("Helper/PackageInstall", &request);
        assert_eq!(answer.completed().code, "plan_changed", "{names:?}: {:?}", answer.completed());
        assert!(!world.path("acted").exists());
    }
    assert_eq!((world.count("begin"), world.count("end")), (2, 2));
}

/// Facts of a transaction.
fn transaction(steps: &[wire::PackageStep]) -> root::Facts {
    let packages = root::PackageFacts { steps: steps.to_vec(), ..root::PackageFacts::default() };
    root::Facts { packages: Some(packages), ..root::Facts::default() }
}

/// All that apt would do is granted, so that nothing but the comparison with what was decided stops it.
#[test]
fn what_a_captured_probe_conceals_of_an_upgrade_a_removal_or_a_purge_is_found_under_apts_lock() {
    let names = || strings(&["hello"]);
    let upgrade = || wire::PackageUpgradeRequest { meta: meta(Mode::Execute), names: names(), all: false };
    let remove = || wire::PackageRemoveRequest { meta: meta(Mode::Execute), names: names() };
    let purge = || wire::PackagePurgeRequest { meta: meta(Mode::Execute), names: names() };
    let other_version = |action| wire::PackageStep { new: "3".to_owned(), ..done(action, "hello") };
    let downgraded = wire::PackageStep { old: "3".to_owned(), ..done(Action::Downgrade, "hello") };
    let other_installed = |action| wire::PackageStep { old: "7".to_owned(), ..done(action, "hello") };
    for (action, more) in [
        (
            Action::Upgrade,
            vec![
                vec![done(Action::Upgrade, "hello"), done(Action::Upgrade, "extra")],
                vec![done(Action::Upgrade, "hello"), done(Action::Install, "extra")],
                vec![done(Action::Upgrade, "hello"), done(Action::Remove, "extra")],
                vec![other_version(Action::Upgrade)],
                vec![downgraded],
                vec![done(Action::Remove, "hello")],
            ],
        ),
        (
            Action::Remove,
            vec![
                vec![done(Action::Remove, "hello"), done(Action::Remove, "extra")],
                vec![done(Action::Remove, "hello"), done(Action::Install, "extra")],
                vec![done(Action::Remove, "extra")],
                vec![other_installed(Action::Remove)],
            ],
        ),
        (
            Action::Purge,
            vec![
                vec![done(Action::Purge, "hello"), done(Action::Purge, "extra")],
                vec![done(Action::Purge, "extra")],
                vec![other_installed(Action::Purge)],
            ],
        ),
    ] {
        let ask = |world: &World| match action {
            Action::Upgrade => world.ask("Helper/PackageUpgrade", &upgrade()),
            Action::Remove => world.ask("Helper/PackageRemove", &remove()),
            _ => world.ask("Helper/PackagePurge", &purge()),
        };
        let lie = vec![done(action, "hello")];
        for truth in more {
            let mut world = World::new(all_ways);
            apt(&world, &truth, &truth, state_after(action), "");
            let _probe = answering(&mut world, Kind::Facts, &transaction(&lie));
            let answer = ask(&world);
            assert_eq!(answer.completed().code, "plan_changed", "{truth:?}: {:?}", answer.completed());
            assert!(!world.path("acted").exists(), "{truth:?}");
            assert_eq!((world.count("begin"), world.count("end")), (1, 1));
        }
        // The control: told as it is, it is done.
        let mut world = World::new(all_ways);
        apt(&world, &lie, &lie, state_after(action), "");
        let _probe = answering(&mut world, Kind::Facts, &transaction(&lie));
        let answer = ask(&world);
        assert_eq!(answer.completed().status(), Status::Done, "{action:?}: {:?}", answer.completed());
        assert!(world.path("acted").exists());
    }
}

/// The state in which dpkg has a package after this.
fn state_after(action: Action) -> &'static str {
    match action {
        Action::Remove => "config-files",
        Action::Purge => "not-installed",
        _ => "installed",
    }
}
