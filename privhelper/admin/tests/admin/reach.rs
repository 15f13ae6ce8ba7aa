//! Rules that no request can ever use.

use crate::support::{GOOD, TestHost};
use postern_admin::io::Exit;

/// A rule of these lines.
fn rule(id: &str, decision: &str, lines: &str) -> String {
    // The lint judges risk; these tests do not.
    let accepted = if decision == "deny" { "" } else { "\naccept_risk = { \"*\" = \"x\" }" };
    let client = if lines.contains("client") { "" } else { "client = \"agent\"" };
    format!(
        "\n[[rule]]\nid = \"{id}\"\n{client}\ndecision = \"{decision}\"\njustification = \"x\"\n{lines}{accepted}\n"
    )
}

/// Decision and lines of the rule before, of the rule after, and which of the two no request can use.
type Case = ((&'static str, &'static str), (&'static str, &'static str), Option<&'static str>);

const STOP_A: &str = "verbs = [\"unit.stop\"]\nunits = [\"a*.service\"]";
const STOP_ALL: &str = "verbs = [\"unit.stop\", \"unit.start\"]\nunits = [\"*.service\"]";
const SITE: &str = "verbs = [\"file.write\"]\ndirectories = [\"/srv/x/y\"]\nfiles = [\"a*.html\"]\ndepth = 2";
const GROW: &str = "verbs = [\"command.run\"]\ncommands = [\"grow\"]\nparams = { size = [\"1*\"] }";

const CASES: &[Case] = &[
    // A stricter rule, wherever it stands.
    (("allow", STOP_A), ("deny", STOP_ALL), Some("one")),
    (("deny", STOP_ALL), ("allow", STOP_A), Some("two")),
    (("allow", STOP_A), ("ask", STOP_ALL), Some("one")),
    (("ask", STOP_A), ("allow", STOP_ALL), None),
    (("allow", STOP_ALL), ("deny", STOP_A), None),
    // A deny rule is never one of them, not even beside its like.
    (("deny", STOP_ALL), ("deny", STOP_A), None),
    (("deny", STOP_A), ("deny", STOP_A), None),
    // The same decision: the earlier one, if it grants no less.
    (("allow", STOP_ALL), ("allow", STOP_A), Some("two")),
    (("allow", STOP_A), ("allow", STOP_ALL), None),
    (("allow", "rate = \"1/1h\"\nverbs = [\"unit.stop\"]\nunits = [\"*.service\"]"), ("allow", STOP_A), None),
    (
        ("allow", STOP_ALL),
        ("allow", "allow_cascade = true\nverbs = [\"unit.stop\"]\nunits = [\"a.service\"]"),
        None,
    ),
    (
        ("ask", STOP_ALL),
        ("ask", "approvers = 2\nverbs = [\"unit.stop\"]\nunits = [\"a.service\"]"),
        Some("two"),
    ),
    (("ask", "approvers = 2\nverbs = [\"unit.stop\"]\nunits = [\"*.service\"]"), ("ask", STOP_A), None),
    // Each verb and each pattern for itself.
    (("deny", "verbs = [\"unit.start\"]\nunits = [\"*.service\"]"), ("allow", STOP_ALL), None),
    (("deny", STOP_ALL), ("allow", "verbs = [\"unit.stop\"]\nunits = [\"a.service\", \"b.timer\"]"), None),
    (
        ("deny", STOP_ALL),
        ("allow", "verbs = [\"unit.stop\"]\nunits = [\"a.service\", \"b.service\"]"),
        Some("two"),
    ),
    (("deny", STOP_ALL), ("allow", "verbs = [\"unit.stop\"]\nunits = [\"a@*.service\"]"), None),
    (
        ("deny", "verbs = [\"unit.stop\"]\nunits = [\"*@*.service\"]"),
        ("allow", "verbs = [\"unit.stop\"]\nunits = [\"a@*.service\"]"),
        Some("two"),
    ),
    // Another client's rule.
    (("deny", "client = \"web\"\nverbs = [\"unit.stop\"]\nunits = [\"*.service\"]"), ("allow", STOP_A), None),
    // Files: the place, the levels, the names.
    (
        ("deny", "verbs = [\"file.write\"]\ndirectories = [\"/srv/x\"]\nfiles = [\"*.html\"]\ndepth = 3"),
        ("allow", SITE),
        Some("two"),
    ),
    (
        ("deny", "verbs = [\"file.write\"]\ndirectories = [\"/srv/x\"]\nfiles = [\"*.html\"]\ndepth = 2"),
        ("allow", SITE),
        None,
    ),
    (
        ("deny", "verbs = [\"file.write\"]\ndirectories = [\"/srv/x\"]\nfiles = [\"*.css\"]\ndepth = 3"),
        ("allow", SITE),
        None,
    ),
    (
        ("deny", "verbs = [\"file.write\"]\ndirectories = [\"/srv/x/yy\"]\nfiles = [\"*\"]\ndepth = 3"),
        ("allow", SITE),
        None,
    ),
    (
        ("deny", "verbs = [\"file.write\"]\ndirectories = [\"/srv/x/y\"]\nfiles = [\"*\"]"),
        ("allow", "verbs = [\"file.write\"]\ndirectories = [\"/srv/x/y\"]\nfiles = [\".a\"]"),
        None,
    ),
    (
        ("deny", "verbs = [\"file.write\"]\ndirectories = [\"/srv/x\"]\nfiles = [\"*\"]\ndepth = 9"),
        ("allow", "verbs = [\"file.write\"]\ndirectories = [\"/srv/x/.y\"]\nfiles = [\"a\"]"),
        None,
    ),
    (
        ("deny", "verbs = [\"file.list\"]\ndirectories = [\"/srv/x\"]\nfiles = [\"a\"]"),
        ("allow", "verbs = [\"file.list\"]\ndirectories = [\"/srv/x\"]"),
        Some("two"),
    ),
    (
        (
            "allow",
            "verbs = [\"file.write\"]\ndirectories = [\"/srv/x/y\"]\nfiles = [\"*\"]\ndepth = 2\nlines = [\"a\"]",
        ),
        ("allow", SITE),
        None,
    ),
    (
        (
            "allow",
            "verbs = [\"file.write\"]\ndirectories = [\"/srv/x/y\"]\nfiles = [\"*\"]\ndepth = 2\nmax_bytes = 5",
        ),
        ("allow", SITE),
        None,
    ),
    (
        ("allow", "verbs = [\"file.write\"]\ndirectories = [\"/srv/x/y\"]\nfiles = [\"*\"]\ndepth = 2"),
        ("allow", SITE),
        Some("two"),
    ),
    // Packages and what speaks of nothing.
    (
        ("deny", "verbs = [\"package.install\"]\npackages = [\"*\"]"),
        ("ask", "verbs = [\"package.install\"]\npackages = [\"nginx*light\"]"),
        Some("two"),
    ),
    (
        ("deny", "verbs = [\"package.install\"]\npackages = [\"nginx-*\"]"),
        ("ask", "verbs = [\"package.install\"]\npackages = [\"nginx*\"]"),
        None,
    ),
    (("ask", "verbs = [\"package.update\"]"), ("allow", "verbs = [\"package.update\"]"), Some("two")),
    // Commands by name and values. The undo of a rule goes with it.
    (("deny", "verbs = [\"command.run\"]\ncommands = [\"gr*\"]"), ("allow", GROW), Some("two")),
    (
        ("deny", "verbs = [\"command.run\"]\ncommands = [\"grow\"]\nparams = { size = [\"*\"] }"),
        ("allow", GROW),
        Some("two"),
    ),
    (
        ("deny", "verbs = [\"command.run\"]\ncommands = [\"grow\"]\nparams = { size = [\"10*\"] }"),
        ("allow", GROW),
        None,
    ),
    (("deny", GROW), ("allow", "verbs = [\"command.run\"]\ncommands = [\"grow\"]"), None),
    (
        ("deny", STOP_ALL),
        ("allow", "verbs = [\"unit.stop\", \"request.undo\"]\nunits = [\"a.service\"]"),
        Some("two"),
    ),
];

#[test]
fn warns_of_a_rule_that_no_request_can_use_and_of_no_other() {
    let named = "[[client]]\nname = \"web\"\ngroup = \"web\"\n[[command]]\nname = \"grow\"\nargv = [\"/x\", \"{size}\"]\nparams.size = { kind = \"size\" }\n";
    for (one, two, unused) in CASES {
        let text = format!("{GOOD}{}{}{named}", rule("one", one.0, one.1), rule("two", two.0, two.1));
        let ran = TestHost::new(&text).run(&["policy", "check"]);
        assert_eq!(ran.exit, Exit::Done, "{one:?} {two:?} {}", ran.out);
        let told = |rule: &str, by: &str, place: &str| {
            let words =
                format!("{place}:1: warning: no request can use this rule: {by} is used first for all of it");
            assert_eq!(ran.out.contains(&words), *unused == Some(rule), "{one:?} {two:?}\n{}", ran.out);
        };
        told("one", "two", "policy.toml:15");
        let second = 15 + rule("one", one.0, one.1).lines().count();
        told("two", "one", &format!("policy.toml:{second}"));
        let said = ran.out.matches("no request can use this rule").count();
        assert_eq!(said, usize::from(unused.is_some()), "{one:?} {two:?}\n{}", ran.out);
    }
}

#[test]
fn names_every_rule_that_is_used_first() {
    let text = format!(
        "{GOOD}{}{}{}",
        rule("lax", "allow", STOP_ALL),
        rule("no-stop", "deny", "verbs = [\"unit.stop\"]\nunits = [\"*.service\"]"),
        rule("ask-start", "ask", "verbs = [\"unit.start\"]\nunits = [\"*\"]"),
    );
    let ran = TestHost::new(&text).run(&["policy", "check"]);
    assert!(
        ran.out.contains("no request can use this rule: ask-start, no-stop is used first"),
        "{}",
        ran.out
    );
    assert_eq!(ran.exit, Exit::Done);
}

#[test]
fn an_emergency_deny_is_never_an_error() {
    let deny = rule("stop-everything", "deny", STOP_ALL);
    let host = TestHost::new(&format!("{GOOD}{}{deny}", rule("unit", "allow", STOP_A)));
    let ran = host.run(&["policy", "apply", "--yes"]);
    assert_eq!(ran.exit, Exit::Done, "{}{}", ran.out, ran.err);
}

#[test]
fn a_thousand_rules_are_checked() {
    let rules = (0..1000).map(|number| {
        rule(
            &format!("r{number}"),
            "allow",
            &format!("verbs = [\"unit.stop\"]\nunits = [\"app-{number}-*.service\"]"),
        )
    });
    let text = format!("{GOOD}{}", rules.collect::<String>());
    let ran = TestHost::new(&text).run(&["policy", "check", "--strict"]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.out);
}

#[test]
fn warns_of_hours_beside_a_rule_that_is_open_at_any_time() {
    let night = format!("hours = \"02:00-05:00\"\n{STOP_A}");
    let words = "`hours` closes nothing: two lets all of it through at any time";
    for (other, is_moot) in [
        (rule("two", "allow", STOP_ALL), true),
        (rule("two", "ask", STOP_ALL), false),
        (rule("two", "allow", &format!("hours = \"04:00-06:00\"\n{STOP_ALL}")), false),
        (rule("two", "allow", "verbs = [\"unit.stop\"]\nunits = [\"b.service\"]"), false),
    ] {
        let ran = TestHost::new(&format!("{GOOD}{}{other}", rule("one", "allow", &night)))
            .run(&["policy", "check"]);
        assert_eq!(ran.out.contains(words), is_moot, "{other}\n{}", ran.out);
    }
}

#[test]
fn warns_of_people_who_are_asked_beside_a_rule_that_lets_everybody_through() {
    let asks = rule("one", "ask", &format!("people = [\"ann\"]\n{STOP_A}"));
    let words = "who opens no session gets two instead, which is weaker (`people`)";
    let two_agree = rule("two", "ask", &format!("approvers = 2\n{STOP_ALL}"));
    let slow = asks.replace("people", "approvers = 2\npeople");
    for (asks, other, is_moot) in [
        (&asks, rule("two", "allow", STOP_ALL), true),
        (&asks, two_agree, false),
        (&asks, rule("two", "allow", &format!("people = [\"bob\"]\n{STOP_ALL}")), false),
        (&slow, rule("two", "ask", STOP_ALL), true),
        (&asks, rule("two", "deny", STOP_ALL), false),
    ] {
        let ran = TestHost::new(&format!("{GOOD}{asks}{other}")).run(&["policy", "check"]);
        assert_eq!(ran.out.contains(words), is_moot, "{other}\n{}", ran.out);
    }
}
