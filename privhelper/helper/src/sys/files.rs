//! Files that a client names, below the directory that a rule grants.
//!
//! Every fact is taken from a descriptor (openat2(2)), never from a path
//! beforehand.

use crate::audit::Ticket;
use crate::error::{Code, Fault, Refusal, Stop};
use crate::types::{Digest, FileMode, TargetPath};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, RenameFlags, ResolveFlag, openat2, renameat2};
use nix::sys::stat::{Mode, SFlag, fchmod, fstat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, fsync, unlinkat};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A file that stands at a target, as its descriptor says.
#[derive(Debug)]
pub struct Standing {
    file: File,
    /// Device and inode: what is replaced must be what was read.
    identity: (u64, u64),
    /// In bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: FileMode,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last change of content, in seconds since 1970.
    pub mtime: u64,
}

/// A file's new state.
#[derive(Debug, Clone, Copy)]
pub struct NewFile<'a> {
    /// The whole content.
    pub content: &'a [u8],
    /// Permission bits.
    pub mode: FileMode,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// What openat2 says of a symbolic link, another file system or a component that is no directory.
const LINK: &[Errno] = &[Errno::ELOOP, Errno::EXDEV, Errno::ENOTDIR];

/// The refusal that an errno means here, or the fault that it is.
fn stop(errno: Errno, doing: &'static str, known: &[(&[Errno], (Code, String))]) -> Stop {
    match known.iter().find(|(errnos, _)| errnos.contains(&errno)) {
        Some((_, (code, why))) => Refusal::new(*code, why.clone()).into(),
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
    Ok(at)
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
        return Err(Refusal::new(Code::UnsafePath, format!("{} is not root's alone", name())).into());
    }
    Ok(())
}

/// Opens the directory of `below` (such as `a/b.conf`) below a rule's directory, each component as that one.
///
/// # Errors
/// `directory_missing`, `unsafe_path`.
pub fn open_parent(directory: &OwnedFd, below: &str, owner_uid: u32) -> Result<OwnedFd, Stop> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let enter = |at: BorrowedFd<'_>, part: &str| {
        open(at, part, flags, beneath()).map_err(|errno| {
            let missing = (Code::DirectoryMissing, format!("{part:?} does not exist"));
            let linked =
                (Code::UnsafePath, format!("{part:?} is a link, another file system or no directory"));
            stop(
                errno,
                "open a directory below a granted one",
                &[(&[Errno::ENOENT], missing), (LINK, linked)],
            )
        })
    };
    let mut at = enter(directory.as_fd(), ".")?;
    for part in
        below.rsplit_once('/').map_or("", |(parent, _)| parent).split('/').filter(|part| !part.is_empty())
    {
        at = enter(at.as_fd(), part)?;
        check_owner(&at, owner_uid, false, || format!("{part:?}"))?;
    }
    Ok(at)
}

/// Opens what stands at `name`; none if nothing does. Only a plain file with one name passes.
///
/// # Errors
/// `special_file` for anything else: link, hard link, directory, device, FIFO, socket, setuid, setgid, sticky.
pub fn look(parent: &OwnedFd, name: &str) -> Result<Option<Standing>, Stop> {
    let special = |why: &str| Stop::from(Refusal::new(Code::SpecialFile, format!("{name:?} is {why}")));
    let linked = || (Code::SpecialFile, format!("{name:?} is a link or another file system"));
    let errors = |errno| stop(errno, "open a file", &[(LINK, linked())]);
    // O_PATH first: opening a device or a FIFO is an effect of its own.
    let path =
        match open(parent.as_fd(), name, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, beneath()) {
            Ok(path) => path,
            Err(Errno::ENOENT) => return Ok(None),
            Err(errno) => return Err(errors(errno)),
        };
    let seen = fstat(&path).map_err(Fault::io("stat a file"))?;
    if SFlag::from_bits_truncate(seen.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
        return Err(special("no plain file"));
    }
    let fd = open(parent.as_fd(), name, OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC, beneath())
        .map_err(errors)?;
    let stat = fstat(&fd).map_err(Fault::io("stat a file"))?;
    if (stat.st_dev, stat.st_ino) != (seen.st_dev, seen.st_ino) {
        return Err(Refusal::new(Code::PreconditionFailed, "the file changed meanwhile; ask again").into());
    }
    if stat.st_nlink != 1 {
        return Err(special("known by more than one name (hard link)"));
    }
    let mode = FileMode::of_stat(stat.st_mode).ok_or_else(|| special("setuid, setgid or sticky"))?;
    Ok(Some(Standing {
        file: File::from(fd),
        identity: (stat.st_dev, stat.st_ino),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mode,
        uid: stat.st_uid,
        gid: stat.st_gid,
        mtime: u64::try_from(stat.st_mtime).unwrap_or(0),
    }))
}

impl Standing {
    /// SHA-256 of the content.
    ///
    /// # Errors
    /// It can't be read.
    pub fn sha256(&mut self) -> Result<Digest, Fault> {
        self.file.seek(SeekFrom::Start(0)).map_err(Fault::io("seek in a file"))?;
        let mut hasher = Sha256::new();
        let mut chunk = vec![0_u8; 64 * 1024];
        loop {
            let count = self.file.read(&mut chunk).map_err(Fault::io("read a file"))?;
            if count == 0 {
                break;
            }
            hasher.update(chunk.get(..count).unwrap_or_default());
        }
        Digest::from_bytes(hasher.finalize().as_slice()).ok_or(Fault::Corrupt { what: "a digest" })
    }

    /// At most `limit` bytes from `offset`; a negative offset counts from the end.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read(&mut self, offset: i64, limit: u64) -> Result<Vec<u8>, Fault> {
        let from = match u64::try_from(offset) {
            Ok(from) => from,
            Err(_) => self.size.saturating_sub(offset.unsigned_abs()),
        };
        self.file.seek(SeekFrom::Start(from)).map_err(Fault::io("seek in a file"))?;
        let mut content = Vec::new();
        (&mut self.file).take(limit).read_to_end(&mut content).map_err(Fault::io("read a file"))?;
        Ok(content)
    }
}

/// Puts a new file at `name`, or in the place of `old`: an effect. A temporary file beside it, synced, then one
/// rename; what is replaced is exactly what was looked at, else it is put back.
///
/// # Errors
/// `precondition_failed` if the target changed meanwhile; a fault if a step failed. The old file then stands.
pub fn write(
    _: &Ticket,
    parent: &OwnedFd,
    name: &str,
    temporary: &str,
    new: NewFile<'_>,
    old: Option<&Standing>,
) -> Result<(), Stop> {
    let swapped = match stage(parent, temporary, new) {
        Ok(()) => swap(parent, name, temporary, old),
        Err(stop) => Err((stop, Left::Ours)),
    };
    let (result, left) = match swapped {
        Ok(()) => (Ok(()), if old.is_some() { Left::Ours } else { Left::Nothing }),
        Err((stop, left)) => (Err(stop), left),
    };
    if left == Left::Ours {
        match unlinkat(parent, temporary, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(errno) => return result.and(Err(Fault::io("remove a temporary file")(errno).into())),
        }
    }
    result?;
    fsync(parent).map_err(Fault::io("sync a directory"))?;
    Ok(())
}

/// Removes the file that was looked at: an effect. It is first given the temporary name, and its own name back if
/// it was another by then.
///
/// # Errors
/// `precondition_failed` if the target changed meanwhile; a fault if a step failed.
pub fn remove(_: &Ticket, parent: &OwnedFd, name: &str, temporary: &str, old: &Standing) -> Result<(), Stop> {
    let rename = |from: &str, to: &str| renameat2(parent, from, parent, to, RenameFlags::RENAME_NOREPLACE);
    rename(name, temporary).map_err(Fault::io("rename a file"))?;
    if !is_identity(parent, temporary, old) {
        rename(temporary, name).map_err(Fault::io("put a file back"))?;
        return Err(Refusal::new(Code::PreconditionFailed, "the file changed meanwhile; ask again").into());
    }
    unlinkat(parent, temporary, UnlinkatFlags::NoRemoveDir).map_err(Fault::io("remove a file"))?;
    fsync(parent).map_err(Fault::io("sync a directory"))?;
    Ok(())
}

fn is_identity(parent: &OwnedFd, name: &str, old: &Standing) -> bool {
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let stat = open(parent.as_fd(), name, flags, beneath()).and_then(|fd| fstat(&fd));
    stat.is_ok_and(|stat| (stat.st_dev, stat.st_ino) == old.identity)
}

/// What stands under the temporary name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Nothing.
    Nothing,
    /// What may be removed: the rest of the new file, or the old one after it was replaced.
    Ours,
    /// The old file, which could not be put back: it stays for a person.
    Theirs,
}

fn stage(parent: &OwnedFd, temporary: &str, new: NewFile<'_>) -> Result<(), Stop> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
    let how = OpenHow::new().flags(flags).mode(Mode::S_IRUSR | Mode::S_IWUSR).resolve(beneath());
    let fd = openat2(parent, temporary, how).map_err(Fault::io("make a temporary file"))?;
    let mut file = File::from(fd);
    file.write_all(new.content).map_err(Fault::io("write a temporary file"))?;
    fchown(&file, Some(Uid::from_raw(new.uid)), Some(Gid::from_raw(new.gid)))
        .map_err(Fault::io("set a file's owner"))?;
    fchmod(&file, Mode::from_bits_truncate(new.mode.bits())).map_err(Fault::io("set a file's mode"))?;
    let stat = fstat(&file).map_err(Fault::io("stat a temporary file"))?;
    if FileMode::of_stat(stat.st_mode) != Some(new.mode) {
        return Err(Fault::Program { what: "a file did not take its mode".to_owned() }.into());
    }
    file.sync_all().map_err(Fault::io("sync a temporary file"))?;
    Ok(())
}

fn swap(parent: &OwnedFd, name: &str, temporary: &str, old: Option<&Standing>) -> Result<(), (Stop, Left)> {
    let changed = || (Code::PreconditionFailed, "the file changed meanwhile; ask again".to_owned());
    let moved = |errno, sign| (stop(errno, "rename a file", &[(&[sign], changed())]), Left::Ours);
    let Some(old) = old else {
        return renameat2(parent, temporary, parent, name, RenameFlags::RENAME_NOREPLACE)
            .map_err(|errno| moved(errno, Errno::EEXIST));
    };
    let exchange = || renameat2(parent, temporary, parent, name, RenameFlags::RENAME_EXCHANGE);
    exchange().map_err(|errno| moved(errno, Errno::ENOENT))?;
    if is_identity(parent, temporary, old) {
        return Ok(());
    }
    exchange().map_err(|errno| (Fault::io("put a file back")(errno).into(), Left::Theirs))?;
    let (code, why) = changed();
    Err((Refusal::new(code, why).into(), Left::Ours))
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
