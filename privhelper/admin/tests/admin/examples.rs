//! Examples are decided by the code that root runs.

use crate::support::{GOOD, SITE, TestHost, every_account};
use postern_admin::io::Exit;

const INSTALL: &str = r#"
[[rule]]
id = "install"
client = "agent"
verbs = ["package.install", "package.show"]
packages = ["nginx-light", "python3-certbot-*"]
versions = ["1.22.*"]
decision = "allow"
justification = "web"
"#;

const DENY: &str = r#"
[[rule]]
id = "never"
client = "agent"
verbs = ["unit.stop"]
units = ["ssh.service", "getty@*.service"]
decision = "deny"
justification = "the way in"
"#;

const TUNING: &str = r#"
[[rule]]
id = "tuning"
client = "agent"
verbs = ["file.write", "file.remove", "request.undo"]
directories = ["/srv/tuning"]
files = ["*.conf"]
lines = ["vm.swappiness = *"]
decision = "ask"
justification = "memory"
"#;

const GROW: &str = r#"
[[command]]
name = "grow"
argv = ["/usr/bin/grow", "{size}"]
params.size = { kind = "size" }

[[rule]]
id = "grow"
client = "agent"
verbs = ["command.run"]
commands = ["grow"]
params = { size = ["1*"] }
decision = "allow"
justification = "space"
"#;

/// Rule, an example line that holds, one that does not, words of the error.
const LINES: &[(&str, &str, &str, &str)] = &[
    (
        SITE,
        "matches = [{ path = \"/var/www/html/index.html\" }]",
        "matches = [{ path = \"/var/www/html/index.php\" }]",
        "it does not for file.read: no rule grants file.read of this",
    ),
    (
        SITE,
        "does_not_match = [{ path = \"/var/www/html/.x.html\" }, { path = \"/var/www/html/a/b.html\" }]",
        "does_not_match = [{ path = \"/var/www/html/x.html\" }]",
        "this must not match, but it does for file.read",
    ),
    (
        SITE,
        "matches = [{ path = \"/var/www/html/x.html\", mode = \"0644\", bytes = 1048576 }]",
        "matches = [{ path = \"/var/www/html/x.html\", bytes = 1048577 }]",
        "for file.write: rule site grants at most 1048576 bytes",
    ),
    (
        SITE,
        "does_not_match = [{ path = \"/var/www/html/x.html\", owner = \"www-data\" }]",
        "matches = [{ path = \"/var/www/html/x.html\", owner = \"www-data\" }]",
        "grants only the owners root",
    ),
    (
        SITE,
        "does_not_match = [{ path = \"/var/www/html/../x.html\" }]",
        "matches = [{ path = \"/var/www/html/../x.html\" }]",
        "path: must hold no '.' or '..'",
    ),
    (
        SITE,
        "matches = [{ verb = \"file.read\", path = \"/var/www/html/x.html\" }]",
        "matches = [{ verb = \"file.list\", path = \"/var/www/html/x.html\" }]",
        "unknown verb of this rule for such a request",
    ),
    (
        SITE,
        "matches = [{ path = \"/var/www/html/x.html\" }]",
        "matches = [{ unit = \"x.service\" }]",
        "no verb of this rule takes such a request",
    ),
    (
        SITE,
        "matches = [{ path = \"/var/www/html/x.html\" }]",
        "matches = [{ pth = \"/var\" }]",
        "unknown key \"pth\": did you mean `path`?",
    ),
    (SITE, "matches = []", "matches = [{ mode = \"0644\" }]", "the example lacks `path`"),
    (
        INSTALL,
        "matches = [{ packages = [\"nginx-light\", \"python3-certbot-nginx\"] }]",
        "matches = [{ packages = [\"nginx-light\", \"nginx\"] }]",
        "no rule grants package.install of this",
    ),
    (
        INSTALL,
        "does_not_match = [{ packages = [\"nginx-light-\"] }, { packages = [\"nginx-light\", \"docker.io\"] }]",
        "does_not_match = [{ packages = [\"nginx-light\"] }]",
        "this must not match, but it does for package.install",
    ),
    (
        INSTALL,
        "matches = [{ packages = [\"nginx-light\"], version = \"1.22.1-9\" }]",
        "matches = [{ packages = [\"nginx-light\"], version = \"1.18.0-1\" }]",
        "grants the candidate version only",
    ),
    (
        DENY,
        "matches = [{ unit = \"ssh.service\" }, { unit = \"getty@tty1.service\" }]",
        "matches = [{ unit = \"sshd.service\" }]",
        "the rule does not select it",
    ),
    (
        DENY,
        "does_not_match = [{ unit = \"cron.service\" }]",
        "does_not_match = [{ unit = \"ssh.service\" }]",
        "this must not match, but it does for unit.stop",
    ),
    (
        TUNING,
        "matches = [{ path = \"/srv/tuning/a.conf\", content = \"vm.swappiness = 10\\n\" }]",
        "matches = [{ path = \"/srv/tuning/a.conf\", content = \"vm.swappiness = 10\\nkernel.x = 1\" }]",
        "for file.write: line 2 is none of those that rule tuning grants (`lines`)",
    ),
    (
        TUNING,
        "matches = [{ verb = \"file.remove\", path = \"/srv/tuning/a.conf\" }]",
        "matches = [{ verb = \"request.undo\", path = \"/srv/tuning/a.conf\" }]",
        "unknown verb of this rule for such a request",
    ),
    (
        GROW,
        "matches = [{ command = \"grow\", params = { size = \"10G\" } }]",
        "matches = [{ command = \"grow\", params = { size = \"20G\" } }]",
        "it does not for command.run: no rule grants command.run of this",
    ),
    (
        GROW,
        "does_not_match = [{ command = \"grow\", params = { size = \"1.5G\" } }]",
        "matches = [{ command = \"grow\", params = { size = \"1.5G\" } }]",
        "parameters: size must be size such as 512M",
    ),
    (
        GROW,
        "does_not_match = [{ command = \"grow\" }, { command = \"Grow\" }]",
        "matches = [{ params = { size = \"1G\" } }]",
        "the example lacks `command`",
    ),
    (
        GROW,
        "matches = [{ command = \"grow\", params = { size = \"1G\" } }]",
        "matches = [{ command = \"grow\", params = { size = \"-1G\" } }]",
        "no rule grants command.run of this",
    ),
];

#[test]
fn refuses_a_rule_whose_example_does_not_hold() {
    for (rule, holds, fails, words) in LINES {
        let ran = TestHost::new(&format!("{GOOD}{rule}{holds}\n")).run(&["policy", "check"]);
        assert_eq!(ran.exit, Exit::Done, "{holds}: {}", ran.out);
        let ran = TestHost::new(&format!("{GOOD}{rule}{fails}\n")).run(&["policy", "check"]);
        assert_eq!(ran.exit, Exit::Failed, "{fails}");
        assert!(ran.out.contains(words), "{fails}: no {words:?} in\n{}", ran.out);
    }
}

#[test]
fn reports_file_and_line_of_a_failing_example() {
    let text = format!(
        "{GOOD}{SITE}matches = [\n  {{ path = \"/var/www/html/a.html\" }},\n  {{ path = \"/etc/a.html\" }},\n]\n"
    );
    let ran = TestHost::new(&text).run(&["policy", "check"]);
    assert!(ran.out.contains("policy.toml:25:3: error: this must match"), "{}", ran.out);
}

#[test]
fn an_example_is_tested_against_its_rule_alone() {
    // The other rule allows it; this one must say so itself.
    let second = SITE.replace("\"site\"", "\"other\"").replace("*.html", "*.css");
    let example = "matches = [{ path = \"/var/www/html/x.html\" }]\n";
    let ran = TestHost::new(&format!("{GOOD}{SITE}{second}{example}")).run(&["policy", "check"]);
    assert_eq!(ran.exit, Exit::Failed, "{}", ran.out);
}

#[test]
fn refuses_a_rule_that_grants_a_protected_name() {
    let rule = DENY.replace("\"deny\"", "\"allow\"").replace("\"ssh.service\"", "\"systemd-logind.service\"");
    let ran = TestHost::new(&format!("{GOOD}{rule}")).run(&["policy", "check"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(
        ran.out.contains("\"systemd-logind.service\" is protected: no rule can grant unit.stop"),
        "{}",
        ran.out
    );
}

#[test]
fn the_example_of_every_feature_is_accepted() {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/policy/every-feature.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let mut host = TestHost::new(&text);
    host.host.accounts = every_account();
    let ran = host.run(&["policy", "apply", "--yes"]);
    assert_eq!(ran.exit, Exit::Done, "{}\n{}", ran.err, ran.out);
    assert!(host.accepted().is_some());
}
