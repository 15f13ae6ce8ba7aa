//! Completions offer what the policy grants, what the log has, and which packs there are.

use crate::log::Log;
use crate::support::{GOOD, TestHost};
use postern_admin::completion::Words;
use std::fs;
use std::path::Path;

const MORE: &str = r#"
[[rule]]
id = "web"
client = "agent"
verbs = ["unit.reload"]
units = ["nginx.service"]
decision = "allow"
justification = "web"

[[rule]]
id = "tools"
client = "agent"
verbs = ["package.show"]
packages = ["tree", "py*"]
decision = "allow"
justification = "tools"
"#;

fn host() -> TestHost {
    let mut host = TestHost::new(&format!("{GOOD}{MORE}"));
    host.host.packs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/packs");
    let units = host.host.root.join("usr/lib/systemd/system");
    fs::create_dir_all(&units).unwrap();
    for name in ["cron.service", "fstrim.timer"] {
        fs::write(units.join(name), "").unwrap();
    }
    fs::create_dir_all(host.host.root.join("var/lib/dpkg")).unwrap();
    fs::write(host.host.root.join("var/lib/dpkg/status"), "Package: python3\n\nPackage: hello\n").unwrap();
    host
}

#[test]
fn offers_the_units_and_packages_that_a_rule_grants_and_no_others() {
    let host = host();
    let verbs = Words::Request.words(&host.host, 0);
    assert!(verbs.contains(&"unit.reload".to_owned()), "{verbs:?}");
    // `*.service` stands for the services of the host.
    let granted = Words::Request.words(&host.host, 1);
    assert_eq!(granted, ["cron.service", "nginx.service", "python3", "tree"]);
    assert_eq!(Words::Rules.words(&host.host, 0), ["look", "web", "tools"]);
    assert_eq!(Words::Clients.words(&host.host, 0), ["agent"]);
}

#[test]
fn offers_the_last_requests_of_the_log_newest_first_and_each_once() {
    let host = host();
    let mut log = Log::new();
    for id in ["a1", "b2", "a1", "c3"] {
        log.add("end", &format!(",\"request_id\":\"{id}\",\"task\":\"task-{id}\""));
    }
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    assert_eq!(Words::Requests.words(&host.host, 0), ["c3", "a1", "b2"]);
    assert_eq!(Words::Tasks.words(&host.host, 0), ["task-c3", "task-a1", "task-b2"]);
}

#[test]
fn offers_packs_and_nothing_where_nothing_can_be_read() {
    let mut host = host();
    assert!(Words::Packs.words(&host.host, 0).contains(&"web-nginx".to_owned()));
    assert_eq!(Words::Added.words(&host.host, 0), [""; 0]);
    host.host.etc = "/nonexistent".into();
    host.host.log = "/nonexistent".into();
    for words in [Words::Rules, Words::Clients, Words::Requests, Words::Tasks, Words::Waiting, Words::Added] {
        assert_eq!(words.words(&host.host, 0), [""; 0], "{words:?}");
    }
}
