//! The commands that README shows work on a new installation, in their order.

use std::path::Path;

use postern_tests::{Installed, Release, on_each_release};

on_each_release!(commands_shown_work);

fn commands_shown_work(release: Release) {
    let host = Installed::as_shipped(release);
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md"))
        .expect("README.md");
    let section = readme
        .split("\n## Install it")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .unwrap_or_default();
    let shown: Vec<&str> = section
        .lines()
        .filter(|line| line.starts_with("postern ") || line.starts_with("postern-admin "))
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .collect();
    assert!(shown.len() >= 7, "{shown:?}");
    for command in shown {
        let answer = if command.starts_with("postern-admin ") {
            // Nobody is there to answer the question.
            host.shell(&command.replace("apply", "apply --yes"))
        } else {
            host.visitor(&["sh", "-c", command])
        };
        assert_eq!(answer.code, 0, "{command}: {answer}");
    }
}
