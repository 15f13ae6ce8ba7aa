//! Completions offer what the policy grants, what the log has, and which packs there are.

use crate::log::Log;
use crate::support::{GOOD, TestHost};
use clap_complete::engine;
use postern_admin::completion::{self, Words};
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
    let verbs = Words::Verbs.words(&host.host);
    assert!(verbs.contains(&"unit.reload".to_owned()), "{verbs:?}");
    // `*.service` stands for the services of the host.
    let request = Words::Request.words(&host.host);
    assert_eq!(request[..verbs.len()], verbs);
    assert_eq!(request[verbs.len()..], ["cron.service", "nginx.service", "python3", "tree"]);
    assert_eq!(Words::Rules.words(&host.host), ["look", "web", "tools"]);
    assert_eq!(Words::Clients.words(&host.host), ["agent"]);
}

#[test]
fn offers_the_last_requests_of_the_log_newest_first_and_each_once() {
    let host = host();
    let mut log = Log::new();
    for id in ["a1", "b2", "a1", "c3"] {
        log.add("end", &format!(",\"request_id\":\"{id}\",\"task\":\"task-{id}\""));
    }
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    assert_eq!(Words::Requests.words(&host.host), ["c3", "a1", "b2"]);
    assert_eq!(Words::Tasks.words(&host.host), ["task-c3", "task-a1", "task-b2"]);
}

#[test]
fn offers_packs_and_nothing_where_nothing_can_be_read() {
    let mut host = host();
    assert!(Words::Packs.words(&host.host).contains(&"web-nginx".to_owned()));
    assert_eq!(Words::Added.words(&host.host), [""; 0]);
    host.host.etc = "/nonexistent".into();
    host.host.log = "/nonexistent".into();
    for words in [Words::Rules, Words::Clients, Words::Requests, Words::Tasks, Words::Waiting, Words::Added] {
        assert_eq!(words.words(&host.host), [""; 0], "{words:?}");
    }
}

#[test]
fn every_argument_that_names_something_of_the_host_has_words() {
    // Without a policy and a log on this host only verbs are certain, at the arguments that take them.
    let complete = |words: &[&str]| {
        let argv = words.iter().map(Into::into).collect::<Vec<std::ffi::OsString>>();
        let index = argv.len() - 1;
        let found = engine::complete(&mut completion::command(), argv, index, None).unwrap();
        found.iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["postern-admin", "policy", "explain", "unit.reload-x"]), [""; 0]);
    assert_eq!(complete(&["postern-admin", "policy", "explain", "package.au"]), ["package.autoremove"]);
    for command in [&["audit", "show"][..], &["policy", "suggest"]] {
        let words = [&["postern-admin"], command, &["--verb", "file.mk"]].concat();
        assert_eq!(complete(&words), ["file.mkdir"], "{command:?}");
    }
    let with = completion::command();
    let mut named = 0;
    for (path, arg) in [("approve", "id"), ("deny", "id"), ("show", "id"), ("undo", "id"), ("undo", "task")] {
        let arg =
            with.find_subcommand(path).unwrap().get_arguments().find(|one| one.get_id() == arg).unwrap();
        named += usize::from(arg.get::<engine::ArgValueCompleter>().is_some());
    }
    for (path, arg) in
        [("add", "names"), ("show", "name"), ("diff", "name"), ("remove", "names"), ("update", "names")]
    {
        let pack = with.find_subcommand("pack").unwrap().find_subcommand(path).unwrap();
        let arg = pack.get_arguments().find(|one| one.get_id() == arg).unwrap();
        named += usize::from(arg.get::<engine::ArgValueCompleter>().is_some());
    }
    assert_eq!(named, 10);
}
