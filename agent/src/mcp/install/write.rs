//! Replacement of a person's file, with a copy of the old one beside it.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// As many old files are kept.
const COPIES: u32 = 100;

/// Puts a new content in the place of the old one; where the old one is kept. A link stays one: what it names is
/// replaced.
pub fn replace(path: &Path, old: Option<&str>, new: &str) -> Result<Option<PathBuf>, String> {
    let failed =
        |what: &str, path: &Path, e: std::io::Error| format!("cannot {what} {}: {e}", path.display());
    let path = match old {
        Some(_) => path.canonicalize().map_err(|e| failed("find", path, e))?,
        None => path.to_owned(),
    };
    let directory = path.parent().ok_or_else(|| format!("{} has no directory", path.display()))?;
    fs::create_dir_all(directory).map_err(|e| failed("make", directory, e))?;
    // A new file is private: the configuration may also hold secrets.
    let mode = fs::metadata(&path).map_or(0o600, |is| is.permissions().mode() & 0o7777);
    let copy = match old {
        Some(old) => Some(kept(&path, old, mode)?),
        None => None,
    };
    let mut file = tempfile::Builder::new()
        .prefix(".postern-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory)
        .map_err(|e| failed("write in", directory, e))?;
    file.write_all(new.as_bytes())
        .and_then(|()| file.as_file().sync_all())
        .map_err(|e| failed("write", &path, e))?;
    // Somebody else's write since this one was planned is not lost.
    let now = fs::read_to_string(&path).ok();
    if now.as_deref() != old {
        return Err(format!("{} was changed meanwhile: do it again", path.display()));
    }
    file.persist(&path).map_err(|e| failed("replace", &path, e.error))?;
    Ok(copy)
}

fn kept(path: &Path, old: &str, mode: u32) -> Result<PathBuf, String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("configuration");
    for number in 0..COPIES {
        let suffix = if number == 0 { String::new() } else { format!(".{number}") };
        let copy = path.with_file_name(format!("{name}.before-postern{suffix}"));
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&copy) {
            Ok(mut file) => {
                let written = file.write_all(old.as_bytes());
                return written.map(|()| copy).map_err(|e| format!("cannot keep the old file: {e}"));
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(format!("cannot keep the old file as {}: {e}", copy.display())),
        }
    }
    Err(format!("there are {COPIES} old copies of {} already: remove some", path.display()))
}
