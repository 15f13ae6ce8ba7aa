//! The committed manual pages and completions are what the programs' grammar says.

use clap::CommandFactory;
use clap_complete::Shell;
use postern_admin::cli::Cli;
use postern_reference::{Page, completions, manual};
use std::path::Path;

const POSTERN: Page = Page {
    section: "1",
    files: &[
        ("/etc/postern/agent.toml", "the agent's configuration; see `postern config check`"),
        ("/run/postern/agent.sock", "where `postern serve` listens; for members of the group postern-users"),
        ("/run/postern/helper.sock", "where the helper listens; for the clients that the policy names"),
    ],
    see_also: "postern-admin(8), /usr/share/doc/postern/README.md, /usr/share/doc/postern/SECURITY.md",
};

const ADMIN: Page = Page {
    section: "8",
    files: &[
        ("/etc/postern/policy.toml", "what is granted to whom, with policy.d/*.toml beside it"),
        ("/var/log/postern/audit.jsonl", "who asked for what, what was decided and done"),
        ("/run/postern/operator.sock", "where operators decide; for members of the group postern-operators"),
    ],
    see_also: "postern(1), /usr/share/doc/postern/README.md, /usr/share/doc/postern/SECURITY.md",
};

/// Each file under `deploy/` with its text.
fn made() -> Vec<(String, String)> {
    let programs = [(postern_agent::cli::command(), &POSTERN), (Cli::command(), &ADMIN)];
    let mut made = Vec::new();
    for (command, page) in programs {
        let name = command.get_name().to_owned();
        made.push((format!("man/{name}.{}", page.section), manual(command.clone(), page)));
        for (shell, file) in [
            (Shell::Bash, name.clone()),
            (Shell::Zsh, format!("_{name}")),
            (Shell::Fish, format!("{name}.fish")),
        ] {
            made.push((format!("completions/{shell}/{file}"), completions(command.clone(), shell)));
        }
    }
    made
}

#[test]
fn committed_pages_and_completions_are_what_the_grammar_says() {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    for (name, text) in made() {
        let path = deploy.join(&name);
        // `POSTERN_GENERATE=1 cargo test -p postern-reference` writes the files instead of comparing them.
        if std::env::var_os("POSTERN_GENERATE").is_some() {
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::fs::write(&path, text).expect("written");
            continue;
        }
        let have = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(have == text, "{name} is stale: run POSTERN_GENERATE=1 cargo test -p postern-reference");
    }
}

#[test]
fn every_command_that_can_be_typed_stands_in_the_page() {
    let page = manual(postern_agent::cli::command(), &POSTERN);
    for verb in postern_agent::VERBS {
        let words = match verb.split_once('.').expect(verb) {
            ("unit", action) => format!("service {action}"),
            ("command", _) => "command".to_owned(),
            ("policy", _) => "can".to_owned(),
            ("request", action) => action.to_owned(),
            (noun, action) => format!("{noun} {action}"),
        };
        let heading = format!(".SS \"postern {words} ").replace('-', "\\-");
        assert!(page.contains(&heading), "{heading}");
    }
    assert!(!page.contains("tell\\-operators"), "what is hidden is no command of a person's");
}
