//! The Python client's wheel and source distribution.

use std::path::Path;
use std::process::Command;

use crate::python;

/// Build tools, from `PyPI`.
const BUILDER: [&str; 2] = ["build==1.3.0", "setuptools==84.2.1"];

/// Runs Python, which must succeed.
fn run(python: &Path, directory: &Path, arguments: &[&str]) {
    let done = Command::new(python).args(arguments).current_dir(directory).output().expect("python starts");
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn the_python_client_installs_from_its_wheel_and_from_its_source_distribution() {
    let python = python::environment(&BUILDER);
    let directory = tempfile::tempdir().expect("a directory");
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/python");
    let copied = Command::new("cp").arg("-rT").arg(&client).arg(directory.path()).status();
    assert!(copied.expect("cp starts").success());
    run(&python, directory.path(), &["-m", "build", "--no-isolation"]);
    let version = env!("CARGO_PKG_VERSION");
    for file in
        [format!("postern_client-{version}-py3-none-any.whl"), format!("postern_client-{version}.tar.gz")]
    {
        let (from, to) = (format!("dist/{file}"), format!("installed-{file}"));
        let install =
            ["-m", "pip", "-q", "install", "--no-deps", "--no-build-isolation", "--target", &to, &from];
        run(&python, directory.path(), &install);
        let check = format!(
            "import sys; sys.path.insert(0, {to:?}); import postern; assert {to:?} in postern.__file__"
        );
        run(&python, directory.path(), &["-c", &check]);
        assert!(directory.path().join(&to).join("postern/py.typed").exists(), "the types are marked");
    }
}
