//! The policies under tests/policies: each dangerous one has the findings that it names, the harmless ones together at most two.

mod compose;
mod facts;
mod glob;
mod judged;
mod output;
mod protected;
mod table;

use crate::support::TestHost;
use postern_admin::io::Exit;
use postern_admin::lint::facts::Facts;
use postern_admin::lint::{Input, LintFinding, run};
use postern_proto::root::v1 as root;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Runs the lint on rules alone, with these facts.
fn lint(rules: &root::Rules, facts: Option<&Facts>) -> Vec<LintFinding> {
    let position = |line| root::Position { file: "policy.toml".to_owned(), line };
    let positions: Vec<_> = (1..=100).map(position).collect();
    run(&Input { rules, positions: &positions, texts: &[], clients: &[], facts })
}

/// A client's policy of these rules.
fn policy(rules: Vec<root::Rule>) -> root::Rules {
    let client = root::Client { name: "agent".to_owned(), user: "postern".to_owned(), group: String::new() };
    root::Rules { version: 1, clients: vec![client], rules, ..root::Rules::default() }
}

/// A rule that allows this verb and nothing yet.
fn rule(id: &str, verb: &str) -> root::Rule {
    let mut rule = root::Rule {
        id: id.to_owned(),
        client: "agent".to_owned(),
        verbs: vec![verb.to_owned()],
        depth: 1,
        ..root::Rule::default()
    };
    rule.set_decision(root::Decision::Allow);
    rule
}

/// A rule that writes these files of this directory.
fn writes(id: &str, directory: &str, file: &str) -> root::Rule {
    let (directories, files) = (vec![directory.to_owned()], vec![file.to_owned()]);
    root::Rule { directories, files, ..rule(id, "file.write") }
}

/// A rule that does this with these units.
fn units(id: &str, verb: &str, unit: &str) -> root::Rule {
    root::Rule { units: vec![unit.to_owned()], ..rule(id, verb) }
}

/// Every policy of a directory of tests/policies, with its text.
fn policies(kind: &str) -> Vec<(PathBuf, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/policies").join(kind);
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut policies: Vec<_> = paths.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect();
    policies.sort();
    policies
}

/// Returns the lint's findings in a policy, without the policy's own warnings.
fn findings(policy: &str) -> Vec<Value> {
    let ran = TestHost::new(policy).run(&["policy", "check", "--json"]);
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    let findings = result["findings"].as_array().unwrap().clone();
    findings
        .into_iter()
        .filter(|finding| finding["severity"] != "note" && finding["id"] != "policy-warning")
        .collect()
}

fn ids(findings: &[Value]) -> BTreeSet<&str> {
    findings.iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

/// `# key: value` of a policy's head.
fn head<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix("# ")?.strip_prefix(key)?.strip_prefix(": "))
}

#[test]
fn every_bad_policy_is_refused_for_what_it_names() {
    let policies = policies("bad");
    assert!(policies.len() >= 40, "only {} bad policies", policies.len());
    let mut wrong = Vec::new();
    for (path, text) in &policies {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let expected: BTreeSet<_> = head(text, "expect").expect(name).split(' ').collect();
        let found = findings(text);
        if ids(&found) != expected {
            wrong.push(format!("{name}: expected {expected:?}, found {:?}", ids(&found)));
        }
        let strict = TestHost::new(text).run(&["policy", "check", "--strict"]);
        assert_eq!(strict.exit, Exit::Failed, "{name}");
        let has_error = found.iter().any(|finding| finding["severity"] == "error");
        let lenient = TestHost::new(text).run(&["policy", "check"]);
        assert_eq!(lenient.exit == Exit::Failed, has_error, "{name}: {}", lenient.out);
        // A policy that `check` refuses cannot be accepted.
        let host = TestHost::new(text);
        host.run(&["policy", "apply", "--yes"]);
        assert!(!has_error || host.accepted().is_none(), "{name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_finding_disappears_without_the_dangerous_grant() {
    let mut mended = 0;
    for (path, text) in policies("bad") {
        let Some((from, to)) = head(&text, "mend").and_then(|mend| mend.split_once(" => ")) else {
            continue;
        };
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let policy = lines.join("\n");
        assert!(policy.contains(from), "{}: nothing to mend", path.display());
        let policy = policy.replace(from, &to.replace("; ", "\n"));
        let left = findings(&policy);
        assert!(left.is_empty(), "{}: {left:#?}", path.display());
        mended += 1;
    }
    assert!(mended >= 15, "only {mended} policies have a mended twin");
}

#[test]
fn accept_risk_accepts_exactly_the_named_findings_of_its_rule() {
    for (path, text) in policies("bad") {
        let found = findings(&text);
        let mut accepts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for finding in
            found.iter().filter(|finding| !finding["class"].is_null() && !finding["rules"].is_null())
        {
            let rule = finding["rules"][0].as_str().unwrap();
            accepts.entry(rule).or_default().insert(finding["id"].as_str().unwrap());
        }
        let accepted: BTreeSet<_> = accepts.values().flatten().copied().collect();
        let mut policy = text.clone();
        for (rule, ids) in &accepts {
            let reasons: Vec<_> = ids.iter().map(|id| format!("{id} = \"meant\"")).collect();
            let line = format!("id = \"{rule}\"\n");
            policy = policy.replace(&line, &format!("{line}accept_risk = {{ {} }}\n", reasons.join(", ")));
        }
        if accepts.is_empty() || text.matches("accept_risk").count() > 0 {
            continue;
        }
        let left = findings(&policy);
        let left = ids(&left);
        let before = ids(&found);
        let expected: BTreeSet<_> = before.difference(&accepted).copied().collect();
        assert_eq!(left, expected, "{}", path.display());
    }
}

#[test]
fn forty_harmless_policies_raise_at_most_two_alarms() {
    let policies = policies("good");
    assert!(policies.len() >= 40, "only {} harmless policies", policies.len());
    let alarms = policies.iter().flat_map(|(path, text)| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        findings(text).into_iter().map(move |found| format!("{name}: {found}"))
    });
    let alarms = alarms.collect::<Vec<_>>();
    assert!(alarms.len() <= 2, "{}", alarms.join("\n"));
}
