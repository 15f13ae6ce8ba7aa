//! Owner and mode of the policy's files, checked on the open descriptor.

use crate::support::{GOOD, SITE, TestHost};
use postern_admin::io::Exit;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn refused(host: &TestHost, words: &str) {
    let ran = host.run(&["policy", "check"]);
    assert_eq!(ran.exit, Exit::Failed, "{words}");
    assert!(ran.out.contains(words), "no {words:?} in\n{}", ran.out);
}

#[test]
fn refuses_files_and_directories_that_others_may_write() {
    for (name, mode) in [
        ("policy.toml", 0o660),
        ("policy.toml", 0o642),
        ("", 0o770),
        ("policy.d", 0o757),
        ("policy.d/a.toml", 0o666),
    ] {
        let host = TestHost::new(GOOD);
        host.write("policy.d/a.toml", SITE);
        assert_eq!(host.run(&["policy", "check"]).exit, Exit::Done);
        let path = host.host.etc.join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        refused(&host, &format!("is writable by group or others (mode {mode:04o})"));
    }
}

#[test]
fn refuses_policy_files_of_another_owner() {
    let mut host = TestHost::new(GOOD);
    host.host.owner_uid += 1;
    refused(&host, "instead of uid");
    // Files that a reviewer names have no effect: they may belong to anybody.
    let etc = host.host.etc.clone();
    assert_eq!(host.run(&["policy", "check", etc.to_str().unwrap()]).exit, Exit::Done);
}

#[test]
fn refuses_symlinks_fifos_and_directories_as_files() {
    let host = TestHost::new(GOOD);
    let real = host.write("real", SITE);
    fs::create_dir(host.host.etc.join("policy.d")).unwrap();
    let entry = host.host.etc.join("policy.d/a.toml");
    symlink(real, &entry).unwrap();
    refused(&host, "policy.d/a.toml:1:1: error: is a symbolic link");
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    refused(&host, "is a directory");
    fs::remove_dir(&entry).unwrap();
    nix::unistd::mkfifo(&entry, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    refused(&host, "is not a regular file");
}

#[test]
fn reads_drop_ins_in_byte_order_and_nothing_else() {
    let host = TestHost::new(GOOD);
    for (name, id) in
        [("b.toml", "second"), ("B.toml", "first"), ("a.toml.bak", "a"), (".c.toml", "c"), ("README", "d")]
    {
        host.write(&format!("policy.d/{name}"), SITE.replace("\"site\"", &format!("{id:?}")));
    }
    assert_eq!(host.run(&["policy", "apply", "--yes"]).exit, Exit::Done);
    let accepted = postern_admin::policy::accepted::read(&host.host.accepted_dir()).unwrap().unwrap();
    let ids = accepted.rules.rules.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>();
    assert_eq!(ids, ["look", "first", "second"]);
    let places = accepted.positions.iter().map(|place| (place.file.as_str(), place.line)).collect::<Vec<_>>();
    assert_eq!(places, [("policy.toml", 7), ("policy.d/B.toml", 2), ("policy.d/b.toml", 2)]);
}

#[test]
fn a_rule_twice_in_two_files_names_both_places() {
    let host = TestHost::new(&format!("{GOOD}{SITE}"));
    host.write("policy.d/a.toml", SITE);
    let ran = host.run(&["policy", "check"]);
    assert!(
        ran.out.contains("policy.d/a.toml:3:6: error: rule \"site\" is already defined at"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("policy.toml:16"), "{}", ran.out);
}

#[test]
fn rejects_version_in_a_drop_in_file() {
    let host = TestHost::new(GOOD);
    host.write("policy.d/a.toml", "version = 1\n");
    refused(&host, "policy.d/a.toml:1:1: error: `version` belongs in policy.toml only");
}

#[test]
fn refuses_policy_files_that_are_not_utf8_too_large_or_missing() {
    let host = TestHost::new(GOOD);
    host.write("policy.toml", b"version = 1\n# \xff\n");
    refused(&host, "policy.toml:2:3: error: is not UTF-8 here");
    host.write("policy.toml", " ".repeat(1024 * 1024 + 1));
    refused(&host, "is larger than 1048576 bytes");
    fs::remove_file(host.host.etc.join("policy.toml")).unwrap();
    refused(&host, "policy.toml:1:1: error: does not exist");
}
