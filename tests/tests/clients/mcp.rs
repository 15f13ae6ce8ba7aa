//! Agents over MCP: the protocol's official SDKs for Python and TypeScript, the inspector, and raw lines.

use std::path::Path;
use std::process::Command;

use postern_tests::{Installed, Output};

use crate::{node, python};

/// The user whose agent it is.
pub const CODER: &str = "coder";
/// A person who may approve.
const OPERATOR: &str = "oper";
/// The SDK of the test, from `PyPI`.
const SDK: &str = "mcp==2.3.0";
/// The same from npm.
const TYPESCRIPT: &str = "@modelcontextprotocol/sdk@1.32.2";
const INSPECTOR: &str = "@modelcontextprotocol/inspector@2.12.0";
/// A user who may only ask Postern's agent.
const VIEWER: &str = "viewer";

const PACKAGES: &str = r#"
[[client]]
name = "coder"
user = "coder"

[[rule]]
id = "coder-packages"
client = "coder"
verbs = ["package.install", "package.show"]
packages = ["mcp-one", "mcp-claude", "mcp-codex"]
decision = "allow"
justification = "what the project needs"
accept_risk = { "*" = "a test" }

[[rule]]
id = "coder-reads"
client = "coder"
verbs = ["file.read"]
directories = ["/srv/coder"]
files = ["many-*.conf"]
decision = "allow"
justification = "the project's settings"
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

/// The command that runs something in the machine.
fn machine(host: &Installed) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/machine");
    format!("{} run {}", script.display(), host.name())
}

/// Runs a script of `tests/clients` on this host.
fn script(program: &Path, name: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(name)).args(arguments);
    output(command)
}

fn output(mut command: Command) -> Output {
    let done = command.output().expect("it starts");
    Output {
        command: format!("{command:?}"),
        code: done.status.code().unwrap_or(255),
        stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

/// Lets a person look at the coder's files again, which each session ends by taking away.
fn grant_files(host: &Installed) {
    let _ = host
        .shell(&format!(
            "install -m 0640 /dev/stdin /etc/postern/policy.d/60-coder-files.toml <<'E'\n{FILES}E\npostern-admin policy apply --yes"
        ))
        .ok();
}

/// Installs, is refused, is approved and takes back.
pub fn session(host: &Installed) {
    let python = python::environment(&[SDK]);
    let _ = host
        .shell(&format!(
            "useradd --create-home --groups postern-clients {CODER}
            useradd --create-home --groups postern-operators {OPERATOR}
            useradd --create-home --groups postern-users {VIEWER}
            mkdir /srv/coder"
        ))
        .ok();
    host.grant(PACKAGES);
    for name in ["mcp-one", "mcp-claude", "mcp-codex"] {
        host.publish(name, "1.0", "true");
    }
    let _ = host.root(&["apt-get", "-q", "update"]).ok();
    grant_files(host);
    let done = script(&python, "mcp_session.py", &[&machine(host), CODER, OPERATOR]);
    assert_eq!(done.code, 0, "{done}\n{}", host.journal("postern-*"));
    in_the_style_of_known_agents(host);
    inspector(host);
    through_the_agent(host);

    // The record names the user that the kernel proved, not the agent.
    let uid = host.root(&["id", "-u", CODER]).ok().trim().to_owned();
    let log = host.root(&["postern-admin", "audit", "show", "--verb", "package.install", "--json"]).ok();
    assert!(log.contains(&format!("\"client\":{{\"name\":\"coder\",\"uid\":{uid},")), "{log}");
}

/// The TypeScript SDK as Claude Code and as Codex, with 100 calls at once, and lines that are no messages.
fn in_the_style_of_known_agents(host: &Installed) {
    let modules = node::modules(TYPESCRIPT);
    let modules = modules.to_str().expect("a path in UTF-8");
    let _ = host.shell("for n in $(seq 0 99); do echo \"number $n!\" > /srv/coder/many-$n.conf; done").ok();
    for style in ["claude", "codex", "many", "raw"] {
        if style == "claude" || style == "codex" {
            grant_files(host);
        }
        let arguments = [modules, &machine(host), CODER, OPERATOR, style];
        let done = script(&node::program("node"), "mcp_styles.mjs", &arguments);
        assert_eq!(done.code, 0, "{style}: {done}\n{}", host.journal("postern-*"));
    }
    let _ =
        host.shell("rm /etc/postern/policy.d/60-coder-files.toml && postern-admin policy apply --yes").ok();
}

/// The inspector's command line: it checks the answers by the protocol's schemas.
fn inspector(host: &Installed) {
    let launcher = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let launcher = node::modules(INSPECTOR).join(launcher);
    let machine = machine(host);
    let (program, words) = machine.split_once(' ').expect("a program and its words");
    let words: Vec<&str> = words.split(' ').chain(["--user", CODER, "--", "postern", "mcp"]).collect();
    let servers = serde_json::json!({ "mcpServers": { "postern": { "command": program, "args": words } } });
    let config = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(config.path(), servers.to_string()).expect("the configuration");
    for (method, more, words) in [
        ("tools/list", &["--strict"][..], "\"readOnlyHint\""),
        (
            "tools/call",
            &["--tool-name", "read_file", "--tool-arg", "path=/srv/coder/many-7.conf"],
            "number 7!",
        ),
        ("resources/read", &["--uri", "postern://policy"], "many-*.conf"),
        ("prompts/list", &[], "diagnose_unit"),
    ] {
        let mut command = Command::new(node::program("node"));
        command.arg(&launcher).arg("--cli").arg("--config").arg(config.path());
        command.args(["--server", "postern", "--method", method]).args(more);
        let done = output(command);
        assert!(done.code == 0 && done.stdout.contains(words), "{method}: {done}");
    }
}

/// A user whom the helper's socket keeps out, and who is no client, asks the agent and is told so.
fn through_the_agent(host: &Installed) {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}"#;
    let read = r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"postern://policy"}}"#;
    let done = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let ask = format!("(printf '%s\n' '{hello}' '{done}' '{read}'; sleep 2) | postern mcp");
    let said = host.run(VIEWER, &["sh", "-c", &ask]);
    assert!(said.stdout.contains(r#"\"through\":\"agent\""#), "{said}");
    assert!(said.stderr.contains("requests go through postern's agent"), "{said}");
    let kept_out = host.run(VIEWER, &["sh", "-c", "postern --direct mcp < /dev/null"]);
    assert!(kept_out.code != 0 && kept_out.stderr.contains("unreachable: "), "{kept_out}");
}
