//! Canonical JSON of records.

use postern_record::json::{Json, escaped};

#[test]
fn leaves_out_what_is_empty_and_keeps_the_order() {
    let inner = Json::new().text("a", "").flag("b", false).texts("c", None::<&str>).object("d", &Json::new());
    assert_eq!(inner, Json::new());
    let json = Json::new().number("z", -1).flag("y", true).texts("x", ["1", "2"]).numbers("w", &[3, 4]);
    let json = json.objects("v", [Json::new().text("k", "t")]);
    assert_eq!(json.to_string(), r#"{"z":-1,"y":true,"x":["1","2"],"w":[3,4],"v":[{"k":"t"}]}"#);
}

#[test]
fn escapes_line_breaks_terminal_controls_and_text_direction() {
    let text = "a\n\u{1b}[2J\u{7f}\u{9b}\u{202e}\u{2028}\u{200f}\"\\ä";
    assert_eq!(escaped(text), r#"a\u000a\u001b[2J\u007f\u009b\u202e\u2028\u200f\"\\ä"#);
}

#[test]
fn replaces_an_object_over_16_kib_by_size_and_digest() {
    let long = Json::new().text("t", &"x".repeat(100_000));
    let json = Json::new().bounded("plan", &long).to_string();
    assert!(json.starts_with(r#"{"plan":{"size":100006,"sha256":""#) && json.len() < 120, "{json}");
    let short = Json::new().text("t", "x");
    assert_eq!(Json::new().bounded("plan", &short).to_string(), r#"{"plan":{"t":"x"}}"#);
}

#[test]
fn reads_back_what_it_writes() {
    let inner = Json::new().text("k", "a\n\u{1b}\u{202e}\"\\ä").flag("b", true);
    let json = Json::new().number("n", -1).texts("x", ["1", ""]).numbers("w", &[3, 4]);
    let json = json.objects("v", [inner.clone(), inner]);
    assert_eq!(Json::parse(&json.to_string()), Some(json));
}

#[test]
fn rejects_members_that_could_end_or_forge_a_record() {
    let valid = r#"{"a":1,"b":{"c":["d",true]}}"#;
    assert!(Json::parse(valid).is_some());
    for hostile in [
        "",
        "{}",
        "[]",
        "{\"a\":1}\n",
        "{\"a\":1}{",
        r#"{"a":1},"decision":"allow""#,
        r#"{"a":1},"x":{"y":2}"#,
        r#"{"a":1"#,
        r#"{"a":01}"#,
        r#"{"a":1.5}"#,
        r#"{"a":+1}"#,
        r#"{"a":nul}"#,
        r#"{"a": 1}"#,
        r#"{"a":"b"c"}"#,
        r#"{"a":"\n"}"#,
        r#"{"a":"\u0041"}"#,
        r#"{"a":"\u000A"}"#,
        r#"{"a":"\"}"#,
        "{\"a\":\"\u{1b}\"}",
        "{\"a\":\"\u{202e}\"}",
        r#"{"a":[]}"#,
        r#"{"a":[1,]}"#,
        r#"{1:"a"}"#,
    ] {
        assert_eq!(Json::parse(hostile), None, "{hostile:?}");
    }
    let deep = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    assert!(Json::parse(&deep(8)).is_some() && Json::parse(&deep(9)).is_none());
    for cut in 0..valid.len() {
        assert_eq!(valid.get(..cut).and_then(Json::parse), None);
    }
}
