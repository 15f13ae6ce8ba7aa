//! `deploy/release` refuses arguments that do not fit together before it builds, signs or writes anything.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A Debian package with nothing in it.
fn package(at: &Path, name: &str, architecture: &str, file: &str) -> PathBuf {
    let tree = at.join(format!("tree-{file}"));
    std::fs::create_dir_all(tree.join("DEBIAN")).expect("a directory");
    let control = format!(
        "Package: {name}\nVersion: 1.0\nArchitecture: {architecture}\nMaintainer: Nobody <nobody@example.org>\n\
        Description: empty\n"
    );
    std::fs::write(tree.join("DEBIAN/control"), control).expect("a control file");
    let path = at.join(file);
    let built =
        Command::new("dpkg-deb").args(["--root-owner-group", "--build"]).args([&tree, &path]).output();
    let built = built.expect("dpkg-deb starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    path
}

/// Runs it with a key that there is not, for an output of its own; it must write none and say this one line.
#[track_caller]
fn refused(at: &Path, arguments: &[&str], why: &str) {
    let release = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/release");
    let output = at.join("repository");
    let mut command = Command::new("timeout");
    command.arg("20").arg(release).arg("--output").arg(&output).args(arguments);
    let done = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!((done.status.code(), said.as_str()), (Some(1), format!("release: {why}\n").as_str()));
    assert!(!output.exists());
}

#[test]
fn arguments_that_do_not_fit_together_are_refused_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let [old, new] = ["old.deb", "new.deb"].map(|file| package(at, "postern", "amd64", file));
    let other = package(at, "hello", "amd64", "hello.deb");
    let text = at.join("text.deb");
    std::fs::write(&text, "no package").expect("a file");
    let [old, new, other, text] = [&old, &new, &other, &text].map(|path| path.to_str().expect("UTF-8"));
    let absent = "/nonexistent/postern.deb";
    let key = ["--key", "/nonexistent/key"];

    let one = "a repository holds one package for each architecture, and amd64 is named more than once";
    refused(at, &[&key[..], &["--deb", old, "--deb", new]].concat(), one);
    refused(at, &[&key[..], &["--arch", "amd64", "--arch", "arm64", "--arch", "amd64"]].concat(), one);
    let both = "give --arch or --deb, not both: a built package has its architecture";
    refused(at, &[&key[..], &["--arch", "amd64", "--deb", old]].concat(), both);
    refused(at, &[&key[..], &["--deb", old, "--arch", "arm64"]].concat(), both);
    let check = "give --check or --deb, not both: --check builds each package";
    refused(at, &["--check", "--deb", old], check);
    refused(at, &[&key[..], &["--deb", absent]].concat(), &format!("there is no file {absent}"));
    refused(at, &[&key[..], &["--deb", text]].concat(), &format!("{text} is no Debian package"));
    refused(
        at,
        &[&key[..], &["--deb", other]].concat(),
        &format!("{other} is the package hello, not postern"),
    );
    refused(at, &["--deb", old], "--key is missing: who signs the repository?");
}
