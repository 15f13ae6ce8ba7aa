//! `sudo` outside the agent's sandbox: requests of the user that runs it, or the real program.

use postern_tests::Installed;

use super::mcp::CODER;

const SHIMS: &str = r#"
[[client]]
name = "coder"
user = "coder"

[[rule]]
id = "coder-probe"
client = "coder"
verbs = ["unit.restart", "unit.stop"]
units = ["probe.service"]
decision = "allow"
justification = "the coder's own service"

[[rule]]
id = "coder-write"
client = "coder"
verbs = ["file.write"]
directories = ["/srv/coder"]
files = ["*.conf"]
decision = "allow"
justification = "the project's settings"
accept_risk = { "*" = "a test" }

[[rule]]
id = "coder-asks"
client = "coder"
verbs = ["file.write", "file.set-mode"]
directories = ["/srv/coder"]
files = ["*.ask"]
modes = ["0644", "0744"]
decision = "ask"
justification = "a person looks at the text"
accept_risk = { "*" = "a test" }
"#;

/// `sudo` of a client is translated, and that of everybody else is real.
pub fn session(host: &Installed) {
    let uid = host.root(&["id", "-u", CODER]).ok().trim().to_owned();
    let unit = "printf '[Service]\\nExecStart=/usr/bin/sleep infinity\\n' > /etc/systemd/system/probe.service
        systemctl daemon-reload
        echo 'ALL ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/test
        useradd --create-home other";
    let _ = host.shell(unit).ok();
    host.grant(SHIMS);
    let exec = |script: &str| host.run(CODER, &["postern", "exec", "--", "sh", "-c", script]);
    let script = "sudo -n systemctl restart probe && systemctl is-active probe
        echo one | sudo tee /srv/coder/a.conf
        sudo systemctl stop cron; echo stop $?
        sudo poweroff; echo poweroff $?
        /usr/bin/sudo -n true; echo real $?";
    let done = exec(script);
    assert_eq!(done.stdout, "active\none\nstop 4\npoweroff 1\nreal 1\n", "{done}");
    for words in ["(no_grant)", "poweroff has no request of its own", "no new privileges"] {
        assert!(done.stderr.contains(words), "{words}: {done}");
    }
    assert_eq!(host.shell("cat /srv/coder/a.conf; stat -c %U /srv/coder/a.conf").ok(), "one\nroot\n");
    let log = host.root(&["postern-admin", "audit", "show", "--verb", "unit.restart", "--json"]).ok();
    assert!(log.contains(&format!("\"client\":{{\"name\":\"coder\",\"uid\":{uid},")), "{log}");

    // An interrupt ends the waiting, and says what becomes of the request.
    let done = exec("echo two | timeout --preserve-status -s INT 3 sudo tee /srv/coder/b.ask");
    assert_eq!((done.code, done.stdout.as_str()), (130, "two\n"), "{done}");
    for words in ["waiting for an operator until", "postern-admin approve ", "it still waits"] {
        assert!(done.stderr.contains(words), "{words}: {done}");
    }

    // Until a person approves, the mode that the letters start from may be another.
    let _ = host.shell("install -m 0644 /dev/null /srv/coder/c.ask").ok();
    let done = exec("sudo chmod u+x /srv/coder/c.ask");
    assert!(done.code == 1 && done.stderr.contains("give the new one in octal, 0744"), "{done}");
    assert_eq!(host.shell("stat -c %a /srv/coder/c.ask").ok(), "644\n");

    // The same PATH for everybody: where real sudo could work, and for those who are no clients, it runs.
    let search = "PATH=/usr/lib/postern/shims:/usr/lib/postern/shims:$PATH sudo -n id -u";
    for user in [CODER, "other"] {
        let done = host.run(user, &["sh", "-c", search]);
        assert_eq!((done.code, done.stdout.as_str()), (0, "0\n"), "{user}: {done}");
    }
    let done = host.run_with(&["User=other", "NoNewPrivileges=yes"], &["sh", "-c", search]);
    assert!(done.code == 1 && done.stderr.contains("no new privileges"), "{done}");
    assert_eq!(host.root(&["sh", "-c", search]).ok(), "0\n");
}
