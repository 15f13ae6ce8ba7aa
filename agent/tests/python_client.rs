//! The Python client of `clients/python`, with an agent and a helper of the test's.

mod common;

use common::{Place, Play, approval, ended, in_seconds, refused, waiting};
use postern_proto::v1::Status;
use std::path::Path;

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "Python is what is tested")]
async fn the_python_client_gives_follows_and_lists_tasks() {
    let place = Place::new();
    let waits = [waiting(&approval("a"), in_seconds(60)), vec![ended(Status::Done, "")]].concat();
    place.helper(vec![
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(waits),
        Play::Events(vec![refused("no_grant")]),
    ]);
    place.serve();
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/python");
    let mut python = tokio::process::Command::new("python3");
    python.args(["-B", "-m", "unittest", "discover", "-s", "tests"]).current_dir(&client);
    python.env("PYTHONPATH", client.join("src"));
    python.env("POSTERN_TEST_SOCKET", &place.host.agent_socket).env("POSTERN_TEST_APPROVAL", approval("a"));
    let ran = python.output().await.expect("python3 starts");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("OK") && !said.contains("skipped"), "{said}");
}

#[test]
fn the_versions_of_the_client_and_of_ansibles_collection_are_the_workspaces() {
    let text = |path: &str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).expect(path)
    };
    let line = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text("clients/python/pyproject.toml").lines().any(|known| known == line));
    let line = format!("version: {}", env!("CARGO_PKG_VERSION"));
    assert!(text("deploy/ansible/host/galaxy.yml").lines().any(|known| known == line));
}
