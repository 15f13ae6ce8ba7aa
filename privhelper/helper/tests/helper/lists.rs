//! The lists agree: rpcs, verbs, table, SECURITY.md.

use postern_helper::operator::CALLS;
use postern_helper::table::{TABLE, find};
use postern_policy::{Code, VerbId};
use postern_proto::HELPER_PROTO;
use postern_proto::code::meaning;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap()
}

#[test]
fn rpcs_are_the_verbs() {
    let rpcs: Vec<&str> = HELPER_PROTO
        .lines()
        .filter_map(|line| line.trim().strip_prefix("rpc "))
        .map(|line| line.split('(').next().unwrap())
        .collect();
    let verbs: Vec<&str> = VerbId::ALL.iter().map(|verb| verb.rpc()).collect();
    assert_eq!(rpcs, verbs);
    for line in HELPER_PROTO.lines().filter(|line| line.trim().starts_with("rpc ")) {
        let rpc = line.trim().trim_start_matches("rpc ").split('(').next().unwrap();
        assert_eq!(line.trim(), format!("rpc {rpc}({rpc}Request) returns (stream Event);"));
    }
}

#[test]
fn a_verbs_name_is_its_rpcs() {
    for verb in VerbId::ALL {
        let name: String = verb
            .name()
            .split(['.', '-'])
            .flat_map(|part| [part[..1].to_uppercase(), part[1..].to_owned()])
            .collect();
        assert_eq!(name, verb.rpc());
        assert_eq!(VerbId::from_name(verb.name()), Some(*verb));
    }
}

#[test]
fn security_md_lists_every_verb_and_all_are_built() {
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
        .filter(|cells| VerbId::from_name(cells[1].trim_matches('`')).is_some())
        .collect();
    let names: Vec<&str> = rows.iter().map(|cells| cells[1].trim_matches('`')).collect();
    assert_eq!(names, VerbId::ALL.iter().map(|verb| verb.name()).collect::<Vec<_>>());
    for cells in rows {
        let row = TABLE.iter().find(|row| row.id.name() == cells[1].trim_matches('`'));
        assert_eq!(row.map(|row| row.is_effect), Some(cells[2] == "yes"), "{cells:?}");
    }
}

#[test]
fn security_md_lists_every_call_of_operators() {
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let table = text.split("## What operators can ask for").nth(1).unwrap().split("## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let named = rows.map(|row| row.split('`').next().unwrap()).collect::<Vec<_>>();
    assert_eq!(named, CALLS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

#[test]
fn every_invariant_names_tests_that_are_there() {
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let table = |title: &str| text.split(title).nth(1).unwrap().split("## ").next().unwrap();
    let tables =
        ["## Invariants", "## What a person agrees to", "## What the agent keeps to"].map(table).concat();
    let named: Vec<&str> = tables
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.contains('_') && !name.contains('('))
        .collect();
    assert!(named.len() > 40);
    let mut sources = String::new();
    for directory in [
        "privhelper/helper/tests/helper",
        "privhelper/policy/tests/policy",
        "privhelper/job/tests/job",
        "privhelper/admin/tests/admin",
        "agent/tests",
        "agent/tests/model",
        "agent/tests/shell",
        "tests/tests",
        "tests/tests/structure",
    ] {
        for entry in std::fs::read_dir(root().join(directory)).unwrap() {
            sources.push_str(&std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default());
        }
    }
    for name in named {
        assert!(sources.contains(&format!("fn {name}(")), "no test is named {name}");
    }
}

#[test]
fn the_table_has_each_verb_once_and_nothing_else_is_found() {
    for row in TABLE {
        assert_eq!(TABLE.iter().filter(|other| other.id == row.id).count(), 1);
        assert_eq!(find(&format!("Helper/{}", row.id.rpc())).map(|found| found.id), Some(row.id));
    }
    for method in [
        "",
        "Helper/",
        "Helper/unit.start",
        "Helper/UnitStart ",
        "helper/UnitStart",
        "Operator/Status",
        "Helper/UnitKill",
    ] {
        assert!(find(method).is_none(), "{method}");
    }
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
            let kind = field.split(' ').next().unwrap();
            assert!(
                !["map", "oneof", "float", "double"].iter().any(|bad| kind.starts_with(bad)),
                "{message}: {field}"
            );
            let name = field.split(" = ").next().unwrap().split(' ').next_back().unwrap();
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
        assert!(meaning(code.as_str()).is_some(), "{code:?} has no exit status");
        assert!(code.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
    }
}
