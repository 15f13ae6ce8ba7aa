//! Atomic replacement: write a temporary file in the target directory, exchange names with renameat2(2), then unlink
//! the old file. [`crate::recover`] reverts a failure in the middle of several steps.

use crate::path::{self, Directory, FileId, LOOK, check_case};
use crate::target::{OpenTarget, changed};
use crate::xattr::ExtendedAttributes;
use nix::errno::Errno;
use nix::fcntl::{RenameFlags, renameat2};
use nix::sys::stat::{Mode, fchmod, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, fsync, unlinkat};
use postern_policy::request::NewState;
use postern_policy::types::{Attributes, FileKind, FileMode};
use postern_root::{Code, Denied, Error, Fault};
use std::io::Write;
use std::os::fd::AsFd;

/// One change of one name.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The directory.
    pub parent: &'a Directory,
    /// The name in it.
    pub name: &'a str,
    /// A name beside it that only this order uses.
    pub temporary: &'a str,
    /// The file that was there when the change was decided.
    pub old: Option<&'a OpenTarget>,
    /// The new state. A directory that is removed must be empty.
    pub to: &'a NewState,
    /// Mode, owner and group of it.
    pub attributes: Attributes,
    /// Extended attributes of a new file or directory; none = those that it inherits from its directory.
    pub extended: Option<&'a ExtendedAttributes>,
}

/// Writes every new file and directory under its temporary name, synced.
///
/// # Errors
/// A fault; `special_file` if a directory is immutable or an attribute cannot be kept; `unsafe_path` if it folds case.
pub fn stage(steps: &[Step<'_>]) -> Result<(), Error> {
    steps.iter().try_for_each(|step| match step.to {
        NewState::Content(content) => step.stage_file(content),
        NewState::Directory => step.stage_directory(),
        NewState::Removed | NewState::Attributes => Ok(()),
    })
}

/// Removes the old files, once all new names are on the disk.
///
/// # Errors
/// A sync or an unlink failed.
pub fn clear(steps: &[Step<'_>]) -> Result<(), Error> {
    if steps.len() > 1 {
        sync(steps.iter().map(|step| step.parent))?;
    }
    for step in steps {
        remove(step.parent, step.temporary)?;
    }
    sync(steps.iter().map(|step| step.parent))
}

/// Syncs each directory once.
///
/// # Errors
/// As fsync(2).
pub fn sync<'a>(directories: impl Iterator<Item = &'a Directory>) -> Result<(), Error> {
    let mut synced = Vec::new();
    for directory in directories {
        let id = path::facts(directory)?.id;
        if !synced.contains(&id) {
            fsync(directory).map_err(failed("sync a directory"))?;
            synced.push(id);
        }
    }
    Ok(())
}

/// Removes a temporary file or empty directory, if it is there.
///
/// # Errors
/// It cannot be removed.
pub fn remove(parent: &Directory, temporary: &str) -> Result<(), Error> {
    let mut removed = unlinkat(parent, temporary, UnlinkatFlags::NoRemoveDir);
    if removed == Err(Errno::EISDIR) {
        removed = unlinkat(parent, temporary, UnlinkatFlags::RemoveDir);
    }
    match removed {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(failed("remove a temporary file")(errno)),
    }
}

impl Step<'_> {
    fn stage_file(&self, content: &[u8]) -> Result<(), Error> {
        let file = path::create(self.parent, self.temporary);
        let mut file = file.map_err(failed("make a temporary file"))?;
        file.write_all(content).map_err(Fault::io("write a temporary file"))?;
        self.set_new(&file)?;
        Ok(file.sync_all().map_err(Fault::io("sync a temporary file"))?)
    }

    fn stage_directory(&self) -> Result<(), Error> {
        mkdirat(self.parent, self.temporary, Mode::S_IRWXU).map_err(failed("make a directory"))?;
        let fd = path::open(self.parent, self.temporary, path::DIRECTORY);
        let fd = fd.map_err(failed("open a new directory"))?;
        self.set_new(&fd)?;
        fsync(&fd).map_err(failed("sync a new directory"))
    }

    /// Sets the owner first, so that an ACL never applies to another's group. For a new file, only its temporary name can show
    /// whether the directory ignores case.
    fn set_new(&self, staged: impl AsFd) -> Result<(), Error> {
        let staged = staged.as_fd();
        if let Some(extended) = self.extended {
            set_owner(staged, self.attributes)?;
            extended.set(staged, self.name, self.attributes.mode)?;
        }
        set(staged, self.attributes)?;
        check_case(self.parent, self.temporary, path::facts(staged)?.id)
    }

    /// Exchanges the names, and checks that the replaced file is the decided one.
    ///
    /// # Errors
    /// `precondition_failed` if the target changed meanwhile; a fault if the step failed.
    pub fn swap(&self) -> Result<(), Error> {
        let (none, exchange) = (RenameFlags::RENAME_NOREPLACE, RenameFlags::RENAME_EXCHANGE);
        let (from, to, how, sign) = match (self.old, self.to) {
            (None, NewState::Removed | NewState::Attributes) => return Err(changed()),
            (Some(old), NewState::Attributes) => return self.set_attributes(old),
            (None, _) => (self.temporary, self.name, none, Errno::EEXIST),
            (Some(_), NewState::Removed) => (self.name, self.temporary, none, Errno::ENOENT),
            (Some(_), _) => (self.temporary, self.name, exchange, Errno::ENOENT),
        };
        renameat2(self.parent, from, self.parent, to, how)
            .map_err(|errno| if errno == sign { changed() } else { failed("rename a file")(errno) })?;
        let Some(old) = self.old else { return Ok(()) };
        let checked = if !(self.has(self.temporary, old.facts.id) && old.is_unwritten()) {
            Err(changed())
        } else if (self.to, old.kind) == (&NewState::Removed, FileKind::Directory) {
            self.remove_directory()
        } else {
            return Ok(());
        };
        // Reverted here: recovery cannot distinguish another's file from a new one.
        checked.or_else(|why| {
            renameat2(self.parent, to, self.parent, from, how).map_err(failed("put a file back"))?;
            Err(why)
        })
    }

    /// Removes a directory that was renamed, only if it is empty.
    fn remove_directory(&self) -> Result<(), Error> {
        unlinkat(self.parent, self.temporary, UnlinkatFlags::RemoveDir).map_err(|errno| {
            let full = || Denied::new(Code::PreconditionFailed, format!("{:?} is not empty", self.name));
            let is_full = [Errno::ENOTEMPTY, Errno::EEXIST].contains(&errno);
            if is_full { full().into() } else { failed("remove a directory")(errno) }
        })
    }

    fn set_attributes(&self, old: &OpenTarget) -> Result<(), Error> {
        if !self.has(self.name, old.facts.id) {
            return Err(changed());
        }
        let synced = |()| Ok(old.file.sync_all().map_err(Fault::io("sync a file"))?);
        // The first failure is reported.
        set(&old.file, self.attributes).and_then(synced).inspect_err(|_| drop(set(&old.file, old.attributes)))
    }

    fn has(&self, name: &str, id: FileId) -> bool {
        let facts = path::open(self.parent, name, LOOK).ok().and_then(|fd| path::facts(fd).ok());
        facts.is_some_and(|facts| facts.id == id)
    }
}

/// Maps the errno of a call that changes a file. EPERM with our capabilities: file or directory is immutable.
fn failed(doing: &'static str) -> impl Fn(Errno) -> Error {
    move |errno| {
        if errno == Errno::EPERM {
            return path::special("a file or its directory is immutable or append-only".to_owned());
        }
        Fault::io(doing)(errno).into()
    }
}

fn set_owner(file: impl AsFd, to: Attributes) -> Result<(), Error> {
    let (uid, gid) = (Uid::from_raw(to.uid), Gid::from_raw(to.gid));
    fchown(file, Some(uid), Some(gid)).map_err(failed("set a file's owner"))
}

/// Sets owner, group and mode, and checks that they were taken: fchmod(2) clears bits silently.
fn set(file: impl AsFd, to: Attributes) -> Result<(), Error> {
    let file = file.as_fd();
    set_owner(file, to)?;
    fchmod(file, Mode::from_bits_truncate(to.mode.bits())).map_err(failed("set a file's mode"))?;
    let facts = path::facts(file)?;
    if (FileMode::of_stat(facts.mode), facts.owner) != (Some(to.mode), (to.uid, to.gid)) {
        return Err(Fault::new("a file did not take its mode or owner").into());
    }
    Ok(())
}
