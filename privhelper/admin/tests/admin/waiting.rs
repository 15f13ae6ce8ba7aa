//! `pending` and `show`, as text and as JSON.

use crate::approvals_support::{Desk, PLAIN, approval, digest, expect, hex, id, run, sha256};
use crate::support::{GOOD, TestHost, end, event};
use postern_admin::approvals::{self, Screen};
use postern_admin::io::Exit;
use postern_admin::policy::accepted;
use postern_admin::policy::apply::Format;
use postern_policy::types::Digest;
use postern_proto::v1::{OperatorPending, Unkept};
use serde_json::Value;

#[test]
fn lists_waiting_requests() {
    let host = TestHost::new(GOOD);
    let desk = Desk::default();
    let mut second = approval(&id("3f9a0000b"));
    (second.verb, second.target) = ("package.install".to_owned(), "ngin\u{445}\u{202e} \x1b[2J".to_owned());
    (second.since_unix_s, second.expires_unix_s) = (1_763_709_900, 1_763_710_000);
    (second.approvers, second.approved_by) = (2, vec![1000]);
    desk.add(second, b"b");
    desk.add(approval(&id("3f9a0000a")), b"a");
    let helper = desk.helper(&host);
    let ran = run(|io| approvals::pending(&host.host, 1_763_709_942, Screen::PIPE, Format::Text, io));
    assert_eq!(
        ran.out,
        "ID         CLIENT  VERB             RULE        RISK  WAITS  EXPIRES  AGREED  TARGET\n\
         3f9a0000a  agent   file.write       web-config  40    2h45m  in 0s    0/1     /etc/nginx/conf.d/site.conf\n\
         3f9a0000b  agent   package.install  web-config  40    42s    in 58s   1/2     ngin\\u{445}\\u{202e} \\x1b[2J\n"
    );
    let ran = host.run(&["pending", "--json"]);
    assert_eq!(ran.exit, Exit::Done);
    assert!(!ran.out.contains('\u{202e}'));
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(result["pending"][1]["target"], "ngin\u{445}\u{202e} \x1b[2J");
    assert_eq!(result["pending"][1]["approved_by"], serde_json::json!([1000]));
    assert_eq!(result["pending"][0]["approval_id"], id("3f9a0000a"));
    helper.finish();
}

#[test]
fn lists_the_values_of_a_command_from_its_order() {
    let host = TestHost::new(GOOD);
    let desk = Desk::default();
    let mut command = approval(&id("3f9a"));
    (command.verb, command.target) = ("command.run".to_owned(), "pg-hba-allow".to_owned());
    desk.add(command, b"");
    let helper = desk.helper(&host);
    let ran = run(|io| approvals::pending(&host.host, 1_763_709_942, Screen::PIPE, Format::Text, io));
    assert!(ran.out.ends_with(" pg-hba-allow database=\"app\"\n"), "{}", ran.out);
    helper.finish();
}

#[test]
fn a_long_target_does_not_start_a_new_row() {
    let host = TestHost::new(GOOD);
    let desk = Desk::default();
    let mut hostile = approval(&id("3f9a"));
    hostile.target =
        format!("/x{}3f9b0000  agent  file.read  look  1  1s  in 9s  0/1  /harmless", " ".repeat(60));
    desk.add(hostile, b"text");
    let helper = desk.helper(&host);
    let ran = run(|io| approvals::pending(&host.host, 1_763_700_000, PLAIN, Format::Text, io));
    helper.finish();
    let rows: Vec<&str> = ran.out.lines().collect();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.len() < 80), "{rows:?}");
    assert!(rows[1].ends_with('>') && !rows[1].contains("harmless"), "{rows:?}");
}

#[test]
fn an_empty_list_is_a_success() {
    let host = TestHost::new(GOOD);
    let helper = Desk::default().helper(&host);
    expect(&host.run(&["pending"]), Exit::Done, "nothing waits for approval\n");
    assert_eq!(host.run(&["pending", "--json"]).out, "{\"pending\":[],\"unkept\":[],\"v\":1}\n");
    helper.finish();
}

/// Each kind of change that waits to be kept has a line, and the package's removal script finds these lines.
#[test]
fn changes_that_wait_to_be_kept_have_lines_that_the_removal_of_the_package_shows() {
    let host = TestHost::new(GOOD);
    let change = |keep_until_unix_s, why: &str, loaded_by: &[&str]| Unkept {
        request_id: "r-1".to_owned(),
        client: "agent".to_owned(),
        verb: "file.write".to_owned(),
        target: "/etc/nftables.conf\ntaken back in".to_owned(),
        not_taken_back: why.to_owned(),
        loaded_by: loaded_by.iter().map(ToString::to_string).collect(),
        keep_until_unix_s,
        ..Unkept::default()
    };
    let until = postern_admin::text::now() + 100;
    let unkept = vec![
        change(until, "", &[]),
        change(until, "", &["load-firewall"]),
        change(until, "busy", &[]),
        change(0, "undo_conflict", &[]),
    ];
    let pending = OperatorPending { approvals: Vec::new(), unkept };
    let helper = host.answering(move |_, _| vec![event(&pending), end(0, "")]);
    let ran = host.run(&["pending"]);
    helper.finish();
    let lines = ran.out.lines().skip(1).collect::<Vec<_>>();
    let begins = [
        "taken back in ",
        "taken back in ",
        "is to be taken back and will be tried again (request r-1)",
        "NOT TAKEN BACK, though agent did not keep it (request r-1)",
    ];
    assert_eq!(lines.len(), 4, "{}", ran.out);
    assert!(begins.iter().all(|begin| lines.iter().any(|line| line.starts_with(begin))), "{}", ran.out);
    assert!(
        ran.out.contains("unless agent keeps it (postern keep r-1): file.write /etc/nftables.conf"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("unless agent keeps a later run of load-firewall: "), "{}", ran.out);
    let script = include_str!("../../../../deploy/debian/prerm");
    let pattern = script.split("grep -E '^(").nth(1).and_then(|rest| rest.split(")'").next()).unwrap();
    let is_shown = |line: &&str| pattern.split('|').any(|begin| line.starts_with(begin));
    assert_eq!(ran.out.lines().filter(is_shown).count(), 4, "{pattern}: {}", ran.out);
}

#[test]
fn shows_a_text_with_its_digest() {
    let host = TestHost::new(GOOD);
    let text = "+caf\u{e9}\x1b[2J \n";
    let helper = Desk::with(&[("3f9a", text.as_bytes())]).helper(&host);
    let ran = run(|io| approvals::show(&host.host, "3f9a", PLAIN, Format::Text, io));
    let digest = hex(&digest(text.as_bytes()));
    let head = " request | 3f9a0000000000000000000000000000\n    verb | file.write\n  target | /etc/nginx/conf.d/site.conf\n  \
         client | agent (uid 990), says it asks for uid 1000\n    task | t1 (the client's word)\n    rule | web-config\n";
    assert!(ran.out.starts_with(head), "{}", ran.out);
    let told = [
        "postern approval 2",
        "verb file.write",
        "target /etc/nginx/conf.d/site.conf",
        "client uid 990, which the broker names \"agent\"",
        "rule web-config",
        "expires 2025-11-21T04:55:00.000000Z",
        "approvers 1",
        &format!("policy {}", "07".repeat(32)),
        "claims task \"t1\" of uid 1000",
        "plan",
        &format!(
            "file /etc/nginx/conf.d/site.conf: write 12 bytes, SHA-256 {}",
            hex(&sha256(text.as_bytes()))
        ),
        "now nothing",
        "at line 1",
        "++caf\u{e9}\u{1b}[2J ",
        "the client's reason, in its own words: none",
    ];
    let json: Value = serde_json::from_str(&host.run(&["show", "3f9a", "--json"]).out).unwrap();
    let lines = json["text"].as_str().unwrap().lines().filter(|line| !line.is_empty());
    let lines = lines.filter(|line| !line.starts_with("risk ")).collect::<Vec<_>>();
    assert_eq!(lines, told);
    assert!(ran.out.contains("| ++caf\\u{e9}\\x1b[2J\\x20\n"), "{}", ran.out);
    assert!(ran.out.ends_with(&format!("--- end of the text\n  sha256 | {digest}\n")), "{}", ran.out);
    let ran = host.run(&["show", "3f9a", "--json"]);
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(result["sha256"], digest);
    helper.finish();
}

#[test]
fn a_header_value_cannot_break_or_imitate_a_row() {
    let host = TestHost::new(GOOD);
    let desk = Desk::default();
    let mut hostile = approval(&id("3f9a"));
    hostile.target = format!("/x    verb | file.read{}", "y".repeat(60));
    hostile.task = "t\r--- end".to_owned();
    hostile.client = "a\nverb file.read".to_owned();
    desk.add(hostile, b"text");
    let helper = desk.helper(&host);
    let ran = run(|io| approvals::show(&host.host, "3f9a", PLAIN, Format::Text, io));
    let target =
        format!("  target | /x    verb | file.read{}>\n         > {}\n", "y".repeat(45), "y".repeat(15));
    assert!(ran.out.contains(&target), "{}", ran.out);
    assert!(ran.out.contains("    task | t\\x0d--- end (the client's word)\n"), "{}", ran.out);
    assert!(ran.out.contains("which the broker names \"a\\nverb file.read\""), "{}", ran.out);
    helper.finish();
}

#[test]
fn json_holds_the_exact_bytes_of_non_utf8_text() {
    let host = TestHost::new(GOOD);
    let helper = Desk::with(&[("3f9a", b"a\xff\n")]).helper(&host);
    let result: Value = serde_json::from_str(&host.run(&["show", "3f9a", "--json"]).out).unwrap();
    assert!(
        result["text"].is_null() && result["text_hex"].as_str().unwrap().contains("2b61ff0a"),
        "{result}"
    );
    helper.finish();
}

#[test]
fn reports_a_text_that_is_too_long_to_approve() {
    let host = TestHost::new(GOOD);
    let helper = Desk::with(&[("3f9a", &b"x\n".repeat(2_001))]).helper(&host);
    let ran = host.run(&["show", "3f9a"]);
    expect(&ran, Exit::Done, "nobody reads more than 2000 lines");
    assert!(ran.out.contains("| +x\n"));
    helper.finish();
}

#[test]
fn reports_an_unreachable_recorder_and_missing_permission() {
    let host = TestHost::new(GOOD);
    for args in [
        &["pending"][..],
        &["show", "3f9a"],
        &["deny", "3f9a"],
        &["pause"],
        &["undo", "--task", "t", "--yes"],
        &["watch"],
    ] {
        expect(&host.run(args), Exit::Unreachable, "the recorder cannot be reached");
    }
    let helper = host.helper(vec![end(7, "denied: a client of the policy can be no operator")]);
    expect(&host.run(&["pending"]), Exit::Refused, "can be no operator");
    helper.join().unwrap();
}

#[test]
fn tells_what_the_policy_of_the_order_says_of_the_command() {
    const COMMAND: &str = r#"
[[command]]
name = "reindex"
argv = ["/usr/bin/true"]
description = "makes the search index anew"

[[rule]]
id = "reindex"
client = "agent"
verbs = ["command.run"]
commands = ["reindex"]
decision = "ask"
justification = "search"
"#;
    let host = TestHost::new(&format!("{GOOD}{COMMAND}"));
    assert_eq!(host.run(&["policy", "apply", "--yes"]).exit, Exit::Done);
    let digest = accepted::read(&host.host.accepted_dir()).unwrap().unwrap().digest;
    let about = |name, policy| approvals::about(&host.host, name, policy);
    assert_eq!(about("reindex", digest).as_deref(), Some("makes the search index anew"));
    assert_eq!(about("other", digest), None);
    // Words of another policy than the order's say nothing of what would run.
    assert_eq!(about("reindex", Digest::of(&[b"another policy"])), None);
}
