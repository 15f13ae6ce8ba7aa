//! The services on a real systemd: their sandbox, who owns what, and coming back after being killed.

use postern_tests::{Installed, Release, on_each_release};

on_each_release!(
    reaches_the_sandbox_figures,
    starting_the_agent_changes_no_owner_of_roots_state,
    a_killed_program_comes_back,
    a_killed_helper_does_not_lose_a_running_installation,
);

/// `systemd-analyze security` of each unit, and the most that it may be.
fn reaches_the_sandbox_figures(release: Release) {
    let host = Installed::as_shipped(release);
    for (unit, most) in
        [("postern-gateway@x.service", 1.0), ("postern-helper.service", 2.0), ("postern-agent.service", 1.6)]
    {
        let report = host.root(&["systemd-analyze", "security", "--no-pager", unit]).ok();
        let line = report.lines().last().unwrap_or_default().to_owned();
        let exposure: f64 = line
            .split(": ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("no figure in {line:?}"));
        assert!(exposure <= most, "{unit}: {line}");
    }
}

fn starting_the_agent_changes_no_owner_of_roots_state(release: Release) {
    let host = Installed::as_shipped(release);
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    let roots = "find /var/lib/postern-helper /run/postern /run/postern-helper /etc/postern /var/log/postern \
                 -printf '%p %u:%g %m\\n' | sort";
    let before = host.shell(roots).ok();
    assert!(before.contains("/var/lib/postern-helper/policy/accepted.pb root:root 600"), "{before}");
    assert!(before.contains("/var/log/postern/audit.jsonl root:postern-auditors 640"), "{before}");
    let _ =
        host.shell("systemctl restart postern-agent.service; systemctl is-active postern-agent.service").ok();
    assert_eq!(host.shell(roots).ok(), before);
    assert_eq!(host.shell("stat -c '%U %a' /var/lib/postern").ok(), "postern 700\n");
}

fn a_killed_program_comes_back(release: Release) {
    let host = Installed::as_shipped(release);
    let ask = || host.visitor(&["postern", "service", "status", "dbus"]);
    let _ = ask().ok();
    for unit in ["postern-agent.service", "postern-helper.service", "postern-gateway@*.service"] {
        host.kill(unit, "KILL");
        let answer = ask();
        assert_eq!(
            answer.code,
            0,
            "after {unit} was killed: {answer}\n{}",
            host.journal("postern-helper.service")
        );
    }
    // A hundred times as fast as systemd starts it again.
    for unit in ["postern-helper.service", "postern-agent.service"] {
        let killed = host.shell(&format!(
            "n=0; last=0; while [ $n -lt 100 ]; do pid=$(systemctl show --value -p MainPID {unit}); \
             if [ \"$pid\" != 0 ] && [ \"$pid\" != \"$last\" ]; then kill -9 \"$pid\" 2>/dev/null || true; n=$((n+1)); last=$pid; fi; done; echo $n"
        ));
        assert_eq!(killed.ok(), "100\n");
        let answer = ask();
        assert_eq!(answer.code, 0, "after 100 kills of {unit}: {answer}\n{}", host.journal(unit));
    }
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

fn a_killed_helper_does_not_lose_a_running_installation(release: Release) {
    let host = Installed::on(release);
    host.publish("slow-test", "1.0", "sleep 20; echo done > /var/tmp/slow-test");
    host.grant(
        r#"
[[rule]]
id = "slow-test"
client = "agent"
verbs = ["package.install"]
packages = ["slow-test"]
decision = "allow"
justification = "a package that takes its time"
matches = [{ packages = ["slow-test"] }]
"#,
    );
    let _ = host.visitor(&["postern", "package", "update"]).ok();
    let _ = host
        .shell(
            "systemd-run --collect --unit slow --uid visitor -p RemainAfterExit=yes -- postern package install slow-test; \
             for i in $(seq 100); do dpkg -s slow-test 2>/dev/null | grep -q half-configured && break; sleep 0.1; done; \
             sleep 16; test ! -e /var/tmp/slow-test; systemctl kill -s KILL postern-helper.service",
        )
        .ok();
    let waited = host.shell(
        "for i in $(seq 400); do [ \"$(systemctl show --value -p SubState slow.service)\" = running ] || break; sleep 0.1; done; \
         systemctl show --value -p ExecMainStatus slow.service; dpkg -s slow-test | grep ^Status; cat /var/tmp/slow-test",
    );
    assert_eq!(
        waited.clone().ok(),
        "0\nStatus: install ok installed\ndone\n",
        "{}{}",
        host.journal("slow.service"),
        host.journal("postern-helper.service")
    );
}
