//! Opens directories one component at a time: no symbolic link, every component owned and writable by root alone, no other
//! file system below a granted directory.
//!
//! `RestrictSUIDSGID=` of the unit makes openat2(2) answer ENOSYS, so each component is opened with `O_NOFOLLOW` and
//! checked on its own descriptor. Component names hold no `/` and are neither `.` nor `..` (`TargetPath`).

use nix::NixPath;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, openat, readlinkat};
use nix::sys::stat::Mode;
use nix::sys::statfs::{self, FsType, fstatfs};
use postern_policy::types::TargetPath;
use postern_root::{Code, Denied, Error, Fault};
use rustix::fs::{AtFlags, StatxFlags, statx};
use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Never follows a link.
const PLAIN: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_CLOEXEC);
/// Opens a name with `O_PATH`: without effect and without content.
pub const LOOK: OFlag = OFlag::O_PATH.union(PLAIN);
/// Opens a file for reading.
pub const FILE: OFlag = OFlag::O_NONBLOCK.union(PLAIN);
/// Opens a directory for listing and syncing.
pub const DIRECTORY: OFlag = OFlag::O_DIRECTORY.union(PLAIN);
/// Makes a file.
const NEW: OFlag = OFlag::O_WRONLY.union(OFlag::O_CREAT).union(OFlag::O_EXCL).union(PLAIN);

/// Device and inode.
pub type FileId = (u32, u32, u64);

/// The facts of an open file, from statx(2).
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Device and inode.
    pub id: FileId,
    /// Type and permission bits.
    pub mode: u32,
    /// Owner and group.
    pub owner: (u32, u32),
    /// Bytes of content.
    pub size: u64,
    /// Number of names.
    pub links: u32,
    /// Last change of content, in seconds since 1970 and nanoseconds.
    pub mtime: (i64, u32),
    /// The id of its mount: a bind mount of the same file system has another.
    pub mount: u64,
}

/// Asks the kernel about an open file.
///
/// # Errors
/// It fails, or the kernel does not tell mounts apart (before Linux 5.8).
pub fn facts(fd: impl AsFd) -> Result<Facts, Fault> {
    let mask = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let stat = statx(fd, "", AtFlags::EMPTY_PATH, mask).map_err(Fault::io("stat a file"))?;
    if stat.stx_mask & StatxFlags::MNT_ID.bits() == 0 {
        return Err(Fault::new("this kernel does not tell mounts apart"));
    }
    Ok(Facts {
        id: (stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino),
        mode: stat.stx_mode.into(),
        owner: (stat.stx_uid, stat.stx_gid),
        size: stat.stx_size,
        links: stat.stx_nlink,
        mtime: (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec),
        mount: stat.stx_mnt_id,
    })
}

/// Opens a name in a directory.
///
/// # Errors
/// As openat(2).
pub fn open<P: NixPath + ?Sized>(at: impl AsFd, name: &P, flags: OFlag) -> nix::Result<OwnedFd> {
    openat(at, name, flags, Mode::empty())
}

/// Makes a file of mode 0600 in a directory.
///
/// # Errors
/// As openat(2).
pub fn create<P: NixPath + ?Sized>(at: impl AsFd, name: &P) -> nix::Result<File> {
    openat(at, name, NEW, Mode::S_IRUSR | Mode::S_IWUSR).map(File::from)
}

/// The names in a directory but `.` and `..`, in the kernel's order.
///
/// # Errors
/// As openat(2) and getdents64(2).
pub fn names(directory: impl AsFd) -> nix::Result<impl Iterator<Item = nix::Result<CString>>> {
    let listed = Dir::from_fd(open(directory, ".", DIRECTORY)?)?;
    let names = listed.into_iter().map(|entry| entry.map(|entry| entry.file_name().to_owned()));
    let is_dot = |name: &CString| matches!(name.to_bytes(), b"." | b"..");
    Ok(names.filter(move |name| !name.as_ref().is_ok_and(is_dot)))
}

/// An open directory.
#[derive(Debug)]
pub struct Directory {
    /// Opened for listing and syncing.
    pub fd: OwnedFd,
    /// The id of its mount, which everything in it must have.
    pub mount: u64,
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Opens a directory of our own state.
///
/// # Errors
/// It is not there.
pub fn open_own(path: &Path) -> Result<Directory, Fault> {
    Directory::new(nix::fcntl::open(path, DIRECTORY, Mode::empty()).map_err(Fault::io("open our own state"))?)
}

/// Opens a rule's directory from `/`.
///
/// # Errors
/// `directory_missing`, `unsafe_path`.
pub fn open_granted(directory: &TargetPath, root_uid: u32) -> Result<Directory, Error> {
    let path = directory.as_str();
    let mut at =
        openat(AT_FDCWD, "/", LOOK | OFlag::O_DIRECTORY, Mode::empty()).map_err(Fault::io("open /"))?;
    let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        at = enter(&at, part, LOOK | OFlag::O_DIRECTORY, path)?;
        check_owner(&at, &format!("{part:?} in {path}"), root_uid, parts.peek().is_some())?;
    }
    let fd = open(&at, ".", DIRECTORY).map_err(|errno| {
        // With our capabilities only Landlock returns this: for an operator's undo, or a policy replaced just now.
        let not_granted = || Denied::new(Code::NoGrant, format!("the policy no longer grants {path}"));
        if errno == Errno::EACCES {
            not_granted().into()
        } else {
            Error::from(Fault::io("open a directory")(errno))
        }
    })?;
    check_file_system(&fd, directory)?;
    Ok(Directory::new(fd)?)
}

impl Directory {
    fn new(fd: OwnedFd) -> Result<Self, Fault> {
        let mount = facts(&fd)?.mount;
        Ok(Self { fd, mount })
    }

    /// Opens the directory of `below` (such as `a/b.conf`).
    ///
    /// # Errors
    /// `directory_missing`, `unsafe_path`.
    pub fn open_parent(&self, below: &str, root_uid: u32) -> Result<Self, Error> {
        self.open_below(below.rsplit_once('/').map_or("", |(parent, _)| parent), root_uid)
    }

    /// Opens the directory `below`; empty = this one again.
    ///
    /// # Errors
    /// `directory_missing`, `unsafe_path`.
    pub fn open_below(&self, below: &str, root_uid: u32) -> Result<Self, Error> {
        let mut at = open(self, ".", DIRECTORY).map_err(Fault::io("open a directory"))?;
        for part in below.split('/').filter(|part| !part.is_empty()) {
            let next = enter(&at, part, DIRECTORY, part)?;
            let facts = check_owner(&next, &format!("{part:?}"), root_uid, false)?;
            if facts.mount != self.mount {
                return Err(denied(format!("{part:?} is another file system")));
            }
            check_case(&at, part, facts.id)?;
            at = next;
        }
        Ok(Self { fd: at, mount: self.mount })
    }
}

/// Opens one component of `path`.
fn enter(at: &OwnedFd, part: &str, flags: OFlag, path: &str) -> Result<OwnedFd, Error> {
    open(at, part, flags).map_err(|errno| {
        if errno == Errno::ENOENT {
            Denied::new(Code::DirectoryMissing, format!("{path} does not exist")).into()
        } else if [Errno::ENOTDIR, Errno::ELOOP].contains(&errno) {
            denied(link(at, part))
        } else {
            Fault::io("open a directory")(errno).into()
        }
    })
}

fn denied(why: String) -> Error {
    Denied::new(Code::UnsafePath, why).into()
}

/// The refusal of a file that is no regular file with one name, or cannot be replaced by one with the same attributes.
#[must_use]
pub fn special(why: String) -> Error {
    Denied::new(Code::SpecialFile, why).into()
}

/// Refuses all but local file systems with atomic rename(2) and real fsync(2). A FUSE or network server may do neither.
fn check_file_system(directory: &OwnedFd, name: &TargetPath) -> Result<(), Error> {
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
    Err(denied(format!("{name} is on a file system that is not known to be local (type {:#x})", kind.0)))
}

/// Refuses a directory that others own or can write. A sticky one such as /tmp is accepted as a parent: others can add
/// names there, but not replace root's.
fn check_owner(at: &OwnedFd, name: &str, root_uid: u32, is_passed: bool) -> Result<Facts, Error> {
    let facts = facts(at)?;
    let foreign = ![0, root_uid].contains(&facts.owner.0);
    // As a user (`as`), the user's group may write: whoever is in it is the user's friend already.
    let others = if root_uid == 0 { 0o022 } else { 0o002 };
    let writable = facts.mode & others != 0 && !(is_passed && facts.mode & 0o1000 != 0);
    if foreign || writable {
        return Err(denied(format!("others than root can write {name}")));
    }
    Ok(facts)
}

/// Refuses a directory that ignores the case of `name`: a denied name would have another spelling.
///
/// # Errors
/// `unsafe_path`.
pub fn check_case(at: impl AsFd, name: &str, id: FileId) -> Result<(), Error> {
    let swap = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    let other = name.chars().map(swap).collect::<String>();
    let is_same = |fd: OwnedFd| facts(fd).is_ok_and(|facts| facts.id == id);
    if other != name && open(at, other.as_str(), LOOK).is_ok_and(is_same) {
        return Err(denied(format!(
            "the directory of {name:?} takes capital and small letters for the same"
        )));
    }
    Ok(())
}

/// "is a link to …".
#[must_use]
pub fn link(at: impl AsFd, name: &str) -> String {
    readlinkat(at, name).map_or_else(
        |_| format!("{name:?} is a link or no directory"),
        |to| format!("{name:?} is a link to {:?}", to.to_string_lossy()),
    )
}
