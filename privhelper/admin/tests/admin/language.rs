//! The whole language: every verb can be listed, every default stands in the accepted form, names are known.

use crate::support::{GOOD, TestHost};
use postern_admin::io::Exit;
use postern_admin::policy::accepted;
use postern_policy::VerbId;
use postern_proto::root::v1 as root;

/// A policy that uses everything.
const WHOLE: &str = r#"version = 1
[[client]]
name = "agent"
user = "postern"
[[client]]
name = "web"
group = "web"
[[source]]
name = "debian"
entries = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list:3"]
hosts = ["deb.example.org"]
signed_by = ["/usr/share/keyrings/x.gpg"]
[[rule]]
id = "install"
client = "agent"
verbs = ["package.install", "package.upgrade", "package.remove", "request.undo"]
packages = ["nginx*"]
sources = ["debian"]
new_packages = true
decision = "ask"
approvers = 2
approval_ttl = "1h"
justification = "x"
[[rule]]
id = "files"
client = "agent"
verbs = ["file.write", "file.patch", "file.remove", "file.list"]
directories = ["/srv/x"]
files = ["*.conf"]
lines = ["a = *"]
validate = "agrees"
decision = "allow"
justification = "x"
matches = [{ path = "/srv/x/a.conf", content = "a = 1\n\na = 2" }, { verb = "file.remove", path = "/srv/x/a.conf" }]
does_not_match = [{ path = "/srv/x/a.conf", content = "b" }]
[[rule]]
id = "directories"
client = "web"
verbs = ["file.mkdir", "file.set-owner"]
directories = ["/srv/y"]
files = ["*"]
decision = "allow"
justification = "x"
[[rule]]
id = "grow"
client = "agent"
verbs = ["command.run"]
commands = ["grow"]
params = { size = ["*G", "1*M"] }
decision = "allow"
justification = "x"
matches = [{ command = "grow", params = { size = "2G", name = "data" } }]
does_not_match = [
  { command = "grow", params = { size = "2M", name = "data" } },
  { command = "grow", params = { size = "2G", name = "-f" } },
  { command = "grow", params = { size = "xG", name = "data" } },
  { command = "grow", params = { size = "2G" } },
  { command = "agrees" },
]
[[rule]]
id = "upgrade"
client = "web"
verbs = ["package.upgrade"]
packages = ["*"]
decision = "deny"
justification = "x"
[[command]]
name = "grow"
argv = ["/usr/bin/grow", "{size}", "name={name}"]
params.size = { kind = "size" }
params.name = { kind = "name" }
reverse = "shrink"
[[command]]
name = "shrink"
argv = ["/usr/bin/shrink", "{name}"]
params = { name = { kind = "name" } }
user = "www-data"
env = { B = "2", A = "1" }
[[command]]
name = "agrees"
argv = ["/usr/bin/agrees"]
sandbox = "validator"
[undo]
max_count = 5
[approvals]
max_pending = 7
[protect]
paths = ["/srv/x/keep"]
"#;

fn accept(policy: &str) -> root::Rules {
    let host = TestHost::new(policy);
    let ran = host.run(&["policy", "apply", "--yes"]);
    assert_eq!(ran.exit, Exit::Done, "{} {}", ran.out, ran.err);
    accepted::read(&host.host.accepted_dir()).unwrap().unwrap().rules
}

#[test]
fn compiles_every_default_into_the_accepted_policy() {
    let rules = accept(WHOLE);
    let rule = |id: &str| rules.rules.iter().find(|rule| rule.id == id).unwrap();
    let install = rule("install");
    assert_eq!(
        (install.decision(), install.approvers, install.approval_ttl_s),
        (root::Decision::Ask, 2, 3600)
    );
    assert_eq!((install.max_new_packages, install.new_packages, install.timeout_s), (50, true, 600));
    assert_eq!(install.sources, ["debian"]);
    let files = rule("files");
    assert_eq!((files.max_bytes, files.max_files, files.depth, files.allow_create), (1_048_576, 20, 1, true));
    assert_eq!(
        (files.modes.as_slice(), files.owners.as_slice()),
        (&["0644".to_owned()][..], &["root".to_owned()][..])
    );
    assert_eq!((files.lines.as_slice(), files.validate.as_str()), (&["a = *".to_owned()][..], "agrees"));
    assert!(!files.no_undo_copy);
    let directories = rule("directories");
    assert_eq!(
        (directories.modes.as_slice(), directories.groups.as_slice()),
        (&["0755".to_owned()][..], &["root".to_owned()][..])
    );
    assert_eq!((directories.max_files, directories.no_undo_copy), (0, false));
    let grow = rule("grow");
    assert_eq!(
        (grow.commands.as_slice(), grow.parameters[0].name.as_str()),
        (&["grow".to_owned()][..], "size")
    );
    let deny = root::Rule { packages: vec!["*".to_owned()], ..root::Rule::default() };
    let bare = root::Rule {
        id: String::new(),
        client: String::new(),
        verbs: Vec::new(),
        decision: 0,
        ..rule("upgrade").clone()
    };
    assert_eq!(bare, deny, "a deny rule has selectors only");

    assert_eq!(rules.sources[0].entries.len(), 2);
    let names =
        |command: &root::Command| command.parameters.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&rules.commands[0]), ["name", "size"], "parameters are sorted");
    let shrink = &rules.commands[1];
    assert_eq!(
        (shrink.user.as_str(), shrink.cwd.as_str(), shrink.timeout_s, shrink.output_bytes),
        ("www-data", "/", 30, 65536)
    );
    assert_eq!(
        (shrink.sandbox(), shrink.env.as_slice()),
        (root::Sandbox::Strict, &["A=1".to_owned(), "B=2".to_owned()][..])
    );
    assert_eq!(rules.commands[0].user, "nobody");
    let audit = root::AuditLimits {
        max_bytes: 67_108_864,
        keep_files: 30,
        tip_interval_s: 600,
        keep_days: 30,
        max_days: 30,
        records_per_minute: 60,
        records_per_hour: 2000,
    };
    let undo = root::UndoLimits { max_bytes: 268_435_456, max_count: 5, max_age_s: 30 * 24 * 3600 };
    let approvals = root::ApprovalLimits { max_pending: 7, max_pending_per_client: 3 };
    assert_eq!((rules.audit, rules.undo, rules.approvals), (Some(audit), Some(undo), Some(approvals)));
    assert_eq!(rules.protect.unwrap().paths, ["/srv/x/keep"]);
}

#[test]
fn compiles_keep_for_undo() {
    for (value, no_undo_copy) in [("false", true), ("true", false)] {
        let with = format!("validate = \"agrees\"\nkeep_for_undo = {value}");
        let rules = accept(&WHOLE.replace("validate = \"agrees\"", &with));
        let files = rules.rules.iter().find(|rule| rule.id == "files").unwrap();
        assert_eq!(files.no_undo_copy, no_undo_copy);
    }
}

#[test]
fn compiles_every_key_of_the_language() {
    let ran = TestHost::new(WHOLE).run(&["policy", "check"]);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.out);
    assert!(!ran.out.contains("not built"), "{}", ran.out);
}

/// A rule of this verb alone, with what it needs.
fn rule_of(verb: VerbId) -> String {
    let needs = match verb.name().split('.').next().unwrap() {
        "file" if verb == VerbId::FileSetMode => {
            "directories = [\"/srv\"]\nfiles = [\"*\"]\nmodes = [\"0644\"]"
        }
        "file" => "directories = [\"/srv\"]\nfiles = [\"*\"]",
        "command" => "commands = [\"x\"]",
        "package"
            if !matches!(verb, VerbId::PackageUpdate | VerbId::PackageRepair | VerbId::PackageAutoremove) =>
        {
            "packages = [\"ab\"]"
        }
        "unit" if verb != VerbId::UnitDaemonReload => "units = [\"a.service\"]",
        _ => "",
    };
    let command = "[[command]]\nname = \"x\"\nargv = [\"/x\"]\n";
    let verb = verb.name();
    format!(
        "{GOOD}\n[[rule]]\nid = \"r\"\nclient = \"agent\"\nverbs = [\"{verb}\"]\n{needs}\ndecision = \"allow\"\njustification = \"x\"\n{command}"
    )
}

#[test]
fn compiles_a_rule_for_every_verb() {
    let mut listed = 0;
    for verb in VerbId::ALL.iter().filter(|verb| !verb.is_open() && **verb != VerbId::RequestUndo) {
        let ran = TestHost::new(&rule_of(*verb)).run(&["policy", "check"]);
        assert_eq!(ran.exit, Exit::Done, "{verb:?} {}", ran.out);
        listed += 1;
    }
    // Four verbs are open, and an undo is listed beside others.
    assert_eq!(listed, VerbId::ALL.len() - 5);
}

#[test]
fn rejects_two_names_for_the_same_directory() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(at("a")).unwrap();
    std::fs::create_dir(at("b")).unwrap();
    std::os::unix::fs::symlink("a", at("c")).unwrap();
    let rule = |id: &str, directory: &str| {
        format!(
            "\n[[rule]]\nid = \"{id}\"\nclient = \"agent\"\nverbs = [\"file.read\"]\ndirectories = [\"{directory}\"]\ndecision = \"allow\"\njustification = \"x\"\n"
        )
    };
    let check = |names: [&str; 2]| {
        let text = format!("{GOOD}{}{}", rule("one", &at(names[0])), rule("two", &at(names[1])));
        TestHost::new(&text).run(&["policy", "check"])
    };
    for names in [["a", "b"], ["a", "a"], ["a", "missing"], ["missing", "gone"]] {
        let ran = check(names);
        assert_eq!(ran.exit, Exit::Done, "{names:?} {}", ran.out);
    }
    let ran = check(["a", "c"]);
    assert_eq!(ran.exit, Exit::Failed);
    let words = format!("{:?} is the same directory on this host as {:?} at ", at("c"), at("a"));
    assert!(
        ran.out.contains(&words) && ran.out.contains("policy.toml:19: write one name for it"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("policy.toml:27:16: error: "), "{}", ran.out);
}

#[test]
fn rejects_a_settings_table_that_is_defined_in_two_files() {
    let host = TestHost::new(&format!("{GOOD}\n[protect]\nunits = [\"ssh.service\"]\n"));
    host.write("policy.d/a.toml", "[protect]\nunits = [\"cron.service\"]\n");
    let ran = host.run(&["policy", "check"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.out.contains("a.toml:1:1: error: [protect] is already defined at "), "{}", ran.out);
    assert!(ran.out.contains("policy.toml:15"), "{}", ran.out);
}

#[test]
fn rejects_a_rule_that_grants_a_name_the_policy_protects() {
    let protect = "\n[protect]\nunits = [\"a.service\"]\npackages = [\"ab\"]\npaths = [\"/srv\"]\n";
    for (verb, is_effect) in [
        (VerbId::UnitStop, true),
        (VerbId::UnitStatus, false),
        (VerbId::PackageInstall, true),
        (VerbId::PackageShow, false),
        (VerbId::FileRead, true),
    ] {
        let ran = TestHost::new(&format!("{}{protect}", rule_of(verb))).run(&["policy", "check"]);
        assert_eq!(ran.exit, if is_effect { Exit::Failed } else { Exit::Done }, "{verb:?} {}", ran.out);
        assert_eq!(ran.out.contains("is protected: no rule can grant"), is_effect, "{verb:?} {}", ran.out);
    }
}

#[test]
fn checks_names_in_a_rule_with_errors_and_reports_nothing_twice() {
    let text = format!(
        "{GOOD}\n[[rule]]\nid = \"r\"\nclient = \"agent\"\nverbs = [\"command.run\"]\ncommands = [\"grwo\", 5]\nparams = 5\n\
         decision = \"ask\"\napprovers = 7\njustification = \"x\"\n[[command]]\nname = \"grow\"\nargv = [\"/x\"]\n"
    );
    let ran = TestHost::new(&text).run(&["policy", "check"]);
    let errors = ran.out.lines().filter(|line| line.contains(" error: ")).collect::<Vec<_>>();
    assert_eq!(errors.len(), 4, "{}", ran.out);
    for words in [
        ":19:13: error: unknown command \"grwo\": did you mean `grow`?",
        ":19:21: error: `commands` must be a list of texts in quotes",
        ":20:10: error: `params` must be a table such as",
        ":22:13: error: `approvers` must be a whole number from 1 to 5",
    ] {
        assert!(errors.iter().any(|line| line.contains(words)), "{words}: {}", ran.out);
    }
}

/// A time zone as in /usr/share/zoneinfo, by this rule of POSIX alone: version 2 of tzfile(5) with one type and no changes.
fn time_zone(rule: &str) -> Vec<u8> {
    let block = |size: usize| {
        let mut block = b"TZif2".to_vec();
        block.extend([0; 15]);
        for count in [0_u32, 0, 0, 0, 1, 4] {
            block.extend(count.to_be_bytes());
        }
        block.extend(3600_u32.to_be_bytes());
        block.extend([0, 0]);
        block.extend(b"CET\0");
        block.truncate(size);
        block
    };
    [block(usize::MAX), block(usize::MAX), format!("\n{rule}\n").into_bytes()].concat()
}

fn with_hours(hours: &str) -> String {
    WHOLE.replace("id = \"install\"", &format!("id = \"install\"\nhours = {hours}"))
}

#[test]
fn compiles_hours_with_the_time_zone_of_the_host() {
    let host = TestHost::new(&with_hours("[\"Sun 02:00-05:00\", \"Fri..Sat 22:00-06:00\", \"00:00-24:00\"]"));
    std::fs::write(&host.host.localtime, time_zone("CET-1CEST,M3.5.0,M10.5.0/3")).unwrap();
    let ran = host.run(&["policy", "apply", "--yes"]);
    assert_eq!(ran.exit, Exit::Done, "{} {}", ran.out, ran.err);
    let rules = accepted::read(&host.host.accepted_dir()).unwrap().unwrap().rules;
    let day = 24 * 60;
    let windows = rules.rules.iter().find(|rule| rule.id == "install").unwrap().hours.iter();
    let windows = windows.map(|window| (window.start, window.minutes)).collect::<Vec<_>>();
    let whole = (0..7).map(|number| (number * day, day));
    let mut expected =
        whole.chain([(6 * day + 120, 180), (4 * day + 1320, 480), (5 * day + 1320, 480)]).collect::<Vec<_>>();
    expected.sort_unstable();
    assert_eq!(windows, expected);
    let changes =
        rules.clock_changes.iter().map(|change| (change.unix_s, change.offset_s)).collect::<Vec<_>>();
    // Two a year from 2020 to 2099.
    assert_eq!((changes.len(), changes[0]), (161, (1_577_836_800, 3600)));
    assert!(changes.contains(&(1_774_746_000, 7200)) && changes.contains(&(1_792_890_000, 3600)));
    // A host that moves to another zone has another policy, which nobody has accepted.
    std::fs::remove_file(&host.host.localtime).unwrap();
    let ran = host.run(&["policy", "diff", "accepted"]);
    assert!(ran.out.contains("UTC"), "{}", ran.out);
}

#[test]
fn refuses_hours_that_never_open_or_cannot_be_read() {
    for (hours, why) in [
        ("\"Sun 02:00-02:00\"", "never opens: it ends when it begins"),
        ("[]", "`hours` names no window"),
        ("\"Sunday 02:00-03:00\"", "is not valid: write days and times"),
        ("\"Mon-Fri 02:00-03:00\"", "is not valid"),
        ("\"Sun 2:00-03:00\"", "is not valid"),
        ("\"Sun 02:00-24:01\"", "is not valid"),
        ("\"Sun 24:00-02:00\"", "is not valid"),
        ("\"Sun 02:60-03:00\"", "is not valid"),
        ("\"Sun\"", "is not valid"),
        ("3", "`hours` must be"),
    ] {
        let ran = TestHost::new(&with_hours(hours)).run(&["policy", "check"]);
        assert!(ran.exit == Exit::Failed && ran.out.contains(why), "{hours}: {}", ran.out);
    }
    let broken = TestHost::new(&with_hours("\"Sun 02:00-03:00\""));
    std::fs::write(&broken.host.localtime, "no time zone").unwrap();
    let ran = broken.run(&["policy", "check"]);
    assert!(ran.out.contains("the time zone of `hours` cannot be read"), "{}", ran.out);
}

#[test]
fn refuses_keep_within_where_nothing_takes_the_change_back() {
    let rule = |lines: &str| {
        format!(
            "{GOOD}\n[[rule]]\nid = \"r\"\nclient = \"agent\"\ndecision = \"allow\"\njustification = \"x\"\n{lines}\n"
        )
    };
    let (units, files) = ("units = [\"a.service\"]", "directories = [\"/srv\"]\nfiles = [\"*\"]");
    let command = "[[command]]\nname = \"x\"\nargv = [\"/x\"]";
    for (lines, why) in [
        (
            format!(
                "verbs = [\"file.write\", \"request.undo\", \"file.read\"]\n{files}\nkeep_within = \"12h\""
            ),
            "",
        ),
        (
            format!("verbs = [\"unit.stop\"]\n{units}\nkeep_within = \"2m\""),
            "is used by no verb of this rule",
        ),
        (format!("verbs = [\"file.write\"]\n{files}\nkeep_within = \"9s\""), "must be from 10 s"),
        (format!("verbs = [\"file.write\"]\n{files}\nkeep_within = \"13h\""), "to 12 h"),
        (
            format!("verbs = [\"file.write\"]\n{files}\nkeep_within = \"2m\"\nkeep_for_undo = false"),
            "needs the replaced content",
        ),
        (
            format!("verbs = [\"command.run\"]\ncommands = [\"x\"]\nkeep_within = \"2m\"\n{command}"),
            "command \"x\" has no `reverse` that takes it back",
        ),
        // To load anew what a file says is taken back by the same, once the file is.
        (
            format!(
                "verbs = [\"command.run\"]\ncommands = [\"x\"]\nkeep_within = \"2m\"\n{command}\nreverse = \"x\""
            ),
            "",
        ),
    ] {
        let ran = TestHost::new(&rule(&lines)).run(&["policy", "check"]);
        assert_eq!(ran.exit == Exit::Done, why.is_empty(), "{lines}: {}", ran.out);
        assert!(ran.out.contains(why), "{lines}: {}", ran.out);
    }
}

#[test]
fn warns_of_a_reboot_that_is_granted_at_any_time() {
    let any = rule_of(VerbId::HostReboot);
    let night = any.replace(
        "decision = \"allow\"\njustification = \"x\"\n[[command]]",
        "decision = \"allow\"\nhours = \"Sun 02:00-05:00\"\njustification = \"x\"\n[[command]]",
    );
    let asked =
        any.replace("[\"host.reboot\"]\n\ndecision = \"allow\"", "[\"host.reboot\"]\n\ndecision = \"ask\"");
    assert!(night != any && asked != any);
    for (policy, is_warned) in [(any, true), (night, false), (asked, false)] {
        let ran = TestHost::new(&policy).run(&["policy", "check"]);
        assert_eq!(ran.out.contains("reboot the host at any time"), is_warned, "{}", ran.out);
        assert_eq!(ran.exit, Exit::Done, "{}", ran.out);
    }
}

#[test]
fn rules_for_people_say_whom_and_deny_rules_have_none() {
    let rule = |keys: &str| WHOLE.replace("id = \"install\"", &format!("id = \"install\"\n{keys}"));
    let host = TestHost::new(&rule(
        "people = [\"ann\", \"group:web\"]\nperson_rate = \"2/1h\"\napprovers_exclude_asker = true",
    ));
    let ran = host.run(&["policy", "apply", "--yes"]);
    assert_eq!(ran.exit, Exit::Done, "{} {}", ran.out, ran.err);
    let rules = accepted::read(&host.host.accepted_dir()).unwrap().unwrap().rules;
    let named = rules.rules.iter().find(|rule| rule.id == "install").unwrap();
    assert_eq!(named.people, ["ann", "group:web"]);
    assert_eq!((named.person_rate_count, named.person_rate_window_s), (2, 3600));
    assert!(named.approvers_exclude_asker);
    let report = host.run(&["policy", "report"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["ann", "group:web", "only where a session of ann or group:web is open and is quoted"] {
        assert!(report.contains(words), "no {words:?} in {report}");
    }
    let explain = |person: &[&str]| {
        host.run(&[&["policy", "explain", "package.install", "nginx", "--client", "agent"], person].concat())
    };
    assert_eq!(explain(&["--person", "ann"]).exit, Exit::NotApproved, "it asks");
    let nobody = explain(&[]);
    assert_eq!(nobody.exit, Exit::Refused);
    assert!(nobody.out.contains("it is for ann, group:web with an open session"), "{}", nobody.out);
    for (keys, words) in [
        ("people = []", "`people` is empty"),
        ("people = [\"group:\"]", "must be a user's or group's name"),
        ("person_rate = \"2/1h\"", "`person_rate` without `people`"),
    ] {
        let ran = TestHost::new(&rule(keys)).run(&["policy", "check"]);
        assert!(ran.exit != Exit::Done && ran.out.contains(words), "{keys}: {}", ran.out);
    }
    let deny = "\n[[rule]]\nid = \"no\"\nclient = \"agent\"\nverbs = [\"unit.stop\"]\nunits = [\"x.service\"]\n\
                people = [\"ann\"]\ndecision = \"deny\"\njustification = \"x\"\n";
    let ran = TestHost::new(&format!("{WHOLE}{deny}")).run(&["policy", "check"]);
    assert!(ran.out.contains("nobody has to open a session"), "{}", ran.out);
}
