//! Every verb of units, against a fake systemctl.

use postern_corridor::{CLIENT_UID, World, meta, rule, strings};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};

const CHANGE: &[&str] = &[
    "unit.start",
    "unit.stop",
    "unit.restart",
    "unit.try-restart",
    "unit.reset-failed",
    "unit.mask",
    "unit.unmask",
];

fn units(id: &str, verbs: &[&str], units: &[&str]) -> root::Rule {
    root::Rule { units: strings(units), ..rule(id, verbs) }
}

/// A client that may change `a.service` and see three lines of its journal.
fn world() -> World {
    World::new(|_| {
        vec![
            units("change", CHANGE, &["a.service"]),
            root::Rule { journal_lines: 3, ..units("look", &["unit.status"], &["a.service", "a.slice"]) },
            rule("reload", &["unit.daemon-reload"]),
        ]
    })
}

fn shown(active: &str, result: &str, invocation: &str, extra: &str) -> String {
    format!(
        "Id=a.service\nNames=a.service\nLoadState=loaded\nActiveState={active}\nSubState=dead\nUnitFileState=enabled\nResult={result}\nMainPID=0\nExecMainStatus=3\nInvocationID={invocation}\n{extra}\n"
    )
}

/// A systemctl that shows `before`, and `after` once it has changed something, which ends as `change` says.
fn systemctl(world: &World, before: &str, change: &str, after: &str) {
    let mark = world.text("changed");
    drop(std::fs::remove_file(&mark));
    world.systemctl(&format!(
        "case $1 in show) if [ -e {mark} ]; then cat <<'SHOWN'\n{after}SHOWN\nelse cat <<'SHOWN'\n{before}SHOWN\nfi;; *) touch {mark}; {change};; esac"
    ));
}

fn start() -> wire::UnitStartRequest {
    wire::UnitStartRequest { meta: meta(Mode::Execute), unit: "a.service".to_owned() }
}

fn try_restart() -> wire::UnitTryRestartRequest {
    wire::UnitTryRestartRequest { meta: meta(Mode::Execute), unit: "a.service".to_owned() }
}

fn mask(now: bool) -> wire::UnitMaskRequest {
    wire::UnitMaskRequest { meta: meta(Mode::Execute), unit: "a.service".to_owned(), now }
}

fn status(unit: &str, journal_lines: u32, since_unix_s: u64) -> wire::UnitStatusRequest {
    wire::UnitStatusRequest { meta: meta(Mode::Execute), unit: unit.to_owned(), journal_lines, since_unix_s }
}

#[test]
fn each_verb_is_its_own_word_with_the_name_after_dashes() {
    let world = world();
    let (up, down) = (shown("active", "success", "1", ""), shown("inactive", "success", "1", ""));
    let mut channel = world.connect(CLIENT_UID);
    let unit = || "a.service".to_owned();
    systemctl(&world, &up, "exit 0", &shown("active", "success", "2", ""));
    assert_eq!(channel.ask("Helper/UnitTryRestart", &try_restart()).completed().status(), Status::Done);
    systemctl(&world, &shown("failed", "exit-code", "1", ""), "exit 0", &down);
    let reset = wire::UnitResetFailedRequest { meta: meta(Mode::Execute), unit: unit() };
    assert_eq!(channel.ask("Helper/UnitResetFailed", &reset).completed().status(), Status::Done);
    systemctl(&world, &up, "exit 0", &down.replace("enabled", "masked"));
    let answer = channel.ask("Helper/UnitMask", &mask(true));
    let info = answer.completed().unit.clone().unwrap();
    assert_eq!((info.was_enabled.as_str(), info.enabled.as_str()), ("enabled", "masked"));
    systemctl(&world, &down.replace("enabled", "masked"), "exit 0", &down);
    let unmask = wire::UnitUnmaskRequest { meta: meta(Mode::Execute), unit: unit() };
    assert_eq!(channel.ask("Helper/UnitUnmask", &unmask).completed().status(), Status::Done);
    let reload = wire::UnitDaemonReloadRequest { meta: meta(Mode::Execute) };
    assert_eq!(channel.ask("Helper/UnitDaemonReload", &reload).completed().status(), Status::Done);
    let words = |call: &Vec<String>| {
        let end = call.iter().position(|arg| arg == "ENV").unwrap();
        call[..end].join(" ").replace(" --no-pager --no-ask-password", "")
    };
    let calls = world.calls().iter().map(words).filter(|call| !call.starts_with("show ")).collect::<Vec<_>>();
    assert_eq!(
        calls,
        [
            "try-restart -- a.service",
            "reset-failed -- a.service",
            "mask --now -- a.service",
            "unmask -- a.service",
            "daemon-reload --no-ask-password",
        ]
    );
    assert_eq!((world.count("begin"), world.count("end")), (5, 5));
}

#[test]
fn masking_at_once_needs_the_stop_to_be_granted_too() {
    let world = World::new(|_| vec![units("mask", &["unit.mask"], &["a.service"])]);
    world.systemctl("exit 0");
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitMask", &mask(true));
    assert_eq!(answer.refused().missing, "unit.stop a.service");
    assert!(world.calls().is_empty());
}

#[test]
fn refuses_a_try_restart_or_mask_that_would_stop_others() {
    let world = world();
    let other = shown("active", "success", "1", "").replace("a.service", "b.service");
    let drags = |active: &str| {
        let text = shown(active, "success", "1", "RequiredBy=b.service");
        world.systemctl(&format!(
            "case \"$*\" in *b.service*) cat <<'SHOWN'\n{other}SHOWN\n;; *) cat <<'SHOWN'\n{text}SHOWN\n;; esac"
        ));
    };
    let mut channel = world.connect(CLIENT_UID);
    drags("active");
    assert_eq!(channel.ask("Helper/UnitTryRestart", &try_restart()).refused().code, "would_cascade");
    assert_eq!(channel.ask("Helper/UnitMask", &mask(true)).refused().code, "would_cascade");
    assert_eq!(channel.ask("Helper/UnitMask", &mask(false)).completed().status(), Status::Unchanged);
    drags("inactive");
    // An inactive unit is not restarted, so nothing stops.
    assert_eq!(channel.ask("Helper/UnitTryRestart", &try_restart()).completed().status(), Status::Unchanged);
}

#[test]
fn a_oneshot_that_ran_is_done_though_it_is_inactive_before_and_after() {
    let world = world();
    // systemd forgets it then, with its invocation.
    let forgotten = shown("inactive", "success", "", "");
    systemctl(&world, &forgotten, "exit 0", &forgotten);
    let answer = world.connect(CLIENT_UID).ask("Helper/UnitStart", &start());
    assert_eq!(answer.completed().status(), Status::Done);
}

#[test]
fn a_failed_start_is_answered_with_result_and_exit_status() {
    let world = world();
    let failure =
        "echo 'Warning: The unit file changed on disk.' >&2; echo 'Job for a.service failed.' >&2; exit 1";
    let failed = |invocation| shown("failed", "exit-code", invocation, "");
    systemctl(&world, &failed("1"), failure, &failed("2"));
    let mut channel = world.connect(CLIENT_UID);
    let answer = channel.ask("Helper/UnitStart", &start());
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Failed, "unit_failed"));
    assert_eq!(completed.message, "Job for a.service failed. (result exit-code, exit status 3)");
    assert_eq!(completed.unit.as_ref().unwrap().exit_status, 3);
    // systemd keeps the older result where the limit stops a unit that has failed: the run is the same.
    systemctl(&world, &failed("2"), failure, &failed("2"));
    let answer = channel.ask("Helper/UnitStart", &start());
    assert_eq!(answer.completed().code, "start_limit");
    assert!(world.log().iter().any(|line| line.contains("\"end\"") && line.contains("result exit-code")));
}

#[test]
fn the_rule_of_an_alias_does_not_widen_that_of_the_unit() {
    let world = World::new(|_| {
        let verbs = &["unit.status", "unit.start"];
        let asks = units("real", verbs, &["real.service"]);
        vec![
            root::Rule { journal_lines: 50, ..units("alias", verbs, &["a.service"]) },
            root::Rule { decision: root::Decision::Ask.into(), approval_ttl_s: 60, approvers: 1, ..asks },
        ]
    });
    let text = shown("active", "success", "1", "")
        .replace("Id=a.service", "Id=real.service")
        .replace("Names=", "Names=real.service ");
    systemctl(&world, &text, "exit 0", &text);
    let mut channel = world.connect(CLIENT_UID);
    let answer = channel.ask("Helper/UnitStatus", &status("a.service", 5, 0));
    assert_eq!(answer.refused().code, "limit_exceeded");
    let preview = wire::UnitStartRequest { meta: meta(Mode::Preview), ..start() };
    let answer = channel.ask("Helper/UnitStart", &preview);
    assert_eq!(answer.completed().decision(), wire::Decision::Ask);
    assert!(world.noted("journalctl", "argv").is_empty());
}

#[test]
fn a_failed_unit_without_a_file_can_still_be_seen_and_reset() {
    let world = world();
    let gone = shown("failed", "exit-code", "1", "").replace("loaded", "not-found");
    let missing = shown("inactive", "success", "", "").replace("loaded", "not-found");
    systemctl(&world, &gone, "exit 0", &missing);
    let mut channel = world.connect(CLIENT_UID);
    let answer = channel.ask("Helper/UnitStatus", &status("a.service", 0, 0));
    assert_eq!(answer.completed().unit.as_ref().unwrap().active, "failed");
    let reset = || wire::UnitResetFailedRequest { meta: meta(Mode::Execute), unit: "a.service".to_owned() };
    assert_eq!(channel.ask("Helper/UnitResetFailed", &reset()).completed().status(), Status::Done);
    let answer = channel.ask("Helper/UnitResetFailed", &reset());
    assert_eq!(answer.refused().code, "not_found");
}

#[test]
fn journal_lines_are_the_last_that_the_rule_grants_oldest_first() {
    let world = world();
    world.systemctl(&format!(
        "case $1 in show) cat <<'SHOWN'\n{}SHOWN\n;; esac",
        shown("active", "success", "1", "")
    ));
    world.program(
        "journalctl",
        "cat <<'TEXT'\n2026-01-01T00:00:02+0000 a[1]: third\n                              and more\u{1b}[31m\n2026-01-01T00:00:01+0000 a[1]: second\n2026-01-01T00:00:00+0000 a[1]: first\nTEXT",
    );
    let mut channel = world.connect(CLIENT_UID);
    let answer = channel.ask("Helper/UnitStatus", &status("a.service", 3, 1_700_000_000));
    assert_eq!(answer.completed().status(), Status::Done);
    // Three lines, not three entries; no service drives a terminal.
    assert_eq!(
        String::from_utf8(answer.content()).unwrap(),
        "2026-01-01T00:00:01+0000 a[1]: second\n2026-01-01T00:00:02+0000 a[1]: third\n                              and more\u{fffd}[31m\n"
    );
    let argv = world.noted("journalctl", "argv");
    let tail = ["--reverse", "--lines=3", "--since=@1700000000.000000", "--unit=a.service"];
    assert_eq!(argv[argv.len() - 4..], strings(&tail), "{argv:?}");
    assert_eq!(channel.ask("Helper/UnitStatus", &status("a.service", 4, 0)).refused().code, "limit_exceeded");
    for (unit, lines, since) in [("a.slice", 1, 0), ("a.service", 0, 5)] {
        let answer = channel.ask("Helper/UnitStatus", &status(unit, lines, since));
        assert_eq!(answer.refused().code, "invalid_argument", "{unit} {lines} {since}");
    }
    assert_eq!(world.noted("journalctl", "argv"), argv, "a refused request reads nothing");
    assert_eq!((world.count("served"), world.count("begin")), (1, 0));
}
