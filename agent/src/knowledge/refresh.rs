//! Brings the host's documents in the index to the state of their files.

use super::document::{Document, Fault, Indexing, Origin, Scope};
use super::files::{Found, LeftOut, read};
use super::index::{delete, prepare, put};
use super::shared::Inner;
use rusqlite::Connection;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

/// Documents of one transaction: a person who adds one waits for no longer.
const BATCH: usize = 32;
/// Pause after each, in which others can write.
const PAUSE: Duration = Duration::from_millis(2);

/// Indexes all of the host's documents, whose files have this state.
pub fn index_host(inner: Arc<Inner>, state: String) {
    let mut left_out = LeftOut::default();
    let files = inner.places.all(&mut left_out);
    *inner.indexing.lock().unwrap_or_else(PoisonError::into_inner) =
        Indexing { running: true, total: files.len(), ..Indexing::default() };
    let base = Arc::downgrade(&inner);
    drop(inner);
    let origins = [Origin::Site, Origin::Man, Origin::Doc];
    let ended = refresh(&base, &files, &origins, &mut left_out);
    let Some(inner) = base.upgrade() else { return };
    if let Err(fault) = &ended {
        tracing::error!(event = "knowledge", "the host's documents are not all indexed: {}", fault.message());
        left_out.add(Path::new("knowledge.db"), fault.message());
    } else {
        tracing::info!(
            event = "knowledge",
            files = files.len(),
            left_out = left_out.count,
            "documents are indexed"
        );
    }
    // A failed run is not repeated before something changes or the agent starts again.
    *inner.seen.lock().unwrap_or_else(PoisonError::into_inner) = state;
    *inner.indexing.lock().unwrap_or_else(PoisonError::into_inner) = Indexing {
        running: false,
        done: files.len(),
        total: files.len(),
        left_out: left_out.count,
        why: left_out.why,
    };
}

/// Indexes files that are new or changed and removes those that are gone. Ends early if the base is dropped.
fn refresh(
    base: &Weak<Inner>,
    files: &[Found],
    origins: &[Origin],
    left_out: &mut LeftOut,
) -> Result<(), Fault> {
    let known = {
        let Some(base) = base.upgrade() else { return Ok(()) };
        base.write(|sql| known(sql, origins).map_err(|error| super::database::failed(&error)))?
    };
    let mut gone: HashMap<(String, String), (i64, String)> = known;
    let mut changed = Vec::new();
    for file in files {
        let key = (file.origin.word().to_owned(), file.path.display().to_string());
        match gone.remove(&key) {
            Some((_, stamp)) if stamp == file.stamp => {}
            Some(_) | None => changed.push(file),
        }
    }
    let gone: Vec<i64> = gone.into_values().map(|(id, _)| id).collect();
    for ids in gone.chunks(BATCH) {
        let Some(base) = base.upgrade() else { return Ok(()) };
        base.write(|sql| {
            ids.iter().try_for_each(|id| delete(sql, *id)).map_err(|error| super::database::failed(&error))
        })?;
        drop(base);
        std::thread::sleep(PAUSE);
    }
    let (total, mut done) = (files.len(), files.len() - changed.len());
    for batch in changed.chunks(BATCH) {
        let Some(base) = base.upgrade() else { return Ok(()) };
        let mut ready = Vec::new();
        for file in batch {
            let source = file.path.display().to_string();
            let text = match read(file) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(why) => {
                    left_out.add(&file.path, &why);
                    continue;
                }
            };
            let document = Document { origin: file.origin, source, stamp: file.stamp.clone(), text };
            match prepare(&document, &base.secrets) {
                Ok(document) => ready.push(document),
                Err(fault) => left_out.add(&file.path, fault.message()),
            }
        }
        base.write(|sql| {
            for document in &ready {
                put(sql, Scope::Host, document, &base.limits)?;
            }
            Ok(())
        })?;
        done += batch.len();
        {
            let mut indexing = base.indexing.lock().unwrap_or_else(PoisonError::into_inner);
            (indexing.done, indexing.total) = (done, total);
        }
        drop(base);
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

type Known = HashMap<(String, String), (i64, String)>;

fn known(sql: &Connection, origins: &[Origin]) -> rusqlite::Result<Known> {
    let mut find = sql.prepare("SELECT id, origin, source, stamp FROM documents WHERE scope = 'host'")?;
    let rows = find.query_map((), |row| {
        let (origin, source): (String, String) = (row.get(1)?, row.get(2)?);
        Ok(((origin, source), (row.get(0)?, row.get(3)?)))
    })?;
    let is_of = |origin: &str| origins.iter().any(|one| one.word() == origin);
    rows.filter(|row| row.as_ref().map_or(true, |((origin, _), _)| is_of(origin))).collect()
}
