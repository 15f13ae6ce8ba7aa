//! Errors about unknown words name the nearest permitted word and list all of them.

use crate::support::{GOOD, TestHost};
use clap::Parser;
use postern_admin::cli::Cli;
use postern_admin::io::Exit;
use postern_admin::text::unknown;

/// A part of a policy with an unknown word, and the error.
const POLICIES: &[(&str, &str)] = &[
    (
        "[undo]\nmax_cuont = 3",
        "unknown key \"max_cuont\": did you mean `max_count`? (permitted: max_bytes, max_count, max_age)",
    ),
    ("[undo]\nsubnet = 3", "unknown key \"subnet\" (permitted: max_bytes, max_count, max_age)"),
    (
        "[[command]]\nname = \"x\"\nargv = [\"/usr/bin/x\"]\nsandbox = \"jail\"",
        "unknown sandbox \"jail\" (permitted: strict, validator, none)",
    ),
    (
        "[[command]]\nname = \"x\"\nargv = [\"/usr/bin/x\", \"{p}\"]\nparams.p = { kind = \"subnet\" }",
        "unknown kind of parameter \"subnet\" (permitted: enum, int, size, name, ",
    ),
    (
        "[[command]]\nname = \"x\"\nargv = [\"/usr/bin/x\", \"{p}\", \"{q}\"]\nparams.p = { kind = \"name\" }",
        "`argv` names an unknown parameter \"q\": did you mean `p`? (permitted: p)",
    ),
    (
        "[[command]]\nname = \"x\"\nargv = [\"/usr/bin/x\"]\ncapabilities = [\"ROOT\"]",
        "unknown capability \"ROOT\" (permitted: CAP_",
    ),
    (
        "[[command]]\nname = \"x\"\nargv = [\"/usr/bin/x\"]\nreverse = \"back\"",
        "unknown command \"back\" (permitted: x)",
    ),
];

/// Lines of a rule with an unknown word, and the error.
const RULES: &[(&str, &str)] = &[
    ("verbs = [\"unit.stap\"]", "unknown verb \"unit.stap\": did you mean `unit.stop`? (permitted: "),
    (
        "verbs = [\"unit.stop\"]\nunits = [\"a.service\"]\ndecision = \"maybe\"",
        "unknown decision \"maybe\" (permitted: allow, ask, deny)",
    ),
    ("verbs = [\"command.run\"]\ncommands = [\"grow\"]", "unknown command \"grow\" (none is defined)"),
    (
        "verbs = [\"unit.stop\"]\nunits = [\"a.service\"]\nmatches = [{ verb = \"unit.start\", unit = \"a.service\" }]",
        "unknown verb of this rule for such a request \"unit.start\": did you mean `unit.stop`? (permitted: unit.stop)",
    ),
    (
        "verbs = [\"unit.stop\"]\nunits = [\"auditd.service\"]\naccept_risk = { everything = \"x\" }",
        "`accept_risk` names an unknown finding \"everything\" (permitted: protection-unit)",
    ),
];

#[test]
fn policy_errors_list_the_permitted_words_and_the_nearest_one() {
    for (lines, words) in POLICIES {
        let ran = TestHost::new(&format!("{GOOD}\n{lines}\n")).run(&["policy", "check"]);
        assert!(ran.exit == Exit::Failed && ran.out.contains(words), "no {words:?} in\n{}", ran.out);
    }
    for (lines, words) in RULES {
        let decision = if lines.contains("decision") { "" } else { "decision = \"allow\"\n" };
        let rule =
            format!("[[rule]]\nid = \"r\"\nclient = \"agent\"\njustification = \"x\"\n{decision}{lines}\n");
        let ran = TestHost::new(&format!("{GOOD}\n{rule}")).run(&["policy", "check", "--strict"]);
        assert!(ran.exit == Exit::Failed && ran.out.contains(words), "no {words:?} in\n{}", ran.out);
    }
    let client = GOOD.replacen("client = \"agent\"", "client = \"nobody\"", 1);
    let ran = TestHost::new(&client).run(&["policy", "check"]);
    assert!(ran.out.contains("unknown client \"nobody\" (permitted: agent)"), "{}", ran.out);
}

#[test]
fn command_line_errors_list_the_permitted_words_and_the_nearest_one() {
    let host = TestHost::new(GOOD);
    let ran = host.run(&["policy", "explain", "unit.status", "nginx", "--client", "agnt"]);
    assert!(
        ran.err.contains("unknown client \"agnt\": did you mean `agent`? (permitted: agent)"),
        "{}",
        ran.err
    );
    let ran = host.run(&["policy", "explain", "unit.statis", "nginx"]);
    assert!(ran.err.contains("did you mean `unit.status`? (permitted: package.install, "), "{}", ran.err);
    for (arguments, words) in [
        (
            ["--decision", "deni"],
            "unknown decision \"deni\": did you mean `deny`? (permitted: allow, ask, deny)",
        ),
        (
            ["--verb", "file.raed"],
            "unknown verb \"file.raed\": did you mean `file.read`? (permitted: package.install, ",
        ),
    ] {
        let error = Cli::try_parse_from(["postern-admin", "audit", "show"].into_iter().chain(arguments));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn an_unknown_word_without_permitted_ones_says_so() {
    assert_eq!(unknown("source", "debian", []), "unknown source \"debian\" (none is defined)");
}

#[test]
fn event_filter_permits_the_recorders_events_and_lists_them() {
    let events = postern_audit::log::Event::ALL.iter().map(|event| event.as_str()).collect::<Vec<_>>();
    assert_eq!(postern_admin::audit::EVENTS.to_vec(), events);
    let error = Cli::try_parse_from(["postern-admin", "audit", "show", "--event", "refusde"]).unwrap_err();
    let words = "unknown event \"refusde\": did you mean `refused`? (permitted: start, stop, ";
    assert!(error.to_string().contains(words), "{error}");
}
