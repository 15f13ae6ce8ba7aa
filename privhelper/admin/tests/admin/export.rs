//! `audit export`: exact lines of each format.

use crate::log::Log;
use crate::support::TestHost;
use postern_admin::io::Exit;
use std::fs;

const CLIENT: &str =
    ",\"client\":{\"name\":\"agent\",\"uid\":990,\"gid\":990,\"pid\":7},\"claimed_by\":{\"uid\":1000}";

fn export(format: &str, event: &str, members: &str) -> String {
    let host = TestHost::new("");
    let mut log = Log::new();
    log.add(event, members);
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let ran = host.run(&["audit", "export", "--format", format]);
    assert_eq!(ran.exit, Exit::Done);
    let line = ran.out.strip_suffix('\n').unwrap().to_owned();
    assert!(!line.contains('\n'), "one record is one line");
    line.replace(&log.prev, "HASH").replace(&"0".repeat(64), "PREV")
}

/// A path with everything that one of the formats or a terminal takes for something else.
fn hostile() -> String {
    format!(
        "{CLIENT},\"request_id\":\"0199a0b0-0000-7000-8000-000000000001\",\"verb\":\"file.read\",\"args\":{{\"path\":\"{}\"}},\"outcome\":{{\"status\":\"refused\",\"code\":\"no_grant\"}}",
        r#"/a|b=c]d\\e\"f\n\r\u001b\u0000\u202e\u00e9"#
    )
}

#[test]
fn cef_output_follows_the_cef_standard() {
    let id = "cs3Label=requestId cs3=0199a0b0-0000-7000-8000-000000000001";
    let expected = [
        "CEF:0|Postern|postern-audit|0.1.0|refused|file.read refused|6|rt=Nov 21 2026 04:13:14.000 UTC dvchost=web1 externalId=1",
        " suser=agent suid=990 spid=7 act=file.read outcome=refused reason=no_grant",
        r#" msg=/a|b\=c]d\\e"f\\u{a}\\u{d}\\u{1b}\\u{0}\\u{202e}é -> refused no_grant "#,
        id,
        r#" cs5Label=arguments cs5={"path":"/a|b\=c]d\\\\e\\"f\\n\\r\\u001b\\u0000\\u202eé"} cs6Label=hash cs6=HASH"#,
        " flexString1Label=uidClaimedByClient flexString1=1000",
    ];
    assert_eq!(export("cef", "refused", &hostile()), expected.concat());
    // A log that was tampered with can hold any event: the header stays one.
    let line = export("cef", "a|b\\\\c", "");
    assert!(line.starts_with(r"CEF:0|Postern|postern-audit|0.1.0|a\|b\\c|a\|b\\c|1|"), "{line}");
}

#[test]
fn syslog_output_follows_rfc_5424() {
    let expected = [
        "<108>1 2026-11-21T04:13:14.000001Z web1 postern-audit - refused [postern@32473",
        r#" args="{\"path\":\"/a|b=c\]d\\\\e\\\"f\\n\\r\\u001b\\u0000\\u202eé\"}""#,
        " boot_id=\"6b2f8a0e-0000-4000-8000-000000000000\" claimed_by_uid=\"1000\"",
        " client_gid=\"990\" client_name=\"agent\" client_pid=\"7\" client_uid=\"990\" hash=\"HASH\"",
        " outcome_code=\"no_grant\" outcome_status=\"refused\" prev=\"PREV\"",
        " request_id=\"0199a0b0-0000-7000-8000-000000000001\" seq=\"1\" v=\"1\" verb=\"file.read\"]",
        " \u{feff}file.read refused: ",
        r#"/a|b=c]d\e"f\u{a}\u{d}\u{1b}\u{0}\u{202e}é -> refused no_grant"#,
    ];
    assert_eq!(export("rfc5424", "refused", &hostile()), expected.concat());
}

#[test]
fn export_maps_events_to_severities() {
    let severity = |event: &str, members: &str| {
        let cef = export("cef", event, members).split('|').nth(6).unwrap().to_owned();
        (cef, export("rfc5424", event, members).split('>').next().unwrap().to_owned())
    };
    let is = |cef: &str, priority: &str| (cef.to_owned(), priority.to_owned());
    assert_eq!(severity("served", ""), is("1", "<110"));
    assert_eq!(severity("end", ",\"outcome\":{\"status\":\"done\"}"), is("1", "<110"));
    assert_eq!(severity("end", ",\"outcome\":{\"status\":\"failed\"}"), is("6", "<108"));
    assert_eq!(severity("approval", ""), is("3", "<109"));
    assert_eq!(severity("tampered", ""), is("10", "<105"));
}

#[test]
fn export_applies_the_same_filters_as_show() {
    let host = TestHost::new("");
    fs::write(host.host.log.join("audit.jsonl"), crate::log::sample().bytes).unwrap();
    let lines = |options: &[&str]| {
        host.run(&[&["audit", "export", "--format", "cef"], options].concat()).out.lines().count()
    };
    assert_eq!((lines(&[]), lines(&["--event", "begin"]), lines(&["--client", "nobody"])), (10, 4, 0));
}
