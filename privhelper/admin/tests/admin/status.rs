//! `status` says what the recorder says, and whether the policy's files are the accepted policy.

use crate::support::{GOOD, SITE, TestHost, end, event};
use postern_admin::io::Exit;
use postern_admin::policy::accepted;
use postern_proto::v1::OperatorStatus;
use std::fs;

fn status(digest: &str) -> OperatorStatus {
    OperatorStatus {
        version: "0.1.0".to_owned(),
        started_unix_s: 1_763_700_000,
        policy_digest: digest.to_owned(),
        rules: 1,
        clients: vec!["agent".to_owned()],
        running: 1,
        audit_seq: 42,
        audit_fault: String::new(),
        notes: vec!["no Landlock\u{1b}[2J".to_owned()],
        paused: String::new(),
        pending: 0,
    }
}

#[test]
fn prints_the_status_of_the_recorder() {
    let host = TestHost::new(GOOD);
    host.run(&["policy", "apply", "--yes"]);
    let digest = accepted::read(&host.host.accepted_dir()).unwrap().unwrap().digest.to_string();
    let helper = host.helper(vec![event(&status(&digest)), end(0, "")]);
    let ran = host.run(&["status"]);
    assert_eq!(helper.join().unwrap().0, "Operator/Status");
    assert_eq!(ran.exit, Exit::Done);
    for words in [
        "0.1.0, running since 2025-11-21 04:40:00 UTC",
        &digest[..12],
        "1 rule, applied 20",
        "clients      agent",
        "running      1 request",
        "last record 42",
        "no Landlock\\u{1b}[2J",
        "the files match the accepted policy",
    ] {
        assert!(ran.out.contains(words), "no {words:?} in\n{}", ran.out);
    }
}

#[test]
fn reports_files_that_differ_from_the_accepted_policy() {
    let cases = [
        (GOOD.to_owned(), "in_force"),
        (format!("# only a comment\n{GOOD}"), "in_force"),
        (format!("{GOOD}{SITE}"), "differ"),
        (format!("{GOOD}x = 1\n"), "errors"),
    ];
    let host = TestHost::new(GOOD);
    host.run(&["policy", "apply", "--yes"]);
    let digest = accepted::read(&host.host.accepted_dir()).unwrap().unwrap().digest.to_string();
    for (text, state) in cases {
        host.write("policy.toml", &text);
        let helper = host.helper(vec![event(&status(&digest)), end(0, "")]);
        let ran = host.run(&["status", "--json"]);
        helper.join().unwrap();
        let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(result["files"], state, "{text}");
        assert_eq!(result["recorder"]["audit_seq"], 42);
        assert_eq!(result["accepted"]["digest"], digest);
        fs::remove_file(&host.host.operator_socket).unwrap();
    }
}

#[test]
fn reports_an_accepted_policy_that_the_recorder_does_not_use_yet() {
    let host = TestHost::new(GOOD);
    host.run(&["policy", "apply", "--yes"]);
    let helper = host.helper(vec![event(&status("00")), end(0, "")]);
    let ran = host.run(&["status"]);
    helper.join().unwrap();
    assert!(ran.out.contains("is accepted, but the recorder does not use it yet"), "{}", ran.out);
}

#[test]
fn reports_a_pause_and_the_number_of_waiting_requests() {
    let host = TestHost::new(GOOD);
    let paused = OperatorStatus { paused: "an incident\u{1b}[2J".to_owned(), pending: 2, ..status("00") };
    for (args, words) in [
        (
            &["status"][..],
            "paused       nothing new begins until `postern-admin resume`: an incident\\u{1b}[2J\n",
        ),
        (&["status"], "approvals    2 requests wait: see `postern-admin pending`\n"),
        (&["status", "--json"], "\"pending\":2"),
        (&["status", "--json"], "\"paused\":\"an incident\\u001b[2J\""),
    ] {
        let helper = host.helper(vec![event(&paused), end(0, "")]);
        let ran = host.run(args);
        helper.join().unwrap();
        assert!(ran.out.contains(words), "no {words:?} in\n{}", ran.out);
        fs::remove_file(&host.host.operator_socket).unwrap();
    }
    let helper = host.helper(vec![event(&status("00")), end(0, "")]);
    let ran = host.run(&["status"]);
    helper.join().unwrap();
    assert!(ran.out.contains("approvals    nothing waits\n") && !ran.out.contains("paused"), "{}", ran.out);
}

#[test]
fn an_absent_recorder_is_exit_5_and_a_refusing_one_is_not() {
    let host = TestHost::new(GOOD);
    let ran = host.run(&["status"]);
    assert_eq!(ran.exit, Exit::Unreachable);
    assert!(ran.err.contains("the recorder cannot be reached"), "{}", ran.err);
    let helper = host.helper(vec![end(7, "denied: a client of the policy can be no operator")]);
    let ran = host.run(&["status"]);
    helper.join().unwrap();
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("can be no operator"), "{}", ran.err);
}

#[test]
fn rejects_a_socket_that_another_user_listens_on() {
    let mut host = TestHost::new(GOOD);
    let listener = std::os::unix::net::UnixListener::bind(&host.host.operator_socket).unwrap();
    host.host.owner_uid += 1;
    let ran = host.run(&["status"]);
    drop(listener);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("listens on"), "{}", ran.err);
}
