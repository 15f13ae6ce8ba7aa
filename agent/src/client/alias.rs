//! Names of units that are aliases: links from one unit file's name to another's, systemd.unit(5).

use std::fs;
use std::path::Path;

/// The directories of unit files below the root directory, the first first, as systemd.unit(5) has them.
const DIRECTORIES: [&str; 4] =
    ["etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system"];

/// Most links from one alias to the next.
const LINKS_MAX: usize = 4;

/// The own name of the unit that `name` is an alias of; none if it is no alias.
pub fn own_name(root: &Path, name: &str) -> Option<String> {
    let mut own = None;
    for _ in 0..LINKS_MAX {
        let Some(next) = linked(root, own.as_deref().unwrap_or(name)) else { break };
        own = Some(next);
    }
    own.filter(|own| own != name)
}

/// The other name that the file of a unit links to. A link to a file of the same name makes no alias, and one to /dev/null a
/// masked unit.
fn linked(root: &Path, name: &str) -> Option<String> {
    if name.contains('/') {
        return None;
    }
    let mut paths = DIRECTORIES.iter().map(|directory| root.join(directory).join(name));
    let path = paths.find(|path| fs::symlink_metadata(path).is_ok())?;
    let target = path.parent()?.join(fs::read_link(&path).ok()?);
    // A link to somewhere else brings in a unit of that file, with the link's name.
    let parent = target.parent()?;
    let is_unit_directory =
        |directory: &&&str| [root, Path::new("/")].iter().any(|root| parent == root.join(directory));
    DIRECTORIES.iter().chain(&["lib/systemd/system"]).find(is_unit_directory)?;
    let (_, kind) = name.rsplit_once('.')?;
    let other = target.file_name()?.to_str()?;
    let is_alias = other != name && other.rsplit_once('.').is_some_and(|(_, other)| other == kind);
    is_alias.then(|| other.to_owned())
}
