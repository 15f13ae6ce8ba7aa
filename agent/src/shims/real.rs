//! Becomes the real program of a name.

use super::steps::say;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the shims are installed.
pub const DIRECTORY: &str = "/usr/lib/postern/shims";
/// Where sudo looks for programs, and where the sandbox has them.
const DIRECTORIES: &[&str] = &["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Becomes the program that would have run without the shims: the next one of its name in PATH.
#[must_use]
pub fn next_in_path(name: &str, argv: &[OsString]) -> u8 {
    let path = std::env::var_os("PATH").unwrap_or_else(|| DIRECTORIES.join(":").into());
    match find(name, &path) {
        Some(found) => become_program(&found, name, argv.get(1..).unwrap_or_default()),
        None => say(&format!("{name}: command not found"), 127),
    }
}

/// Becomes the program of the first word, found where sudo looks.
pub fn in_directories(words: &[String]) -> u8 {
    let Some((name, arguments)) = words.split_first() else { return 0 };
    let mut candidates: Vec<PathBuf> =
        DIRECTORIES.iter().map(|directory| Path::new(directory).join(name)).collect();
    // A name with a slash says where the program is.
    if name.contains('/') {
        candidates = vec![PathBuf::from(name)];
    }
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    match candidates.into_iter().find(|path| path.is_file()) {
        Some(found) => become_program(&found, name, &arguments),
        None => say(&format!("{name}: command not found"), 127),
    }
}

/// The first program of this name in PATH that is no shim. The directory of the shims may stand there twice, or under
/// other names.
#[must_use]
pub fn find(name: &str, path: &OsStr) -> Option<PathBuf> {
    let own = std::env::current_exe().ok().and_then(|path| path.metadata().ok());
    let is_shim = |path: &Path| {
        let is_own = || {
            let (own, found) = (own.as_ref()?, path.metadata().ok()?);
            Some((own.dev(), own.ino()) == (found.dev(), found.ino()))
        };
        // Another build of this program would look for the next one too, and find this one again.
        path.canonicalize().is_ok_and(|path| path.ends_with("postern")) || is_own() == Some(true)
    };
    let is_program = |path: &Path| {
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path)
        .map(|directory| directory.join(name))
        .find(|path| is_program(path) && !is_shim(path))
}

fn become_program(path: &Path, name: &str, arguments: &[OsString]) -> u8 {
    say(&format!("{name}: {}", Command::new(path).arg0(name).args(arguments).exec()), 126)
}
