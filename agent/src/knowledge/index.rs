//! Adds documents to the database and removes them.

use super::chunks::{Chunk, divide};
use super::database::failed;
use super::document::{
    Added, DOCUMENT_LIMIT, Document, Fault, Limits, Origin, SOURCE_LIMIT, Scope, TASK_LOGS,
};
use crate::client::patching::sha256;
use crate::redaction::Secrets;
use crate::redaction::excerpt::{Line, Pem};
use crate::redaction::redact::MARK;
use rusqlite::{Connection, OptionalExtension, params};
use std::time::{SystemTime, UNIX_EPOCH};

/// A document that is ready to be written: without credentials, and divided.
pub struct Prepared {
    origin: Origin,
    source: String,
    title: String,
    digest: String,
    stamp: String,
    bytes: i64,
    chunks: Vec<Chunk>,
    redacted: usize,
}

/// Checks a document, takes credentials out and divides it.
pub fn prepare(document: &Document, secrets: &Secrets) -> Result<Prepared, Fault> {
    let Document { origin, source, stamp, text } = document;
    if source.is_empty() || source.len() > SOURCE_LIMIT || source.contains(postern_text::is_hostile) {
        return Err(Fault::Invalid(format!(
            "a document's name has 1 to {SOURCE_LIMIT} bytes and no control characters"
        )));
    }
    if text.len() > DOCUMENT_LIMIT {
        let most = DOCUMENT_LIMIT >> 20;
        return Err(Fault::Invalid(format!("the document is larger than {most} MiB; add it in parts")));
    }
    if text.contains('\0') {
        return Err(Fault::Invalid("the document is no text: it has zero bytes".to_owned()));
    }
    let (clean, redacted) = without_credentials(text, secrets);
    let (title, chunks) = divide(source, &postern_text::lines(&clean));
    if chunks.is_empty() {
        return Err(Fault::Invalid("the document has no text".to_owned()));
    }
    Ok(Prepared {
        origin: *origin,
        source: source.clone(),
        title,
        digest: sha256(text.as_bytes()),
        stamp: stamp.clone(),
        bytes: i64::try_from(text.len()).unwrap_or(i64::MAX),
        chunks,
        redacted,
    })
}

/// The text without credentials; a private key keeps its number of lines, so that the lines after it keep theirs.
fn without_credentials(text: &str, secrets: &Secrets) -> (String, usize) {
    let (text, held) = secrets.values(text);
    let (mut kept, mut pem, mut keys) = (String::with_capacity(text.len()), Pem::default(), 0);
    for line in text.lines() {
        match pem.line(line) {
            Line::Begin => {
                keys += 1;
                kept.push_str(MARK);
            }
            Line::End => {}
            Line::Other if pem.inside => {}
            Line::Other => kept.push_str(line),
        }
        kept.push('\n');
    }
    let (kept, shaped) = secrets.text(&kept);
    (kept, held + keys + shaped)
}

/// Writes a document of a scope, in place of the one that had its name.
pub fn put(sql: &Connection, scope: Scope, document: &Prepared, limits: &Limits) -> Result<Added, Fault> {
    let Limits { documents: most, bytes: most_bytes } = *limits;
    let name = scope.name();
    let find = "SELECT id, digest, bytes FROM documents WHERE scope = ? AND origin = ? AND source = ?";
    let key = params![name, document.origin.word(), document.source];
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let old: Option<(i64, String, i64)> = sql.query_row(find, key, row).optional().map_err(|e| failed(&e))?;
    let answer = |id, unchanged| Added {
        id,
        source: document.source.clone(),
        chunks: document.chunks.len(),
        unchanged,
        redacted: document.redacted,
    };
    if let Some((id, digest, _)) = &old
        && *digest == document.digest
    {
        let update = "UPDATE documents SET stamp = ? WHERE id = ?";
        sql.execute(update, params![document.stamp, id]).map_err(|e| failed(&e))?;
        return Ok(answer(*id, true));
    }
    let (count, bytes) = usage(sql, scope)?;
    let (old_count, old_bytes) = old.as_ref().map_or((0, 0), |(_, _, bytes)| (1, *bytes));
    if count - old_count + 1 > most || bytes - old_bytes + document.bytes > most_bytes {
        return Err(Fault::Full(format!(
            "the knowledge base holds {count} documents of {} MiB of yours; the limits are {most} documents and {} MiB: \
             remove some first",
            bytes >> 20,
            most_bytes >> 20,
        )));
    }
    if let Some((id, _, _)) = old {
        delete(sql, id).map_err(|e| failed(&e))?;
    }
    insert(sql, &name, document).map(|id| answer(id, false)).map_err(|e| failed(&e))
}

fn insert(sql: &Connection, scope: &str, document: &Prepared) -> rusqlite::Result<i64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let Prepared { origin, source, title, digest, stamp, bytes, chunks, .. } = document;
    sql.prepare(
        "INSERT INTO documents (scope, origin, source, title, digest, stamp, bytes, added_unix_s)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![scope, origin.word(), source, title, digest, stamp, bytes, now.cast_signed()])?;
    let id = sql.last_insert_rowid();
    let mut chunk_row =
        sql.prepare("INSERT INTO chunks (document, line, heading, body) VALUES (?, ?, ?, ?)")?;
    let mut index_row =
        sql.prepare("INSERT INTO chunk_index (rowid, scope, title, heading, body) VALUES (?, ?, ?, ?, ?)")?;
    for Chunk { line, heading, body } in chunks {
        chunk_row.execute(params![id, i64::try_from(*line).unwrap_or_default(), heading, body])?;
        index_row.execute(params![sql.last_insert_rowid(), scope, title, heading, body])?;
    }
    Ok(id)
}

/// Deletes a document and its chunks from all tables.
pub fn delete(sql: &Connection, id: i64) -> rusqlite::Result<()> {
    sql.execute("DELETE FROM vectors WHERE chunk IN (SELECT id FROM chunks WHERE document = ?)", [id])?;
    sql.execute("DELETE FROM chunk_index WHERE rowid IN (SELECT id FROM chunks WHERE document = ?)", [id])?;
    sql.execute("DELETE FROM chunks WHERE document = ?", [id])?;
    sql.execute("DELETE FROM documents WHERE id = ?", [id])?;
    Ok(())
}

/// Removes a document of an owner's by its number or its name; its name.
pub fn remove(sql: &Connection, scope: Scope, which: &str) -> Result<String, Fault> {
    let find = "SELECT id, source FROM documents WHERE scope = ?1 AND (source = ?2 OR id = ?3) ORDER BY source = ?2 DESC";
    let number: Option<i64> = which.parse().ok();
    let found = sql
        .query_row(find, params![scope.name(), which, number], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map_err(|e| failed(&e))?;
    let Some((id, source)): Option<(i64, String)> = found else {
        let mut names =
            sql.prepare("SELECT source FROM documents WHERE scope = ?").map_err(|e| failed(&e))?;
        let names = names.query_map([scope.name()], |row| row.get(0)).map_err(|e| failed(&e))?;
        let names: Vec<String> = names.collect::<rusqlite::Result<_>>().map_err(|e| failed(&e))?;
        let hint = postern_text::did_you_mean(which, names.iter().map(String::as_str));
        let which = postern_text::line(&format!("{which}{hint}"));
        return Err(Fault::NotFound(format!("none of your documents is {which} (see `postern kb list`)")));
    };
    delete(sql, id).map_err(|e| failed(&e))?;
    Ok(source)
}

/// Number and bytes of a scope's documents.
pub fn usage(sql: &Connection, scope: Scope) -> Result<(i64, i64), Fault> {
    let count = "SELECT count(*), coalesce(sum(bytes), 0) FROM documents WHERE scope = ?";
    sql.query_row(count, [scope.name()], |row| Ok((row.get(0)?, row.get(1)?))).map_err(|e| failed(&e))
}

/// Removes an owner's oldest task logs beyond those that are kept.
pub fn remove_old_logs(sql: &Connection, scope: Scope) -> rusqlite::Result<()> {
    let old =
        "SELECT id FROM documents WHERE scope = ? AND origin = 'task' ORDER BY id DESC LIMIT -1 OFFSET ?";
    let ids: Vec<i64> = sql
        .prepare(old)?
        .query_map(params![scope.name(), TASK_LOGS], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    ids.into_iter().try_for_each(|id| delete(sql, id))
}
