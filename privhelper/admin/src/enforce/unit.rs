//! The units of named commands and validators: user, sandbox, capabilities and time of the policy's row.
//!
//! The name of a unit holds the digest of its row, so another row is another unit. Nothing that a client says is in it:
//! arguments come to a command as a credential, and a validator takes none.

use super::text::{Lines, plain, quoted};
use caps::Capability;
use postern_policy::Command;
use postern_policy::types::{Digest, UserName};
use postern_proto::root::v1::Sandbox;

/// The user that is nobody in particular: a sandboxed command gets a user of the unit's own instead, so that it cannot
/// reach the processes of other commands.
const NOBODY: &str = "nobody";

/// Taken from every sandboxed command. Nothing is writable but private temporary directories, and there are neither
/// privileges, devices, other processes to see nor new namespaces.
pub(super) const SANDBOX: &str = "\
NoNewPrivileges=yes
ProtectSystem=strict
# Empty, and not inaccessible: else what is bound over a directory in it would be left out silently.
ProtectHome=tmpfs
PrivateTmp=yes
PrivateDevices=yes
# PrivateDevices= leaves the host's own.
TemporaryFileSystem=/dev/shm:mode=1777,size=64M,nosuid,nodev,noexec
DevicePolicy=closed
InaccessiblePaths=-/run/initctl
InaccessiblePaths=-/run/postern -/run/postern-root -/run/postern-jobs -/run/postern-audit
InaccessiblePaths=-/etc/postern -/var/log/postern -/var/lib/postern -/var/lib/postern-tool
InaccessiblePaths=-/var/lib/postern-policy -/var/lib/postern-broker -/var/lib/postern-audit -/var/lib/postern-root
PrivateIPC=yes
ProtectProc=invisible
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
# Makes sockets that no filter of system calls sees.
SystemCallFilter=~io_uring_setup io_uring_enter io_uring_register
SystemCallErrorNumber=EPERM
# No socket in the file system, with network or without: root listens on some of them.
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK
MemoryMax=1G
TasksMax=256
";

/// A loopback of its own is all the network of a command without `network`.
const NO_NETWORK: &str = "PrivateNetwork=yes\nIPAddressDeny=any\n";

/// Directories in which programs put their sockets; home directories are empty in every sandbox.
const SOCKET_PLACES: [&str; 6] = ["/run", "/var", "/srv", "/opt", "/mnt", "/media"];

/// Taken from validators besides: one may have power to read, and quotes what it cannot read as configuration. The
/// directory of stages stays visible, since a bind mount below a hidden directory would be left out.
const VALIDATOR: &str = "\
InaccessiblePaths=-/var/lib/postern-files/undo -/var/lib/postern-files/outcomes -/var/lib/postern-files/key
InaccessiblePaths=-/etc/shadow -/etc/shadow- -/etc/gshadow -/etc/gshadow-
";

/// The environment of a validator, unless its row says otherwise.
const ENVIRONMENT: &str =
    "Environment=PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 TERM=dumb PAGER=cat\n";
/// Variables that PID 1 adds, removed again.
const ADDED: [&str; 12] = [
    "LANG",
    "LANGUAGE",
    "USER",
    "LOGNAME",
    "HOME",
    "SHELL",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "SYSTEMD_EXEC_PID",
    "MEMORY_PRESSURE_WATCH",
    "MEMORY_PRESSURE_WRITE",
    "NOTIFY_SOCKET",
];

/// Returns the unit template of a named command. Its instance is an order's id.
///
/// # Errors
/// The row holds what a unit cannot, in words.
pub fn command(row: &Command) -> Result<String, String> {
    let mut unit = Lines::new();
    unit.set("[Unit]\nDescription", format_args!("Postern: command {}", row.name));
    unit.add(
        "Documentation=file:///usr/share/doc/postern/README.md\n\
         RequiresMountsFor=/var/lib/postern-root\n\
         # Started by postern-units alone, which makes both.\n\
         AssertPathExists=/run/postern-jobs/%i/job\n\
         AssertPathIsDirectory=/var/lib/postern-root/jobs/%i\n\
         StartLimitIntervalSec=0\n\n[Service]\nType=oneshot\n\
         ExecStart=/usr/libexec/postern/postern-command\n\
         LoadCredential=job:/run/postern-jobs/%i/job\n\
         StandardInput=null\n\
         StandardOutput=truncate:/var/lib/postern-root/jobs/%i/events\n\
         StandardError=journal\n",
    );
    common(row, &mut unit)?;
    let is_boxed = row.wire.sandbox() == Sandbox::Strict;
    if is_boxed {
        unit.add("InaccessiblePaths=-/var/lib/postern-files\n");
        unit.add(if row.wire.network { "" } else { NO_NETWORK });
        if !row.wire.sockets.is_empty() {
            sockets(row, &mut unit)?;
        }
        for path in &row.wire.write {
            unit.set("ReadWritePaths", named_error(row, plain(path))?);
        }
    }
    Ok(unit.0)
}

/// Lets the command make Unix sockets, and leaves of the places that sockets are in these alone, what it may write, and the
/// directories of its paths. Abstract sockets belong to the network, of which it has its own.
fn sockets(row: &Command, unit: &mut Lines) -> Result<(), String> {
    unit.add("RestrictAddressFamilies=AF_UNIX\n");
    for place in SOCKET_PLACES {
        unit.set("TemporaryFileSystem", format_args!("{place}:ro,mode=0755"));
    }
    // systemctl(1) looks for it to know that systemd runs (sd_booted(3)).
    unit.add("TemporaryFileSystem=/run/systemd/system:ro,mode=0755\n");
    for path in &row.wire.sockets {
        let path = named_error(row, plain(path))?;
        unit.set("BindReadOnlyPaths", path);
        // The link /var/run is hidden with /var.
        if path.starts_with("/run/") {
            unit.set("BindReadOnlyPaths", format_args!("{path}:/var{path}"));
        }
    }
    let checked = row.wire.parameters.iter().filter(|parameter| !parameter.unchecked);
    let parameters = checked.flat_map(|parameter| &parameter.directories);
    for path in parameters.filter(|path| is_hidden(path) && !row.wire.write.contains(path)) {
        unit.set("BindReadOnlyPaths", format_args!("-{}", named_error(row, plain(path))?));
    }
    for path in row.wire.write.iter().filter(|path| is_hidden(path)) {
        unit.set("BindPaths", named_error(row, plain(path))?);
    }
    Ok(())
}

/// Whether the path is below one of the places that are empty for a command with sockets.
fn is_hidden(path: &str) -> bool {
    SOCKET_PLACES
        .iter()
        .any(|place| path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Returns the unit template of a validator over one granted directory. Its instance is a stage's id.
///
/// # Errors
/// As [`command`].
pub fn validator(row: &Command, live: &str) -> Result<String, String> {
    let copy = Digest::of(&[live.as_bytes()]).to_string().chars().take(16).collect::<String>();
    let stage = format!("/var/lib/postern-files/stage/%i/{copy}");
    let live = named_error(row, plain(live))?;
    let mut unit = Lines::new();
    unit.set("[Unit]\nDescription", format_args!("Postern: validator {} of {live}", row.name));
    unit.add(
        "Documentation=file:///usr/share/doc/postern/README.md\nRequiresMountsFor=/var/lib/postern-files\n",
    );
    unit.set("AssertPathIsDirectory", &stage);
    unit.add(
        "StartLimitIntervalSec=0\n\n[Service]\nType=oneshot\n# The exit status is all that leaves it.\n",
    );
    let argv = row.wire.argv.iter().map(|argument| named_error(row, quoted(argument)));
    // `:` leaves `$` alone.
    unit.set("ExecStart", format_args!(":{}", argv.collect::<Result<Vec<_>, _>>()?.join(" ")));
    unit.add("StandardInput=null\nStandardOutput=null\nStandardError=null\n");
    unit.set("WorkingDirectory", named_error(row, plain(&row.wire.cwd))?);
    unit.add(ENVIRONMENT);
    for pair in &row.wire.env {
        unit.set("Environment", named_error(row, quoted(pair))?);
    }
    // Applied last, so not to what the row sets.
    let is_set = |name: &str| row.wire.env.iter().any(|pair| pair.split('=').next() == Some(name));
    let added = ADDED.into_iter().filter(|name| !is_set(name)).collect::<Vec<_>>();
    unit.set("UnsetEnvironment", added.join(" "));
    common(row, &mut unit)?;
    unit.add(VALIDATOR);
    unit.add(NO_NETWORK);
    // Without `-`: if the stage is missing, the unit must fail instead of checking the live directory.
    unit.set("BindReadOnlyPaths", format_args!("{stage}:{live}"));
    Ok(unit.0)
}

/// Adds the settings of the row that every unit has.
fn common(row: &Command, unit: &mut Lines) -> Result<(), String> {
    unit.set("TimeoutStartSec", format_args!("{}s", row.wire.timeout_s.max(1)));
    // All remaining processes end with the command.
    unit.add("TimeoutStopSec=5s\nKillMode=control-group\nUMask=0022\nLimitCORE=0\n");
    let user =
        named_error(row, UserName::new("user", &row.wire.user).map_err(|invalid| invalid.to_string()))?;
    let is_boxed = match row.wire.sandbox() {
        Sandbox::Strict | Sandbox::Validator => true,
        Sandbox::None => false,
        Sandbox::Unspecified => return Err(format!("command {}: no sandbox", row.name)),
    };
    if is_boxed && user.as_str() == NOBODY {
        unit.set("DynamicUser", "yes");
    } else {
        unit.set("User", &user);
    }
    let capabilities = capabilities(row)?;
    if !is_boxed {
        if !capabilities.is_empty() {
            unit.set("AmbientCapabilities", &capabilities);
        }
        return Ok(());
    }
    unit.add(SANDBOX);
    unit.set("CapabilityBoundingSet", &capabilities);
    unit.set("AmbientCapabilities", &capabilities);
    // Thrown away with the unit.
    for path in &row.wire.scratch {
        unit.set(
            "TemporaryFileSystem",
            format_args!("{}:mode=1777,size=64M", named_error(row, plain(path))?),
        );
    }
    Ok(())
}

fn capabilities(row: &Command) -> Result<String, String> {
    let unknown = row.wire.capabilities.iter().find(|name| name.parse::<Capability>().is_err());
    match unknown {
        Some(name) => Err(format!("command {}: {name:?} is not a capability", row.name)),
        None => Ok(row.wire.capabilities.join(" ")),
    }
}

fn named_error<T>(row: &Command, result: Result<T, String>) -> Result<T, String> {
    result.map_err(|why| format!("command {}: {why}", row.name))
}
