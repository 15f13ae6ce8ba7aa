//! The table of features: every number once, and every file and test that it names exists.

use crate::workspace::root;
use std::collections::BTreeSet;

/// The last number of the source systems' features.
const LAST: u32 = 117;

/// A line of a table: its first cell, its file and its tests. A file is absent where there is no test, and why is said.
struct Row {
    name: String,
    file: Option<String>,
    tests: Vec<String>,
    why: String,
}

/// The rows of a section; cells before the file are `first` many.
fn rows(section: &str, first: usize) -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("tests/features.md")).expect("tests/features.md");
    let begin = text.find(section).unwrap_or_else(|| panic!("there is no section {section:?}"));
    let table = text[begin..].lines().skip(1).skip_while(|line| !line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), first + 2, "{line}");
        let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        Row {
            name: cells[0].to_owned(),
            file: quoted(cells[first]).into_iter().next(),
            tests: quoted(cells[first + 1]),
            why: cells[first + 1].to_owned(),
        }
    };
    table.take_while(|line| line.starts_with('|')).skip(2).map(row).collect()
}

/// What a row names and is not there.
fn missing(row: &Row) -> Vec<String> {
    let Some(file) = &row.file else { return Vec::new() };
    let Ok(text) = std::fs::read_to_string(root().join(file)) else {
        return vec![format!("row {}: there is no file {file}", row.name)];
    };
    let has =
        |test: &&String| text.contains(&format!("fn {test}(")) || text.contains(&format!("\n    {test},\n"));
    let gone = row.tests.iter().filter(|test| !has(test));
    gone.map(|test| format!("row {}: {file} has no test {test}", row.name)).collect()
}

#[test]
fn every_feature_names_a_test_that_exists_or_says_why_it_has_none() {
    let rows = rows("# Features and their tests", 2);
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let wanted: BTreeSet<String> =
        (1..=LAST).map(|number| number.to_string()).chain(["22b".to_owned()]).collect();
    assert_eq!(names.len(), wanted.len(), "a number is here twice, or not: {names:?}");
    assert_eq!(names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), wanted);
    for row in rows.iter().filter(|row| row.file.is_none()) {
        assert!(!row.why.is_empty(), "row {} says neither a test nor why it has none", row.name);
    }
    let missing: Vec<String> = rows.iter().flat_map(missing).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_line_of_the_release_checklist_names_a_test() {
    let rows = rows("## Release checklist", 1);
    assert!(rows.len() >= 10, "{} lines", rows.len());
    for row in &rows {
        assert!(row.file.is_some(), "{}", row.name);
    }
    let missing: Vec<String> = rows.iter().flat_map(missing).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn finds_a_file_and_a_test_that_are_gone() {
    let row = |file: &str, test: &str| Row {
        name: "1".to_owned(),
        file: Some(file.to_owned()),
        tests: vec![test.to_owned()],
        why: String::new(),
    };
    assert_eq!(missing(&row("tests/no-such", "x")), ["row 1: there is no file tests/no-such"]);
    let here = "tests/tests/structure/features.rs";
    assert_eq!(missing(&row(here, "no_such")), [format!("row 1: {here} has no test no_such")]);
    assert!(missing(&row(here, "finds_a_file_and_a_test_that_are_gone")).is_empty());
}
