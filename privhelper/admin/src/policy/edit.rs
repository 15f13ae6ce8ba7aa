//! Changes of the policy's files that are accepted together with what is in them, or not made at all.

use super::source::Source;
use crate::file::{Access, replace};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// One file of the policy that is to be written or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file's path below the policy's directory: `policy.toml`, or `policy.d/NAME.toml`.
    pub name: String,
    /// The new content; none removes the file.
    pub text: Option<String>,
    /// Whether the content that is replaced stays beside it as `NAME.before`, which is no part of the policy.
    pub keeps_old: bool,
}

/// The sources with the edits made.
#[must_use]
pub fn overlay(mut sources: Vec<Source>, edits: &[Edit], etc: &Path) -> Vec<Source> {
    if edits.is_empty() {
        return sources;
    }
    for edit in edits {
        let relative = edit.name.clone();
        sources.retain(|source| source.relative != relative);
        if let Some(text) = edit.text.clone() {
            let name = etc.join(&relative).display().to_string();
            sources.push(Source { name, relative, rank: 0, text });
        }
    }
    // `policy.toml` first, then the others in byte order, as they are read from the disk.
    sources.sort_by(|a, b| {
        let key = |source: &Source| (source.relative.contains('/'), source.relative.clone().into_bytes());
        key(a).cmp(&key(b))
    });
    for (rank, source) in sources.iter_mut().enumerate() {
        source.rank = rank;
    }
    sources
}

/// The contents that edits replaced, by name.
#[derive(Debug, Default)]
pub struct Replaced(Vec<(String, Option<Vec<u8>>)>);

/// Makes the edits, each file whole or not at all.
///
/// # Errors
/// A file could not be written; those before it are put back.
pub fn write(etc: &Path, edits: &[Edit]) -> io::Result<Replaced> {
    let mut replaced = Replaced::default();
    for edit in edits {
        let old = match read(&etc.join(&edit.name)) {
            Ok(old) => old,
            Err(error) => return Err(put_back(etc, replaced, error)),
        };
        let kept = match &old {
            Some(old) if edit.keeps_old => put(etc, &format!("{}.before", edit.name), Some(old)),
            Some(_) | None => Ok(()),
        };
        let made = kept.and_then(|()| put(etc, &edit.name, edit.text.as_ref().map(String::as_bytes)));
        if let Err(error) = made {
            return Err(put_back(etc, replaced, error));
        }
        replaced.0.push((edit.name.clone(), old));
    }
    Ok(replaced)
}

/// Puts back what the edits replaced.
///
/// # Errors
/// A file could not be written.
pub fn revert(etc: &Path, replaced: Replaced) -> io::Result<()> {
    replaced.0.into_iter().rev().try_for_each(|(name, old)| put(etc, &name, old.as_deref()))
}

fn put_back(etc: &Path, replaced: Replaced, error: io::Error) -> io::Error {
    match revert(etc, replaced) {
        Ok(()) => error,
        Err(other) => io::Error::new(
            error.kind(),
            format!("{error}; and what was changed could not be put back: {other}"),
        ),
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes or removes one file, with its directory's group, so that auditors may read it.
fn put(etc: &Path, name: &str, content: Option<&[u8]>) -> io::Result<()> {
    let file = etc.join(name);
    let path = file.parent().unwrap_or(etc);
    match DirBuilder::new().mode(0o750).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let directory = fs::symlink_metadata(path)?;
    if !directory.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::NotADirectory,
            format!("{} is no directory", path.display()),
        ));
    }
    match content {
        Some(content) => replace(&file, content, Access::group(directory.gid())),
        None => match fs::remove_file(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => File::open(path)?.sync_all(),
        },
    }
}
