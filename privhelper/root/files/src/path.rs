//! Opens directories one component at a time: no symbolic link, every component root's alone, no other file system
//! below a granted directory.
//!
//! `RestrictSUIDSGID=` of the unit makes openat2(2) answer ENOSYS, so each component is opened with `O_NOFOLLOW` and
//! checked on its own descriptor. Component names hold no `/` and are neither `.` nor `..` (`TargetPath`).

use nix::NixPath;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, openat, readlinkat};
use nix::sys::stat::Mode;
use nix::sys::statfs::{self, FsType, fstatfs};
use postern_policy::types::TargetPath;
use postern_policy::{Code, Denied};
use postern_root::{Error, Fault};
use rustix::fs::{AtFlags, StatxFlags, statx};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Never follows a link.
const PLAIN: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_CLOEXEC);
/// Opens a name without any effect on it, and without its content.
pub const LOOK: OFlag = OFlag::O_PATH.union(PLAIN);
/// Opens a file for reading.
pub const FILE: OFlag = OFlag::O_NONBLOCK.union(PLAIN);
/// Opens a directory for listing and syncing.
pub const DIRECTORY: OFlag = OFlag::O_DIRECTORY.union(PLAIN);
/// Makes a file.
const NEW: OFlag = OFlag::O_WRONLY.union(OFlag::O_CREAT).union(OFlag::O_EXCL).union(PLAIN);

/// Device and inode.
pub type FileId = (u32, u32, u64);

/// What the kernel says of an open file.
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
    /// The mount that it was reached through: a bind mount of the same file system is another.
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
        return Err(Fault::Program { what: "this kernel does not tell mounts apart".to_owned() });
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

/// An open directory.
#[derive(Debug)]
pub struct Directory {
    /// Opened for listing and syncing.
    pub fd: OwnedFd,
    /// The mount that everything in it must be of.
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
    let fd = nix::fcntl::open(path, DIRECTORY, Mode::empty()).map_err(Fault::io("open our own state"))?;
    let mount = facts(&fd)?.mount;
    Ok(Directory { fd, mount })
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
        at = open(&at, part, LOOK | OFlag::O_DIRECTORY).map_err(|errno| {
            let link = || format!("{part:?} in {path} is a link or no directory");
            not_opened(errno, || format!("{path} does not exist"), link)
        })?;
        check_owner(&at, root_uid, parts.peek().is_some(), || format!("{part:?} in {path}"))?;
    }
    let fd = open(&at, ".", DIRECTORY).map_err(Fault::io("open a granted directory"))?;
    check_file_system(&fd, directory)?;
    let mount = facts(&fd)?.mount;
    Ok(Directory { fd, mount })
}

impl Directory {
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
            let next = open(&at, part, DIRECTORY).map_err(|errno| {
                let link = || link(&at, part).unwrap_or_else(|| format!("{part:?} is no directory"));
                not_opened(errno, || format!("{part:?} does not exist"), link)
            })?;
            check_owner(&next, root_uid, false, || format!("{part:?}"))?;
            let facts = facts(&next)?;
            if facts.mount != self.mount {
                return Err(denied(format!("{part:?} is another file system")));
            }
            if folds_case(&at, part, facts.id) {
                return Err(case_folded(part));
            }
            at = next;
        }
        Ok(Self { fd: at, mount: self.mount })
    }
}

fn not_opened(errno: Errno, missing: impl Fn() -> String, link: impl Fn() -> String) -> Error {
    if errno == Errno::ENOENT {
        Denied::new(Code::DirectoryMissing, missing()).into()
    } else if [Errno::ENOTDIR, Errno::ELOOP].contains(&errno) {
        denied(link())
    } else {
        Fault::io("open a directory")(errno).into()
    }
}

fn denied(why: String) -> Error {
    Denied::new(Code::UnsafePath, why).into()
}

/// Local file systems whose rename(2) and fsync(2) are known to be whole. A FUSE or network server answers as it likes.
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

/// Refuses a directory that others own or can write. On the way a sticky one such as /tmp passes: others may add names
/// there, and not replace root's.
fn check_owner(at: &OwnedFd, root_uid: u32, is_passed: bool, name: impl Fn() -> String) -> Result<(), Error> {
    let facts = facts(at)?;
    let foreign = ![0, root_uid].contains(&facts.owner.0);
    let writable = facts.mode & 0o022 != 0 && !(is_passed && facts.mode & 0o1000 != 0);
    if foreign || writable {
        return Err(denied(format!("others than root can write {}", name())));
    }
    Ok(())
}

/// Whether the directory takes `name` with other letters for the same: then a denied name has another spelling.
#[must_use]
pub fn folds_case(at: impl AsFd, name: &str, id: FileId) -> bool {
    let swap = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    let other = name.chars().map(swap).collect::<String>();
    other != name
        && open(at, other.as_str(), LOOK).is_ok_and(|other| facts(other).is_ok_and(|facts| facts.id == id))
}

/// The error for such a directory.
#[must_use]
pub fn case_folded(name: &str) -> Error {
    denied(format!("the directory of {name:?} takes capital and small letters for the same"))
}

/// "is a link to …".
#[must_use]
pub fn link(at: impl AsFd, name: &str) -> Option<String> {
    let to = readlinkat(at, name).ok()?;
    Some(format!("{name:?} is a link to {:?}", to.to_string_lossy()))
}
