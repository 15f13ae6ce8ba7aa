//! Runs in the place of a unit's own program and reports on stderr what the unit lets it see, open, connect to and
//! call: `sandbox-probe: begin`, one line a check, `sandbox-probe: NAME: works` or the error, and `sandbox-probe: end`.
//!
//! It takes no arguments, so that any unit can start it with those of its own program.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::personality::{self, Persona};
use nix::sys::ptrace;
use nix::sys::signal::kill;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, UnixAddr, sendto, socket, socketpair,
};
use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::{Gid, Pid, Uid, chown, chroot, geteuid, getpid, getppid, setgid, sethostname, setuid};

/// Files and directories that say something about the host.
const SEEN: [&str; 14] = [
    "/boot",
    "/dev/kmsg",
    "/etc/machine-id",
    "/etc/postern",
    "/etc/shadow",
    "/home",
    "/proc/1",
    "/proc/sys",
    "/root",
    "/run/dbus/system_bus_socket",
    "/run/postern/helper.sock",
    "/sys/class",
    "/usr/bin",
    "/var/lib/dpkg",
];

const LISTED: [&str; 11] = [
    "/",
    "/etc",
    "/run",
    "/run/postern",
    "/run/postern/internal",
    "/usr/lib",
    "/var/lib",
    "/var/lib/postern-audit",
    "/var/lib/postern-files",
    "/var/lib/postern-root",
    "/var/log/journal",
];

const READ: [&str; 9] = [
    "/etc/passwd",
    "/etc/postern/agent.toml",
    "/etc/postern/policy.toml",
    "/etc/shadow",
    "/proc/1/environ",
    "/proc/self/mountinfo",
    "/var/lib/postern-policy/accepted.pb",
    "/var/lib/postern-policy/validator.key",
    "/var/log/postern/audit.jsonl",
];

/// Directories in which a file may be made.
const WRITTEN: [&str; 24] = [
    "/",
    "/dev/shm",
    "/etc",
    "/etc/postern",
    "/home",
    "/root",
    "/run",
    "/run/postern",
    "/run/postern-audit",
    "/run/postern-jobs",
    "/srv",
    "/tmp",
    "/usr/bin",
    "/usr/local/bin",
    "/var/lib",
    "/var/lib/postern",
    "/var/lib/postern-audit",
    "/var/lib/postern-broker",
    "/var/lib/postern-files",
    "/var/lib/postern-policy",
    "/var/lib/postern-root",
    "/var/lib/postern-tool",
    "/var/lib/postern-tool/tasks",
    "/var/log/postern",
];

const CONNECTED: [&str; 16] = [
    "/run/dbus/system_bus_socket",
    "/run/postern/agent.sock",
    "/run/postern/internal/announce.sock",
    "/run/postern/internal/asked.sock",
    "/run/postern/internal/files.sock",
    "/run/postern/internal/gateway.sock",
    "/run/postern/internal/probe.sock",
    "/run/postern/internal/recorder.sock",
    "/run/postern/internal/units.sock",
    "/run/postern/helper.sock",
    "/run/postern/operator.sock",
    "/run/postern/person.sock",
    "/run/postern/tool-ports.sock",
    "/run/postern/tool.sock",
    "/run/systemd/journal/stdout",
    "/run/systemd/private",
];

fn main() {
    eprintln!("sandbox-probe: begin");
    for path in SEEN {
        say(format_args!("see {path}"), fs::symlink_metadata(path));
    }
    for path in LISTED {
        say(
            format_args!("list {path}"),
            fs::read_dir(path).and_then(|mut entries| entries.next().transpose()),
        );
    }
    say("see a process of another user", see_another_users_process());
    for path in READ {
        say(format_args!("read {path}"), fs::read(path));
    }
    for path in WRITTEN {
        say(format_args!("write in {path}"), make_file(Path::new(path)));
    }
    for path in ["/proc/sys/kernel/hostname", "/sys/fs/cgroup/cgroup.procs"] {
        say(format_args!("open {path} for writing"), OpenOptions::new().write(true).open(path));
    }
    for path in CONNECTED {
        say(format_args!("connect to {path}"), UnixStream::connect(path));
    }
    let families = [
        ("unix", AddressFamily::Unix),
        ("inet", AddressFamily::Inet),
        ("inet6", AddressFamily::Inet6),
        ("netlink", AddressFamily::Netlink),
        ("packet", AddressFamily::Packet),
    ];
    for (name, family) in families {
        let kind = if family == AddressFamily::Packet { SockType::Raw } else { SockType::Datagram };
        say(format_args!("socket {name}"), socket(family, kind, SockFlag::empty(), None::<SockProtocol>));
    }
    say("send to the journal through a socketpair", send_through_a_pair());
    say("connect to this host by TCP", TcpStream::connect(("127.0.0.1", PORT)));
    calls();
    eprintln!("sandbox-probe: end");
    // A unit that is started again whenever it ends, or by a waiting connection, is not started all the time.
    thread::sleep(Duration::from_secs(2));
}

/// Somebody listens here, in the host's network.
const PORT: u16 = 7001;

/// System calls that a program with a task of its own has no use for. Those that change this process are last.
fn calls() {
    say("io_uring", io_uring::IoUring::new(4));
    say("run a program", Command::new("/bin/true").stdin(Stdio::null()).status());
    say("run from memory", run_from_memory());
    say("signal to PID 1", kill(Pid::from_raw(1), None));
    say("trace the parent", ptrace::seize(getppid(), ptrace::Options::empty()));
    say("make a device", make_device());
    say("make a setuid file", make_setuid_file());
    say("give a file away", give_file_away());
    say("change the personality", personality::set(Persona::ADDR_NO_RANDOMIZE));
    say("change the host name", nix::unistd::gethostname().and_then(sethostname));
    say("mount", mount(Some("probe"), "/mnt", Some("tmpfs"), MsFlags::empty(), None::<&str>));
    say("change the root", chroot("/"));
    say("become the group of root", setgid(Gid::from_raw(0)));
    say("become root", setuid(Uid::from_raw(0)));
    say("mount namespace", unshare(CloneFlags::CLONE_NEWNS));
    say("user namespace", unshare(CloneFlags::CLONE_NEWUSER));
}

fn say<T, E: Into<io::Error>>(name: impl Display, result: Result<T, E>) {
    match result.map_err(Into::into) {
        Ok(_) => eprintln!("sandbox-probe: {name}: works"),
        Err(error) => match error.raw_os_error() {
            Some(number) => eprintln!("sandbox-probe: {name}: {:?}", Errno::from_raw(number)),
            None => eprintln!("sandbox-probe: {name}: {error}"),
        },
    }
}

fn see_another_users_process() -> io::Result<()> {
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let is_process = entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        if is_process && entry.metadata().is_ok_and(|facts| facts.uid() != geteuid().as_raw()) {
            return Ok(());
        }
    }
    Err(Errno::ENOENT.into())
}

fn name_in(directory: &Path) -> std::path::PathBuf {
    directory.join(format!("sandbox-probe-{}", getpid()))
}

fn make_file(directory: &Path) -> io::Result<()> {
    let name = name_in(directory);
    File::create_new(&name)?;
    // Made is made, whether it can be removed or not.
    drop(fs::remove_file(name));
    Ok(())
}

/// The first directory that a file can be made in, for checks that need one.
fn writable() -> io::Result<&'static Path> {
    let mut directories = WRITTEN.into_iter().map(Path::new);
    directories.find(|directory| make_file(directory).is_ok()).ok_or_else(|| Errno::EROFS.into())
}

fn make_device() -> io::Result<()> {
    let name = name_in(writable()?);
    mknod(&name, SFlag::S_IFCHR, Mode::S_IRUSR, nix::sys::stat::makedev(1, 3))?;
    fs::remove_file(name)
}

fn make_setuid_file() -> io::Result<()> {
    let name = name_in(writable()?);
    File::create_new(&name)?;
    let made = fs::set_permissions(&name, Permissions::from_mode(0o4755));
    fs::remove_file(name)?;
    made
}

fn give_file_away() -> io::Result<()> {
    let name = name_in(writable()?);
    File::create_new(&name)?;
    let given = chown(&name, Some(Uid::from_raw(1)), Some(Gid::from_raw(1)));
    fs::remove_file(name)?;
    Ok(given?)
}

/// A file that no mount option covers.
fn run_from_memory() -> io::Result<()> {
    let memory: OwnedFd = memfd_create(c"probe", MFdFlags::empty())?;
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    fs::write(&path, fs::read("/bin/true")?)?;
    Command::new(path).stdin(Stdio::null()).status().map(drop)
}

/// A socket without `socket(2)`: datagrams of a pair can go to any name.
fn send_through_a_pair() -> io::Result<()> {
    let (ours, _theirs) = socketpair(AddressFamily::Unix, SockType::Datagram, None, SockFlag::empty())?;
    let journal = UnixAddr::new("/run/systemd/journal/socket")?;
    sendto(
        ours.as_raw_fd(),
        b"MESSAGE=sandbox-probe sent a datagram\n",
        &journal,
        nix::sys::socket::MsgFlags::empty(),
    )?;
    Ok(())
}
