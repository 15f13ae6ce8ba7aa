//! A table of command lines: each runs with real sudo on one machine and through the shims on another, and both print
//! the same, complain alike, end the same and leave the same behind. The table is in `tests/scenarios/sudo`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use postern_tests::{Installed, Machine, Package, Release};
use serde::Deserialize;
use serde_json::{Value, json};

/// The tables, in the order in which they run: later rows find what earlier ones left.
const TABLES: [&str; 4] = ["packages", "units", "files", "shell"];

/// One command line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// Script for `bash -c`, run as the user, without root.
    run: String,
    /// A script that root runs first, on both machines.
    #[serde(default)]
    before: String,
    /// One of those that every run of the tests has.
    #[serde(default)]
    short: bool,
    /// How standard output is compared.
    #[serde(default)]
    compare: Compare,
    /// Accepted differences.
    #[serde(default)]
    except: Vec<Aspect>,
    /// Why it is not compared whole.
    #[serde(default)]
    because: String,
    /// No request does this: nothing is done, exit 1, and standard error has these words. Real sudo does not run it.
    refused: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Compare {
    /// Byte by byte.
    #[default]
    Exact,
    /// apt's lines of what changes, without its progress.
    Apt,
    /// Without times, process ids, sizes and the machine's name.
    Undated,
    /// Not at all.
    Nothing,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Aspect {
    Stdout,
    /// Whether there is any.
    Stderr,
    State,
    Owner,
}

/// How one row ended on one machine.
#[derive(Debug, Deserialize)]
struct Outcome {
    exit: i32,
    stdout: String,
    stderr: String,
    /// Changed state: packages, holds, units, files.
    changes: BTreeMap<String, Value>,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/sudo")
}

fn rows() -> Vec<Row> {
    let read = |table: &&str| {
        let path = directory().join(format!("{table}.yaml"));
        let text = fs::read_to_string(&path).expect("a table");
        serde_yaml_ng::from_str::<Vec<Row>>(&text).unwrap_or_else(|error| panic!("{table}: {error}"))
    };
    TABLES.iter().flat_map(read).collect()
}

#[test]
fn every_row_that_is_not_compared_whole_says_why() {
    let rows = rows();
    assert!(rows.len() >= 150, "{} rows", rows.len());
    let short = rows.iter().filter(|row| row.short).count();
    assert!((30..40).contains(&short), "{short} rows in every run");
    for row in rows {
        let is_whole = row.compare == Compare::Exact && row.except.is_empty();
        assert_eq!(is_whole, row.because.is_empty(), "{}", row.run);
    }
}

/// The files, units and packages of the table.
const SETUP: &str = r#"
id coder >/dev/null 2>&1 || useradd --create-home coder
echo 'coder ALL=(ALL:ALL) NOPASSWD: ALL' > /etc/sudoers.d/coder
mkdir -p /etc/eq/conf.d /srv/eq
printf 'port = 80\nhost = a\n' > /etc/eq/app.conf
printf 'token\n' > /etc/eq/secret.conf
chmod 0600 /etc/eq/secret.conf
echo a > /etc/eq/conf.d/10-a.conf
echo '<p>' > /srv/eq/page.html
install -d -o coder -g coder /home/coder/work
cd /home/coder/work
echo one > one.conf
echo two > two.conf
printf '#!/bin/sh\n' > script.sh
chmod 0644 *.conf /srv/eq/page.html /etc/eq/app.conf /etc/eq/conf.d/*
chmod 0755 script.sh /srv/eq /etc/eq /etc/eq/conf.d
chown coder:coder *
unit() { printf "$2" > "/etc/systemd/system/eq-$1.service"; chmod 0644 "/etc/systemd/system/eq-$1.service"; }
long='ExecStart=/usr/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n'
unit web "[Service]\nExecStartPre=/bin/sh -c 'echo s >>/run/eq-starts; echo started'\nExecReload=/bin/sh -c 'echo r >>/run/eq-reloads'\n$long"
unit off "[Service]\n$long"
unit job '[Service]\nType=oneshot\nExecStart=/bin/true\n'
unit broken '[Service]\nType=oneshot\nExecStart=/bin/false\n'
systemctl daemon-reload
"#;

/// Makes one machine ready.
fn set_up(machine: &Machine) {
    let old = Package::new("eq-old", "1.0");
    let first = [
        Package::new("eq-one", "1.0"),
        Package::new("eq-two", "1.0"),
        Package::new("eq-lib", "1.0"),
        Package::new("eq-needs", "1.0").field("Depends: eq-lib"),
        old,
    ];
    machine.publish_all(&first);
    let _ = machine.shell(SETUP).ok();
    let _ =
        machine.shell("apt-get -q update; DEBIAN_FRONTEND=noninteractive apt-get -q -y install eq-old").ok();
    machine.publish_all(&[Package::new("eq-old", "2.0")]);
    machine.copy_in(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/equivalence.py"),
        "/var/tmp/equivalence.py",
    );
}

/// Runs rows in a machine, each by this command as the user.
fn run(machine: &Machine, rows: &[&Row], command: &[&str]) -> Vec<Outcome> {
    let input: Vec<Value> = rows.iter().map(|row| json!({ "run": row.run, "before": row.before })).collect();
    let file = std::env::temp_dir().join(format!("{}-rows.json", machine.name()));
    fs::write(&file, Value::from(input).to_string()).expect("a file of rows");
    machine.copy_in(&file, "/var/tmp/rows.json");
    fs::remove_file(&file).expect("the file of rows");
    let script = ["python3", "/var/tmp/equivalence.py", "/var/tmp/rows.json"];
    let done = machine.root(&[&script, command].concat()).ok();
    serde_json::from_str(&done).unwrap_or_else(|error| panic!("{error}: {done}"))
}

/// The lines of apt that tell what changes.
fn of_apt(text: &str) -> Vec<String> {
    let is_told = |line: &&str| {
        ["The following", "  eq-", "Setting up ", "Removing ", "Purging ", "E: "]
            .iter()
            .any(|start| line.starts_with(start))
            || line.contains(" is already the newest version")
            || line.contains(" is not installed, so not removed")
            || line.contains(" newly installed, ")
    };
    let lines = text.lines().filter(is_told);
    // How much else could be upgraded is no matter of the request.
    lines
        .map(|line| line.split(" and ").next().unwrap_or_default().trim_end_matches(" ...").to_owned())
        .collect()
}

/// Without what two machines never share.
fn undated(text: &str) -> Vec<String> {
    let changing =
        ["Invocation:", "Main PID:", "Memory:", "CPU:", "Tasks:", "CGroup:", "Process:", "TriggeredBy:"];
    let lines = text.lines().filter(|line| {
        let line = line.trim_start();
        !changing.iter().any(|start| line.starts_with(start)) && !line.starts_with(['├', '└'])
    });
    let masked = |line: &str| {
        let line = line.split(" since ").next().unwrap_or_default();
        // A line of the journal: month, day, time, host, program[pid]: message
        match line.split_once("]: ") {
            Some((_, message)) if line.split_whitespace().nth(2).is_some_and(|time| time.contains(':')) => {
                message.to_owned()
            }
            _ => line.trim_end().to_owned(),
        }
    };
    lines.map(masked).collect()
}

/// Changed facts; of a file without its owner where a row says so.
fn state(outcome: &Outcome, row: &Row) -> BTreeMap<String, String> {
    let is_unowned = row.except.contains(&Aspect::Owner);
    let told = |value: &Value| match value.as_str() {
        Some(text) if is_unowned => text
            .split(' ')
            .enumerate()
            .filter(|(at, _)| *at != 2)
            .map(|(_, word)| word)
            .collect::<Vec<_>>()
            .join(" "),
        Some(text) => text.to_owned(),
        None => value.to_string(),
    };
    outcome.changes.iter().map(|(name, value)| (name.clone(), told(value))).collect()
}

/// Returns the differences of a row between real sudo and the shim.
fn differences(row: &Row, real: &Outcome, shim: &Outcome) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut differ = |what: &str, real: String, shim: String| {
        if real != shim {
            wrong.push(format!("{what}: real {real}, shim {shim}"));
        }
    };
    if !row.except.contains(&Aspect::Stdout) {
        let told = |outcome: &Outcome| match row.compare {
            Compare::Exact => format!("{:?}", outcome.stdout),
            Compare::Apt => format!("{:?}", of_apt(&outcome.stdout)),
            Compare::Undated => format!("{:?}", undated(&outcome.stdout)),
            Compare::Nothing => String::new(),
        };
        differ("stdout", told(real), told(shim));
    }
    // Wording is each program's own; that there is something to say is not. apt and its like talk there as well.
    let is_compared = matches!(row.compare, Compare::Exact | Compare::Undated);
    if is_compared && !row.except.contains(&Aspect::Stderr) {
        // The machines have no name service, which real sudo notices.
        let is_told = |line: &str| !line.starts_with("sudo: unable to resolve host ");
        let is_said = |outcome: &Outcome| outcome.stderr.lines().any(is_told).to_string();
        differ("stderr has words", is_said(real), is_said(shim));
    }
    differ("exit", real.exit.to_string(), shim.exit.to_string());
    if !row.except.contains(&Aspect::State) {
        differ("changes", format!("{:?}", state(real, row)), format!("{:?}", state(shim, row)));
    }
    if !wrong.is_empty() {
        wrong.push(format!("real stderr {:?}", real.stderr));
        wrong.push(format!("shim stderr {:?}", shim.stderr));
    }
    wrong
}

/// Returns the faults of a row that no request can do.
fn not_refused(words: &str, shim: &Outcome) -> Vec<String> {
    let is_refused =
        shim.exit == 1 && shim.stdout.is_empty() && shim.changes.is_empty() && shim.stderr.contains(words);
    if is_refused { Vec::new() } else { vec![format!("not refused with {words:?}: {shim:?}")] }
}

#[test]
fn command_lines_do_the_same_through_the_shims_as_with_real_sudo() {
    let rows = rows();
    let is_long = cfg!(feature = "long");
    let rows: Vec<&Row> = rows.iter().filter(|row| row.short || is_long).collect();
    // Real sudo would run the refused rows and change the other machine.
    let shared: Vec<&Row> = rows.iter().copied().filter(|row| row.refused.is_none()).collect();
    let (real, shim) = thread::scope(|scope| {
        let real = scope.spawn(|| {
            let machine = Machine::boot(Release::Trixie);
            set_up(&machine);
            run(&machine, &shared, &["bash", "-c"])
        });
        let shim = scope.spawn(|| {
            let host = Installed::as_shipped(Release::Trixie);
            let _ = host.root(&["useradd", "--create-home", "--groups", "postern-clients", "coder"]).ok();
            host.accept_demo();
            set_up(&host);
            host.grant(&fs::read_to_string(directory().join("policy.toml")).expect("the policy"));
            run(&host, &rows, &["postern", "exec", "--", "bash", "-c"])
        });
        (real.join().expect("the machine with sudo"), shim.join().expect("the machine with shims"))
    });
    let mut real = real.iter();
    let mut wrong = Vec::new();
    for (row, shim) in rows.iter().zip(&shim) {
        let found = match &row.refused {
            Some(words) => not_refused(words, shim),
            None => differences(row, real.next().expect("an outcome"), shim),
        };
        if !found.is_empty() {
            wrong.push(format!("{}\n    {}", row.run, found.join("\n    ")));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows disagree:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
