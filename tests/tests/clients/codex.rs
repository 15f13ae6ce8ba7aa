//! A real Codex from npm, with a model that says what it is told to: over MCP, and with `sudo` in its shell.

use std::path::Path;
use std::thread;
use std::time::Duration;

use postern_tests::{Installed, Output, Release};
use serde_json::Value;

use crate::node;

const CODEX: &str = "@openai/codex@0.169.0";
const PROGRAM: &str = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
/// The user whose agent it is.
const CODER: &str = "coder";
/// A person who may approve.
const OPERATOR: &str = "oper";

const RULES: &str = r#"
[[client]]
name = "coder"
user = "coder"

[[rule]]
id = "coder-packages"
client = "coder"
verbs = ["package.install"]
packages = ["codex-tool", "codex-shell"]
decision = "allow"
justification = "what the project needs"
accept_risk = { "*" = "a test" }

[[rule]]
id = "coder-files"
client = "coder"
verbs = ["file.write", "file.remove", "request.undo"]
directories = ["/srv/coder"]
files = ["*.conf"]
decision = "ask"
justification = "a person looks at the text"
accept_risk = { "*" = "a test" }
"#;

/// The person's own configuration of Codex: a model on loopback, and that Codex itself asks nobody.
const CONFIG: &str = r#"
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:8765/v1"
wire_api = "responses"
"#;

#[test]
fn a_real_codex_installs_is_refused_is_approved_and_takes_back() {
    let host = host();
    thread::scope(|scope| {
        let run =
            "cd && postern exec -- codex exec --json --skip-git-repo-check 'set the project up' </dev/null";
        let codex = scope.spawn(|| host.run(CODER, &["timeout", "120", "sh", "-c", run]));
        // The write, and its undo.
        let approved = [(); 2].map(|()| approve(&host, || codex.is_finished()));
        let codex = codex.join().expect("codex");
        let said = host.shell("cat /srv/said").ok();
        assert_eq!(approved, [true; 2], "{codex}\n{said}");
        let _ = codex.ok();
        let said: Vec<&str> = said.lines().collect();
        let [installed, refused, written, undone, shell, "done"] = said.as_slice() else {
            panic!("{said:#?}");
        };
        assert!(installed.contains("done"), "{installed}");
        assert!(refused.contains("no_grant") || refused.contains("unsupported call"), "{refused}");
        assert!(written.contains("codex.conf") && undone.contains("done"), "{written}\n{undone}");
        // A line end is two characters in JSON. Codex reads the refusal, which is on stderr, before or after the code.
        for words in ["Setting up codex-shell (1.0) ...\\ncode 0\\n", "(no_grant)\\n", "code 4\\n"] {
            assert!(shell.contains(words), "no {words} in {shell}");
        }
    });
    for package in ["codex-tool", "codex-shell"] {
        let _ = host.root(&["dpkg-query", "--show", package]).ok();
    }
    assert_eq!(host.shell("systemctl is-active probe; ls /srv/coder").ok(), "active\n");
    let log = host.root(&["postern-admin", "audit", "show", "--verb", "file.write", "--json"]).ok();
    let uid = host.root(&["id", "-u", CODER]).ok().trim().to_owned();
    assert!(log.contains(&format!("\"client\":{{\"name\":\"coder\",\"uid\":{uid},")), "{log}");
}

/// A machine with Codex, its model, and Postern's server in Codex's own configuration.
fn host() -> Installed {
    let host = Installed::on(Release::Trixie);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    host.copy_in(&node::modules(CODEX).join(PROGRAM), "/usr/local/bin/codex");
    host.copy_in(&tests.join("clients/codex_provider.py"), "/srv/provider.py");
    let _ = host
        .shell(&format!(
            "useradd --create-home --groups postern-clients {CODER}
            useradd --create-home --groups postern-operators {OPERATOR}
            mkdir /srv/coder
            systemd-run --quiet --unit=probe sleep infinity
            install -d -o {CODER} /home/{CODER}/.codex
            install -o {CODER} /dev/stdin /home/{CODER}/.codex/config.toml <<'E'\n{CONFIG}E
            systemd-run --quiet --collect sh -c 'exec python3 /srv/provider.py 8765 >/srv/said'"
        ))
        .ok();
    host.grant(RULES);
    for name in ["codex-tool", "codex-shell"] {
        host.publish(name, "1.0", "true");
    }
    let _ = host.root(&["apt-get", "-q", "update"]).ok();
    let _ = host.run(CODER, &["postern", "mcp", "install", "codex"]).ok();
    let config = host.shell(&format!("cat /home/{CODER}/.codex/config.toml")).ok();
    assert!(config.contains("mcp_servers.postern") && config.contains("wire_api"), "{config}");
    host
}

/// Approves the request that waits next; false if none does before `is_over`.
fn approve(host: &Installed, is_over: impl Fn() -> bool) -> bool {
    while !is_over() {
        let pending = host.root(&["postern-admin", "pending", "--json"]).json();
        if let Some(id) = pending["pending"][0]["approval_id"].as_str() {
            let shown: Value = host.root(&["postern-admin", "show", id, "--json"]).json();
            let digest = shown["sha256"].as_str().expect("a digest");
            let _: String =
                Output::ok(host.run(OPERATOR, &["postern-admin", "approve", id, "--digest", digest]));
            return true;
        }
        thread::sleep(Duration::from_millis(50));
    }
    false
}
