//! How findings are told: text, JSON, SARIF, exit codes.

use crate::support::TestHost;
use postern_admin::io::Exit;
use postern_admin::lint::facts::{Command, Facts, Unit};
use serde_json::Value;
use std::fs;

/// A policy with an error, a warning and an accepted finding.
const MIXED: &str = r#"version = 1

[[client]]
name = "agent"
user = "postern"

[[rule]]
id = "logs"
client = "agent"
verbs = ["file.write"]
directories = ["/etc/logrotate.d"]
files = ["*"]
decision = "allow"
justification = "x"

[[rule]]
id = "install"
client = "agent"
verbs = ["package.install"]
packages = ["nginx-light"]
decision = "allow"
justification = "x"

[[rule]]
id = "site"
client = "agent"
verbs = ["file.write"]
directories = ["/etc/nginx/conf.d"]
files = ["*.conf"]
decision = "ask"
justification = "x"
accept_risk = { nginx-load-module = "an operator reads it" }
"#;

#[test]
fn text_output_names_file_line_severity_and_client() {
    let ran = TestHost::new(MIXED).run(&["policy", "check"]);
    assert_eq!(ran.exit, Exit::Failed);
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.out);
    assert!(
        lines[0].contains("policy.toml:11:16: error[logrotate]: agent becomes root: rule logs may write"),
        "{}",
        lines[0]
    );
    assert!(lines[0].contains("accept_risk = { logrotate = \"REASON\" }"), "{}", lines[0]);
    assert!(
        lines[1].contains("policy.toml:16:1: warning[any-source]: agent can become root"),
        "{}",
        lines[1]
    );
    assert!(ran.err.contains("1 error, 1 warning"), "{}", ran.err);
}

#[test]
fn json_has_ids_classes_rules_and_reasons() {
    let ran = TestHost::new(MIXED).run(&["policy", "check", "--json"]);
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&result["errors"], &result["warnings"], &result["accepted"]),
        (&1.into(), &1.into(), &1.into())
    );
    assert_eq!(
        (&result["ok"], &result["digest"], &result["facts"]),
        (&false.into(), &Value::Null, &Value::Null)
    );
    let findings = result["findings"].as_array().unwrap();
    let by = |id: &str| findings.iter().find(|finding| finding["id"] == id).unwrap();
    assert_eq!((&by("logrotate")["class"], &by("logrotate")["rules"][0]), (&"R".into(), &"logs".into()));
    assert_eq!(by("any-source")["class"], "C");
    let accepted = by("nginx-load-module");
    assert_eq!(
        (&accepted["severity"], &accepted["accepted"]),
        (&"note".into(), &"an operator reads it".into())
    );
}

#[test]
fn sarif_names_rules_places_and_what_is_suppressed() {
    let ran = TestHost::new(MIXED).run(&["policy", "check", "--sarif"]);
    assert_eq!(ran.exit, Exit::Failed);
    let log: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(!rule["help"]["text"].as_str().unwrap().is_empty());
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["artifactLocation"]["uri"].as_str().unwrap().starts_with("file:///"));
        assert!(place["region"]["startLine"].as_u64().unwrap() > 1);
        let is_accepted = result["ruleId"] == "nginx-load-module";
        assert_eq!(result["suppressions"].is_array(), is_accepted);
    }
    let accepted = results.iter().find(|result| result["ruleId"] == "nginx-load-module").unwrap();
    assert_eq!(accepted["suppressions"][0]["justification"], "an operator reads it");
    assert_eq!(accepted["suppressions"][0]["kind"], "inSource");
}

#[test]
fn a_warning_fails_only_under_strict() {
    let host = TestHost::new(&MIXED.replace("/etc/logrotate.d", "/srv/logs"));
    assert_eq!(host.run(&["policy", "check"]).exit, Exit::Done);
    assert_eq!(host.run(&["policy", "check", "--strict"]).exit, Exit::Failed);
    assert_eq!(host.run(&["policy", "check", "--strict", "--sarif"]).exit, Exit::Failed);
    assert_eq!(host.run(&["policy", "apply", "--yes"]).exit, Exit::Done);
}

#[test]
fn notes_an_accept_risk_of_everything() {
    let all = "justification = \"x\"\naccept_risk = { \"*\" = \"trusted\" }\n";
    let host = TestHost::new(&MIXED.replacen("justification = \"x\"\n", all, 1));
    let ran = host.run(&["policy", "check"]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.out);
    assert!(ran.out.contains("note: rule logs accepts every finding"), "{}", ran.out);
}

#[test]
fn warns_about_an_unknown_finding_id_with_the_nearest_one() {
    let host = TestHost::new(&MIXED.replace("nginx-load-module =", "nginx-load-modul ="));
    let ran = host.run(&["policy", "check"]);
    assert!(
        ran.out.contains("names an unknown finding \"nginx-load-modul\": did you mean `nginx-load-module`?"),
        "{}",
        ran.out
    );
}

#[test]
fn accept_risk_of_a_host_finding_is_never_idle() {
    let accept = "{ nginx-load-module = \"an operator reads it\", composition = \"an operator reads it\" }";
    let host = TestHost::new(&MIXED.replace("{ nginx-load-module = \"an operator reads it\" }", accept));
    // A pack accepts what comes with the next package or pack, on a host where it is not so yet.
    let facts = serde_json::to_string(&Facts { version: 1, ..Facts::default() }).unwrap();
    let file = host.write("facts.json", facts);
    for argv in [&["policy", "check"][..], &["policy", "check", "--facts", file.to_str().unwrap()]] {
        let ran = host.run(argv);
        assert!(!ran.out.contains("has no such finding"), "{}", ran.out);
    }
    let idle =
        MIXED.replace("{ nginx-load-module =", "{ logrotate = \"an operator reads it\", nginx-load-module =");
    let ran = TestHost::new(&idle).run(&["policy", "check"]);
    assert!(ran.out.contains("has no such finding"), "the control: {}", ran.out);
}

#[test]
fn facts_of_a_host_are_used_where_they_are_given() {
    let nginx = Unit {
        id: "nginx.service".to_owned(),
        commands: vec![Command { path: "/usr/sbin/nginx".to_owned(), ..Command::default() }],
        ..Unit::default()
    };
    let notes = vec!["no sudoers: Permission denied".to_owned()];
    let facts = Facts { version: 1, host: "web1".to_owned(), units: vec![nginx], notes, ..Facts::default() };
    let service = "[[rule]]\nid = \"service\"\nclient = \"agent\"\nverbs = [\"unit.reload\"]\nunits = [\"nginx.service\"]\n\
                   decision = \"allow\"\njustification = \"x\"\n";
    let host = TestHost::new(&format!("{}{service}", MIXED.replace("/etc/logrotate.d", "/srv/logs")));
    let file = host.write("facts.json", serde_json::to_string(&facts).unwrap());
    let file = file.to_str().unwrap();
    let without = host.run(&["policy", "check"]);
    assert!(!without.out.contains("composition"), "{}", without.out);
    let with = host.run(&["policy", "check", "--facts", file]);
    assert_eq!(with.exit, Exit::Done);
    let line = with.out.lines().find(|line| line.contains("warning[composition]")).expect(&with.out);
    assert!(line.contains("rule site") && line.contains("rule service (policy.toml:"), "{line}");
    assert!(with.err.contains("no sudoers"), "{}", with.err);
    assert_eq!(host.run(&["policy", "check", "--facts", file, "--strict"]).exit, Exit::Failed);
    let json: Value =
        serde_json::from_str(&host.run(&["policy", "check", "--facts", file, "--json"]).out).unwrap();
    assert_eq!(json["facts"]["host"], "web1");
    let composition = json["findings"].as_array().unwrap().iter().find(|f| f["id"] == "composition").unwrap();
    assert_eq!(composition["rules"], serde_json::json!(["site", "service"]));

    fs::write(file, "{}").unwrap();
    let broken = host.run(&["policy", "check", "--facts", file]);
    assert_eq!(broken.exit, Exit::Usage);
    assert!(broken.err.contains("these are no facts"), "{}", broken.err);
}

#[test]
fn reports_a_dangerous_grant_together_with_other_errors() {
    // The helper protects the place, and the id is wrong elsewhere: the lint says its part all the same.
    let policy = MIXED.replace("/etc/logrotate.d", "/etc/cron.d").replace("\"install\"", "\"Install\"");
    let ran = TestHost::new(&policy).run(&["policy", "check"]);
    for words in ["error[cron]", "is protected: no rule can grant", "\"Install\" is not a valid id"] {
        assert!(ran.out.contains(words), "no {words:?} in {}", ran.out);
    }
}
