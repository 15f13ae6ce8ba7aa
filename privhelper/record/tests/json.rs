//! Canonical JSON of records.

use postern_record::json::{Json, escaped};

#[test]
fn leaves_out_what_is_empty_and_keeps_the_order() {
    let inner = Json::new().text("a", "").flag("b", false).texts("c", []).object("d", &Json::new());
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
