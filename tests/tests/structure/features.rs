//! The tables of features: every number once in each, every file and test that they name exists and runs, and the tests
//! of the installed system are those of machines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::tested::Tested;
use crate::workspace::root;

/// The last number of the source systems' features.
const LAST: u32 = 117;

/// Files of rows that are no tests and have none: lints, and scripts of `tests/run`.
const OTHERS: [&str; 2] = ["agent/clippy.toml", "tests/coverage"];

/// Tests that `tests/run` asks for, though they are ignored otherwise.
const ASKED_FOR: [&str; 1] = ["a_collector_of_another_project_reads_the_spans_of_a_task_and_passes_them_on"];

/// Why a row has no test on an installed system, as the table says it.
const REASONS: [&str; 4] =
    ["about sources, nothing is installed", "measured, no behaviour", "about the tests", "about a release"];

/// A line of a table: its first cell, its file and its tests.
struct Row {
    name: String,
    file: Option<String>,
    tests: Vec<String>,
    /// The last cell as it is.
    words: String,
}

/// The rows of a section; cells before the file are `first` many.
fn rows(section: &str, first: usize) -> Vec<Row> {
    let text = fs::read_to_string(root().join("tests/features.md")).expect("tests/features.md");
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
            words: cells[first + 1].to_owned(),
        }
    };
    table.take_while(|line| line.starts_with('|')).skip(2).map(row).collect()
}

/// All numbers of features.
fn numbers() -> BTreeSet<String> {
    (1..=LAST).map(|number| number.to_string()).chain(["22b".to_owned()]).collect()
}

/// What is wrong with the file and the tests of a row.
fn wrong(row: &Row) -> Vec<String> {
    let Some(file) = &row.file else { return vec![format!("row {}: it names no file", row.name)] };
    let path = root().join(file);
    let Ok(text) = fs::read_to_string(&path) else {
        return vec![format!("row {}: there is no file {file}", row.name)];
    };
    // Each scenario is a test; the other files have none.
    let has_tests = path.extension().is_none_or(|end| end != "yaml") && !OTHERS.contains(&file.as_str());
    if has_tests == row.tests.is_empty() {
        return vec![format!("row {}: {file} and its tests {:?} do not go together", row.name, row.tests)];
    }
    // A bench of criterion lists its functions.
    let is_bench = file.contains("/benches/");
    let tested = Tested::of(&path).unwrap_or_default();
    let is_of_machine = machines().contains(program(file));
    let runs = |test: &&String| {
        tested.is_test(test)
            || (is_of_machine && tested.is_part_of_a_test(test))
            || (ASKED_FOR.contains(&test.as_str()) && tested.is_ignored(test))
            || (is_bench && text.contains(&format!("fn {test}(")))
    };
    let gone = row.tests.iter().filter(|test| !runs(test));
    gone.map(|test| format!("row {}: {file} has no test {test} that runs", row.name)).collect()
}

/// Test programs that boot a machine in every run.
fn machines() -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join("tests/Cargo.toml")).expect("tests/Cargo.toml");
    let gated =
        manifest.split("[[test]]\n").filter(|part| part.contains("required-features = [\"machine\"]"));
    gated.filter_map(|part| Some(part.strip_prefix("name = \"")?.split('"').next()?.to_owned())).collect()
}

/// The test program that a file of `tests/tests` belongs to; empty for other files.
fn program(file: &str) -> &str {
    let rest = file.strip_prefix("tests/tests/").map(|rest| rest.trim_end_matches(".rs"));
    rest.and_then(|rest| rest.split('/').next()).unwrap_or_default()
}

/// What is wrong with a line of the installed system's table.
fn wrong_installed(row: &Row, machines: &BTreeSet<String>) -> Vec<String> {
    let fault = |why: String| vec![format!("rows {}: {why}", row.name)];
    let Some(file) = &row.file else {
        let is_known = REASONS.contains(&row.words.as_str());
        return if is_known {
            Vec::new()
        } else {
            fault(format!("{:?} is no reason of the list", row.words))
        };
    };
    let path = root().join(file);
    if !path.exists() {
        return fault(format!("there is no {file}"));
    }
    // `tests/tests/operator.rs` plays every file of this directory.
    if file.starts_with("tests/scenarios/operator/") {
        return if path.is_file() { Vec::new() } else { fault(format!("{file} is no scenario")) };
    }
    let program = program(file);
    if !machines.contains(program) {
        return fault(format!("{file} is no test of a machine"));
    }
    let whole = root().join("tests/tests").join(program);
    let tested = Tested::of(if whole.is_dir() { &whole } else { &path }).unwrap_or_default();
    let gone = row.tests.iter().filter(|test| !tested.is_part_of_a_test(test));
    let gone = gone.map(|test| format!("rows {}: no test of {file} runs {test}", row.name));
    let none = row.tests.is_empty().then(|| format!("rows {}: {file} without a test", row.name));
    gone.chain(none).collect()
}

#[test]
fn every_feature_names_a_test_that_runs() {
    let rows = rows("# Features and their tests", 2);
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names.len(), numbers().len(), "a number is here twice, or not: {names:?}");
    assert_eq!(names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), numbers());
    let wrong: Vec<String> = rows.iter().flat_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_feature_has_a_test_on_the_installed_system_or_a_reason_of_the_list() {
    let rows = rows("## On the installed system", 1);
    let mut of_number: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        for number in row.name.split(", ") {
            of_number.entry(number).or_default().push(row);
        }
    }
    assert_eq!(of_number.keys().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), numbers());
    for (number, rows) in &of_number {
        let reasons = rows.iter().filter(|row| row.file.is_none()).count();
        assert!(reasons == 0 || rows.len() == 1, "row {number} has a test and a reason for none");
    }
    let machines = machines();
    assert!(machines.contains("main_job") && !machines.contains("upgrade"), "{machines:?}");
    let wrong: Vec<String> = rows.iter().flat_map(|row| wrong_installed(row, &machines)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_line_of_the_release_checklist_names_a_test() {
    let rows = rows("## Release checklist", 1);
    assert!(rows.len() >= 10, "{} lines", rows.len());
    let wrong: Vec<String> = rows.iter().flat_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn row(file: &str, tests: &[&str]) -> Row {
    let file = (!file.is_empty()).then(|| file.to_owned());
    let tests = tests.iter().map(|test| (*test).to_owned()).collect();
    Row { name: "1".to_owned(), file, tests, words: "no time".to_owned() }
}

#[test]
fn finds_a_file_and_a_test_that_are_gone_or_do_not_run() {
    assert_eq!(wrong(&row("tests/no-such", &["x"])), ["row 1: there is no file tests/no-such"]);
    assert_eq!(wrong(&row("", &[])), ["row 1: it names no file"]);
    let here = "tests/tests/structure/features.rs";
    // A function that is no test, and an ignored test of another file.
    for (file, name) in [(here, "no_such"), (here, "numbers"), ("agent/tests/terminal.rs", "command_line")] {
        assert_eq!(wrong(&row(file, &[name])), [format!("row 1: {file} has no test {name} that runs")]);
    }
    assert_eq!(wrong(&row(here, &[])).len(), 1, "a source without tests");
    assert_eq!(wrong(&row("agent/clippy.toml", &["x"])).len(), 1, "tests of what has none");
    assert!(wrong(&row(here, &["finds_a_file_and_a_test_that_are_gone_or_do_not_run"])).is_empty());
}

#[test]
fn finds_what_is_no_test_of_the_installed_system() {
    let machines = machines();
    let is_wrong = |file: &str, tests: &[&str]| !wrong_installed(&row(file, tests), &machines).is_empty();
    let job = "tests/tests/main_job.rs";
    assert!(!is_wrong(job, &["does_the_main_job"]));
    assert!(!is_wrong("tests/tests/model_job.rs", &["one_trace_ties_it_together"]), "a test calls it");
    assert!(!is_wrong("tests/scenarios/operator/sysctl.yaml", &[]));
    for (file, tests) in [
        ("", &[][..]),
        (job, &[]),
        (job, &["no_such"]),
        ("tests/tests/structure/features.rs", &["finds_what_is_no_test_of_the_installed_system"]),
        ("agent/tests/terminal.rs", &["each_phase_has_a_bar_that_fits_the_terminal"]),
        ("tests/tests/upgrade.rs", &["x"]),
        ("tests/scenarios/operator/decided", &[]),
        ("tests/scenarios/empty_arguments.yaml", &[]),
    ] {
        assert!(is_wrong(file, tests), "{file} {tests:?}");
    }
    let source = "fn a() { b(); } #[test] fn t() { STORIES; } const STORIES: &[F] = list![d::c]; fn c() { e() } fn e() {}
        #[test] #[ignore = \"x\"] fn no() { f() } fn f() {} fn b() {}";
    let tested = Tested::of_text(source);
    let parts = ["t", "c", "e", "a", "b", "f", "no"].map(|name| tested.is_part_of_a_test(name));
    assert_eq!(parts, [true, true, true, false, false, false, false]);
}
