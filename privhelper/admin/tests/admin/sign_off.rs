//! `policy sign-off` keeps digest and reviewer; `status` and `audit verify` leave their notes.

use crate::log::Log;
use crate::support::{GOOD, SITE, TestHost};
use postern_admin::audit::verified;
use postern_admin::io::Exit;
use serde_json::Value;
use std::fs;

fn signed(host: &TestHost) -> Value {
    let bytes = fs::read(host.host.own.join("sign-offs.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn status(host: &TestHost) -> String {
    host.run(&["status"]).out
}

#[test]
fn keeps_digest_and_reviewer_and_tells_when_another_policy_is_active() {
    let mut host = TestHost::new(GOOD);
    host.host.login_uid = || Some(1000);
    assert_eq!(host.run(&["policy", "sign-off", "--yes"]).exit, Exit::Failed, "nothing is accepted yet");
    host.run(&["policy", "apply", "--yes"]);
    assert!(!status(&host).contains("sign-off"), "nobody uses it: {}", status(&host));
    let ran = host.answer(&["policy", "sign-off", "--note", "CHG-7"], "y\n");
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert!(ran.err.contains("Sign off this policy as alice? [y/N]"), "{}", ran.err);
    let all = signed(&host);
    assert_eq!(all[0]["reviewer"], "alice");
    assert_eq!((&all[0]["uid"], &all[0]["note"]), (&Value::from(1000), &Value::from("CHG-7")));
    assert!(ran.out.contains(all[0]["digest"].as_str().unwrap()), "{}", ran.out);
    assert!(status(&host).contains("sign-off     by alice, 20"), "{}", status(&host));
    host.write("policy.toml", format!("{GOOD}{SITE}"));
    host.run(&["policy", "apply", "--yes"]);
    assert!(status(&host).contains("sign-off     the active policy is not signed off"), "{}", status(&host));
}

#[test]
fn signs_files_before_they_are_applied() {
    let mut host = TestHost::new(GOOD);
    host.host.login_uid = || Some(1001);
    let ran = host.run(&["policy", "sign-off", "--files", "--yes"]);
    let report = format!("postern-admin policy report --policy {}", host.host.etc.display());
    assert!(ran.exit == Exit::Done && ran.out.contains(&report), "{}", ran.out);
    host.host.login_uid = || Some(1000);
    host.run(&["policy", "apply", "--yes"]);
    assert!(status(&host).contains("sign-off     by bob, 20"), "{}", status(&host));
    host.write("policy.toml", "version = 2\n");
    assert_eq!(host.run(&["policy", "sign-off", "--files", "--yes"]).exit, Exit::Failed);
    assert_eq!(signed(&host).as_array().unwrap().len(), 1);
}

#[test]
fn signs_nothing_for_a_client_or_without_agreement() {
    let mut host = TestHost::new(GOOD);
    host.run(&["policy", "apply", "--yes"]);
    host.host.login_uid = || Some(1000);
    assert_eq!(host.answer(&["policy", "sign-off"], "n\n").exit, Exit::NotApproved);
    assert_eq!(host.run(&["policy", "sign-off"]).exit, Exit::NotApproved);
    host.host.login_uid = || Some(990);
    let ran = host.run(&["policy", "sign-off", "--yes"]);
    assert_eq!(ran.exit, Exit::Refused);
    assert!(ran.err.contains("uid 990 is a client of this policy"), "{}", ran.err);
    assert!(!host.host.own.join("sign-offs.json").exists());
}

#[test]
fn verification_of_the_installed_log_is_noted_only_if_it_holds() {
    let host = TestHost::new(GOOD);
    let mut log = Log::new();
    log.add("start", "").add("stop", "");
    let path = host.host.log.join("audit.jsonl");
    fs::write(&path, &log.bytes).unwrap();
    assert_eq!(host.run(&["audit", "verify", path.to_str().unwrap()]).exit, Exit::Done);
    assert_eq!(
        verified::LastVerification::read(&host.host.own).unwrap(),
        None,
        "a named file is another log"
    );
    assert_eq!(host.run(&["audit", "verify"]).exit, Exit::Done);
    let last = verified::LastVerification::read(&host.host.own).unwrap().unwrap();
    assert_eq!((last.seq, last.with_key), (2, false));
    fs::write(&path, String::from_utf8(log.bytes).unwrap().replacen("start", "stars", 1)).unwrap();
    fs::remove_file(host.host.own.join("verified.json")).unwrap();
    assert_eq!(host.run(&["audit", "verify"]).exit, Exit::Failed);
    assert_eq!(verified::LastVerification::read(&host.host.own).unwrap(), None);
}
