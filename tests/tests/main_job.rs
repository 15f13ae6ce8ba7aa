//! The main job on a real Debian: an unprivileged agent installs, writes and starts through the helper.

use postern_tests::{Installed, Release, on_each_release};

const TASK: &str = "install nginx-light, write 'hello from postern' to /var/www/html/index.html and make sure nginx is running";

on_each_release!(
    does_the_main_job,
    answers_in_json,
    refuses_what_the_policy_does_not_grant,
    admits_only_members_of_postern_users,
    ships_a_policy_that_looks_only,
);

fn does_the_main_job(release: Release) {
    let host = Installed::on(release);
    let done = host.visitor(&["postern", "run", TASK]);
    assert_eq!(done.code, 0, "{done}\n{}", host.journal("postern-*"));
    assert_eq!(host.shell("curl -sf http://localhost/").ok(), "hello from postern\n");
    assert_eq!(host.property("nginx.service", "ActiveState"), "active");

    let pid = host.main_pid("postern-agent.service").expect("the agent runs");
    let status = host.shell(&format!("cat /proc/{pid}/status")).ok();
    let fields: Vec<_> = status.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert!(fields.contains(&vec!["NoNewPrivs:", "1"]), "{status}");
    assert!(fields.contains(&vec!["CapEff:", "0000000000000000"]), "{status}");
    assert!(fields.contains(&vec!["Seccomp:", "2"]), "{status}");
    assert_eq!(host.shell(&format!("stat -c %U /proc/{pid}")).ok(), "postern\n");

    let records = records(&host);
    for verb in ["package.install", "file.write"] {
        // The agent also asks for the size of the download, under an id of its own.
        let begin = records.iter().find(|r| r["verb"] == verb && r["event"] == "begin").expect(verb);
        let of_request = records.iter().filter(|r| r["request_id"] == begin["request_id"]);
        let events: Vec<_> = of_request.filter_map(|r| r["event"].as_str()).collect();
        assert_eq!(events, ["begin", "end"], "{verb}");
    }
    let begun = records.iter().find(|r| r["event"] == "begin").expect("a begin");
    assert_eq!(begun["client"]["name"], "agent");
    assert_eq!(begun["rule"], "web-packages");
    let visitor: u64 = host.shell("id -u visitor").ok().trim().parse().expect("a uid");
    assert_eq!(begun["claimed_by"]["uid"], visitor, "the person behind the task is named as a claim");
    let _ = host.visitor(&["postern", "service", "restart", "nginx"]).ok();
    host.grant(
        "[[command]]\nname = \"look\"\nargv = [\"/usr/bin/uname\", \"-s\"]\n\
         [[rule]]\nid = \"look\"\nclient = \"agent\"\nverbs = [\"command.run\"]\ncommands = [\"look\"]\n\
         decision = \"allow\"\njustification = \"one effect of each program of root\"\n",
    );
    assert_eq!(host.visitor(&["postern", "command", "look"]).ok(), "Linux\n");
    // Files, units, packages and commands: root named each effect in the journal before it acted.
    let verified = host.root(&["postern-admin", "audit", "verify", "--journal"]).ok();
    assert!(verified.contains("journal: 4 lines of root's, 4 effects as recorded"), "{verified}");
    let shown = host.root(&["postern-admin", "audit", "show"]).ok();
    assert!(shown.contains("package.install") && shown.contains("file.write"), "{shown}");

    // The same line again finds everything done, and says so with success.
    let again = host.visitor(&["postern", "run", TASK]);
    assert_eq!(again.code, 0, "{again}");
    sudo_fails_under_the_agents_unit(&host);
}

/// `sudo` is installed, and root allows it to the agent: only the unit stands in its way.
fn sudo_fails_under_the_agents_unit(host: &Installed) {
    let _ = host.shell("echo 'postern ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/test").ok();
    let control = host.run("postern", &["sudo", "-n", "true"]);
    assert_eq!(control.code, 0, "without the unit's sandbox sudo works: {control}");
    // A copy of the agent's unit with another program: the sandbox is the one that ships.
    let _ = host
        .shell(
            "sed 's#^ExecStart=.*#ExecStart=/usr/bin/sudo -n true#; s#^Restart=.*#Restart=no#; s#^Type=.*#Type=oneshot#; /postern-agent.socket/d' \
             /usr/lib/systemd/system/postern-agent.service > /run/systemd/system/sudo-as-agent.service; systemctl daemon-reload",
        )
        .ok();
    let refused = host.root(&["systemctl", "start", "sudo-as-agent.service"]);
    assert_ne!(refused.code, 0, "{refused}");
    let said = host.journal("sudo-as-agent.service");
    assert!(said.contains("no new privileges"), "{said}");
}

fn records(host: &Installed) -> Vec<serde_json::Value> {
    let log = host.root(&["cat", "/var/log/postern/audit.jsonl"]).ok();
    log.lines().map(|line| serde_json::from_str(line).expect("a record is one JSON object")).collect()
}

fn answers_in_json(release: Release) {
    let host = Installed::on(release);
    let status = host.visitor(&["postern", "service", "status", "dbus", "--json"]);
    assert_eq!(status.code, 0, "{status}");
    let answer = status.json();
    assert_eq!(answer["v"], 1);
    assert_eq!(answer["verb"], "unit.status");
    assert_eq!(answer["status"], "done");
    assert_eq!(answer["result"]["unit"]["active"], "active", "{answer}");

    let plan = host.visitor(&["postern", "package", "install", "nginx-light", "--dry-run", "--json"]);
    assert_eq!(plan.code, 0, "{plan}");
    let answer = plan.json();
    assert_eq!(answer["status"], "previewed");
    let steps = answer["plan"]["packages"].as_array().expect("steps").clone();
    assert!(steps.iter().any(|step| step["name"] == "nginx-light" && step["asked"] == true), "{answer}");
    assert_ne!(host.shell("dpkg -s nginx-light").code, 0, "a dry run changes nothing");
}

fn refuses_what_the_policy_does_not_grant(release: Release) {
    let host = Installed::on(release);
    for argv in [
        &["postern", "package", "install", "hello"][..],
        &["postern", "package", "install", "nginx-light-"],
        &["postern", "service", "restart", "dbus"],
        &["postern", "service", "status", "tmp.mount"],
        &["postern", "file", "write", "/etc/cron.d/x", "--content", "x"],
        &["postern", "file", "write", "/var/www/html/../../../etc/x.html", "--content", "x"],
        &["postern", "file", "read", "/etc/shadow"],
    ] {
        let refused = host.visitor(argv);
        assert!(matches!(refused.code, 2 | 3), "{refused}");
    }
    let _ = host.shell("test ! -e /etc/cron.d/x; test ! -e /etc/x.html; ! dpkg -s hello 2>/dev/null").ok();
    let refusals = records(&host).iter().filter(|r| r["event"] == "refused").count();
    assert!(refusals >= 5, "each refusal is a record, {refusals} found");
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

fn admits_only_members_of_postern_users(release: Release) {
    let host = Installed::on(release);
    let _ = host.root(&["useradd", "stranger"]).ok();
    let strange = host.run("stranger", &["postern", "service", "status", "dbus"]);
    assert_eq!(strange.code, 5, "{strange}");
    let direct = host.visitor(&["postern", "service", "status", "dbus", "--direct"]);
    assert_eq!(direct.code, 5, "a user is no client of the helper: {direct}");
}

fn ships_a_policy_that_looks_only(release: Release) {
    let host = Installed::as_shipped(release);
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    let _ = host.visitor(&["postern", "package", "show", "bash"]).ok();
    let refused = host.visitor(&["postern", "package", "install", "hello"]);
    assert_eq!(refused.code, 3, "{refused}");
    assert!(refused.stderr.contains("no_grant"), "{refused}");
}
