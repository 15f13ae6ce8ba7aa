//! The services on a real systemd: their sandbox, who owns what, and coming back after being killed.

use postern_tests::{Installed, Release, on_each_release};

on_each_release!(
    reaches_the_sandbox_figures,
    starting_the_agent_changes_no_owner_of_roots_state,
    a_killed_program_comes_back,
    killed_programs_do_not_lose_a_running_installation,
    no_program_of_roots_runs_without_an_order,
);

/// `systemd-analyze security` of each unit, and the most that it may be.
fn reaches_the_sandbox_figures(release: Release) {
    let host = Installed::as_shipped(release);
    for (unit, most) in [
        ("postern-gateway@x.service", 0.5),
        ("postern-broker.service", 0.8),
        ("postern-audit.service", 0.8),
        ("postern-probe.service", 0.8),
        ("postern-files.service", 1.0),
        ("postern-units.service", 1.3),
        ("postern-agent.service", 1.6),
    ] {
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
    let roots = "find /var/lib/postern-* /run/postern /run/postern-* /etc/postern /var/log/postern \
                 -printf '%p %u:%g %m\\n' | sort";
    let before = host.shell(roots).ok();
    assert!(before.contains("/var/lib/postern-policy/accepted.pb root:postern-policy 640"), "{before}");
    assert!(before.contains("/var/log/postern/audit.jsonl postern-audit:postern-auditors 640"), "{before}");
    let _ =
        host.shell("systemctl restart postern-agent.service; systemctl is-active postern-agent.service").ok();
    assert_eq!(host.shell(roots).ok(), before);
    assert_eq!(host.shell("stat -c '%U %a' /var/lib/postern").ok(), "postern 700\n");
}

fn a_killed_program_comes_back(release: Release) {
    let host = Installed::as_shipped(release);
    let ask = || host.visitor(&["postern", "service", "status", "dbus"]);
    let _ = ask().ok();
    for unit in [
        "postern-agent.service",
        "postern-broker.service",
        "postern-audit.service",
        "postern-probe.service",
        "postern-gateway@*.service",
    ] {
        host.kill(unit, "KILL");
        let answer = ask();
        assert_eq!(answer.code, 0, "after {unit} was killed: {answer}\n{}", host.journal("postern-*"));
    }
    // A hundred times as fast as systemd starts it again.
    for unit in ["postern-broker.service", "postern-audit.service", "postern-agent.service"] {
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

fn killed_programs_do_not_lose_a_running_installation(release: Release) {
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
             sleep 16; test ! -e /var/tmp/slow-test; systemctl kill -s KILL postern-broker.service postern-audit.service postern-units.service",
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
        host.journal("postern-*")
    );
}

fn no_program_of_roots_runs_without_an_order(release: Release) {
    let host = Installed::on(release);
    let running = "pgrep -l 'postern-(files|units|packa|comma|probe)' || true";
    let _ = host.visitor(&["postern", "file", "write", "/var/www/html/a.html", "--content", "a"]);
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    assert!(host.shell(running).ok().contains("postern-probe"), "the control");
    // They end 45 s after their last order.
    let _ = host.root(&["sleep", "70"]).ok();
    assert_eq!(host.shell(running).ok(), "");
}
