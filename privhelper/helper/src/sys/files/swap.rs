//! The effects: what is new waits beside its place, takes it with one rename, and what was there goes last.
//!
//! Of several steps all are done or none: what fails is taken back, newest first, by the same renames.

use super::standing::{Standing, changed};
use super::xattr::Xattrs;
use super::{beneath, case_folded, folds_case, identity_of, open, stop};
use crate::audit::Ticket;
use crate::error::{Fault, Stop};
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, RenameFlags, openat2, renameat2};
use nix::sys::stat::{Mode, fchmod, fstat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, fsync, unlinkat};
use postern_policy::Code;
use postern_policy::types::{Attributes, FileKind, FileMode};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};

/// What is to be at a name.
#[derive(Debug, Clone, Copy)]
pub enum New<'a> {
    /// A file of this content.
    File(&'a [u8], Attributes),
    /// A directory.
    Directory(Attributes),
    /// What is there, with these.
    Attributes(Attributes),
    /// Nothing. A directory must be empty.
    Nothing,
}

/// One change: where, what was looked at there, and what is to be.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The directory.
    pub parent: &'a OwnedFd,
    /// The name in it.
    pub name: &'a str,
    /// A name beside it that nobody else uses.
    pub temporary: &'a str,
    /// What was looked at.
    pub old: Option<&'a Standing>,
    /// What is to be.
    pub new: New<'a>,
    /// What a new file or directory takes over; none = as its directory has it.
    pub xattrs: Option<&'a Xattrs>,
}

/// Puts everything that is new beside its place, synced: an effect. If one of them fails, none is left.
///
/// # Errors
/// A fault; `special_file` if a directory is immutable or an attribute can't be kept, `unsafe_path` if it folds case.
pub fn stage(ticket: &Ticket, steps: &[Step<'_>]) -> Result<(), Stop> {
    let staged = steps.iter().try_for_each(|step| match step.new {
        New::File(content, attributes) => step.stage_file(content, attributes),
        New::Directory(attributes) => step.stage_directory(attributes),
        New::Attributes(_) | New::Nothing => Ok(()),
    });
    staged.or_else(|stop| clear(ticket, steps).and(Err(stop)))
}

/// Puts all of them in place, or none: an effect. What is replaced is exactly what was looked at, else it is put back.
///
/// # Errors
/// `precondition_failed` if a target changed meanwhile; a fault if a step failed. The old files then stand.
pub fn swap(ticket: &Ticket, steps: &[Step<'_>]) -> Result<(), Stop> {
    for (at, step) in steps.iter().enumerate() {
        if let Err(stop) = step.swap() {
            let done = steps.get(..at).unwrap_or_default();
            let back = done.iter().rev().map(Step::swap_back).fold(Ok(()), Result::and);
            return back.and(clear(ticket, steps)).and(Err(stop));
        }
    }
    // Before the first old file goes, all new ones are there to stay.
    if steps.len() > 1 {
        sync(steps)?;
    }
    steps.iter().try_for_each(Step::clear)?;
    sync(steps)
}

/// Removes what waits beside its place and will not take it: an effect. An old file that could not be put back is left
/// for a person.
///
/// # Errors
/// It can't be removed.
pub fn clear(_: &Ticket, steps: &[Step<'_>]) -> Result<(), Stop> {
    let waits = |step: &&Step<'_>| step.old.is_none_or(|old| !step.is_at(step.temporary, old));
    steps.iter().filter(waits).map(Step::clear).fold(Ok(()), Result::and)?;
    sync(steps)
}

/// Undoes one step that was done: an effect. For what an earlier helper left halfway.
///
/// # Errors
/// It can't be put back.
pub fn swap_back(_: &Ticket, step: &Step<'_>) -> Result<(), Stop> {
    step.swap_back()
}

fn sync(steps: &[Step<'_>]) -> Result<(), Stop> {
    let mut synced = Vec::new();
    for step in steps {
        let stat = fstat(step.parent).map_err(Fault::io("stat a directory"))?;
        if !synced.contains(&identity_of(&stat)) {
            fsync(step.parent).map_err(Fault::io("sync a directory"))?;
            synced.push(identity_of(&stat));
        }
    }
    Ok(())
}

impl Step<'_> {
    fn stage_file(&self, content: &[u8], attributes: Attributes) -> Result<(), Stop> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let how = OpenHow::new().flags(flags).mode(Mode::S_IRUSR | Mode::S_IWUSR).resolve(beneath());
        let fd = openat2(self.parent, self.temporary, how)
            .map_err(|errno| self.immutable(errno, "make a temporary file"))?;
        let mut file = File::from(fd);
        file.write_all(content).map_err(Fault::io("write a temporary file"))?;
        self.set_new(&file, attributes)?;
        self.check_case(&file)?;
        file.sync_all().map_err(Fault::io("sync a temporary file"))?;
        Ok(())
    }

    fn stage_directory(&self, attributes: Attributes) -> Result<(), Stop> {
        mkdirat(self.parent, self.temporary, Mode::S_IRWXU)
            .map_err(|errno| self.immutable(errno, "make a directory"))?;
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = open(self.parent.as_fd(), self.temporary, flags, beneath())
            .map_err(Fault::io("open a new directory"))?;
        self.set_new(&fd, attributes)?;
        self.check_case(&fd)?;
        fsync(&fd).map_err(Fault::io("sync a new directory"))?;
        Ok(())
    }

    /// The owner first: no ACL holds for another's group.
    fn set_new(&self, staged: impl AsFd, to: Attributes) -> Result<(), Stop> {
        let staged = staged.as_fd();
        if let Some(xattrs) = self.xattrs {
            set_owner(staged, to)?;
            xattrs.set(staged, self.name, to.mode)?;
        }
        set(staged, to)
    }

    /// Where nothing stood yet only the new name can tell.
    fn check_case(&self, staged: impl AsFd) -> Result<(), Stop> {
        let stat = fstat(staged).map_err(Fault::io("stat a temporary file"))?;
        if folds_case(self.parent.as_fd(), self.temporary, identity_of(&stat)) {
            return Err(case_folded(self.name));
        }
        Ok(())
    }

    fn immutable(&self, errno: Errno, doing: &'static str) -> Stop {
        let why = format!("{:?} or its directory is immutable or append-only", self.name);
        stop(errno, doing, &[(&[Errno::EPERM], (Code::SpecialFile, why))])
    }

    fn rename(&self, from: &str, to: &str, how: RenameFlags) -> Result<(), Errno> {
        renameat2(self.parent, from, self.parent, to, how)
    }

    fn swap(&self) -> Result<(), Stop> {
        let failed = |errno, sign: Errno| {
            if errno == sign { changed() } else { self.immutable(errno, "rename a file") }
        };
        let there = RenameFlags::RENAME_NOREPLACE;
        match (self.old, self.new) {
            (None, New::Nothing | New::Attributes(_)) => Err(changed()),
            (None, New::File(..) | New::Directory(_)) => {
                self.rename(self.temporary, self.name, there).map_err(|errno| failed(errno, Errno::EEXIST))
            }
            (Some(old), New::Attributes(attributes)) => self.set_attributes(old, attributes),
            (Some(old), New::File(..) | New::Directory(_)) => {
                let exchange = RenameFlags::RENAME_EXCHANGE;
                self.rename(self.temporary, self.name, exchange)
                    .map_err(|errno| failed(errno, Errno::ENOENT))?;
                self.check_old(old)
            }
            (Some(old), New::Nothing) => {
                self.rename(self.name, self.temporary, there)
                    .map_err(|errno| failed(errno, Errno::ENOENT))?;
                self.check_old(old)?;
                if old.kind == FileKind::Directory { self.remove_directory() } else { Ok(()) }
            }
        }
    }

    /// What was taken away is what was looked at, and nobody has written into it since; else it is put back.
    fn check_old(&self, old: &Standing) -> Result<(), Stop> {
        if self.is_at(self.temporary, old) && old.is_unwritten() {
            return Ok(());
        }
        self.swap_back().and(Err(changed()))
    }

    fn swap_back(&self) -> Result<(), Stop> {
        let there = RenameFlags::RENAME_NOREPLACE;
        let back = match (self.old, self.new) {
            (None, _) => self.rename(self.name, self.temporary, there),
            (Some(old), New::Attributes(_)) => return set(&old.file, old.attributes),
            (Some(_), New::File(..) | New::Directory(_)) => {
                self.rename(self.temporary, self.name, RenameFlags::RENAME_EXCHANGE)
            }
            (Some(_), New::Nothing) => self.rename(self.temporary, self.name, there),
        };
        Ok(back.map_err(Fault::io("put a file back"))?)
    }

    fn set_attributes(&self, old: &Standing, attributes: Attributes) -> Result<(), Stop> {
        if !self.is_at(self.name, old) {
            return Err(changed());
        }
        let done = set(&old.file, attributes).map_err(|stop| match stop {
            Stop::Fault(Fault::Io { error, doing }) => {
                self.immutable(Errno::from_raw(error.raw_os_error().unwrap_or(0)), doing)
            }
            Stop::Fault(_) | Stop::Refused(_) | Stop::Attached => stop,
        });
        if let Err(stop) = done {
            // What could not be set as a whole is set back as far as it goes; the first failure is the one to tell.
            drop(set(&old.file, old.attributes));
            return Err(stop);
        }
        Ok(old.file.sync_all().map_err(Fault::io("sync a file"))?)
    }

    fn remove_directory(&self) -> Result<(), Stop> {
        match unlinkat(self.parent, self.temporary, UnlinkatFlags::RemoveDir) {
            Ok(()) => Ok(()),
            Err(errno) => {
                self.swap_back()?;
                let full = (Code::PreconditionFailed, format!("{:?} is not empty", self.name));
                Err(stop(errno, "remove a directory", &[(&[Errno::ENOTEMPTY, Errno::EEXIST], full)]))
            }
        }
    }

    fn clear(&self) -> Result<(), Stop> {
        let how = match self.new {
            New::Directory(_) => UnlinkatFlags::RemoveDir,
            New::File(..) | New::Attributes(_) | New::Nothing => UnlinkatFlags::NoRemoveDir,
        };
        match unlinkat(self.parent, self.temporary, how) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(Fault::io("remove a temporary file")(errno).into()),
        }
    }

    fn is_at(&self, name: &str, old: &Standing) -> bool {
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let stat = open(self.parent.as_fd(), name, flags, beneath()).and_then(fstat);
        stat.is_ok_and(|stat| identity_of(&stat) == old.identity)
    }
}

impl Standing {
    /// Whether size and time of the content are still those that were looked at.
    fn is_unwritten(&self) -> bool {
        let seen = (i64::try_from(self.size).unwrap_or(0), self.mtime);
        let now = fstat(&self.file).map(|stat| (stat.st_size, (stat.st_mtime, stat.st_mtime_nsec)));
        self.kind == FileKind::Directory || now.is_ok_and(|now| now == seen)
    }
}

fn set_owner(file: impl AsFd, to: Attributes) -> Result<(), Stop> {
    let (uid, gid) = (Uid::from_raw(to.uid), Gid::from_raw(to.gid));
    Ok(fchown(file, Some(uid), Some(gid)).map_err(Fault::io("set a file's owner"))?)
}

/// Sets owner, group and mode, and checks that they were taken.
fn set(file: impl AsFd, to: Attributes) -> Result<(), Stop> {
    let file = file.as_fd();
    set_owner(file, to)?;
    fchmod(file, Mode::from_bits_truncate(to.mode.bits())).map_err(Fault::io("set a file's mode"))?;
    let stat = fstat(file).map_err(Fault::io("stat a file"))?;
    if (FileMode::of_stat(stat.st_mode), stat.st_uid, stat.st_gid) != (Some(to.mode), to.uid, to.gid) {
        return Err(Fault::Program { what: "a file did not take its mode or owner".to_owned() }.into());
    }
    Ok(())
}
