//! Turns a question into an expression of FTS5. Every word is quoted, so that no operator of FTS5 can come from a question.

use super::document::Scope;

/// Longest question, in bytes, most words of it that count, and the longest word.
pub const QUESTION_LIMIT: usize = 1000;
const WORDS: usize = 16;
const WORD_LIMIT: usize = 64;

/// Words that say nothing about the subject.
const STOP: &[&str] = &[
    "a", "about", "after", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "did", "do",
    "does", "for", "from", "get", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me",
    "my", "of", "on", "or", "our", "out", "so", "than", "that", "the", "their", "them", "then", "there",
    "these", "this", "those", "to", "was", "we", "were", "what", "when", "where", "which", "while", "who",
    "whose", "why", "will", "with", "without", "would", "you", "your",
];

/// Returns the expression for what these scopes have; `None` if the question has no word.
pub fn expression(scopes: &[Scope], question: &str) -> Option<String> {
    let mut all: Vec<&str> = Vec::new();
    for word in question.split(|c: char| c.is_whitespace() || c.is_control() || c == '"') {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        if !word.is_empty() && word.len() <= WORD_LIMIT && !all.contains(&word) {
            all.push(word);
        }
    }
    let mut words: Vec<&str> =
        all.iter().copied().filter(|word| !STOP.contains(&word.to_ascii_lowercase().as_str())).collect();
    if words.is_empty() {
        words = all;
    }
    words.truncate(WORDS);
    if words.is_empty() {
        return None;
    }
    let scopes = either(scopes.iter().map(|scope| scope.name()));
    let words = either(words.into_iter().map(str::to_owned));
    Some(format!("{{scope}} : ({scopes}) AND {{title heading body}} : ({words})"))
}

fn either(words: impl Iterator<Item = String>) -> String {
    words.map(|word| format!("\"{}\"", word.replace('"', ""))).collect::<Vec<_>>().join(" OR ")
}
