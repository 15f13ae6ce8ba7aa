//! The corpus of replies: each row holds.

use postern_agent::llm::reply_parser;
use postern_agent::llm::tools::TOOLS;
use serde_json::{Value, json};

const CORPUS: &str = include_str!("../corpus/llm_outputs.jsonl");

#[test]
fn every_row_of_the_corpus_is_read_as_it_says() {
    let mut wrong = Vec::new();
    for line in CORPUS.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let reading = reply_parser::read(row["text"].as_str().unwrap(), TOOLS);
        let got = match &reading.call {
            Ok(call) => json!(call),
            Err(malformed) => json!(malformed.code),
        };
        if got != row["expect"] || row["multiple"] != reading.is_multiple {
            wrong.push(format!("{}: {got} multiple {} {:?}", row["id"], reading.is_multiple, row["why"]));
        }
    }
    assert_eq!(CORPUS.lines().count(), 160);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
