//! The upgrade from the package with one root helper, which `tests/run --long` builds from this repository's history.

use std::env;
use std::path::PathBuf;

use postern_tests::{Installed, Release, deb, on_each_release};

on_each_release!(an_upgrade_from_the_single_helper_keeps_log_policy_and_pause,);

const LOG: &str = "/var/log/postern/audit.jsonl";

const SLOW: &str = r#"
[[rule]]
id = "slow-unit"
client = "agent"
verbs = ["unit.start"]
units = ["slow.service"]
decision = "allow"
justification = "a unit that takes its time"
matches = [{ unit = "slow.service" }]
"#;

fn old_deb() -> PathBuf {
    env::var_os("POSTERN_OLD_DEB")
        .map(PathBuf::from)
        .expect("POSTERN_OLD_DEB names the package of before: tests/run --long builds it")
}

fn an_upgrade_from_the_single_helper_keeps_log_policy_and_pause(release: Release) {
    let host = Installed::of_before(release, &old_deb());
    host.grant(SLOW);
    let page = ["postern", "--json", "file", "write", "/var/www/html/index.html", "--content", "before"];
    let _ = host.shell("mkdir -p /var/www/html").ok();
    let written = host.visitor(&page);
    assert_eq!(written.code, 0, "{written}");
    let written = written.json()["request_id"].as_str().expect("the request's id").to_owned();
    // A start that is in the middle of its order when the helper goes.
    let _ = host
        .shell(
            "printf '[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/sleep 60\\n' > /etc/systemd/system/slow.service; \
             systemctl daemon-reload; systemd-run --collect --unit asker --uid visitor -- postern service start slow; \
             for i in $(seq 100); do systemctl is-active slow | grep -q activating && break; sleep 0.1; done",
        )
        .ok();
    let _ = host.root(&["postern-admin", "pause", "--reason", "the upgrade"]).ok();
    let policy = host.shell("sha256sum < /var/lib/postern-helper/policy/accepted.pb").ok();
    let seal = host.shell("find /run/postern-helper/seal -type f | wc -l").ok();
    let before = host.shell(&format!("cat {LOG}")).ok();

    let upgraded = host.install_deb(&deb()).ok();
    let told = upgraded.lines().filter(|line| line.starts_with("postern:")).collect::<Vec<_>>();
    assert_eq!(
        told,
        ["postern: request ids and undo copies from before this version were dropped; the audit log goes on"],
        "{upgraded}"
    );
    assert_eq!(host.shell("find /run/postern-audit/seal -type f | wc -l").ok(), seal, "the seal moved");
    assert_eq!(host.shell("sha256sum < /var/lib/postern-policy/accepted.pb").ok(), policy);
    assert_eq!(host.shell("systemctl --failed --plain --no-legend").ok(), "");
    let gone = "ls -d /var/lib/postern-helper /run/postern-helper /usr/libexec/postern/postern-helper 2>/dev/null || true; \
                systemctl list-unit-files --no-legend postern-helper.service || true";
    assert_eq!(host.shell(gone).ok(), "");

    let refused = host.visitor(&page);
    assert_eq!(refused.code, 3, "it is still paused: {refused}");
    assert!(host.root(&["postern-admin", "status"]).ok().contains("the upgrade"));
    let _ = host.root(&["postern-admin", "resume"]).ok();
    let again = host.visitor(&page);
    assert_eq!(again.code, 0, "{again}\n{}", host.journal("postern-*"));
    let undo = host.visitor(&["postern", "undo", &written]);
    assert_ne!(undo.code, 0, "its copy is dropped: {undo}");

    let after = host.shell(&format!("cat {LOG}")).ok();
    assert!(after.starts_with(&before), "the log goes on in the same file");
    let record = |line: &str| -> serde_json::Value { serde_json::from_str(line).expect("a record") };
    let of_slow: Vec<_> = after.lines().map(record).filter(|record| record["verb"] == "unit.start").collect();
    let events: Vec<_> = of_slow.iter().filter_map(|record| record["event"].as_str()).collect();
    // The client may have repeated the request under its id; no second effect began.
    assert_eq!(events[..2], ["begin", "interrupted"], "{of_slow:#?}");
    assert!(events[2..].iter().all(|event| *event == "refused"), "{of_slow:#?}");
    let verified = host.root(&["postern-admin", "audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified}");
    let started = host.property("slow.service", "ActiveState");
    assert!(
        ["activating", "active"].contains(&started.as_str()),
        "PID 1 goes on with what it was asked for: {started}"
    );
}
