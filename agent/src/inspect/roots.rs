//! Opens files for the agent's own reads: below the configured roots, along no symbolic link, and never where
//! secrets are kept.
//!
//! A path is opened part by part, each from the directory before it and none of them a link, so that nothing
//! can be put in its way between a check and its use. (The agent's unit has `RestrictSUIDSGID=`, under which
//! there is no `openat2`.)

use super::read_error::ReadError;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::sys::statfs::{FsType, fstatfs};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Component, Path, PathBuf};

/// Directories that are never read, whatever the roots are. The kernel's own views hold environments and keys;
/// what a model may know of them are typed facts.
const HIDDEN_TREES: &[&str] = &[
    "/dev",
    "/etc/cockpit/ws-certs.d",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/letsencrypt/accounts",
    "/etc/letsencrypt/archive",
    "/etc/postern",
    "/etc/ssl/private",
    "/etc/sudoers.d",
    "/etc/wireguard",
    "/proc",
    "/run",
    "/sys",
    "/var/lib/postern",
    "/var/lib/postern-audit",
    "/var/lib/postern-broker",
    "/var/lib/postern-files",
    "/var/lib/postern-policy",
    "/var/lib/postern-root",
    "/var/lib/systemd/credential.secret",
    "/var/log/postern",
];

/// Names that hold secrets wherever they are.
const HIDDEN_NAMES: &[&str] = &[
    ".aws",
    ".azure",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".my.cnf",
    ".netrc",
    ".pgpass",
    ".ssh",
    ".vault-token",
    "credentials",
    "gcloud",
    "gshadow",
    "gshadow-",
    "opasswd",
    "shadow",
    "shadow-",
    "sudoers",
];

/// Beginnings and ends of such names.
const HIDDEN_STARTS: &[&str] = &["id_rsa", "id_ecdsa", "id_ed25519", "id_dsa"];
const HIDDEN_ENDS: &[&str] = &[".key", ".p12", ".pfx", ".jks", ".kdbx", "_key"];

/// Directories that may be read.
#[derive(Debug)]
pub struct Roots {
    roots: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
}

impl Roots {
    /// Below `roots`, but nothing of `hidden`.
    pub fn new(roots: Vec<PathBuf>, hidden: Vec<PathBuf>) -> Self {
        let hidden = HIDDEN_TREES.iter().map(PathBuf::from).chain(hidden).collect();
        Self { roots, hidden }
    }

    /// The roots below a directory, or the directory itself where a root is above it.
    pub fn below(&self, directory: &Path) -> Vec<PathBuf> {
        if self.roots.iter().any(|root| directory.starts_with(root)) {
            return vec![directory.to_owned()];
        }
        self.roots.iter().filter(|root| root.starts_with(directory)).cloned().collect()
    }

    /// The roots, for people.
    pub fn shown(&self) -> String {
        self.roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Whether secrets are kept there.
    pub fn hides(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| path.starts_with(hidden))
            || path.components().any(|part| is_hidden_name(&part.as_os_str().to_string_lossy()))
    }

    /// A path as it may be opened.
    fn admit(&self, text: &str) -> Result<PathBuf, ReadError> {
        let path = PathBuf::from(text);
        let is_plain = text.starts_with('/')
            && !text.contains('\0')
            && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if !is_plain {
            return Err(ReadError::Denied(format!("{text:?} is no absolute path without ..")));
        }
        if !self.roots.iter().any(|root| path.starts_with(root)) {
            return Err(ReadError::Elsewhere);
        }
        if self.hides(&path) {
            return Err(ReadError::Elsewhere);
        }
        Ok(path)
    }

    /// Opens a file or a directory.
    pub fn open(&self, text: &str) -> Result<(PathBuf, File), ReadError> {
        let path = self.admit(text)?;
        let mut at = open("/", OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())
            .map_err(|errno| failed(text, errno))?;
        let parts: Vec<&OsStr> = path.components().skip(1).map(Component::as_os_str).collect();
        let Some((last, parents)) = parts.split_last() else { return Ok((path, opened(text, &at, ".")?)) };
        for part in parents {
            let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            at = openat(&at, *part, flags, Mode::empty()).map_err(|errno| failed(text, errno))?;
        }
        let file = opened(text, &at, last)?;
        Ok((path, file))
    }
}

/// Opens what a directory has under a name: a regular file or a directory, and no link. Only what it is seen
/// to be is opened: opening a device can do something.
pub fn opened(text: &str, at: impl AsFd, name: impl AsRef<OsStr>) -> Result<File, ReadError> {
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let seen = openat(at, name.as_ref(), flags, Mode::empty()).map_err(|errno| failed(text, errno))?;
    let mode = fstat(&seen).map_err(|errno| failed(text, errno))?.st_mode;
    let kind = SFlag::from_bits_truncate(mode) & SFlag::S_IFMT;
    if kind == SFlag::S_IFLNK {
        return Err(failed(text, Errno::ELOOP));
    }
    if kind != SFlag::S_IFREG && kind != SFlag::S_IFDIR {
        return Err(ReadError::Denied(format!("{text:?} is neither a file nor a directory")));
    }
    if is_kernels(seen.as_fd()) {
        return Err(ReadError::Denied(format!("{text:?} is a view of the kernel's")));
    }
    File::open(same(seen.as_fd()))
        .map_err(|error| failed(text, error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)))
}

/// The name of exactly what is open.
pub fn same(file: BorrowedFd<'_>) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A file system that is mounted elsewhere is what it is.
fn is_kernels(file: BorrowedFd<'_>) -> bool {
    const KERNELS: &[FsType] = &[
        nix::sys::statfs::PROC_SUPER_MAGIC,
        nix::sys::statfs::SYSFS_MAGIC,
        nix::sys::statfs::CGROUP_SUPER_MAGIC,
        nix::sys::statfs::CGROUP2_SUPER_MAGIC,
        nix::sys::statfs::DEBUGFS_MAGIC,
        nix::sys::statfs::TRACEFS_MAGIC,
        nix::sys::statfs::SECURITYFS_MAGIC,
    ];
    fstatfs(file).is_ok_and(|facts| KERNELS.contains(&facts.filesystem_type()))
}

fn is_hidden_name(name: &str) -> bool {
    HIDDEN_NAMES.contains(&name)
        || HIDDEN_STARTS.iter().any(|start| name.starts_with(start) && name.strip_suffix(".pub").is_none())
        || HIDDEN_ENDS.iter().any(|end| name.ends_with(end))
}

fn failed(text: &str, errno: Errno) -> ReadError {
    match errno {
        // The helper may be able to.
        Errno::EACCES | Errno::EPERM => ReadError::Elsewhere,
        Errno::ELOOP | Errno::ENOTDIR => {
            ReadError::Denied(format!("a symbolic link or no directory stands in the way to {text:?}"))
        }
        Errno::ENOENT => ReadError::Failed(format!("there is no {text:?}")),
        errno => ReadError::Failed(format!("cannot open {text:?}: {}", errno.desc())),
    }
}
