//! Questions, and the share of them that the first five results answer.

use postern_agent::knowledge::{Hit, KnowledgeBase};
use postern_agent::protocol::owner::Owner;
use serde::Deserialize;

/// Results of which one has to be an answer.
pub const RESULTS: usize = 5;

/// A question of a person's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    pub ask: String,
    /// Each of these pages answers it, such as `chmod(1)`.
    pub pages: Vec<String>,
}

pub fn read() -> Vec<Question> {
    serde_yaml_ng::from_str(include_str!("questions.yaml")).expect("questions.yaml")
}

/// The questions over Postern's own documents.
#[allow(dead_code, reason = "the bench has the others")]
pub fn own() -> Vec<Question> {
    serde_yaml_ng::from_str(include_str!("own_questions.yaml")).expect("own_questions.yaml")
}

/// The page that a result is of.
fn page(hit: &Hit) -> &str {
    hit.title.split_once(": ").map_or(hit.title.as_str(), |(page, _)| page)
}

/// Asks all questions: those that none of the first results answers, with these results.
pub async fn missed(base: &KnowledgeBase, owner: Owner, questions: &[Question]) -> Vec<String> {
    let mut missed = Vec::new();
    for Question { ask, pages } in questions {
        let hits = base.search(owner, ask, Some(RESULTS)).await.expect("an answer").hits;
        let found: Vec<&str> = hits.iter().map(page).collect();
        if !found.iter().any(|found| pages.iter().any(|page| page == found)) {
            missed.push(format!("{ask}: {found:?} in place of {pages:?}"));
        }
    }
    missed
}
