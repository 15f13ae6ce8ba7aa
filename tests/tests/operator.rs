//! An operator's tasks with a scripted model on the installed system (`tests/scenarios/operator`).
//!
//! Each scenario checks the exit code, the task's status, Postern's record, the state of the host, and the state after
//! `postern undo --task`. All run on one machine; `POSTERN_SCENARIO=NAME` runs one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use postern_tests::{Installed, Machine, Package, Release};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// Name of the file without suffix.
    #[serde(skip)]
    name: String,
    /// The behaviour that the scenario pins.
    pins: String,
    /// The task as the visitor words it.
    task: String,
    /// Further arguments of `postern run`.
    #[serde(default)]
    arguments: Vec<String>,
    /// Debian packages that the machine's repository offers beside its own.
    #[serde(default)]
    debian_packages: Vec<String>,
    /// Small packages, `NAME=VERSION`, published before the setup; each has a configuration file `/etc/NAME.conf`.
    #[serde(default)]
    publish: Vec<String>,
    /// Prepares the host; a script of `sh` as root.
    #[serde(default)]
    setup: String,
    /// Packages as in `publish`, published after the setup.
    #[serde(default)]
    publish_after_setup: Vec<String>,
    /// Packs with the values of their variables: the policy, beside what the package brings.
    packs: BTreeMap<String, BTreeMap<String, String>>,
    /// The helper's decision on each request; `packs/tasks.rs` of the admin tool's tests compares the packs with
    /// it.
    #[serde(default, rename = "decisions")]
    _decisions: Vec<String>,
    /// The model's calls, one reply each: `tool` and `args`.
    model: Vec<Value>,
    /// Exit code of `postern run`.
    exit: i32,
    /// The task's status.
    status: String,
    /// Texts that Postern's record contains.
    #[serde(default)]
    record_contains: Vec<String>,
    /// Texts that Postern's record does not contain.
    #[serde(default)]
    record_omits: Vec<String>,
    /// Texts in the results that the model received.
    #[serde(default)]
    model_sees: Vec<String>,
    /// Checks the host after the task; a script of `sh` as root that exits with 0.
    state: String,
    /// Left out where the task has nothing to undo.
    undo: Option<Undo>,
}

/// `postern undo --task`, and the host after it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Undo {
    /// Further arguments of `postern undo`.
    #[serde(default)]
    arguments: Vec<String>,
    exit: i32,
    #[serde(default)]
    says: Vec<String>,
    state: String,
}

fn scenarios() -> Vec<Scenario> {
    let only = env::var("POSTERN_SCENARIO").ok();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/operator");
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).expect("the directory of scenarios") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.extension().is_none_or(|end| end != "yaml") || only.as_ref().is_some_and(|only| *only != name)
        {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a scenario");
        let scenario: Scenario =
            serde_yaml_ng::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        all.push(Scenario { name, ..scenario });
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!all.is_empty(), "no scenario of that name");
    all
}

fn publish(host: &Installed, wanted: &[String]) {
    let package = |wanted: &String| {
        let (name, version) = wanted.split_once('=').expect("NAME=VERSION");
        Package::new(name, version).conffile(&format!("/etc/{name}.conf"), "option = default\n")
    };
    if !wanted.is_empty() {
        host.publish_all(&wanted.iter().map(package).collect::<Vec<_>>());
    }
}

/// The results of all calls, from the last request to the model.
fn results(host: &Installed) -> String {
    let seen = host.root(&["tail", "-n", "1", "/var/tmp/model/seen"]).json();
    let messages = seen["messages"].as_array().expect("messages").iter();
    messages.filter(|one| one["role"] == "tool").filter_map(|one| one["content"].as_str()).collect()
}

fn assert_state(host: &Installed, script: &str, when: &str) {
    let checked = host.shell(script);
    assert_eq!(checked.code, 0, "wrong state of the host {when}: {checked}");
}

fn assert_contains(text: &str, wanted: &[String], what: &str) {
    for words in wanted {
        assert!(text.contains(words), "{what} lacks {words:?}: {text}");
    }
}

/// Makes these packs all that is granted beside the package's own policy.
fn add_packs(host: &Installed, packs: &BTreeMap<String, BTreeMap<String, String>>) {
    let _ = host.root(&["sh", "-c", "rm -f /etc/postern/policy.d/pack-*"]).ok();
    if packs.is_empty() {
        let _ = host.root(&["postern-admin", "policy", "apply", "--yes"]).ok();
        return;
    }
    let mut argv = ["postern-admin", "pack", "add", "--yes"].map(str::to_owned).to_vec();
    for (pack, values) in packs {
        argv.push(pack.clone());
        for (name, value) in values {
            argv.extend(["--set".to_owned(), format!("{pack}.{name}={value}")]);
        }
    }
    let _ = host.root(&argv.iter().map(String::as_str).collect::<Vec<_>>()).ok();
}

fn play(host: &Installed, scenario: &Scenario) {
    publish(host, &scenario.publish);
    let _ = host.shell(&scenario.setup).ok();
    publish(host, &scenario.publish_after_setup);
    add_packs(host, &scenario.packs);
    host.with_model(&Value::from(scenario.model.clone()), "");

    let mut argv = vec!["postern", "run", "--json"];
    argv.extend(scenario.arguments.iter().map(String::as_str));
    argv.push(&scenario.task);
    let done = host.visitor(&argv);
    let results = results(host);
    assert_eq!(done.code, scenario.exit, "{done}\n{results}");
    let task = done.json();
    assert_eq!(task["status"], scenario.status.as_str(), "{done}");
    let summary = task["summary"].as_str().unwrap_or_default();
    let (_, record) = summary.split_once("Postern's record:").unwrap_or_else(|| panic!("no record: {done}"));
    assert_contains(record, &scenario.record_contains, "the record");
    for words in &scenario.record_omits {
        assert!(!record.contains(words), "the record has {words:?}: {record}");
    }
    assert_contains(&results, &scenario.model_sees, "what the model receives");
    assert_state(host, &scenario.state, "after the task");

    let Some(undo) = &scenario.undo else { return };
    let mut argv = vec!["postern", "undo", "--task", task["id"].as_str().expect("an id")];
    argv.extend(undo.arguments.iter().map(String::as_str));
    let undone = host.visitor(&argv);
    assert_eq!(undone.code, undo.exit, "{undone}");
    assert_contains(&undone.to_string(), &undo.says, "the undo");
    assert_state(host, &undo.state, "after the undo");
}

#[test]
fn operator_tasks_reach_their_end_state_exit_code_and_undo() {
    let scenarios = scenarios();
    let wanted: BTreeSet<&str> =
        scenarios.iter().flat_map(|one| &one.debian_packages).map(String::as_str).collect();
    let machine = Machine::boot_offering(Release::Trixie, &Vec::from_iter(wanted));
    let host = Installed::in_machine(machine, &postern_tests::deb());
    let mut failed = Vec::new();
    for scenario in &scenarios {
        let begun = Instant::now();
        // A failure does not keep the other scenarios from running.
        if catch_unwind(AssertUnwindSafe(|| play(&host, scenario))).is_err() {
            failed.push(scenario.name.as_str());
        }
        println!("{} ({:.1} s): {}", scenario.name, begun.elapsed().as_secs_f32(), scenario.pins);
    }
    assert!(failed.is_empty(), "{} of {} failed: {}", failed.len(), scenarios.len(), failed.join(", "));
}
