//! Copies for undo: what requests replaced, below `undo/`, bounded for each client.
//!
//! A copy younger than a day is never given up for another: the change that would need its place is refused, so that
//! nobody can push out what a person may still want back, not even by writing much.

use crate::error::{Fault, Stop};
use crate::sys::{locked, store};
use postern_policy::{Code, Denied};
use postern_proto::root::v1::UndoLimits;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// How long a copy is kept whatever comes: as long as the id of its request.
const SAFE: Duration = Duration::from_secs(24 * 60 * 60);

/// What is known of one copy. The file is named `<uid>-<request_id>`.
#[derive(Debug)]
struct Kept {
    uid: u32,
    name: String,
    size: u64,
    /// When it was written, by the clock of the helper: the time in an id is its client's word.
    written: Duration,
}

/// All copies, oldest first.
#[derive(Debug)]
pub struct Copies {
    directory: PathBuf,
    kept: Mutex<Vec<Kept>>,
}

impl Copies {
    /// Takes up what an earlier helper kept, less what it was about to keep when it ended.
    ///
    /// # Errors
    /// The directory can't be read.
    pub fn open(directory: &Path) -> Result<Self, Fault> {
        let mut kept = Vec::new();
        for path in store::list(directory)? {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let Some(uid) = name.split_once('-').and_then(|(uid, _)| uid.parse().ok()) else {
                continue;
            };
            if path.extension().is_some() {
                store::remove_file(&path)?;
                continue;
            }
            let facts = std::fs::symlink_metadata(&path).map_err(Fault::io("stat a copy for undo"))?;
            let written = u64::try_from(facts.mtime()).unwrap_or(0);
            kept.push(Kept { uid, name, size: facts.len(), written: Duration::from_secs(written) });
        }
        kept.sort_by_key(|copy| copy.written);
        Ok(Self { directory: directory.to_owned(), kept: Mutex::new(kept) })
    }

    /// Keeps a copy, on disk when this returns. The oldest of the same client make room.
    ///
    /// # Errors
    /// `undo_full` if those are younger than a day; or it can't be written.
    pub fn keep(
        &self,
        (uid, request_id): (u32, &str),
        copy: &[u8],
        limits: UndoLimits,
        now: Duration,
    ) -> Result<(), Stop> {
        let mut kept = locked(&self.kept);
        self.expire_of(&mut kept, limits, now)?;
        let size = u64::try_from(copy.len()).unwrap_or(u64::MAX);
        loop {
            let own = || kept.iter().filter(|copy| copy.uid == uid);
            let bytes = own().map(|copy| copy.size).fold(size, u64::saturating_add);
            let fits = u32::try_from(own().count()).is_ok_and(|count| count < limits.max_count);
            if fits && bytes <= limits.max_bytes {
                break;
            }
            let oldest = kept.iter().position(|copy| copy.uid == uid && is_older(copy, SAFE, now));
            let Some(oldest) = oldest else {
                let why = "the copies for undo of this client are full, and none is older than a day";
                let then =
                    "undo something, wait, or have an operator raise `max_count` or `max_bytes` of [undo]";
                return Err(Denied::new(Code::UndoFull, format!("{why}; {then}")).into());
            };
            self.discard(&kept.remove(oldest).name)?;
        }
        let name = format!("{uid}-{request_id}");
        store::replace(&self.directory.join(&name), copy)?;
        kept.retain(|copy| copy.name != name);
        kept.push(Kept { uid, name, size, written: now });
        Ok(())
    }

    /// The copy of this request; none if it is kept no longer.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read(&self, uid: u32, request_id: &str) -> Result<Option<Vec<u8>>, Fault> {
        store::read(&self.directory.join(format!("{uid}-{request_id}")), u64::MAX)
    }

    /// Gives up the copy of this request, after it was taken back.
    ///
    /// # Errors
    /// It can't be removed.
    pub fn forget(&self, uid: u32, request_id: &str) -> Result<(), Fault> {
        let name = format!("{uid}-{request_id}");
        locked(&self.kept).retain(|copy| copy.name != name);
        self.discard(&name)
    }

    /// Gives up all that are older than the policy says, and older than a day.
    ///
    /// # Errors
    /// One can't be removed.
    pub fn expire(&self, limits: UndoLimits, now: Duration) -> Result<(), Fault> {
        self.expire_of(&mut locked(&self.kept), limits, now)
    }

    fn expire_of(&self, kept: &mut Vec<Kept>, limits: UndoLimits, now: Duration) -> Result<(), Fault> {
        let age = Duration::from_secs(limits.max_age_s).max(SAFE);
        while let Some(old) = kept.iter().position(|copy| is_older(copy, age, now)) {
            self.discard(&kept.remove(old).name)?;
        }
        Ok(())
    }

    fn discard(&self, name: &str) -> Result<(), Fault> {
        let path = self.directory.join(name);
        if path.exists() { store::remove_file(&path) } else { Ok(()) }
    }
}

fn is_older(copy: &Kept, age: Duration, now: Duration) -> bool {
    now.saturating_sub(copy.written) > age
}
