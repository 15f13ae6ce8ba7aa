//! Copies of directories in our own state: a link is copied as a link, everything but files, directories and links is
//! left out. Owners and modes are those of the original, for there are programs that look at them.

use crate::path::{self, Directory, Facts, LOOK};
use crate::target::{PART, changed, hash};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::stat::{Mode, SFlag, fchmod, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, symlinkat, unlinkat};
use postern_policy::types::{Attributes, Digest};
use postern_policy::{Code, Denied};
use postern_root::{Error, Fault};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

const DOING: &str = "copy a directory for a validator";
/// Directories within directories.
const DEPTH_MAX: usize = 16;
const DIRECTORY: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
const FILE: OFlag = OFlag::O_NONBLOCK.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
const NEW: OFlag = OFlag::O_WRONLY
    .union(OFlag::O_CREAT)
    .union(OFlag::O_EXCL)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);

/// How much more may be copied.
#[derive(Debug)]
pub struct Room {
    bytes: u64,
    entries: u32,
}

impl Room {
    /// Of all directories of one request.
    pub const NEW: Self = Self { bytes: 64 * 1024 * 1024, entries: 10_000 };
}

fn fault(errno: Errno) -> Error {
    Fault::io(DOING)(errno).into()
}

/// Opens a directory of our own state.
///
/// # Errors
/// It is not there.
pub fn open_own(path: &Path) -> Result<OwnedFd, Error> {
    nix::fcntl::open(path, DIRECTORY, Mode::empty()).map_err(fault)
}

/// The names in a directory, in the order of their bytes.
fn names(directory: &OwnedFd) -> Result<BTreeSet<CString>, Error> {
    let listed = path::open(directory, ".", DIRECTORY).map_err(fault)?;
    let mut listed = Dir::from_fd(listed).map_err(fault)?;
    let names = listed.iter().map(|entry| entry.map(|entry| entry.file_name().to_owned()));
    let names = names.collect::<Result<BTreeSet<_>, _>>().map_err(fault)?;
    Ok(names.into_iter().filter(|name| !matches!(name.to_bytes(), b"." | b"..")).collect())
}

/// Copies a live directory with its owner and mode into an empty one of our own.
///
/// # Errors
/// `too_large`; `unsafe_path` for another file system in it; `precondition_failed` if it changes meanwhile.
pub fn copy(from: &Directory, to: &OwnedFd, room: &mut Room) -> Result<(), Error> {
    copy_directory(&from.fd, from.mount, to, room, DEPTH_MAX)
}

fn copy_directory(
    from: &OwnedFd,
    mount: u64,
    to: &OwnedFd,
    room: &mut Room,
    depth: usize,
) -> Result<(), Error> {
    let too_large = |what: &str| Denied::new(Code::TooLarge, format!("{what} to be copied for a validator"));
    for name in names(from)? {
        room.entries =
            room.entries.checked_sub(1).ok_or_else(|| too_large("the directory holds too many files"))?;
        let open = |flags| path::open(from, name.as_c_str(), flags);
        // O_PATH first: opening a device or a FIFO is an effect.
        let seen = open(LOOK).map_err(fault)?;
        let facts = path::facts(&seen)?;
        if facts.mount != mount {
            let why = "another file system in the directory is not copied for a validator";
            return Err(Denied::new(Code::UnsafePath, why).with(name.to_string_lossy()).into());
        }
        let same = |fd: OwnedFd| if path::facts(&fd)?.id == facts.id { Ok(fd) } else { Err(changed()) };
        match SFlag::from_bits_truncate(facts.mode) & SFlag::S_IFMT {
            SFlag::S_IFREG => {
                let file = same(open(FILE).map_err(fault)?)?;
                let fits = copy_file(File::from(file), facts, to, &name, room)?;
                fits.ok_or_else(|| too_large("the directory is too large"))?;
            }
            SFlag::S_IFDIR => {
                let inner = same(open(DIRECTORY).map_err(fault)?)?;
                let depth = depth.checked_sub(1).ok_or_else(|| too_large("the directory is too deep"))?;
                mkdirat(to, name.as_c_str(), Mode::S_IRWXU).map_err(fault)?;
                let copy = path::open(to, name.as_c_str(), DIRECTORY).map_err(fault)?;
                copy_directory(&inner, mount, &copy, room, depth)?;
            }
            SFlag::S_IFLNK => {
                let target = readlinkat(&seen, "").map_err(fault)?;
                symlinkat(target.as_os_str(), to, name.as_c_str()).map_err(fault)?;
            }
            _ => {}
        }
    }
    let facts = path::facts(from)?;
    own(to, facts.owner, facts.mode)
}

/// None if it does not fit.
fn copy_file(
    mut file: File,
    facts: Facts,
    to: &OwnedFd,
    name: &CString,
    room: &mut Room,
) -> Result<Option<()>, Error> {
    let copy = openat(to, name.as_c_str(), NEW, Mode::S_IRUSR | Mode::S_IWUSR).map_err(fault)?;
    let (mut copy, mut part) = (File::from(copy), vec![0; PART]);
    loop {
        let count = file.read(&mut part).map_err(Fault::io(DOING))?;
        let Some(bytes) = room.bytes.checked_sub(u64::try_from(count).unwrap_or(u64::MAX)) else {
            return Ok(None);
        };
        room.bytes = bytes;
        if count == 0 {
            return own(&copy, facts.owner, facts.mode).map(Some);
        }
        copy.write_all(part.get(..count).unwrap_or_default()).map_err(Fault::io(DOING))?;
    }
}

/// Nothing in a copy is setuid, setgid or sticky.
fn own(copy: impl AsFd, (uid, gid): (u32, u32), mode: u32) -> Result<(), Error> {
    fchown(&copy, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))).map_err(fault)?;
    fchmod(&copy, Mode::from_bits_truncate(mode & 0o777)).map_err(fault)
}

/// Opens the directory of `below` in a copy, and tells the last name.
fn parent<'a>(copy: &OwnedFd, below: &'a str) -> Result<(OwnedFd, &'a str), Error> {
    let (parents, name) = below.rsplit_once('/').unwrap_or(("", below));
    let mut at = path::open(copy, ".", DIRECTORY).map_err(fault)?;
    for part in parents.split('/').filter(|part| !part.is_empty()) {
        at = path::open(&at, part, DIRECTORY).map_err(fault)?;
    }
    Ok((at, name))
}

/// Puts a file into a copy, or removes it.
///
/// # Errors
/// It cannot be written.
pub fn put(copy: &OwnedFd, below: &str, new: Option<(&[u8], Attributes)>) -> Result<(), Error> {
    let (parent, name) = parent(copy, below)?;
    match unlinkat(&parent, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(errno) => return Err(fault(errno)),
    }
    let Some((content, Attributes { mode, uid, gid })) = new else { return Ok(()) };
    let file = openat(&parent, name, NEW, Mode::S_IRUSR | Mode::S_IWUSR).map_err(fault)?;
    let mut file = File::from(file);
    file.write_all(content).map_err(Fault::io(DOING))?;
    own(&file, (uid, gid), mode.bits())
}

/// Reads a file of a copy.
///
/// # Errors
/// It is not there.
pub fn read(copy: &OwnedFd, below: &str) -> Result<Vec<u8>, Error> {
    let (parent, name) = parent(copy, below)?;
    let mut content = Vec::new();
    let mut file = File::from(path::open(&parent, name, FILE).map_err(fault)?);
    file.read_to_end(&mut content).map_err(Fault::io(DOING))?;
    Ok(content)
}

/// SHA-256 over names, types, owners, modes and contents.
///
/// # Errors
/// It cannot be read.
pub fn digest(copy: &OwnedFd) -> Result<Digest, Error> {
    let mut hasher = Sha256::new();
    for name in names(copy)? {
        let seen = path::open(copy, name.as_c_str(), LOOK).map_err(fault)?;
        let facts = path::facts(&seen)?;
        let kind = SFlag::from_bits_truncate(facts.mode) & SFlag::S_IFMT;
        let content = if kind == SFlag::S_IFDIR {
            digest(&path::open(copy, name.as_c_str(), DIRECTORY).map_err(fault)?)?
        } else if kind == SFlag::S_IFLNK {
            Digest::of(&[readlinkat(&seen, "").map_err(fault)?.as_encoded_bytes()])
        } else {
            let file = path::open(copy, name.as_c_str(), FILE).map_err(fault)?;
            hash(&File::from(file))?
        };
        let (uid, gid) = facts.owner;
        hasher.update(name.to_bytes_with_nul());
        for number in [facts.mode, uid, gid] {
            hasher.update(number.to_le_bytes());
        }
        hasher.update(content.as_bytes());
    }
    Digest::from_bytes(&hasher.finalize()).ok_or_else(|| Fault::Corrupt { what: "a digest" }.into())
}
