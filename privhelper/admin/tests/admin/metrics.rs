//! `metrics` prints what the recorder, the journal and the policy's files say, for a textfile collector.

use crate::log::sample;
use crate::support::{GOOD, TestHost, end, event};
use crate::tips::{UID, entry, journal};
use nix::unistd::{Uid, setfsuid};
use postern_admin::io::Exit;
use postern_admin::policy::accepted;
use postern_proto::v1::{Approval, OperatorPending, OperatorStatus, Unkept};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

fn status() -> OperatorStatus {
    OperatorStatus { version: "0.1.0".to_owned(), running: 1, audit_seq: 42, ..OperatorStatus::default() }
}

fn pending() -> OperatorPending {
    let unkept = |keep_until_unix_s| Unkept { keep_until_unix_s, ..Unkept::default() };
    OperatorPending {
        approvals: vec![Approval::default(), Approval::default()],
        unkept: vec![unkept(0), unkept(1_763_700_000), unkept(1_763_700_001)],
    }
}

/// Runs `metrics` with a recorder that answers this.
fn metrics(host: &TestHost, status: &OperatorStatus, args: &[&str]) -> crate::support::Ran {
    let answers = [("Operator/Status", event(status)), ("Operator/Pending", event(&pending()))];
    let helper = host.answering(move |method, _| {
        let (_, answer) = answers.iter().find(|(name, _)| *name == method).expect(method);
        vec![answer.clone(), end(0, "")]
    });
    let ran = host.run(&[&["metrics"], args].concat());
    helper.finish();
    ran
}

/// The value of a metric; each has a help, a type and one value.
fn value(text: &str, name: &str) -> Option<u64> {
    let name = format!("postern_{name}");
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")))?;
    for head in [format!("# HELP {name} "), format!("# TYPE {name} gauge")] {
        assert_eq!(text.matches(&head).count(), 1, "{head}: {text}");
    }
    Some(line.parse().unwrap())
}

#[test]
fn counts_what_waits_for_all_clients_and_tells_the_age_of_the_logs_tip() {
    let mut host = TestHost::new(GOOD);
    host.run(&["policy", "apply", "--yes"]);
    let digest = accepted::read(&host.host.accepted_dir()).unwrap().unwrap().digest.to_string();
    let log = sample();
    let mut tip = entry(UID, "postern-audit.service", &log);
    tip["__REALTIME_TIMESTAMP"] = "1763700000999999".into();
    journal(&mut host, &[tip]);
    let ran = metrics(&host, &OperatorStatus { policy_digest: digest, ..status() }, &[]);
    assert_eq!((ran.exit, ran.err.as_str()), (Exit::Done, ""));
    for (name, expected) in [
        ("recorder_up", Some(1)),
        ("requests_running", Some(1)),
        ("approvals_waiting", Some(2)),
        ("changes_to_keep", Some(2)),
        ("changes_not_taken_back", Some(1)),
        ("paused", Some(0)),
        ("audit_writable", Some(1)),
        ("audit_last_record", Some(42)),
        ("audit_tip_record", Some(log.seq)),
        ("audit_tip_timestamp_seconds", Some(1_763_700_000)),
        ("policy_files_match", Some(1)),
        // Nobody verified the log, and nobody uses sign-offs.
        ("audit_verified_timestamp_seconds", None),
        ("policy_signed_off", None),
    ] {
        assert_eq!(value(&ran.out, name), expected, "{name}: {}", ran.out);
    }
}

#[test]
fn tells_a_pause_a_log_that_cannot_be_written_and_files_that_differ() {
    let host = TestHost::new(GOOD);
    let status = OperatorStatus {
        paused: "an incident".to_owned(),
        audit_fault: "no space".to_owned(),
        policy_digest: "00".to_owned(),
        ..status()
    };
    let ran = metrics(&host, &status, &[]);
    let value = |name| value(&ran.out, name).unwrap();
    assert_eq!((value("paused"), value("audit_writable"), value("policy_files_match")), (1, 0, 0));
    assert!(!ran.out.contains("incident") && !ran.out.contains("space"), "no text of a person: {}", ran.out);
}

#[test]
fn an_absent_recorder_is_a_metric_and_no_failure() {
    let host = TestHost::new(GOOD);
    let ran = host.run(&["metrics"]);
    assert_eq!((ran.exit, value(&ran.out, "recorder_up")), (Exit::Done, Some(0)));
    assert!(ran.err.contains("the recorder cannot be reached"), "{}", ran.err);
    assert_eq!(value(&ran.out, "approvals_waiting"), None);
}

#[test]
fn a_call_that_is_refused_is_an_error_and_what_is_known_is_written_all_the_same() {
    let host = TestHost::new(GOOD);
    let file = host.host.state.join("postern.prom");
    let path = file.to_str().unwrap();
    let ran_with = |refused: &'static [&'static str], code, text: &'static str| {
        let helper = host.answering(move |method, _| match method {
            _ if refused.contains(&method) => vec![end(code, text)],
            "Operator/Status" => vec![event(&status()), end(0, "")],
            _ => vec![event(&pending()), end(0, "")],
        });
        let ran = host.run(&["metrics", "--output", path]);
        assert_eq!(helper.finish().len(), 2, "a failed call does not keep the other one from being made");
        (ran, fs::read_to_string(&file).unwrap())
    };
    let values =
        |text: &str| ["recorder_up", "audit_last_record", "approvals_waiting"].map(|name| value(text, name));

    let (ran, text) = ran_with(&["Operator/Pending"], 13, "internal: broken");
    assert_eq!((ran.exit, values(&text)), (Exit::Failed, [Some(1), Some(42), None]));
    assert_eq!(ran.err, "the recorder refused: internal: broken (code 13)\n");

    let (ran, text) = ran_with(&["Operator/Status"], 13, "internal: broken");
    assert_eq!((ran.exit, values(&text)), (Exit::Failed, [Some(1), None, Some(2)]));

    // Told once, though both calls say it.
    let (ran, text) = ran_with(&["Operator/Status", "Operator/Pending"], 7, "denied: no operator");
    assert_eq!((ran.exit, values(&text)), (Exit::Refused, [Some(1), None, None]));
    assert_eq!(ran.err, "the recorder refused: denied: no operator (code 7)\n");

    // A recorder that is about to stop does not answer any more.
    let (ran, text) = ran_with(&["Operator/Status", "Operator/Pending"], 14, "busy: it stops");
    assert_eq!((ran.exit, values(&text)), (Exit::Done, [Some(0), None, None]));
}

#[test]
fn a_user_who_may_not_ask_does_not_report_that_the_recorder_is_down() {
    let host = TestHost::new(GOOD);
    let listener = UnixListener::bind(&host.host.operator_socket).unwrap();
    fs::set_permissions(&host.host.operator_socket, fs::Permissions::from_mode(0o000)).unwrap();
    // For root modes count only without its capabilities for files: those go with this thread's uid for files.
    let before = setfsuid(Uid::from_raw(65_534));
    let ran = host.run(&["metrics"]);
    setfsuid(before);
    drop(listener);
    assert_eq!((ran.exit, value(&ran.out, "recorder_up")), (Exit::Unreachable, None), "{}", ran.out);
    assert!(ran.err.starts_with("not permitted to ask the recorder: "), "{}", ran.err);
}

#[test]
fn replaces_the_collectors_file_whole_and_readable_for_everybody() {
    let host = TestHost::new(GOOD);
    let file = host.host.state.join("postern.prom");
    fs::write(&file, "old").unwrap();
    let path = file.to_str().unwrap();
    let ran = metrics(&host, &status(), &["--output", path]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, ""));
    assert_eq!(value(&fs::read_to_string(&file).unwrap(), "approvals_waiting"), Some(2));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    let ran = metrics(&host, &status(), &["--output", "/nonexistent/postern.prom"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.starts_with("/nonexistent/postern.prom: "), "{}", ran.err);
}

/// The names of metrics in a text that are no metric of the agent's.
fn names(text: &str) -> BTreeSet<&str> {
    let name = |at: usize| text[at..].split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap();
    let names = text.match_indices("postern_").map(|(at, _)| name(at));
    names.filter(|name| !name.starts_with("postern_agent")).collect()
}

#[test]
fn the_page_names_every_metric_and_the_example_alerts_name_no_other() {
    let source = include_str!("../../src/metrics.rs");
    let gauges = source.split("text.gauge(").skip(1).map(|rest| rest.split('"').nth(1).unwrap());
    let known = gauges.map(|name| format!("postern_{name}")).collect::<Vec<_>>();
    let known = known.iter().map(String::as_str).collect::<BTreeSet<_>>();
    assert!(known.len() >= 12, "{known:?}");
    let page = include_str!("../../../../docs/telemetry.md");
    let (_, page) = page.split_once("### Metrics of the helper").unwrap();
    assert_eq!(names(page), known);
    let alerts: serde_json::Value =
        serde_yaml_ng::from_str(include_str!("../../../../deploy/prometheus-alerts.yml")).unwrap();
    let rules = alerts["groups"][0]["rules"].as_array().unwrap();
    let expressions = rules.iter().map(|rule| rule["expr"].as_str().unwrap());
    let expressions = expressions.collect::<Vec<_>>().join("\n");
    let named = names(&expressions);
    assert!(named.is_subset(&known) && named.len() >= 6, "{named:?}");

    // An alert on a metric that is absent is silent: another one has to tell that it is.
    let host = TestHost::new(GOOD);
    let without_journal = metrics(&host, &status(), &[]).out;
    let without_recorder = host.run(&["metrics"]).out;
    let absent = |text: &str| {
        let absent = named.iter().filter(|name| value(text, name.trim_start_matches("postern_")).is_none());
        absent.copied().collect::<Vec<_>>()
    };
    let tips = ["postern_audit_tip_record", "postern_audit_tip_timestamp_seconds"];
    assert_eq!(absent(&without_journal), tips);
    assert!(absent(&without_recorder).len() > tips.len());
    for told in [
        "postern_audit_last_record > 0 unless postern_audit_tip_record",
        "postern_recorder_up == 0",
        " unless on (instance) postern_recorder_up",
    ] {
        assert!(expressions.contains(told), "no {told:?} in {expressions}");
    }
    // What is written at most every ten minutes, or counts from a start, needs time before it alerts.
    for (alert, wait) in [("PosternLogTipUnknown", "1h"), ("PosternAgentLogTipOld", "5m")] {
        let rule = rules.iter().find(|rule| rule["alert"] == alert).expect(alert);
        assert_eq!(rule["for"], wait, "{alert}");
    }
}
