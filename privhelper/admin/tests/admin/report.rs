//! `policy report` says all that is granted, to whom, how far, and how often it was used.

use crate::log::Log;
use crate::site;
use crate::support::{GOOD, Ran, SITE, TestHost, agent, end, event};
use postern_admin::io::Exit;
use postern_policy::types::{TargetPath, UnitName};
use postern_policy::{Object, Policy, VerbId};
use postern_proto::v1::OperatorApplied;
use serde_json::{Value, json};
use std::fs;

fn report(host: &TestHost, more: &[&str]) -> Ran {
    let ran = host.run(&[&["policy", "report", "--host", "web-01"], more].concat());
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    ran
}

fn data(host: &TestHost) -> Value {
    serde_json::from_str(&report(host, &["--json"]).out).unwrap()
}

/// The grant of this id.
fn grant(data: &Value, id: &str) -> Value {
    let clients = data["clients"].as_array().unwrap().iter();
    let groups = clients.flat_map(|client| client["groups"].as_array().unwrap());
    let grants = groups.flat_map(|group| group["grants"].as_array().unwrap());
    let found = grants.filter(|grant| grant["id"] == id).collect::<Vec<_>>();
    assert_eq!(found.len(), 1, "{id} in {data}");
    found[0].clone()
}

#[test]
fn lists_every_rule_once_in_each_format() {
    let host = site::host();
    let data = data(&host);
    for id in [
        "look-at-units",
        "web-packages",
        "web-unit",
        "never-the-way-in",
        "web-content",
        "web-config",
        "team-restart",
    ] {
        grant(&data, id);
    }
    for form in ["text", "md", "html"] {
        // Where a line breaks is no matter here.
        let out = report(&host, &["--format", form]).out.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "What the agent can do on web-01",
            "python3-certbot-",
            "at most 40 new packages at once",
            "this host serves static sites",
            "policy.toml:19",
            "policy.d/10-team.toml:2",
            "at most 12 times in 1 hour",
            "2 operators within 30 minutes",
            "write-outside-harmless",
            "virtual hosts are reviewed by an operator before they are written",
            "up to 2 levels",
            "alice (1000)",
            "bob (1001)",
            "other units may change too",
            "very high",
            "not used since 2026-11-21 (the policy was applied then)",
            "the chain of 34 records holds",
        ] {
            assert!(
                out.contains(words),
                "{form}: no {words:?} in
{out}"
            );
        }
    }
}

#[test]
fn reports_numbers_people_and_status_of_the_policy() {
    let host = site::host();
    let data = data(&host);
    assert_eq!(data["summary"], json!({ "allow": 5, "ask": 1, "deny": 1, "highest_risk": 80, "idle": 0 }));
    assert_eq!(data["policy"]["digest"], site::digest(&host));
    assert_eq!(data["policy"]["standing"], "accepted");
    let person = |name: &str, uid: u32| json!({ "name": name, "uid": uid });
    let people = json!({
        "users": [person("alice", 1000), person("bob", 1001)],
        "operators": [person("alice", 1000)],
        "barred": [person("postern", 990)],
        "auditors": [],
    });
    assert_eq!(data["people"], people);
    // group(5) does not list a user by primary group.
    assert_eq!(data["clients"][1]["who"], "group web: postern (990), bob (1001)");
    assert_eq!(
        data["attention"][0]["words"].as_str().unwrap().split(':').next().unwrap(),
        "postern (990) is in postern-operators and cannot approve, being a client of the policy"
    );
}

#[test]
fn reports_the_helpers_risk_score_and_none_for_deny_rules() {
    let data = data(&site::host());
    assert_eq!(grant(&data, "web-config")["risk"], 80);
    assert_eq!(grant(&data, "web-config")["capabilities"], json!(["filesystem.config_write"]));
    assert_eq!(grant(&data, "web-content")["risk"], 40);
    assert_eq!(grant(&data, "look-at-units")["risk"], 5);
    let denial = grant(&data, "never-the-way-in");
    assert_eq!(
        (&denial["risk"], &denial["limits"], &denial["capabilities"]),
        (&Value::Null, &json!([]), &json!([]))
    );
}

#[test]
fn the_log_says_how_often_each_rule_was_used() {
    let data = data(&site::host());
    let uses = |id: &str| grant(&data, id)["uses"].clone();
    let install = uses("web-packages");
    assert_eq!((&install["used"], &install["failed"]), (&json!(3), &json!(1)), "begin and end are one use");
    assert_eq!(uses("look-at-units")["used"], 12);
    assert_eq!((&uses("web-content")["used"], &uses("web-content")["previewed"]), (&json!(2), &json!(1)));
    // Nobody agreed: it was asked for all the same.
    let asked = uses("web-config");
    assert_eq!((&asked["used"], &asked["asked"], &asked["refused"]), (&json!(0), &json!(1), &json!(1)));
    assert!(uses("web-unit")["last"].is_null());
    let refused = &data["clients"][0]["refused"];
    let no_grant = json!({ "client": "agent", "verb": "package.install", "code": "no_grant", "count": 3 });
    assert_eq!(refused[0], no_grant);
    assert_eq!(refused.as_array().unwrap().len(), 4, "{refused}");
    assert_eq!(data["log"]["head_seq"], 34);
    assert_eq!(data["log"]["valid"], true);
}

#[test]
fn counts_a_refusal_for_the_rule_named_in_its_message() {
    // The very words of the helper of today, so that a change of them is noticed here.
    let host = site::host();
    let policy = Policy::load(&host.accepted().unwrap()).unwrap();
    let unit = Object::unit(UnitName::new("ssh.service").unwrap());
    let path = TargetPath::new("/var/www/html/x.html").unwrap();
    let big = Object::File { path, bytes: 1 << 30, content: None, mode: None, owner: None, group: None };
    let mut log = Log::new();
    for required_grant in [(VerbId::UnitStop, unit), (VerbId::FileWrite, big)] {
        let refusal = policy.decide(&agent(), &[required_grant]).unwrap_err();
        let (code, detail) = (refusal.code.as_str(), json!(refusal.message));
        log.add(
            "refused",
            &format!(",\"outcome\":{{\"status\":\"refused\",\"code\":\"{code}\",\"detail\":{detail}}}"),
        );
    }
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let data = data(&host);
    for id in ["never-the-way-in", "web-content"] {
        assert_eq!(grant(&data, id)["uses"]["refused"], 1, "{id}");
        assert!(grant(&data, id)["uses"]["last_refused"].is_string());
    }
}

#[test]
fn reports_an_unreadable_log_and_counts_no_uses() {
    let host = site::host();
    fs::remove_file(host.host.log.join("audit.jsonl")).unwrap();
    let empty = data(&host);
    assert_eq!(empty["log"]["state"], "unread");
    assert!(empty["log"]["why"].as_str().unwrap().starts_with("there is no audit log in "), "{empty}");
    assert!(empty["summary"]["never_used"].is_null() && grant(&empty, "web-config")["uses"].is_null());
    for form in ["text", "md", "html"] {
        let out = report(&host, &["--format", form]).out;
        assert!(out.contains("there is no audit log in"), "{form}: {out}");
        assert!(!out.contains("not used since") && !out.contains("last 2026"), "{form}: {out}");
    }
}

#[test]
fn a_broken_chain_is_listed_first_under_attention() {
    let host = site::host();
    let file = host.host.log.join("audit.jsonl");
    let text =
        fs::read_to_string(&file).unwrap().replacen("nginx", "nginy", 1).replacen("\"done\"", "\"gone\"", 1);
    fs::write(&file, text).unwrap();
    let data = data(&host);
    assert_eq!(data["log"]["valid"], false);
    assert!(data["attention"][0]["words"].as_str().unwrap().contains("THE CHAIN IS BROKEN at "), "{data}");
}

#[test]
fn counts_and_skips_lines_that_are_not_records() {
    let host = site::host();
    let mut log = site::log(&site::digest(&host));
    log.add_torn(b"{\"v\":1,\"se");
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let data = data(&host);
    assert_eq!((&data["log"]["unreadable"], &data["log"]["valid"]), (&json!(1), &json!(true)));
    assert_eq!(grant(&data, "look-at-units")["uses"]["used"], 12);
}

#[test]
fn an_auditor_learns_from_the_log_whether_the_policy_is_accepted() {
    let host = TestHost::new(GOOD);
    let check: Value = serde_json::from_str(&host.run(&["policy", "check", "--json"]).out).unwrap();
    let digest = check["digest"].as_str().unwrap();
    let root = ",\"client\":{\"uid\":0,\"gid\":0,\"pid\":9}";
    let mut log = Log::new();
    log.add("policy_applied", &format!("{root},\"policy\":\"{digest}\""))
        .add("start", &format!(",\"policy\":\"{digest}\""));
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let recorded = data(&host);
    assert_eq!(recorded["policy"]["standing"], "recorded");
    host.run(&["policy", "apply", "--yes"]);
    assert_eq!(data(&host)["policy"]["standing"], "accepted");
    fs::remove_dir_all(host.host.accepted_dir()).unwrap();
    // A start does not forget who applied it.
    assert_eq!(recorded["policy"]["applied_by"], json!({ "name": "root", "uid": 0 }));
    assert_eq!(recorded["policy"]["applied"], "2026-11-21 04:13:14 UTC");
    log.add("policy_applied", &format!("{root},\"policy\":\"00\""));
    fs::write(host.host.log.join("audit.jsonl"), &log.bytes).unwrap();
    let another = data(&host);
    assert_eq!(another["policy"]["standing"], "another");
    assert!(another["policy"]["applied"].is_null());
    let taken = host.helper(vec![event(&OperatorApplied {}), end(0, "")]);
    let files = host.files(true);
    assert_eq!(host.run(&["policy", "apply", "--yes"]).exit, Exit::Done);
    taken.join().unwrap();
    files.join().unwrap();
    let unrecorded = data(&host);
    assert_eq!(unrecorded["policy"]["standing"], "unrecorded");
    let words = unrecorded["attention"][0]["words"].as_str().unwrap();
    assert!(words.contains("NOT RECORDED"), "{unrecorded}");
    fs::remove_dir_all(host.host.accepted_dir()).unwrap();
    assert!(
        report(&host, &["--format", "html"]).out.contains("NOT accepted: the audit log names another policy")
    );
}

#[test]
fn reports_the_accepted_policy_and_not_edited_files() {
    let host = site::host();
    host.write("policy.toml", format!("{GOOD}{SITE}"));
    host.write("policy.d/10-team.toml", "");
    let data = data(&host);
    assert_eq!(grant(&data, "web-packages")["justification"], "this host serves static sites");
    assert!(
        data["policy"]["notes"][0].as_str().unwrap().contains("differ from the accepted policy"),
        "{data}"
    );
}

#[test]
fn includes_the_findings_of_policy_check() {
    let host = TestHost::new(&format!("{GOOD}{SITE}accept_risk = {{ nonsense = \"x\" }}\n"));
    host.run(&["policy", "apply", "--yes"]);
    let data = data(&host);
    let finding = &data["findings"][0];
    assert_eq!(finding["severity"], "warning");
    assert_eq!(finding["file"], host.host.etc.join("policy.toml").display().to_string());
    let words = data["attention"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["words"].to_string())
        .collect::<String>();
    assert!(words.contains("nonsense"), "{words}");
}

#[test]
fn prints_policy_errors_instead_of_a_report() {
    let host = TestHost::new("version = 1\n[[rule]]\n");
    let ran = host.run(&["policy", "report"]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Failed, ""));
    assert!(ran.err.contains("policy.toml:2:1: error: `id` is missing"), "{}", ran.err);
}

#[test]
fn escapes_hostile_text_in_every_format() {
    let host = site::host();
    for form in ["text", "md", "html"] {
        let out = report(&host, &["--format", form]).out;
        assert!(!out.contains(|c: char| c.is_control() && c != '\n'), "{form}");
        assert!(!out.contains('\u{202e}') && out.contains("u{202e}"), "{form}");
        if form != "text" {
            assert!(!out.contains("<script") && !out.contains("<img"), "{form}: {out}");
        }
        // The justification's own line break begins no line of the report.
        let forged = out.lines().any(|line| line.trim_start().starts_with("rule forged"));
        assert!(!forged || form == "html", "{form}");
    }
    let md = report(&host, &["--format", "md"]).out;
    let row = md.lines().find(|line| line.contains("turned")).unwrap();
    // Six cells: a bar of the author's would be a seventh.
    let bars = row.replace("\\|", "").matches('|').count();
    assert_eq!(bars, 7, "{row}");
    assert!(row.contains("\\[x\\](http") && row.contains("\\`code\\`"), "{row}");
    let json = report(&host, &["--json"]).out;
    assert!(!json.contains('\u{202e}') && json.contains("\\u202e"), "{json}");
}

#[test]
fn escapes_the_name_of_the_host() {
    let host = TestHost::new(GOOD);
    let name = "x</title><script>\u{202e}";
    for form in ["text", "md", "html"] {
        let out = host.run(&["policy", "report", "--host", name, "--format", form]).out;
        assert!(!out.contains('\u{202e}'), "{form}: {out}");
        assert!(form == "text" || !out.contains("<script"), "{form}: {out}");
    }
}

#[test]
fn lists_clients_without_grants_and_clients_without_users() {
    let idle = "\n[[client]]\nname = \"idle\"\nuser = \"nobody-here\"\n";
    let path = TestHost::new(&format!("{GOOD}{idle}"));
    for form in ["text", "md", "html"] {
        let out = report(&path, &["--format", form]).out;
        assert!(out.contains("Nothing is granted."), "{form}: {out}");
        assert!(out.contains("which this host does not know"), "{form}: {out}");
    }
}

#[test]
fn describes_every_limit_of_the_language() {
    let rule = |id: &str, verb: &str, more: &str| {
        format!(
            "[[rule]]\nid = \"{id}\"\nclient = \"agent\"\nverbs = [{verb}]\n{more}\ndecision = \"allow\"\njustification = \"x\"\n"
        )
    };
    let files = "directories = [\"/srv/x\"]\nfiles = [\"*\"]\nlines = [\"a*\"]\nvalidate = \"check\"\nmax_files = 3\nallow_create = false";
    let packages = "packages = [\"a*\"]\nversions = [\"1.*\"]\nsources = [\"debian\"]\nallow_removals = true\nnew_packages = true\nmax_new_packages = 5\ntimeout = \"1h\"";
    let policy = [
        rule("files", "\"file.write\", \"file.patch\"", files),
        rule("packages", "\"package.install\", \"package.upgrade\"", packages),
        rule("run", "\"command.run\"", "commands = [\"check\"]\nrate = \"1/1d\""),
        "[[source]]\nname = \"debian\"\nentries = [\"/etc/apt/sources.list\"]\n".to_owned(),
        "[[command]]\nname = \"check\"\nargv = [\"/usr/bin/true\"]\nsandbox = \"validator\"\n".to_owned(),
    ];
    let host = TestHost::new(&format!("{GOOD}{}", policy.concat()));
    let data = data(&host);
    let told = |id: &str| {
        let grant = grant(&data, id);
        let limits = grant["limits"].as_array().unwrap().iter();
        limits
            .map(|limit| format!("{}: {}", limit["key"].as_str().unwrap(), limit["words"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let files = [
        "max_bytes: up to 1 MiB",
        "max_files: at most 3 files at once",
        "modes: mode 0644",
        "owners: owner root",
        "groups: group root",
        "allow_create: changes existing files only",
        "lines: every line is `a*`",
        "validate: only if `check` agrees",
        "rate: as often as asked",
    ];
    assert_eq!(told("files"), files);
    let packages = [
        "versions: the candidate version, or 1.*",
        "sources: only from debian (/etc/apt/sources.list)",
        "max_new_packages: at most 5 new packages at once, dependencies included",
        "new_packages: upgrades may bring new packages",
        "allow_upgrades: upgrades no others",
        "allow_downgrades: never downgrades",
        "allow_removals: others may be removed",
        "recommends: no recommended packages",
        "rate: as often as asked",
        "timeout: waits at most 1 hour for locks and jobs",
    ];
    assert_eq!(told("packages"), packages);
    assert_eq!(told("run"), ["rate: at most once in 1 day"]);
    let command = json!([{ "name": "check", "argv": ["/usr/bin/true"], "runs": "as nobody in the sandbox of validators, everything read-only, at most 30 seconds" }]);
    assert_eq!(data["commands"], command);
    let html = report(&host, &["--format", "html"]).out;
    assert!(html.contains("Programs that rules grant by name") && html.contains("/usr/bin/true"), "{html}");
}

#[test]
fn says_first_what_each_client_may_do_what_asks_and_what_amounts_to_root() {
    let root = "
[[command]]
name = \"any-shell\"
argv = [\"/usr/bin/tar\", \"{what}\"]
user = \"root\"
params.what = { kind = \"text\", pattern = \"*\" }

[[rule]]
id = \"too-much\"
client = \"agent\"
verbs = [\"command.run\"]
commands = [\"any-shell\"]
decision = \"allow\"
justification = \"x\"
accept_risk = { \"*\" = \"known\" }
";
    let host = TestHost::new(&format!("{}{root}", site::policy()));
    let data = data_of_files(&host);
    let of = data["overview"].as_array().unwrap().iter().find(|of| of["client"] == "agent").unwrap();
    let words = |list: &str, rule: &str| {
        let lines = of[list].as_array().unwrap().iter();
        let found =
            lines.filter(|line| line["rule"] == rule).map(|line| line["words"].as_str().unwrap().to_owned());
        found.collect::<Vec<_>>()
    };
    assert_eq!(words("may", "look-at-units"), ["status *.service, *.timer, *.socket"]);
    assert_eq!(
        words("may", "web-content"),
        ["read, write *.html, *.css below /var/www/html (up to 2 levels)"]
    );
    assert_eq!(
        words("asks", "web-config"),
        ["write *.conf in /etc/nginx/conf.d (2 operators within 30 minutes)"]
    );
    let root = words("root", "too-much");
    assert!(
        root.contains(&"a command that the agent may run runs as root (accepted)".to_owned()),
        "{root:?}"
    );
    assert!(words("root", "look-at-units").is_empty());
    for form in ["text", "md", "html"] {
        let etc = host.host.etc.display().to_string();
        let out = report(&host, &["--policy", &etc, "--format", form]).out;
        let at = |words: &str| out.find(words).unwrap_or_else(|| panic!("{form}: no {words:?}"));
        assert!(
            at("May, without asking") < at("Needs a person") && at("Needs a person") < at("Amounts to root")
        );
        assert!(at("Amounts to root") < at("Look at first"), "{form}");
    }
}

fn data_of_files(host: &TestHost) -> Value {
    let etc = host.host.etc.display().to_string();
    serde_json::from_str(&report(host, &["--policy", &etc, "--json"]).out).unwrap()
}

#[test]
fn names_rules_that_were_not_used_in_the_last_90_days_of_the_log() {
    let host = site::host();
    let text = fs::read_to_string(host.host.log.join("audit.jsonl")).unwrap();
    let (last, before) = (text.lines().count() - 1, "2026-08-23T04:13:14");
    // Everything happened 90 days before the last record.
    let old = text.lines().enumerate().map(|(index, line)| {
        if index == last {
            format!("{line}\n")
        } else {
            format!("{}\n", line.replace("2026-11-21T04:13:14", before))
        }
    });
    fs::write(host.host.log.join("audit.jsonl"), old.collect::<String>()).unwrap();
    let found = data(&host);
    assert_eq!((&found["summary"]["never_used"], &found["summary"]["idle"]), (&json!(2), &json!(4)));
    assert_eq!(grant(&found, "look-at-units")["idle"], true);
    assert_eq!(grant(&found, "never-the-way-in")["idle"], false, "a denial is not for use");
    let out = report(&host, &[]).out;
    assert!(out.contains("granted, not used in 90 days"), "{out}");
    assert_eq!(grant(&found, "team-restart")["unused"]["since"], "2026-08-23");
    let named = found["attention"].to_string();
    assert!(named.contains("granted, not used since 2026-08-23 (the policy was applied then)"), "{named}");
    let text = fs::read_to_string(host.host.log.join("audit.jsonl")).unwrap();
    fs::write(host.host.log.join("audit.jsonl"), text.replace(before, "2026-08-24T04:13:14")).unwrap();
    let found = data(&host);
    assert_eq!((&found["summary"]["idle"], found["summary"].get("never_used")), (&json!(0), None));
}

#[test]
fn names_no_rule_that_is_younger_than_the_log_knows() {
    let host = site::host();
    let path = host.host.log.join("audit.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let unused = |found: &Value| {
        let named = found["attention"].to_string();
        (grant(found, "team-restart")["unused"].clone(), named.contains("not used since"))
    };
    let since = |day: &str, reason: &str, is_long: bool| json!({ "since": day, "reason": reason, "is_long": is_long });
    // A policy that was applied a moment ago, in a log of today.
    let found = data(&host);
    assert_eq!(unused(&found), (since("2026-11-21", "the policy was applied then", false), false));
    assert!(report(&host, &[]).out.contains("not used since 2026-11-21"));
    // An old log does not make the rule old: its policy is of today.
    let old = text.replacen("2026-11-21T04:13:14", "2025-01-01T04:13:14", 1);
    fs::write(&path, &old).unwrap();
    assert_eq!(unused(&data(&host)), (since("2026-11-21", "the policy was applied then", false), false));
    // Nobody applied it in what is left of the log.
    let rotated = text
        .lines()
        .filter(|line| !line.contains("policy_applied"))
        .fold(String::new(), |all, line| all + line + "\n");
    let digest = site::digest(&host);
    let rotated = rotated.replacen("\"policy\":\"00\"", &format!("\"policy\":\"{digest}\""), 1);
    let before = rotated.replacen("2026-11-21T04:13:14", "2026-08-23T04:13:14", 1);
    fs::write(&path, &before).unwrap();
    assert_eq!(unused(&data(&host)), (since("2026-08-23", "the log begins there", true), true));
    let later = rotated.replacen("2026-11-21T04:13:14", "2026-08-24T04:13:14", 1);
    fs::write(&path, &later).unwrap();
    assert_eq!(unused(&data(&host)), (since("2026-08-24", "the log begins there", false), false));
    // Under another policy the log says nothing of this rule.
    fs::write(&path, text.replace(&digest, &"0".repeat(64))).unwrap();
    let found = data(&host);
    assert_eq!((unused(&found), found["summary"].get("never_used")), ((Value::Null, false), None));
    // The same policy once more: the rule is as old as it was.
    let of_it = |line: &&str| line.contains("policy_applied") && line.contains(&digest);
    let again = text.lines().rfind(of_it).unwrap();
    let before = text.replace("2026-11-21T04:13:14", "2026-08-01T04:13:14");
    fs::write(&path, format!("{before}{again}\n")).unwrap();
    assert_eq!(unused(&data(&host)), (since("2026-08-01", "the policy was applied then", true), true));
}

#[test]
fn a_finding_of_rules_of_two_clients_is_shown_for_both() {
    let rules = "
[[command]]
name = \"tool\"
argv = [\"/srv/tools/run\"]

[[rule]]
id = \"runs\"
client = \"agent\"
verbs = [\"command.run\"]
commands = [\"tool\"]
decision = \"allow\"
justification = \"x\"
accept_risk = { \"*\" = \"known\" }

[[rule]]
id = \"brings\"
client = \"web-team\"
verbs = [\"file.write\"]
directories = [\"/srv/tools\"]
files = [\"*\"]
decision = \"allow\"
justification = \"x\"
";
    let host = TestHost::new(&format!("{}{rules}", site::policy()));
    let data = data_of_files(&host);
    for client in ["agent", "web-team"] {
        let of = data["overview"].as_array().unwrap().iter().find(|of| of["client"] == client).unwrap();
        let found = of["root"].to_string();
        assert!(found.contains("can write files that a command runs or reads"), "{client}: {found}");
    }
}
