//! Paths that no rule can grant: the lint finds each, and the unit of the program that writes files opens none.

use super::{lint, policy, writes};
use postern_policy::rules::protect::{DIRECTORIES, FILES};
use postern_proto::root::v1 as root;

/// The unit of the program that writes files.
const UNIT: &str = include_str!("../../../../../deploy/systemd/postern-files.service");

/// All that is protected. One that ends with `.` or `-` is how names begin (`/etc/cron.`).
fn protected() -> impl Iterator<Item = &'static str> {
    DIRECTORIES.into_iter().chain(FILES).map(|path| path.trim_end_matches('/'))
}

#[test]
fn unit_of_the_writing_program_opens_its_own_state_alone() {
    // Granted directories are in the drop-in that `policy apply` writes.
    let opened: Vec<&str> =
        UNIT.lines().filter(|line| line.contains("Paths=") && !line.starts_with("Inaccessible")).collect();
    assert_eq!(opened, ["ReadWritePaths=/var/lib/postern-files"]);
    assert!(UNIT.contains("\nProtectSystem=strict\n") && UNIT.contains("\nTemporaryFileSystem=/run:ro\n"));
    assert!(protected().any(|entry| "/var/lib/postern-files".starts_with(entry)));
}

#[test]
fn the_lint_has_a_finding_for_a_rule_that_reaches_into_a_protected_place() {
    let mut missing = Vec::new();
    for entry in protected() {
        // How names begin: that directory or file is any of the names.
        let (directory, file) = entry.rsplit_once('/').unwrap();
        let rule = if FILES.contains(&entry) {
            writes("r", directory, file)
        } else if entry.ends_with(['.', '-']) {
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
