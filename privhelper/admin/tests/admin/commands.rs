//! Commands: each broken line beside the same line without the fault.

use crate::support::{GOOD, TestHost};
use postern_admin::io::Exit;

/// A command with the tested lines last; they begin on line 18.
fn command(lines: &str) -> String {
    let argv = if lines.contains("argv") { "" } else { "argv = [\"/usr/bin/x\"]" };
    let name = if lines.contains("name = ") && !lines.contains("params") { "" } else { "name = \"x\"" };
    format!("{GOOD}\n[[command]]\n{name}\n{argv}\n{lines}\n")
}

/// Lines that pass, the same broken, words of the error.
const LINES: &[(&str, &str, &str)] = &[
    ("name = \"x-1\"", "name = \"X\"", ":18:8: error: \"X\" is not a valid command name"),
    (
        "timeout = \"20s\"",
        "timout = \"20s\"",
        ":18:1: error: unknown key \"timout\": did you mean `timeout`?",
    ),
    ("timeout = \"24h\"", "timeout = \"25h\"", "`timeout` is longer than a day"),
    ("output = 0", "output = 16777217", "must be a whole number from 0 to 16777216"),
    ("network = true", "network = 1", "must be true or false"),
    ("user = \"www-data\"", "user = \"33\"", "and no number"),
    (
        "sandbox = \"none\"",
        "sandbox = \"strit\"",
        "did you mean `strict`? (permitted: strict, validator, none)",
    ),
    (
        "write = [\"/srv/x\"]",
        "write = [\"/srv/x\"]\nsandbox = \"validator\"",
        "`write` has no effect in this command's `sandbox`",
    ),
    (
        "scratch = [\"/run\"]",
        "scratch = [\"/run\"]\nsandbox = \"none\"",
        "`scratch` has no effect in this command's `sandbox`",
    ),
    (
        "capabilities = [\"CAP_CHOWN\"]",
        "capabilities = [\"CAP_CHWN\"]",
        ":18:17: error: unknown capability \"CAP_CHWN\": did you mean `CAP_CHOWN`?",
    ),
    ("scratch = [\"/run\"]", "scratch = [\"run\"]", "must be absolute"),
    ("cwd = \"/\"", "cwd = \"x\"", "must be absolute"),
    ("cwd = \"/srv/x\"", "cwd = \"/srv/../x\"", "no '.' or '..'"),
    ("write = [\"/srv/x\"]", "write = [\"/srv/*\"]", "a directory is literal"),
    (
        "env = { LANG = \"C.UTF-8\" }",
        "env = { \"A=B\" = \"x\" }",
        "is not a valid name of an environment variable",
    ),
    ("env = { LANG = \"C\" }", "env = { LANG = \"a\\nb\" }", "holds no control characters"),
    ("env = { LANG = \"C\" }", "env = [\"LANG=C\"]", "must be a table such as"),
    ("argv = [\"/usr/bin/x\", \"-t\", \"a b\"]", "argv = []", "`argv` is empty: nothing is run"),
    ("argv = [\"/usr/bin/x\"]", "argv = [\"x\"]", "`argv` begins with the program's absolute path"),
    ("argv = [\"/usr/bin/x\"]", "argv = [\"/usr/bin/../x\"]", "no '.' or '..'"),
    (
        "argv = [\"/x\", \"{p}\"]\nparams.p = { kind = \"name\" }",
        "argv = [\"{p}\"]\nparams.p = { kind = \"name\" }",
        "the program is literal",
    ),
    (
        "argv = [\"/x\", \"{p}\"]\nparams.p = { kind = \"name\" }",
        "argv = [\"/x\", \"{q}\"]\nparams.p = { kind = \"name\" }",
        "`argv` names an unknown parameter \"q\"",
    ),
    (
        "argv = [\"/x\", \"{p}\"]\nparams.p = { kind = \"name\" }",
        "argv = [\"/x\"]\nparams.p = { kind = \"name\" }",
        "parameter `p` is not used in `argv`",
    ),
    (
        "argv = [\"/x\", \"a={p}\"]\nparams.p = { kind = \"name\" }",
        "argv = [\"/x\", \"a-{p}\"]\nparams.p = { kind = \"name\" }",
        "a parameter fills a whole argument",
    ),
    (
        "argv = [\"/x\", \"--a={p}\"]\nparams.p = { kind = \"name\" }",
        "argv = [\"/x\", \"--{p}={p}\"]\nparams.p = { kind = \"name\" }",
        "a parameter fills a whole argument",
    ),
    (
        "argv = [\"/x\", \"--a={p}\"]\nparams.p = { kind = \"name\" }",
        "argv = [\"/x\", \"--{p}\"]\nparams.p = { kind = \"name\" }",
        "a parameter fills a whole argument",
    ),
    (
        "description = \"restarts the shop\"",
        "description = \"restarts\\nthe shop\"",
        "a description is 1 to 200 bytes on one line",
    ),
    ("description = \"x\"", "description = \"\"", "`description` is empty"),
    ("effect = false", "effect = \"no\"", "must be true or false"),
    ("sockets = [\"/run/x/x.sock\"]", "sockets = [\"x.sock\"]", "must be absolute"),
    (
        "sockets = [\"/run/x/x.sock\"]",
        "sockets = [\"/run/x/x.sock\"]\nnetwork = true",
        "`sockets` and `network` exclude each other",
    ),
    (
        "sockets = [\"/run/x/x.sock\"]",
        "sockets = [\"/run/x/x.sock\"]\nsandbox = \"none\"",
        "`sockets` has no effect in this command's `sandbox`",
    ),
    (
        "argv = [\"/x\", \"{k}={p}\"]\nparams.p = { kind = \"name\" }\nparams.k = { kind = \"name\" }",
        "argv = [\"/x\", \"{k}{p}\"]\nparams.p = { kind = \"name\" }\nparams.k = { kind = \"name\" }",
        "a parameter fills a whole argument",
    ),
    (
        "argv = [\"/x\", \"{p}\"]\nparams.p = { kind = \"name\" }",
        "argv = [\"/x\", \"a{p}\"]\nparams.p = { kind = \"name\" }",
        "a parameter fills a whole argument",
    ),
    ("argv = [\"/x\", \"a\"]", "argv = [\"/x\", \"a\\nb\"]", "without control characters"),
    (
        "argv = [\"/x\", \"{key}\", \"key={key}\"]\nparams.key = { kind = \"secret\" }",
        "argv = [\"/x\", \"{key}={key}\"]\nparams.key = { kind = \"secret\" }",
        "{key} is a secret",
    ),
    (
        "argv = [\"/x\", \"{key}\"]\nparams.key = { kind = \"secret\" }",
        "params.key = { kind = \"secret\" }",
        "parameter `key` is not used in `argv`",
    ),
    (
        "argv = [\"/x\", \"{a_b-1}\"]\nparams.a_b-1 = { kind = \"name\" }",
        "argv = [\"/x\", \"{A}\"]\nparams.A = { kind = \"name\" }",
        "is not a valid parameter name",
    ),
];

/// Parameters that pass, the same broken, words of the error.
const PARAMETERS: &[(&str, &str, &str)] = &[
    (
        "kind = \"hostname\"",
        "kind = \"hostnam\"",
        "unknown kind of parameter \"hostnam\": did you mean `hostname`? (permitted: enum, int, ",
    ),
    ("kind = \"name\"", "", "`kind` is missing"),
    ("kind = \"port\"", "kind = \"port\", min = 1", "unknown key \"min\" (permitted: kind)"),
    ("kind = \"enum\", values = [\"on\", \"off\"]", "kind = \"enum\"", "`values` is missing"),
    ("kind = \"enum\", values = [\"on\"]", "kind = \"enum\", values = []", "`values` is empty"),
    (
        "kind = \"enum\", values = [\"on\"]",
        "kind = \"enum\", values = [\"-f\"]",
        "\"-f\" is not a valid value",
    ),
    (
        "kind = \"enum\", values = [\"a b\"]",
        "kind = \"enum\", values = [\"@x\"]",
        "\"@x\" is not a valid value",
    ),
    ("kind = \"int\", min = 1, max = 9", "kind = \"int\", min = 1", "`max` is missing"),
    ("kind = \"int\", min = 1, max = 1", "kind = \"int\", min = 2, max = 1", "`min` is above `max`"),
    (
        "kind = \"int\", min = 0, max = 1",
        "kind = \"int\", min = -1, max = 1",
        "must be a whole number from 0",
    ),
    (
        "kind = \"package\", packages = [\"ng*\"]",
        "kind = \"package\", packages = [\"N\"]",
        "matches no valid package name",
    ),
    (
        "kind = \"unit\", units = [\"a@*.service\"]",
        "kind = \"unit\", units = [\"a\"]",
        "did you mean \"a.service\"?",
    ),
    (
        "kind = \"path\", directories = [\"/srv\"], files = [\"*\"]",
        "kind = \"path\", directories = [\"/srv\"]",
        "`files` is missing",
    ),
    (
        "kind = \"path\", directories = [\"/srv\"], files = [\"*\"]",
        "kind = \"path\", directories = [\"/\"], files = [\"*\"]",
        "a directory must hold no empty component",
    ),
    ("kind = \"text\", pattern = \"v*, [a] b\"", "kind = \"text\", pattern = \"\"", "`pattern` is empty"),
    ("kind = \"text\", pattern = \"v*\"", "kind = \"text\", pattern = \"é\"", "printable ASCII"),
    ("kind = \"size\"", "kind = \"size\", units = [\"a.service\"]", "unknown key \"units\""),
    (
        "kind = \"size\", min = \"1M\", max = \"4G\"",
        "kind = \"size\", max = \"4 GB\"",
        "\"4 GB\" is not a size",
    ),
    ("kind = \"size\", max = \"1\"", "kind = \"size\", max = \"0\"", "\"0\" is not a size"),
    ("kind = \"size\", min = \"1M\"", "kind = \"size\", min = \"2M\", max = \"1M\"", "`min` is above `max`"),
    (
        "kind = \"cidr\", within = [\"10.0.0.0/8\"]",
        "kind = \"cidr\", within = [\"10.0.0.0/99\"]",
        "which is no network",
    ),
    ("kind = \"ip\", within = [\"::/0\"]", "kind = \"ip\", within = []", "`within` is empty"),
    (
        "kind = \"enum\", values = [\"on\", \"off\"], meanings = { on = \"switches it on\" }",
        "kind = \"enum\", values = [\"on\", \"off\"], meanings = { onn = \"switches it on\" }",
        "unknown value \"onn\": did you mean `on`?",
    ),
    (
        "kind = \"path\", directories = [\"/srv\"], files = [\"*\"], check = false",
        "kind = \"path\", directories = [\"/srv\"], files = [\"*\"], check = 0",
        "must be true or false",
    ),
    ("kind = \"group\"", "kind = 5", "`kind` must be a text in quotes, not a whole number"),
];

fn check(valid: &str, broken: &str, words: &str) {
    let ran = TestHost::new(valid).run(&["policy", "check", "--strict"]);
    assert_eq!(ran.exit, Exit::Done, "{valid}: {}", ran.out);
    let ran = TestHost::new(broken).run(&["policy", "check"]);
    assert_eq!(ran.exit, Exit::Failed, "{broken}: {}", ran.out);
    let hit = ran.out.lines().any(|line| line.contains(" error: ") && line.contains(words));
    assert!(hit, "{broken}: no {words:?} in\n{}", ran.out);
}

#[test]
fn rejects_each_invalid_line_of_a_command_and_accepts_its_valid_counterpart() {
    for (valid, broken, words) in LINES {
        check(&command(valid), &command(broken), words);
    }
}

#[test]
fn rejects_each_invalid_parameter_and_accepts_its_valid_counterpart() {
    let with = |parameter| command(&format!("argv = [\"/x\", \"{{p}}\"]\nparams.p = {{ {parameter} }}"));
    for (valid, broken, words) in PARAMETERS {
        check(&with(valid), &with(broken), words);
    }
}

#[test]
fn a_reverse_command_must_take_the_same_parameters() {
    let add = |reverse, other| {
        format!(
            "{GOOD}\n[[command]]\nname = \"add\"\nargv = [\"/x\", \"{{p}}\"]\nparams.p = {{ kind = \"port\" }}\nreverse = \"{reverse}\"\n\
             [[command]]\nname = \"drop\"\nargv = [\"/y\", \"{{p}}\"]\nparams.p = {{ kind = \"{other}\" }}\n"
        )
    };
    check(
        &add("drop", "port"),
        &add("drop", "name"),
        "command \"drop\" takes \"p\", which this command does not have alike",
    );
    check(&add("drop", "port"), &add("dorp", "port"), "unknown command \"dorp\": did you mean `drop`?");
    let twice = add("drop", "port").replace("name = \"add\"", "name = \"drop\"");
    check(&add("drop", "port"), &twice, "command \"drop\" is already defined at");
    let secret = add("drop", "port").replace("\"port\"", "\"secret\"");
    check(
        &add("drop", "port"),
        &secret,
        "command \"drop\" takes \"p\", which is a secret, which is kept nowhere",
    );
}

#[test]
fn a_reverse_command_may_take_some_of_the_parameters() {
    let valid = format!(
        "{GOOD}\n[[command]]\nname = \"ban\"\nargv = [\"/x\", \"{{ip}}\", \"{{why}}\"]\nreverse = \"unban\"\n\
         params.ip = {{ kind = \"ip\" }}\nparams.why = {{ kind = \"name\" }}\n\
         [[command]]\nname = \"unban\"\nargv = [\"/y\", \"{{ip}}\"]\nparams.ip = {{ kind = \"ip\" }}\n"
    );
    let broken =
        valid.replace("[\"/y\", \"{ip}\"]", "[\"/y\", \"{ip}\", \"{x}\"]\nparams.x = { kind = \"name\" }");
    check(&valid, &broken, "command \"unban\" takes \"x\", which this command does not have alike");
}

#[test]
fn a_pattern_that_reads_like_a_regular_expression_is_a_warning() {
    let with = |pattern: &str| {
        let parameter = format!("params.p = {{ kind = \"text\", pattern = '{pattern}' }}");
        TestHost::new(&command(&format!("argv = [\"/x\", \"{{p}}\"]\n{parameter}"))).run(&["policy", "check"])
    };
    for pattern in ["^v[0-9]+$", "v.*", "v\\d", "(?i)v"] {
        let ran = with(pattern);
        assert!(ran.out.contains("reads like a regular expression"), "{pattern}: {}", ran.out);
        assert_eq!(ran.exit, Exit::Done, "{pattern}");
    }
    for pattern in ["v*", "a (b) [c]", "x.y", "1+1"] {
        assert!(!with(pattern).out.contains("regular expression"), "{pattern}");
    }
}

#[test]
fn a_rule_cannot_restrict_a_secret_parameter() {
    let with = |params: &str| {
        format!(
            "{GOOD}\n[[command]]\nname = \"add\"\nargv = [\"/x\", \"{{name}}\", \"{{key}}\"]\n\
             params.name = {{ kind = \"name\" }}\nparams.key = {{ kind = \"secret\" }}\n\
             [[rule]]\nid = \"add\"\nclient = \"agent\"\nverbs = [\"command.run\"]\ncommands = [\"add\"]\n\
             params = {{ {params} }}\ndecision = \"deny\"\njustification = \"tests\"\n"
        )
    };
    check(&with("name = [\"a\"]"), &with("key = [\"a\"]"), "parameter \"key\" is a secret");
}

#[test]
fn notes_networks_that_hold_hosts_of_the_internet() {
    for (network, is_wide) in [
        ("0.0.0.0/1", true),
        ("128.0.0.0/1", true),
        ("0.0.0.0/0", true),
        ("2000::/3", true),
        ("10.0.0.0/8", false),
        ("192.0.2.0/24", false),
        ("fc00::/7", false),
        ("fe80::/10", false),
        ("2001:db8::/32", false),
    ] {
        let host = TestHost::new(&command(&format!(
            "argv = [\"/usr/bin/x\", \"{{n}}\"]\nparams.n = {{ kind = \"cidr\", within = [\"{network}\"] }}"
        )));
        let ran = host.run(&["policy", "check"]);
        assert_eq!(ran.exit, Exit::Done, "{network}: {}{}", ran.out, ran.err);
        let says = format!("note: {network} is wider than any private network");
        assert_eq!(ran.out.contains(&says), is_wide, "{network}: {}", ran.out);
    }
}
