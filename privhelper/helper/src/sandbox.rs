//! The unit of a named command, as properties for PID 1: data in, words out.
//!
//! A transient unit, because its row sets user, directories, capabilities and time: a unit file with a drop-in per job
//! would need the helper to write below /run/systemd, which it must never do. PID 1 expands `$` and `%` in what it is
//! told, so no value of a client is told to it: the command and its arguments stand in the job's record.

use crate::host::Paths;
use crate::sys::process::JOB;
use crate::sys::store;
use caps::Capability;
use postern_policy::types::UserName;
use postern_policy::{Code, Command, Denied};
use postern_proto::root::v1 as root;
use std::path::{Path, PathBuf};

/// The user that is nobody in particular: a sandboxed command gets a user of its own instead, so that two commands
/// cannot reach each other.
pub const NOBODY: &str = "nobody";

/// What every sandbox takes away. With `strict` and `validator` nothing is writable but private temporary
/// directories, and there are neither privileges, devices, other processes to see nor new namespaces.
const BOX: &[&str] = &[
    "NoNewPrivileges=yes",
    "ProtectSystem=strict",
    // Empty, and not inaccessible: else what stands for a directory in it would be left out without a word.
    "ProtectHome=tmpfs",
    "PrivateTmp=yes",
    "PrivateDevices=yes",
    // That leaves the host's own.
    "TemporaryFileSystem=/dev/shm:mode=1777,size=64M,nosuid,nodev,noexec",
    "InaccessiblePaths=-/run/initctl",
    "DevicePolicy=closed",
    "InaccessiblePaths=-/run/postern",
    "InaccessiblePaths=-/run/postern-helper",
    "InaccessiblePaths=-/var/lib/postern",
    "InaccessiblePaths=-/var/log/postern",
    "InaccessiblePaths=-/etc/postern",
    "PrivateIPC=yes",
    "ProtectProc=invisible",
    "ProtectKernelTunables=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelLogs=yes",
    "ProtectControlGroups=yes",
    "ProtectClock=yes",
    "ProtectHostname=yes",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "LockPersonality=yes",
    "KeyringMode=private",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    // Makes sockets that no filter of system calls sees.
    "SystemCallFilter=~io_uring_setup io_uring_enter io_uring_register",
    // No socket in the file system, with network or without: behind some of them stands root.
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK",
    "SystemCallErrorNumber=EPERM",
    "MemoryMax=1G",
    "TasksMax=256",
];

/// What a validator does not see either: it may have power to read, and quotes what it cannot read as configuration.
const SECRETS: &[&str] = &[
    "InaccessiblePaths=-/etc/shadow",
    "InaccessiblePaths=-/etc/shadow-",
    "InaccessiblePaths=-/etc/gshadow",
    "InaccessiblePaths=-/etc/gshadow-",
];

/// Root's own state, which no sandboxed command sees.
const STATE: &str = "InaccessiblePaths=-/var/lib/postern-helper";

/// How the names of files with secrets begin.
pub const WITH_SECRETS: &str = "secret-";

/// The one directory of root's state from which something is shown to a validator.
pub const STAGING: &str = "staging";

/// A copy that a validator sees in the place of a directory.
#[derive(Debug)]
pub struct Stand {
    /// The copy, below [`STAGING`].
    pub copy: PathBuf,
    /// The directory.
    pub live: String,
}

/// What a command without `network` has of it: a loopback of its own.
const NO_NETWORK: &[&str] = &["PrivateNetwork=yes", "IPAddressDeny=any"];

/// The arguments of systemd-run that make the unit of this command's row, for the job of this id.
///
/// # Errors
/// `unsupported`: the row holds a name or path that PID 1 would read as something else, or no sandbox.
pub fn properties(command: &Command, paths: &Paths, id: &str) -> Result<Vec<String>, Denied> {
    let mut unit = unit(command, paths, id)?;
    if command.wire.sandbox() != root::Sandbox::None {
        unit.push(STATE.to_owned());
    }
    Ok(options(unit))
}

/// The same for a validator, to which these copies are shown.
///
/// # Errors
/// As [`properties`].
pub fn validator(
    command: &Command,
    paths: &Paths,
    id: &str,
    stands: &[Stand],
) -> Result<Vec<String>, Denied> {
    let mut unit = unit(command, paths, id)?;
    // Mounts are made in the order of their paths: once the state as a whole is hidden, what stands for a directory
    // behind it, such as one below /var/www, could not be found there.
    for path in store::list(&paths.state)?.iter().filter(|path| !path.ends_with(STAGING)) {
        unit.push(format!("InaccessiblePaths={}", plain(command, &path.to_string_lossy())?));
    }
    for Stand { copy, live } in stands {
        let (copy, live) = (plain(command, &copy.to_string_lossy())?, plain(command, live)?);
        unit.push(format!("BindReadOnlyPaths={copy}:{live}"));
    }
    Ok(options(unit))
}

fn options(unit: Vec<String>) -> Vec<String> {
    unit.into_iter().map(|property| format!("--property={property}")).collect()
}

/// What PID 1 opens for a command that takes secrets: its job's record with them, on a tmpfs.
#[must_use]
pub fn with_secrets(paths: &Paths, id: &str) -> PathBuf {
    paths.run.join(format!("{WITH_SECRETS}{id}"))
}

fn unit(command: &Command, paths: &Paths, id: &str) -> Result<Vec<String>, Denied> {
    let row = &command.wire;
    let directory = paths.state.join("jobs").join(id);
    let file = |path: &Path| plain(command, &format!("file:{}", path.to_string_lossy()));
    let takes_secrets = command.parameters.iter().any(|(name, _)| command.is_secret(name));
    let record = if takes_secrets { with_secrets(paths, id) } else { directory.join("job.pb") };
    let mut unit = vec![
        format!("Description=Postern: command {}", command.name),
        format!("StandardInput={}", file(&record)?),
        format!("StandardOutput={}", file(&directory.join("events"))?),
        "StandardError=journal".to_owned(),
        // As root and outside of the sandbox, once the command has ended or PID 1 has ended it.
        format!("ExecStopPost=+{JOB} end {id}"),
        format!("TimeoutStartSec={}s", row.timeout_s.max(1)),
        // What is left of it is killed this long after it was asked to end.
        "TimeoutStopSec=5s".to_owned(),
        "UMask=0022".to_owned(),
        "LimitCORE=0".to_owned(),
    ];
    let user = UserName::new("user", &row.user).map_err(|_| unsupported(command, &row.user))?;
    let is_boxed = match row.sandbox() {
        root::Sandbox::Unspecified => return Err(unsupported(command, "sandbox")),
        root::Sandbox::Strict | root::Sandbox::Validator => true,
        root::Sandbox::None => false,
    };
    unit.push(match (is_boxed, user.as_str()) {
        (true, NOBODY) => "DynamicUser=yes".to_owned(),
        (true | false, name) => format!("User={name}"),
    });
    let capabilities = capabilities(command)?;
    if is_boxed {
        unit.extend(BOX.iter().map(ToString::to_string));
        unit.push(format!("CapabilityBoundingSet={capabilities}"));
        unit.push(format!("AmbientCapabilities={capabilities}"));
        // Thrown away with the unit.
        for path in &row.scratch {
            unit.push(format!("TemporaryFileSystem={}:mode=1777,size=64M", plain(command, path)?));
        }
    } else if !capabilities.is_empty() {
        unit.push(format!("AmbientCapabilities={capabilities}"));
    }
    if row.sandbox() == root::Sandbox::Validator {
        unit.extend(SECRETS.iter().map(ToString::to_string));
    }
    let is_strict = row.sandbox() == root::Sandbox::Strict;
    if is_boxed && !(is_strict && row.network) {
        unit.extend(NO_NETWORK.iter().map(ToString::to_string));
    }
    if is_strict {
        for path in &row.write {
            unit.push(format!("ReadWritePaths={}", plain(command, path)?));
        }
    }
    Ok(unit)
}

fn capabilities(command: &Command) -> Result<String, Denied> {
    let known = |name: &String| name.parse::<Capability>().is_ok();
    match command.wire.capabilities.iter().find(|name| !known(name)) {
        Some(name) => Err(unsupported(command, name)),
        None => Ok(command.wire.capabilities.join(" ")),
    }
}

/// A word that systemd-run and PID 1 read as it stands: no blank, quote, backslash, colon but in front, `$` or `%`.
fn plain(command: &Command, text: &str) -> Result<String, Denied> {
    let path = text.strip_prefix("file:").unwrap_or(text);
    let is_plain =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'_' | b'-' | b'+' | b'@' | b',');
    if path.starts_with('/') && path.bytes().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err(unsupported(command, path))
    }
}

fn unsupported(command: &Command, what: &str) -> Denied {
    let why = "cannot be told to systemd; write it with letters, digits and / . _ - + @ , alone";
    Denied::new(Code::Unsupported, format!("command {}: {what:?} {why}", command.name))
}
