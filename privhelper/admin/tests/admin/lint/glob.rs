//! Intersection of two patterns, compared with every text of a small alphabet.

use postern_admin::lint::glob::{Star, both, both_files, meet};
use postern_admin::lint::reach::reaches;
use postern_policy::types::{Pattern, TargetPath};
use postern_policy::{Object, Rule, VerbId};
use postern_proto::root::v1 as root;

/// Every text of 1 to `longest` of these characters.
fn texts(alphabet: &[char], longest: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..longest {
        last = last.iter().flat_map(|text| alphabet.iter().map(move |c| format!("{text}{c}"))).collect();
        all.extend(last.iter().cloned());
    }
    all.remove(0);
    all
}

#[test]
fn two_patterns_meet_exactly_if_some_text_is_matched_by_both() {
    // Two patterns of 3 characters that meet at all meet in a text of at most 6.
    let patterns = texts(&['a', '.', '@', '*'], 3);
    let names = texts(&['a', '.', '@'], 6);
    let parsed: Vec<_> = patterns.iter().map(|text| Pattern::new(text).unwrap()).collect();
    let by = |how: fn(&Pattern, &str) -> bool| -> Vec<Vec<bool>> {
        parsed.iter().map(|pattern| names.iter().map(|name| how(pattern, name)).collect()).collect()
    };
    let (any, unit, file) = (by(Pattern::matches), by(Pattern::matches_unit), by(Pattern::matches_file));
    let meets = |a: &[bool], b: &[bool]| a.iter().zip(b).any(|(a, b)| *a && *b);
    for (i, a) in patterns.iter().enumerate() {
        for (j, b) in patterns.iter().enumerate() {
            let (anything, no_at) = (Star::Anything, Star::NoAt);
            assert_eq!(both(a, anything, b, anything), meets(&any[i], &any[j]), "{a} {b}");
            assert_eq!(both(a, no_at, b, anything), meets(&unit[i], &any[j]), "unit {a}, entry {b}");
            if let Some(text) = meet(a, no_at, b, anything).filter(|text| !text.is_empty()) {
                assert!(parsed[i].matches_unit(&text) && parsed[j].matches(&text), "{a} {b}: {text}");
            }
            assert_eq!(both_files(a, b), meets(&file[i], &any[j]), "file {a}, entry {b}");
        }
    }
}

/// Whether an entry of the table names a path, by its definition.
fn names(entry: &str, path: &str) -> bool {
    let (mut entry, mut path) = (entry.split('/'), path.split('/'));
    loop {
        match (entry.next(), path.next()) {
            (Some("**"), Some(_)) | (None, None) => return true,
            (Some(want), Some(have)) if both(want, Star::Anything, have, Star::Anything) => {}
            (Some(_) | None, Some(_) | None) => return false,
        }
    }
}

#[test]
fn a_rule_reaches_an_entry_exactly_if_it_selects_a_path_of_it() {
    let components = ["a", "b", "c", "ab", ".a", ".b"];
    let mut paths: Vec<String> = vec![String::new()];
    let mut last = paths.clone();
    for _ in 0..4 {
        last = last
            .iter()
            .flat_map(|path| components.iter().map(move |name| format!("{path}/{name}")))
            .collect();
        paths.extend(last.iter().cloned());
    }
    paths.remove(0);
    let entries = [
        "/a",
        "/a/b",
        "/a/**",
        "/a/b/**",
        "/*/b",
        "/a/*/b",
        "/a/.b/**",
        "/a/.b",
        "/a/b/a",
        "/*/*/.a/**",
        "/a/a*",
        "/a/*b/**",
        "/.a/b",
        "/a/b/a/b",
    ];
    for directory in ["/a", "/b", "/a/b", "/a/.b", "/.a", "/a/b/a"] {
        for depth in 1..=3 {
            for file in ["*", "a", "b", "a*", "*b", ".a", ".*", "c"] {
                let (directories, files) = (vec![directory.to_owned()], vec![file.to_owned()]);
                let wire = root::Rule { directories, depth, files, ..super::rule("r", "file.read") };
                let rule = Rule::new(&wire).unwrap();
                let selected = |path: &&String| {
                    let path = TargetPath::new(path).unwrap();
                    rule.selects(VerbId::FileRead, &Object::read(path))
                };
                let selected: Vec<_> = paths.iter().filter(selected).collect();
                for entry in entries {
                    let expected = selected.iter().any(|path| names(entry, path));
                    let said = reaches(directory, depth, &wire.files, entry);
                    assert_eq!(said, expected, "{directory} depth {depth} {file} and {entry}");
                }
            }
        }
    }
}
