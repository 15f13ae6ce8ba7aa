//! Disk quota of all workspaces together: before a call that writes, those unused for the longest time go until a
//! whole workspace more has room.
//!
//! Nobody measures all of them for that. A call notes the most that its workspace may grow to before it begins, and what
//! it holds at its end: one that was killed counts as full until it is used again.

use super::workspace::{BYTES, Size};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::SystemTime;

/// The most bytes of all workspaces together, where nothing else is said.
pub const TOTAL: u64 = 2 * 1024 * 1024 * 1024;
/// Bytes that an empty file counts for.
const ENTRY: u64 = 4096;
/// The directory of the notes, one file a task.
const NOTES: &str = ".sizes";

/// The room that one call may write into. While it is held, its workspace is in use and not removed.
#[derive(Debug)]
pub struct Reservation {
    /// Locked shared, by every call of the task. The workspace itself is for the shims to lock.
    note: File,
}

impl Reservation {
    /// Reserves a whole workspace, of `total` bytes for all.
    ///
    /// # Errors
    /// Calls that run now hold all of it, or the notes cannot be kept.
    pub fn take(state: &Path, task: &str, total: u64) -> io::Result<Self> {
        let notes = state.join(NOTES);
        fs::create_dir_all(&notes)?;
        // One call at a time decides what goes.
        let turn = File::open(&notes)?;
        flock(&turn, FlockOperation::LockExclusive)?;
        let mut others = read(&notes, task)?;
        others.sort_by_key(|other| other.used);
        let mut sum: u64 = others.iter().map(|other| other.bytes).sum();
        for other in &others {
            if sum.saturating_add(BYTES) <= total {
                break;
            }
            if remove(&state.join(&other.task), &notes.join(&other.task))? {
                tracing::info!(
                    event = "workspace_removed",
                    task = other.task,
                    bytes = other.bytes,
                    "a workspace went to make room"
                );
                sum = sum.saturating_sub(other.bytes);
            }
        }
        if sum.saturating_add(BYTES) > total {
            return Err(io::Error::other(
                "other commands hold all the room that there is for files; try again later",
            ));
        }
        let note = File::options().create(true).truncate(false).write(true).open(notes.join(task))?;
        flock(&note, FlockOperation::LockShared)?;
        let reservation = Self { note };
        reservation.note(BYTES)?;
        Ok(reservation)
    }

    /// Notes what the workspace holds at the end of the call.
    ///
    /// # Errors
    /// The note cannot be written; the workspace counts as full then.
    pub fn end(&self, size: Size) -> io::Result<()> {
        self.note(size.bytes.max(size.entries.saturating_mul(ENTRY)))
    }

    fn note(&self, bytes: u64) -> io::Result<()> {
        self.note.set_len(0)?;
        self.note.write_all_at(bytes.to_string().as_bytes(), 0)
    }
}

/// The noted size and last use of another task's workspace.
struct Other {
    task: String,
    bytes: u64,
    used: SystemTime,
}

fn read(notes: &Path, own: &str) -> io::Result<Vec<Other>> {
    let mut others = Vec::new();
    for entry in fs::read_dir(notes)? {
        let entry = entry?;
        let Ok(task) = entry.file_name().into_string() else { continue };
        if task != own {
            // A note that cannot be read says nothing, so the workspace counts as full.
            let bytes =
                fs::read_to_string(entry.path()).ok().and_then(|text| text.parse().ok()).unwrap_or(BYTES);
            others.push(Other { task, bytes, used: entry.metadata()?.modified()? });
        }
    }
    Ok(others)
}

/// Removes a workspace that no call uses, with its note; false where one does.
fn remove(workspace: &Path, note: &Path) -> io::Result<bool> {
    if flock(&File::open(note)?, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    // Opens what its owner had closed to itself.
    let _ = Size::of(workspace);
    match fs::remove_dir_all(workspace) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => fs::remove_file(note).map(|()| true),
    }
}
