//! Atomic replacement: write a temporary file in the target directory, exchange names with renameat2(2), then unlink
//! the old file. A failure in the middle of several steps is taken back by [`crate::recover`].

use crate::path::{self, Directory, FileId, LOOK, case_folded, folds_case};
use crate::target::{OpenTarget, changed};
use crate::xattr::ExtendedAttributes;
use nix::errno::Errno;
use nix::fcntl::{RenameFlags, renameat2};
use nix::sys::stat::{Mode, fchmod, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, fsync, unlinkat};
use postern_policy::types::{Attributes, FileKind, FileMode};
use postern_policy::{Code, Denied};
use postern_root::{Error, Fault};
use std::io::Write;
use std::os::fd::AsFd;

/// The new state of a name.
#[derive(Debug, Clone, Copy)]
pub enum New<'a> {
    /// A file with this content.
    File(&'a [u8], Attributes),
    /// A directory.
    Directory(Attributes),
    /// The same file or directory with these.
    Attributes(Attributes),
    /// Nothing. A directory must be empty.
    Nothing,
}

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
    /// The new state.
    pub new: New<'a>,
    /// Attributes of a new file or directory; none = those that its directory gives.
    pub attributes: Option<&'a ExtendedAttributes>,
}

/// Writes every new file and directory under its temporary name, synced.
///
/// # Errors
/// A fault; `special_file` if a directory is immutable or an attribute cannot be kept; `unsafe_path` if it folds case.
pub fn stage(steps: &[Step<'_>]) -> Result<(), Error> {
    steps.iter().try_for_each(|step| match step.new {
        New::File(content, attributes) => step.stage_file(content, attributes),
        New::Directory(attributes) => step.stage_directory(attributes),
        New::Attributes(_) | New::Nothing => Ok(()),
    })
}

/// Puts all of them in place. Whatever is replaced is exactly the file that was decided about.
///
/// # Errors
/// `precondition_failed` if a target changed meanwhile; a fault if a step failed. The steps before it are done, it is not.
pub fn swap(steps: &[Step<'_>]) -> Result<(), Error> {
    steps.iter().try_for_each(Step::swap)
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

/// Renames in a directory: `NOREPLACE` or `EXCHANGE`.
///
/// # Errors
/// As renameat2(2).
pub fn rename(parent: &Directory, from: &str, to: &str, how: RenameFlags) -> nix::Result<()> {
    renameat2(parent, from, parent, to, how)
}

impl Step<'_> {
    fn stage_file(&self, content: &[u8], attributes: Attributes) -> Result<(), Error> {
        let file = path::create(self.parent, self.temporary);
        let mut file = file.map_err(failed("make a temporary file"))?;
        file.write_all(content).map_err(Fault::io("write a temporary file"))?;
        self.set_new(&file, attributes)?;
        Ok(file.sync_all().map_err(Fault::io("sync a temporary file"))?)
    }

    fn stage_directory(&self, attributes: Attributes) -> Result<(), Error> {
        mkdirat(self.parent, self.temporary, Mode::S_IRWXU).map_err(failed("make a directory"))?;
        let fd = path::open(self.parent, self.temporary, path::DIRECTORY);
        let fd = fd.map_err(failed("open a new directory"))?;
        self.set_new(&fd, attributes)?;
        fsync(&fd).map_err(failed("sync a new directory"))
    }

    /// The owner first: no ACL holds for another's group. Where there was no file yet only the new name can tell whether
    /// the directory folds case.
    fn set_new(&self, staged: impl AsFd, to: Attributes) -> Result<(), Error> {
        let staged = staged.as_fd();
        if let Some(attributes) = self.attributes {
            set_owner(staged, to)?;
            attributes.set(staged, self.name, to.mode)?;
        }
        set(staged, to)?;
        let folds = folds_case(self.parent, self.temporary, path::facts(staged)?.id);
        if folds { Err(case_folded(self.name)) } else { Ok(()) }
    }

    fn swap(&self) -> Result<(), Error> {
        let (none, exchange) = (RenameFlags::RENAME_NOREPLACE, RenameFlags::RENAME_EXCHANGE);
        let (from, to, how, sign) = match (self.old, self.new) {
            (None, New::Nothing | New::Attributes(_)) => return Err(changed()),
            (Some(old), New::Attributes(attributes)) => return self.set_attributes(old, attributes),
            (None, _) => (self.temporary, self.name, none, Errno::EEXIST),
            (Some(_), New::Nothing) => (self.name, self.temporary, none, Errno::ENOENT),
            (Some(_), _) => (self.temporary, self.name, exchange, Errno::ENOENT),
        };
        rename(self.parent, from, to, how)
            .map_err(|errno| if errno == sign { changed() } else { failed("rename a file")(errno) })?;
        let Some(old) = self.old else { return Ok(()) };
        let checked = if !(self.has(self.temporary, old.facts.id) && old.is_unwritten()) {
            Err(changed())
        } else if matches!(self.new, New::Nothing) && old.kind == FileKind::Directory {
            self.remove_directory()
        } else {
            return Ok(());
        };
        // At once: recovery cannot tell another's file from a new one.
        checked.or_else(|why| {
            rename(self.parent, to, from, how).map_err(failed("put a file back"))?;
            Err(why)
        })
    }

    /// Where it has lost its name a directory can be removed only if it is empty.
    fn remove_directory(&self) -> Result<(), Error> {
        unlinkat(self.parent, self.temporary, UnlinkatFlags::RemoveDir).map_err(|errno| {
            let full = || Denied::new(Code::PreconditionFailed, format!("{:?} is not empty", self.name));
            let is_full = [Errno::ENOTEMPTY, Errno::EEXIST].contains(&errno);
            if is_full { full().into() } else { failed("remove a directory")(errno) }
        })
    }

    fn set_attributes(&self, old: &OpenTarget, attributes: Attributes) -> Result<(), Error> {
        if !self.has(self.name, old.facts.id) {
            return Err(changed());
        }
        let synced = |()| Ok(old.file.sync_all().map_err(Fault::io("sync a file"))?);
        // The first failure is the one to tell.
        set(&old.file, attributes).and_then(synced).inspect_err(|_| drop(set(&old.file, old.attributes)))
    }

    fn has(&self, name: &str, id: FileId) -> bool {
        let facts = path::open(self.parent, name, LOOK).ok().and_then(|fd| path::facts(fd).ok());
        facts.is_some_and(|facts| facts.id == id)
    }
}

/// An errno of a call that changes a file. EPERM with our capabilities: it, or its directory, is immutable.
fn failed(doing: &'static str) -> impl Fn(Errno) -> Error {
    move |errno| {
        if errno == Errno::EPERM {
            return Denied::new(Code::SpecialFile, "a file or its directory is immutable or append-only")
                .into();
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
        return Err(Fault::Program { what: "a file did not take its mode or owner".to_owned() }.into());
    }
    Ok(())
}
