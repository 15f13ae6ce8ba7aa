//! An existing file or directory that a change or a read names, opened and checked on its descriptor.

use crate::path::{self, Directory, LOOK, check_case, link};
use crate::xattr::names;
use nix::errno::Errno;
use nix::sys::stat::SFlag;
use postern_policy::types::{Attributes, Digest, FileKind, FileMode};
use postern_proto::root::v1 as root;
use postern_root::{Code, Denied, Error, Fault};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::FileExt;

/// Bytes per read(2).
pub const PART: usize = 64 * 1024;

/// An open file or directory.
#[derive(Debug)]
pub struct OpenTarget {
    /// Opened for reading.
    pub file: File,
    /// As it was when it was opened: the file that is replaced must be the one that was read.
    pub facts: path::Facts,
    /// File or directory.
    pub kind: FileKind,
    /// Mode, owner, group.
    pub attributes: Attributes,
    /// The names of its extended attributes, sorted.
    pub attribute_names: Vec<String>,
}

/// Opens the file or directory `name`; none if there is none.
///
/// # Errors
/// `special_file` for everything but these kinds, and for files with more than one name, setuid, setgid, sticky bit
/// or capabilities.
pub fn open_target(parent: &Directory, name: &str, kinds: &[FileKind]) -> Result<Option<OpenTarget>, Error> {
    let special = |why: &str| path::special(format!("{name:?} is {why}"));
    // O_PATH first: opening a device or a FIFO is an effect.
    let seen = match path::open(parent, name, LOOK) {
        Ok(seen) => path::facts(seen)?,
        Err(Errno::ENOENT) => return Ok(None),
        Err(errno) => return Err(Fault::io("open a file")(errno).into()),
    };
    if seen.mount != parent.mount {
        return Err(special("another file system"));
    }
    let kind = match SFlag::from_bits_truncate(seen.mode) & SFlag::S_IFMT {
        SFlag::S_IFREG if kinds.contains(&FileKind::File) => FileKind::File,
        SFlag::S_IFDIR if kinds.contains(&FileKind::Directory) => FileKind::Directory,
        SFlag::S_IFREG => return Err(special("no directory")),
        SFlag::S_IFDIR => return Err(special("a directory")),
        SFlag::S_IFLNK => return Err(path::special(link(parent, name))),
        _ => return Err(special("no regular file")),
    };
    let fd = path::open(parent, name, path::FILE).map_err(|errno| {
        let is_another = [Errno::ELOOP, Errno::ENOENT].contains(&errno);
        if is_another { changed() } else { Fault::io("open a file")(errno).into() }
    })?;
    let facts = path::facts(&fd)?;
    // A file without a name was replaced or removed since it was opened.
    if facts.id != seen.id || facts.links == 0 {
        return Err(changed());
    }
    if kind == FileKind::File && facts.links != 1 {
        return Err(special("known by more than one name (hard link)"));
    }
    check_case(parent, name, facts.id)?;
    let mode = FileMode::of_stat(facts.mode).ok_or_else(|| special("setuid, setgid or sticky"))?;
    let names = names(&fd)?;
    let mut attribute_names: Vec<_> =
        names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    attribute_names.sort_unstable();
    // File capabilities give power to the process that runs it.
    if attribute_names.iter().any(|name| name == "security.capability") {
        return Err(special("a file with capabilities (security.capability)"));
    }
    let (uid, gid) = facts.owner;
    let attributes = Attributes { mode, uid, gid };
    Ok(Some(OpenTarget { file: File::from(fd), facts, kind, attributes, attribute_names }))
}

/// The error for a file that another process changed between two checks.
#[must_use]
pub fn changed() -> Error {
    Denied::new(Code::PreconditionFailed, "the file changed meanwhile; send the request again").into()
}

/// SHA-256 of a file's content.
///
/// # Errors
/// It cannot be read.
pub fn hash(mut file: &File) -> Result<Digest, Error> {
    let mut hasher = Sha256::new();
    file.rewind().map_err(Fault::io("seek in a file"))?;
    each_part(file, |part| {
        hasher.update(part);
        Ok(())
    })?;
    Ok(Digest::from_bytes(&hasher.finalize()).ok_or_else(|| Fault::corrupt("a digest"))?)
}

/// Reads the rest of a file in parts: none is in memory as a whole.
///
/// # Errors
/// It cannot be read; or those of `take`.
pub fn each_part(mut file: &File, mut take: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
    let mut part = vec![0; PART];
    loop {
        match file.read(&mut part).map_err(Fault::io("read a file"))? {
            0 => return Ok(()),
            count => take(part.get(..count).unwrap_or_default())?,
        }
    }
}

impl OpenTarget {
    /// The whole content, of the size that was seen when it was opened.
    ///
    /// # Errors
    /// `precondition_failed` if it is shorter now; or it cannot be read.
    pub fn content(&self) -> Result<Vec<u8>, Error> {
        let size = usize::try_from(self.facts.size).map_err(|_| Fault::corrupt("the size of a file"))?;
        let mut content = vec![0; size];
        match self.file.read_exact_at(&mut content, 0) {
            Ok(()) => Ok(content),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(changed()),
            Err(error) => Err(Fault::io("read a file")(error).into()),
        }
    }

    /// The file as facts have it, with the digest of its content if `is_hashed`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn to_wire(&self, path: &str, is_hashed: bool) -> Result<root::FileFacts, Error> {
        let Attributes { mode, uid, gid } = self.attributes;
        let directory = self.kind == FileKind::Directory;
        Ok(root::FileFacts {
            path: path.to_owned(),
            exists: true,
            directory,
            size: if directory { 0 } else { self.facts.size },
            sha256: if is_hashed { hash(&self.file)?.as_bytes().to_vec() } else { Vec::new() },
            mode: mode.bits(),
            uid,
            gid,
            attributes: self.attribute_names.clone(),
        })
    }

    /// Whether nobody has written into it since it was opened.
    #[must_use]
    pub fn is_unwritten(&self) -> bool {
        let same = |now: path::Facts| (now.size, now.mtime) == (self.facts.size, self.facts.mtime);
        self.kind == FileKind::Directory || path::facts(&self.file).is_ok_and(same)
    }
}
