//! The services on a real systemd: their sandbox, who owns what, and coming back after being killed.

use postern_tests::{Installed, Release, deb, on_each_release};

on_each_release!(
    reaches_the_sandbox_figures,
    starting_the_agent_changes_no_owner_of_roots_state,
    a_killed_program_comes_back,
    killed_programs_do_not_lose_a_running_installation,
    no_program_of_roots_runs_without_an_order,
    postern_files_confines_itself_further_than_its_unit_does,
    the_helpers_metrics_are_written_by_a_timer_that_is_disabled_at_first,
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
        ("postern-units.service", 1.0),
        ("postern-agent.service", 1.3),
        ("postern-metrics.service", 2.0),
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
    schedules_run_under_their_person_s_rights(&host);
}

/// A time, a failed unit, a time that passes while the agent is off, and a person who loses the group.
const SCHEDULES: &str = r#"
as() { runuser -u visitor -- postern "$@"; }
at() { date -u -d "+$1 seconds" '+%F %T UTC'; }
id() { grep -o '"id":"[0-9a-f-]*' | head -n 1 | cut -d'"' -f4; }
shows() {
    for _ in $(seq 100); do
        if postern schedule show "$1" | grep -q "$2"; then return 0; fi
        sleep 0.2
    done
    echo "no $2:"; postern schedule show "$1"; journalctl -q --no-pager -u postern-agent.service | tail -n 20
    return 1
}
runs() { postern schedule show "$1" | grep -c '^  task '; }
cd /var/tmp
as plan --json 'is dbus running' > check.json
printf '[Service]\nType=oneshot\nExecStart=/bin/false\n' > /run/systemd/system/broken.service
systemctl daemon-reload

failed=$(as run --json --on-failed broken --plan check.json | id)
timed=$(as run --json --at "$(at 4)" --plan check.json | id)
! systemctl start broken.service
shows "$timed" ' completed: '
shows "$failed" ' completed: '

missed=$(as run --json --at "$(at 3)" --plan check.json | id)
systemctl stop postern-agent.service
sleep 4
systemctl start postern-agent.service
shows "$missed" ' completed: '
systemctl restart postern-agent.service
shows "$missed" ' ended at '
[ "$(runs "$missed") $(runs "$timed") $(runs "$failed")" = '1 1 1' ]

lost=$(as run --json --at "$(at 3)" --plan check.json | id)
gpasswd -d visitor postern-users > /dev/null
shows "$lost" ' refused: not run: visitor is no longer in the group postern-users'
shows "$lost" ' paused at '
gpasswd -a visitor postern-users > /dev/null
as schedule resume "$failed" | grep ' active when broken.service has failed: '
"#;

fn schedules_run_under_their_person_s_rights(host: &Installed) {
    let ran = host.shell(SCHEDULES);
    assert_eq!(ran.code, 0, "{ran}");
    let journal = host.journal("postern-agent.service");
    for event in ["schedule_added", "schedule_begins", "schedule_ended", "schedule_refused"] {
        assert!(journal.contains(event), "no {event} in {journal}");
    }
}

fn the_helpers_metrics_are_written_by_a_timer_that_is_disabled_at_first(release: Release) {
    let host = Installed::as_shipped(release);
    let state = "systemctl is-enabled postern-metrics.timer || true; systemctl is-active postern-metrics.timer || true";
    assert_eq!(host.shell(state).ok(), "disabled\ninactive\n");
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    // The minute is not waited for: this is what the timer starts.
    let _ = host
        .shell("systemctl enable --now postern-metrics.timer; systemctl start postern-metrics.service")
        .ok();
    assert_eq!(host.shell(state).ok(), "enabled\nactive\n");
    let file = "/run/postern-metrics/postern.prom";
    assert_eq!(host.shell(&format!("stat -c '%U %a' {file}")).ok(), "root 644\n");
    let written = host.visitor(&["cat", file]).ok();
    let as_root = host.root(&["postern-admin", "metrics"]).ok();
    let names = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        names(&written),
        names(&as_root),
        "its sandbox hides nothing: {}",
        host.journal("postern-metrics.service")
    );
    for line in ["postern_recorder_up 1", "postern_audit_writable 1", "postern_policy_files_match 1"] {
        assert!(written.lines().any(|one| one == line), "{line}: {written}");
    }
    // The choice outlives a removal, and a purge takes it away.
    let _ = host.shell("apt-get -q -y remove postern; test ! -e /run/postern-metrics").ok();
    let _ = host.install_deb(&deb()).ok();
    assert_eq!(host.shell(state).ok(), "enabled\nactive\n");
    let _ = host.shell("POSTERN_PURGE_AUDIT=yes apt-get -q -y purge postern").ok();
    assert_eq!(host.shell("find /etc/systemd /run -iname '*postern*'").ok(), "");
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
    let _ = host.root(&["mkdir", "-p", "/var/www/html"]).ok();
    let _ = host.visitor(&["postern", "file", "write", "/var/www/html/a.html", "--content", "a"]).ok();
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    assert!(host.shell(running).ok().contains("postern-probe"), "the control");
    // They end 45 s after their last order.
    let _ = host.root(&["sleep", "70"]).ok();
    assert_eq!(host.shell(running).ok(), "");
}

/// Its own seccomp filter comes after the unit's, and without Landlock it serves nobody.
fn postern_files_confines_itself_further_than_its_unit_does(release: Release) {
    const PROGRAM: &str = "/usr/libexec/postern/postern-files";
    let host = Installed::on(release);
    let _ = host.root(&["mkdir", "-p", "/var/www/html"]).ok();
    let write = || {
        let write = ["file", "write", "/var/www/html/a.html", "--content", "a"];
        host.visitor(&[&["postern", "--timeout", "10s"], &write[..]].concat())
    };
    let filters = || {
        let pid = host.main_pid("postern-files.service").expect("it runs");
        let status = host.shell(&format!("grep -E '^(Seccomp_filters|NoNewPrivs):' /proc/{pid}/status")).ok();
        let filters = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"));
        filters.and_then(|count| count.trim().parse::<u32>().ok()).unwrap_or_else(|| panic!("{status}"))
    };
    let with = |drop_in: &str| {
        host.shell(&format!(
            "systemctl stop postern-files.service
             mkdir -p /run/systemd/system/postern-files.service.d
             printf '[Service]\n{drop_in}\n' >/run/systemd/system/postern-files.service.d/test.conf
             systemctl daemon-reload"
        ))
        .ok()
    };
    let _ = write().ok();
    let own = filters();
    // Another program in the place of its own has the unit's filters alone.
    let _ = with(&format!("ExecStart=\\nExecStart={PROGRAM} 600"));
    let _ = host
        .shell(&format!("mount --bind /usr/bin/sleep {PROGRAM}; systemctl start postern-files.service"))
        .ok();
    let units = filters();
    assert!(own > units, "{own} filters, {units} of them its unit's");
    let _ = with("SystemCallFilter=~landlock_restrict_self");
    let _ = host.shell(&format!("umount {PROGRAM}")).ok();
    let refused = write();
    assert_ne!(refused.code, 0, "it serves without Landlock: {refused}");
    assert!(
        host.journal("postern-files.service").contains("Landlock"),
        "{}",
        host.journal("postern-files.service")
    );
    let _ = with("");
    let again = write();
    assert_eq!(again.code, 0, "the control: {again}\n{}", host.journal("postern-files.service"));
}
