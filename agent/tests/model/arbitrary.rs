//! Replies that nobody would write: the reader neither panics nor invents.

use postern_agent::llm::reply_parser::{self, Code};
use postern_agent::llm::tools::TOOLS;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

/// The pieces that the reader treats apart, and some that it does not.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ":",
    ",",
    "\\",
    "/",
    "//",
    "/*",
    "*/",
    "\n",
    " ",
    "\u{a0}",
    "\u{feff}",
    "é",
    "😀",
    "tool",
    "\"tool\"",
    "'tool_name'",
    "name",
    "args",
    "\"args\"",
    "arguments",
    "\"cmd\"",
    "shell",
    "\"shell\"",
    "tool_calls",
    "\"function\"",
    "<think>",
    "</think>",
    "<",
    "</reasoning >",
    "null",
    "None",
    "1",
    "-",
    "1e9",
    "\\u00",
    "\\ud83d",
    "\\n",
    "{\"tool\": \"shell\", \"args\": {\"cmd\": \"id\"}}",
    "\u{1}",
    "a",
];

/// The same cases at every run.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 2000,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn pieces(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..most).prop_map(|pieces| pieces.concat())
}

fn command() -> impl Strategy<Value = String> {
    any::<String>()
        .prop_filter("a command says something", |cmd| !cmd.trim().is_empty() && !cmd.contains('\0'))
}

fn shell(cmd: &str) -> Value {
    json!({ "tool": "shell", "args": { "cmd": cmd } })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>(), pieces in pieces(60)) {
        let _ = reply_parser::read(&text, TOOLS);
        let _ = reply_parser::read(&pieces, TOOLS);
        let _ = reply_parser::read_native("shell", &pieces, TOOLS);
    }

    #[test]
    fn a_call_is_read_as_it_was_written(cmd in command(), before in "[a-z .()}\\n]{0,40}", after in "[a-z .(){}\\n]{0,40}") {
        let reading = reply_parser::read(&format!("{before} {}{after}", shell(&cmd)), TOOLS);
        prop_assert_eq!(json!(reading.call.unwrap()), shell(&cmd));
        prop_assert!(!reading.is_multiple && reading.repairs.is_empty());
    }

    #[test]
    fn a_call_that_is_cut_off_is_never_completed(cmd in command(), cut in 1..1000usize) {
        let whole = shell(&cmd).to_string();
        let most = 1 + cut % (whole.len() - 1);
        let end = (1..=most).rfind(|end| whole.is_char_boundary(*end)).unwrap();
        let reading = reply_parser::read(&whole[..end], TOOLS);
        prop_assert_eq!(reading.call.unwrap_err().code, Code::InvalidJson);
    }

    #[test]
    fn what_is_read_says_the_same_when_it_is_read_again(pieces in pieces(60)) {
        if let Ok(call) = reply_parser::read(&pieces, TOOLS).call {
            let shown = json!(call).to_string();
            let again = reply_parser::read(&shown, TOOLS);
            prop_assert_eq!(again.call.unwrap(), call);
            prop_assert!(again.repairs.is_empty() && !again.is_multiple);
        }
    }

    #[test]
    fn nothing_in_reasoning_changes_what_is_read(thought in pieces(30), cmd in command()) {
        let thought = thought.replace('/', "");
        let reading = reply_parser::read(&format!("<think>{thought}</think>{}", shell(&cmd)), TOOLS);
        prop_assert_eq!(json!(reading.call.unwrap()), shell(&cmd));
        prop_assert!(!reading.is_multiple);
    }
}
