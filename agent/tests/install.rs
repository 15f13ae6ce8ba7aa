//! `postern mcp install`: the entry in each client's own file, and nothing else in it.
#![expect(clippy::disallowed_methods, reason = "the program itself, with a home of its own")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A person's home and project.
struct Person(TempDir);

impl Person {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir(directory.path().join("project")).expect("a project");
        Self(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
        self
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn install(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_postern"));
        command.args(["mcp", "install"]).args(args).env_clear().env("HOME", self.0.path());
        command.current_dir(self.path("project")).output().expect("postern")
    }

    fn installed(&self, args: &[&str]) -> String {
        let done = self.install(args);
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).expect("UTF-8")
    }

    fn refused(&self, args: &[&str]) -> String {
        let done = self.install(args);
        assert_eq!(done.status.code(), Some(1), "{done:?}");
        String::from_utf8(done.stderr).expect("UTF-8")
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).expect("a directory");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }
}

const JSON: &str = r#"{
  "mcpServers": {
    "postern": {
      "type": "stdio",
      "command": "postern",
      "args": ["mcp"]
    }
  }
}
"#;

#[test]
fn writes_a_new_file_where_each_client_reads_it() {
    let yaml = "extensions:\n  postern:\n    enabled: true\n    type: \"stdio\"\n    name: \"postern\"\n    \
        description: \"What Postern's policy grants on this host\"\n    cmd: \"postern\"\n    args: [\"mcp\"]\n    \
        timeout: 300\n";
    let toml = "[mcp_servers.postern]\ncommand = \"postern\"\nargs = [\"mcp\"]\n";
    for (args, file, text) in [
        (&["claude"][..], ".claude.json", JSON),
        (&["claude", "--scope", "project"], "project/.mcp.json", JSON),
        (&["cursor"], ".cursor/mcp.json", JSON),
        (&["cursor", "--scope", "project"], "project/.cursor/mcp.json", JSON),
        (&["vscode"], ".config/Code/User/mcp.json", &JSON.replace("mcpServers", "servers")),
        (
            &["vscode", "--scope", "project"],
            "project/.vscode/mcp.json",
            &JSON.replace("mcpServers", "servers"),
        ),
        (&["codex"], ".codex/config.toml", toml),
        (&["codex", "--scope", "project"], "project/.codex/config.toml", toml),
        (&["goose"], ".config/goose/config.yaml", yaml),
    ] {
        let person = Person::new();
        let shown = person.installed(args);
        assert_eq!(person.text(file), text, "{args:?}");
        assert!(shown.contains("postern"), "the difference is shown: {shown}");
        let mode = fs::metadata(person.path(file)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
        assert!(person.installed(args).is_empty(), "a second time changes nothing");
        assert_eq!(person.text(file), text);
        person.installed(&[args, &["--uninstall"]].concat());
        assert!(!person.text(file).contains("postern"), "{file}: {}", person.text(file));
        person.installed(args);
        assert!(person.text(file).contains("postern"), "{file}: {}", person.text(file));
    }
    assert!(
        Person::new().refused(&["goose", "--scope", "project"]).contains("no configuration of a project")
    );
}

/// Files as people and clients have them; each is the same after install and uninstall.
const THERE: &[(&str, &str, &str)] = &[
    (
        "claude",
        ".claude.json",
        "{\n  \"numStartups\": 5,\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \"x\"\n    }\n  },\n  \"z\": 1.50,\n  \"a\": [1,2]\n}\n",
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        "{\n\t// mine\n\t\"servers\": {\n\t\t\"other\": { \"command\": \"x\" }, // why\n\t},\n\t/* \"servers\": 1 */\n}\n",
    ),
    ("cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": {}\n}\n"),
    (
        "codex",
        ".codex/config.toml",
        "# mine\nmodel = \"m\"   # why\n\n[mcp_servers.other]\ncommand = \"x\"\nenv = { \"A\" = \"1\" }\n\n[tui]\ntheme = 'dark'\n",
    ),
    (
        "goose",
        ".config/goose/config.yaml",
        "# mine\nGOOSE_MODEL: m\nextensions:\n    # the built-in one\n    developer:\n        enabled: true\n        args:\n        - one\n    # after it\n    other: {enabled: false}\nGOOSE_MODE: auto\n",
    ),
    ("goose", ".config/goose/config.yaml", "GOOSE_MODEL: m\nextensions: {}\n"),
];

#[test]
fn leaves_everything_else_as_it_is_and_takes_back_only_its_own() {
    for (client, file, text) in THERE {
        let person = Person::new().with(file, text);
        person.installed(&[client]);
        let with = person.text(file);
        for line in text.lines().filter(|line| line.len() > 3 && !line.ends_with("{}")) {
            assert!(with.contains(line.trim_end_matches('}')), "{file} lost {line:?}:\n{with}");
        }
        assert!(with.contains("postern") && with.contains("mcp"), "{with}");
        person.installed(&[client, "--uninstall"]);
        assert_eq!(person.text(file), *text, "{file}");
    }
}

#[test]
fn keeps_each_old_file_with_its_mode() {
    let (_, file, text) = THERE[0];
    let person = Person::new().with(file, text);
    fs::set_permissions(person.path(file), fs::Permissions::from_mode(0o640)).expect("a mode");
    person.installed(&["claude"]);
    person.installed(&["claude", "--uninstall"]);
    let kept = [".claude.json", ".claude.json.before-postern", ".claude.json.before-postern.1", "project"];
    assert_eq!(person.names(""), kept);
    assert_eq!(person.text(".claude.json.before-postern"), text);
    for name in &kept[..3] {
        let mode = fs::metadata(person.path(name)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "{name}");
    }
}

#[test]
fn a_dry_run_shows_the_difference_and_writes_nothing() {
    let (_, file, text) = THERE[3];
    let person = Person::new().with(file, text);
    let shown = person.installed(&["codex", "--dry-run"]);
    assert!(shown.contains("+[mcp_servers.postern]"), "{shown}");
    assert_eq!(person.text(file), text);
    assert_eq!(person.names(".codex"), ["config.toml"]);
}

#[test]
fn refuses_what_it_cannot_change_without_loss() {
    for (client, file, text) in [
        ("claude", ".claude.json", "{ \"mcpServers\": [] }"),
        ("claude", ".claude.json", "{ \"mcpServers\": "),
        ("claude", ".claude.json", "[]"),
        ("claude", ".claude.json", r#"{ "mcpServers": { "postern": { "command": "/opt/other" } } }"#),
        ("codex", ".codex/config.toml", "mcp_servers = 1\n"),
        ("codex", ".codex/config.toml", "[mcp_servers.postern]\nurl = \"https://example.org\"\n"),
        ("codex", ".codex/config.toml", "not TOML"),
        ("goose", ".config/goose/config.yaml", "extensions: { developer: { enabled: true } }\n"),
        ("goose", ".config/goose/config.yaml", "extensions:\n- a\n"),
        ("goose", ".config/goose/config.yaml", "text: |\n\n   x\nextensions:\n  a: *gone\n"),
        ("goose", ".config/goose/config.yaml", "a: 1\n---\nextensions:\n"),
    ] {
        for args in [&[client][..], &[client, "--uninstall"]] {
            let person = Person::new().with(file, text);
            let done = person.install(args);
            assert_eq!(person.text(file), text, "{args:?}");
            let is_unchanged = done.status.success() && done.stdout.is_empty() && args.len() == 2;
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(
                is_unchanged || done.status.code() == Some(1) && said.contains(file),
                "{text:?} {args:?}: {said}"
            );
            let directory = Path::new(file).parent().and_then(Path::to_str).expect("a directory");
            assert!(person.names(directory).iter().all(|name| !name.contains("before-postern")));
        }
    }
}

#[test]
fn a_link_stays_a_link() {
    let person = Person::new().with("dotfiles/claude.json", "{}\n");
    std::os::unix::fs::symlink("dotfiles/claude.json", person.path(".claude.json")).expect("a link");
    person.installed(&["claude"]);
    assert!(fs::symlink_metadata(person.path(".claude.json")).expect("a link").is_symlink());
    assert!(person.text("dotfiles/claude.json").contains("postern"));
}
