//! Recovery of a change that failed or was interrupted by a kill: completes it if every file is in place, else reverts it.
//!
//! The journal has each file before and after; the disk shows how far the change came. After a power loss the note that the
//! order began may be lost while its undo copy, which is synced, exists: then the undo copy is compared instead.

use crate::path::{Directory, open_granted};
use crate::state::State;
use crate::swap::{remove, sync};
use crate::target::{OpenTarget, open_target};
use nix::fcntl::{RenameFlags, renameat2};
use postern_policy::Code;
use postern_policy::types::{FileKind, TargetPath};
use postern_proto::root::v1::{FileFacts, Journal, JournalEntry, Outcome, OutcomesReply};
use postern_proto::v1::Status;
use postern_root::{Error, Fault, OrderId, outcomes};
use prost::Message;
use std::sync::PoisonError;

const KINDS: &[FileKind] = &[FileKind::File, FileKind::Directory];

/// Recovers every order that an earlier process began and did not end, before any other change begins; then removes old undo copies.
///
/// # Errors
/// Our own state cannot be read or written.
pub fn recover_all(state: &State) -> Result<(), Fault> {
    for (id, note) in state.outcomes.running()? {
        match Journal::decode(note.as_slice()) {
            Ok(journal) if !journal.entries.is_empty() => recover_order(state, id, &journal)?,
            // The process ended while it wrote the journal: nothing was changed.
            Ok(_) | Err(_) => state.outcomes.withdraw(id)?,
        }
    }
    state.undo.expire(state.active.policy.undo(), state.host.unix())
}

/// Returns the state of an order. After a power loss only its undo copy may be left.
///
/// # Errors
/// Our own state cannot be read or written.
pub fn state_of(state: &State, id: OrderId) -> Result<OutcomesReply, Fault> {
    if state.outcomes.state(id)? == outcomes::unknown() {
        let _one_at_a_time = state.effect.lock().unwrap_or_else(PoisonError::into_inner);
        let is_lost = state.outcomes.state(id)? == outcomes::unknown();
        if let Some(journal) = state.undo.read(id.as_bytes())?.filter(|_| is_lost) {
            recover_order(state, id, &journal)?;
        }
    }
    state.outcomes.state(id)
}

/// Completes or reverts an order, and stores the outcome.
fn recover_order(state: &State, id: OrderId, journal: &Journal) -> Result<(), Fault> {
    let mut outcome = journal.outcome.clone().unwrap_or_default();
    let (status, message, detail) = match recover_files(state, journal) {
        Ok(true) => (Status::Done, "the helper was interrupted; the change is in place", String::new()),
        Ok(false) => {
            // If the process is killed after this, the next start finds that nothing was changed.
            state.undo.forget(id.as_bytes())?;
            (Status::Interrupted, "the helper was interrupted; the change was taken back", String::new())
        }
        // The undo copy is kept: a person may need it.
        Err(error) => (Status::Interrupted, "the change was interrupted; examine the files", error.detail()),
    };
    note(&mut outcome, status, message, detail);
    state.outcomes.end(id, &outcome)
}

/// Sets status and message of an outcome. An interrupted one has neither files nor an inverse.
pub fn note(outcome: &mut Outcome, status: Status, message: &str, detail: String) {
    outcome.detail = detail;
    let Some(completed) = &mut outcome.completed else { return };
    if status == Status::Interrupted {
        outcome.inverse = None;
        completed.files.clear();
    }
    (completed.status, completed.undoable) = (status.into(), outcome.inverse.is_some());
    message.clone_into(&mut completed.message);
    if status != Status::Done {
        Code::Interrupted.as_str().clone_into(&mut completed.code);
    }
}

fn recover_files(state: &State, journal: &Journal) -> Result<bool, Error> {
    let mut parents = Vec::new();
    for entry in &journal.entries {
        let path = TargetPath::new(path_of(entry))?;
        parents.push(open_granted(&TargetPath::new(path.split().0)?, state.host.root_uid)?);
    }
    complete_or_revert(&journal.entries, parents.iter())
}

/// The path of an entry.
pub(crate) fn path_of(entry: &JournalEntry) -> &str {
    entry.before.as_ref().map(|before| before.path.as_str()).unwrap_or_default()
}

/// Returns true if the whole change is in place; else reverts all of it and returns false. `parents` are the directories of
/// the entries.
///
/// # Errors
/// It could not be reverted.
pub fn complete_or_revert<'a>(
    entries: &[JournalEntry],
    parents: impl Iterator<Item = &'a Directory>,
) -> Result<bool, Error> {
    let found = entries.iter().zip(parents).map(|(entry, parent)| Found::new(entry, parent));
    let found = found.collect::<Result<Vec<_>, _>>()?;
    let is_whole = found.iter().all(|found| found.is_new && !found.is_unsettled);
    // Without a temporary file the order had ended or not begun: other differences are later changes by others.
    if found.iter().any(|found| found.beside.is_some()) {
        if !is_whole {
            found.iter().rev().try_for_each(Found::put_back)?;
        }
        let mut temporary = found.iter().filter(|found| !found.entry.temporary.is_empty());
        temporary.try_for_each(|found| remove(found.parent, &found.entry.temporary))?;
        sync(found.iter().map(|found| found.parent))?;
    }
    Ok(is_whole)
}

/// One entry of a journal, and what is on the disk.
struct Found<'a> {
    entry: &'a JournalEntry,
    parent: &'a Directory,
    name: &'a str,
    /// The file under the temporary name.
    beside: Option<OpenTarget>,
    /// Whether the new state is in place.
    is_new: bool,
    /// It is in place, and must be reverted: the file under the temporary name is another's, or a directory that may not be empty.
    is_unsettled: bool,
}

impl<'a> Found<'a> {
    fn new(entry: &'a JournalEntry, parent: &'a Directory) -> Result<Self, Error> {
        let name = path_of(entry).rsplit('/').next().unwrap_or_default();
        let there = open_target(parent, name, KINDS)?;
        let has_temporary = !entry.temporary.is_empty();
        let beside = if has_temporary { open_target(parent, &entry.temporary, KINDS)? } else { None };
        let is_before = |target: &OpenTarget| target.facts.id.2 == entry.inode;
        let is_new = match (exists(entry.before.as_ref()), &beside) {
            // The temporary name has the old file: the names were exchanged.
            (true, Some(beside)) if is_before(beside) => true,
            (true, _) if has_temporary && there.as_ref().is_some_and(is_before) => false,
            (false, Some(_)) => false,
            (true | false, _) => is_as(there.as_ref(), entry.after.as_ref())?,
        };
        if !is_new && !has_temporary && !is_as(there.as_ref(), entry.before.as_ref())? {
            return Err(Fault::new(format!("{name:?} is neither as before nor as after")).into());
        }
        let is_unsettled = is_new
            && beside.as_ref().is_some_and(|beside| {
                !is_before(beside) || (!exists(entry.after.as_ref()) && beside.kind == FileKind::Directory)
            });
        Ok(Self { entry, parent, name, beside, is_new, is_unsettled })
    }

    /// Reverts a rename. A new name can be removed again; a replaced file only if the old one still has the temporary name.
    fn put_back(&self) -> Result<(), Error> {
        let (temporary, none) = (self.entry.temporary.as_str(), RenameFlags::RENAME_NOREPLACE);
        let existed = exists(self.entry.before.as_ref());
        let (from, to, how) = match (existed, &self.beside) {
            _ if !self.is_new => return Ok(()),
            (true, None) => return Ok(()),
            (false, _) => (self.name, temporary, none),
            (true, Some(_)) if exists(self.entry.after.as_ref()) => {
                (temporary, self.name, RenameFlags::RENAME_EXCHANGE)
            }
            (true, Some(_)) => (temporary, self.name, none),
        };
        Ok(renameat2(self.parent, from, self.parent, to, how).map_err(Fault::io("put a file back"))?)
    }
}

fn exists(facts: Option<&FileFacts>) -> bool {
    facts.is_some_and(|facts| facts.exists)
}

/// Whether this is the state that the journal says. Content counts where it was hashed.
fn is_as(there: Option<&OpenTarget>, state: Option<&FileFacts>) -> Result<bool, Error> {
    let (there, state) = match (there, state.filter(|state| state.exists)) {
        (Some(there), Some(state)) => (there, state),
        (there, state) => return Ok(there.is_none() && state.is_none()),
    };
    Ok(is_as_left(&there.to_wire(&state.path, !state.sha256.is_empty())?, state))
}

/// Whether the files are as the effect left them. Attribute names and sizes of what was not written do not count.
pub(crate) fn is_as_left(now: &FileFacts, left: &FileFacts) -> bool {
    let owner = |facts: &FileFacts| (facts.mode, facts.uid, facts.gid);
    let is_content = left.sha256.is_empty() || now.sha256 == left.sha256;
    (now.exists, now.directory, &now.path) == (left.exists, left.directory, &left.path)
        && owner(now) == owner(left)
        && is_content
}
