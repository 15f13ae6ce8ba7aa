//! The directories of runbooks. Only what root alone can write counts: a runbook is reviewed.

use super::document::{Fault, Runbook};
use crate::config::host::Host;
use crate::protocol::event::AgentError;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Largest file, in bytes.
pub const FILE_LIMIT: u64 = 64 << 10;
/// Most files of one directory.
const FILES: usize = 200;
const END: &str = ".yaml";

/// Whose runbook it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The package's.
    Package,
    /// The site's.
    Site,
}

/// A file, and the runbook in it or why there is none.
#[derive(Debug)]
pub struct Loaded {
    /// The name of the file without `.yaml`.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// Whose it is.
    pub origin: Origin,
    /// The package has one of that name too, which is not in use.
    pub replaces: bool,
    /// Its content.
    pub runbook: Result<Runbook, Fault>,
}

/// Loads all runbooks, by name. A file of the site replaces the package's file of that name, also where it is faulty.
#[must_use]
pub fn load(host: &Host) -> Vec<Loaded> {
    let mut all = BTreeMap::<String, Loaded>::new();
    for (path, origin) in [(host.runbooks.clone(), Origin::Package), (host.site_runbooks(), Origin::Site)] {
        for mut loaded in directory(&path, origin, host.runbook_owner) {
            loaded.replaces = all.contains_key(&loaded.name);
            all.insert(loaded.name.clone(), loaded);
        }
    }
    all.into_values().collect()
}

/// Finds a runbook by its name.
///
/// # Errors
/// There is none, or it is not in use.
pub fn find(host: &Host, name: &str) -> Result<(Loaded, Runbook), AgentError> {
    let mut all = load(host);
    let Some(at) = all.iter().position(|loaded| loaded.name == name) else {
        let known = all.iter().map(|loaded| loaded.name.as_str());
        return Err(AgentError::new("not_found", postern_text::unknown("runbook", name, known)));
    };
    let loaded = all.swap_remove(at);
    match loaded.runbook.clone() {
        Ok(runbook) => Ok((loaded, runbook)),
        Err(fault) => {
            let why = format!("{}; it is not in use", located(&loaded.path, &fault));
            Err(AgentError::new("invalid_argument", why))
        }
    }
}

/// A fault with its place, as compilers write it.
#[must_use]
pub fn located(path: &Path, fault: &Fault) -> String {
    let line = if fault.line == 0 { String::new() } else { format!(":{}", fault.line) };
    format!("{}{line}: {}", path.display(), fault.why)
}

/// Reads a file of anybody's, to be checked before root installs it.
///
/// # Errors
/// Why it is no runbook.
pub fn read_draft(path: &Path) -> Result<Runbook, Fault> {
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = open(path, flags, Mode::empty()).map_err(|error| whole(error.desc()))?;
    let stem = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(END));
    let Some(stem) = stem else { return Err(whole("its name does not end with .yaml")) };
    Runbook::parse(stem, &text_of(File::from(file), None)?)
}

fn whole(why: impl Into<String>) -> Fault {
    Fault { line: 0, why: why.into() }
}

fn directory(path: &Path, origin: Origin, owner: u32) -> Vec<Loaded> {
    let failed = |why: String| {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        vec![Loaded { name, path: path.to_owned(), origin, replaces: false, runbook: Err(whole(why)) }]
    };
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let directory = match open(path, flags, Mode::empty()) {
        Ok(directory) => File::from(directory),
        Err(nix::Error::ENOENT) => return Vec::new(),
        Err(error) => return failed(format!("the directory cannot be read: {}", error.desc())),
    };
    if let Err(why) =
        directory.metadata().map_err(|error| error.to_string()).and_then(|facts| owned(&facts, owner))
    {
        return failed(format!("the directory is not in use: {why}"));
    }
    let here = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let mut names: Vec<OsString> = match std::fs::read_dir(here) {
        Ok(entries) => entries
            .flatten()
            .map(|entry| entry.file_name())
            .filter(|name| is_meant(name.as_encoded_bytes()))
            .take(FILES + 1)
            .collect(),
        Err(error) => return failed(format!("the directory cannot be read: {error}")),
    };
    if names.len() > FILES {
        return failed(format!("the directory is not in use: more than {FILES} files"));
    }
    names.sort();
    let loaded = |name: OsString| {
        let shown = postern_text::line(&name.to_string_lossy());
        let plain = name.to_str().filter(|name| *name == shown).and_then(|name| name.strip_suffix(END));
        let (stem, runbook) = match plain {
            Some(stem) => {
                let text = one(&directory, &shown, owner);
                (stem.to_owned(), text.and_then(|text| Runbook::parse(stem, &text)))
            }
            None => (shown.clone(), Err(whole("it is not in use: its name is not NAME.yaml"))),
        };
        Loaded { name: stem, path: path.join(shown), origin, replaces: false, runbook }
    };
    names.into_iter().map(loaded).collect()
}

/// Whether a file is meant as a runbook: of another kind are an editor's and dpkg's copies.
fn is_meant(name: &[u8]) -> bool {
    !name.starts_with(b".") && (name.ends_with(b".yaml") || name.ends_with(b".yml"))
}

/// Reads a file of the directory. Its owner and mode are those of the open file; a FIFO is not waited for.
fn one(directory: &File, name: &str, owner: u32) -> Result<String, Fault> {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    match openat(directory.as_fd(), name, flags, Mode::empty()) {
        Ok(file) => text_of(File::from(file), Some(owner)),
        Err(nix::Error::ELOOP) => {
            Err(whole("a symbolic link is no reviewed file: put the file itself there"))
        }
        Err(error) => Err(whole(format!("it cannot be read: {}", error.desc()))),
    }
}

fn text_of(file: File, owner: Option<u32>) -> Result<String, Fault> {
    let facts = file.metadata().map_err(|error| whole(error.to_string()))?;
    if !facts.is_file() {
        return Err(whole("it is no regular file"));
    }
    if let Some(owner) = owner {
        owned(&facts, owner).map_err(whole)?;
    }
    let mut bytes = Vec::new();
    file.take(FILE_LIMIT + 1).read_to_end(&mut bytes).map_err(|error| whole(error.to_string()))?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(whole(format!("it is larger than {} KiB", FILE_LIMIT >> 10)));
    }
    String::from_utf8(bytes).map_err(|_| whole("it is no UTF-8"))
}

/// Whether nobody but its owner, root, can write it.
fn owned(facts: &Metadata, owner: u32) -> Result<(), String> {
    if facts.uid() != owner {
        return Err("it does not belong to root: review it, then chown it to root".to_owned());
    }
    if facts.mode() & 0o022 != 0 {
        return Err("others than its owner can write it: review it, then chmod go-w".to_owned());
    }
    Ok(())
}
