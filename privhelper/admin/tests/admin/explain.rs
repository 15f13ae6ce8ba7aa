//! `policy explain` says what the helper would decide, by which rule and why, and never acts.

use crate::site;
use crate::support::{GOOD, Ran, SITE, TestHost, agent};
use postern_admin::io::Exit;
use postern_policy::types::{PackageName, UnitName};
use postern_policy::{Decision, Object, Policy, VerbId};
use serde_json::Value;
use std::fs;
use std::os::unix::net::UnixListener;

fn explain(host: &TestHost, words: &str) -> Ran {
    let words = words.split(' ').collect::<Vec<_>>();
    host.run(&[&["policy", "explain"], words.as_slice()].concat())
}

fn json(host: &TestHost, words: &str) -> Value {
    serde_json::from_str(&explain(host, &format!("{words} --json")).out).unwrap()
}

/// Request, exit, words that the explanation holds.
const CASES: &[(&str, Exit, &[&str])] = &[
    (
        "package.install nginx-light",
        Exit::Done,
        &[
            "ALLOWED: package.install nginx-light for client agent",
            "web-packages, ",
            "policy.toml:19 (allow)",
            "\"this host serves static sites\"",
            "holds      the candidate version only (`versions`)",
            "later      from any configured source (`sources`) [wide]",
            "at most 40 new packages",
            "65 of 100: package.install",
            ", accepted 20",
            "nothing was done",
        ],
    ),
    ("package install nginx-light", Exit::Done, &["by", "package.install nginx-light"]),
    (
        "pkg install nginx-light=1.22",
        Exit::Refused,
        &["(limit_exceeded)", "fails      the candidate version only"],
    ),
    (
        "service restart nginx",
        Exit::Done,
        &["unit.restart nginx.service", "allows it too, but comes later in the policy"],
    ),
    (
        "unit.restart nginx.service",
        Exit::Done,
        &["if it is an alias, the unit's own name must be granted as well", "12 times in 1 hour"],
    ),
    (
        "file.write /etc/nginx/conf.d/a.conf",
        Exit::NotApproved,
        &[
            "ASKS A PERSON",
            "web-config",
            "2 operators within 30 minutes",
            "80 of 100: filesystem.config_write",
        ],
    ),
    (
        "unit.stop ssh",
        Exit::Refused,
        &["REFUSED (denied): unit.stop ssh.service", "never-the-way-in, ", "\"the way in stays open\""],
    ),
    (
        "unit.stop nginx",
        Exit::Refused,
        &[
            "REFUSED (no_grant)",
            "it grants unit.start, unit.reload, unit.restart, unit.enable, not unit.stop",
            "never-the-way-in, ",
            "`ssh.service` is another name",
        ],
    ),
    (
        "file.read /var/www/html/a/b/c.html",
        Exit::Refused,
        &["depth 2: the file is 3 levels below /var/www/html"],
    ),
    ("file.read /var/www/html/.git/x.html", Exit::Refused, &["\".git\" is a hidden directory"]),
    (
        "file.read /var/www/html/.x.html",
        Exit::Refused,
        &["`*.html`: `*` takes no leading dot", "`*.css`: `*` takes no leading dot"],
    ),
    ("file.read /var/www/html/x.php", Exit::Refused, &["`*.html` ends in \".html\""]),
    ("file.read /var/www/htmlx/x.html", Exit::Refused, &["it is not below /var/www/html"]),
    ("unit.status getty@tty1.mount", Exit::Refused, &["`*.service` ends in \".service\""]),
    ("unit.status getty@tty1", Exit::Refused, &["`*.service`: `*` does not cross '@'"]),
    ("package.install python3-x", Exit::Refused, &["`python3-certbot-*` begins with \"python3-certbot-\""]),
    (
        "file.write /var/www/html/x.html --bytes 1048577 --mode 0600",
        Exit::Refused,
        &[
            "grants at most 1048576 bytes",
            "fails      up to 1 MiB (`max_bytes`)",
            "           mode 0644 (`modes`)",
            "holds      owner root (`owners`)",
        ],
    ),
    ("file.set-owner /var/www/html/x.html www-data:root", Exit::Refused, &["not file.set-owner"]),
    ("unit.stop systemd-logind", Exit::Refused, &["(protected)", "no rule can grant this"]),
    (
        "package.install nginx-light hello",
        Exit::Refused,
        &[
            "ALLOWED: package.install nginx-light",
            "REFUSED (no_grant): package.install hello",
            "together   refused",
        ],
    ),
    (
        "unit.enable nginx --now",
        Exit::Done,
        &["ALLOWED: unit.enable nginx.service", "ALLOWED: unit.start nginx.service", "together   allowed"],
    ),
    ("policy.describe", Exit::Done, &["every client may ask this"]),
    ("package.install ufw-", Exit::Usage, &["(invalid_argument)", "ends in no '-'"]),
    (
        "unit.restart nginx --client web-team",
        Exit::Done,
        &["rule       team-restart, ", "other units may change too"],
    ),
    (
        "unit.start nginx --client web-team",
        Exit::Refused,
        &["it grants unit.restart, not unit.start", "it is for client agent, not for web-team"],
    ),
];

#[test]
fn explains_the_decision_the_deciding_rule_and_why_others_do_not_match() {
    let host = site::host();
    for (words, exit, says) in CASES {
        let ran = explain(&host, words);
        assert_eq!(ran.exit, *exit, "{words}: {}{}", ran.out, ran.err);
        for say in *says {
            assert!(ran.out.contains(say), "{words}: no {say:?} in\n{}", ran.out);
        }
    }
}

#[test]
fn a_unit_is_explained_under_its_own_name_too_where_the_host_knows_the_request_as_an_alias() {
    let mut host = site::host();
    let systemctl = host.host.etc.join("systemctl");
    std::fs::write(&systemctl, "#!/bin/sh\necho Id=ssh.service\n").unwrap();
    std::fs::set_permissions(&systemctl, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::create_dir_all(&host.host.systemd).unwrap();
    host.host.systemctl = Some(systemctl);
    let ran = explain(&host, "unit.restart nginx");
    assert_eq!(ran.exit, Exit::Refused, "{}", ran.out);
    for say in [
        "ALLOWED: unit.restart nginx.service",
        "REFUSED (no_grant): unit.restart ssh.service",
        "on this host nginx.service is an alias of ssh.service, which must be granted too",
    ] {
        assert!(ran.out.contains(say), "no {say:?} in\n{}", ran.out);
    }
    // The other way round: the unit is granted, and the request has its alias.
    let of_nginx = |unit: &str| {
        std::fs::write(host.host.systemctl.as_ref().unwrap(), "#!/bin/sh\necho Id=nginx.service\n").unwrap();
        explain(&host, &format!("unit.restart {unit}"))
    };
    let ran = of_nginx("web");
    assert_eq!(ran.exit, Exit::Refused, "{}", ran.out);
    for say in [
        "REFUSED (no_grant): unit.restart web.service",
        "ALLOWED: unit.restart nginx.service",
        "on this host web.service is an alias of nginx.service, which is granted: request nginx.service",
    ] {
        assert!(ran.out.contains(say), "no {say:?} in\n{}", ran.out);
    }
    // By its own name there is nothing to say of an alias.
    assert!(!of_nginx("nginx").out.contains("alias of"), "the control");
}

#[test]
fn invalid_requests_exit_as_usage_errors_with_a_suggestion() {
    let host = site::host();
    for (words, says) in [
        ("pakage.install x", "did you mean `package.install`?"),
        ("package instal x", "did you mean `package.install`?"),
        ("unit.restart", "unit.restart needs a unit's name"),
        ("unit.restart a b", "what is \"b\"?"),
        ("package.update x", "takes no argument such as \"x\""),
        ("unit.restart nginx --now", "unit.restart takes no --now"),
        ("unit.restart nginx --all", "unit.restart takes no --all"),
        ("package.install nginx-light --mode 0644", "package.install takes no --mode"),
        ("command backup x", "\"x\" is not KEY=VALUE"),
        ("unit.restart nginx --client agnt", "unknown client \"agnt\": did you mean `agent`?"),
    ] {
        let ran = explain(&host, words);
        assert_eq!(ran.exit, Exit::Usage, "{words}: {}", ran.out);
        assert!(ran.err.contains(says), "{words}: {}", ran.err);
    }
}

#[test]
fn never_acts_and_asks_nothing_of_the_helper() {
    let host = site::host();
    let listener = UnixListener::bind(&host.host.operator_socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    let log = fs::read(host.host.log.join("audit.jsonl")).unwrap();
    let before = host.state();
    for (words, _, _) in CASES {
        explain(&host, words);
    }
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(host.state(), before);
    assert_eq!(fs::read(host.host.log.join("audit.jsonl")).unwrap(), log);
}

#[test]
fn decides_as_the_helper_does_for_every_pattern_of_a_small_alphabet() {
    let rule = |id: &str, decision: &str, patterns: &str| {
        format!(
            "[[rule]]\nid = \"{id}\"\nclient = \"agent\"\nverbs = [\"package.show\"]\npackages = [{patterns}]\ndecision = \"{decision}\"\njustification = \"x\"\n"
        )
    };
    let rules = [
        rule("one", "allow", "\"a*b\", \"ab\""),
        rule("two", "allow", "\"*b*\""),
        rule("three", "deny", "\"b*a\", \"a.*\""),
        rule("four", "allow", "\"a*\", \"b.b\""),
    ];
    let host = TestHost::new(&format!("{GOOD}{}", rules.concat()));
    host.run(&["policy", "apply", "--yes"]);
    let policy = Policy::load(&host.accepted().unwrap()).unwrap();
    let mut names = vec![String::new()];
    for _ in 0..3 {
        let longer =
            names.iter().flat_map(|name| ["a", "b", "."].map(|c| format!("{name}{c}"))).collect::<Vec<_>>();
        names.extend(longer);
    }
    names.retain(|name| PackageName::new(name).is_ok());
    names.sort();
    names.dedup();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let object = Object::Package { name: PackageName::new(&name).unwrap(), version: None };
        let said = policy.decide(&agent(), &[(VerbId::PackageShow, object.clone())]);
        let explained = json(&host, &format!("package.show {name}"));
        let element = &explained["elements"][0];
        assert_eq!(explained["decision"] == "allow", said.is_ok(), "{name}: {explained}");
        if let Ok(by) = &said {
            assert_eq!(element["rule"]["id"], by.rule_id(), "{name}");
            assert_eq!(by.decision(), Decision::Allow);
        }
        // Each rule is either one that speaks of it, or near with a reason.
        for rule in policy.rules().iter().filter(|rule| rule.verbs == [VerbId::PackageShow]) {
            let has = |list: &Value| {
                list.as_array()
                    .unwrap()
                    .iter()
                    .any(|near| near["id"] == rule.id.as_str() && near["why"][0].is_string())
            };
            let speaks = element["rule"]["id"] == rule.id.as_str() || has(&element["also"]);
            assert_eq!(speaks, rule.selects(VerbId::PackageShow, &object), "{name} {}", rule.id);
            assert_eq!(has(&element["near"]), !speaks, "{name} {}", rule.id);
        }
    }
}

#[test]
fn a_weaker_rule_is_named_with_the_stricter_one() {
    let deny = SITE.replace("\"site\"", "\"frozen\"").replace("allow", "deny").replace("*.html", "index.*");
    let host = TestHost::new(&format!("{GOOD}{SITE}{deny}"));
    let ran = explain(&host, "file.read /var/www/html/index.html");
    assert_eq!(ran.exit, Exit::Refused);
    for words in ["rule       frozen, ", "  site, ", "matches too, and deny is stricter than allow"] {
        assert!(ran.out.contains(words), "no {words:?} in\n{}", ran.out);
    }
}

#[test]
fn a_user_in_the_group_of_another_client_is_both() {
    let host = site::host();
    // web-team's group holds postern, so the agent may use its rule.
    let explained = json(&host, "unit.restart nginx");
    assert_eq!(explained["clients"], serde_json::json!(["agent", "web-team"]));
    let policy = Policy::load(&host.accepted().unwrap()).unwrap();
    let required_grant = (VerbId::UnitRestart, Object::unit(UnitName::new("nginx.service").unwrap()));
    assert_eq!(policy.decide(&agent(), &[required_grant]).unwrap().rule_id(), "web-unit");
    assert_eq!(explained["elements"][0]["rule"]["id"], "web-unit");
    assert_eq!(explained["elements"][0]["also"][0]["id"], "team-restart");
}

#[test]
fn names_the_policy_that_was_used() {
    // Nothing was accepted.
    let host = TestHost::new(&format!("{GOOD}{SITE}"));
    let ran = explain(&host, "unit.status nginx");
    assert!(ran.out.contains("no policy was accepted yet: these files have no effect"), "{}", ran.out);
    // The accepted policy decides, also after its files were edited.
    host.run(&["policy", "apply", "--yes"]);
    host.write("policy.toml", GOOD.replace("*.service", "*.timer"));
    let ran = explain(&host, "unit.status nginx");
    assert_eq!(ran.exit, Exit::Done, "{}", ran.out);
    assert!(ran.out.contains("differ from the accepted policy"), "{}", ran.out);
    assert!(ran.out.contains("\"no secret\""), "{}", ran.out);
    // A named policy is used whatever is accepted, also where its users do not exist.
    let other = host.write("other.toml", GOOD.replace("postern", "nobody-here"));
    let ran = explain(&host, &format!("unit.status nginx --policy {}", other.display()));
    assert_eq!(ran.exit, Exit::Done, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("other.toml:7 (allow)"), "{}", ran.out);
    fs::write(&other, "version = 1\n[[rule]]\n").unwrap();
    let ran = explain(&host, &format!("unit.status nginx --policy {}", other.display()));
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("other.toml:2:1: error: `id` is missing"), "{}", ran.err);
}

#[test]
fn escapes_control_characters_of_policies_and_requests() {
    let host = TestHost::new(&GOOD.replace("no secret", "a\\u001b[2Jb\\u202Ec"));
    let ran = explain(&host, "unit.status nginx");
    assert!(ran.out.contains("a\\u{1b}[2Jb\\u{202e}c"), "{:?}", ran.out);
    let ran = host.run(&["policy", "explain", "file.read", "/srv/\u{1b}[2J\u{202e}x"]);
    assert_eq!(ran.exit, Exit::Usage);
    let json = host.run(&["policy", "explain", "file.read", "/srv/\u{1b}[2J\u{202e}x", "--json"]);
    for out in [ran.out, json.out] {
        assert!(!out.contains(['\u{1b}', '\u{202e}']), "{out:?}");
    }
}

/// A policy that has what the other one lacks: commands, undo, lines, sources, patches, all packages.
const FULL: &str = r#"
[[source]]
name = "debian"
entries = ["/etc/apt/sources.list.d/debian.sources"]

[[rule]]
id = "upgrades"
client = "agent"
verbs = ["package.upgrade", "request.undo"]
packages = ["*"]
sources = ["debian"]
decision = "allow"
justification = "x"

[[rule]]
id = "swap"
client = "agent"
verbs = ["file.write", "file.patch", "file.list"]
directories = ["/srv/tuning"]
files = ["*.conf"]
depth = 2
lines = ["vm.swappiness = *"]
max_files = 2
decision = "allow"
justification = "x"

[[rule]]
id = "backups"
client = "agent"
verbs = ["command.run"]
commands = ["backup"]
params = { target = ["daily", "weekly"] }
decision = "allow"
justification = "x"

[[command]]
name = "backup"
argv = ["/usr/local/bin/backup", "{target}"]
params.target = { kind = "enum", values = ["daily", "weekly", "full"] }

[protect]
units = ["ssh*"]
"#;

#[test]
fn explains_every_verb_and_limit_of_the_language() {
    let host = TestHost::new(&format!("{GOOD}{FULL}"));
    let good = host.write("good", "vm.swappiness = 10\n").display().to_string();
    let bad = host.write("bad", "vm.swappiness = 10\nkernel.core_pattern = |/x\n").display().to_string();
    let patch = "file.patch /srv/tuning/a.conf /srv/tuning/b.conf";
    let cases = [
        (
            "package upgrade --all".to_owned(),
            Exit::Done,
            "only from debian (/etc/apt/sources.list.d/debian.sources)",
        ),
        ("package.install x --all".to_owned(), Exit::Usage, ""),
        ("undo upgrades".to_owned(), Exit::Done, "decided by the verb of its inverse"),
        ("undo swap".to_owned(), Exit::Refused, "lets its own decisions be undone, not those of swap"),
        (
            format!("file.write /srv/tuning/a.conf --from {good}"),
            Exit::Done,
            "every line is `vm.swappiness = *`",
        ),
        (format!("file.write /srv/tuning/a.conf --from {bad}"), Exit::Refused, "fails      every line is"),
        (patch.to_owned(), Exit::Done, "at most 2 files at once"),
        (
            format!("{patch} /srv/tuning/c.conf"),
            Exit::Refused,
            "together   refused (limit_exceeded): rule swap grants at most 2 files",
        ),
        ("file.list /srv/tuning".to_owned(), Exit::Done, "ALLOWED: file.list /srv/tuning"),
        ("file.list /srv/tuning/a".to_owned(), Exit::Done, "ALLOWED"),
        (
            "file.list /srv/tuning/a/b".to_owned(),
            Exit::Refused,
            "depth 2: what it holds is 3 levels below /srv/tuning",
        ),
        ("file.list /srv/tuning/.a".to_owned(), Exit::Refused, "\".a\" is a hidden directory"),
        ("command backup target=daily".to_owned(), Exit::Done, "75 of 100: process.privileged_runner"),
        ("command.run backup target=full".to_owned(), Exit::Refused, "target must be daily or weekly"),
        ("command.run restore target=full".to_owned(), Exit::Refused, "`backup` is another name"),
        ("command.run backup target=-x".to_owned(), Exit::Refused, "target must be daily or weekly"),
        ("unit.restart ssh".to_owned(), Exit::Refused, "(protected)"),
    ];
    for (words, exit, says) in cases {
        let ran = explain(&host, &words);
        assert_eq!(ran.exit, exit, "{words}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(says), "{words}: no {says:?} in\n{}", ran.out);
    }
}
