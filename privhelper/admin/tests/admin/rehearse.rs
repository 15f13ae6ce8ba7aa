//! `policy rehearse` runs the agent's dry run as the person, and says what the helper decided of it.

use crate::log::Log;
use crate::support::{GOOD, TestHost};
use postern_admin::io::Exit;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const TASK: &str = "01939d2e-7a00-7000-8000-000000000001";

/// A program that writes down how it was called, prints a task's report, and ends as a dry run with a refusal does.
fn agent(host: &TestHost, path: &Path, said: &str) {
    let called = host.host.etc.with_file_name("called");
    let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\ncat <<'E'\n{said}\nE\nexit 3\n", called.display());
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn called(host: &TestHost) -> String {
    fs::read_to_string(host.host.etc.with_file_name("called")).unwrap_or_default()
}

/// A host whose agent rehearses, and whose log has these records of its task beside one of another task.
fn host(records: &[(&str, &str)]) -> TestHost {
    let mut host = TestHost::new(GOOD);
    host.host.packs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/packs");
    let said = format!(
        "{{\"id\":\"{TASK}\",\"status\":\"refused\",\"summary\":\"in a dry run: reload\\u001b[2J\"}}"
    );
    for program in [&host.host.programs.postern, &host.host.programs.runuser] {
        agent(&host, program, &said);
    }
    let mut log = Log::new();
    for (task, (event, members)) in records.iter().map(|one| (TASK, one)).chain([("other", &OTHER)]) {
        let client = "\"client\":{\"name\":\"agent\",\"uid\":990}";
        log.add(event, &format!(",{client},\"task\":\"{task}\",{members}"));
    }
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    host
}

const OTHER: (&str, &str) = ("refused", REFUSED_OTHER);
const REFUSED_OTHER: &str = "\"verb\":\"unit.stop\",\"args\":{\"unit\":\"other.service\"},\"outcome\":{\"status\":\"refused\",\"code\":\"no_grant\"}";
const REFUSED: &str = "\"verb\":\"unit.reload\",\"args\":{\"unit\":\"nginx.service\"},\"outcome\":{\"status\":\"refused\",\"code\":\"no_grant\"}";
const GRANTED: &str = "\"verb\":\"unit.status\",\"args\":{\"unit\":\"nginx.service\"},\"rule\":\"look\",\"decision\":\"allow\",\"outcome\":{\"status\":\"done\"}";
const ASKS: &str = "\"verb\":\"unit.restart\",\"args\":{\"unit\":\"nginx.service\"},\"rule\":\"web\",\"decision\":\"ask\",\"outcome\":{\"status\":\"previewed\"}";

#[test]
fn lists_what_the_helper_decided_and_the_rule_and_pack_that_are_missing() {
    let host = host(&[("served", GRANTED), ("previewed", ASKS), ("refused", REFUSED)]);
    let ran = host.run(&["policy", "rehearse", "reload nginx"]);
    assert_eq!(ran.exit, Exit::Refused, "{}", ran.err);
    assert!(ran.out.contains("# granted  unit.status nginx.service -> allow by look"), "{}", ran.out);
    assert!(ran.out.contains("# asks     unit.restart nginx.service -> ask by web"), "{}", ran.out);
    assert!(ran.out.contains("# refused  unit.reload nginx.service"), "{}", ran.out);
    assert!(ran.out.contains("verbs = [\"unit.reload\"]\nunits = [\"nginx.service\"]"), "{}", ran.out);
    assert!(ran.out.contains("pack web-nginx covers suggested-1"), "{}", ran.out);
    assert!(!ran.out.contains("other.service") && !ran.out.contains('\u{1b}'), "{}", ran.out);
    assert_eq!(called(&host), "--dry-run --json run -- reload nginx\n");
}

#[test]
fn ends_with_0_where_all_is_granted_and_with_4_where_a_person_is_asked() {
    let ran = host(&[("served", GRANTED)]).run(&["policy", "rehearse", "look"]);
    assert_eq!((ran.exit, ran.out.contains("[[rule]]")), (Exit::Done, false), "{}", ran.out);
    let ran = host(&[("previewed", ASKS)]).run(&["policy", "rehearse", "restart"]);
    assert_eq!((ran.exit, ran.out.contains("[[rule]]")), (Exit::NotApproved, false), "{}", ran.out);
}

#[test]
fn rehearses_as_another_person_by_runuser_and_as_nobody_who_does_not_exist() {
    let host = host(&[("served", GRANTED)]);
    let ran = host.run(&["policy", "rehearse", "--user", "mallory", "look"]);
    assert_eq!((ran.exit, called(&host)), (Exit::Usage, String::new()), "{}", ran.err);
    let ran = host.run(&["policy", "rehearse", "--user", "postern", "look"]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let postern = host.host.programs.postern.display();
    assert_eq!(called(&host), format!("--user postern -- {postern} --dry-run --json run -- look\n"));
}

#[test]
fn says_so_where_the_agent_does_not_answer() {
    let host = host(&[]);
    agent(&host, &host.host.programs.postern, "no agent");
    let ran = host.run(&["policy", "rehearse", "look"]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Failed, ""));
    assert!(ran.err.contains("did not rehearse"), "{}", ran.err);
}
