//! The packages of the helper, as cargo knows them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A package of this workspace.
pub struct Package {
    pub name: String,
    pub directory: PathBuf,
    pub is_program: bool,
}

/// The root of the tree.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tree")
}

/// Runs cargo with these arguments and returns its output.
pub fn cargo(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    let done = command.args(arguments).args(["--offline", "--locked"]).current_dir(root()).output();
    let done = done.expect("cargo starts");
    assert!(done.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("cargo prints UTF-8")
}

/// All packages of the workspace.
pub fn workspace() -> Vec<Package> {
    let text = cargo(&["metadata", "--format-version=1", "--no-deps"]);
    let metadata: Value = serde_json::from_str(&text).expect("cargo metadata prints JSON");
    metadata["packages"].as_array().expect("packages").iter().map(package).collect()
}

/// The packages below `privhelper/`, by name.
pub fn packages() -> Vec<Package> {
    let mut packages = workspace();
    packages.retain(|package| package.directory.starts_with(root().join("privhelper")));
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(packages.len() >= 4, "no packages below privhelper/");
    packages
}

fn package(found: &Value) -> Package {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let targets = found["targets"].as_array().expect("targets");
    Package {
        is_program: targets.iter().any(|target| target["kind"] == serde_json::json!(["bin"])),
        name: text(&found["name"]),
        directory: PathBuf::from(text(&found["manifest_path"])).parent().expect("a directory").to_owned(),
    }
}
