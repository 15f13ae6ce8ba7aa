//! `policy suggest` prints rules as narrow as the refused requests, and none of what a person or a deny rule refused.

use crate::log::Log;
use crate::support::{GOOD, SITE, TestHost};
use postern_admin::io::Exit;
use std::fs;
use std::path::Path;

/// A record of a refused request.
fn refused(log: &mut Log, verb: &str, args: &str, code: &str) {
    let members = format!(
        ",\"client\":{{\"name\":\"agent\",\"uid\":990}},\"verb\":\"{verb}\",\"args\":{args},\"outcome\":{{\"status\":\"refused\",\"code\":\"{code}\"}}"
    );
    log.add("refused", &members);
}

fn unit(log: &mut Log, verb: &str, unit: &str) {
    refused(log, verb, &format!("{{\"unit\":\"{unit}\"}}"), "no_grant");
}

fn suggest(host: &TestHost, log: &Log) -> String {
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let ran = host.run(&["policy", "suggest"]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    ran.out
}

fn packaged(host: &mut TestHost) {
    host.host.packs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/packs");
}

#[test]
fn suggests_a_rule_for_the_verbs_and_objects_that_were_refused() {
    let host = TestHost::new(GOOD);
    let mut log = Log::new();
    for name in ["nginx.service", "redis-server.service"] {
        unit(&mut log, "unit.reload", name);
        unit(&mut log, "unit.restart", name);
    }
    unit(&mut log, "unit.stop", "nginx.socket");
    let text = suggest(&host, &log);
    let rules = "
[[rule]]
id = \"suggested-1\"
client = \"agent\"
verbs = [\"unit.stop\"]
units = [\"nginx.socket\"]
decision = \"ask\"
justification = \"asked for and refused, as the audit log says: write here why it may be done\"

[[rule]]
id = \"suggested-2\"
client = \"agent\"
verbs = [\"unit.restart\", \"unit.reload\"]
units = [\"nginx.service\", \"redis-server.service\"]
decision = \"ask\"
justification = \"asked for and refused, as the audit log says: write here why it may be done\"
";
    assert!(text.ends_with(rules), "{text}");
    assert!(text.starts_with("# From 5 refusals in the audit log. Nothing was installed:"), "{text}");
    assert_eq!(suggest(&host, &log), text, "the same log gives the same text");
    assert!(!host.host.etc.join("policy.d").exists());
}

#[test]
fn a_suggested_rule_grants_nothing_that_was_not_asked_for() {
    let host = TestHost::new(GOOD);
    let mut log = Log::new();
    let file = |name: &str, size: u32| {
        format!("{{\"path\":\"/srv/site/{name}\",\"size\":{size},\"sha256\":\"00\",\"expect\":\"absent\"}}")
    };
    refused(&mut log, "file.write", &file("a.conf", 100), "no_grant");
    refused(&mut log, "file.write", &file("b.conf", 7), "no_grant");
    refused(
        &mut log,
        "package.install",
        "{\"packages\":[{\"name\":\"nginx-light\",\"version\":\"\"}]}",
        "no_grant",
    );
    refused(&mut log, "package.remove", "{\"names\":[\"apache2\"]}", "no_grant");
    refused(&mut log, "unit.enable", "{\"unit\":\"nginx.service\",\"now\":true}", "no_grant");
    let text = suggest(&host, &log);
    fs::create_dir_all(host.host.etc.join("policy.d")).unwrap();
    host.write("policy.d/suggested.toml", &text);
    let explain = |words: &[&str]| {
        let etc = host.host.etc.display().to_string();
        let args = [&["policy", "explain", "--policy", &etc][..], words].concat();
        host.run(&args).exit
    };
    for words in [
        &["file.write", "/srv/site/a.conf", "--bytes", "100"][..],
        &["file.write", "/srv/site/b.conf", "--bytes", "7"],
        &["package.install", "nginx-light"],
        &["package.remove", "apache2"],
        &["unit.enable", "nginx.service", "--now"],
    ] {
        assert_eq!(explain(words), Exit::NotApproved, "{words:?}\n{text}");
    }
    for words in [
        &["file.write", "/srv/site/a.conf", "--bytes", "101"][..],
        &["file.write", "/srv/site/b.conf", "--bytes", "8"],
        &["file.write", "/srv/site/a.conf", "--mode", "0755"],
        &["file.write", "/srv/site/c.conf"],
        &["file.write", "/srv/site/sub/a.conf"],
        &["file.read", "/srv/site/a.conf"],
        &["file.remove", "/srv/site/a.conf"],
        &["package.install", "apache2"],
        &["package.install", "nginx-light=1.2"],
        &["package.remove", "nginx-light"],
        &["unit.stop", "nginx.service"],
        &["unit.enable", "ssh.service"],
    ] {
        assert_eq!(explain(words), Exit::Refused, "{words:?}\n{text}");
    }
}

#[test]
fn suggests_nothing_of_what_a_person_or_a_rule_denied() {
    let deny = "
[[rule]]
id = \"ssh-stays\"
client = \"agent\"
verbs = [\"unit.stop\"]
units = [\"ssh.service\"]
decision = \"deny\"
justification = \"the way in\"
";
    let host = TestHost::new(&format!("{GOOD}{deny}"));
    let mut log = Log::new();
    unit(&mut log, "unit.stop", "nginx.service");
    unit(&mut log, "unit.stop", "ssh.service");
    unit(&mut log, "unit.stop", "cron.service");
    refused(&mut log, "unit.restart", "{\"unit\":\"nginx.service\"}", "not_approved");
    let pending = ",\"request_id\":\"7\",\"client\":{\"name\":\"agent\"},\"verb\":\"unit.start\",\"args\":{\"unit\":\"cron.service\"}";
    log.add("pending", pending);
    log.add("approval", ",\"request_id\":\"7\",\"outcome\":{\"status\":\"denied\"}");
    let text = suggest(&host, &log);
    assert!(text.starts_with("# 3 refusals for lack of a rule, and nothing to suggest."), "{text}");
    assert!(text.contains("# agent: unit.stop ssh.service: the policy says denied"), "{text}");
    assert!(!text.contains("[[rule]]"), "{text}");
}

#[test]
fn a_denial_holds_for_all_versions_of_a_package_and_for_each_name_of_the_client() {
    let host = TestHost::new(GOOD);
    let mut log = Log::new();
    let install =
        |version: &str| format!("{{\"packages\":[{{\"name\":\"nginx\",\"version\":\"{version}\"}}]}}");
    refused(&mut log, "package.install", &install(""), "not_approved");
    refused(&mut log, "package.install", &install("1.24"), "no_grant");
    unit(&mut log, "unit.stop", "cron.service");
    let joined = ",\"client\":{\"name\":\"agent+team\"},\"verb\":\"unit.stop\",\"args\":{\"unit\":\"cron.service\"},\"outcome\":{\"code\":\"denied\"}";
    log.add("refused", joined);
    assert!(!suggest(&host, &log).contains("[[rule]]"));
}

#[test]
fn notices_the_denial_of_a_second_person_and_after_many_requests_that_waited() {
    let host = TestHost::new(GOOD);
    let mut log = Log::new();
    let pending = |id: usize, unit: &str| {
        format!(
            ",\"request_id\":\"{id}\",\"client\":{{\"name\":\"agent\"}},\"verb\":\"unit.start\",\"args\":{{\"unit\":\"{unit}\"}}"
        )
    };
    for id in 0..10_001 {
        log.add("pending", &pending(id, "x.service"));
        log.add(
            "refused",
            &format!(",\"request_id\":\"{id}\",\"outcome\":{{\"code\":\"approval_expired\"}}"),
        );
    }
    log.add("pending", &pending(20_000, "cron.service"));
    for status in ["approved", "denied"] {
        log.add("approval", &format!(",\"request_id\":\"20000\",\"outcome\":{{\"status\":\"{status}\"}}"));
    }
    unit(&mut log, "unit.start", "cron.service");
    unit(&mut log, "unit.start", "x.service");
    let text = suggest(&host, &log);
    assert!(text.contains("units = [\"x.service\"]") && !text.contains("cron"), "{text}");
}

#[test]
fn limits_of_one_request_are_not_combined_with_those_of_another() {
    let host = TestHost::new(GOOD);
    let mut log = Log::new();
    let change = |size: u32, mode: &str| {
        format!("{{\"path\":\"/srv/a\",\"size\":{size},\"mode\":\"{mode}\",\"expect\":\"any\"}}")
    };
    refused(&mut log, "file.write", &change(10, "0600"), "no_grant");
    refused(&mut log, "file.patch", &change(5000, "0644"), "no_grant");
    refused(&mut log, "file.patch", &change(20, "0644"), "no_grant");
    let text = suggest(&host, &log);
    assert_eq!(text.matches("[[rule]]").count(), 2, "{text}");
    for rule in text.split("[[rule]]").skip(1) {
        let is_write = rule.contains("file.write");
        assert_eq!(rule.contains("max_bytes = 10\n") && rule.contains("[\"0600\"]"), is_write, "{text}");
        assert_eq!(rule.contains("max_bytes = 5000\n") && rule.contains("[\"0644\"]"), !is_write, "{text}");
    }
}

#[test]
fn invisible_characters_of_the_log_are_escaped() {
    let host = TestHost::new(GOOD);
    let mut log = Log::new();
    refused(
        &mut log,
        "file.write",
        "{\"path\":\"/srv/a\u{200b}b\u{e0041}\",\"size\":1,\"expect\":\"any\"}",
        "no_grant",
    );
    let text = suggest(&host, &log);
    assert!(text.contains("[\"a\\U0000200Bb\\U000E0041\"]"), "{text}");
    assert!(text.lines().all(|line| postern_admin::text::escape(line) == line), "{text}");
}

#[test]
fn a_denial_counts_also_where_the_filter_leaves_it_out() {
    let host = TestHost::new(GOOD);
    let mut log = Log::new();
    refused(&mut log, "unit.stop", "{\"unit\":\"nginx.service\"}", "not_approved");
    unit(&mut log, "unit.stop", "nginx.service");
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let ran = host.run(&["policy", "suggest", "--outcome", "no_grant"]);
    assert!(ran.exit == Exit::Done && !ran.out.contains("[[rule]]"), "{}", ran.out);
}

#[test]
fn leaves_out_what_no_rule_can_bound_or_grant_and_says_so() {
    let host = TestHost::new(GOOD);
    let mut log = Log::new();
    refused(&mut log, "package.upgrade", "{\"names\":[],\"all\":true}", "no_grant");
    refused(&mut log, "file.write", "{\"path\":\"/srv/*.conf\",\"size\":1}", "no_grant");
    refused(&mut log, "file.write", "{\"path\":\"/etc/postern/policy.toml\",\"size\":1}", "no_grant");
    refused(&mut log, "command.run", "{\"name\":\"grow\",\"parameters\":[]}", "no_grant");
    unit(&mut log, "unit.status", "ssh.service");
    let text = suggest(&host, &log);
    assert!(!text.contains("[[rule]]"), "{text}");
    for words in [
        "# agent: package.upgrade --all: every package at once is no bounded grant",
        "# agent: file.write /srv/*.conf: its name has a `*`",
        "# agent: file.write /etc/postern/policy.toml: the policy says protected",
        "# agent: command.run grow: the policy has no such command",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    assert!(!text.contains("ssh.service"), "it is granted by now: {text}");
}

#[test]
fn prints_what_policy_check_would_find_in_the_suggestion() {
    let host = TestHost::new(GOOD);
    let mut log = Log::new();
    let args = "{\"path\":\"/etc/logrotate.d/agent\",\"size\":1,\"expect\":\"any\"}";
    refused(&mut log, "file.write", args, "no_grant");
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let ran = host.run(&["policy", "suggest"]);
    assert!(ran.out.contains("[[rule]]"), "{}", ran.out);
    assert!(ran.err.contains("policy check would say: ") && ran.err.contains("logrotate"), "{}", ran.err);
}

#[test]
fn names_the_packs_that_cover_a_suggested_rule() {
    let mut host = TestHost::new(GOOD);
    packaged(&mut host);
    let mut log = Log::new();
    unit(&mut log, "unit.reload", "nginx.service");
    unit(&mut log, "unit.reload", "cron.service");
    refused(
        &mut log,
        "file.write",
        "{\"path\":\"/etc/nginx/conf.d/shop.conf\",\"size\":1,\"expect\":\"any\"}",
        "no_grant",
    );
    let text = suggest(&host, &log);
    assert!(text.contains("covers suggested-2: postern-admin pack show web-nginx"), "{text}");
    assert!(text.contains("# pack services covers suggested-1: "), "{text}");
    assert_eq!(
        text.matches("# pack ").count(),
        2,
        "one that takes any name is not named beside one of its own: {text}"
    );
}

#[test]
fn text_of_the_log_does_not_leave_its_place_in_the_suggestion() {
    let host = TestHost::new(&format!("{GOOD}{SITE}"));
    let mut log = Log::new();
    refused(&mut log, "unit.stop", "{\"unit\":\"a.service\\\"\\n[[rule]]\"}", "no_grant");
    refused(&mut log, "file.write", "{\"path\":\"/srv/a\\\"b\",\"size\":1,\"expect\":\"any\"}", "no_grant");
    let text = suggest(&host, &log);
    assert_eq!(text.matches("\n[[rule]]").count(), text.matches("suggested-").count(), "{text}");
    let parsed: toml::Table = toml::from_str(&text).unwrap();
    assert!(parsed.keys().all(|key| key == "rule"), "{text}");
}
