//! Full-text search: of each document the chunk that matches best.

use super::database::failed;
use super::document::{Fault, Hit, Origin, Scope};
use super::query::{QUESTION_LIMIT, expression};
use rusqlite::{Connection, params};
use std::collections::HashSet;

/// Chunks that are ranked before each document's best is chosen.
const CANDIDATES: i64 = 200;

/// A chunk that was found, and the state that its file had.
#[derive(Debug)]
pub struct Candidate {
    pub hit: Hit,
    pub stamp: String,
}

/// Finds the chunks that match a question best, one a document, of the host and of one owner. `is_there` says whether a
/// document may still be shown.
pub fn search(
    sql: &Connection,
    owner: Scope,
    question: &str,
    most: usize,
    is_there: impl Fn(&Candidate) -> bool,
) -> Result<Vec<Hit>, Fault> {
    if question.len() > QUESTION_LIMIT {
        return Err(Fault::Invalid(format!("a question has at most {QUESTION_LIMIT} bytes")));
    }
    let Some(expression) = expression(&[Scope::Host, owner], question) else {
        return Err(Fault::Invalid("the question has no word to look for".to_owned()));
    };
    let candidates = candidates(sql, owner, &expression).map_err(|error| failed(&error))?;
    let (mut documents, mut texts, mut hits) = (HashSet::new(), HashSet::new(), Vec::new());
    for candidate in candidates {
        if hits.len() == most {
            break;
        }
        // A copy of a document under another name adds nothing.
        let is_new = documents.insert(candidate.hit.id) && !texts.contains(&candidate.hit.text);
        if is_new && is_there(&candidate) {
            texts.insert(candidate.hit.text.clone());
            hits.push(candidate.hit);
        }
    }
    Ok(hits)
}

fn candidates(sql: &Connection, owner: Scope, expression: &str) -> rusqlite::Result<Vec<Candidate>> {
    // The expression names the scopes as well; the join alone would hold without it.
    let mut find = sql.prepare(
        "WITH found AS (SELECT rowid AS chunk, rank AS score FROM chunk_index WHERE chunk_index MATCH ?1
                        ORDER BY rank LIMIT ?3)
         SELECT documents.id, origin, source, title, heading, line, body, stamp
         FROM found JOIN chunks ON chunks.id = found.chunk JOIN documents ON documents.id = chunks.document
         WHERE documents.scope = 'host' OR documents.scope = ?2
         ORDER BY score, documents.id, chunks.id",
    )?;
    let rows = find.query_map(params![expression, owner.name(), CANDIDATES], |row| {
        let origin: String = row.get(1)?;
        Ok(Candidate {
            hit: Hit {
                id: row.get(0)?,
                origin: Origin::of_word(&origin).unwrap_or(Origin::Added),
                source: row.get(2)?,
                title: row.get(3)?,
                heading: row.get(4)?,
                line: row.get(5)?,
                text: row.get(6)?,
            },
            stamp: row.get(7)?,
        })
    })?;
    rows.collect()
}
