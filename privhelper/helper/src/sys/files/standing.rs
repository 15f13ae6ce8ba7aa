//! What stands at a name, opened and looked at through its descriptor.

use super::xattr::{Xattrs, check_capability};
use super::{LINK, beneath, case_folded, folds_case, identity_of, link, open, stop};
use crate::error::{Fault, Stop};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::{SFlag, fstat};
use postern_policy::types::{Attributes, Digest, FileKind, FileMode};
use postern_policy::{Code, Denied};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};

/// What stands at a target, as its descriptor says.
#[derive(Debug)]
pub struct Standing {
    pub(super) file: File,
    /// Device and inode: what is replaced must be what was read.
    pub identity: (u64, u64),
    /// What it is.
    pub kind: FileKind,
    /// In bytes.
    pub size: u64,
    /// Mode, owner, group.
    pub attributes: Attributes,
    /// Last change of content, in seconds since 1970, and nanoseconds.
    pub mtime: (i64, i64),
}

/// Opens what stands at `name`; none if nothing does. Only what is of these kinds passes, and of files only plain ones
/// with one name.
///
/// # Errors
/// `special_file` for anything else: link, hard link, directory, device, FIFO, socket, setuid, setgid, sticky,
/// with capabilities.
pub fn look(parent: &OwnedFd, name: &str, kinds: &[FileKind]) -> Result<Option<Standing>, Stop> {
    let special = |why: &str| Stop::from(Denied::new(Code::SpecialFile, format!("{name:?} is {why}")));
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
    let kind = match SFlag::from_bits_truncate(seen.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG if kinds.contains(&FileKind::File) => FileKind::File,
        SFlag::S_IFDIR if kinds.contains(&FileKind::Directory) => FileKind::Directory,
        SFlag::S_IFREG => return Err(special("no directory")),
        SFlag::S_IFDIR => return Err(special("a directory")),
        SFlag::S_IFLNK => {
            let why = link(parent.as_fd(), name).unwrap_or_else(|| format!("{name:?} is a link"));
            return Err(Denied::new(Code::SpecialFile, why).into());
        }
        _ => return Err(special("no plain file")),
    };
    let fd = open(parent.as_fd(), name, OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC, beneath())
        .map_err(errors)?;
    let stat = fstat(&fd).map_err(Fault::io("stat a file"))?;
    // Without a name it was replaced or removed since it was opened.
    if identity_of(&stat) != identity_of(&seen) || stat.st_nlink == 0 {
        return Err(changed());
    }
    if kind == FileKind::File && stat.st_nlink != 1 {
        return Err(special("known by more than one name (hard link)"));
    }
    if folds_case(parent.as_fd(), name, identity_of(&stat)) {
        return Err(case_folded(name));
    }
    let mode = FileMode::of_stat(stat.st_mode).ok_or_else(|| special("setuid, setgid or sticky"))?;
    check_capability(&fd, name)?;
    Ok(Some(Standing {
        file: File::from(fd),
        identity: identity_of(&stat),
        kind,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        attributes: Attributes { mode, uid: stat.st_uid, gid: stat.st_gid },
        mtime: (stat.st_mtime, stat.st_mtime_nsec),
    }))
}

pub(super) fn changed() -> Stop {
    Denied::new(Code::PreconditionFailed, "the file changed meanwhile; ask again").into()
}

impl Standing {
    /// What a file that replaces it takes over; `name` is its own.
    ///
    /// # Errors
    /// `special_file` if something of it can't be kept.
    pub fn xattrs(&self, name: &str) -> Result<Xattrs, Stop> {
        Xattrs::of(&self.file, name)
    }

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
