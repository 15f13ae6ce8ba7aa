//! Broken policies, each beside the same policy without the fault.

use crate::support::{GOOD, SITE, TestHost, every_account};
use postern_admin::io::Exit;

/// A client, and what a rule of a kind needs besides; `%` is replaced by the tested line, which is line 11.
fn policy(kind: &str, line: &str) -> String {
    let needs = match kind {
        "unit" => "verbs = [\"unit.start\", \"unit.status\"]\nunits = [\"a.service\"]",
        "package" => "verbs = [\"package.install\", \"package.show\"]\npackages = [\"a-b\"]",
        "read" => "verbs = [\"file.read\"]\ndirectories = [\"/etc/x\"]",
        "write" => "verbs = [\"file.write\"]\ndirectories = [\"/srv/x\"]\nfiles = [\"*.txt\"]",
        "update" => "verbs = [\"package.update\"]",
        "upgrade" => "verbs = [\"package.upgrade\"]\npackages = [\"a-b\"]",
        "remove" => "verbs = [\"package.remove\", \"request.undo\"]\npackages = [\"a-b\"]",
        "hold" => "verbs = [\"package.hold\"]\npackages = [\"a-b\"]",
        "list" => "verbs = [\"file.list\"]\ndirectories = [\"/etc/x\"]",
        "mkdir" => "verbs = [\"file.mkdir\"]\ndirectories = [\"/srv/x\"]\nfiles = [\"*\"]",
        "both" => "verbs = [\"file.patch\", \"file.mkdir\"]\ndirectories = [\"/srv/x\"]\nfiles = [\"*\"]",
        "set-mode" => "verbs = [\"file.set-mode\"]\ndirectories = [\"/srv/x\"]\nfiles = [\"*\"]",
        "set-owner" => "verbs = [\"file.set-owner\"]\ndirectories = [\"/srv/x\"]\nfiles = [\"*\"]",
        "file.remove" => "verbs = [\"file.remove\"]\ndirectories = [\"/srv/x\"]\nfiles = [\"*\"]",
        "command" => "verbs = [\"command.run\"]\ncommands = [\"grow\"]",
        "verbs" => "",
        other => panic!("no kind {other}"),
    };
    let decision = if line.contains("decision") { "" } else { "decision = \"allow\"\n" };
    let head = "version = 1\n[[client]]\nname = \"agent\"\nuser = \"postern\"\n\n[[rule]]\nid = \"r\"\nclient = \"agent\"\n";
    format!("{head}justification = \"test\"\n\n{line}\n{decision}{needs}\n{NAMED}")
}

/// Source and commands that the vectors refer to.
const NAMED: &str = r#"
[[source]]
name = "debian"
entries = ["/etc/apt/sources.list.d/debian.sources"]

[[command]]
name = "grow"
argv = ["/usr/bin/grow", "{size}"]
params.size = { kind = "size" }

[[command]]
name = "agrees"
argv = ["/usr/bin/agrees"]
sandbox = "validator"

[[command]]
name = "agrees-to"
argv = ["/usr/bin/agrees", "{name}"]
params.name = { kind = "name" }
sandbox = "validator"
"#;

/// Kind, a line that passes, the same broken, column, words of the error. A column of 0 stands for the beginning of the
/// line after, a negative one for any line.
const RULE_LINES: &[(&str, &str, &str, i32, &str)] = &[
    (
        "unit",
        "allow_cascade = true",
        "alow_cascade = true",
        1,
        "unknown key \"alow_cascade\": did you mean `allow_cascade`?",
    ),
    ("unit", "allow_cascade = true", "max_bytes = 5", 1, "`max_bytes` is used by no verb of this rule"),
    ("unit", "allow_cascade = true", "allow_cascade = \"yes\"", 17, "must be true or false, not a text"),
    ("unit", "allow_cascade = true", "packages = [\"ab\"]", 1, "`packages` is used by no verb of this rule"),
    ("unit", "journal_lines = 50", "journal_lines = -1", 17, "must be a whole number from 0 to 100000"),
    ("unit", "rate = \"12/1h\"", "rate = \"12 per hour\"", 8, "is not a valid rate"),
    ("unit", "rate = \"1/24h\"", "rate = \"1/25h\"", 8, "is not a valid rate"),
    ("unit", "rate = \"1/1s\"", "rate = \"0/1s\"", 8, "is not a valid rate"),
    ("read", "max_bytes = 5", "rate = \"12/1h\"", 1, "`rate` is used by no verb of this rule"),
    ("unit", "timeout = \"24h\"", "timeout = \"25h\"", 11, "longer than a day"),
    ("unit", "timeout = \"90s\"", "timeout = 90", 11, "must be a text in quotes, not a whole number"),
    ("unit", "decision = \"deny\"", "decision = \"denny\"", 12, "did you mean `deny`?"),
    (
        "unit",
        "decision = \"deny\"",
        "decision = \"deny\"\nrate = \"1/1h\"",
        0,
        "`rate` is a limit, and a deny rule has none",
    ),
    (
        "package",
        "max_new_packages = 3",
        "max_new_packages = -3",
        20,
        "must be a whole number from 0 to 10000",
    ),
    ("package", "max_new_packages = 0x10", "max_new_packages = 3.5", 20, "not a number with a fraction"),
    ("package", "versions = [\"1.2-*\"]", "versions = [\"1.?\"]", 13, "only '*' is special"),
    ("package", "versions = [\"1.2-*\"]", "versions = \"1.2-*\"", 12, "must be a list such as"),
    ("package", "versions = [\"1\", \"2\"]", "versions = [\"1\", \"1\"]", 18, "is listed twice"),
    (
        "package",
        "sources = [\"debian\"]",
        "sources = [\"debain\"]",
        12,
        "unknown source \"debain\": did you mean `debian`?",
    ),
    ("package", "sources = [\"debian\"]", "sources = []", 1, "`sources` is empty"),
    ("hold", "rate = \"1/1h\"", "sources = [\"debian\"]", 1, "`sources` is used by no verb of this rule"),
    ("upgrade", "new_packages = false", "new_packages = true", 1, "set both"),
    ("upgrade", "new_packages = true\nmax_new_packages = 3", "versions = [\"1\"]", 1, "is used by no verb"),
    ("package", "allow_upgrades = true", "new_packages = true", 1, "`new_packages` is used by no verb"),
    ("remove", "allow_removals = true", "max_new_packages = 3", 1, "is used by no verb of this rule"),
    ("hold", "timeout = \"1h\"", "allow_removals = true", 1, "is used by no verb of this rule"),
    (
        "unit",
        "decision = \"ask\"\napprovers = 2",
        "decision = \"allow\"\napprovers = 2",
        0,
        "only an ask rule has `approvers`: remove it",
    ),
    (
        "unit",
        "decision = \"ask\"\napproval_ttl = \"1h\"",
        "decision = \"deny\"\napproval_ttl = \"1h\"",
        0,
        "only an ask rule has `approval_ttl`: remove it",
    ),
    ("read", "decision = \"ask\"\napprovers = 5", "decision = \"ask\"\napprovers = 6", -1, "from 1 to 5"),
    ("read", "decision = \"ask\"\napprovers = 1", "decision = \"ask\"\napprovers = 0", -1, "from 1 to 5"),
    (
        "read",
        "decision = \"ask\"\napproval_ttl = \"24h\"",
        "decision = \"ask\"\napproval_ttl = \"25h\"",
        -1,
        "`approval_ttl` is longer than a day",
    ),
    (
        "read",
        "decision = \"ask\"\napproval_ttl = \"15m\"",
        "decision = \"ask\"\napproval_ttl = \"0s\"",
        -1,
        "is not a valid time",
    ),
    ("read", "decision = \"ask\"", "decision = \"aks\"", 12, "did you mean `ask`?"),
    ("read", "files = [\"*.conf\"]", "files = []", 1, "`files` is empty"),
    ("read", "files = [\"*.conf\"]", "files = [\"a/b\"]", 10, "no '/'"),
    ("read", "depth = 3", "depth = 0", 9, "must be a whole number from 1 to 32"),
    ("read", "max_bytes = 5", "modes = [\"0644\"]", 1, "`modes` is used by no verb of this rule"),
    ("write", "modes = [\"0600\", \"0644\"]", "modes = [\"0600\", \"4755\"]", 18, "without setuid"),
    ("write", "owners = [\"www-data\"]", "owners = [\"33\"]", 11, "and no number"),
    ("write", "groups = [\"www-data\"]", "groups = [\"a b\"]", 11, "must be a user's or group's name"),
    (
        "write",
        "validate = \"agrees\"",
        "validate = \"agres\"",
        12,
        "unknown command \"agres\": did you mean `agrees`?",
    ),
    ("write", "validate = \"agrees\"", "validate = \"grow\"", 12, "is not a validator"),
    ("write", "validate = \"agrees\"", "validate = \"agrees-to\"", 12, "nobody would give to a validator"),
    ("write", "keep_for_undo = true", "keep_for_undo = \"yes\"", 17, "must be true or false, not a text"),
    ("write", "lines = [\"a = *\", \"# *\"]", "lines = []", 1, "`lines` is empty"),
    ("write", "lines = [\"a\\\\b\"]", "lines = [\"a\\\\\"]", 10, "the last no '\\'"),
    ("write", "lines = [\"/a [b] {c}\"]", "lines = [\"a\\tb\"]", 10, "printable ASCII"),
    ("write", "max_files = 2", "max_files = \"2\"", 13, "must be a whole number, not a text"),
    ("list", "max_bytes = 5", "lines = [\"a\"]", 1, "`lines` is used by no verb of this rule"),
    (
        "file.remove",
        "keep_for_undo = false",
        "modes = [\"0644\"]",
        1,
        "`modes` is used by no verb of this rule",
    ),
    ("mkdir", "modes = [\"0700\"]", "max_bytes = 5", 1, "`max_bytes` is used by no verb of this rule"),
    ("both", "modes = [\"0644\"]", "max_files = 3", -1, "its default is another for files (0644)"),
    ("set-mode", "modes = [\"0755\"]", "timeout = \"1h\"", -1, "without it `file.set-mode` can set none"),
    ("set-mode", "modes = [\"0755\"]", "owners = [\"root\"]", 1, "`owners` is used by no verb of this rule"),
    (
        "set-owner",
        "owners = [\"www-data\"]",
        "modes = [\"0755\"]",
        1,
        "`modes` is used by no verb of this rule",
    ),
    ("command", "params = { size = [\"1*\"] }", "params = { size = [] }", 12, "the rule matches nothing"),
    (
        "command",
        "params = { size = [\"1*\"] }",
        "params = { sise = [\"1*\"] }",
        12,
        "command \"grow\": unknown parameter \"sise\": did you mean `size`?",
    ),
    ("command", "params = { size = [\"1*\"] }", "params = [\"1*\"]", 10, "must be a table such as"),
    ("command", "timeout = \"1m\"", "units = [\"a.service\"]", 1, "`units` is used by no verb of this rule"),
    (
        "verbs",
        "verbs = [\"command.run\"]\ncommands = [\"gr*\"]",
        "verbs = [\"command.run\"]\ncommands = [\"grwo\"]",
        -1,
        "unknown command \"grwo\": did you mean `grow`?",
    ),
    (
        "verbs",
        "verbs = [\"command.run\"]\ncommands = [\"*\"]",
        "verbs = [\"command.run\"]\ncommands = [\"Grow\"]",
        -1,
        "matches no valid command name",
    ),
    (
        "verbs",
        "verbs = [\"request.undo\", \"package.hold\"]\npackages = [\"a-b\"]",
        "verbs = [\"request.undo\"]",
        10,
        "`request.undo` alone undoes nothing",
    ),
    (
        "verbs",
        "verbs = [\"unit.daemon-reload\", \"package.repair\", \"package.autoremove\"]",
        "verbs = [\"unit.daemon-reload\", \"unit.mask\"]",
        32,
        "`unit.mask` is about units, the verbs before it are about nothing but the verb",
    ),
    (
        "remove",
        "decision = \"ask\"",
        "decision = \"deny\"",
        -1,
        "a deny rule decides nothing that could be undone",
    ),
    ("update", "rate = \"4/1h\"", "units = [\"a.service\"]", 1, "`units` is used by no verb of this rule"),
];

#[test]
fn rejects_each_invalid_line_of_a_rule_and_accepts_its_valid_counterpart() {
    for (kind, valid, broken, column, words) in RULE_LINES {
        let host = TestHost::new(&policy(kind, valid));
        let ran = host.run(&["policy", "check"]);
        assert_eq!(ran.exit, Exit::Done, "{kind} {valid}: {}", ran.out);

        let host = TestHost::new(&policy(kind, broken));
        let ran = host.run(&["policy", "check"]);
        assert_eq!(ran.exit, Exit::Failed, "{kind} {broken}: {}", ran.out);
        let place = match *column {
            0 => ":12:1: error: ".to_owned(),
            1.. => format!(":11:{column}: error: "),
            _ => ": error: ".to_owned(),
        };
        let hit = ran.out.lines().any(|line| line.contains(&place) && line.contains(words));
        assert!(hit, "{kind} {broken}: no line with {place} and {words:?} in\n{}", ran.out);
    }
}

/// A whole policy that is broken: text, line, column, words.
const POLICIES: &[(&str, usize, usize, &str)] = &[
    ("[[client]]\nname = \"a\"\nuser = \"postern\"\n", 1, 1, "`version = 1` is missing"),
    ("version = 2\n", 1, 11, "`version` must be a whole number from 1 to 1"),
    ("version = 1\n[[clients]]\nname = \"a\"\n", 2, 3, "unknown key \"clients\": did you mean `client`?"),
    ("version = 1\n[[source]]\nname = \"debian\"\n", 2, 1, "`entries` is missing"),
    (
        "version = 1\n[[source]]\nname = \"d\"\nentries = [\"/etc/apt/sources.list:0\"]\n",
        4,
        12,
        "is not an entry of apt's sources",
    ),
    (
        "version = 1\n[[source]]\nname = \"d\"\nentries = [\"/srv/sources.list\"]\n",
        4,
        12,
        "is not an entry of apt's sources",
    ),
    (
        "version = 1\n[[source]]\nname = \"d\"\nentries = [\"/etc/apt/sources.list:3\"]\nhosts = [\"Deb.org\"]\n",
        5,
        10,
        "is not a host name in lower case",
    ),
    (
        "version = 1\n[[source]]\nname = \"d\"\nentries = [\"/etc/apt/sources.list\"]\nsigned_by = [\"key\"]\n",
        5,
        14,
        "or 40 digits of a fingerprint",
    ),
    ("version = 1\n[[source]]\nname = \"d\"\nentrie = [\"x\"]\n", 4, 1, "did you mean `entries`?"),
    (
        "version = 1\n[[source]]\nname = \"d\"\nentries = [\"/etc/apt/sources.list\"]\n[[source]]\nname = \"d\"\nentries = [\"/etc/apt/sources.list\"]\n",
        6,
        8,
        "policy.toml:3",
    ),
    ("version = 1\n[audit]\nmax_bytes = 5\n", 3, 13, "must be a whole number from 1048576"),
    ("version = 1\n[audit]\nkeep = 5\n", 3, 1, "unknown key \"keep\""),
    ("version = 1\n[undo]\nmax_age = \"60d\"\n", 3, 11, "up to 30 days"),
    ("version = 1\n[approvals]\nmax_pending = 0\n", 3, 15, "must be a whole number from 1"),
    ("version = 1\n[approvals]\nmax_pendin = 3\n", 3, 1, "did you mean `max_pending`?"),
    ("version = 1\n[protect]\nunits = [\"nginx\"]\n", 3, 10, "did you mean \"nginx.service\"?"),
    ("version = 1\n[protect]\npackages = [\"A\"]\n", 3, 13, "matches no valid package name"),
    ("version = 1\n[protect]\npaths = [\"/srv/*\"]\n", 3, 10, "a directory is literal"),
    ("version = 1\n[[protect]]\npaths = [\"/srv\"]\n", 2, 1, "must be written as [protect], not a list"),
    ("version = 1\n[client]\nname = \"a\"\n", 2, 1, "`client` must be written as [[client]], not a table"),
    ("version = 1\n[[client]]\nname = \"a\"\n", 2, 1, "the client needs a `user` or a `group`"),
    (
        "version = 1\n[[client]]\nname = \"a\"\nuser = \"postern\"\ngroup = \"web\"\n",
        5,
        1,
        "has a `user` and a `group`",
    ),
    ("version = 1\n[[client]]\nname = \"a\"\nuser = \"990\"\n", 4, 8, "and no number"),
    ("version = 1\n[[client]]\nname = \"A b\"\nuser = \"postern\"\n", 3, 8, "is not a valid client name"),
    ("version = 1\n[[client]]\nname = \"a\"\nuser = \"root\"\n", 4, 1, "root cannot be a client"),
    ("version = 1\n[[client]]\nname = \"a\"\nuser = \"postern-broker\"\n", 4, 1, "Postern's own programs"),
    ("version = 1\n[[client]]\nname = \"a\"\ngroup = \"postern-probe\"\n", 4, 1, "Postern's own programs"),
    ("version = 1\n[[client]]\nname = \"a\"\ngroup = \"recorders\"\n", 4, 1, "Postern's own programs"),
    (
        "version = 1\n[[command]]\nname = \"c\"\nargv = [\"/usr/bin/true\"]\nuser = \"postern-audit\"\n",
        5,
        8,
        "a user of Postern's own",
    ),
    (
        "version = 1\n[[command]]\nname = \"c\"\nargv = [\"/usr/bin/true\"]\nuser = \"recorder-alias\"\n",
        5,
        8,
        "a user of Postern's own",
    ),
    (
        "version = 1\n[[command]]\nname = \"c\"\nargv = [\"/usr/bin/true\"]\nuser = \"postern\"\n",
        5,
        8,
        "a user of Postern's own",
    ),
    (
        "version = 1\n[[client]]\nname = \"a\"\nuser = \"alice\"\n[[command]]\nname = \"c\"\nargv = [\"/usr/bin/true\"]\nuser = \"alice\"\n",
        8,
        8,
        "is client \"a\"",
    ),
    ("version = 1\n[[client]]\nname = \"a\"\ngroup = \"wheel\"\n", 4, 1, "root cannot be a client"),
    (
        "version = 1\n[[client]]\nname = \"a\"\nuser = \"postern\"\n[[client]]\nname = \"a\"\ngroup = \"web\"\n",
        6,
        8,
        "client \"a\" is already defined at",
    ),
    ("version = 1\n[[rule]\n", 2, 8, "unclosed array table"),
    ("version = 1\nversion = 1\n", 2, 1, "duplicate key"),
    ("version = 1\n\"ä\" = \"\u{202e}\nx = 1\n", 2, 9, "invalid basic string"),
];

#[test]
fn names_line_column_and_reason_of_each_broken_policy() {
    for (text, line, column, words) in POLICIES {
        let host = TestHost::new(text);
        let ran = host.run(&["policy", "check"]);
        assert_eq!(ran.exit, Exit::Failed, "{text}");
        let place = format!("policy.toml:{line}:{column}: error: ");
        let hit = ran.out.lines().any(|line| line.contains(&place) && line.contains(words));
        assert!(hit, "{text}\nno line with {place} and {words:?} in\n{}", ran.out);
    }
}

/// A rule in [`GOOD`] changed: what stands there, what stands instead, words of the error.
const CHANGES: &[(&str, &str, &str)] = &[
    ("id = \"look\"\n", "", ":7:1: error: `id` is missing"),
    ("id = \"look\"", "id = \"Look\"", ":8:6: error: \"Look\" is not a valid id"),
    ("justification = \"no secret\"", "justification = \" \"", ":13:17: error: `justification` is empty"),
    (
        "client = \"agent\"",
        "client = \"agnt\"",
        ":9:10: error: unknown client \"agnt\": did you mean `agent`?",
    ),
    (
        "\"unit.status\"",
        "\"unit.state\"",
        ":10:10: error: unknown verb \"unit.state\": did you mean `unit.status`?",
    ),
    ("\"unit.status\"", "\"policy.describe\"", ":10:10: error: `policy.describe` is open to every client"),
    ("\"unit.status\"", "\"unit.status\", \"file.read\"", ":10:25: error: `file.read` is about files"),
    ("verbs = [\"unit.status\"]", "verbs = []", ":10:1: error: `verbs` is empty"),
    ("units = [\"*.service\"]", "units = []", ":11:1: error: `units` is empty: the rule matches nothing"),
    ("units = [\"*.service\"]\n", "", ":7:1: error: `units` is missing"),
    (
        "\"*.service\"",
        "\"nginx\"",
        ":11:10: error: \"nginx\" matches no valid full unit name: did you mean \"nginx.service\"?",
    ),
    ("\"*.service\"", "\"../x.service\"", ":11:10: error: \"../x.service\": a pattern must be"),
];

#[test]
fn refuses_each_change_of_a_good_rule() {
    assert_eq!(TestHost::new(GOOD).run(&["policy", "check"]).exit, Exit::Done);
    for (from, to, words) in CHANGES {
        assert!(GOOD.contains(from), "{from}");
        let ran = TestHost::new(&GOOD.replacen(from, to, 1)).run(&["policy", "check"]);
        assert_eq!(ran.exit, Exit::Failed, "{to}");
        assert!(ran.out.contains(words), "{to}: no {words:?} in\n{}", ran.out);
    }
}

/// Directory of a `file.write` rule, `accept_risk`, the error if it is one.
const DIRECTORIES: &[(&str, &str, Option<&str>)] = &[
    ("/srv", "", None),
    ("/var/www/html", "", None),
    ("/srvx", "", Some("writes below \"/srvx\", outside")),
    ("/var/wwwx", "", Some("outside")),
    ("/etc/nginx/conf.d", "", Some("accept_risk = { write-outside-harmless")),
    ("/etc/nginx/conf.d", "accept_risk = { write-outside-harmless = \"reviewed\" }", None),
    ("/etc/nginx/conf.d", "accept_risk = { \"*\" = \"reviewed\" }", None),
    (
        "/etc/nginx/conf.d",
        "accept_risk = { write-outside-harmless = \"\" }",
        Some("`write-outside-harmless` is empty"),
    ),
    ("/etc/nginx/conf.d", "accept_risk = { other = \"reviewed\" }", Some("outside")),
    ("/etc/postern", "accept_risk = { \"*\" = \"reviewed\" }", Some("\"/etc/postern\" is protected")),
    ("srv", "", Some("must be absolute")),
    ("/srv/../etc", "", Some("no '.' or '..'")),
    ("/srv/", "", Some("not end in '/'")),
    ("/", "", Some("empty component")),
    ("/srv/*", "", Some("a directory is literal")),
];

#[test]
fn refuses_writing_outside_the_harmless_directories_unless_it_is_accepted() {
    for (directory, accept, error) in DIRECTORIES {
        let text = policy("write", accept).replace("/srv/x", directory);
        let ran = TestHost::new(&text).run(&["policy", "check"]);
        match error {
            None => assert_eq!(ran.exit, Exit::Done, "{directory} {accept}: {}", ran.out),
            Some(words) => {
                assert_eq!(ran.exit, Exit::Failed, "{directory} {accept}");
                assert!(ran.out.contains(words), "{directory} {accept}: no {words:?} in\n{}", ran.out);
            }
        }
    }
    // Reading is allowed in any directory that is not protected.
    assert_eq!(TestHost::new(&policy("read", "")).run(&["policy", "check"]).exit, Exit::Done);
}

#[test]
fn notes_when_granted_directories_slow_the_start_of_postern_files() {
    let directories = |count: usize| {
        let all = (0..count).map(|number| format!("/srv/x{number}")).chain(["/srv/x0/below".to_owned()]);
        let all = all.map(|directory| format!("{directory:?}")).collect::<Vec<_>>().join(", ");
        let text = policy("write", "").replace("\"/srv/x\"", &all);
        let ran = TestHost::new(&text).run(&["policy", "check", "--strict"]);
        assert_eq!(ran.exit, Exit::Done, "{}", ran.out);
        ran.out
    };
    assert!(!directories(64).contains("slows each start"));
    let many = directories(65);
    assert!(many.contains("note: rules change files in 65 directories, which slows each start"), "{many}");
}

#[test]
fn reports_every_error_and_not_only_the_first() {
    let text = GOOD.replace("id = \"look\"", "id = \"Look\"").replace("*.service", "nginx") + "\nx = 1\n";
    let ran = TestHost::new(&text).run(&["policy", "check", "--json"]);
    let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(result["ok"], false);
    assert_eq!(result["errors"], 3);
    let lines =
        result["findings"].as_array().unwrap().iter().map(|finding| finding["line"].as_u64().unwrap());
    assert_eq!(lines.collect::<Vec<_>>(), [8, 11, 15]);
    assert_eq!(result["findings"][0]["severity"], "error");
}

#[test]
fn a_warning_is_an_error_only_when_strict() {
    let host = TestHost::new(&policy("write", "accept_risk = { write-outside-harmless = \"none needed\" }"));
    let ran = host.run(&["policy", "check"]);
    assert_eq!(ran.exit, Exit::Done);
    assert!(ran.out.contains(":11:17: warning: `accept_risk` names"), "{}", ran.out);
    assert_eq!(host.run(&["policy", "check", "--strict"]).exit, Exit::Failed);
}

#[test]
fn check_warns_about_a_client_that_does_not_exist_on_this_host() {
    let host = TestHost::new(&GOOD.replace("\"postern\"", "\"elsewhere\""));
    let ran = host.run(&["policy", "check"]);
    assert_eq!(ran.exit, Exit::Done);
    assert!(ran.out.contains(":5:1: warning: there is no user \"elsewhere\" on this host"), "{}", ran.out);
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let host = TestHost::new(&GOOD.replace("\"look\"", "\"a\\u001b[2Jb\""));
    let ran = host.run(&["policy", "check"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(!ran.out.contains('\u{1b}'), "{:?}", ran.out);
}

#[test]
fn shipped_example_policies_have_no_errors() {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/policy");
    let mut seen = 0;
    for entry in std::fs::read_dir(shipped).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let ran = if text.contains("\nversion = 1\n") {
            // The examples name people and groups that this host need not have.
            let mut host = TestHost::new("");
            host.host.accounts = every_account();
            host.run(&["policy", "check", "--strict", path.to_str().unwrap()])
        } else {
            // A file of policy.d.
            let host = TestHost::new(GOOD);
            host.write("policy.d/50-shipped.toml", &text);
            host.run(&["policy", "check", "--strict"])
        };
        assert_eq!(ran.exit, Exit::Done, "{}", ran.out);
        seen += 1;
    }
    assert!(seen >= 3, "starter, demo and validators are shipped");
}

#[test]
fn warns_about_a_deny_pattern_whose_star_misses_names() {
    let rule = |lines: &str| {
        format!(
            "{GOOD}\n[[rule]]\nid = \"never\"\nclient = \"agent\"\ndecision = \"deny\"\njustification = \"x\"\n{lines}\n"
        )
    };
    let units = "verbs = [\"unit.restart\"]\nunits = [\"*\"]";
    let files = "verbs = [\"file.read\"]\ndirectories = [\"/srv/www\"]\nfiles = [\"*\"]";
    for (lines, words) in [(units, "does not cross '@'"), (files, "takes no leading dot")] {
        let ran = TestHost::new(&rule(lines)).run(&["policy", "check"]);
        assert!(ran.exit == Exit::Done && ran.out.contains(words), "{lines}: {}", ran.out);
    }
    let whole = units.replace("[\"*\"]", "[\"*\", \"*@*\"]");
    assert!(!TestHost::new(&rule(&whole)).run(&["policy", "check"]).out.contains("cross"));
}

#[test]
fn what_no_rule_can_grant_stays_with_the_operator_and_no_reason_is_asked_for() {
    let dropin =
        SITE.replace("/var/www/html", "/etc/systemd/system/nginx.service.d").replace("*.html", "*.conf");
    let ran = TestHost::new(&format!("{GOOD}{dropin}")).run(&["policy", "check"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.out.contains(": that stays with the operator"), "{}", ran.out);
    assert!(ran.out.contains("error[systemd-unit-files]") && !ran.out.contains("accept_risk"), "{}", ran.out);
}
