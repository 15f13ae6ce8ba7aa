//! Files that the sandbox hid from a command: those that it names, or that its programs could not open, outside of what
//! the profile and the unit show. A command that finds nothing there has not shown that there is nothing.

use super::job::Program;
use super::paths::shown;
use crate::protocol::confinement::Profile;
use std::path::{Path, PathBuf};

/// `InaccessiblePaths=` of `postern-tool@.service`, below directories that a profile shows.
const INACCESSIBLE: &[&str] = &[
    "/etc/postern",
    "/run/containerd",
    "/run/dbus",
    "/run/docker.sock",
    "/run/podman",
    "/run/postern",
    "/run/systemd/notify",
    "/run/systemd/private",
    "/run/user",
    "/var/log/postern",
];
/// Directories that are the call's own.
const OWN: &[&str] = &["/dev", "/var/lib/postern-tool"];
/// Those that are empty, and its own, where it may write.
const WRITABLE: &[&str] = &["/tmp", "/var/tmp"];
/// Programs that tell of other processes, which `ProtectProc=invisible` hides.
const OF_PROCESSES: &[&str] = &["fuser", "htop", "lsof", "pgrep", "pidof", "pkill", "ps", "pstree", "top"];
/// Error texts of programs without network.
const NO_NETWORK: &[&str] =
    &["Network is unreachable", "Could not resolve host", "Temporary failure in name resolution"];
/// As many are named.
const MOST: usize = 8;

/// Readable part of the file system in a call.
#[derive(Clone, Copy, Debug)]
pub struct View<'v> {
    /// The profile that it ran under.
    pub profile: Profile,
    /// Directories of the configuration.
    pub read_roots: &'v [PathBuf],
}

/// Lists what the sandbox hid from a command that wrote this to its error stream; one line each, empty where nothing
/// that it names is hidden.
#[must_use]
pub fn hidden(program: &Program, stderr: &str, view: View<'_>) -> Vec<String> {
    let text = match program {
        Program::Argv(words) => words.join(" "),
        Program::Shell(text) => text.clone(),
    };
    let words = || text.split(|c: char| !is_of_a_path(c)).filter(|word| !word.is_empty());
    let mut found: Vec<String> = Vec::new();
    let mut add = |line: String| {
        if !found.contains(&line) && found.len() < MOST {
            found.push(line);
        }
    };
    let is_of_processes = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        OF_PROCESSES.contains(&name) || word.trim_end_matches('/') == "/proc"
    };
    if view.profile >= Profile::SystemInspect && words().any(is_of_processes) {
        add("/proc: processes of other users (the tool list_processes shows them)".to_owned());
    }
    for word in words().filter(|word| view.hides(word)) {
        add(format!("{word}: outside of what this profile shows"));
    }
    for line in stderr.lines() {
        let is_denied = line.contains("Permission denied");
        for word in line.split(|c: char| !is_of_a_path(c)).map(|word| word.trim_end_matches(['.', ':'])) {
            if view.hides(word) {
                add(format!("{word}: outside of what this profile shows"));
            } else if is_denied && is_absolute(word) {
                add(format!("{word}: its owner does not let the sandbox's user read it"));
            }
        }
        if NO_NETWORK.iter().any(|words| line.contains(words)) {
            add("the network: no connection leaves the sandbox".to_owned());
        }
    }
    found
}

fn is_of_a_path(c: char) -> bool {
    c.is_alphanumeric() || "/._-+@%~".contains(c)
}

fn is_absolute(word: &str) -> bool {
    // `//` stands in URLs.
    word.starts_with('/') && !word.starts_with("//") && word.len() > 1
}

impl View<'_> {
    fn own(&self) -> impl Iterator<Item = &'static &'static str> {
        let writable: &[&str] = if self.profile == Profile::WorkspaceWrite { WRITABLE } else { &[] };
        OWN.iter().chain(writable)
    }

    fn hides(&self, word: &str) -> bool {
        let path = Path::new(word);
        let below = |known: &&str| path.starts_with(known);
        if !is_absolute(word) {
            return false;
        }
        INACCESSIBLE.iter().any(below)
            || !(self.own().any(below)
                || self.read_roots.iter().any(|root| path.starts_with(root))
                || shown(self.profile).any(|known| below(&known)))
    }
}
