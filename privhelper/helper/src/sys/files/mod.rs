//! Files that a client names, below the directory that a rule grants.
//!
//! Every fact is taken from a descriptor (openat2(2)), never from a path
//! beforehand.

mod list;
mod standing;
mod swap;
mod xattr;

pub use list::list;
pub use standing::{Standing, look};
pub use swap::{New, Step, clear, stage, swap, swap_back};
pub use xattr::Xattrs;

use crate::error::{Fault, Stop};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2, readlinkat};
use nix::sys::stat::{FileStat, Mode, fstat};
use nix::sys::statfs::{self, FsType, fstatfs};
use postern_policy::types::TargetPath;
use postern_policy::{Code, Denied};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What openat2 says of a symbolic link, another file system or a component that is no directory.
const LINK: &[Errno] = &[Errno::ELOOP, Errno::EXDEV, Errno::ENOTDIR];

/// The refusal that an errno means here, or the fault that it is.
fn stop(errno: Errno, doing: &'static str, known: &[(&[Errno], (Code, String))]) -> Stop {
    match known.iter().find(|(errnos, _)| errnos.contains(&errno)) {
        Some((_, (code, why))) => Denied::new(*code, why.clone()).into(),
        None => Fault::io(doing)(errno).into(),
    }
}

/// Opens a rule's directory from `/`: no symbolic link, every component owned by `owner_uid` and not writable by others.
///
/// # Errors
/// `directory_missing`, `unsafe_path`.
pub fn open_directory(directory: &TargetPath, owner_uid: u32) -> Result<OwnedFd, Stop> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_PATH | OFlag::O_CLOEXEC;
    let mut at = open(AT_FDCWD, "/", flags, ResolveFlag::empty()).map_err(Fault::io("open /"))?;
    let mut parts = directory.as_str().split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        // The last one is read and synced, the others are only passed through.
        let flags = if parts.peek().is_some() { flags } else { flags.difference(OFlag::O_PATH) };
        let linked = format!("{part:?} in {directory} is a link or no directory");
        at = open(at.as_fd(), part, flags, ResolveFlag::empty()).map_err(|errno| {
            let missing = (Code::DirectoryMissing, format!("{directory} does not exist"));
            stop(
                errno,
                "open a granted directory",
                &[(&[Errno::ENOENT], missing), (LINK, (Code::UnsafePath, linked))],
            )
        })?;
        check_owner(&at, owner_uid, parts.peek().is_some(), || format!("{part:?} in {directory}"))?;
    }
    check_file_system(&at, directory)?;
    Ok(at)
}

/// Only file systems of this host's own, whose rename(2) and fsync(2) are known to be whole: a FUSE or network one
/// answers what its server wants. Below the directory no other is entered.
fn check_file_system(directory: &OwnedFd, name: &TargetPath) -> Result<(), Stop> {
    const ZFS: FsType = FsType(0x2fc1_2fc1);
    const BCACHEFS: FsType = FsType(0xca45_1a4e);
    const KNOWN: [FsType; 8] = [
        statfs::EXT4_SUPER_MAGIC,
        statfs::XFS_SUPER_MAGIC,
        statfs::BTRFS_SUPER_MAGIC,
        statfs::F2FS_SUPER_MAGIC,
        statfs::TMPFS_MAGIC,
        statfs::OVERLAYFS_SUPER_MAGIC,
        ZFS,
        BCACHEFS,
    ];
    let kind = fstatfs(directory).map_err(Fault::io("ask for a file system"))?.filesystem_type();
    if KNOWN.contains(&kind) {
        return Ok(());
    }
    let why =
        format!("{name} is on a file system that is not known to be local and whole (type {:#x})", kind.0);
    Err(Denied::new(Code::UnsafePath, why).into())
}

/// Whether the directory takes `name` in other letters for the same: then a name that a rule denies has another.
fn folds_case(at: BorrowedFd<'_>, name: &str, identity: (u64, u64)) -> bool {
    let swap = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    let other = name.chars().map(swap).collect::<String>();
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let stat =
        if other == name { Err(Errno::ENOENT) } else { open(at, &other, flags, beneath()).and_then(fstat) };
    stat.is_ok_and(|stat| identity_of(&stat) == identity)
}

fn case_folded(name: &str) -> Stop {
    let why = format!("the directory of {name:?} takes capital and small letters for the same");
    Denied::new(Code::UnsafePath, why).into()
}

fn identity_of(stat: &FileStat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// "is a link to …", for a component inside a granted directory.
fn link(at: BorrowedFd<'_>, name: &str) -> Option<String> {
    let to = readlinkat(at, name).ok()?;
    Some(format!("{name:?} is a link to {:?}", to.to_string_lossy()))
}

/// Refuses a directory that others own or can write. On the way a sticky one such as /tmp passes: others may add
/// names there, and not replace root's.
fn check_owner(
    directory: &OwnedFd,
    owner_uid: u32,
    on_the_way: bool,
    name: impl Fn() -> String,
) -> Result<(), Stop> {
    let stat = fstat(directory).map_err(Fault::io("stat a granted directory"))?;
    let foreign = stat.st_uid != owner_uid && stat.st_uid != 0;
    let writable = stat.st_mode & 0o022 != 0 && !(on_the_way && stat.st_mode & 0o1000 != 0);
    if foreign || writable {
        return Err(Denied::new(Code::UnsafePath, format!("{} is not root's alone", name())).into());
    }
    Ok(())
}

/// Opens the directory of `below` (such as `a/b.conf`) below a rule's directory, each component as that one.
///
/// # Errors
/// `directory_missing`, `unsafe_path`.
pub fn open_parent(directory: &OwnedFd, below: &str, owner_uid: u32) -> Result<OwnedFd, Stop> {
    open_below(directory, below.rsplit_once('/').map_or("", |(parent, _)| parent), owner_uid)
}

/// Opens the directory `below` a rule's directory itself; empty = that one, for reading.
///
/// # Errors
/// `directory_missing`, `unsafe_path`.
pub fn open_below(directory: &OwnedFd, below: &str, owner_uid: u32) -> Result<OwnedFd, Stop> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let enter = |at: BorrowedFd<'_>, part: &str| {
        open(at, part, flags, beneath()).map_err(|errno| {
            let missing = (Code::DirectoryMissing, format!("{part:?} does not exist"));
            let other = || format!("{part:?} is another file system or no directory");
            let linked = (Code::UnsafePath, link(at, part).unwrap_or_else(other));
            let known: [(&[Errno], _); 2] = [(&[Errno::ENOENT], missing), (LINK, linked)];
            stop(errno, "open a directory below a granted one", &known)
        })
    };
    let mut at = enter(directory.as_fd(), ".")?;
    for part in below.split('/').filter(|part| !part.is_empty()) {
        let next = enter(at.as_fd(), part)?;
        check_owner(&next, owner_uid, false, || format!("{part:?}"))?;
        let identity = identity_of(&fstat(&next).map_err(Fault::io("stat a directory"))?);
        if folds_case(at.as_fd(), part, identity) {
            return Err(case_folded(part));
        }
        at = next;
    }
    Ok(at)
}

/// Whether this kernel has openat2(2); without it the helper does not start.
#[must_use]
pub fn openat2_works() -> bool {
    open(AT_FDCWD, "/", OFlag::O_PATH | OFlag::O_CLOEXEC, ResolveFlag::empty()).is_ok()
}

pub(super) fn beneath() -> ResolveFlag {
    ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_XDEV
}

pub(super) fn open(at: BorrowedFd<'_>, path: &str, flags: OFlag, more: ResolveFlag) -> nix::Result<OwnedFd> {
    let resolve = ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS | more;
    openat2(at, path, OpenHow::new().flags(flags).resolve(resolve))
}

/// Opens a directory of the helper's own, to make something in it.
///
/// # Errors
/// It is not there.
pub fn open_own_directory(path: &std::path::Path) -> Result<OwnedFd, Fault> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    nix::fcntl::open(path, flags, Mode::empty()).map_err(Fault::io("open a directory of the helper's own"))
}

/// Opens a directory of the helper's own, for a thread that must reach it too.
///
/// # Errors
/// It is not there.
pub fn open_own(path: &std::path::Path) -> Result<OwnedFd, Fault> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    nix::fcntl::open(path, flags, Mode::empty()).map_err(Fault::io("open a directory of the helper's own"))
}
