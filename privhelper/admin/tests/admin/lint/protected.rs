//! Paths that no rule can grant: the lint finds each, and the unit of the program that writes files opens none.

use super::{lint, policy, writes};
use postern_admin::finding::{Class, Severity};
use postern_policy::rules::protect::{DIRECTORIES, FILES};
use postern_proto::root::v1 as root;
use std::path::Path;

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

/// The id of the finding of a directory in which something is protected.
const HOLDS: &str = "directory-with-protected-names";

/// A rule that no other finding is about: one harmless file, with lines that name nothing.
fn harmless(directory: &str) -> root::Rule {
    root::Rule { lines: vec!["banner".to_owned()], ..writes("r", directory, "harmless") }
}

fn holds(rules: &root::Rules) -> usize {
    lint(rules, None).iter().filter(|finding| finding.id == HOLDS).count()
}

#[test]
fn each_directory_in_which_something_is_protected_is_a_finding_whatever_file_is_granted() {
    let mut directories = std::collections::BTreeSet::new();
    for entry in protected() {
        let ancestors = Path::new(entry).ancestors().skip(1);
        directories.extend(ancestors.map(|above| above.to_str().unwrap().to_owned()));
    }
    let known = ["/", "/etc", "/usr", "/usr/local", "/usr/local/lib", "/var", "/var/lib", "/var/log"];
    assert!(known.iter().all(|directory| directories.contains(*directory)), "{directories:?}");
    for directory in &directories {
        let found = lint(&policy(vec![harmless(directory)]), None);
        let found = found.iter().filter(|finding| finding.id == HOLDS).collect::<Vec<_>>();
        assert_eq!(found.len(), 1, "{directory}");
        assert_eq!((found[0].class, found[0].severity), (Some(Class::Combined), Severity::Warning));
    }
    // The message names what is protected there.
    for entry in protected() {
        let (directory, _) = entry.rsplit_once('/').unwrap();
        let rule = harmless(if directory.is_empty() { "/" } else { directory });
        let found = lint(&policy(vec![rule]), None);
        let named = found.iter().find(|finding| finding.id == HOLDS);
        assert!(
            named.is_some_and(|finding| finding.message.contains(&format!("protect {directory}/"))),
            "{entry}"
        );
    }
}

#[test]
fn a_directory_without_protected_names_one_beside_them_and_one_that_is_only_read_are_no_such_finding() {
    for directory in
        ["/srv/x", "/var/www", "/etc/nginx", "/etc/post", "/var/lib/shop", "/usr/local/etc", "/home"]
    {
        assert_eq!(holds(&policy(vec![harmless(directory)])), 0, "{directory}");
    }
    let reads = root::Rule { verbs: vec!["file.read".to_owned()], ..harmless("/etc") };
    let mut denies = harmless("/etc");
    denies.set_decision(root::Decision::Deny);
    // A process of the rule's user reaches what this user does.
    let as_user = root::Rule { as_user: "app".to_owned(), ..harmless("/etc") };
    for rule in [reads, denies, as_user] {
        assert_eq!(holds(&policy(vec![rule.clone()])), 0, "{rule:?}");
    }
}

#[test]
fn what_the_policy_itself_protects_counts_too() {
    let with = |directory: &str, paths: &[&str]| {
        let paths = paths.iter().map(ToString::to_string).collect();
        let protect = Some(root::Protect { paths, ..root::Protect::default() });
        holds(&root::Rules { protect, ..policy(vec![harmless(directory)]) })
    };
    assert_eq!(with("/srv", &["/srv/secret"]), 1);
    assert_eq!(with("/srv", &["/srv/a/b/secret"]), 1);
    assert_eq!(with("/srv/site", &["/srv/secret", "/srv/site2"]), 0);
}
