//! An operator's thirty tasks: which of them can be had from packs alone, without a line of policy written by hand.
//!
//! The tasks are the scenarios of `tests/scenarios/operator`. Each names packs with their values; the requests that its model
//! makes are decided by `policy explain`, with the helper's own code, under what `pack add` would write.

use super::{STARTER, shipped};
use crate::support::TestHost;
use postern_admin::finding::Severity;
use postern_admin::io::Exit;
use postern_admin::packs::{Values, file_name, pack, text};
use postern_admin::policy::Purpose;
use postern_admin::policy::apply::load;
use postern_admin::policy::source::Owner;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// How many of the thirty tasks must be had from packs alone.
const ENOUGH: usize = 23;

/// The part of a scenario that says what it asks for.
#[derive(Deserialize)]
struct Task {
    #[serde(rename = "task")]
    words: String,
    /// Packs with their values; none where its policy is written by hand.
    packs: Option<BTreeMap<String, BTreeMap<String, Words>>>,
    /// Why no pack serves it.
    missing: Option<String>,
    #[serde(default)]
    model: Vec<Value>,
    /// The decision of each request; left out: all are allowed.
    decisions: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Many(Vec<String>),
}

/// A request in the words of `policy explain`, and new content.
type Request = (Vec<String>, Option<String>);

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenarios/operator")
}

/// Every task, by the name of its file.
fn tasks() -> BTreeMap<String, Task> {
    let mut all = BTreeMap::new();
    for place in [directory(), directory().join("decided")] {
        for path in fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path()) {
            if path.extension().is_some_and(|end| end == "yaml") {
                let text = fs::read_to_string(&path).unwrap();
                let task = serde_yaml_ng::from_str(&text);
                let task = task.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                all.insert(path.file_stem().unwrap().to_string_lossy().into_owned(), task);
            }
        }
    }
    all
}

/// The requests of a call, as the agent sends them; the agent's own looks send none.
fn requests(call: &Value) -> Vec<Request> {
    let args = &call["args"];
    let text = |name: &str| args[name].as_str().unwrap_or_default().to_owned();
    let action = || text("action").replace('_', "-");
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let plain = |said: &[&str]| vec![(words(said), None)];
    match call["tool"].as_str().unwrap() {
        "finish" | "list_units" | "list_timers" | "list_disks" | "get_network" => Vec::new(),
        "service" => plain(&["unit", &action(), &text("name")]),
        "reboot" => plain(&["host", "reboot"]),
        "unit_journal" => plain(&["unit", "status", &text("name")]),
        "package" if action() == "list-upgrades" => Vec::new(),
        "package" => {
            let names = args["names"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap());
            vec![([words(&["package", &action()]), words(&names.collect::<Vec<_>>())].concat(), None)]
        }
        "file" if action() == "mkdir" => {
            plain(&["file", "mkdir", &text("path"), "--mode", args["mode"].as_str().unwrap_or("0755")])
        }
        "file" if action() == "set-mode" => plain(&["file", "set-mode", &text("path"), &text("mode")]),
        "file" if action() == "set-owner" => plain(&["file", "set-owner", &text("path"), &text("owner")]),
        "file" => plain(&["file", &action(), &text("path")]),
        "read_file" => plain(&["file", "read", &text("path")]),
        "write_file" => vec![(words(&["file", "write", &text("path")]), Some(text("content")))],
        "apply_patch" => {
            let diff = text("diff");
            let paths = diff.lines().filter_map(|line| line.strip_prefix("+++ b")).collect::<Vec<_>>();
            plain(&[&["file", "patch"][..], &paths].concat())
        }
        "run_command" => {
            let pairs = args["params"].as_object().unwrap().iter();
            let pairs = pairs.map(|(name, value)| format!("{name}={}", value.as_str().unwrap()));
            vec![([words(&["command", &text("name")]), pairs.collect()].concat(), None)]
        }
        "shell" => shell(&text("cmd")),
        other => panic!("no tool of these scenarios: {other}"),
    }
}

/// The requests of a script with sudo; none of a script that has a line without one: the agent runs nothing of it.
fn shell(script: &str) -> Vec<Request> {
    let request = |line: &str| {
        let (before, after) = line.split_once("sudo ")?;
        let words = after.split(' ').collect::<Vec<_>>();
        match words[..] {
            ["systemctl", action, unit] => Some((["unit", action, unit].map(str::to_owned).to_vec(), None)),
            ["tee", path] => {
                let said = before.trim_start_matches("echo ").trim_end_matches(" | ");
                Some((["file", "write", path].map(str::to_owned).to_vec(), Some(format!("{said}\n"))))
            }
            _ => None,
        }
    };
    let lines = script.lines().filter(|line| line.contains("sudo "));
    lines.map(request).collect::<Option<_>>().unwrap_or_default()
}

/// The starter policy and what `pack add` writes of these packs, without a finding that nobody accepted.
fn host(name: &str, packs: &BTreeMap<String, BTreeMap<String, Words>>) -> TestHost {
    let host = TestHost::new(STARTER);
    let from = postern_admin::host::Host { packs: shipped(), ..host.host.clone() };
    let (all, _) = pack::all(&from).unwrap();
    for (pack, set) in packs {
        let pack = all.iter().find(|one| one.about.name == *pack).unwrap_or_else(|| panic!("no pack {pack}"));
        let defaults = pack.variables.iter().map(|one| (one.name.clone(), one.default.clone()));
        let mut values = defaults.collect::<Values>();
        for (variable, words) in set {
            let given = match words {
                Words::One(one) => vec![one.clone()],
                Words::Many(many) => many.clone(),
            };
            values.insert(variable.clone(), given);
        }
        let text = text(pack, &values).unwrap_or_else(|why| panic!("{name}: {why}"));
        host.write(&format!("policy.d/{}", file_name(&pack.about.name)), text);
    }
    let (_, findings, compiled) = load(&host.host.etc, Owner::Anybody, Purpose::Review, &host.host);
    let left = findings.iter().filter(|one| one.accepted.is_none() && one.severity != Severity::Note);
    // A reason for a finding that these values do not have is no harm.
    let left = left.map(ToString::to_string).filter(|text| !text.contains("this rule has no such finding"));
    let left = left.collect::<Vec<_>>();
    assert!(compiled.is_some() && left.is_empty(), "{name}: {}", left.join("\n"));
    host
}

/// Returns the helper's decision on a request: `allow`, `ask`, `refuse`, or `invalid` where it is no request.
fn decide(host: &TestHost, (words, content): &Request) -> &'static str {
    let policy = host.host.etc.to_string_lossy().into_owned();
    let mut argv = vec!["policy", "explain", "--policy", &policy];
    argv.extend(words.iter().map(String::as_str));
    let file = host.host.root.with_extension("content");
    let path = file.to_string_lossy().into_owned();
    if let Some(content) = content {
        fs::write(&file, content).unwrap();
        argv.extend(["--from", &path]);
    }
    let ran = host.run(&argv);
    match ran.exit {
        Exit::Done => "allow",
        Exit::NotApproved => "ask",
        Exit::Refused => "refuse",
        Exit::Usage => "invalid",
        _ => panic!("{argv:?}: {ran:?}"),
    }
}

/// Packs and values in a cell of the table.
fn cell(task: &Task) -> String {
    match (&task.packs, &task.missing) {
        (None, Some(why)) => format!("none: {why}"),
        (None, None) => "policy written by hand".to_owned(),
        (Some(packs), _) if packs.is_empty() => "none needed".to_owned(),
        (Some(packs), _) => {
            let one = |(pack, set): (&String, &BTreeMap<String, Words>)| {
                let values = set.iter().map(|(name, words)| match words {
                    Words::One(one) => format!(" `{name}={one}`"),
                    Words::Many(many) => format!(" `{name}={}`", many.join(",")),
                });
                format!("{pack}{}", values.collect::<String>())
            };
            packs.iter().map(one).collect::<Vec<_>>().join("; ")
        }
    }
}

#[test]
fn at_least_23_of_30_tasks_are_had_from_packs_alone() {
    let tasks = tasks();
    assert_eq!(tasks.len(), 30, "{:?}", tasks.keys());
    let (mut table, mut had) = (String::from("| task | packs |\n|---|---|\n"), 0);
    for (name, task) in &tasks {
        if let Some(packs) = &task.packs {
            let host = host(name, packs);
            let asked = task.model.iter().flat_map(requests).collect::<Vec<_>>();
            let decided = asked.iter().map(|one| decide(&host, one)).collect::<Vec<_>>();
            let wanted = task.decisions.clone().unwrap_or_else(|| vec!["allow".to_owned(); asked.len()]);
            assert_eq!(decided, wanted, "{name}: {asked:?}");
            assert!(!decided.is_empty() || packs.is_empty(), "{name}: packs for no request");
            had += 1;
        }
        writeln!(table, "| {} | {} |", task.words, cell(task)).unwrap();
    }
    assert!(had >= ENOUGH, "{had} of 30");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/postern-packs.7.md");
    let docs = fs::read_to_string(docs).unwrap();
    let says = format!("{had} of {} tasks", tasks.len());
    assert!(
        docs.contains(&says) && docs.contains(&table),
        "docs/postern-packs.7.md lacks {says:?} or:\n{table}"
    );
}
