//! Units of every kind on a real systemd: what is told of them, what is refused, and what an operator takes back.

use postern_tests::{Installed, Output, Release, on_each_release};
use serde_json::Value;

on_each_release!(
    every_kind_of_unit_is_told_as_it_is,
    a_failed_start_is_told_with_its_lines_and_its_limit_is_cured,
    masking_is_undone_and_new_units_are_read,
    our_own_services_are_restarted_and_it_is_answered,
    a_reboot_is_scheduled_and_cancelled_and_a_change_that_nobody_keeps_goes,
);

const RULES: &str = r#"
[[rule]]
id = "test-units"
client = "agent"
verbs = ["unit.start", "unit.stop", "unit.restart", "unit.try-restart", "unit.reset-failed", "unit.mask", "unit.unmask"]
units = ["ok-job.service", "bad-job.service", "quiet-job.service", "tick.timer", "call.socket", "call.service", "work@one*.service", "also.service", "late.service", "steady.service"]
decision = "allow"
justification = "the units of this test"
accept_risk = { "*" = "a test" }

[[rule]]
id = "test-lines"
client = "agent"
verbs = ["unit.status"]
units = ["ok-job.service", "bad-job.service", "also.service"]
journal_lines = 5
decision = "allow"
justification = "what these units write is no secret"
accept_risk = { "*" = "a test" }

[[rule]]
id = "test-reload"
client = "agent"
verbs = ["unit.daemon-reload"]
decision = "allow"
justification = "units that a package has brought"
accept_risk = { "*" = "a test" }
"#;

/// Units where a package would put them.
const UNITS: &str = r#"
cd /usr/lib/systemd/system
oneshot() {
    printf '[Unit]\nStartLimitIntervalSec=600\nStartLimitBurst=2\n[Service]\nType=oneshot\n' > "$1.service"
    printf '%s\n' "ExecStart=/bin/sh -c \"$2\"" >> "$1.service"
}
oneshot ok-job "printf 'all\033[31m copied\n'; sleep 0.2"
oneshot bad-job 'echo no such port; exit 3'
oneshot quiet-job 'echo a secret; exit 4'
printf '[Timer]\nOnCalendar=yearly\nUnit=ok-job.service\n' > tick.timer
printf '[Socket]\nListenFIFO=/run/call-test\n' > call.socket
for unit in call work@ real; do printf '[Service]\nExecStart=/bin/sleep infinity\n' > "$unit.service"; done
printf '[Unit]\nStartLimitIntervalSec=600\nStartLimitBurst=2\n[Service]\nExecStart=/bin/sleep infinity\n' > steady.service
ln -s real.service also.service
systemctl daemon-reload
"#;

fn host(release: Release) -> Installed {
    let host = Installed::on(release);
    let _ = host.shell(UNITS).ok();
    host.grant(RULES);
    host
}

fn service(host: &Installed, arguments: &[&str]) -> Output {
    host.visitor(&[&["postern", "--json", "service"], arguments].concat())
}

/// The unit that an answer tells of.
#[track_caller]
fn unit(answer: &Output) -> Value {
    let unit = answer.json()["result"]["unit"].clone();
    assert!(unit.is_object(), "{answer}");
    unit
}

fn code(answer: &Output) -> String {
    answer.json()["code"].as_str().unwrap_or_default().to_owned()
}

fn lines(answer: &Output) -> String {
    answer.json()["result"]["content"].as_str().unwrap_or_default().to_owned()
}

fn every_kind_of_unit_is_told_as_it_is(release: Release) {
    let host = host(release);
    // A oneshot that succeeded is inactive again: that it ran, its result and its lines say.
    let ran = service(&host, &["start", "ok-job"]);
    assert_eq!((ran.code, ran.json()["status"].as_str()), (0, Some("done")), "{ran}");
    let info = unit(&ran);
    assert_eq!((info["active"].as_str(), info["result"].as_str()), (Some("inactive"), Some("success")));
    assert!(lines(&ran).contains("all\u{fffd}[31m copied"), "{ran}");
    // The same lines by a look: control characters do not come through.
    let looked = service(&host, &["status", "ok-job", "--lines", "5"]);
    assert!(lines(&looked).contains("all\u{fffd}[31m copied"), "{looked}");
    let shown = host.visitor(&["postern", "service", "status", "ok-job", "--lines", "5"]).ok();
    assert!(shown.contains(" copied") && !shown.contains('\u{1b}'), "{shown}");
    let one = lines(&service(&host, &["status", "ok-job", "--lines", "1"]));
    assert_eq!(one.lines().count(), 1, "{one}");
    assert!(lines(&looked).ends_with(&one), "the last line of {looked} is not {one}");
    assert_eq!(code(&service(&host, &["status", "ok-job", "--lines", "6"])), "limit_exceeded");
    assert_eq!(code(&service(&host, &["status", "ssh", "--lines", "1"])), "limit_exceeded");

    let timer = unit(&service(&host, &["start", "tick.timer"]));
    assert_eq!((timer["active"].as_str(), timer["sub"].as_str()), (Some("active"), Some("waiting")));
    let socket = unit(&service(&host, &["start", "call.socket"]));
    assert_eq!((socket["active"].as_str(), socket["sub"].as_str()), (Some("active"), Some("listening")));
    let _ = host.shell("timeout 5 sh -c 'echo now > /run/call-test'; sleep 0.5").ok();
    let called = unit(&service(&host, &["status", "call"]));
    assert_eq!((called["active"].as_str(), called["sub"].as_str()), (Some("active"), Some("running")));

    let started = service(&host, &["start", "work@one-a"]);
    assert_eq!(unit(&started)["active"], "active", "{started}");
    let pid = unit(&started)["main_pid"].clone();
    let again = unit(&service(&host, &["try-restart", "work@one-a"]));
    assert_ne!(again["main_pid"], pid);
    assert_eq!(service(&host, &["try-restart", "work@one-b"]).json()["status"], "unchanged");
    for other in ["work@two", "real", "late@one"] {
        assert_eq!(code(&service(&host, &["start", other])), "no_grant", "{other}");
    }
    // Granted as written, not as the unit that it is.
    assert_eq!(code(&service(&host, &["start", "also"])), "no_grant");
    assert_eq!(code(&service(&host, &["status", "also", "--lines", "1"])), "limit_exceeded");
    assert_eq!(host.property("real.service", "ActiveState"), "inactive");
}

fn a_failed_start_is_told_with_its_lines_and_its_limit_is_cured(release: Release) {
    let host = host(release);
    for _ in 0..2 {
        let failed = service(&host, &["start", "bad-job"]);
        assert_eq!((failed.code, code(&failed).as_str()), (1, "unit_failed"), "{failed}");
        let info = unit(&failed);
        assert_eq!((info["result"].as_str(), info["exit_status"].as_i64()), (Some("exit-code"), Some(3)));
        assert!(lines(&failed).contains("no such port"), "{failed}");
    }
    let limited = service(&host, &["start", "bad-job"]);
    assert_eq!(code(&limited), "start_limit", "{limited}");
    let reset = service(&host, &["reset-failed", "bad-job"]);
    assert_eq!(unit(&reset)["active"], "inactive", "{reset}");
    assert_eq!(code(&service(&host, &["start", "bad-job"])), "unit_failed");
    // Its lines are not granted.
    let quiet = service(&host, &["start", "quiet-job"]);
    assert_eq!(code(&quiet), "unit_failed");
    assert!(!quiet.stdout.contains("a secret"), "{quiet}");
    assert!(host.journal("quiet-job.service").contains("a secret"));
    // The limit also stops a unit that has never failed.
    for (action, expected) in [("start", ""), ("restart", ""), ("restart", "start_limit")] {
        let ran = service(&host, &[action, "steady"]);
        assert_eq!(code(&ran), expected, "{ran}");
    }
    assert_eq!(service(&host, &["reset-failed", "work@one-a"]).json()["status"], "unchanged");
}

fn masking_is_undone_and_new_units_are_read(release: Release) {
    let host = host(release);
    let _ = host.root(&["useradd", "--create-home", "--groups", "postern-operators", "oper"]).ok();
    let undo = |answer: &Output| {
        let id = answer.json()["request_id"].as_str().unwrap_or_default().to_owned();
        let undone = host.run("oper", &["postern-admin", "undo", "--yes", &id]);
        assert_eq!(undone.code, 0, "{undone}");
    };
    assert_eq!(service(&host, &["start", "call.service"]).code, 0);
    let masked = service(&host, &["mask", "call.service", "--now"]);
    let info = unit(&masked);
    assert_eq!((info["enabled"].as_str(), info["active"].as_str()), (Some("masked"), Some("inactive")));
    assert_eq!(service(&host, &["mask", "call.service"]).json()["status"], "unchanged");
    let refused = service(&host, &["start", "call.service"]);
    assert_eq!(code(&refused), "unit_failed");
    assert!(refused.json()["message"].as_str().unwrap_or_default().contains("masked"), "{refused}");
    // One request does not bring back both: unmasking starts nothing.
    assert!(masked.json()["undo"].is_null(), "{masked}");
    assert_eq!(service(&host, &["unmask", "call.service"]).code, 0);
    let masked = service(&host, &["mask", "call.service"]);
    undo(&masked);
    assert_eq!(host.property("call.service", "LoadState"), "loaded");

    assert_eq!(service(&host, &["mask", "tick.timer"]).code, 0);
    let unmasked = service(&host, &["unmask", "tick.timer"]);
    assert_eq!(unit(&unmasked)["load"], "loaded", "{unmasked}");
    undo(&unmasked);
    assert_eq!(host.property("tick.timer", "LoadState"), "masked");

    // A changed unit is used as it was read until systemd reads it again.
    let _ = host
        .shell(
            "printf '[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/true\\n' > /usr/lib/systemd/system/late.service; systemctl daemon-reload; \
             systemctl start late.service; echo '[Unit]\nDescription=another' >> /usr/lib/systemd/system/late.service",
        )
        .ok();
    assert_eq!(host.property("late.service", "NeedDaemonReload"), "yes");
    assert_eq!(service(&host, &["daemon-reload"]).code, 0);
    assert_eq!(host.property("late.service", "NeedDaemonReload"), "no");
    assert_eq!(host.property("late.service", "Description"), "another");
}

const OWN: &str = r#"
[[rule]]
id = "test-own"
client = "agent"
verbs = ["unit.restart", "unit.status"]
units = ["postern-agent.service", "postern-broker.service"]
decision = "allow"
justification = "after an update of the configuration"
accept_risk = { "*" = "a test" }
"#;

fn our_own_services_are_restarted_and_it_is_answered(release: Release) {
    let host = Installed::on(release);
    host.grant(OWN);
    for unit in ["postern-broker.service", "postern-agent.service"] {
        let _ = host.visitor(&["postern", "service", "status", unit]).ok();
        let before = host.main_pid(unit);
        let said = host.visitor(&["postern", "--json", "service", "restart", unit]).json();
        assert_eq!(said["status"], "done", "{unit}: {said}");
        let again = format!(
            "for n in $(seq 300); do pid=$(systemctl show -P MainPID {unit}); [ $pid != 0 ] && [ $pid != {} ] && exit 0; sleep 0.1; done; exit 1",
            before.unwrap_or(0)
        );
        let _ = host.shell(&again).ok();
        let _ = host.visitor(&["postern", "service", "status", unit]).ok();
    }
    let log = host.root(&["postern-admin", "audit", "show", "--verb", "unit.restart", "--json"]).ok();
    assert_eq!(log.matches("\"event\":\"end\"").count(), 2, "{log}");
    assert_eq!(log.matches("interrupted").count(), 0, "{log}");
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

const KEPT: &str = r#"
[[rule]]
id = "test-reboot"
client = "agent"
verbs = ["host.reboot", "request.undo"]
decision = "allow"
justification = "after an update"
accept_risk = { "*" = "a test" }

[[rule]]
id = "test-keep"
client = "agent"
verbs = ["file.write"]
directories = ["/etc/test-keep"]
files = ["*"]
keep_within = "15s"
decision = "allow"
justification = "settings that can lock people out"
accept_risk = { "*" = "a test" }
"#;

fn a_reboot_is_scheduled_and_cancelled_and_a_change_that_nobody_keeps_goes(release: Release) {
    const SCHEDULED: &str = "/run/systemd/shutdown/scheduled";
    let host = Installed::on(release);
    let _ = host
        .shell("install -d /etc/test-keep; echo old > /etc/test-keep/a; echo old > /etc/test-keep/b")
        .ok();
    host.grant(KEPT);
    let reboot =
        |arguments: &[&str]| host.visitor(&[&["postern", "--json", "host", "reboot"], arguments].concat());
    let write = |name: &str| {
        let path = format!("/etc/test-keep/{name}");
        let wrote = host.visitor(&["postern", "--json", "file", "write", &path, "--content", "new"]).json();
        assert_eq!(wrote["status"], "done", "{wrote}");
        assert!(wrote["result"]["keep_until_unix_s"].is_u64(), "{wrote}");
        wrote["request_id"].as_str().unwrap().to_owned()
    };
    let (_, kept) = (write("a"), write("b"));
    host.kill("postern-audit.service", "KILL");
    let pending = host.root(&["postern-admin", "pending"]).ok();
    assert!(pending.contains(&kept), "{pending}");
    let _ = host.visitor(&["postern", "keep", &kept]).ok();
    let again =
        host.visitor(&["postern", "--json", "file", "write", "/etc/test-keep/a", "--content", "more"]).json();
    assert_eq!(again["code"], "busy", "{again}");

    // Any process that holds dpkg's lock counts, also one that Postern did not start.
    let lock = "use Fcntl; open F, '+>>', '/var/lib/dpkg/lock-frontend' or die; my $l = pack('ssx![l!]l!l!i', F_WRLCK, 0, 0, 0, 0);
        fcntl(F, F_SETLK, $l) or die; open R, '>', '/run/test-locked'; close R; sleep 600";
    let _ = host.shell(&format!("cat > /run/lock.pl <<'END'\n{lock}\nEND\nsystemd-run --quiet --unit=test-lock perl /run/lock.pl; \
        for n in $(seq 100); do [ -e /run/test-locked ] && exit 0; sleep 0.1; done; exit 1")).ok();
    assert_eq!(reboot(&["--delay", "30m"]).json()["code"], "busy");
    let _ = host.shell("systemctl stop test-lock").ok();
    let scheduled = reboot(&["--delay", "30m"]).json();
    assert_eq!(scheduled["status"], "done", "{scheduled}");
    let shown = host.shell(&format!("cat {SCHEDULED}")).ok();
    assert!(shown.contains("MODE=reboot") && shown.contains("WALL_MESSAGE=Postern:host.reboot:"), "{shown}");
    let at = format!("USEC={}", scheduled["result"]["reboot_unix_s"]);
    assert!(shown.contains(&at), "{scheduled}: {shown}");
    assert_eq!(reboot(&["--delay", "30m"]).json()["code"], "busy");
    let id = scheduled["request_id"].as_str().unwrap();
    let _ = host.visitor(&["postern", "undo", id, "--quiet"]);
    let _ = host.shell(&format!("test ! -e {SCHEDULED}")).ok();
    let again = reboot(&["--delay", "1h"]).json();
    assert_eq!(again["status"], "done", "{again}");
    assert_eq!(reboot(&["--cancel"]).json()["status"], "done");
    assert_eq!(reboot(&["--cancel"]).json()["code"], "not_found");
    let _ = host.shell("shutdown -r +60 new disks").ok();
    assert_eq!(reboot(&["--cancel"]).json()["code"], "not_found", "a person's shutdown");
    let _ = host.shell("shutdown -c").ok();

    let _ = host
        .shell("for n in $(seq 250); do grep -q old /etc/test-keep/a && exit 0; sleep 0.1; done; exit 1")
        .ok();
    assert_eq!(host.shell("cat /etc/test-keep/b").ok().trim(), "new");
    let pending = host.root(&["postern-admin", "pending"]).ok();
    assert!(!pending.contains("postern keep"), "{pending}");

    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}
