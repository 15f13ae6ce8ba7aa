//! Rules of polkit(8) that name a user or one of its groups, or do not check the subject: what a daemon does for it without a question.

use crate::lint::facts::User;
use crate::lint::glob::matches;
use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
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
const FILE_MAX: u64 = 1024 * 1024;

/// The result for a file of polkit's, for one user.
#[derive(Debug)]
pub enum Found {
    /// This line of it names the user, or one of its groups.
    Named(PathBuf, String),
    /// This line of it permits something to every user.
    Everybody(PathBuf, String),
    /// It could not be read.
    Unread(PathBuf, io::Error),
}

/// The files that name the user or permit something to every user, and those that cannot be read.
#[must_use]
pub fn named(user: &User, root: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    let mut look = |directory: &Path, ending: &str, names: fn(&User, &str) -> Option<String>| {
        each(directory, ending, &mut |path| match text(path) {
            Ok(text) => {
                let named = names(user, &text).map(|line| Found::Named(on_host(root, path), line));
                let everybody =
                    || for_everybody(&text).map(|line| Found::Everybody(on_host(root, path), line));
                found.extend(named.or_else(everybody));
            }
            Err(error) => found.push(Found::Unread(on_host(root, path), error)),
        });
    };
    for directory in RULES {
        look(&root.join(directory), "rules", in_rules);
    }
    for authority in AUTHORITIES.map(|name| root.join(name)) {
        each(&authority, "d", &mut |directory| look(directory, "pkla", in_pkla));
    }
    found
}

/// A path below the root directory as this host has it.
pub(super) fn on_host(root: &Path, path: &Path) -> PathBuf {
    Path::new("/").join(path.strip_prefix(root).unwrap_or(path))
}

/// Hands over the entries of a directory with this ending, sorted, and the directory itself if it cannot be read: to read it as a file
/// fails too, and says why. None if there is no such directory.
fn each(directory: &Path, ending: &str, of: &mut dyn FnMut(&Path)) {
    let listed = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    match listed {
        Ok(entries) => {
            let mut paths = entries.iter().map(DirEntry::path).collect::<Vec<_>>();
            paths.retain(|path| path.extension().is_some_and(|extension| extension == ending));
            paths.sort();
            for path in &paths {
                of(path);
            }
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
        Err(_) => of(directory),
    }
}

/// A file's text. What is not UTF-8 in it is in no name.
fn text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let length = File::open(path)?.take(FILE_MAX + 1).read_to_end(&mut bytes)?;
    if u64::try_from(length).is_ok_and(|length| length > FILE_MAX) {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 1 MiB"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
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

/// Returns the first line that permits something in a rule in JavaScript whose function does not use its second parameter, the
/// subject. What a rule does is not computed.
fn for_everybody(text: &str) -> Option<String> {
    let text = without_comments(text);
    let mut rules = text.split("addRule(").skip(1).filter_map(|rule| rule.split_once('(')?.1.split_once(')'));
    rules.find_map(|(parameters, body)| {
        let subject = parameters.split(',').nth(1).map(str::trim);
        if subject.is_some_and(|subject| body.contains(subject)) {
            return None;
        }
        let permits = |line: &&str| ["Result.YES", "\"yes\"", "'yes'"].iter().any(|word| line.contains(word));
        body.lines().map(str::trim).find(permits).map(str::to_owned)
    })
}

/// Returns JavaScript without comments; what stands in a text as in `"//"` may go with them.
fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once("*/").map_or("", |(_, code)| code));
    let code = std::iter::once(first).chain(rest).collect::<String>();
    let lines = code.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    lines.collect::<Vec<_>>().join("\n")
}

/// The identity of an entry of a `.pkla` file (pklocalauthority(8)) that names the user and lets it do something. The keys of an entry
/// have no order.
fn in_pkla(user: &User, text: &str) -> Option<String> {
    let (mut identity, mut permits) = (None, false);
    for line in text.lines().map(str::trim).chain(["["]) {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        match key.trim() {
            // The next entry, or the end.
            section if section.starts_with('[') => {
                if permits && identity.is_some() {
                    return identity;
                }
                (identity, permits) = (None, false);
            }
            "Identity" => {
                let is_named = value.split(';').any(|pattern| is_own_pattern(user, pattern.trim()));
                identity = is_named.then(|| line.to_owned());
            }
            "ResultAny" | "ResultInactive" | "ResultActive" => {
                permits |= !matches!(value.trim(), "no" | "auth_admin" | "auth_admin_keep");
            }
            _ => {}
        }
    }
    None
}

/// Whether an identity of a `.pkla` file, in which `*` matches anything, is of the user.
fn is_own_pattern(user: &User, pattern: &str) -> bool {
    let mut groups = user.groups.iter().map(|group| format!("unix-group:{}", group.name));
    matches(pattern, &format!("unix-user:{}", user.name)) || groups.any(|group| matches(pattern, &group))
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
