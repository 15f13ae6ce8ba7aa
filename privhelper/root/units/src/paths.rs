//! Checks that nobody but root can change a program, or a file whose path it is given. Reads only.

use postern_policy::{Code, Denied};
use postern_root::{Error, Fault};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// More links than this are a circle.
const LINKS_MAX: usize = 40;
/// Most bytes of a script's first line that the kernel reads.
const LINE_MAX: u64 = 256;
/// Write permission for anybody but the owner.
const OTHERS: u32 = 0o022;

/// Whether only `owner` can change which program this path runs: the program, its interpreter, every directory and
/// every symbolic link on the way.
///
/// # Errors
/// `unsafe_path`; `not_found`; or it cannot be found out.
pub fn program(path: &str, owner: u32) -> Result<(), Error> {
    let found = walk(Path::new(path), owner)?;
    if !found.metadata().map_err(Fault::io("stat a program"))?.is_file() {
        return Err(unsafe_path(path, "is no file"));
    }
    let start = start(&found)?;
    let Some(rest) = start.strip_prefix(b"#!") else { return Ok(()) };
    let line =
        String::from_utf8_lossy(rest.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
    match line.split_ascii_whitespace().next() {
        // The kernel accepts an interpreter that is a script, to some depth; here it is refused.
        Some(interpreter) if interpreter.starts_with('/') && !is_script(interpreter, owner)? => Ok(()),
        Some(_) | None => {
            Err(unsafe_path(path, "has an interpreter that is a script or has no absolute path"))
        }
    }
}

fn is_script(path: &str, owner: u32) -> Result<bool, Error> {
    Ok(start(&walk(Path::new(path), owner)?)?.starts_with(b"#!"))
}

/// The first bytes of a program.
fn start(path: &Path) -> Result<Vec<u8>, Fault> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LINE_MAX).read_to_end(&mut start));
    read.map(|_| start).map_err(Fault::io("read a program"))
}

/// Whether only `owner` can change the directory of this path.
///
/// # Errors
/// As [`program`].
pub fn parent(path: &str, owner: u32) -> Result<(), Error> {
    walk(Path::new(path).parent().unwrap_or(Path::new("/")), owner).map(drop)
}

/// Follows a path from `/`, and each link in it: every component belongs to `owner` or root and is writable by nobody else.
fn walk(path: &Path, owner: u32) -> Result<PathBuf, Error> {
    let shown = path.to_string_lossy();
    let mut left: Vec<PathBuf> = parts(path);
    let (mut at, mut links) = (PathBuf::from("/"), 0_usize);
    check(&at, owner, &shown)?;
    while let Some(part) = left.pop() {
        if part.as_os_str() == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&part);
        let metadata = check(&next, owner, &shown)?;
        if !metadata.is_symlink() {
            at = next;
            continue;
        }
        links = links.saturating_add(1);
        if links > LINKS_MAX {
            return Err(unsafe_path(&shown, "has a loop of symbolic links"));
        }
        let target = std::fs::read_link(&next).map_err(Fault::io("read a link"))?;
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        left.extend(parts(&target));
    }
    Ok(at)
}

/// The components of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let wanted = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    path.components().filter(wanted).map(|part| PathBuf::from(part.as_os_str())).rev().collect()
}

fn check(at: &Path, owner: u32, shown: &str) -> Result<std::fs::Metadata, Error> {
    let metadata = std::fs::symlink_metadata(at).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            return Denied::new(Code::NotFound, "there is no such program or directory").with(shown).into();
        }
        Error::from(Fault::Io { doing: "look at a program", error })
    })?;
    // Permission bits of a link have no meaning; those of its directory do.
    let others_write = !metadata.is_symlink() && metadata.mode() & OTHERS != 0;
    if others_write || ![0, owner].contains(&metadata.uid()) {
        let why = format!(
            "{:?} can be changed by others than root; make it root's, not writable by group or others",
            at.to_string_lossy()
        );
        return Err(unsafe_path(shown, &why));
    }
    Ok(metadata)
}

fn unsafe_path(path: &str, why: &str) -> Error {
    Denied::new(Code::UnsafePath, format!("{path:?} is refused: {why}")).into()
}
