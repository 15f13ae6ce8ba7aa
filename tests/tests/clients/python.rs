//! Packages of `PyPI`, for programs of this host and of a machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use postern_tests::Installed;

const CACHE: &str = "/var/cache/postern-tests/python";
/// Debian 13's Python, and the platforms whose wheels it takes.
const OF_THE_MACHINE: [&str; 6] = [
    "--python-version=3.13",
    "--platform=manylinux_2_28_x86_64",
    "--platform=manylinux2014_x86_64",
    "--platform=manylinux_2_17_x86_64",
    "--platform=any",
    "--only-binary=:all:",
];

/// Python with packages of `PyPI`, made once for each set of them.
pub fn environment(packages: &[&str]) -> PathBuf {
    let venv = Path::new(CACHE).join(name_of(packages));
    let python = venv.join("bin/python3");
    let _alone = alone();
    if !venv.join("ready").exists() {
        let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv).status();
        assert!(made.expect("python3 starts").success(), "cannot make {}", venv.display());
        let installed = Command::new(&python).args(["-m", "pip", "-q", "install"]).args(packages).status();
        assert!(installed.expect("pip starts").success(), "cannot install {packages:?} from PyPI");
        std::fs::write(venv.join("ready"), "").expect("the directory's mark");
    }
    python
}

/// Puts packages into the machine's `/opt/python`, for its own Python.
pub fn install(host: &Installed, packages: &[&str]) {
    let python = environment(&["pip"]);
    let wheels = Path::new(CACHE).join(format!("machine-{}", name_of(packages)));
    let _alone = alone();
    if !wheels.join("ready").exists() {
        let target = wheels.to_str().expect("a path in UTF-8");
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "-q", "install", "--upgrade", "--target", target]);
        let installed = pip.args(OF_THE_MACHINE).args(packages).status();
        assert!(installed.expect("pip starts").success(), "cannot install {packages:?} from PyPI");
        std::fs::write(wheels.join("ready"), "").expect("the directory's mark");
    }
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/machine");
    let root = Command::new(machine).args(["root", host.name()]).output().expect("the machine's files");
    let to = format!("{}/opt/python", String::from_utf8_lossy(&root.stdout).trim());
    let copied = Command::new("cp").args(["-rT", "--reflink=auto"]).arg(wheels).arg(to).status();
    assert!(copied.expect("cp starts").success(), "cannot copy packages into the machine");
}

/// Tests run beside each other, and what they install is for all of them: one at a time, until the file is closed.
pub fn alone() -> std::fs::File {
    std::fs::create_dir_all(CACHE).expect("the directory of what is installed");
    let lock = std::fs::File::create(Path::new(CACHE).join("lock")).expect("a lock");
    lock.lock().expect("the lock");
    lock
}

fn name_of(packages: &[&str]) -> String {
    packages.concat().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}
