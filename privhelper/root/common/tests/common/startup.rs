//! The start of a program: one socket of systemd's, and nothing else that was inherited.

use crate::support::World;
use postern_root::server;
use postern_root::server::{Ended, Limits, serve};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Says that this process was given a socket as descriptor 3, and two more.
const STARTED: &str = "POSTERN_TEST_STARTED";

#[test]
fn takes_the_socket_and_closes_every_other_descriptor() {
    if std::env::var_os(STARTED).is_some() {
        return started();
    }
    let world = World::new(Vec::new());
    let path = world.host.state.join("sock");
    let listener = UnixListener::bind(&path).unwrap();
    let mut client = UnixStream::connect(&path).unwrap();
    client.write_all(b"?").unwrap();
    // As sd_listen_fds(3) has it. The descriptors 4 and 5 are nobody's.
    let script = "exec 3<&0 0</dev/null 4</dev/null 5</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"";
    let run = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["startup::takes_the_socket_and_closes_every_other_descriptor", "--exact", "--test-threads=1"])
        .env(STARTED, "1")
        .stdin(Stdio::from(OwnedFd::from(listener)))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && told.contains("1 passed"), "{told}");
    let mut answer = [0];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"!");
}

fn started() {
    let (listener, signals) = server::start(&[]).unwrap();
    let limits =
        Limits { idle: Duration::from_millis(100), connections: 1, patience: Duration::from_secs(5) };
    let answer = |mut stream: UnixStream| {
        stream.read_exact(&mut [0]).unwrap();
        stream.write_all(b"!").unwrap();
    };
    let uid = nix::unistd::Uid::effective().as_raw();
    assert_eq!(serve(&listener, &signals, limits, uid, || true, answer).unwrap(), Ended::Idle);
    let open = std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let null = open.filter(|fd| std::fs::read_link(fd).is_ok_and(|to| to.ends_with("null"))).count();
    assert_eq!(null, 1, "standard input alone");
}
