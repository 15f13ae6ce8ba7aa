//! The table of features: every number once, each with a test that exists and runs.

use crate::workspace::root;
use std::collections::BTreeSet;

/// The last number of the source systems' features.
const LAST: u32 = 117;

/// A line of a table: its first cell, its file and its tests.
struct Row {
    name: String,
    file: Option<String>,
    tests: Vec<String>,
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
        }
    };
    table.take_while(|line| line.starts_with('|')).skip(2).map(row).collect()
}

/// Why a row has no test: it names none, or one that is not there or is not run.
fn missing(row: &Row) -> Vec<String> {
    let Row { name, file: Some(file), tests } = row else {
        return vec![format!("row {}: no file", row.name)];
    };
    let Ok(text) = std::fs::read_to_string(root().join(file)) else {
        return vec![format!("row {name}: there is no file {file}")];
    };
    // A scenario is a test: `every_scenario_ends_as_it_says` runs each file of the directory.
    let is_scenario = file.starts_with("tests/scenarios/") && file.ends_with(".yaml");
    if tests.is_empty() {
        return if is_scenario {
            Vec::new()
        } else {
            vec![format!("row {name}: {file} without a test's name")]
        };
    }
    let gone = tests.iter().filter(|test| !is_test(&text, test));
    let mut wrong: Vec<String> = gone.map(|test| format!("row {name}: {file} has no test {test}")).collect();
    if tests.iter().all(|test| attributes(&text, test).contains("#[ignore")) {
        wrong.push(format!("row {name}: all its tests are ignored"));
    }
    wrong
}

/// The lines right before a function, without its documentation; empty where there is no such function.
fn attributes<'t>(text: &'t str, test: &str) -> &'t str {
    let Some(at) = text.find(&format!("fn {test}(")) else { return "" };
    let before = &text[..at];
    &before[before.rfind("\n\n").unwrap_or(0)..]
}

/// Whether a function is a test by its attribute, one of a list that a macro makes tests of, or a part of a test: called in its file.
fn is_test(text: &str, test: &str) -> bool {
    let attributes = attributes(text, test);
    let is_called = || text.contains(&format!("fn {test}(")) && text.matches(&format!("{test}(")).count() > 1;
    let of_macro = text.split("on_each_release!(").skip(1).filter_map(|rest| rest.split(");").next());
    let mut names = of_macro.flat_map(|list| list.split(',').map(str::trim));
    ["#[test]", "#[tokio::test"].iter().any(|test| attributes.contains(test))
        || names.any(|name| name == test)
        || is_called()
}

#[test]
fn every_feature_names_a_test_that_exists_and_runs() {
    let rows = rows("# Features and their tests", 2);
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let wanted: BTreeSet<String> =
        (1..=LAST).map(|number| number.to_string()).chain(["22b".to_owned()]).collect();
    assert_eq!(names.len(), wanted.len(), "a number is here twice, or not: {names:?}");
    assert_eq!(names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), wanted);
    let missing: Vec<String> = rows.iter().flat_map(missing).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_line_of_the_release_checklist_names_a_test() {
    let rows = rows("## Release checklist", 1);
    assert!(rows.len() >= 10, "{} lines", rows.len());
    let missing: Vec<String> = rows.iter().flat_map(missing).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_row_without_a_test_that_runs_is_found() {
    let row = |file: &str, tests: &[&str]| Row {
        name: "1".to_owned(),
        file: Some(file.to_owned()).filter(|file| !file.is_empty()),
        tests: tests.iter().map(|test| (*test).to_owned()).collect(),
    };
    let here = "tests/tests/structure/features.rs";
    let rows = [
        (row("", &[]), "row 1: no file".to_owned()),
        (row("tests/no-such", &["x"]), "row 1: there is no file tests/no-such".to_owned()),
        (row(here, &[]), format!("row 1: {here} without a test's name")),
        (row(here, &["no_such"]), format!("row 1: {here} has no test no_such")),
        (row("tests/src/output.rs", &["json"]), "row 1: tests/src/output.rs has no test json".to_owned()),
        (row("agent/clippy.toml", &[]), "row 1: agent/clippy.toml without a test's name".to_owned()),
    ];
    for (row, why) in rows {
        assert_eq!(missing(&row), [why]);
    }
    let ignored = row("agent/tests/model/resuming.rs", &["serves_where_it_is_told"]);
    assert_eq!(missing(&ignored), ["row 1: all its tests are ignored"]);
    assert!(missing(&row(here, &["a_row_without_a_test_that_runs_is_found"])).is_empty());
}
