//! Reads the policy's files. Owner and mode are checked on the descriptors that are read.

use super::finding::Findings;
use super::source::{Owner, Source};
use nix::dir::Dir;
use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Most bytes of one file.
const FILE_MAX: u64 = 1024 * 1024;

/// The files of the policy in `path`: a directory laid out like `/etc/postern`, or a single `policy.toml`.
#[must_use]
pub fn read(path: &Path, owner: Owner, findings: &mut Findings) -> Vec<Source> {
    let name = path.display().to_string();
    let opened = match open(AT_FDCWD, path.as_os_str(), owner) {
        Ok(opened) => opened,
        Err(why) => {
            findings.error_of(name, 0, why);
            return Vec::new();
        }
    };
    let mut sources = Vec::new();
    match opened {
        Opened::File(file) => add_file(file, name, "policy.toml".to_owned(), &mut sources, findings),
        Opened::Directory(directory) => {
            let main = path.join("policy.toml").display().to_string();
            match open(directory.as_fd(), OsStr::new("policy.toml"), owner) {
                Ok(Opened::File(file)) => {
                    add_file(file, main, "policy.toml".to_owned(), &mut sources, findings);
                }
                Ok(Opened::Directory(_)) => findings.error_of(main, 0, "is a directory"),
                Err(why) => findings.error_of(main, 0, why),
            }
            drop_ins(&directory, &path.join("policy.d"), owner, &mut sources, findings);
        }
    }
    sources
}

fn drop_ins(parent: &OwnedFd, path: &Path, owner: Owner, sources: &mut Vec<Source>, findings: &mut Findings) {
    let shown = path.display().to_string();
    if matches!(openat(parent, "policy.d", OFlag::O_PATH, Mode::empty()), Err(nix::Error::ENOENT)) {
        return;
    }
    let names = match open(parent.as_fd(), OsStr::new("policy.d"), owner) {
        Ok(Opened::Directory(directory)) => {
            names(&directory).map(|names| (directory, names)).map_err(|error| error.to_string())
        }
        Ok(Opened::File(_)) => Err("is not a directory".to_owned()),
        Err(why) => Err(why),
    };
    let (directory, names) = match names {
        Ok(found) => found,
        Err(why) => return findings.error_of(shown, 1, why),
    };
    for name in names {
        let text = String::from_utf8_lossy(&name).into_owned();
        let shown = path.join(OsStr::from_bytes(&name)).display().to_string();
        match open(directory.as_fd(), OsStr::from_bytes(&name), owner) {
            Ok(Opened::File(file)) => add_file(file, shown, format!("policy.d/{text}"), sources, findings),
            Ok(Opened::Directory(_)) => findings.error_of(shown, sources.len(), "is a directory"),
            Err(why) => findings.error_of(shown, sources.len(), why),
        }
    }
}

/// The names `*.toml` without a leading dot, in byte order.
fn names(directory: &OwnedFd) -> nix::Result<Vec<Vec<u8>>> {
    let mut listing = Dir::openat(directory, ".", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    let mut names = Vec::new();
    for entry in listing.iter() {
        let name = entry?.file_name().to_bytes().to_vec();
        if name.ends_with(b".toml") && !name.starts_with(b".") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

enum Opened {
    File(File),
    Directory(OwnedFd),
}

/// Opens a file or directory and checks, on what was opened, whose it is and who may write to it.
fn open(parent: impl AsFd, name: &OsStr, owner: Owner) -> Result<Opened, String> {
    // Opening a fifo must not block. A symbolic link is never followed in the installed policy.
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let flags = if owner == Owner::Anybody { flags } else { flags | OFlag::O_NOFOLLOW };
    let fd = openat(parent, name, flags, Mode::empty()).map_err(|error| match error {
        nix::Error::ELOOP => "is a symbolic link; the policy's files must be files of their own".to_owned(),
        nix::Error::ENOENT => "does not exist".to_owned(),
        nix::Error::EACCES => {
            "cannot be read by you: only root and members of postern-auditors may".to_owned()
        }
        other => format!("cannot be read: {}", other.desc()),
    })?;
    let stat = fstat(&fd).map_err(|error| error.desc().to_owned())?;
    if let Owner::Only(uid) = owner {
        check_owner(&stat, uid)?;
    }
    match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => Ok(Opened::File(File::from(fd))),
        SFlag::S_IFDIR => Ok(Opened::Directory(fd)),
        _ => Err("is not a regular file".to_owned()),
    }
}

fn check_owner(stat: &FileStat, uid: u32) -> Result<(), String> {
    if stat.st_uid != uid {
        return Err(format!("belongs to uid {} instead of uid {uid}: chown it", stat.st_uid));
    }
    if stat.st_mode & 0o022 != 0 {
        let mode = stat.st_mode & 0o7777;
        return Err(format!("is writable by group or others (mode {mode:04o}): chmod go-w it"));
    }
    Ok(())
}

fn add_file(file: File, name: String, relative: String, sources: &mut Vec<Source>, findings: &mut Findings) {
    let rank = sources.len();
    let mut bytes = Vec::new();
    if let Err(error) = file.take(FILE_MAX + 1).read_to_end(&mut bytes) {
        return findings.error_of(name, rank, format!("cannot be read: {error}"));
    }
    if bytes.len() as u64 > FILE_MAX {
        return findings.error_of(name, rank, format!("is larger than {FILE_MAX} bytes"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => sources.push(Source { name, relative, rank, text }),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let source = Source { name, relative, rank, text };
            findings.error(&source, at, "is not UTF-8 here");
        }
    }
}
