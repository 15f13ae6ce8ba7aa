//! Full-text search: of each document the chunk that matches best.

use super::database::failed;
use super::document::{Fault, Hit, Origin, Scope};
use super::query::{QUESTION_LIMIT, expression};
use rusqlite::{Connection, params};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Chunks that are ranked before each document's best is chosen.
const CANDIDATES: i64 = 200;

/// A chunk that was found, and the state that its file had.
#[derive(Debug)]
pub struct Candidate {
    pub hit: Hit,
    /// The number of the chunk.
    pub chunk: i64,
    pub stamp: String,
    /// Higher is better.
    pub score: f64,
}

/// Weights of owner, title, headings and text.
const RANK: &str = "bm25(0.0, 1.0, 1.0, 1.0)";
/// Each further chunk of a document adds this share of the one before it, so that a page about the subject is before one
/// that has the words once.
const NEXT: f64 = 0.5;
/// Weight of documents about this host: added by a person, or notes of the site. Pages of packages are thousands.
const OWN: f64 = 2.0;
/// The chunks of these documents, in the condition of a search.
const ABOUT_HOST: &str =
    "AND +rowid IN (SELECT chunks.id FROM chunks JOIN documents ON documents.id = chunks.document
                                         WHERE origin = 'added' OR origin = 'site')";

/// Finds the chunks that match a question best, one a document, of the host and of one owner. `is_there` says whether a
/// document may still be shown.
pub fn search(
    sql: &Connection,
    owner: Scope,
    question: &str,
    most: usize,
    is_there: impl Fn(&Candidate) -> bool,
) -> Result<Vec<Candidate>, Fault> {
    if question.len() > QUESTION_LIMIT {
        return Err(Fault::Invalid(format!("a question has at most {QUESTION_LIMIT} bytes")));
    }
    let Some(expression) = expression(&[Scope::Host, owner], question) else {
        return Err(Fault::Invalid("the question has no word to look for".to_owned()));
    };
    let candidates = candidates(sql, owner, &expression).map_err(|error| failed(&error))?;
    let (mut texts, mut hits) = (HashSet::new(), Vec::new());
    for candidate in best_of_each(candidates) {
        if hits.len() == most {
            break;
        }
        // A copy of a document under another name adds nothing.
        if !texts.contains(&candidate.hit.text) && is_there(&candidate) {
            texts.insert(candidate.hit.text.clone());
            hits.push(candidate);
        }
    }
    Ok(hits)
}

/// The best chunk of each document, the document with the best chunks first. The chunks come best first.
fn best_of_each(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let (mut places, mut best) = (HashMap::new(), Vec::<(Candidate, f64)>::new());
    for candidate in candidates {
        match places.entry(candidate.hit.id) {
            Entry::Vacant(place) => {
                place.insert(best.len());
                best.push((candidate, NEXT));
            }
            Entry::Occupied(place) => {
                if let Some((document, share)) = best.get_mut(*place.get()) {
                    document.score += candidate.score * *share;
                    *share *= NEXT;
                }
            }
        }
    }
    // Stable: of two equal ones the one that came first stays first.
    best.sort_by(|(one, _), (other, _)| other.score.total_cmp(&one.score));
    best.into_iter().map(|(candidate, _)| candidate).collect()
}

/// Returns the best chunks, best first: of all documents, and as many of those about this host, which others do not displace.
fn candidates(sql: &Connection, owner: Scope, expression: &str) -> rusqlite::Result<Vec<Candidate>> {
    let mut found = ranked(sql, owner, expression, "")?;
    // With fewer none was left out.
    if i64::try_from(found.len()) == Ok(CANDIDATES) {
        let known = found.iter().map(|candidate| candidate.chunk).collect::<HashSet<_>>();
        let about_host = ranked(sql, owner, expression, ABOUT_HOST)?.into_iter();
        found.extend(about_host.filter(|candidate| !known.contains(&candidate.chunk)));
    }
    found.sort_by(|one, other| other.score.total_cmp(&one.score));
    Ok(found)
}

fn ranked(sql: &Connection, owner: Scope, expression: &str, of: &str) -> rusqlite::Result<Vec<Candidate>> {
    // The expression names the scopes as well; the join alone would hold without it.
    let mut find = sql.prepare(&format!(
        "WITH found AS (SELECT rowid AS chunk, rank AS score FROM chunk_index WHERE chunk_index MATCH ?1 AND rank MATCH ?4 {of}
                        ORDER BY rank LIMIT ?3)
         SELECT documents.id, origin, source, title, heading, line, body, stamp, score, chunks.id
         FROM found JOIN chunks ON chunks.id = found.chunk JOIN documents ON documents.id = chunks.document
         WHERE documents.scope = 'host' OR documents.scope = ?2
         ORDER BY score, documents.id, chunks.id",
    ))?;
    let rows = find.query_map(params![expression, owner.name(), CANDIDATES, RANK], |row| {
        let origin: String = row.get(1)?;
        let origin = Origin::of_word(&origin).unwrap_or(Origin::Added);
        let weight = match origin {
            Origin::Added | Origin::Site => OWN,
            Origin::Task | Origin::Man | Origin::Doc => 1.0,
        };
        Ok(Candidate {
            hit: Hit {
                id: row.get(0)?,
                origin,
                source: row.get(2)?,
                title: row.get(3)?,
                heading: row.get(4)?,
                line: row.get(5)?,
                text: row.get(6)?,
            },
            stamp: row.get(7)?,
            // BM25 of FTS5 is below zero, the best the lowest.
            score: -row.get::<_, f64>(8)? * weight,
            chunk: row.get(9)?,
        })
    })?;
    rows.collect()
}
