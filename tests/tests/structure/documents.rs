//! The lists agree: rpcs, verbs, codes, calls of operators, and what SECURITY.md says of them.

use std::fs;
use std::path::Path;

use postern_policy::{Code, VerbId};
use postern_proto::HELPER_PROTO;
use postern_proto::code::exit_kind;

use crate::workspace::root;

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A section of SECURITY.md.
fn section(title: &str) -> String {
    let whole = text("SECURITY.md");
    let rest = whole.split(title).nth(1).unwrap_or_else(|| panic!("SECURITY.md has no {title}"));
    rest.split("\n## ").next().unwrap_or_default().to_owned()
}

#[test]
fn rpcs_are_the_verbs() {
    let rpcs = HELPER_PROTO.lines().filter_map(|line| line.trim().strip_prefix("rpc "));
    let rpcs = rpcs.collect::<Vec<_>>();
    let named = rpcs.iter().map(|line| line.split('(').next().unwrap_or_default()).collect::<Vec<_>>();
    assert_eq!(named, VerbId::ALL.iter().map(|verb| verb.rpc()).collect::<Vec<_>>());
    for (line, name) in rpcs.iter().zip(named) {
        assert_eq!(*line, format!("{name}({name}Request) returns (stream Event);"));
    }
}

#[test]
fn a_verbs_name_is_its_rpcs() {
    for verb in VerbId::ALL {
        let parts = verb.name().split(['.', '-']);
        let name = parts.map(|part| part[..1].to_uppercase() + &part[1..]).collect::<String>();
        assert_eq!(name, verb.rpc());
        assert_eq!(VerbId::from_name(verb.name()), Some(*verb));
    }
}

#[test]
fn security_md_lists_every_verb_and_whether_it_has_an_effect() {
    let table = section("## What root can be asked for");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>()).collect::<Vec<_>>();
    let listed = rows.iter().map(|cells| (cells[1].trim_matches('`'), cells[2])).collect::<Vec<_>>();
    let is_effect = |verb: &VerbId| if verb.is_effect() { "yes" } else { "no" };
    let verbs = VerbId::ALL.iter().map(|verb| (verb.name(), is_effect(verb))).collect::<Vec<_>>();
    assert_eq!(listed, verbs);
}

#[test]
fn security_md_lists_every_call_of_operators() {
    let table = section("## What operators can ask for");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let listed = rows.map(|row| row.split('`').next().unwrap_or_default()).collect::<Vec<_>>();
    let source = text("privhelper/audit/src/operator.rs");
    let rows = source.lines().filter_map(|line| line.strip_prefix("    (\""));
    let calls = rows.map(|row| row.split('"').next().unwrap_or_default()).collect::<Vec<_>>();
    assert!(calls.len() > 5, "{calls:?}");
    assert_eq!(listed, calls);
}

/// Everything in the files of a directory and below it.
fn sources(directory: &Path, into: &mut String) {
    for entry in fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push_str(&fs::read_to_string(&path).expect("a source"));
        }
    }
}

/// What the design sets a bar for and `tests/bench` measures.
#[test]
fn every_figure_with_a_bar_has_been_measured() {
    let page = text("BENCHMARKS.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | ")).collect::<Vec<_>>();
    let [memory, exposure] = ["resident memory of", "exposure of"].map(|figure| {
        let programs = ["broker", "audit", "files", "units", "probe", "agent"]
            .map(|name| format!("`postern-{name}.service`"));
        programs.map(|unit| format!("{figure} {unit}"))
    });
    let others = [
        "a decision",
        "sudo -n true",
        "audited `file.write` of 4 KiB, warm",
        "audited `file.write` of 1 MiB, warm",
        "unit.status",
        "package.install, tiny",
        "package.install, nginx-light",
        "decision, 1000",
        "`audit verify`",
        "root's programs after a minute",
        "resident memory of `postern-gateway@.service`",
        "exposure of `postern-gateway@1.service`",
    ];
    for what in others.map(str::to_owned).iter().chain(&memory).chain(&exposure) {
        let measured = rows.iter().filter(|(name, _)| name.starts_with(what.as_str())).collect::<Vec<_>>();
        assert!(!measured.is_empty(), "BENCHMARKS.md has no figure of {what}");
        for (_, rest) in measured {
            let figure = rest.split('|').next().unwrap_or_default();
            assert!(figure.contains(|c: char| c.is_ascii_digit()), "{what}: {figure}");
        }
    }
}

#[test]
fn every_promise_of_security_md_names_tests_that_exist() {
    let tables = ["## Invariants", "## What a person agrees to", "## What the agent keeps to"].map(section);
    let tables = tables.concat();
    let named = tables.split('`').skip(1).step_by(2);
    let named = named.filter(|name| name.contains('_') && !name.contains(['(', '/', '=', ' ']));
    let named = named.collect::<Vec<_>>();
    assert!(named.len() > 100, "{named:?}");
    let mut tests = String::new();
    for directory in ["privhelper", "agent/tests", "tests/corridor/tests", "tests/tests"] {
        sources(&root().join(directory), &mut tests);
    }
    let gone = named.iter().filter(|name| !tests.contains(&format!("fn {name}("))).collect::<Vec<_>>();
    assert!(gone.is_empty(), "no test has these names: {gone:?}");
}

#[test]
fn the_documents_stay_as_short_as_promised() {
    let words = text("privhelper/READING.md").split_whitespace().count();
    assert!(words <= 1000, "READING.md has {words} words");
    let lines = text("SECURITY.md").lines().count();
    assert!(lines <= 250, "SECURITY.md has {lines} lines");
    let lines = text("README.md").lines().count();
    assert!(lines <= 150, "README.md has {lines} lines");
}

#[test]
fn no_request_field_says_who_asks_or_what_is_approved() {
    // `claimed_uid` is the client's own word and marked so; `owner` and `group` are of files.
    let mut message = "";
    for line in HELPER_PROTO.lines() {
        if let Some(name) = line.strip_prefix("message ") {
            message = name.trim_end_matches(" {");
        }
        let is_request =
            message.ends_with("Request") || ["Meta", "FileChange", "Package", "Parameter"].contains(&message);
        let field = line.trim();
        if is_request && field.contains(" = ") && !field.starts_with("//") {
            let kind = field.split(' ').next().unwrap_or_default();
            assert!(
                !["map", "oneof", "float", "double"].iter().any(|bad| kind.starts_with(bad)),
                "{message}: {field}"
            );
            let name = field.split(" = ").next().and_then(|field| field.split(' ').next_back());
            let name = name.unwrap_or_default();
            for bad in ["uid", "gid", "pid", "role", "approv", "env", "cwd", "umask", "identity", "user"] {
                assert!(!name.contains(bad) || name == "claimed_uid", "{message}: {field}");
            }
        }
    }
}

#[test]
fn codes_are_unique_and_known() {
    for code in Code::ALL {
        assert_eq!(Code::from_name(code.as_str()), Some(*code));
        assert!(exit_kind(code.as_str()).is_some(), "{code:?} has no exit status");
        assert!(code.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
    }
}

/// Words of the picture, each with the source that prints it.
const RECORDED: &[(&str, &str, &str)] = &[
    ("== The agent has no way to root of its own", "The agent has no way to root of its own", "deploy/try"),
    ("(needed by it)", "(needed by it)", "agent/src/render/plan.rs"),
    ("at boot", "\"at boot\"", "agent/src/render/outcome.rs"),
    ("main pid", "\"main pid\"", "agent/src/render/outcome.rs"),
    (
        "[3/3] make sure nginx.service is running: ok",
        "make sure {name} is running",
        "agent/src/protocol/tool.rs",
    ),
];

#[test]
fn the_recording_shows_the_task_of_readme_in_the_words_of_today() {
    let picture = text("docs/recording.svg");
    let readme = text("README.md");
    assert!(readme.contains("](docs/recording.svg)"));
    let command =
        readme.lines().find(|line| line.starts_with("./deploy/try \"")).expect("the task of `Try it`");
    let task = command.split('"').nth(1).expect("a task");
    assert!(
        text("deploy/record").contains(&format!("readonly task=\"{task}\"")),
        "deploy/record runs another task"
    );
    // Tags end at `>`; a line is cut at 116 characters and blanks are not breakable.
    let words =
        picture.split('<').filter_map(|tag| tag.split_once('>')).map(|(_, words)| words).collect::<String>();
    let words =
        words.replace('\u{a0}', " ").replace("&#39;", "'").replace("&apos;", "'").replace("&quot;", "\"");
    assert!(words.contains(&task[..80]), "{words}");
    for outcome in ["installed nginx-light", "done: install nginx-light; ", "changed: ", "hello from postern"]
    {
        assert!(words.contains(outcome), "the picture lacks {outcome:?}");
    }
    for (shown, source, file) in RECORDED {
        assert!(words.contains(shown), "the picture lacks {shown:?}");
        assert!(text(file).contains(source), "{file} no longer says {source:?}: run deploy/record");
    }
}
