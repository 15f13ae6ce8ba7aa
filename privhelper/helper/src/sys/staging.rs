//! A copy of a directory, in which a program may judge a change before it is made.
//!
//! Nothing is followed: a link is copied as a link, and what is no file, directory or link is left out. The copy has
//! the owners and modes of what it is of, for there are programs that look at them.

use super::files::{beneath, open};
use crate::audit::Ticket;
use crate::error::{Fault, Stop};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2, readlinkat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, symlinkat, unlinkat};
use postern_policy::types::Attributes;
use postern_policy::{Code, Denied};
use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};

/// What is done with the copy, for faults.
const DOING: &str = "copy a directory for a validator";
/// Directories within directories.
const DEPTH_MAX: usize = 16;

/// How much more may be copied.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Bytes of all files.
    pub bytes: u64,
    /// Files, directories, links and what is left out.
    pub entries: u32,
}

/// Copies what stands in a directory, and its own owner and mode, into an empty one: an effect on root's own state.
///
/// # Errors
/// `too_large`; `unsafe_path` for another file system in it; or it can't be read or written.
pub fn copy(_: &Ticket, from: &OwnedFd, to: &OwnedFd, room: &mut Room) -> Result<(), Stop> {
    directory(from, to, room, DEPTH_MAX)
}

/// Puts a file into the copy in the place of what stands there, or nothing: an effect on root's own state.
///
/// # Errors
/// It can't be written.
pub fn put(_: &Ticket, to: &OwnedFd, name: &str, new: Option<(&[u8], Attributes)>) -> Result<(), Stop> {
    match unlinkat(to, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(errno) => return Err(fault(errno)),
    }
    let Some((content, Attributes { mode, uid, gid })) = new else {
        return Ok(());
    };
    let how = OpenHow::new().flags(NEW).mode(Mode::S_IRUSR | Mode::S_IWUSR).resolve(beneath());
    let mut file = File::from(openat2(to, name, how).map_err(fault)?);
    file.write_all(content).map_err(Fault::io(DOING))?;
    own(&file, uid, gid, mode.bits())
}

fn directory(from: &OwnedFd, to: &OwnedFd, room: &mut Room, depth: usize) -> Result<(), Stop> {
    let listed = open(from.as_fd(), ".", OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, beneath()).map_err(fault)?;
    let mut listed = Dir::from_fd(listed).map_err(fault)?;
    for entry in listed.iter() {
        let entry = entry.map_err(fault)?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            copy_entry(from, to, name, room, depth)?;
        }
    }
    let stat = fstat(from).map_err(fault)?;
    own(to, stat.st_uid, stat.st_gid, stat.st_mode)
}

fn copy_entry(from: &OwnedFd, to: &OwnedFd, name: &CStr, room: &mut Room, depth: usize) -> Result<(), Stop> {
    let refused = |code, what: &str| Stop::from(Denied::new(code, what).with(name.to_string_lossy()));
    let Some(left) = room.entries.checked_sub(1) else {
        return Err(refused(Code::TooLarge, "the directory holds too much to be copied for a validator"));
    };
    room.entries = left;
    let get = |flags| {
        reach(from, name, flags).map_err(|errno| {
            let other = "another file system in it is not copied for a validator";
            if errno == Errno::EXDEV { refused(Code::UnsafePath, other) } else { fault(errno) }
        })
    };
    // O_PATH first: opening a device or a FIFO is an effect of its own.
    let seen = get(OFlag::O_PATH | OFlag::O_NOFOLLOW)?;
    let stat = fstat(&seen).map_err(fault)?;
    let same = |fd: &OwnedFd| match fstat(fd).map_err(fault)? {
        now if (now.st_dev, now.st_ino) == (stat.st_dev, stat.st_ino) => Ok(()),
        _ => Err(refused(Code::PreconditionFailed, "it changed while it was copied; ask again")),
    };
    let kind = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT;
    if kind == SFlag::S_IFREG {
        let file = get(OFlag::O_RDONLY | OFlag::O_NONBLOCK)?;
        same(&file)?;
        return copy_file(file, &stat, to, name, room);
    }
    if kind == SFlag::S_IFDIR {
        let inner = get(OFlag::O_DIRECTORY)?;
        same(&inner)?;
        let Some(depth) = depth.checked_sub(1) else {
            return Err(refused(Code::TooLarge, "the directory is too deep to be copied for a validator"));
        };
        mkdirat(to, name, Mode::S_IRWXU).map_err(fault)?;
        return directory(&inner, &reach(to, name, OFlag::O_DIRECTORY).map_err(fault)?, room, depth);
    }
    if kind == SFlag::S_IFLNK {
        let target = readlinkat(&seen, "").map_err(fault)?;
        symlinkat(target.as_os_str(), to, name).map_err(fault)?;
    }
    Ok(())
}

fn reach(at: &OwnedFd, name: &CStr, flags: OFlag) -> nix::Result<OwnedFd> {
    let resolve = beneath() | ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS;
    openat2(at, name, OpenHow::new().flags(flags | OFlag::O_CLOEXEC).resolve(resolve))
}

fn copy_file(file: OwnedFd, stat: &FileStat, to: &OwnedFd, name: &CStr, room: &mut Room) -> Result<(), Stop> {
    let mut file = File::from(file).take(room.bytes.saturating_add(1));
    let how = OpenHow::new().flags(NEW).mode(Mode::S_IRUSR | Mode::S_IWUSR).resolve(beneath());
    let mut copy = File::from(openat2(to, name, how).map_err(fault)?);
    let count = std::io::copy(&mut file, &mut copy).map_err(Fault::io(DOING))?;
    room.bytes = room.bytes.checked_sub(count).ok_or_else(|| {
        Denied::new(Code::TooLarge, "the directory holds too much to be copied for a validator")
    })?;
    own(&copy, stat.st_uid, stat.st_gid, stat.st_mode)
}

/// What makes a file that was not there.
const NEW: OFlag = OFlag::O_WRONLY.union(OFlag::O_CREAT).union(OFlag::O_EXCL).union(OFlag::O_CLOEXEC);

/// Nothing in a copy is setuid, setgid or sticky.
fn own(copy: impl AsFd, uid: u32, gid: u32, mode: u32) -> Result<(), Stop> {
    fchown(&copy, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))).map_err(fault)?;
    fchmod(&copy, Mode::from_bits_truncate(mode & 0o777)).map_err(fault)
}

fn fault(errno: Errno) -> Stop {
    Fault::io(DOING)(errno).into()
}
