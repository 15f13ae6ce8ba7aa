//! Vectors of parts in the database, so that a text is sent to the endpoint of embeddings once.

use super::search::Candidate;
use crate::client::patching::sha256;
use rusqlite::{Connection, OptionalExtension, params};
use std::time::{SystemTime, UNIX_EPOCH};

/// Most vectors that are kept, the newest: some 120 MB of 1,536 numbers each.
const VECTORS: i64 = 20_000;

/// A part that is re-ranked: its text as it is sent, and its vector where one is known.
#[derive(Clone, Debug)]
pub struct Part {
    chunk: i64,
    body: String,
    pub text: String,
    digest: String,
    pub vector: Option<Vec<f32>>,
}

impl Part {
    /// Of a candidate, with the text that is sent for it.
    pub fn new(candidate: &Candidate, text: String) -> Self {
        let digest = sha256(text.as_bytes());
        Self { chunk: candidate.chunk, body: candidate.hit.text.clone(), text, digest, vector: None }
    }
}

/// Looks up the vectors of parts by the digest of their text.
pub fn look_up(sql: &Connection, model: &str, parts: &mut [Part]) -> rusqlite::Result<()> {
    let mut find = sql.prepare("SELECT vector FROM vectors WHERE chunk = ? AND digest = ? AND model = ?")?;
    for part in parts {
        let bytes: Option<Vec<u8>> =
            find.query_row(params![part.chunk, part.digest, model], |row| row.get(0)).optional()?;
        part.vector = bytes.map(|bytes| numbers(&bytes));
    }
    Ok(())
}

/// Keeps the vectors of parts that are still there.
pub fn keep(sql: &Connection, model: &str, parts: &[Part]) -> rusqlite::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs().cast_signed();
    // The number of a part that was removed meanwhile may be another part's by now.
    let mut insert = sql.prepare(
        "INSERT OR REPLACE INTO vectors (chunk, digest, model, made_unix_s, vector)
         SELECT id, ?2, ?3, ?4, ?5 FROM chunks WHERE id = ?1 AND body = ?6",
    )?;
    for part in parts {
        let Some(vector) = &part.vector else { continue };
        let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        insert.execute(params![part.chunk, part.digest, model, now, bytes, part.body])?;
    }
    sql.execute(
        "DELETE FROM vectors WHERE chunk IN
         (SELECT chunk FROM vectors ORDER BY made_unix_s DESC, chunk DESC LIMIT -1 OFFSET ?)",
        [VECTORS],
    )?;
    Ok(())
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
