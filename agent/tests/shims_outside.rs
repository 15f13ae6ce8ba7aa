//! Shims outside the agent's sandbox: which program a name finds, and what needs no request.

#![expect(clippy::disallowed_methods, reason = "the shims are programs")]

use postern_agent::Host;
use postern_agent::shims::{outside, real};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const POSTERN: &str = env!("CARGO_BIN_EXE_postern");

/// A directory with a program `sudo` that says which one it is.
fn program(at: &Path, says: &str) -> PathBuf {
    fs::create_dir_all(at).unwrap();
    let path = at.join("sudo");
    fs::write(&path, format!("#!/bin/sh\necho {says} \"$@\"\nexit 7\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A directory of shims.
fn shims(at: &Path) -> &Path {
    fs::create_dir_all(at).unwrap();
    symlink(POSTERN, at.join("sudo")).unwrap();
    at
}

fn path(directories: &[&Path]) -> OsString {
    std::env::join_paths(directories).unwrap()
}

#[test]
fn finds_the_next_program_behind_shims_that_stand_in_path_twice_and_under_another_name() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    let (first, second) = (at("shims"), at("more"));
    shims(&first);
    shims(&second);
    symlink(&first, at("link")).unwrap();
    let real = program(&at("bin"), "real");
    let search = path(&[&first, &at("link"), &second, &first, &at("missing"), &at("bin")]);
    assert_eq!(real::find("sudo", &search), Some(real));
}

#[test]
fn finds_nothing_where_only_shims_directories_and_files_that_no_one_may_run_stand() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    shims(&at("shims"));
    fs::create_dir_all(at("directory/sudo")).unwrap();
    fs::set_permissions(program(&at("text"), "no"), fs::Permissions::from_mode(0o644)).unwrap();
    let search = path(&[&at("shims"), &at("directory"), &at("text")]);
    assert_eq!(real::find("sudo", &search), None);
    let done = Command::new(at("shims/sudo")).env("PATH", &search).output().unwrap();
    assert_eq!(done.status.code(), Some(127));
    assert_eq!(String::from_utf8_lossy(&done.stderr), "sudo: command not found\n");
}

#[test]
fn without_no_new_privileges_the_real_program_runs_with_the_same_arguments() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    shims(&at("shims"));
    program(&at("bin"), "real");
    let search = path(&[&at("shims"), &at("shims"), &at("bin"), Path::new("/usr/bin"), Path::new("/bin")]);
    let done = Command::new(at("shims/sudo")).args(["-n", "a b"]).env("PATH", &search).output().unwrap();
    assert_eq!(
        (done.status.code(), String::from_utf8_lossy(&done.stdout).as_ref()),
        (Some(7), "real -n a b\n")
    );
}

#[test]
fn a_socket_that_is_missing_admits_nobody() {
    let temporary = tempfile::tempdir().unwrap();
    let host = |name: &str| Host { helper_socket: temporary.path().join(name), ..Host::default() };
    let _socket = std::os::unix::net::UnixListener::bind(temporary.path().join("helper.sock")).unwrap();
    assert!(outside::is_client(&host("helper.sock")));
    assert!(!outside::is_client(&host("missing.sock")));
}

#[test]
fn exec_puts_the_shims_first_and_sets_no_new_privileges() {
    let script = "echo \"${PATH%%:*}\"; grep NoNewPrivs /proc/self/status; exit 5";
    let done = Command::new(POSTERN).args(["exec", "--", "sh", "-c", script]).output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!((done.status.code(), text.as_str()), (Some(5), "/usr/lib/postern/shims\nNoNewPrivs:\t1\n"));
    let done = Command::new(POSTERN).args(["exec", "missing-program"]).output().unwrap();
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(1) && text.contains("missing-program: No such file"), "{text}");
}
