//! Units against a fake systemctl: what root starts, and what it makes of the answers.

use postern_corridor::{CLIENT_UID, World, meta, rule, strings};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};
use std::path::Path;

const UNIT: &[&str] =
    &["unit.status", "unit.start", "unit.stop", "unit.restart", "unit.reload", "unit.enable", "unit.disable"];

fn rules(_: &Path) -> Vec<root::Rule> {
    vec![root::Rule { units: strings(&["nginx.service", "worker@*.service"]), ..rule("units", UNIT) }]
}

fn shown(id: &str, extra: &str) -> String {
    format!(
        "Id={id}\nNames={id}\nLoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\nResult=success\nMainPID=42\nStateChangeTimestamp=@1700000000\nMemoryCurrent=[not set]\nExecMainStatus=0\n{extra}\n"
    )
}

/// A systemctl that shows these blocks.
fn shows(text: &str) -> String {
    format!("case $1 in cat) echo '[Install]';; show) cat <<'SHOWN'\n{text}SHOWN\n;; esac")
}

fn status(unit: &str) -> wire::UnitStatusRequest {
    wire::UnitStatusRequest {
        meta: meta(Mode::Execute),
        unit: unit.to_owned(),
        journal_lines: 0,
        since_unix_s: 0,
    }
}

fn start(unit: &str) -> wire::UnitStartRequest {
    wire::UnitStartRequest { meta: meta(Mode::Execute), unit: unit.to_owned() }
}

#[test]
fn status_is_typed() {
    let world = World::new(rules);
    world.systemctl(&shows(&shown("nginx.service", "")));
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStatus", &status("nginx.service"));
    let unit = answer.completed().unit.clone().unwrap();
    assert_eq!((unit.active.as_str(), unit.main_pid, unit.memory_bytes), ("active", 42, 0));
    assert_eq!(unit.since_unix_us, 1_700_000_000_000_000);
    assert_eq!((world.count("served"), world.count("begin")), (1, 0));
}

#[test]
fn systemctl_gets_names_after_dashes_and_a_constant_environment() {
    let world = World::new(rules);
    world.systemctl(&shows(&shown("nginx.service", "")));
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStart", &start("nginx.service"));
    assert_eq!(answer.completed().status(), Status::Unchanged);
    let calls = world.calls();
    let change = calls.iter().find(|call| call[0] == "start").unwrap();
    assert_eq!(change[..4], strings(&["start", "--no-pager", "--no-ask-password", "--"]));
    assert_eq!(change[4], "nginx.service");
    let environment = &change[6..];
    let mut names: Vec<&str> =
        environment.iter().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    // PWD, SHLVL and _ are the shell's own.
    names.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name));
    assert_eq!(
        names,
        ["LC_ALL", "PATH", "SYSTEMCTL_SKIP_SYSV", "SYSTEMD_PAGER", "SYSTEMD_PAGERSECURE", "TERM"]
    );
    assert_eq!(environment.last().unwrap(), "CWD /");
    for call in &calls {
        let dashes = call.iter().position(|arg| arg == "--").unwrap();
        assert_eq!(call[dashes + 1], "nginx.service");
    }
}

#[test]
fn refuses_malformed_unit_names_before_systemctl_starts() {
    let world = World::new(rules);
    world.systemctl("exit 0");
    let mut channel = world.connect(CLIENT_UID);
    for unit in [
        "nginx",
        "",
        "*.service",
        "nginx.service ",
        "../x.service",
        "/etc/x.service",
        "worker@../../x.service",
        "a/b.service",
        "--force",
        "-x.service",
        "1234",
        "worker@.service",
        "@.service",
        ".service",
        "nginx.service\n",
        "a@b@c.service",
        "n?inx.service",
        "nginx.servic\u{e9}",
    ] {
        for answer in
            [channel.ask("Helper/UnitStatus", &status(unit)), channel.ask("Helper/UnitStart", &start(unit))]
        {
            assert_eq!(answer.refused().code, "invalid_argument", "{unit:?}");
        }
    }
    for unit in ["sshd.service", "worker.service", "worker@a@b.service"] {
        let answer = channel.ask("Helper/UnitStart", &start(unit));
        assert!(["no_grant", "invalid_argument"].contains(&answer.refused().code.as_str()), "{unit}");
    }
    assert!(world.calls().is_empty());
}

#[test]
fn a_unit_is_granted_under_its_own_name_and_never_under_an_alias_alone() {
    let world = World::new(rules);
    let mut channel = world.connect(CLIENT_UID);
    // The name that was asked for is an alias of another unit.
    world.systemctl(&shows(&shown("debug-shell.service", "").replace("Names=", "Names=nginx.service ")));
    let refused = channel.ask("Helper/UnitStart", &start("nginx.service")).refused().clone();
    assert_eq!(
        (refused.code.as_str(), refused.missing.as_str()),
        ("no_grant", "unit.start debug-shell.service")
    );
    assert_eq!(channel.ask("Helper/UnitStatus", &status("nginx.service")).refused().code, "no_grant");
    assert_eq!(world.count("begin"), 0);
    assert!(world.calls().iter().all(|call| call[0] == "show"));
    // It has an alias of which no rule speaks.
    world.systemctl(&shows(&shown("nginx.service", "").replace("Names=", "Names=ssh.service ")));
    assert_eq!(channel.ask("Helper/UnitStart", &start("nginx.service")).completed().code, "");
}

#[test]
fn refuses_a_stop_that_would_affect_other_units() {
    let world = World::new(rules);
    let text = shown("nginx.service", "RequiredBy=other.service");
    let other = shown("other.service", "");
    world.systemctl(&format!(
        "case \"$*\" in *other*) cat <<'SHOWN'\n{other}SHOWN\n;; *) cat <<'SHOWN'\n{text}SHOWN\n;; esac"
    ));
    let stop = wire::UnitStopRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned() };
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStop", &stop);
    assert_eq!(answer.refused().code, "would_cascade");
    assert!(answer.refused().message.contains("other.service"));
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn postern_and_pid_1_are_protected_from_every_rule() {
    let world = World::new(|_| vec![root::Rule { units: strings(&["*"]), ..rule("all", UNIT) }]);
    world.systemctl("exit 0");
    let mut channel = world.connect(CLIENT_UID);
    for unit in [
        "postern-broker.service",
        "postern-agent.service",
        "systemd-journald.service",
        "dbus.service",
        "init.scope",
    ] {
        assert_eq!(channel.ask("Helper/UnitStart", &start(unit)).refused().code, "protected", "{unit}");
    }
    assert!(world.calls().is_empty());
}

#[test]
fn restarts_of_our_own_services_wait_for_nobody() {
    let world = World::new(|_| {
        let own = root::Rule {
            units: strings(&["postern-*.service"]),
            verbs: strings(&["unit.restart", "unit.stop"]),
            ..rule("own", UNIT)
        };
        vec![own]
    });
    let text = shown("postern-broker.service", "");
    world.systemctl(&format!("case $1 in show) cat <<'SHOWN'\n{text}SHOWN\n;; esac"));
    let mut channel = world.connect(CLIENT_UID);
    let restart = |unit: &str| wire::UnitRestartRequest { meta: meta(Mode::Execute), unit: unit.to_owned() };
    assert_eq!(
        channel.ask("Helper/UnitRestart", &restart("postern-broker.service")).completed().status(),
        Status::Done
    );
    let call = world.calls().into_iter().find(|call| call[0] == "restart").unwrap();
    assert!(call.contains(&"--no-block".to_owned()), "{call:?}");
    for unit in [
        "postern-gateway.socket",
        "postern-gateway@1.service",
        "postern-audit.service",
        "postern-files.service",
        "postern-units.service",
        "postern-probe.service",
    ] {
        assert_eq!(channel.ask("Helper/UnitRestart", &restart(unit)).refused().code, "protected", "{unit}");
    }
    let stop = wire::UnitStopRequest { meta: meta(Mode::Execute), unit: "postern-broker.service".to_owned() };
    assert_eq!(channel.ask("Helper/UnitStop", &stop).refused().code, "protected");
}

#[test]
fn a_failed_unit_is_answered_with_its_result() {
    let world = World::new(rules);
    let text = shown("nginx.service", "").replace("Result=success", "Result=start-limit-hit");
    world.systemctl(&format!("case $1 in show) cat <<'SHOWN'\n{text}SHOWN\n;; *) echo 'Job for nginx.service failed.' >&2; exit 1;; esac"));
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStart", &start("nginx.service"));
    assert_eq!(
        (answer.completed().status(), answer.completed().code.as_str()),
        (Status::Failed, "start_limit")
    );
    assert_eq!((world.count("begin"), world.count("end")), (1, 1));
}

#[test]
fn with_now_the_start_must_be_granted_too() {
    let world = World::new(|_| {
        vec![root::Rule { units: strings(&["nginx.service"]), ..rule("units", &["unit.enable"]) }]
    });
    world.systemctl(&shows(&shown("nginx.service", "")));
    let enable =
        |now| wire::UnitEnableRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned(), now };
    let mut channel = world.connect(CLIENT_UID);
    assert_eq!(channel.ask("Helper/UnitEnable", &enable(true)).refused().missing, "unit.start nginx.service");
    assert_eq!(channel.ask("Helper/UnitEnable", &enable(false)).completed().status(), Status::Unchanged);
}

#[test]
fn without_systemd_changes_of_units_are_unsupported() {
    let world = World::new(rules);
    world.systemctl(&shows(&shown("nginx.service", "")));
    std::fs::remove_dir(world.path("systemd")).unwrap();
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStart", &start("nginx.service"));
    assert_eq!(answer.refused().code, "unsupported");
}
