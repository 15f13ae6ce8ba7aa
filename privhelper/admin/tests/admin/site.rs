//! A host with a life: several clients, all three decisions, people, and a log of what they did.

use crate::log::Log;
use crate::support::TestHost;
use postern_admin::io::Exit;
use std::fs;

/// Injection attempts in a justification, for HTML, Markdown tables and terminals. As TOML.
pub const HOSTILE: &str = "<script>alert(1)</script> \\\"quoted\\\" 'n' & \\u202Eturned\\u0007 | `code` [x](http://e.invalid/) <img src=http://e.invalid/x>\\nrule forged allow";

/// The policy, with files of its own for drop-ins.
pub fn policy() -> String {
    format!(
        r#"version = 1

[[client]]
name = "agent"
user = "postern"

[[client]]
name = "web-team"
group = "web"

[[rule]]
id = "look-at-units"
client = "agent"
verbs = ["unit.status"]
units = ["*.service", "*.timer", "*.socket"]
decision = "allow"
justification = "the state of a unit is no secret on this host"

[[rule]]
id = "web-packages"
client = "agent"
verbs = ["package.install"]
packages = ["nginx-light", "certbot", "python3-certbot-*"]
max_new_packages = 40
decision = "allow"
justification = "this host serves static sites"

[[rule]]
id = "web-unit"
client = "agent"
verbs = ["unit.start", "unit.reload", "unit.restart", "unit.enable"]
units = ["nginx.service"]
rate = "12/1h"
decision = "allow"
justification = "reload after content or configuration changes"

[[rule]]
id = "never-the-way-in"
client = "agent"
verbs = ["unit.stop", "unit.disable"]
units = ["ssh.service", "getty@*.service"]
decision = "deny"
justification = "the way in stays open"

[[rule]]
id = "web-content"
client = "agent"
verbs = ["file.read", "file.write"]
directories = ["/var/www/html"]
depth = 2
files = ["*.html", "*.css"]
decision = "allow"
justification = "{HOSTILE}"

[[rule]]
id = "web-config"
client = "agent"
verbs = ["file.write"]
directories = ["/etc/nginx/conf.d"]
files = ["*.conf"]
decision = "ask"
approvers = 2
approval_ttl = "30m"
accept_risk = {{ write-outside-harmless = "virtual hosts are reviewed by an operator before they are written" }}
justification = "virtual hosts"
"#
    )
}

/// A drop-in with the other client's only rule.
pub const TEAM: &str = r#"
[[rule]]
id = "team-restart"
client = "web-team"
verbs = ["unit.restart"]
units = ["nginx.service"]
allow_cascade = true
decision = "allow"
justification = "the web team restarts its own server"
"#;

/// The host, with its policy accepted and the log of some days.
pub fn host() -> TestHost {
    let host = TestHost::new(&policy());
    host.write("policy.d/10-team.toml", TEAM);
    let ran = host.run(&["policy", "apply", "--yes"]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    fs::write(host.host.log.join("audit.jsonl"), &log(&digest(&host)).bytes).unwrap();
    host
}

/// The digest of what is accepted.
pub fn digest(host: &TestHost) -> String {
    let accepted = postern_admin::policy::accepted::read(&host.host.accepted_dir()).unwrap().unwrap();
    accepted.digest.to_string()
}

/// Records of installs, reloads, pages and refusals.
pub fn log(digest: &str) -> Log {
    let agent = ",\"client\":{\"name\":\"agent\",\"uid\":990,\"gid\":990,\"pid\":7}";
    let root = ",\"client\":{\"uid\":0,\"gid\":0,\"pid\":9}";
    let by = |verb: &str, rule: &str| {
        format!("{agent},\"verb\":\"{verb}\",\"rule\":\"{rule}\",\"decision\":\"allow\"")
    };
    let ended = |status: &str| format!(",\"outcome\":{{\"status\":\"{status}\"}},\"duration_us\":15000");
    let refused = |verb: &str, code: &str, detail: &str| {
        let outcome = format!("{{\"status\":\"refused\",\"code\":\"{code}\",\"detail\":\"{detail}\"}}");
        format!("{agent},\"verb\":\"{verb}\",\"outcome\":{outcome}")
    };
    let mut log = Log::new();
    log.add("start", ",\"policy\":\"00\"");
    log.add("policy_applied", &format!("{root},\"policy\":\"{digest}\""));
    for status in ["done", "done", "failed"] {
        let of = by("package.install", "web-packages");
        log.add("begin", &of).add("end", &format!("{of}{}", ended(status)));
    }
    for _ in 0..12 {
        log.add("served", &by("unit.status", "look-at-units"));
    }
    for status in ["done", "unchanged"] {
        let of = by("file.write", "web-content");
        log.add("begin", &of).add("end", &format!("{of}{}", ended(status)));
    }
    log.add("previewed", &by("file.write", "web-content"));
    log.add("refused", &refused("unit.stop", "denied", "rule never-the-way-in denies unit.stop"));
    for _ in 0..3 {
        log.add("refused", &refused("package.install", "no_grant", "no rule grants package.install of this"));
    }
    log.add(
        "refused",
        &refused("file.write", "limit_exceeded", "rule web-content grants at most 1048576 bytes"),
    );
    let ask = by("file.write", "web-config").replace("allow", "ask");
    let denied =
        ",\"outcome\":{\"status\":\"refused\",\"code\":\"not_approved\",\"detail\":\"not on a Friday\"}";
    log.add("pending", &ask).add("refused", &format!("{ask}{denied}"));
    log.add("stop", "").add("start", &format!(",\"policy\":\"{digest}\""));
    log
}
