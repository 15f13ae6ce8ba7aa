//! After a kill in the middle of a change: it is finished if everything was in place already, else taken back.
//!
//! The journal says what each file was and becomes; the disk says how far it came. After a power loss the note that the
//! order began may be lost while its undo copy, which is synced, is there: then the same comparison tells.

use crate::effect::note;
use crate::path::{Directory, open_granted};
use crate::state::State;
use crate::swap::{self, New, Step};
use crate::target::{OpenTarget, open_target};
use postern_policy::Code;
use postern_policy::types::{Attributes, FileKind, FileMode, TargetPath};
use postern_proto::root::v1::{FileFacts, Journal, JournalEntry};
use postern_proto::v1::{Completed, Status};
use postern_root::{Error, Fault, OrderId, OutcomeState};
use std::sync::PoisonError;

const KINDS: &[FileKind] = &[FileKind::File, FileKind::Directory];

/// Settles every order that an earlier process began and did not end, before any other change begins.
///
/// # Errors
/// Our own state cannot be read or written.
pub fn recover_all(state: &State) -> Result<(), Fault> {
    for id in state.outcomes.running()? {
        settle(state, id)?;
    }
    state.undo.forget_journals()
}

/// Tells what became of an order. After a power loss its undo copy is all that is left of it.
///
/// # Errors
/// Our own state cannot be read or written.
pub fn state_of(state: &State, id: OrderId) -> Result<OutcomeState, Fault> {
    if state.outcomes.state(id)? == OutcomeState::Unknown {
        let _one_at_a_time = state.effect.lock().unwrap_or_else(PoisonError::into_inner);
        if state.outcomes.state(id)? == OutcomeState::Unknown && state.undo.has(id) {
            settle(state, id)?;
        }
    }
    state.outcomes.state(id)
}

/// Finishes or takes back an order, and keeps the outcome.
fn settle(state: &State, id: OrderId) -> Result<(), Fault> {
    let Some(kept) = state.undo.read(id)? else {
        // It ended before its journal was written: nothing was changed.
        return state.outcomes.withdraw(id);
    };
    let mut outcome = kept.journal.outcome.clone().unwrap_or_default();
    let is_whole = take_up(state, &kept.journal);
    let message = match &is_whole {
        Ok(true) => "the helper was interrupted; the change is in place",
        Ok(false) => "the helper was interrupted; the change was taken back",
        Err(_) => "the helper was interrupted; look at the files",
    };
    if matches!(is_whole, Ok(true)) {
        if let Some(completed) = &mut outcome.completed {
            message.clone_into(&mut completed.message);
        }
    } else {
        let detail = is_whole.as_ref().err().map(Error::detail).unwrap_or_default();
        let completed = outcome.completed.take().unwrap_or_default();
        outcome.completed = Some(Completed { files: Vec::new(), ..completed });
        outcome.inverse = None;
        note(&mut outcome, Status::Interrupted, Code::Interrupted, message, detail);
    }
    // Killed in between, the next start finds that nothing was changed.
    if matches!(is_whole, Ok(false)) {
        state.undo.forget(id)?;
    }
    state.outcomes.end(id, &outcome)
}

/// Whether the change is in place as a whole; else nothing of it is when this returns.
fn take_up(state: &State, journal: &Journal) -> Result<bool, Error> {
    let mut places = Vec::new();
    for entry in &journal.entries {
        let path = entry.before.as_ref().map(|before| before.path.as_str()).unwrap_or_default();
        let path = TargetPath::new(path)?;
        let parent = open_granted(&TargetPath::new(path.split().0)?, state.host.root_uid)?;
        places.push((entry, path, parent));
    }
    let found = places.iter().map(|(entry, path, parent)| Found::new(entry, path, parent));
    let found = found.collect::<Result<Vec<_>, Error>>()?;
    let is_whole = found.iter().all(|found| found.is_new && !found.is_leaving());
    // Where nothing waits beside its place, the order had come to its end or not begun: later changes are not its own.
    if found.iter().any(|found| found.beside.is_some()) {
        if !is_whole {
            for found in found.iter().rev().filter(|found| found.has_way_back()) {
                found.step(found.beside.as_ref()).swap_back()?;
            }
        }
        let steps = found.iter().map(|found| found.step(None)).collect::<Vec<_>>();
        swap::clear(&steps)?;
    }
    Ok(is_whole)
}

/// One entry of a journal, and what is on the disk.
struct Found<'a> {
    entry: &'a JournalEntry,
    name: &'a str,
    parent: &'a Directory,
    /// The file under the temporary name.
    beside: Option<OpenTarget>,
    /// Whether the new state is in place.
    is_new: bool,
}

impl<'a> Found<'a> {
    fn new(entry: &'a JournalEntry, path: &'a TargetPath, parent: &'a Directory) -> Result<Self, Error> {
        let name = path.split().1;
        let there = open_target(parent, name, KINDS)?;
        let has_temporary = !entry.temporary.is_empty();
        let beside = if has_temporary { open_target(parent, &entry.temporary, KINDS)? } else { None };
        let existed = entry.before.as_ref().is_some_and(|before| before.exists);
        let is_before = |target: &OpenTarget| target.id.2 == entry.inode;
        let is_new = match (existed, &beside) {
            // The old file is beside its place: the names were exchanged.
            (true, Some(beside)) if is_before(beside) => true,
            (true, _) if has_temporary && there.as_ref().is_some_and(is_before) => false,
            (false, Some(_)) => false,
            (true | false, _) => is_as(there.as_ref(), entry.after.as_ref())?,
        };
        Ok(Self { entry, name, parent, beside, is_new })
    }

    fn existed(&self) -> bool {
        self.entry.before.as_ref().is_some_and(|before| before.exists)
    }

    fn stays(&self) -> Option<&FileFacts> {
        self.entry.after.as_ref().filter(|after| after.exists)
    }

    /// A directory that has lost its name and is not removed: only there it is known to be empty.
    fn is_leaving(&self) -> bool {
        let is_directory = |target: &OpenTarget| target.kind == FileKind::Directory;
        self.stays().is_none() && self.beside.as_ref().is_some_and(is_directory)
    }

    /// A new name can be taken away again; a replaced one only if the old file is still beside it.
    fn has_way_back(&self) -> bool {
        self.is_new && (!self.existed() || self.beside.is_some())
    }

    /// The step, as far as taking it back and clearing up need it.
    fn step<'b>(&'b self, old: Option<&'b OpenTarget>) -> Step<'b> {
        let attributes = Attributes { mode: FileMode::DEFAULT, uid: 0, gid: 0 };
        let new = match self.stays() {
            Some(after) if after.directory => New::Directory(attributes),
            Some(_) => New::File(&[], attributes),
            None => New::Nothing,
        };
        let temporary = &self.entry.temporary;
        Step { parent: self.parent, name: self.name, temporary, old, new, attributes: None }
    }
}

/// Whether this is the state after the change.
fn is_as(there: Option<&OpenTarget>, after: Option<&FileFacts>) -> Result<bool, Fault> {
    let (there, after) = match (there, after.filter(|after| after.exists)) {
        (Some(there), Some(after)) => (there, after),
        (None, None) => return Ok(true),
        (None, Some(_)) | (Some(_), None) => return Ok(false),
    };
    let Attributes { mode, uid, gid } = there.attributes;
    let seen = (there.kind == FileKind::Directory, mode.bits(), uid, gid);
    let is_content = after.sha256.is_empty() || there.sha256()?.as_bytes() == after.sha256;
    Ok(seen == (after.directory, after.mode, after.uid, after.gid) && is_content)
}
