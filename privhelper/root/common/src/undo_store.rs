//! The undo store: what orders replaced, below `undo/`, bounded for each client.
//!
//! A copy younger than a day is never removed for a newer one: the change that needs its space is refused, so that no
//! client can push out a copy that a person may still need.

use crate::error::{Code, Denied, Error, Fault};
use crate::receive::OrderId;
use crate::store::{self, Durability};
use postern_proto::root::v1::{Inverse, Journal, JournalEntry, UndoLimits};
use prost::Message;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a copy is kept in any case: as long as the id of its request.
const SAFE: Duration = Duration::from_secs(24 * 60 * 60);

const FULL: &str = "the undo copies of this client are full, and none is older than a day; undo something, wait, or \
                    have an operator raise `max_count` or `max_bytes` of [undo]";

/// One file of the store. Its name is `<uid>-<order id>`.
#[derive(Debug)]
struct Entry {
    uid: u32,
    id: OrderId,
    size: u64,
    /// By this host's clock: the time in a request id is its client's word.
    written: Duration,
}

/// All files, oldest first.
#[derive(Debug)]
pub struct UndoStore {
    directory: PathBuf,
    copies: Mutex<Vec<Entry>>,
}

impl UndoStore {
    /// Opens the directory, and removes files that an earlier process did not complete.
    ///
    /// # Errors
    /// It cannot be made or read.
    pub fn open(directory: &Path) -> Result<Self, Fault> {
        store::make_directory(directory)?;
        let mut copies = Vec::new();
        for path in store::list(directory)? {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let parts = name.split_once('-');
            let parts = parts.and_then(|(uid, id)| Some((uid.parse().ok()?, OrderId::from_hex(id)?)));
            let Some((uid, id)) = parts else {
                store::remove(&path)?;
                continue;
            };
            let facts = std::fs::symlink_metadata(&path).map_err(Fault::io("stat an undo copy"))?;
            let written = Duration::from_secs(u64::try_from(facts.mtime()).unwrap_or(0));
            copies.push(Entry { uid, id, size: facts.len(), written });
        }
        copies.sort_by_key(|copy| copy.written);
        Ok(Self { directory: directory.to_owned(), copies: Mutex::new(copies) })
    }

    /// Stores the journal of an order with the old content, synced when this returns. The oldest copies of the same client are
    /// removed to make room.
    ///
    /// # Errors
    /// `undo_full` if those are younger than a day; or it cannot be written.
    pub fn keep(
        &self,
        (uid, id): (u32, OrderId),
        journal: &Journal,
        limits: UndoLimits,
        now: Duration,
    ) -> Result<(), Error> {
        let bytes = journal.encode_to_vec();
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.expire(limits, now)?;
        let mut copies = self.copies();
        loop {
            let own = || copies.iter().filter(|copy| copy.uid == uid);
            let bytes = own().map(|copy| copy.size).fold(size, u64::saturating_add);
            let fits = u32::try_from(own().count()).is_ok_and(|count| count < limits.max_count);
            if fits && bytes <= limits.max_bytes {
                break;
            }
            let oldest = copies.iter().position(|copy| copy.uid == uid && is_older(copy, SAFE, now));
            let oldest = oldest.ok_or_else(|| Denied::new(Code::UndoFull, FULL))?;
            self.discard(&mut copies, oldest)?;
        }
        let entry = Entry { uid, id, size, written: now };
        store::replace(&self.path(&entry), &[&bytes], Durability::Synced)?;
        copies.push(entry);
        Ok(())
    }

    /// Removes copies that are older than the policy's limit, and older than a day.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn expire(&self, limits: UndoLimits, now: Duration) -> Result<(), Fault> {
        let mut copies = self.copies();
        let age = Duration::from_secs(limits.max_age_s).max(SAFE);
        while let Some(old) = copies.iter().position(|copy| is_older(copy, age, now)) {
            self.discard(&mut copies, old)?;
        }
        Ok(())
    }

    fn path(&self, entry: &Entry) -> PathBuf {
        self.directory.join(format!("{}-{}", entry.uid, entry.id))
    }

    /// Reads the journal of the order of this id, with the content that is kept; none if there is none.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn read(&self, id: &[u8]) -> Result<Option<Journal>, Fault> {
        let path = self.copies().iter().find(|copy| copy.id.as_bytes() == id).map(|copy| self.path(copy));
        let bytes = path.map(|path| store::read(&path, u64::MAX)).transpose()?.flatten();
        let journal = bytes.map(|bytes| Journal::decode(bytes.as_slice())).transpose();
        journal.map_err(|_| Fault::corrupt("an undo copy"))
    }

    /// Reads the entries with the content that an undo needs; empty if it needs none.
    ///
    /// # Errors
    /// `undo_gone`; or they cannot be read.
    pub fn read_for(&self, undo: Option<&Inverse>) -> Result<Vec<JournalEntry>, Error> {
        let Some(undo) = undo.filter(|undo| !undo.content_id.is_empty()) else { return Ok(Vec::new()) };
        let gone = || Denied::new(Code::UndoGone, "the old content is no longer kept for undo");
        Ok(self.read(&undo.content_id)?.ok_or_else(gone)?.entries)
    }

    /// Removes the journal and copy of the order of this id.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn forget(&self, id: &[u8]) -> Result<(), Fault> {
        let mut copies = self.copies();
        while let Some(at) = copies.iter().position(|copy| copy.id.as_bytes() == id) {
            self.discard(&mut copies, at)?;
        }
        Ok(())
    }

    fn discard(&self, copies: &mut Vec<Entry>, at: usize) -> Result<(), Fault> {
        let copy = copies.remove(at);
        store::remove(&self.path(&copy))
    }

    fn copies(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_older(copy: &Entry, age: Duration, now: Duration) -> bool {
    now.saturating_sub(copy.written) > age
}
