//! Links, owners and modes.

use crate::lint::agents::{OPERATOR_SOCKET, POSTERN};
use crate::lint::facts::{Inode, Link};
use crate::lint::reach::is_below;
use crate::lint::table;
use postern_proto::root::v1 as root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Sockets of services that act as root for their clients.
pub const SOCKETS: [&str; 15] = [
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/crio/crio.sock",
    "/run/k3s/containerd/containerd.sock",
    "/run/buildkit/buildkitd.sock",
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
    "/run/incus/unix.socket",
    "/run/libvirt/libvirt-sock",
    "/run/libvirt/virtqemud-sock",
    "/run/fail2ban/fail2ban.sock",
    "/run/supervisor.sock",
    "/run/salt/master/master_event_pub.ipc",
];
/// Trees in which people and configuration management put links. The rest of the table is the packages' own.
const LINKED: [&str; 4] = ["/etc", "/usr/local", "/opt", "/root"];
/// Most entries that are looked at for links.
const WALK_MAX: usize = 50_000;
const DEPTH_MAX: usize = 6;

/// Paths of the table, and directories of the rules, that are links or lead through one. Other links are left out
/// if they lead to packages' files or into a tree of the table, which is checked by that name.
pub fn links(rules: &root::Rules) -> Vec<Link> {
    let mut starts: BTreeSet<PathBuf> = BTreeSet::new();
    for entry in table::writes().flat_map(|row| row.paths) {
        let literal: PathBuf =
            Path::new(entry).components().take_while(|part| !has_star(part.as_os_str())).collect();
        starts.insert(literal);
    }
    let granted: BTreeSet<PathBuf> =
        rules.rules.iter().flat_map(|rule| &rule.directories).map(PathBuf::from).collect();
    let mut links = BTreeMap::new();
    for start in starts.iter().chain(&granted) {
        if let Some(link) = first_link(start) {
            add(&link, granted.contains(start), &mut links);
        }
    }
    let mut left = WALK_MAX;
    for tree in LINKED {
        walk(Path::new(tree), DEPTH_MAX, &mut left, &mut links);
    }
    links.into_iter().map(|(path, target)| Link { path, target }).collect()
}

fn has_star(part: &std::ffi::OsStr) -> bool {
    part.to_str().is_none_or(|part| part.contains('*'))
}

/// The path itself or the first of its parents that is a link.
fn first_link(path: &Path) -> Option<PathBuf> {
    let parents: Vec<_> = path.ancestors().collect();
    parents.into_iter().rev().find(|path| path.is_symlink()).map(Path::to_owned)
}

/// Remembers a link that leads out of the table, or that a rule goes through.
fn add(path: &Path, is_granted: bool, links: &mut BTreeMap<String, String>) {
    let Ok(target) = fs::canonicalize(path).or_else(|_| fs::read_link(path)) else {
        return;
    };
    let Some((path, target)) = path.to_str().zip(target.to_str()) else {
        return;
    };
    let is_known = || {
        // Packages own it; what of it matters is in the table by name.
        is_below(target, &["/usr", "/proc"])
            || table::writes().flat_map(|row| row.paths).any(|entry| {
                let place = entry.trim_end_matches("/**");
                place.len() < entry.len() && is_below(target, &[place])
            })
    };
    if target.starts_with('/') && (is_granted || !is_known()) {
        links.insert(path.to_owned(), target.to_owned());
    }
}

fn walk(directory: &Path, depth: usize, left: &mut usize, links: &mut BTreeMap<String, String>) {
    // A path that this user cannot read is left out.
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Some(less) = left.checked_sub(1) else {
            return;
        };
        *left = less;
        match entry.file_type() {
            Ok(kind) if kind.is_symlink() => add(&entry.path(), false, links),
            Ok(kind) if kind.is_dir() && depth > 1 => walk(&entry.path(), depth - 1, left, links),
            Ok(_) | Err(_) => {}
        }
    }
}

/// Owner and mode of every directory above what rules name, of Postern's own files, and of powerful sockets.
pub fn inodes(rules: &root::Rules) -> Vec<Inode> {
    let mut paths: BTreeSet<PathBuf> = SOCKETS.iter().map(PathBuf::from).collect();
    paths.insert(OPERATOR_SOCKET.into());
    let granted = rules.rules.iter().flat_map(|rule| &rule.directories).map(Path::new);
    for path in POSTERN.iter().map(Path::new).chain(granted) {
        paths.extend(path.ancestors().map(Path::to_owned));
    }
    paths.iter().filter_map(|path| inode(path)).collect()
}

/// Programs of commands that do not exist. One that this user may not look for is not among them.
#[must_use]
pub fn missing(rules: &root::Rules) -> Vec<String> {
    let programs = rules.commands.iter().filter_map(|command| command.argv.first());
    let is_absent =
        |path: &&String| fs::metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    let missing: BTreeSet<_> = programs.filter(is_absent).cloned().collect();
    missing.into_iter().collect()
}

fn inode(path: &Path) -> Option<Inode> {
    let facts = fs::symlink_metadata(path).ok()?;
    let kind = facts.file_type();
    let kind = if kind.is_symlink() {
        "symlink"
    } else if kind.is_dir() {
        "directory"
    } else if kind.is_file() {
        "file"
    } else if kind.is_socket() {
        "socket"
    } else {
        "other"
    };
    Some(Inode {
        path: path.to_str()?.to_owned(),
        kind: kind.to_owned(),
        uid: facts.uid(),
        gid: facts.gid(),
        mode: format!("{:04o}", facts.mode() & 0o7777),
    })
}
