//! The Debian package: what it installs, upgrades, removes and purges.

use std::collections::BTreeSet;

use postern_tests::{Installed, Release, deb, on_each_release};
use serde_json::json;

on_each_release!(
    installs_what_the_contract_names,
    the_examples_of_the_package_are_taken_as_they_are,
    an_upgrade_keeps_policy_log_and_service,
    an_upgrade_in_the_middle_of_an_order_leaves_one_end,
    an_upgrade_in_the_middle_of_a_task_loses_and_repeats_nothing,
    a_removal_and_a_new_installation_lose_nothing,
    a_removal_in_the_middle_of_a_task_leaves_one_end,
    a_purge_leaves_the_audit_log_alone,
    a_purge_takes_the_audit_log_when_asked,
    a_backup_outlives_a_purge,
);

fn installs_what_the_contract_names(release: Release) {
    let host = Installed::as_shipped(release);
    let found = host
        .shell(
            "stat -c '%n %U:%G %a' /etc/postern /etc/postern/policy.d /etc/postern/runbooks.d /usr/share/postern/runbooks /etc/postern/policy.toml /etc/postern/agent.toml \
             /run/postern /run/postern/*.sock /run/postern/internal /run/postern/internal/*.sock /run/postern-* /var/lib/postern-* /var/log/postern \
             /usr/bin/postern /usr/bin/postern-admin /usr/libexec/postern/postern-*",
        )
        .ok();
    let expected = "\
/etc/postern root:postern-auditors 751
/etc/postern/policy.d root:postern-auditors 750
/etc/postern/runbooks.d root:root 755
/usr/share/postern/runbooks root:root 755
/etc/postern/policy.toml root:postern-auditors 640
/etc/postern/agent.toml root:postern 640
/run/postern root:root 755
/run/postern/agent.sock root:postern-users 660
/run/postern/helper.sock root:postern-clients 660
/run/postern/operator.sock root:postern-operators 660
/run/postern/person.sock root:postern-users 660
/run/postern/tool-ports.sock root:postern 660
/run/postern/tool.sock root:postern 660
/run/postern/internal root:root 711
/run/postern/internal/announce.sock root:postern-audit 660
/run/postern/internal/asked.sock root:postern-audit 660
/run/postern/internal/files.sock root:postern-audit 660
/run/postern/internal/gateway.sock root:postern-broker 660
/run/postern/internal/probe.sock root:postern-broker 660
/run/postern/internal/recorder.sock root:postern-broker 660
/run/postern/internal/units.sock root:postern-audit 660
/run/postern-audit postern-audit:postern-audit 700
/run/postern-jobs root:root 700
/run/postern-metrics root:root 755
/run/postern-root root:root 755
/var/lib/postern-admin root:root 755
/var/lib/postern-audit postern-audit:postern-audit 700
/var/lib/postern-broker postern-broker:postern-broker 700
/var/lib/postern-files postern-files:postern-files 700
/var/lib/postern-policy root:postern-policy 750
/var/lib/postern-root root:root 700
/var/lib/postern-tool root:postern-tool 750
/var/log/postern postern-audit:postern-auditors 750
/usr/bin/postern root:root 755
/usr/bin/postern-admin root:root 755
/usr/libexec/postern/postern-audit root:root 755
/usr/libexec/postern/postern-broker root:root 755
/usr/libexec/postern/postern-command root:root 755
/usr/libexec/postern/postern-files root:root 711
/usr/libexec/postern/postern-gateway root:root 755
/usr/libexec/postern/postern-packages root:root 755
/usr/libexec/postern/postern-probe root:root 755
/usr/libexec/postern/postern-units root:root 755
";
    assert_eq!(found, expected);
    assert_eq!(host.shell("systemctl --failed --plain --no-legend").ok(), "");
    let enabled = host
        .shell("systemctl is-enabled postern-broker.service postern-audit.service postern-agent.service postern-helper.socket")
        .ok();
    assert_eq!(enabled, "enabled\n".repeat(4));
    assert_eq!(host.shell("id -nG postern").ok(), "postern postern-clients\n");
    let pages = [
        "man1/postern.1",
        "man5/postern-agent.toml.5",
        "man5/postern-audit.5",
        "man5/postern-policy.5",
        "man5/postern-shell-rules.5",
        "man7/postern-packs.7",
        "man8/postern-admin.8",
    ];
    // Debian's minimal images leave pages and documents out at installation.
    let listed = host.shell("dpkg -L postern").ok();
    for page in pages {
        assert!(listed.lines().any(|line| line == format!("/usr/share/man/{page}.gz")), "{page}");
    }
    for example in [
        "demo.toml",
        "every-feature.toml",
        "validators.toml",
        "prometheus-alerts.yml",
        "agent.toml",
        "shell-rules.yaml",
    ] {
        let path = format!("/usr/share/doc/postern/examples/{example}");
        assert!(listed.lines().any(|line| line.strip_suffix(".gz").unwrap_or(line) == path), "{path}");
    }
    // Nothing of units, sockets and powers is wrong on a sound installation; a group that is root's is.
    let wrong = |check: &str| {
        let checks = host.root(&["postern-admin", "doctor", "--json"]).json();
        let checks = checks["checks"].as_array().expect("checks").clone();
        assert!(checks.iter().any(|one| one["check"] == check), "{checks:?}");
        checks.into_iter().any(|one| one["check"] == check && one["state"] == "wrong")
    };
    assert!(!wrong("units") && !wrong("powers"));
    let _ = host.shell("groupadd --force docker && usermod --append --groups docker postern").ok();
    assert!(wrong("powers"));
}

/// The files of /usr/share/doc/postern/examples, by the programs of the package. A minimal image leaves documents out, so they
/// are taken from the package itself.
fn the_examples_of_the_package_are_taken_as_they_are(release: Release) {
    let host = Installed::as_shipped(release);
    host.copy_in(&deb(), "/var/tmp/examples.deb");
    let unpacked = "dpkg-deb --fsys-tarfile /var/tmp/examples.deb |
        tar --extract --directory /var/tmp --strip-components=5 --no-same-owner ./usr/share/doc/postern/examples";
    let _ = host.shell(unpacked).ok();
    for policy in ["demo", "every-feature"] {
        let path = format!("/var/tmp/examples/{policy}.toml");
        let _ = host.root(&["postern-admin", "policy", "check", &path]).ok();
    }
    // The rows of validators are for a copy in policy.d, as their file says.
    let rows = "install -m 0640 /var/tmp/examples/validators.toml /etc/postern/policy.d/";
    let _ = host
        .shell(&format!("{rows}; postern-admin policy check; rm /etc/postern/policy.d/validators.toml"))
        .ok();
    let accounts = "groupadd ci-runners; groupadd web; useradd ann
        useradd --system --user-group --home-dir /srv/application --shell /bin/sh application
        install -d /srv/motd /srv/site /srv/in /srv/out /var/www/html /etc/nftables.d
        install -d --owner application --group application /srv/application
        install -m 0640 /var/tmp/examples/every-feature.toml /etc/postern/policy.toml";
    let _ = host.shell(accounts).ok();
    let applied = host.root(&["postern-admin", "policy", "apply", "--yes"]);
    assert_eq!(applied.code, 0, "{applied}");
    assert!(applied.stdout.contains("accepted: 2 clients"), "{applied}");
    assert_eq!(host.shell("systemctl --failed --plain --no-legend").ok(), "");
    // Written and read under it, so that what was applied is in force.
    let written = host.root(&[
        "postern-admin",
        "policy",
        "explain",
        "file.write",
        "/srv/motd/motd",
        "--client",
        "agent",
    ]);
    assert_eq!(written.code, 0, "{written}");
    for (example, file) in [("agent.toml", "agent.toml"), ("shell-rules.yaml", "shell-rules.yaml")] {
        let install = format!("install -m 0640 -g postern /var/tmp/examples/{example} /etc/postern/{file}");
        let _ = host.shell(&install).ok();
        let _ = host.root(&["postern", "config", "check"]).ok();
    }
    let shown = host.root(&["postern", "config", "show"]).ok();
    assert!(shown.contains("qwen3:14b"), "{shown}");
    let rules = host.root(&["postern", "shell", "rules"]).ok();
    assert!(rules.contains("site.deploy"), "{rules}");
}

fn an_upgrade_keeps_policy_log_and_service(release: Release) {
    let host = Installed::on(release);
    let digest = "sha256sum /etc/postern/policy.toml /var/lib/postern-policy/accepted.pb";
    let before = host.shell(digest).ok();
    let lines = host.shell("wc -l < /var/log/postern/audit.jsonl").ok();
    let helper = host.main_pid("postern-broker.service");
    // As with a package of before person.sock: recorder and clients do without, and a doctor says so.
    let _ =
        host.shell("systemctl mask --runtime --now postern-person.socket; rm /run/postern/person.sock").ok();
    let _ = host.shell("systemctl restart postern-audit.service").ok();
    assert!(!quotes_a_session(&host));
    let doctor = host.root(&["postern-admin", "doctor"]);
    assert!(doctor.stdout.contains("postern-person.socket"), "{doctor}");
    let _ = host.shell("systemctl unmask --runtime postern-person.socket").ok();
    let _ = host.shell("systemctl disable --now postern-agent.socket").ok();
    let _ = host.install_deb(&deb()).ok();
    // The policy differs from the package's: dpkg must neither ask nor replace it.
    assert_eq!(host.shell(digest).ok(), before);
    assert_ne!(host.main_pid("postern-broker.service"), helper, "the new program runs");
    assert_eq!(host.root(&["systemctl", "is-enabled", "postern-agent.socket"]).stdout, "disabled\n");
    let _ = host.shell("systemctl enable --now postern-agent.socket").ok();
    assert!(quotes_a_session(&host), "the upgrade opened person.sock, though the recorder ran");
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
    let more = host.shell("wc -l < /var/log/postern/audit.jsonl").ok();
    assert!(more.trim().parse::<u32>().ok() > lines.trim().parse::<u32>().ok(), "{lines} then {more}");
    missing_grants_are_named_from_refusals_and_by_a_rehearsal(&host);
    a_backup_brings_the_policy_back(&host);
    completions_in_bash_know_what_is_granted(&host);
}

/// Whether the helper records an open session of the visitor for a request of theirs.
fn quotes_a_session(host: &Installed) -> bool {
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    let log = host.shell("grep unit.status /var/log/postern/audit.jsonl | tail -n 1").ok();
    let record: serde_json::Value = serde_json::from_str(&log).expect("a record");
    assert!(record["claimed_by"]["uid"].is_u64(), "{log}");
    record["asked_by"]["uid"] == record["claimed_by"]["uid"]
}

/// `policy suggest` and `policy rehearse` on the log of a real recorder.
fn missing_grants_are_named_from_refusals_and_by_a_rehearsal(host: &Installed) {
    assert_eq!(host.visitor(&["postern", "service", "reload", "cron"]).code, 3);
    let suggested = host.root(&["postern-admin", "policy", "suggest", "--since", "10m"]);
    let rule = "verbs = [\"unit.reload\"]\nunits = [\"cron.service\"]\n";
    assert!(suggested.code == 0 && suggested.stdout.contains(rule), "{suggested}");
    let rehearse =
        |task: &str| host.root(&["postern-admin", "policy", "rehearse", "--user", "visitor", task]);
    let refused = rehearse("restart cron");
    assert_eq!(refused.code, 3, "{refused}");
    assert!(refused.stdout.contains("# refused  unit.restart cron.service"), "{refused}");
    assert!(refused.stdout.contains("units = [\"cron.service\"]"), "{refused}");
    assert!(refused.stdout.contains("# pack services covers suggested-1"), "{refused}");
    let before = host.shell("systemctl show --value -p MainPID dbus.service").ok();
    let granted = rehearse("is dbus running");
    assert!(granted.code == 0 && granted.stdout.contains("# granted  unit.status dbus.service"), "{granted}");
    assert_eq!(host.shell("systemctl show --value -p MainPID dbus.service").ok(), before);
}

fn a_backup_brings_the_policy_back(host: &Installed) {
    let digest = "sha256sum /etc/postern/policy.toml /var/lib/postern-policy/accepted.pb | cut -c1-64";
    let _ = host.root(&["postern-admin", "backup", "/root/postern.backup"]).ok();
    let before = host.shell("sha256sum /etc/postern/policy.toml").ok();
    let _ = host
        .shell("sed -i 's/max_bytes = 1048576/max_bytes = 4096/' /etc/postern/policy.toml; postern-admin policy apply --yes")
        .ok();
    let changed = host.shell(digest).ok();
    let restored = host.root(&["postern-admin", "restore", "/root/postern.backup", "--yes"]);
    assert_eq!(restored.code, 0, "{restored}");
    assert!(restored.stdout.contains("the audit log is unchanged up to record"), "{restored}");
    assert_eq!(host.shell("sha256sum /etc/postern/policy.toml").ok(), before);
    assert_ne!(host.shell(digest).ok(), changed, "the accepted policy too");
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
}

/// The installed script, with the words that bash hands to it.
fn completions_in_bash_know_what_is_granted(host: &Installed) {
    let complete = |words: &str| {
        host.shell(&format!(
            "bash -c '. /usr/share/bash-completion/completions/postern-admin
            COMP_WORDS=({words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)) COMP_TYPE=9
            _clap_complete_postern_admin postern-admin \"${{COMP_WORDS[COMP_CWORD]}}\"
            printf \"%s \" \"${{COMPREPLY[@]}}\"'"
        ))
        .ok()
    };
    assert_eq!(complete("postern-admin policy reh").trim(), "rehearse");
    assert_eq!(complete("postern-admin policy explain unit.relo").trim(), "unit.reload");
    assert_eq!(complete("postern-admin policy explain unit.reload nginx.").trim(), "nginx.service");
    assert_eq!(complete("postern-admin policy explain package.install nginx-").trim(), "nginx-light");
    let rules = complete("postern-admin audit show --rule web-");
    assert_eq!(
        rules.split_whitespace().collect::<BTreeSet<_>>(),
        ["web-content", "web-packages", "web-unit"].into()
    );
    assert_eq!(complete("postern-admin pack add web-n").trim(), "web-nginx");
    let id = host.shell(
        "grep -o '\"request_id\":\"[0-9a-f-]*' /var/log/postern/audit.jsonl | tail -n 1 | cut -d'\"' -f4",
    );
    let id = id.ok();
    assert_eq!(
        complete(&format!("postern-admin audit show --request {}", &id.trim()[..30])).trim(),
        id.trim()
    );
}

/// Grants the start of a unit that takes 20 s.
fn with_a_slow_unit(host: &Installed) {
    host.grant(
        r#"
[[rule]]
id = "slow-unit"
client = "agent"
verbs = ["unit.start"]
units = ["slow.service"]
decision = "allow"
justification = "a unit that takes its time"
matches = [{ unit = "slow.service" }]
"#,
    );
    let _ = host
        .shell(
            "printf '[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/sleep 20\\n' > /etc/systemd/system/slow.service; \
             systemctl daemon-reload",
        )
        .ok();
}

/// Asks for the start of the slow unit by the command, and puts the package in again while it starts.
fn upgrade_while_the_slow_unit_starts(host: &Installed, command: &str) {
    let _ = host
        .shell(&format!(
            "systemd-run --collect --unit asker --uid visitor -- {command}; \
             timeout 60 sh -c 'until systemctl is-active slow | grep -q activating; do sleep 0.1; done'"
        ))
        .ok();
    let _ = host.install_deb(&deb()).ok();
    let _ = host
        .shell("timeout 60 sh -c 'until systemctl is-active slow | grep -qx active; do sleep 0.1; done'")
        .ok();
}

/// A task of three steps: the second is in root's hands when the package is replaced.
fn an_upgrade_in_the_middle_of_a_task_loses_and_repeats_nothing(release: Release) {
    let host = Installed::on(release);
    with_a_slow_unit(&host);
    host.with_model(
        &json!([
            { "tool": "write_file", "args": { "path": "/var/www/html/index.html", "content": "before\n" } },
            { "tool": "service", "args": { "action": "start", "name": "slow" } },
            { "tool": "service", "args": { "action": "status", "name": "slow" } },
            { "tool": "finish", "args": { "outcome": "done", "summary": "slow was started" } },
        ]),
        "",
    );
    let _ = host.shell("mkdir -p /var/www/html").ok();
    upgrade_while_the_slow_unit_starts(&host, "postern run 'write the page, then start slow'");
    let tasks = host.visitor(&["postern", "tasks", "list", "--json"]).json();
    let id = tasks[0]["id"].as_str().expect("an id");
    // An agent that is in time ends the task; one that had to end goes on where it was.
    let shown = host.visitor(&["postern", "tasks", "show", id, "--json"]);
    let told = match shown.json()["status"].as_str() {
        Some("interrupted") => host.visitor(&["postern", "tasks", "resume", id, "--json"]).json(),
        _ => shown.json(),
    };
    assert_eq!(told["status"], "completed", "{told}\n{}", host.journal("postern-agent.service"));
    assert_eq!(host.shell("cat /var/www/html/index.html").ok(), "before\n");
    let log = host.shell("cat /var/log/postern/audit.jsonl").ok();
    let records: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    for verb in ["file.write", "unit.start"] {
        let events: Vec<_> = records
            .iter()
            .filter(|record| record["task"] == id && record["verb"] == verb)
            .map(|record| record["event"].as_str().unwrap_or_default())
            .collect();
        assert_eq!(events, ["begin", "end"], "{verb} in {log}");
    }
    let results = told["results"].as_array().expect("results");
    let went: Vec<_> = results.iter().map(|r| (r["tool"].as_str(), r["status"].as_str())).collect();
    assert_eq!(
        went,
        [(Some("write_file"), Some("ok")), (Some("service"), Some("ok")), (Some("service"), Some("ok"))],
        "{told}"
    );
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

/// The installed scripts, in the shells that read them; bash's is in the test of an upgrade.
#[test]
fn completions_in_zsh_and_fish_know_what_is_granted() {
    let host = Installed::on_offering(Release::Trixie, &["zsh", "fish"]);
    let _ = host.shell("DEBIAN_FRONTEND=noninteractive apt-get -q -y install zsh fish >&2").ok();
    let fish = |words: &str| {
        let found = host.shell(&format!("fish -c 'complete --do-complete \"{words}\"'")).ok();
        found.lines().map(|line| line.split('\t').next().unwrap_or(line).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(fish("postern-admin policy reh"), ["rehearse"]);
    assert_eq!(fish("postern-admin policy explain unit.reload nginx."), ["nginx.service"]);
    assert_eq!(fish("postern runbook sh"), ["show"]);
    // zsh completes at a terminal alone: what Tab makes of the words is run.
    let answers = json!([
        ["PROMPT", "autoload -Uz compinit && compinit -u; echo rea''dy"],
        ["ready", "postern-admin policy reh\t--help"],
        [
            "Usage: postern-admin policy rehearse",
            "postern-admin policy explain --client agent unit.reload nginx.\t"
        ],
        ["nginx.service", "postern runbook sh\t--help"],
        ["Usage: postern runbook show", "exit"],
    ]);
    let zsh = host.at_a_terminal(&answers, "PS1='PROMPT ' TERM=dumb zsh -f -i");
    assert_eq!(zsh.code, 0, "{zsh}");
}

/// The log has one begin of the start of the slow unit, and one record that ends it.
#[track_caller]
fn the_start_has_one_end(host: &Installed) {
    let events = host
        .shell(
            "grep -h '\"verb\":\"unit.start\"' /var/log/postern/audit.jsonl | grep -o '\"event\":\"[a-z]*\"'",
        )
        .ok();
    let events: Vec<&str> = events.lines().collect();
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0], "\"event\":\"begin\"");
    assert!(["\"event\":\"end\"", "\"event\":\"interrupted\""].contains(&events[1]), "{events:?}");
}

fn an_upgrade_in_the_middle_of_an_order_leaves_one_end(release: Release) {
    let host = Installed::on(release);
    with_a_slow_unit(&host);
    upgrade_while_the_slow_unit_starts(&host, "postern service start slow");
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    the_start_has_one_end(&host);
    assert_eq!(host.property("slow.service", "ActiveState"), "active");
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

/// Lists remains of Postern except its users: names of files and of units that systemd knows.
const LEFT: &str = "find / -xdev -iname '*postern*' -not -path '/proc/*' -not -path '/sys/*' | sort; \
                    systemctl list-units --all --plain --no-legend 'postern*'; \
                    systemctl list-unit-files --no-legend 'postern*' || true; \
                    find /run -iname '*postern*'; pgrep -l postern || true";

const KEPT: &str = r#"
[[rule]]
id = "test-keep"
client = "agent"
verbs = ["file.write"]
directories = ["/etc/test-keep"]
files = ["*"]
keep_within = "45s"
decision = "allow"
justification = "settings that can lock people out"
accept_risk = { "*" = "a test" }
"#;

/// Removed and installed again: policy, tasks, schedules, undo and log are as before, a change that nobody kept is named at the
/// removal and taken back afterwards.
fn a_removal_and_a_new_installation_lose_nothing(release: Release) {
    let host = Installed::on(release);
    let _ = host.shell("install -d /etc/test-keep /var/www/html; echo old > /etc/test-keep/a").ok();
    host.grant(KEPT);
    let page = "/var/www/html/index.html";
    let wrote = host.visitor(&["postern", "--json", "file", "write", page, "--content", "a page"]).json();
    assert_eq!(wrote["status"], "done", "{wrote}");
    let _ = host.visitor(&["postern", "run", "--at", "daily 02:00", "is dbus running"]).ok();
    let _ = host.visitor(&["postern", "run", "is dbus running"]).ok();
    let state = "sha256sum /var/lib/postern-policy/accepted.pb; runuser -u visitor -- postern tasks list --json; \
                 runuser -u visitor -- postern schedule list --json; \
                 systemctl is-enabled postern-broker.service postern-audit.service postern-agent.service postern-helper.socket \
                     postern-operator.socket postern-agent.socket";
    let before = host.shell(state).ok();
    let lines = |log: String| log.trim().parse::<u64>().expect("a number");
    let logged = lines(host.shell("wc -l < /var/log/postern/audit.jsonl").ok());
    let unkept =
        host.visitor(&["postern", "--json", "file", "write", "/etc/test-keep/a", "--content", "new"]).json();
    let unkept = unkept["request_id"].as_str().expect("an id").to_owned();
    let removed = host.shell("apt-get -q -y remove postern 2>&1").ok();
    assert!(
        removed.contains("nothing takes them back") && removed.contains(&format!("postern keep {unkept}")),
        "{removed}"
    );
    let masked = host.shell("systemctl is-enabled postern-agent.socket postern-helper.socket || true").ok();
    assert_eq!(masked, "masked\nmasked\n");
    assert_eq!(host.shell("pgrep -l postern || true").ok(), "");
    // Its time passes while nobody is there.
    assert_eq!(host.shell("sleep 46; cat /etc/test-keep/a").ok().trim(), "new");

    let _ = host.install_deb(&deb()).ok();
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    assert_eq!(host.shell(state).ok(), before);
    assert_eq!(host.shell("systemctl --failed --plain --no-legend").ok(), "");
    let _ = host
        .shell("for n in $(seq 250); do grep -q old /etc/test-keep/a && exit 0; sleep 0.1; done; exit 1")
        .ok();
    let _ = host.visitor(&["postern", "undo", wrote["request_id"].as_str().expect("an id")]).ok();
    assert_eq!(host.shell(&format!("cat {page} 2>/dev/null || true")).ok().matches("a page").count(), 0);
    assert!(lines(host.shell("wc -l < /var/log/postern/audit.jsonl").ok()) > logged);
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

/// The unit goes on starting without the package; the task and its request have one end each after the new installation.
fn a_removal_in_the_middle_of_a_task_leaves_one_end(release: Release) {
    let host = Installed::on(release);
    with_a_slow_unit(&host);
    let _ = host
        .shell(
            "systemd-run --collect --unit asker --uid visitor -- postern run 'start slow'; \
             timeout 60 sh -c 'until systemctl is-active slow | grep -q activating; do sleep 0.1; done'; \
             apt-get -q -y remove postern",
        )
        .ok();
    let _ = host
        .shell("timeout 60 sh -c 'until systemctl is-active slow | grep -qx active; do sleep 0.1; done'")
        .ok();
    let _ = host.install_deb(&deb()).ok();
    let tasks = host.visitor(&["postern", "tasks", "list", "--json"]).json();
    assert_eq!(tasks.as_array().map(Vec::len), Some(1), "{tasks}");
    let status = tasks[0]["status"].as_str().unwrap_or_default();
    assert!(!["running", "waiting", "queued"].contains(&status), "{tasks}");
    the_start_has_one_end(&host);
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

fn a_purge_leaves_the_audit_log_alone(release: Release) {
    let host = Installed::on(release);
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    let _ = host.shell("apt-get -q -y remove postern").ok();
    let _ = host.shell("test -e /etc/postern/policy.toml -a -e /var/lib/postern-policy/accepted.pb").ok();
    let _ = host.shell("apt-get -q -y purge postern").ok();
    assert_eq!(host.shell(LEFT).ok(), "/var/lib/postern\n/var/log/postern\n");
    assert_eq!(host.shell("ls /var/lib/postern").ok(), "audit\n");
    assert_ne!(host.shell("wc -l < /var/log/postern/audit.jsonl").ok(), "0\n");

    // The kept log goes on when the package comes back.
    let _ = host.install_deb(&deb()).ok();
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

/// Purged with its log, installed anew, restored: policy, configuration and sign-off are as before; the rest is named.
fn a_backup_outlives_a_purge(release: Release) {
    let host = Installed::on(release);
    let state = "postern-admin status --json | grep -o '\"digest\": *\"[0-9a-f]*' | sort -u; postern-admin status | grep sign-off; postern config show; \
                 stat -c '%n %U:%G %a' /etc/postern/agent.toml /etc/postern/shell-rules.yaml /etc/postern/prompt.d/site.md; \
                 cat /etc/postern/policy.d/*.toml /etc/postern/shell-rules.yaml /etc/postern/prompt.d/site.md";
    let _ = host
        .shell(
            "printf '\\n# a note\\n' >>'/etc/postern/policy.d/a note.toml'; printf 'The site.\\n' >/etc/postern/prompt.d/site.md
            printf '\\n[limits]\\nsteps = 7\\n' >>/etc/postern/agent.toml
            printf 'version: 1\\nrules: []\\n' >/etc/postern/shell-rules.yaml
            postern config check && postern-admin policy apply --yes && postern-admin policy sign-off --yes
            postern-admin pause --reason maintenance && postern-admin backup /root/postern.backup",
        )
        .ok();
    let before = host.shell(state).ok();
    let _ = host
        .shell("POSTERN_PURGE_AUDIT=yes apt-get -q -y purge postern; gpasswd -d visitor postern-users")
        .ok();
    let _ = host.install_deb(&deb()).ok();
    assert_ne!(host.shell(state).stdout, before);
    let restored = host.root(&["postern-admin", "restore", "/root/postern.backup", "--yes"]);
    assert_eq!(restored.code, 0, "{restored}");
    assert!(restored.stdout.contains("next: usermod --append --groups postern-users visitor"), "{restored}");
    assert!(restored.stdout.contains("the host was paused (maintenance)"), "{restored}");
    assert!(restored.stdout.contains("WARNING: "), "{restored}");
    assert_eq!(host.shell(state).ok(), before);
    let _ = host.shell("usermod --append --groups postern-users visitor").ok();
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
}

fn a_purge_takes_the_audit_log_when_asked(release: Release) {
    let host = Installed::as_shipped(release);
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    let _ = host.shell("POSTERN_PURGE_AUDIT=yes apt-get -q -y purge postern").ok();
    assert_eq!(host.shell(LEFT).ok(), "");
}
