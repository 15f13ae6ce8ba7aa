//! The difference between two policies: what it tells, and in which words.

use crate::support::{GOOD, Ran, SITE, TestHost};
use postern_admin::diff::{self, Side};
use postern_admin::io::Exit;
use postern_admin::policy::Purpose;
use postern_admin::policy::apply::load;
use postern_admin::policy::source::Owner;
use postern_proto::root::v1 as root;
use serde_json::Value;

/// The installed files are `new`; `old` stands beside them.
fn compare(old: &str, new: &str, flags: &[&str]) -> Ran {
    let host = TestHost::new(new);
    let old = host.write("old.toml", old);
    host.run(&[&["policy", "diff", old.to_str().unwrap()], flags].concat())
}

/// Returns the output of a comparison of [`GOOD`] with these rules before and after.
fn told(old: &str, new: &str) -> String {
    let ran = compare(&format!("{GOOD}{old}"), &format!("{GOOD}{new}"), &[]);
    assert_eq!(ran.exit, Exit::Done, "{}{}", ran.out, ran.err);
    ran.out
}

/// The lines of what is told that speak of effects, and the last one.
fn effects(old: &str, new: &str) -> Vec<String> {
    let is_effect = |line: &&str| {
        ["+ allowed", "? asks", "- refused", "~ granted", "~ the", "   "]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let text = told(old, new);
    let last = text.lines().last().unwrap_or_default().to_owned();
    text.lines().filter(is_effect).map(str::to_owned).chain([last]).collect()
}

fn rule(id: &str, lines: &str) -> String {
    let decision = if lines.contains("decision") { "" } else { "decision = \"allow\"\n" };
    // The lint judges risk; the comparison does not.
    let is_deny = lines.contains("\"deny\"");
    let accepted = if is_deny { "" } else { "\naccept_risk = { \"*\" = \"x\" }" };
    format!(
        "\n[[rule]]\nid = \"{id}\"\nclient = \"agent\"\njustification = \"x\"\n{decision}{lines}{accepted}\n"
    )
}

fn units(id: &str, more: &str, units: &str) -> String {
    rule(id, &format!("verbs = [\"unit.restart\"]\nunits = [{units}]\n{more}"))
}

#[test]
fn reports_newly_allowed_requests_with_an_example_for_each_new_pattern() {
    let new = SITE.replace("\"*.html\"", "\"*.html\", \"*.css\", \"robots.txt\"");
    assert_eq!(
        effects(SITE, &new),
        [
            "+ allowed  file.read, file.write /var/www/html/x.css (agent)   by rule site (policy.toml:15)",
            "           also /var/www/html/robots.txt",
            "1 newly allowed",
        ]
    );
    assert_eq!(
        effects(&new, SITE)[0],
        "- refused  file.read, file.write /var/www/html/x.css (agent)   no rule grants it; was allowed by rule site (policy.toml:15)"
    );
}

#[test]
fn reports_a_deeper_directory_limit() {
    let new = SITE.replace("decision", "depth = 2\ndecision");
    let told = effects(SITE, &new);
    assert!(told[0].contains("/var/www/html/x/x.html (agent)"), "{told:?}");
}

#[test]
fn reports_requests_that_newly_need_approval_and_the_rule_that_allowed_them() {
    let index = "verbs = [\"file.write\"]\ndirectories = [\"/var/www/html\"]\nfiles = [\"index.html\"]\n";
    let ask = rule("front", &format!("{index}decision = \"ask\"\n"));
    assert_eq!(
        effects(SITE, &format!("{SITE}{ask}")),
        [
            "? asks     file.write /var/www/html/index.html (agent)   by rule front (policy.toml:24); was allowed by rule site (policy.toml:15)",
            "1 newly asking",
        ]
    );
    let two = ask.replace("decision", "approvers = 2\ndecision");
    assert_eq!(
        effects(&ask, &two)[0],
        "~ granted  file.write /var/www/html/index.html (agent)   by rule front (policy.toml:15): approvers 1 -> 2"
    );
}

#[test]
fn an_emergency_deny_shows_what_is_newly_refused_also_along_with_other_changes_and_nothing_else() {
    let php = units("php", "", "\"php*.service\", \"nginx.service\"");
    let deny = units("stop", "decision = \"deny\"", "\"php*-fpm.service\", \"*.timer\"");
    assert_eq!(
        effects(&php, &format!("{php}{deny}")),
        [
            "- refused  unit.restart php-fpm.service (agent)   by rule stop (policy.toml:25); was allowed by rule php (policy.toml:15)",
            // A denied restart does not happen along with another unit's either.
            "~ the units that may not come along with what agent changes: +unit.restart:*.timer +unit.restart:php*-fpm.service",
            "1 newly refused, 1 other",
        ]
    );
}

#[test]
fn a_new_deny_of_possible_side_effects_is_reported() {
    let app = units("app", "allow_cascade = true", "\"app.service\"");
    let deny = units("never", "decision = \"deny\"", "\"db.service\"");
    let told = effects(&app, &format!("{app}{deny}"));
    let along = "~ the units that may not come along with what agent changes: +unit.restart:db.service";
    assert_eq!(told, [along, "1 other"]);
}

#[test]
fn a_deny_of_requests_that_no_rule_grants_is_no_difference() {
    let deny = units("stop", "decision = \"deny\"", "\"*.timer\"");
    assert_eq!(effects("", &deny), ["no change in effect: only the text differs"]);
}

#[test]
fn a_rule_that_moves_or_gets_another_id_changes_no_effect() {
    let (one, two) = (units("one", "", "\"a*.service\""), units("two", "", "\"b*.service\""));
    let renamed = two.replace("\"two\"", "\"other\"");
    let told = told(&format!("{one}{two}"), &format!("{renamed}{one}"));
    assert!(told.contains("+ rule other: "), "{told}");
    assert!(told.ends_with("no change in effect: only the text differs\n"), "{told}");
    let comment = format!("# why\n{}", one.replace("\"x\"", "\"another reason\""));
    assert_eq!(self::told(&one, &comment), "no change: both policies are the same\n");
    // A pattern within another one grants nothing new.
    let wider = units("one", "", "\"a*.service\", \"ab.service\", \"a*b*.service\"");
    assert_eq!(effects(&one, &wider), ["no change in effect: only the text differs"]);
}

#[test]
fn splitting_one_rule_into_two_is_no_difference() {
    let one = units("one", "", "\"a*.service\", \"b*.service\"");
    let (a, b) = (units("a", "", "\"a*.service\""), units("b", "", "\"b*.service\""));
    assert_eq!(effects(&one, &format!("{a}{b}")), ["no change in effect: only the text differs"]);
    // But each would count for itself.
    let rated = |text: &str| text.replace("units =", "rate = \"5/1h\"\nunits =");
    assert_eq!(
        effects(&rated(&one), &rated(&format!("{a}{b}"))),
        ["~ the rate of rule one is now counted apart by the rules a and b", "1 other"]
    );
    assert_eq!(
        effects(&rated(&format!("{a}{b}")), &rated(&one))[0],
        "~ the rate of rule one now counts what the rules a and b counted apart"
    );
    let both =
        rule("both", "verbs = [\"unit.restart\", \"unit.reload\"]\nunits = [\"a.service\"]\nrate = \"5/1h\"");
    let apart = both.replace("\"both\"", "\"stop\"").replace(", \"unit.reload\"", "")
        + &both.replace("\"both\"", "\"start\"").replace("\"unit.restart\", ", "");
    assert_eq!(
        effects(&both, &apart)[0],
        "~ the rate of rule both is now counted apart by the rules stop and start"
    );
}

#[test]
fn each_changed_limit_is_shown_by_a_request_that_exceeds_it() {
    let install =
        |more: &str| rule("pkg", &format!("verbs = [\"package.install\"]\npackages = [\"libx*\"]\n{more}"));
    for (old, new, words) in [
        ("max_new_packages = 40", "max_new_packages = 80", "libx, with 41 new packages (agent)"),
        ("", "versions = [\"1.2*\"]", "libx, version 1.2 (agent)"),
        ("", "allow_removals = true", "libx, removing others (agent)"),
        ("", "allow_upgrades = true", "libx, upgrading others (agent)"),
        ("max_new_packages = 0", "", "libx (agent)"),
    ] {
        let told = effects(&install(old), &install(new));
        assert!(told[0].starts_with("+ allowed  package.install "), "{told:?}");
        assert!(told[0].contains(words), "{told:?}");
        assert_eq!(told.len(), 2, "{told:?}");
        let back = effects(&install(new), &install(old));
        assert!(back[0].starts_with("- refused") && back[0].contains(words), "{back:?}");
    }
    let write = |more: &str| SITE.replace("\"file.read\", ", "") + more;
    for (old, new, words) in [
        ("max_bytes = 10", "max_bytes = 20", "/var/www/html/x.html, 11 bytes (agent)"),
        ("", "modes = [\"0600\", \"0644\"]", "/var/www/html/x.html, mode 0600 (agent)"),
        ("", "owners = [\"root\", \"web\"]", "/var/www/html/x.html, owner web (agent)"),
        ("", "groups = [\"root\", \"web\"]", "/var/www/html/x.html, group web (agent)"),
        ("allow_create = false", "", "/var/www/html/x.html, as a new file (agent)"),
        ("lines = [\"a = *\"]", "lines = [\"a = *\", \"b\"]", "/var/www/html/x.html, content \"b\" (agent)"),
    ] {
        let told = effects(&write(old), &write(new));
        assert!(told[0].starts_with("+ allowed  file.write ") && told[0].contains(words), "{told:?}");
        assert_eq!(told.len(), 2, "{told:?}");
    }
    let cascade = units("u", "allow_cascade = true", "\"a.service\"");
    let told = effects(&units("u", "", "\"a.service\""), &cascade);
    assert!(told[0].contains("unit.restart a.service, affecting other units (agent)"), "{told:?}");
}

#[test]
fn reports_a_raised_limit_of_journal_lines() {
    let look = |lines: &str| {
        rule("u", &format!("verbs = [\"unit.status\"]\nunits = [\"a.service\"]\njournal_lines = {lines}"))
    };
    let told = effects(&look("5"), &look("50"));
    assert!(
        told[0].contains("+ allowed  unit.status a.service, 6 lines of its journal (agent)   by rule u"),
        "{told:?}"
    );
    assert!(effects(&look("50"), &look("5"))[0].starts_with("- refused  unit.status a.service, 6 lines"));
}

#[test]
fn a_file_is_not_granted_by_lines_of_two_rules_together() {
    let write = |id: &str, lines: &str| {
        SITE.replace("\"file.read\", ", "").replace("\"site\"", &format!("\"{id}\""))
            + &format!("lines = [{lines}]\n")
    };
    let apart = write("one", "\"a=*\"") + &write("two", "\"b=*\"");
    let told = effects(&apart, &write("one", "\"a=*\", \"b=*\""));
    assert!(told[0].contains("content \"b=\\na=\"") || told[0].contains("content \"a=\\nb=\""), "{told:?}");
}

#[test]
fn reports_changes_of_rates_and_timeouts_by_key() {
    let old = units("u", "", "\"a.service\"");
    let new = units("u", "timeout = \"5m\"\nrate = \"5/1h\"", "\"a.service\"");
    assert_eq!(
        effects(&old, &new),
        [
            "~ granted  unit.restart a.service (agent)   by rule u (policy.toml:15): rate none -> 5/1h; timeout 10m -> 5m",
            "1 granted otherwise",
        ]
    );
}

#[test]
fn never_reports_a_protected_name_as_allowed() {
    let prefix = units("p", "", "\"systemd-a*.service\"");
    assert_eq!(effects("", &prefix), ["no change in effect: only the text differs"]);
    // The example is one that is not protected.
    let wide = units("p", "", "\"s*.service\"");
    assert!(effects("", &wide)[0].contains("unit.restart s.service"));
}

#[test]
fn reports_added_removed_and_changed_clients() {
    let site = units("u", "", "\"a.service\"");
    let second = "[[client]]\nname = \"web\"\ngroup = \"web\"\n";
    let granted = site.replace("\"u\"", "\"w\"").replace("client = \"agent\"", "client = \"web\"");
    let told = told(&site, &format!("{site}{second}{granted}"));
    assert!(told.contains("+ group web is a client now\n"), "{told}");
    assert!(told.contains("+ allowed  unit.restart a.service (web)   by rule w"), "{told}");
    let other = GOOD.replace("user = \"postern\"", "user = \"other\"");
    let ran = compare(GOOD, &other, &[]);
    for line in [
        "+ user other is a client now",
        "- user postern is not a client any more",
        "+ allowed  unit.status x.service (agent)   by rule look (policy.toml:7)",
        "- refused  unit.status x.service (agent)   no rule grants it; was allowed by rule look (policy.toml:7)",
    ] {
        assert!(ran.out.contains(line), "no {line:?} in {}", ran.out);
    }
    let renamed = GOOD.replace("\"agent\"", "\"bot\"");
    assert!(compare(GOOD, &renamed, &[]).out.ends_with("no change in effect: only the text differs\n"));
}

#[test]
fn compares_users_who_are_several_clients_at_once() {
    let second = "[[client]]\nname = \"web\"\ngroup = \"web\"\n";
    let allow = units("u", "", "\"a.service\"");
    let deny = units("d", "decision = \"deny\"", "\"a.service\"").replace("\"agent\"", "\"web\"");
    let told = effects(&format!("{second}{allow}{deny}"), &format!("{second}{allow}"));
    assert_eq!(
        told[0],
        "+ allowed  unit.restart a.service (agent and web)   by rule u (policy.toml:18); was refused by rule d (policy.toml:28)"
    );
}

#[test]
fn commands_are_compared_with_their_parameters_and_definitions() {
    let command = |more: &str| {
        format!(
            "[[command]]\nname = \"vhost\"\nargv = [\"/usr/bin/vhost\", \"{{site}}\"]\nparams.site = {{ kind = \"enum\", values = [\"a\", \"b\"] }}\n{more}"
        )
    };
    let grant = |params: &str| {
        rule(
            "v",
            &format!("verbs = [\"command.run\"]\ncommands = [\"vhost\"]\nparams = {{ site = [{params}] }}"),
        )
    };
    let told = effects(&(command("") + &grant("\"a\"")), &(command("") + &grant("\"*\"")));
    assert!(told[0].starts_with("+ allowed  command.run vhost, site=b (agent)"), "{told:?}");
    assert_eq!(told.len(), 2, "{told:?}");
    let told = effects(&(command("") + &grant("\"*\"")), &(command("timeout = \"1m\"\n") + &grant("\"*\"")));
    assert!(told[0].starts_with("~ granted  command.run vhost, site="), "{told:?}");
    assert!(told[0].contains("timeout 30s -> 1m"), "{told:?}");
}

#[test]
fn a_grant_of_values_that_the_command_never_takes_admits_nothing() {
    let text = |grant: &str| {
        format!(
            "[[command]]\nname = \"tag\"\nargv = [\"/usr/bin/tag\", \"{{p}}\"]\nparams.p = {{ kind = \"text\", pattern = \"a*\" }}\n{}",
            rule(
                "t",
                &format!("verbs = [\"command.run\"]\ncommands = [\"tag\"]\nparams = {{ p = [\"{grant}\"] }}")
            )
        )
    };
    let told = effects(&text("1a"), &text("aa"));
    assert!(told[0].starts_with("+ allowed  command.run tag, p=aa (agent)"), "{told:?}");
    assert_eq!(effects(&text("1a"), &text("1b")), ["no change in effect: only the text differs"]);
}

#[test]
fn undo_and_lists_are_compared() {
    let undo = SITE.replace("\"file.write\"]", "\"file.write\", \"request.undo\"]");
    let told = effects(SITE, &undo);
    assert!(told[0].starts_with("+ allowed  request.undo site (agent)   by rule site"), "{told:?}");
    let list = rule("list", "verbs = [\"file.list\"]\ndirectories = [\"/srv\"]\n");
    let deeper = list.replace("[\"/srv\"]", "[\"/srv\"]\ndepth = 2");
    assert!(effects(&list, &deeper)[0].contains("file.list /srv/x (agent)"));
}

#[test]
fn reports_newly_protected_names_as_refused() {
    let unit = units("u", "", "\"a*.service\"");
    let told = told(&unit, &format!("{unit}[protect]\nunits = [\"ab.service\"]\n"));
    assert!(told.contains("- refused  unit.restart ab.service (agent)   ab.service is protected"), "{told}");
    assert!(told.contains("~ [protect]: units none -> ab.service"), "{told}");
}

#[test]
fn an_unproven_comparison_is_never_reported_as_equal() {
    // Every subset of these patterns has a name of its own: two to the power of eighteen.
    let many = (0..18).map(|n| format!("\"*{}*.service\"", ["q", "w", "z"][n % 3].repeat(n / 3 + 1)));
    let text = |more: &str| GOOD.to_owned() + &units("u", more, &many.clone().collect::<Vec<_>>().join(", "));
    let host = TestHost::new(&text(""));
    let rules = |text: &str| {
        host.write("policy.toml", text);
        load(&host.host.etc, Owner::Anybody, Purpose::Review, &host.host).2.unwrap().rules
    };
    let (old, new) = (rules(&text("")), rules(&text("").replace("\"*q*.service\"", "\"*qqqqqqq*.service\"")));
    let side = |rules| Side { rules, positions: &[] };
    let report = diff::within(side(&old), side(&new), 10_000).unwrap();
    assert_eq!(report.unproven.len(), 1, "{report:?}");
    let text = diff::text(&report, side(&old), side(&new));
    assert!(text.contains("! unit.restart: not proven: "), "{text}");
    assert!(!text.contains("no change in effect"), "{text}");
    assert_eq!(diff::json(&report, side(&old), side(&new))["proven"], false);
}

#[test]
fn compares_files_directories_and_accepted_policies() {
    let host = TestHost::new(GOOD);
    let copy = host.write("copy/policy.toml", GOOD);
    let directory = copy.parent().unwrap().to_str().unwrap();
    let diff = |old: &str, new: &[&str]| host.run(&[&["policy", "diff", old], new].concat());
    let ran = diff("accepted", &[]);
    assert!(ran.err.contains("nothing was accepted yet"), "{}", ran.err);
    assert!(ran.out.contains("+ user postern is a client now"), "{}", ran.out);
    host.run(&["policy", "apply", "--yes"]);
    let pb = host.host.accepted_dir().join("accepted.pb");
    for old in ["accepted", pb.to_str().unwrap(), directory, copy.to_str().unwrap()] {
        let same = diff(old, &[]);
        assert_eq!(same.out, "no change: both policies are the same\n", "{old}: {}", same.err);
        assert_eq!(diff(old, &["--exit-code"]).exit, Exit::Done);
    }
    host.write("policy.toml", format!("{GOOD}{SITE}"));
    assert_eq!(diff("accepted", &[]).exit, Exit::Done);
    assert_eq!(diff("accepted", &["--exit-code"]).exit, Exit::Failed);
    assert_eq!(diff(directory, &["accepted", "--exit-code"]).exit, Exit::Done);
    for bad in [
        "/nowhere",
        "/nowhere.pb",
        host.write("broken.toml", "version = 1\nx = 2\n").to_str().unwrap(),
        host.write("broken.pb", "x").to_str().unwrap(),
    ] {
        let ran = diff(bad, &[]);
        assert_eq!((ran.exit, &*ran.out), (Exit::Failed, ""), "{bad}");
        assert!(!ran.err.is_empty());
    }
}

#[test]
fn json_output_holds_the_same_differences() {
    let ran = compare(GOOD, &format!("{GOOD}{SITE}"), &["--json"]);
    let object: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(ran.out.lines().count(), 1);
    assert_eq!(
        (&object["v"], &object["changed"], &object["proven"]),
        (&1.into(), &true.into(), &true.into())
    );
    let effect = &object["effects"][0];
    assert_eq!(effect["change"], "allowed");
    assert_eq!(effect["verbs"], serde_json::json!(["file.read", "file.write"]));
    assert_eq!(effect["who"], serde_json::json!([{ "user": "postern" }]));
    assert_eq!(effect["examples"][0]["path"], "/var/www/html/x.html");
    assert_eq!((&effect["new"]["rule"], &effect["new"]["line"]), (&"site".into(), &15.into()));
    assert_eq!(effect["old"]["code"], "no_grant");
}

#[test]
fn names_that_could_deceive_are_escaped() {
    let site = SITE.replace("/var/www/html", "/var/www/a\u{200b}b");
    for flags in [&[][..], &["--json"]] {
        let ran = compare(GOOD, &format!("{GOOD}{site}"), flags);
        assert!(ran.out.contains("200b") && !ran.out.contains('\u{200b}'), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn apply_shows_the_difference_in_effect_before_it_asks() {
    let host = TestHost::new(GOOD);
    host.run(&["policy", "apply", "--yes"]);
    host.write("policy.toml", format!("{GOOD}{SITE}"));
    let ran = host.answer(&["policy", "apply"], "n\n");
    assert_eq!(ran.exit, Exit::Failed);
    assert!(
        ran.out.contains(
            "+ allowed  file.read, file.write /var/www/html/x.html (agent)   by rule site (policy.toml:15)"
        ),
        "{}",
        ran.out
    );
    assert!(ran.out.ends_with("newly allowed\n"), "{}", ran.out);
}

#[test]
fn a_policy_that_the_helper_refuses_is_not_compared() {
    let broken = root::Rules {
        version: 1,
        rules: vec![root::Rule { id: "x".to_owned(), client: "nobody".to_owned(), ..root::Rule::default() }],
        ..root::Rules::default()
    };
    let side = Side { rules: &broken, positions: &[] };
    assert!(diff::between(side, side).is_err());
}

#[test]
fn reports_a_changed_rule_order_where_another_rule_decides() {
    let (slow, fast) =
        (units("slow", "", "\"a*.service\""), units("fast", "timeout = \"1m\"", "\"*.service\""));
    assert_eq!(
        effects(&format!("{slow}{fast}"), &format!("{fast}{slow}")),
        [
            "~ granted  unit.restart a.service (agent)   by rule fast (policy.toml:15), before by slow (policy.toml:15): timeout 10m -> 1m",
            "1 granted otherwise",
        ]
    );
}

#[test]
fn a_hidden_directory_is_granted_only_if_named() {
    let site = SITE.replace("decision", "depth = 8\ndecision");
    let new = site.replace("[\"/var/www/html\"]", "[\"/var/www/html\", \"/var/www/html/.well-known\"]");
    let told = effects(&site, &new);
    assert!(told[0].contains("/var/www/html/.well-known/x.html (agent)"), "{told:?}");
}

#[test]
fn a_parameter_pattern_without_a_known_value_is_reported_as_unproven() {
    let kinds = [
        ("kind = \"hostname\"", "*.example.org"),
        ("kind = \"ip\"", "10.0.*"),
        ("kind = \"timezone\"", "America/*"),
        ("kind = \"size\"", "*G"),
    ];
    for (kind, grant) in kinds {
        let command = format!(
            "\n[[command]]\nname = \"flush\"\nargv = [\"/usr/local/bin/flush\", \"{{p}}\"]\nparams.p = {{ {kind} }}\n"
        );
        let run = |decision: &str| {
            let lines = format!(
                "verbs = [\"command.run\"]\ncommands = [\"flush\"]\nparams = {{ p = [\"{grant}\"] }}\ndecision = \"{decision}\""
            );
            format!("{GOOD}{command}{}", rule("flush", &lines))
        };
        let ran = compare(&run("ask"), &run("allow"), &[]);
        assert!(!ran.out.contains("no change in effect"), "{kind}: {}", ran.out);
        assert_eq!(ran.exit, Exit::Failed, "{kind}: {}", ran.out);
    }
}
