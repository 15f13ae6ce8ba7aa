//! Rules of polkit(8) that name a user or one of its groups: what a daemon does for them without asking anybody.

use crate::lint::facts::User;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directories of rules in JavaScript, and of the older `.pkla` files, which has one more level.
const RULES: [&str; 4] = [
    "etc/polkit-1/rules.d",
    "run/polkit-1/rules.d",
    "usr/local/share/polkit-1/rules.d",
    "usr/share/polkit-1/rules.d",
];
const AUTHORITIES: [&str; 2] = ["etc/polkit-1/localauthority", "var/lib/polkit-1/localauthority"];
/// Most bytes of a file.
const FILE_MAX: usize = 1024 * 1024;

/// A file, and what in it names the user.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    /// The file as this host has it.
    pub path: PathBuf,
    /// The line.
    pub line: String,
}

/// What names the user, by file.
///
/// # Errors
/// A directory that is there cannot be read.
pub fn named(user: &User, root: &Path) -> io::Result<Vec<Named>> {
    let mut found = Vec::new();
    for directory in RULES {
        for path in listing(&root.join(directory), "rules")? {
            found.extend(text(&path)?.and_then(|text| in_rules(user, &text)).map(|line| (path, line)));
        }
    }
    for authority in AUTHORITIES {
        for directory in listing(&root.join(authority), "d")? {
            for path in listing(&directory, "pkla")? {
                found.extend(text(&path)?.and_then(|text| in_pkla(user, &text)).map(|line| (path, line)));
            }
        }
    }
    let named = |(path, line): (PathBuf, String)| {
        let path = Path::new("/").join(path.strip_prefix(root).unwrap_or(&path));
        Named { path, line }
    };
    Ok(found.into_iter().map(named).collect())
}

/// The entries of a directory with this ending, sorted; none if there is no such directory.
fn listing(directory: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == ending));
    paths.sort();
    Ok(paths)
}

/// A file's text; none of one that is no text or too long.
fn text(path: &Path) -> io::Result<Option<String>> {
    let bytes = fs::read(path)?;
    Ok(String::from_utf8(bytes).ok().filter(|text| text.len() <= FILE_MAX))
}

/// The first line of a rule in JavaScript with the name of the user or of a group in quotes, in a file that lets somebody do
/// something. What a rule does is not computed.
fn in_rules(user: &User, text: &str) -> Option<String> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let permits = lines().any(|line| {
        ["Result.YES", "Result.AUTH_SELF", "\"yes\"", "'yes'", "addAdminRule"]
            .iter()
            .any(|word| line.contains(word))
    });
    let names = |line: &&str| line.split(['"', '\'', '`']).skip(1).step_by(2).any(|word| is_own(user, word));
    lines().find(names).filter(|_| permits).map(str::to_owned)
}

/// The identity of an entry of a `.pkla` file (pklocalauthority(8)) that names the user and lets it do something.
fn in_pkla(user: &User, text: &str) -> Option<String> {
    let mut identity = None;
    for line in text.lines().map(str::trim) {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        match key.trim() {
            // The next entry.
            section if section.starts_with('[') => identity = None,
            "Identity" => {
                let mut words = value.split(';').map(str::trim);
                identity =
                    words.any(|word| word == "unix-user:*" || is_own(user, word)).then(|| line.to_owned());
            }
            "ResultAny" | "ResultInactive" | "ResultActive"
                if identity.is_some() && !matches!(value.trim(), "no" | "auth_admin" | "auth_admin_keep") =>
            {
                return identity;
            }
            _ => {}
        }
    }
    None
}

/// Whether a word is the user's name, or that of one of its groups, also in the form of polkit's identities.
fn is_own(user: &User, word: &str) -> bool {
    let is_group = |name: &str| user.groups.iter().any(|group| group.name == name);
    match word.split_once(':') {
        Some(("unix-user", name)) => name == user.name || name == user.uid.to_string(),
        Some(("unix-group", name)) => is_group(name),
        Some(_) => false,
        None => word == user.name || is_group(word),
    }
}
