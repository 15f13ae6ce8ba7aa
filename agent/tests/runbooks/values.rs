//! A value is one argument, whatever it holds, or it is refused.

use crate::parse;
use postern_agent::plan::split;
use postern_agent::runbooks::{Runbook, Values};

fn of(kind: &str, example: &str) -> Runbook {
    let text = format!(
        "parameters:\n  - {{name: a, kind: {kind}, about: A, example: {example}}}\nsteps: ['grep -- x${{a}}y /etc/hosts ${{a}}']\n"
    );
    parse(&text).unwrap_or_else(|fault| panic!("{kind}: {fault:?}"))
}

fn given(value: &str) -> Values {
    Values::from([("a".to_owned(), value.to_owned())])
}

#[test]
fn a_text_is_one_word_whatever_it_holds() {
    let runbook = of("text", "b");
    for value in [
        "; rm -rf /",
        "$(reboot)",
        "`id`",
        "a b  c",
        "it's",
        "\"x\"",
        "'\"'",
        "a\\",
        "*",
        "~",
        "#",
        "a && b",
        "|sh",
        "{a,b}",
        "=POSTERN=VALUE=0=",
        "${a}",
        "ä€",
    ] {
        let values = runbook.values(&given(value)).expect(value);
        let plan = serde_json::to_value(runbook.plan(&values).expect(value)).unwrap();
        let words = split(plan["commands"][0]["command"].as_str().unwrap()).expect(value);
        assert_eq!(words, ["grep", "--", &format!("x{value}y"), "/etc/hosts", value]);
    }
}

#[test]
fn kinds_restrict_values() {
    let refused = [
        ("unit", "a.service", &["a b", "a;b", "-a", "../a", "a/b", "$(id)", ""][..]),
        ("package", "hello", &["Hello", "-o=x", "a b", "x", "a/b", "curl-"]),
        ("path", "/var", &["var", "/var/../etc", "/..", "/var/..", "//x", "-x", "/a\nb"]),
        ("name", "alice", &["a b", "-x", ".x", "a/b"]),
        ("host", "example.org", &["a b", "-x", "a_b", "a;b"]),
        ("integer", "5", &["x", "1.5", "+1", "007", "-1", "99999999999999999999"]),
        ("text", "b", &["", "-rf", "a\nb", "a\u{1b}[2J", "a\u{202e}b"]),
    ];
    for (kind, example, values) in refused {
        let runbook = of(kind, example);
        assert!(runbook.values(&given(example)).is_ok(), "{kind}");
        for value in values {
            assert!(runbook.values(&given(value)).is_err(), "{kind} takes {value:?}");
        }
    }
    let long = "a".repeat(257);
    assert!(of("text", "b").values(&given(&long)).is_err());
}

#[test]
fn a_value_is_never_a_program_nor_read_as_one() {
    for step in [
        "${a} x",
        "sh -c '${a}'",
        "bash -c ${a}",
        "env ${a}",
        "/usr/bin/python3 -c ${a}",
        "xargs ${a}",
        "find / -name ${a}",
        "awk ${a} /etc/hosts",
        "sed ${a} /etc/hosts",
        "timeout 5 ${a}",
        "ssh host ${a}",
        "nice bash ${a}",
    ] {
        let text =
            format!("parameters:\n  - {{name: a, kind: text, about: A, example: b}}\nsteps: [\"{step}\"]\n");
        let fault = parse(&text).expect_err(step);
        assert!(fault.why.contains("program"), "{step}: {fault:?}");
    }
}

#[test]
fn a_negative_number_is_no_option() {
    let text = "parameters:\n  - {name: a, kind: integer, about: A, min: -9, default: 1}\nsteps: ['head ${a} /etc/hosts']\n";
    let runbook = parse(text).unwrap();
    let values = runbook.values(&given("-5")).unwrap();
    assert!(runbook.plan(&values).unwrap_err().contains("would be an option"));
    let text = text.replace("default: 1", "default: -1");
    assert!(parse(&text).unwrap_err().why.contains("would be an option"));
}

#[test]
fn missing_and_unknown_values_are_named() {
    let runbook = of("unit", "b");
    assert_eq!(runbook.values(&Values::new()).unwrap_err(), "try needs a=UNIT: A");
    let unknown = Values::from([("b".to_owned(), "c".to_owned())]);
    assert_eq!(
        runbook.values(&unknown).unwrap_err(),
        "try: unknown parameter \"b\": did you mean `a`? (permitted: a)"
    );
}
