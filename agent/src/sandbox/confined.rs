//! The child: reads its job, confines itself, and executes the program. An error before that is reported on the
//! job's descriptor, and nothing is run.

use super::job::Program;
use super::wire::{self, SandboxJob};
use super::{calls, paths, workspace};
use crate::protocol::confinement::Profile;
use crate::protocol::event::AgentError;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use nix::libc;
use nix::sys::resource::{Resource, setrlimit};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

/// Where programs are looked for; before them the shims, where the call has any.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs the order on standard input; returns only where nothing was run.
#[must_use]
pub fn main() -> ExitCode {
    let run = || -> io::Result<()> {
        // A copy that ends with exec: its end tells the other side that the program runs.
        let mut stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let order: SandboxJob = wire::receive(&mut stream)?;
        let fault = become_program(&order);
        stream.write_all(&wire::frame(&fault)?)
    };
    // Its error stream is the program's, so nothing is said there.
    let _ = run();
    ExitCode::FAILURE
}

fn become_program(order: &SandboxJob) -> AgentError {
    match confine(order) {
        Ok(()) => {
            let error = command(order).exec();
            AgentError::new("cannot_start", format!("{:?} does not start: {error}", program(order)))
        }
        Err(what) => AgentError::new("sandbox_failed", format!("the sandbox cannot be made: {what}")),
    }
}

fn confine(order: &SandboxJob) -> Result<(), String> {
    let said = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    close_descriptors(order).map_err(|error| said("descriptors", &error))?;
    // The first to go where memory runs out; where that cannot be said, any of the unit's goes.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    std::env::set_current_dir(workspace::of_descriptor(order.directory))
        .map_err(|error| said("workspace", &error))?;
    limits(order).map_err(|error| said("limits", &error))?;
    if order.abi > 0 {
        restrict(order).map_err(|error| said("Landlock", &error))?;
    }
    nix::unistd::close(order.directory).map_err(|error| said("workspace", &error))?;
    let filters = calls::filters(&order.ask, order.abi).map_err(|error| said("seccomp", &*error))?;
    for filter in &filters {
        seccompiler::apply_filter(filter).map_err(|error| said("seccomp", &error))?;
    }
    Ok(())
}

/// Closes what would go over to the program besides its three streams and the shims' descriptor; the workspace's is
/// closed once Landlock knows it.
fn close_descriptors(order: &SandboxJob) -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fdinfo")? {
        let entry = entry?;
        let name = entry.file_name();
        let number: i32 = name.to_str().and_then(|text| text.parse().ok()).unwrap_or(i32::MAX);
        if number <= 2 || Some(number) == order.shim || number == order.directory {
            continue;
        }
        let info = std::fs::read_to_string(entry.path())?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|text| i32::from_str_radix(text.trim(), 8).ok()).unwrap_or(0);
        if flags & libc::O_CLOEXEC == 0 {
            nix::unistd::close(number)?;
        }
    }
    Ok(())
}

/// Of each process; the unit bounds all of them together.
fn limits(order: &SandboxJob) -> nix::Result<()> {
    let seconds = order.ask.time_ms / 1000 + 1;
    let file = if order.ask.profile == Profile::WorkspaceWrite { workspace::FILE } else { 0 };
    for (resource, limit) in [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_FSIZE, file),
        (Resource::RLIMIT_NOFILE, 256),
        // Of the user, so of all calls together.
        (Resource::RLIMIT_NPROC, 256),
        (Resource::RLIMIT_DATA, 512 * 1024 * 1024),
        (Resource::RLIMIT_CPU, seconds),
        (Resource::RLIMIT_MEMLOCK, 64 * 1024),
        (Resource::RLIMIT_MSGQUEUE, 0),
    ] {
        setrlimit(resource, limit, limit)?;
    }
    Ok(())
}

/// Best effort would report success with nothing enforced.
fn restrict(order: &SandboxJob) -> Result<(), RulesetError> {
    let abi = ABI::from(order.abi);
    let handled = AccessFs::from_all(abi);
    let mut rules =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(handled)?;
    if abi >= ABI::V4 {
        rules = rules.handle_access(AccessNet::from_all(abi))?;
    }
    if abi >= ABI::V6 {
        rules = rules.scope(Scope::from_all(abi))?;
    }
    let granted = paths::granted(order);
    let read = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    let make = AccessFs::from_write(ABI::V3) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let write: BitFlags<AccessFs> = (read | make) & handled;
    let mut rules = rules
        .create()?
        .add_rules(path_beneath_rules(&granted.read, read))?
        .add_rules(path_beneath_rules(&granted.devices, device))?
        .add_rules(path_beneath_rules(&granted.write, write))?;
    if abi >= ABI::V4 {
        for port in &order.ask.ports {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
    }
    let status = rules.restrict_self()?;
    debug_assert_eq!(status.ruleset, RulesetStatus::FullyEnforced);
    Ok(())
}

fn program(order: &SandboxJob) -> &str {
    match &order.ask.program {
        Program::Argv(argv) => argv.first().map_or("", String::as_str),
        Program::Shell(_) => "/bin/sh",
    }
}

/// The program with its constant environment.
fn command(order: &SandboxJob) -> Command {
    let mut command = Command::new(program(order));
    match &order.ask.program {
        Program::Argv(argv) => command.args(argv.iter().skip(1)),
        Program::Shell(text) => command.args(["-c", text]),
    };
    let path =
        if order.shim.is_some() { format!("{}:{PATH}", order.shims.display()) } else { PATH.to_owned() };
    let home = order.workspace.as_os_str();
    let tmp = order.workspace.join("tmp");
    let constant: [(&str, OsString); 8] = [
        ("PATH", path.into()),
        ("HOME", home.into()),
        ("PWD", home.into()),
        ("TMPDIR", tmp.into()),
        ("USER", "postern-tool".into()),
        ("LOGNAME", "postern-tool".into()),
        ("SHELL", "/bin/sh".into()),
        ("LANG", "C.UTF-8".into()),
    ];
    command.env_clear().envs(constant).stdin(Stdio::null());
    if let Some(shim) = order.shim {
        command.env("POSTERN_SHIM_FD", shim.to_string());
    }
    command
}
