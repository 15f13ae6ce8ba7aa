//! What no rule can grant is the same in the policy, in the unit of the program that writes files, and in the lint.

use super::{lint, policy, writes};
use postern_policy::rules::protect::{DIRECTORIES, FILES};
use postern_proto::root::v1 as root;
use std::collections::BTreeSet;

/// The unit of the program that writes files.
const UNIT: &str = include_str!("../../../../../deploy/systemd/postern-helper.service");

/// Protected, but the program keeps its own state there: undo copies, jobs, ids; the log; the keys of this boot.
const OWN: [&str; 3] = ["/var/lib/postern-helper", "/var/log/postern", "/run/postern-helper"];

/// The paths of a setting of the unit, without the `-` of those that may be missing.
fn paths(setting: &str) -> BTreeSet<&'static str> {
    let lines = UNIT.lines().filter_map(|line| line.strip_prefix(setting)?.strip_prefix('='));
    lines.flat_map(str::split_whitespace).map(|path| path.trim_start_matches('-')).collect()
}

fn is_at_or_below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// All that is protected. One that ends with a `.` is how names begin (`/etc/cron.`).
fn protected() -> impl Iterator<Item = &'static str> {
    DIRECTORIES.into_iter().chain(FILES).map(|path| path.trim_end_matches('/'))
}

fn covers(entry: &str, path: &str) -> bool {
    is_at_or_below(path, entry) || (entry.ends_with('.') && path.starts_with(entry))
}

#[test]
fn the_unit_opens_nothing_protected_for_writing_but_its_own_state() {
    let (mut writable, read_only) = (paths("ReadWritePaths"), paths("ReadOnlyPaths"));
    assert!(UNIT.contains("\nProtectSystem=strict\n") && writable.len() >= 5 && read_only.len() >= 40);
    // ProtectSystem=strict leaves it out beside ProtectControlGroups=.
    writable.insert("/run");
    for entry in protected() {
        let is_opened = writable.iter().any(|path| is_at_or_below(entry, path));
        let is_closed = read_only.iter().any(|path| covers(entry, path));
        let is_own = OWN.contains(&entry);
        assert_eq!(is_opened, is_closed || is_own, "{entry} is protected: ReadOnlyPaths= must name it");
    }
    for path in writable {
        let is_closed = read_only.contains(path) || OWN.contains(&path);
        let is_protected = protected().any(|entry| covers(entry, path));
        assert!(!is_protected || is_closed, "{path} is protected, and ReadWritePaths= opens it");
    }
}

#[test]
fn all_that_is_read_only_in_the_unit_is_protected_by_the_policy() {
    for path in paths("ReadOnlyPaths") {
        assert!(
            protected().any(|entry| covers(entry, path)),
            "ReadOnlyPaths= names {path}, the policy does not"
        );
    }
}

#[test]
fn the_lint_has_a_finding_for_a_rule_that_reaches_into_a_protected_place() {
    let mut missing = Vec::new();
    for entry in protected() {
        // How names begin: that directory or file is any of the names.
        let (directory, file) = entry.rsplit_once('/').unwrap();
        let rule = if FILES.contains(&entry) {
            writes("r", directory, file)
        } else if entry.ends_with('.') {
            writes("r", directory, &format!("{file}*"))
        } else {
            root::Rule { depth: 8, ..writes("r", entry, "*") }
        };
        let found = lint(&policy(vec![rule]), None);
        if !found.iter().any(|found| found.class.is_some() && found.id != "write-outside-harmless") {
            missing.push(entry);
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}
