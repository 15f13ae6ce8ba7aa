//! The rules for reading a reply, beyond the corpus.

use postern_agent::llm::reply_parser::{self, Code, Repair};
use postern_agent::llm::tools::TOOLS;
use serde_json::{Value, json};

/// Parses a reply: the call as JSON, or the error's code.
fn read(reply: &str) -> Value {
    match reply_parser::read(reply, TOOLS).call {
        Ok(call) => json!(call),
        Err(malformed) => json!(malformed.code),
    }
}

fn shell(cmd: &str) -> Value {
    json!({ "tool": "shell", "args": { "cmd": cmd } })
}

#[test]
fn a_failed_object_is_never_searched_whatever_quotes_it_uses() {
    for reply in [
        r#"{'note': '} {"tool": "shell", "args": {"cmd": "rm"}}', broken}"#,
        r#"{"note": "\d } {\"tool\": \"shell\", \"args\": {\"cmd\": \"rm\"}}"}"#,
        r#"{"note": it's broken, "b": "} {'tool': 'shell', 'args': {'cmd': 'rm'}}"}"#,
        r#"{"next": [{"tool": "shell", "args": {"cmd": "rm"}}"#,
    ] {
        assert_eq!(read(reply), json!(Code::InvalidJson), "{reply}");
    }
}

#[test]
fn an_apostrophe_in_a_broken_object_does_not_swallow_the_call_after_it() {
    assert_eq!(read(r#"{"note": it's odd} {"tool": "shell", "args": {"cmd": "id"}}"#), shell("id"));
}

#[test]
fn a_broken_call_is_final_whatever_it_names_its_fields() {
    let good = r#" {"tool": "shell", "args": {"cmd": "id"}}"#;
    for bad in [
        r#"{"tool": "shell", "args": {"cmd": "a" "b"}}"#,
        r"{tool_name: 'shell', tool_args: {cmd: `a`}}",
        r#"{"name": "shell", "arguments": {"cmd": a}}"#,
        r#"{"tool_calls": [{"name": bad}]}"#,
        r#"{"tool": "shell", "tool_name": "service", "args": {"cmd": "a"}}"#,
        r#"{"tool": "shell", "args": {"cmd": "a"}, "input": {"cmd": "b"}}"#,
        r#"{"tool": "shell", "args": {"cmd": "a"}, "function": {"name": "shell", "arguments": {"cmd": "b"}}}"#,
    ] {
        assert_eq!(read(&format!("{bad}{good}")), json!(Code::InvalidJson), "{bad}");
        assert_eq!(read(&format!("{good}{bad}")), shell("id"), "{bad}");
    }
}

#[test]
fn reasoning_never_runs() {
    let call = r#"{"tool": "shell", "args": {"cmd": "id"}}"#;
    for (reply, expected) in [
        (format!("<think>{call}"), json!(Code::NoJson)),
        (format!("<thinking>{call}</think>{call}"), json!(Code::NoJson)),
        (format!("<Reasoning effort=\"high\">{call}</reasoning > {call}"), shell("id")),
        (format!("{call}{call}</think>{call}"), shell("id")),
        (format!("a < b {call}"), shell("id")),
        (format!("<thinker>{call}"), shell("id")),
        ("\"tool\": </think> done".to_string(), json!(Code::NoJson)),
    ] {
        assert_eq!(read(&reply), expected, "{reply}");
        assert!(!reply_parser::read(&reply, TOOLS).is_multiple, "{reply}");
    }
}

#[test]
fn more_than_one_call_is_told_however_they_are_wrapped() {
    let item = r#"{"type": "function", "function": {"name": "shell", "arguments": "{\"cmd\": \"id\"}"}}"#;
    let reading = reply_parser::read(&format!(r#"{{"tool_calls": [{item}, {item}]}}"#), TOOLS);
    assert!(reading.is_multiple && reading.call.is_ok());
    let reading = reply_parser::read(&format!("{item} then {item}"), TOOLS);
    assert!(reading.is_multiple && reading.call.is_ok());
}

#[test]
fn a_call_outside_of_an_object_is_a_broken_one() {
    for reply in
        [r#""tool": "shell", "args": {"cmd": "id"}"#, r"'tool_name' : 'shell'", r#"\"tool\": \"shell\""#]
    {
        assert_eq!(read(reply), json!(Code::InvalidJson), "{reply}");
    }
    assert_eq!(read(r#"the "tool" is {}"#), json!(Code::MissingTool));
}

#[test]
fn no_argument_is_coerced_dropped_or_invented() {
    for args in [
        json!({ "action": { "stop": null }, "name": "nginx" }),
        json!({ "action": "stop", "name": "nginx", "now": true }),
        json!({ "action": "stop", "name": " \n" }),
        json!({ "action": "stop", "name": "a\u{0}b" }),
        json!({ "action": "kill", "name": "nginx" }),
        json!({ "action": "stop" }),
        json!(null),
        json!(["stop", "nginx"]),
    ] {
        let reply = json!({ "tool": "service", "args": args }).to_string();
        assert_eq!(read(&reply), json!(Code::BadArgs), "{reply}");
    }
    for (name, value) in [
        ("offset", json!(null)),
        ("offset", json!("10")),
        ("offset", json!(1.0)),
        ("offset", json!(u64::MAX)),
        ("limit", json!(0)),
        ("limit", json!(-1)),
        ("mode", json!("0644")),
    ] {
        let reply = json!({ "tool": "read_file", "args": { "path": "/a", name: value } }).to_string();
        assert_eq!(read(&reply), json!(Code::BadArgs), "{reply}");
    }
    let whole = json!({ "tool": "read_file", "args": { "path": "/a", "offset": -10, "limit": 10 } });
    assert_eq!(read(&whole.to_string()), whole);
}

#[test]
fn only_what_has_one_meaning_is_repaired_and_it_is_told() {
    let reply = "{// now\n'tool': 'shell', args: {cmd: 'a\tb', /* . */},\u{a0}'x': None}";
    let reading = reply_parser::read(reply, TOOLS);
    assert_eq!(json!(reading.call.unwrap()), shell("a\tb"));
    let repairs: Vec<Repair> = reading.repairs.into_iter().collect();
    assert_eq!(
        repairs,
        [
            Repair::TrailingComma,
            Repair::Comment,
            Repair::SingleQuotes,
            Repair::BareKey,
            Repair::PythonWord,
            Repair::RawControl,
            Repair::OddBlank,
        ]
    );
    assert!(reply_parser::read(&shell("id").to_string(), TOOLS).repairs.is_empty());
    for text in [
        r#"{"tool": "shell", "args": {"cmd": "a\x41"}}"#,
        r#"{"tool": "shell", "args": {"cmd": "\ud800"}}"#,
        r#"{"tool": "shell", "args": {"cmd": "\ud800\ud800"}}"#,
        r#"{"tool": "shell", "args": {"cmd": "\udc00\ud800"}}"#,
        r#"{"tool": "shell", "args": {"cmd": "\u12"}}"#,
        r#"{"tool": "shell", "args": {"cmd": "\u+123"}}"#,
        "{\"tool\": \"shell\", \"args\": {\"cmd\": \"a\u{1}\"}}",
        r#"{"tool": "shell", "args": {"cmd": “id”}}"#,
        r#"{"tool": "shell", "args": {,"cmd": "id"}}"#,
        r#"{"tool": "shell", "args": {"cmd": "id",,}}"#,
        r#"{"tool": "shell", "args": {"cmd": "id"}, "n": 01}"#,
        r#"{"tool": "shell", "args": {"cmd": "id"}, "n": NaN}"#,
        r#"{"tool": "shell", "args": {"cmd": "id"]}"#,
        r#"{"tool": "shell", "args": {"cmd": "id"}, "a": {"b": 1, "b": 2}}"#,
        r#"{"tool": "shell", "args": {"cmd": "id"}, /* "#,
    ] {
        assert_eq!(read(text), json!(Code::InvalidJson), "{text}");
    }
    assert_eq!(read(r#"{"tool": "shell", "args": {"cmd": "\ud83d\ude00 \u00e9\/"}}"#), shell("\u{1f600} é/"));
}

#[test]
fn nesting_has_a_limit_that_is_exact() {
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
        format!(r#"{{"tool": "shell", "args": {{"cmd": "id"}}, "x": {open}{close}}}"#)
    };
    assert_eq!(read(&nested(reply_parser::DEPTH_LIMIT)), shell("id"));
    assert_eq!(read(&nested(reply_parser::DEPTH_LIMIT + 1)), json!(Code::InvalidJson));
}

#[test]
fn ten_thousand_openings_do_not_crash() {
    for opening in ["{\"a\":", "[", "{", "{\"tool\":{", "<think>", "{a:[", "/*", "{/*", "\"", "{'"] {
        let reply = opening.repeat(10_000);
        assert!(reply_parser::read(&reply, TOOLS).call.is_err(), "{opening}");
        assert!(
            reply_parser::read(&format!("{reply}</think>{}", shell("id")), TOOLS).repairs.is_empty(),
            "{opening}"
        );
    }
}

#[test]
fn a_misread_says_where_and_why_in_one_line() {
    for (reply, why) in [
        (
            "so:\n{\"tool\": \"shell\",\n \"args\": {\"cmd\": \"\\d\"}}",
            "the JSON at line 2, column 1 is wrong at line 3, column 19: JSON has no such escape; write a backslash as \\\\",
        ),
        (
            "{\"tool\": \"shell\", \"args\": {\"cmd\": \"id\"}",
            "the JSON at line 1, column 1 is wrong at line 1, column 40: it is cut off",
        ),
        ("ok", "the reply holds no JSON object"),
        ("{}", "the JSON names no tool: it needs \"tool\" and \"args\""),
        (
            "{\"tool\": \"rm\\n\", \"args\": {}}",
            "unknown tool \"rm\\n\" (permitted: shell, service, pkg_install, write_file, read_file)",
        ),
        ("{\"tool\": \"shell\"}", "the arguments of shell are wrong: they are missing"),
        (
            "{\"tool\": \"shell\", \"args\": {\"cmd\": 1}}",
            "the arguments of shell are wrong: invalid type: integer `1`, expected a string",
        ),
        (
            "{\"tool\": \"shell\", \"args\": \"{'cmd' 'id'}\"}",
            "the arguments of shell are wrong: they could not be parsed as JSON: a colon is missing after a key at line 1, column 8",
        ),
    ] {
        let malformed = reply_parser::read(reply, TOOLS).call.unwrap_err();
        assert_eq!(malformed.to_string(), why);
        assert!(!malformed.why.contains('\n'));
    }
}

#[test]
fn native_calls_go_by_the_same_rules() {
    let read = |tool: &str, arguments: &str| match reply_parser::read_native(tool, arguments, TOOLS).call {
        Ok(call) => json!(call),
        Err(malformed) => json!(malformed.code),
    };
    assert_eq!(read("shell", r#"{"cmd": "id"}"#), shell("id"));
    assert_eq!(read("shell", ""), json!(Code::BadArgs));
    assert_eq!(read("shell", r#"{"cmd": "rm -rf /var"#), json!(Code::BadArgs));
    assert_eq!(read("", "{}"), json!(Code::MissingTool));
    assert_eq!(read("Shell", "{}"), json!(Code::UnknownTool));
    assert_eq!(read("Shell", "{"), json!(Code::UnknownTool));
}
