//! Copies directories into our own state: files, directories, and links as links; everything else is left out. Owners and
//! modes are copied, since some validators check them.

use crate::path::{self, DIRECTORY, Directory, FILE, LOOK};
use crate::swap::remove;
use crate::target::{changed, each_part, hash};
use nix::errno::Errno;
use nix::fcntl::readlinkat;
use nix::sys::stat::{Mode, SFlag, fchmod, mkdirat};
use nix::unistd::{Gid, Uid, fchown, symlinkat};
use postern_policy::types::{Attributes, Digest};
use postern_root::{Code, Denied, Error, Fault};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};

const DOING: &str = "copy a directory for a validator";
/// How much more may be copied.
#[derive(Debug)]
pub struct CopyBudget {
    bytes: usize,
    entries: usize,
    /// Levels of directories.
    depth: usize,
}

impl CopyBudget {
    /// Of all directories of one request.
    pub const NEW: Self = Self { bytes: 64 * 1024 * 1024, entries: 10_000, depth: 16 };
}

/// Takes `count` off what is left.
fn take(left: &mut usize, count: usize) -> Result<(), Denied> {
    let why = "the directory is too large or too deep to be copied for a validator";
    *left = left.checked_sub(count).ok_or_else(|| Denied::new(Code::TooLarge, why))?;
    Ok(())
}

fn fault(errno: Errno) -> Error {
    Fault::io(DOING)(errno).into()
}

/// The names in a directory, in the order of their bytes.
fn names(directory: &OwnedFd) -> Result<BTreeSet<CString>, Error> {
    path::names(directory).and_then(Iterator::collect).map_err(fault)
}

/// Copies a live directory with its owner and mode into an empty one of our own.
///
/// # Errors
/// `too_large`; `unsafe_path` for another file system in it; `precondition_failed` if it changes meanwhile.
pub fn copy(from: &Directory, to: &OwnedFd, budget: &mut CopyBudget) -> Result<(), Error> {
    for name in names(&from.fd)? {
        take(&mut budget.entries, 1)?;
        let open = |flags| path::open(from, name.as_c_str(), flags);
        // O_PATH first: opening a device or a FIFO is an effect.
        let seen = open(LOOK).map_err(fault)?;
        let facts = path::facts(&seen)?;
        if facts.mount != from.mount {
            let why = "another file system in the directory is not copied for a validator";
            return Err(Denied::new(Code::UnsafePath, why).with(name.to_string_lossy()).into());
        }
        let same = |fd: OwnedFd| if path::facts(&fd)?.id == facts.id { Ok(fd) } else { Err(changed()) };
        match SFlag::from_bits_truncate(facts.mode) & SFlag::S_IFMT {
            SFlag::S_IFREG => {
                let file = same(open(FILE).map_err(fault)?)?;
                let mut copy = path::create(to, name.as_c_str()).map_err(fault)?;
                each_part(&File::from(file), |part| {
                    take(&mut budget.bytes, part.len())?;
                    Ok(copy.write_all(part).map_err(Fault::io(DOING))?)
                })?;
                own(&copy, facts.owner, facts.mode)?;
            }
            SFlag::S_IFDIR => {
                let inner = Directory { fd: same(open(DIRECTORY).map_err(fault)?)?, mount: from.mount };
                take(&mut budget.depth, 1)?;
                mkdirat(to, name.as_c_str(), Mode::S_IRWXU).map_err(fault)?;
                let copy = path::open(to, name.as_c_str(), DIRECTORY).map_err(fault)?;
                self::copy(&inner, &copy, budget)?;
                budget.depth = budget.depth.saturating_add(1);
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

/// Nothing in a copy is setuid, setgid or sticky.
fn own(copy: impl AsFd, (uid, gid): (u32, u32), mode: u32) -> Result<(), Error> {
    fchown(&copy, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))).map_err(fault)?;
    fchmod(&copy, Mode::from_bits_truncate(mode & 0o777)).map_err(fault)
}

/// Puts a file into a directory of a copy, or removes it.
///
/// # Errors
/// It cannot be written.
pub fn put(parent: &Directory, name: &str, new: Option<(&[u8], Attributes)>) -> Result<(), Error> {
    remove(parent, name)?;
    let Some((content, Attributes { mode, uid, gid })) = new else { return Ok(()) };
    let mut file = path::create(parent, name).map_err(fault)?;
    file.write_all(content).map_err(Fault::io(DOING))?;
    own(&file, (uid, gid), mode.bits())
}

/// SHA-256 over names, types, owners, modes and contents.
///
/// # Errors
/// It cannot be read.
pub fn digest(copy: &OwnedFd) -> Result<Digest, Error> {
    let mut bytes = Vec::new();
    for name in names(copy)? {
        let open = |flags| path::open(copy, name.as_c_str(), flags).map_err(fault);
        let seen = open(LOOK)?;
        let facts = path::facts(&seen)?;
        let content = match SFlag::from_bits_truncate(facts.mode) & SFlag::S_IFMT {
            SFlag::S_IFDIR => digest(&open(DIRECTORY)?)?,
            SFlag::S_IFLNK => Digest::of(&[readlinkat(&seen, "").map_err(fault)?.as_encoded_bytes()]),
            _ => hash(&File::from(open(FILE)?))?,
        };
        let (uid, gid) = facts.owner;
        bytes.extend_from_slice(name.to_bytes_with_nul());
        for number in [facts.mode, uid, gid] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(content.as_bytes());
    }
    Ok(Digest::of(&[&bytes]))
}
