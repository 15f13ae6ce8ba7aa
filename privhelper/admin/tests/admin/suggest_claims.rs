//! `policy suggest --from` and `--approved`: a report of the agent only chooses among the records of the log.

use crate::log::Log;
use crate::support::{GOOD, TestHost};
use postern_admin::io::Exit;
use std::fs;
use std::path::PathBuf;

const REFUSED: &str = "01939d2e-7a00-7000-8000-000000000001";
const OTHER: &str = "01939d2e-7a00-7000-8000-000000000002";
const DENIED: &str = "01939d2e-7a00-7000-8000-000000000003";
const ABSENT: &str = "01939d2e-7a00-7000-8000-00000000000f";

fn request(id: &str, verb: &str, args: &str, more: &str) -> String {
    format!(
        ",\"request_id\":\"{id}\",\"client\":{{\"name\":\"agent\",\"uid\":990}},\"verb\":\"{verb}\",\"args\":{args}{more}"
    )
}

fn refused(log: &mut Log, id: &str, unit: &str, code: &str) {
    let args = format!("{{\"unit\":\"{unit}\"}}");
    let outcome = format!(",\"outcome\":{{\"status\":\"refused\",\"code\":\"{code}\"}}");
    log.add("refused", &request(id, "unit.stop", &args, &outcome));
}

/// An effect that people approved, in the number of its request.
fn approved(log: &mut Log, number: usize, verb: &str, args: &str, rule: &str) {
    let id = format!("01939d2e-7a00-7000-8000-{number:012}");
    let more = format!(
        ",\"rule\":\"{rule}\",\"decision\":\"ask\",\"approval\":{{\"id\":\"aa\",\"digest\":\"bb\",\"uids\":[1000]}}"
    );
    log.add("begin", &request(&id, verb, args, &more));
}

/// Writes the log and the agent's report, and runs `policy suggest`.
fn suggest(host: &TestHost, log: &Log, report: Option<&str>, args: &[&str]) -> (Exit, String, String) {
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let path: PathBuf = host.host.log.with_file_name("insights.json");
    fs::write(&path, report.unwrap_or_default()).unwrap();
    let mut words = vec!["policy", "suggest"];
    if report.is_some() {
        words.extend(["--from", path.to_str().unwrap()]);
    }
    words.extend(args);
    let ran = host.run(&words);
    (ran.exit, ran.out, ran.err)
}

fn report(ids: &[&str]) -> String {
    serde_json::json!({
        "version": 1, "tasks": 1,
        "missing_grants": [{ "verb": "unit.stop", "target": "nginx.service", "count": 9, "request_ids": ids }],
        "repeated_approvals": [],
    })
    .to_string()
}

/// A log with two refusals and one denial.
fn log() -> Log {
    let mut log = Log::new();
    refused(&mut log, REFUSED, "nginx.service", "no_grant");
    refused(&mut log, OTHER, "redis-server.service", "no_grant");
    refused(&mut log, DENIED, "ssh.service", "not_approved");
    refused(&mut log, "01939d2e-7a00-7000-8000-000000000004", "ssh.service", "no_grant");
    log
}

#[test]
fn suggests_only_what_the_report_names_and_the_log_has() {
    let host = TestHost::new(GOOD);
    let (exit, text, err) = suggest(&host, &log(), Some(&report(&[REFUSED, ABSENT])), &[]);
    assert_eq!(exit, Exit::Done, "{err}");
    assert!(text.starts_with("# From 1 refusal in the audit log."), "{text}");
    assert!(text.contains("units = [\"nginx.service\"]") && !text.contains("redis"), "{text}");
    let lacks = format!(
        "# 1 of 2 requests that the agent names: this log has no refusal for lack of a rule of them: {ABSENT}\n"
    );
    assert!(text.ends_with(&lacks), "{text}");
}

#[test]
fn a_report_of_a_captured_agent_widens_nothing_and_brings_back_nothing_that_was_denied() {
    let host = TestHost::new(GOOD);
    let plain = suggest(&host, &log(), None, &[]).1;
    assert_eq!(plain.matches("[[rule]]").count(), 1, "{plain}");
    let wide = serde_json::json!({
        "missing_grants": [
            { "verb": "unit.stop", "target": "*", "count": 1000, "request_ids": [DENIED, ABSENT] },
            { "verb": "file.write", "target": "/etc/sudoers", "client": "root", "decision": "allow",
              "request_ids": [REFUSED, "\u{1b}[2J", "01939d2e-7a00-7000-8000-000000000004", "*"] },
        ],
        "rules": "[[rule]]\nid = \"all\"\n",
    });
    let (exit, text, _) = suggest(&host, &log(), Some(&wide.to_string()), &[]);
    assert_eq!(exit, Exit::Done);
    let rules: toml::Table = toml::from_str(&text).unwrap();
    let rules = rules["rule"].as_array().unwrap();
    assert_eq!(rules.len(), 1, "{text}");
    assert_eq!(rules[0]["units"].as_array().unwrap(), &[toml::Value::from("nginx.service")], "{text}");
    assert_eq!(
        (rules[0]["verbs"][0].as_str(), rules[0]["decision"].as_str()),
        (Some("unit.stop"), Some("ask"))
    );
    assert!(!text.contains("ssh.service") && !text.contains("sudoers") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_file_that_is_no_report_is_an_error() {
    let host = TestHost::new(GOOD);
    for text in ["", "[1]", "{\"missing_grants\":[{\"request_ids\":[7]}]}", "no json"] {
        let (exit, out, err) = suggest(&host, &log(), Some(text), &[]);
        assert_eq!((exit, out.as_str()), (Exit::Failed, ""), "{text}");
        assert!(err.contains("it is not what `postern insights --json` prints"), "{err}");
    }
    let (exit, _, err) = suggest(&host, &log(), Some(&" ".repeat((4 << 20) + 1)), &[]);
    assert!(exit == Exit::Failed && err.contains("it is larger than a report"), "{err}");
    assert_eq!(host.run(&["policy", "suggest", "--from", "/no/such/file"]).exit, Exit::Failed);
}

/// Rules that ask for restarts, stops and writes.
const ASKS: &str = "
[[rule]]
id = \"asks\"
client = \"agent\"
verbs = [\"unit.stop\", \"unit.start\"]
units = [\"*.service\"]
decision = \"ask\"
justification = \"a person looks\"

[[rule]]
id = \"asks-files\"
client = \"agent\"
verbs = [\"file.write\"]
directories = [\"/srv/site\"]
files = [\"*\"]
decision = \"ask\"
justification = \"a person looks\"
";

#[test]
fn a_rule_for_what_was_approved_again_and_again_grants_exactly_that() {
    let host = TestHost::new(&format!("{GOOD}{ASKS}"));
    let mut log = Log::new();
    for number in 0..3 {
        approved(&mut log, number, "unit.stop", "{\"unit\":\"cron.service\"}", "asks");
        let file = "{\"path\":\"/srv/site/a\",\"size\":7,\"expect\":\"any\"}";
        approved(&mut log, 10 + number, "file.write", file, "asks-files");
        approved(&mut log, 20 + number, "unit.stop", "{\"unit\":\"ssh.service\"}", "asks");
    }
    approved(&mut log, 30, "unit.start", "{\"unit\":\"cron.service\"}", "asks");
    refused(&mut log, DENIED, "ssh.service", "denied_recently");
    let (exit, text, err) = suggest(&host, &log, None, &["--approved", "3"]);
    assert_eq!(exit, Exit::Done, "{err}");
    assert!(text.starts_with("# From 6 approvals in the audit log. Nothing was installed:"), "{text}");
    let rules: toml::Table = toml::from_str(&text).unwrap();
    let rules = rules["rule"].as_array().unwrap();
    assert_eq!(rules.len(), 1, "{text}");
    assert_eq!(
        (rules[0]["verbs"].to_string(), rules[0]["units"].to_string(), rules[0]["decision"].as_str()),
        ("[\"unit.stop\"]".to_owned(), "[\"cron.service\"]".to_owned(), Some("allow")),
        "{text}"
    );
    assert!(text.contains("# rule asks asks a person for some of it, and `ask` wins over `allow`"), "{text}");
    assert!(
        text.contains("# agent: file.write /srv/site/a: each content was read before it was approved"),
        "{text}"
    );
    assert!(!text.contains("ssh"), "{text}");
    assert_eq!(suggest(&host, &log, None, &["--approved", "3"]).1, text, "the same log gives the same text");
    let four = suggest(&host, &log, None, &["--approved", "4"]).1;
    assert!(!four.contains("[[rule]]"), "{four}");
}

#[test]
fn of_approvals_too_a_report_only_chooses_and_one_without_people_is_none() {
    let host = TestHost::new(&format!("{GOOD}{ASKS}"));
    let mut log = Log::new();
    for number in 0..3 {
        approved(&mut log, number, "unit.stop", "{\"unit\":\"cron.service\"}", "asks");
        approved(&mut log, 10 + number, "unit.stop", "{\"unit\":\"atd.service\"}", "asks");
        // Under a rule that allows: nobody was asked.
        let id = format!("01939d2e-7a00-7000-8000-{:012}", 20 + number);
        let more = ",\"rule\":\"asks\",\"decision\":\"allow\"";
        log.add("begin", &request(&id, "unit.start", "{\"unit\":\"cron.service\"}", more));
    }
    let ids: Vec<String> =
        [0, 1, 2, 20, 21, 22].iter().map(|n| format!("01939d2e-7a00-7000-8000-{n:012}")).collect();
    let report = serde_json::json!({ "repeated_approvals": [{ "verb": "unit.start", "request_ids": ids }] });
    let (_, text, _) = suggest(&host, &log, Some(&report.to_string()), &["--approved", "3"]);
    assert!(
        text.contains("units = [\"cron.service\"]") && text.contains("verbs = [\"unit.stop\"]"),
        "{text}"
    );
    assert!(!text.contains("atd") && !text.contains("unit.start"), "{text}");
    assert!(
        text.contains("# 3 of 6 requests that the agent names: this log has no approval of them: "),
        "{text}"
    );
}
