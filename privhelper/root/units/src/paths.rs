//! Checks that nobody but root can change a program, or a file whose path it is given. Reads only.

use postern_root::{Code, Denied, Error, Fault};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

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
    let start = start(path, owner)?;
    let Some(line) = start.strip_prefix(b"#!") else { return Ok(()) };
    let line = String::from_utf8_lossy(line);
    let interpreter = line.lines().next().and_then(|line| line.split_ascii_whitespace().next());
    // The kernel accepts an interpreter that is a script, to some depth; here it is refused.
    match interpreter.filter(|interpreter| interpreter.starts_with('/')) {
        Some(interpreter) if !self::start(interpreter, owner)?.starts_with(b"#!") => Ok(()),
        Some(_) | None => {
            let why = "has an interpreter that is a script or has no absolute path";
            Err(unsafe_path(Path::new(path), why))
        }
    }
}

/// Whether only `owner` can change the directory of this path.
///
/// # Errors
/// As [`program`].
pub fn parent(path: &str, owner: u32) -> Result<(), Error> {
    check(Path::new(path).parent().unwrap_or(Path::new("/")), owner)
}

/// Checks a program, and returns its first bytes.
fn start(path: &str, owner: u32) -> Result<Vec<u8>, Error> {
    check(Path::new(path), owner)?;
    if !std::fs::metadata(path).map_err(Fault::io("stat a program"))?.is_file() {
        return Err(unsafe_path(Path::new(path), "is no file"));
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LINE_MAX).read_to_end(&mut start));
    read.map_err(Fault::io("read a program"))?;
    Ok(start)
}

/// Checks every component of an absolute path and of every symbolic link on the way: it belongs to `owner` or root, and
/// nobody else can write it.
fn check(path: &Path, owner: u32) -> Result<(), Error> {
    let failed = |error: io::Error| {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        let missing = || Denied::new(Code::NotFound, format!("{:?} does not exist", path.to_string_lossy()));
        if is_missing { missing().into() } else { unsafe_path(path, &format!("cannot be followed: {error}")) }
    };
    // Fails in a loop of links, so that the recursion below ends.
    path.canonicalize().map_err(failed)?;
    for at in path.ancestors() {
        let metadata = at.symlink_metadata().map_err(failed)?;
        // Permission bits of a link have no meaning; those of its directory do.
        let others_write = !metadata.is_symlink() && metadata.mode() & OTHERS != 0;
        if others_write || ![0, owner].contains(&metadata.uid()) {
            let why = "can be changed by others than root; make it root's, not writable by group or others";
            return Err(unsafe_path(at, why));
        }
        if metadata.is_symlink() {
            let parent = at.parent().unwrap_or(Path::new("/")).canonicalize().map_err(failed)?;
            check(&parent.join(at.read_link().map_err(failed)?), owner)?;
        }
    }
    Ok(())
}

fn unsafe_path(path: &Path, why: &str) -> Error {
    Denied::new(Code::UnsafePath, format!("{:?} is refused: it {why}", path.to_string_lossy())).into()
}
