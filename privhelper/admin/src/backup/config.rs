//! The agent's configuration in a backup: the files of `/etc/postern` that are no part of the policy.

use crate::file::{self, Access};
use crate::host::Host;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Files by their path below `/etc/postern`.
pub type Files = BTreeMap<String, String>;

/// Single files.
const FILES: [&str; 2] = ["agent.toml", "shell-rules.yaml"];
/// Directories, and how the names in them end.
const DIRECTORIES: [(&str, [&str; 2]); 2] = [("runbooks.d", [".yaml", ".yml"]), ("prompt.d", [".md", ".md"])];
/// Most bytes of one file.
const FILE_MAX: u64 = 1024 * 1024;

/// Reads the files that exist.
pub fn read(etc: &Path) -> Result<Files, String> {
    let mut names = FILES.map(str::to_owned).to_vec();
    for (directory, _) in DIRECTORIES {
        let listing = match fs::read_dir(etc.join(directory)) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("{}: {error}", etc.join(directory).display())),
        };
        for entry in listing {
            let name = entry.map_err(|error| format!("{directory}: {error}"))?.file_name();
            let name = format!("{directory}/{}", name.to_string_lossy());
            names.extend(is_name(&name).then_some(name));
        }
    }
    let mut files = Files::new();
    for name in names {
        let path = etc.join(&name);
        let say = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(say(&error)),
            Ok(facts) if !facts.is_file() => return Err(say(&"is not a regular file")),
            Ok(facts) if facts.len() > FILE_MAX => {
                return Err(say(&format!("is larger than {FILE_MAX} bytes")));
            }
            Ok(_) => {}
        }
        let text = fs::read_to_string(&path).map_err(|error| say(&error))?;
        files.insert(name, text);
    }
    Ok(files)
}

/// Whether a backup may hold a file of this name.
pub fn is_name(name: &str) -> bool {
    FILES.contains(&name)
        || name.split_once('/').is_some_and(|(parent, name)| {
            let ends = DIRECTORIES.iter().find(|(directory, _)| *directory == parent);
            ends.is_some_and(|(_, ends)| ends.iter().any(|end| name.ends_with(end))) && is_plain(name)
        })
}

/// Whether it is one component of a path, not hidden. A byte that is not UTF-8 was read as U+FFFD: it would come back under another
/// name.
pub fn is_plain(name: &str) -> bool {
    !name.starts_with('.') && !name.contains(|c: char| c == '/' || c == '\u{fffd}' || c.is_control())
}

/// The files that are not on this host as the backup has them.
pub fn differing(etc: &Path, files: &Files) -> Vec<String> {
    let differs = |(name, text): &(&String, &String)| {
        fs::read(etc.join(name)).map_or(true, |bytes| bytes != text.as_bytes())
    };
    files.iter().filter(differs).map(|(name, _)| name.clone()).collect()
}

/// Writes these files, lets the agent check its configuration, and restarts it. If a file cannot be written or the check fails,
/// all are as they were.
pub fn write(host: &Host, files: &Files, names: &[String]) -> Result<(), String> {
    let mut old = Vec::new();
    let written = names.iter().try_for_each(|name| {
        let Some(text) = files.get(name) else { return Ok(()) };
        old.push((name, fs::read(host.etc.join(name)).ok()));
        put(host, name, Some(text.as_bytes())).map_err(|error| format!("{name}: {error}"))
    });
    let programs = &host.programs;
    if let Err(why) = written.and_then(|()| programs.change(&programs.postern, &["config", "check"])) {
        let back = old.into_iter().try_for_each(|(name, text)| put(host, name, text.as_deref()));
        return Err(match back {
            Ok(()) => why,
            Err(error) => format!("{why}; and the files could not be put back: {error}"),
        });
    }
    programs.change(&programs.systemctl, &["restart", "postern-agent.service"])
}

/// Writes or removes one file: with the owner and mode that it had, else as the package makes it.
fn put(host: &Host, name: &str, content: Option<&[u8]>) -> io::Result<()> {
    let path = host.etc.join(name);
    let Some(content) = content else { return fs::remove_file(&path) };
    let parent = path.parent().unwrap_or(&host.etc);
    if !parent.exists() {
        fs::create_dir(parent)?;
    }
    let access = match fs::symlink_metadata(&path) {
        Ok(facts) => Access { uid: Some(facts.uid()), gid: Some(facts.gid()), mode: facts.mode() },
        // It may name an address or a header that is for nobody but the agent.
        Err(_) if name == "agent.toml" => match (host.accounts.group)("postern") {
            Some((gid, _)) => Access::group(gid),
            None => Access::own(0o640),
        },
        Err(_) => Access::own(0o644),
    };
    file::replace(&path, content, access)
}
