//! The rules' file.

use postern_agent::protocol::confinement::Profile;
use postern_agent::shell_policy::{Capability, Level, Rules};

#[test]
fn the_built_in_rules_keep_every_promise_of_their_examples() {
    let rules = Rules::builtin().unwrap_or_else(|why| panic!("{why}"));
    assert!(rules.count() > 100, "{}", rules.count());
}

fn refusal(text: &str) -> String {
    Rules::with("rules.yaml", text).map(|rules| rules.count()).unwrap_err()
}

#[test]
fn a_file_with_an_error_is_refused_whole_and_says_where() {
    let rule =
        "version: 1\nrules:\n  - {id: mine, level: confirm, score: 9, command: [frob], reason: because";
    for (text, why) in [
        (format!("{rule}, frobs: 1}}"), "frobs"),
        (
            format!("{rule}}}\n  - {{id: mine, level: block, score: 9, command: [x], reason: y}}"),
            "stands twice",
        ),
        (format!("{rule}, match: [ls]}}"), "does not apply to its own example"),
        (format!("{rule}, not_match: [\"frob; ls\"]}}"), "applies to \"frob; ls\""),
        (format!("{rule}, argument: [\"(\"]}}"), "regex"),
        (format!("{rule}, when: empty}}"), "either 'when' or"),
        (format!("{rule}, options: a}}"), "'safe' needs"),
        ("version: 1\nrules:\n  - {id: mine, level: safe, command: [frob]}".to_owned(), "'safe' needs"),
        (
            "version: 1\nrules:\n  - {id: mine, level: confirm, command: [frob], reason: x}".to_owned(),
            "'score'",
        ),
        (
            "version: 1\nrules:\n  - {id: mine, level: confirm, score: 9, command: [frob]}".to_owned(),
            "'reason'",
        ),
        (
            "version: 1\nrules:\n  - {id: a b, level: safe, command: [frob], options: ''}".to_owned(),
            "an id is",
        ),
        ("version: 1\nrules:\n  - {id: mine, level: harmless}".to_owned(), "harmless"),
        (
            "version: 1\nrules:\n  - {id: mine, level: confrim}".to_owned(),
            "did you mean `confirm`? (permitted: ",
        ),
        ("version: 1\nrulse: []".to_owned(), "did you mean `rules`? (permitted: "),
        ("version: 2".to_owned(), "version 2"),
        ("version: 1\nversion: 1".to_owned(), "version"),
        ("version: 1\nrules: [".to_owned(), "rules.yaml"),
        ("rules: []".to_owned(), "version"),
    ] {
        let told = refusal(&text);
        assert!(told.starts_with("rules.yaml: ") && told.contains(why), "{text:?}: {told}");
        assert!(!told.contains('\n'), "{told}");
    }
}

#[test]
fn a_rule_with_a_built_in_id_replaces_it_and_a_new_id_is_added() {
    let text = "version: 1\nrules:\n\
        - {id: power, level: confirm, score: 70, command: [reboot], reason: a test machine}\n\
        - {id: mine, level: safe, command: [frob], options: 'v --all', match: ['frob -v']}\n";
    let rules = Rules::with("rules.yaml", text).unwrap();
    assert_eq!(rules.count(), Rules::builtin().unwrap().count() + 1);
    assert_eq!(rules.judge("reboot").level, Level::Confirm);
    assert_eq!(rules.judge("frob -v --all x").level, Level::Safe);
    assert_eq!(rules.judge("frob -w").level, Level::Confirm);
    assert_eq!(rules.judge("rm -rf /").level, Level::Block);
}

#[test]
fn without_the_built_in_rules_nothing_is_safe_that_the_file_does_not_prove() {
    let text = "version: 1\ninclude_builtin: false\nrules:\n  - {id: mine, level: safe, command: [ls], options: l}\n";
    let rules = Rules::with("rules.yaml", text).unwrap();
    assert_eq!(rules.count(), 1);
    assert_eq!(rules.judge("ls -l").level, Level::Safe);
    for text in ["", "ls -a", "ls 'x", "ls &", "cat f", "ls > f", "$X", "ls \u{202e}", "cd $X; ls", "ls $X"] {
        assert_eq!(rules.judge(text).level, Level::Confirm, "{text:?}");
    }
}

#[test]
fn a_yes_is_remembered_only_for_what_destroys_nothing() {
    let rules = Rules::builtin().unwrap();
    for (text, can) in [
        ("git push", true),
        ("mkdir x", true),
        ("rm x", false),
        ("ls", false),
        ("reboot", false),
        ("frob", true),
    ] {
        assert_eq!(rules.judge(text).can_remember, can, "{text}");
    }
}

#[test]
fn capabilities_and_score_are_those_of_all_rules_and_the_profile_follows() {
    let rules = Rules::builtin().unwrap();
    let decision = rules.judge("sudo systemctl restart nginx; rm x");
    assert_eq!(decision.score, 85);
    assert_eq!(decision.rules[0].id, "delete");
    for capability in [Capability::Sudo, Capability::ServiceMutate, Capability::Delete] {
        assert!(decision.capabilities.contains(&capability), "{capability:?}");
    }
    for (text, profile) in [
        ("cat f", Profile::ReadOnly),
        ("ps aux", Profile::SystemInspect),
        ("cat f | wc -l; uptime", Profile::SystemInspect),
        ("mkdir x", Profile::WorkspaceWrite),
        ("rm -rf /", Profile::None),
    ] {
        assert_eq!(rules.judge(text).profile, profile, "{text}");
    }
}

#[test]
fn a_word_with_blanks_or_signs_is_one_word_to_a_program_without_a_shell() {
    let rules = Rules::builtin().unwrap();
    let judge =
        |argv: &[&str]| rules.judge_argv(&argv.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()).level;
    assert_eq!(judge(&["echo", "$(rm -rf /)"]), Level::Safe);
    assert_eq!(judge(&["eval", "$(rm -rf /)"]), Level::Block);
    assert_eq!(judge(&["ls", "a b; c"]), Level::Safe);
    assert_eq!(judge(&["rm", "-rf", "/"]), Level::Block);
    assert_eq!(judge(&["sh", "-c", "rm -rf /"]), Level::Block);
    assert_eq!(judge(&[]), Level::Confirm);
}

#[test]
fn there_are_36_capabilities_each_with_its_own_name() {
    let names: std::collections::BTreeSet<&str> = Capability::ALL.iter().map(|c| c.name()).collect();
    assert_eq!(names.len(), 36);
}

#[test]
fn printed_rules_are_a_file_that_says_the_same() {
    let own = "version: 1\nrules:\n  - {id: mine, level: safe, command: [frob], options: 'v --all', match: ['frob -v']}\n";
    let rules = Rules::with("rules.yaml", own).unwrap();
    let printed = rules.to_yaml();
    let again = Rules::with("printed.yaml", &printed).unwrap();
    assert_eq!((rules.count(), &printed), (again.count(), &again.to_yaml()));
    for text in ["frob -v", "rm -rf /", "sudo reboot", "ls -l", "curl x | sh", "x=1 y", "cat /etc/shadow"] {
        assert_eq!(format!("{:?}", rules.judge(text)), format!("{:?}", again.judge(text)), "{text}");
    }
}
