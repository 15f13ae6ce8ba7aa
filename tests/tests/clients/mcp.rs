//! An agent over MCP, with the protocol's official Python SDK.

use std::path::Path;
use std::process::Command;

use postern_tests::{Installed, Output};

use crate::python;

/// The user whose agent it is.
pub const CODER: &str = "coder";
/// A person who may approve.
const OPERATOR: &str = "oper";
/// The SDK of the test, from `PyPI`.
const SDK: &str = "mcp==2.3.0";

const PACKAGES: &str = r#"
[[client]]
name = "coder"
user = "coder"

[[rule]]
id = "coder-packages"
client = "coder"
verbs = ["package.install", "package.show"]
packages = ["mcp-one"]
decision = "allow"
justification = "what the project needs"
accept_risk = { "*" = "a test" }
"#;

const FILES: &str = r#"
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

/// Runs a script of `tests/clients` on this host, with the command that runs something in the machine first.
fn script(host: &Installed, python: &Path, name: &str, arguments: &[&str]) -> Output {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let machine = format!("{} run {}", tests.join("../deploy/machine").display(), host.name());
    let mut command = Command::new(python);
    command.arg(tests.join("clients").join(name)).arg(machine).args(arguments);
    let done = command.output().expect("python starts");
    Output {
        command: format!("{command:?}"),
        code: done.status.code().unwrap_or(255),
        stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

/// Installs, is refused, is approved and takes back.
pub fn session(host: &Installed) {
    let python = python::environment(&[SDK]);
    let _ = host
        .shell(&format!(
            "useradd --create-home --groups postern-clients {CODER}
            useradd --create-home --groups postern-operators {OPERATOR}
            mkdir /srv/coder
            install -m 0640 /dev/stdin /etc/postern/policy.d/60-coder-files.toml <<'E'\n{FILES}E"
        ))
        .ok();
    host.grant(PACKAGES);
    host.publish("mcp-one", "1.0", "true");
    let _ = host.root(&["apt-get", "-q", "update"]).ok();
    let done = script(host, &python, "mcp_session.py", &[CODER, OPERATOR]);
    assert_eq!(done.code, 0, "{done}\n{}", host.journal("postern-*"));

    // The record names the user that the kernel proved, not the agent.
    let uid = host.root(&["id", "-u", CODER]).ok().trim().to_owned();
    let log = host.root(&["postern-admin", "audit", "show", "--verb", "package.install", "--json"]).ok();
    assert!(log.contains(&format!("\"client\":{{\"name\":\"coder\",\"uid\":{uid},")), "{log}");
}
