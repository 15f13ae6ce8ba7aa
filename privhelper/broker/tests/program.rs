//! The program: what it refuses to start with, and what it has dropped once it serves.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test stops at the first surprise")]

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

const ROOT: &str = "postern-broker: must not run as root; is it started by its unit?\n";
const SOCKET: &str = "postern-broker: systemd did not pass helper.sock alone\n";

fn broker() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_postern-broker"));
    command.env_clear();
    command
}

fn failed(command: &mut Command) -> String {
    let Output { status, stderr, stdout } = command.output().unwrap();
    assert_eq!((status.code(), stdout.as_slice()), (Some(1), &b""[..]));
    String::from_utf8(stderr).unwrap()
}

/// As a user that is not root, whoever runs the tests.
fn unprivileged(command: &mut Command) -> &mut Command {
    if nix::unistd::Uid::effective().is_root() {
        // While coverage is measured: this user may not write the counts.
        command.uid(65_534).gid(65_534).env("LLVM_PROFILE_FILE", "/dev/null");
    }
    command
}

#[test]
fn refuses_to_start_without_its_socket() {
    assert_eq!(failed(unprivileged(&mut broker())), SOCKET);
}

#[test]
fn refuses_to_start_with_another_socket_beside_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let sockets = ["a", "b"].map(|name| UnixListener::bind(directory.path().join(name)).unwrap());
    let fds = sockets.each_ref().map(AsRawFd::as_raw_fd);
    // Descriptors from 3 on, as sd_listen_fds(3) has them; the program's own pid is that of this shell. By way of others, since one of
    // these may be 3, and in bash, since dash has no number above 9.
    let pass = format!(
        "exec 130<&{} 131<&{}; exec 3<&130 4<&131 130<&- 131<&-; LISTEN_PID=$$ LISTEN_FDS=2 exec {}",
        fds[0],
        fds[1],
        env!("CARGO_BIN_EXE_postern-broker")
    );
    let mut command = Command::new("/bin/bash");
    command.args(["-c", &pass]);
    for fd in &sockets {
        nix::fcntl::fcntl(fd, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    }
    assert_eq!(failed(unprivileged(&mut command)), SOCKET);
}

/// Tests that need root.
mod as_root {
    use super::{ROOT, broker, failed};

    #[test]
    #[ignore = "needs root: it is what the program refuses"]
    fn refuses_to_run_as_root() {
        assert_eq!(failed(&mut broker()), ROOT);
    }
}
