//! Atomic replacement: write a temporary file in the target directory, exchange names with renameat2(2), then unlink
//! the old file. Of several steps all are done or none: a failure is taken back, newest first, by the same renames.

use crate::path::{self, Directory, FileId, LOOK, case_folded, folds_case};
use crate::target::{OpenTarget, changed};
use crate::xattr::ExtendedAttributes;
use nix::errno::Errno;
use nix::fcntl::{OFlag, RenameFlags, openat, renameat2};
use nix::sys::stat::{Mode, fchmod, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, fsync, unlinkat};
use postern_policy::types::{Attributes, FileKind, FileMode};
use postern_policy::{Code, Denied};
use postern_root::{Error, Fault};
use std::fs::File;
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

/// Why steps were not done.
#[derive(Debug)]
pub enum SwapError {
    /// Every name is as it was before.
    TakenBack(Error),
    /// Taking back failed too: some names are new, some old, and old files may stand under their temporary names. Both
    /// reasons, in words for the log.
    Torn(String),
}

/// Writes every new file and directory under its temporary name, synced. If one fails, none is left.
///
/// # Errors
/// A fault; `special_file` if a directory is immutable or an attribute cannot be kept; `unsafe_path` if it folds case.
pub fn stage(steps: &[Step<'_>]) -> Result<(), Error> {
    let staged = steps.iter().try_for_each(|step| match step.new {
        New::File(content, attributes) => step.stage_file(content, attributes),
        New::Directory(attributes) => step.stage_directory(attributes),
        New::Attributes(_) | New::Nothing => Ok(()),
    });
    // The first failure is the one to tell.
    staged.inspect_err(|_| drop(clear(steps)))
}

/// Puts all of them in place, or none. Whatever is replaced is exactly the file that was decided about.
///
/// Returns the fault, if there was one, of a sync or an unlink after everything was in place.
///
/// # Errors
/// `precondition_failed` if a target changed meanwhile; a fault if a step failed.
pub fn swap(steps: &[Step<'_>]) -> Result<Option<Error>, SwapError> {
    for (at, step) in steps.iter().enumerate() {
        if let Err(error) = step.swap() {
            let done = steps.get(..at).unwrap_or_default().iter().rev();
            let back = done.map(Step::swap_back).fold(Ok(()), Result::and);
            // A temporary file that stays is none of the files that the order names.
            drop(clear(steps));
            return Err(match (error, back) {
                (SwapError::TakenBack(why), Err(error)) => torn(&why, &error),
                (error, _) => error,
            });
        }
    }
    // Before the first old file goes, all new names are on the disk.
    let synced = if steps.len() > 1 { sync(steps) } else { Ok(()) };
    let cleared = synced.and_then(|()| steps.iter().try_for_each(Step::clear)).and_then(|()| sync(steps));
    Ok(cleared.err())
}

/// Removes every temporary file but an old file that could not be put back.
///
/// # Errors
/// One cannot be removed.
pub fn clear(steps: &[Step<'_>]) -> Result<(), Error> {
    let is_ours = |step: &&Step<'_>| step.old.is_none_or(|old| !step.has(step.temporary, old.id));
    steps.iter().filter(is_ours).map(Step::clear).fold(Ok(()), Result::and)?;
    sync(steps)
}

fn torn(why: &Error, error: &Error) -> SwapError {
    SwapError::Torn(format!("{}; then {}", why.detail(), error.detail()))
}

fn sync(steps: &[Step<'_>]) -> Result<(), Error> {
    let mut synced = Vec::new();
    for step in steps {
        let id = path::facts(step.parent)?.id;
        if !synced.contains(&id) {
            fsync(step.parent).map_err(failed("sync a directory"))?;
            synced.push(id);
        }
    }
    Ok(())
}

impl Step<'_> {
    fn stage_file(&self, content: &[u8], attributes: Attributes) -> Result<(), Error> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = openat(self.parent, self.temporary, flags, Mode::S_IRUSR | Mode::S_IWUSR);
        let mut file = File::from(fd.map_err(failed("make a temporary file"))?);
        file.write_all(content).map_err(Fault::io("write a temporary file"))?;
        self.set_new(&file, attributes)?;
        self.check_case(&file)?;
        Ok(file.sync_all().map_err(Fault::io("sync a temporary file"))?)
    }

    fn stage_directory(&self, attributes: Attributes) -> Result<(), Error> {
        mkdirat(self.parent, self.temporary, Mode::S_IRWXU).map_err(failed("make a directory"))?;
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = path::open(self.parent, self.temporary, flags).map_err(failed("open a new directory"))?;
        self.set_new(&fd, attributes)?;
        self.check_case(&fd)?;
        fsync(&fd).map_err(failed("sync a new directory"))
    }

    /// The owner first: no ACL holds for another's group.
    fn set_new(&self, staged: impl AsFd, to: Attributes) -> Result<(), Error> {
        let staged = staged.as_fd();
        if let Some(attributes) = self.attributes {
            set_owner(staged, to)?;
            attributes.set(staged, self.name, to.mode)?;
        }
        set(staged, to)
    }

    /// Where there was no file yet only the new name can tell.
    fn check_case(&self, staged: impl AsFd) -> Result<(), Error> {
        if folds_case(self.parent, self.temporary, path::facts(staged)?.id) {
            return Err(case_folded(self.name));
        }
        Ok(())
    }

    fn rename(&self, from: &str, to: &str, how: RenameFlags) -> Result<(), Errno> {
        renameat2(self.parent, from, self.parent, to, how)
    }

    fn swap(&self) -> Result<(), SwapError> {
        let none = RenameFlags::RENAME_NOREPLACE;
        let (renamed, sign) = match (self.old, self.new) {
            (None, New::Nothing | New::Attributes(_)) => return Err(SwapError::TakenBack(changed())),
            (Some(old), New::Attributes(attributes)) => return self.set_attributes(old, attributes),
            (None, _) => (self.rename(self.temporary, self.name, none), Errno::EEXIST),
            (Some(_), New::File(..) | New::Directory(_)) => {
                (self.rename(self.temporary, self.name, RenameFlags::RENAME_EXCHANGE), Errno::ENOENT)
            }
            (Some(_), New::Nothing) => (self.rename(self.name, self.temporary, none), Errno::ENOENT),
        };
        renamed.map_err(|errno| {
            SwapError::TakenBack(if errno == sign { changed() } else { failed("rename a file")(errno) })
        })?;
        let Some(old) = self.old else { return Ok(()) };
        if !(self.has(self.temporary, old.id) && old.is_unwritten()) {
            return Err(self.take_back(changed()));
        }
        match (self.new, old.kind) {
            (New::Nothing, FileKind::Directory) => self.remove_directory(),
            (_, FileKind::File | FileKind::Directory) => Ok(()),
        }
    }

    /// Undoes this step after it failed behind its rename.
    fn take_back(&self, why: Error) -> SwapError {
        match self.swap_back() {
            Ok(()) => SwapError::TakenBack(why),
            Err(error) => torn(&why, &error),
        }
    }

    /// Undoes this step by the opposite rename.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn swap_back(&self) -> Result<(), Error> {
        let none = RenameFlags::RENAME_NOREPLACE;
        let back = match (self.old, self.new) {
            (Some(old), New::Attributes(_)) => return set(&old.file, old.attributes),
            (None, _) => self.rename(self.name, self.temporary, none),
            (Some(_), New::File(..) | New::Directory(_)) => {
                self.rename(self.temporary, self.name, RenameFlags::RENAME_EXCHANGE)
            }
            (Some(_), New::Nothing) => self.rename(self.temporary, self.name, none),
        };
        back.map_err(failed("put a file back"))
    }

    fn set_attributes(&self, old: &OpenTarget, attributes: Attributes) -> Result<(), SwapError> {
        if !self.has(self.name, old.id) {
            return Err(SwapError::TakenBack(changed()));
        }
        let synced = |()| Ok(old.file.sync_all().map_err(Fault::io("sync a file"))?);
        set(&old.file, attributes).and_then(synced).map_err(|error| self.take_back(error))
    }

    /// Where it has lost its name a directory can be removed only if it is empty.
    fn remove_directory(&self) -> Result<(), SwapError> {
        unlinkat(self.parent, self.temporary, UnlinkatFlags::RemoveDir).map_err(|errno| {
            let full =
                || Denied::new(Code::PreconditionFailed, format!("{:?} is not empty", self.name)).into();
            let is_full = [Errno::ENOTEMPTY, Errno::EEXIST].contains(&errno);
            self.take_back(if is_full { full() } else { failed("remove a directory")(errno) })
        })
    }

    fn clear(&self) -> Result<(), Error> {
        let how = match self.new {
            New::Directory(_) => UnlinkatFlags::RemoveDir,
            New::File(..) | New::Attributes(_) | New::Nothing => UnlinkatFlags::NoRemoveDir,
        };
        match unlinkat(self.parent, self.temporary, how) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(failed("remove a temporary file")(errno)),
        }
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
