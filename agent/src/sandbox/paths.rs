//! Paths that a tool's process may read, by profile. Unlisted paths are not granted; files that must not be read although
//! they are below one of these are closed by their owner and by the unit.

use super::wire::{SandboxJob, SandboxRequest};
use super::workspace::of_descriptor;
use crate::protocol::confinement::Profile;
use std::path::{Path, PathBuf};

/// Programs, their libraries and settings, and what a host serves.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/srv", "/var/www"];
/// System state that may be read. Not all of /var: the workspaces of other tasks are below it.
const INSPECT: &[&str] = &[
    "/proc",
    "/sys",
    "/run",
    "/boot",
    "/var/log",
    "/var/cache",
    "/var/lib/dpkg",
    "/var/lib/apt",
    "/var/lib/systemd",
];
/// Devices that are nobody's.
const SOURCES: &[&str] = &["/dev/zero", "/dev/random", "/dev/urandom"];
const SINKS: &[&str] = &["/dev/null", "/dev/full"];

/// Paths that may be used, by kind of access.
#[derive(Debug, Default)]
pub struct Granted {
    /// Read and run.
    pub read: Vec<PathBuf>,
    /// Read and write, a device's bytes only.
    pub devices: Vec<PathBuf>,
    /// Everything but device files.
    pub write: Vec<PathBuf>,
}

/// The host's own directories that a profile shows.
pub fn shown(profile: Profile) -> impl Iterator<Item = &'static str> {
    let inspect = if profile >= Profile::SystemInspect { INSPECT } else { &[] };
    SYSTEM.iter().chain(inspect).copied()
}

/// Returns the paths of a call.
pub fn granted(order: &SandboxJob) -> Granted {
    let ask: &SandboxRequest = &order.ask;
    let mut granted = Granted::default();
    granted.read.extend(shown(ask.profile).chain(SOURCES.iter().copied()).map(PathBuf::from));
    granted.devices.extend(SINKS.iter().map(PathBuf::from));
    granted.read.extend(ask.read_roots.iter().cloned());
    // By its descriptor, whatever stands under its name now.
    let workspace = of_descriptor(order.directory);
    if ask.profile == Profile::WorkspaceWrite {
        granted.write.push(workspace);
        if order.own_tmp {
            granted.write.extend(["/tmp", "/var/tmp"].map(PathBuf::from));
        }
    } else {
        granted.read.push(workspace);
    }
    granted
}

/// Nobody is given a root that holds the workspaces of all tasks, or one of them.
///
/// # Errors
/// The root.
pub fn check_roots(ask: &SandboxRequest, state: &Path) -> Result<(), String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let state = real(state);
    for root in &ask.read_roots {
        let at = real(root);
        if !root.is_absolute() || state.starts_with(&at) || at.starts_with(&state) {
            return Err(format!(
                "the read root {:?} is not absolute, or holds the workspaces of other tasks",
                root.to_string_lossy()
            ));
        }
    }
    Ok(())
}
