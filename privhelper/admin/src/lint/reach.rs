//! Which paths a rule's directories, depth and files can name.

use super::glob;
use postern_policy::VerbId;
use postern_proto::root::v1 as root;

/// Verbs that change a file or directory.
pub const WRITES: &[VerbId] = &[
    VerbId::FileWrite,
    VerbId::FilePatch,
    VerbId::FileRemove,
    VerbId::FileMkdir,
    VerbId::FileSetMode,
    VerbId::FileSetOwner,
];

/// Directories that nothing runs from and nothing of the system reads.
pub const HARMLESS: [&str; 5] = ["/srv", "/var/www", "/home", "/data", "/mnt"];

/// Whether a path is one of these directories or below it.
#[must_use]
pub fn is_below(path: &str, parents: &[&str]) -> bool {
    parents
        .iter()
        .any(|parent| path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Whether some path that is at most `depth` levels below `directory`, with a last component as `files` say, is one
/// that `entry` names. Hidden directories on the way are never reached. In `entry` a component may hold `*`, and a
/// last `**` is everything below.
#[must_use]
pub fn reaches(directory: &str, depth: u32, files: &[String], entry: &str) -> bool {
    let mut wanted = entry.split('/').skip(1);
    for have in directory.split('/').skip(1) {
        match wanted.next() {
            Some("**") => return !files.is_empty(),
            Some(want) if want == have || (want.contains('*') && glob::matches(want, have)) => {}
            // Beside it, or the entry is a file above.
            Some(_) | None => return false,
        }
    }
    let mut left = wanted.peekable();
    let mut levels = 1;
    while let Some(component) = left.next() {
        if left.peek().is_none() {
            return levels <= depth
                && files.iter().any(|file| component == "**" || glob::both_files(file, component));
        }
        if component.starts_with('.') {
            return false;
        }
        levels += 1;
    }
    // The entry is the directory itself.
    false
}

/// The first of the rule's directories from which it reaches the entry.
#[must_use]
pub fn from<'a>(rule: &'a root::Rule, entry: &str) -> Option<&'a str> {
    let reaches = |directory: &&String| reaches(directory, rule.depth, &rule.files, entry);
    rule.directories.iter().find(reaches).map(String::as_str)
}
