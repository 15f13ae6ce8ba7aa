//! The program itself: its standard input is the broker's connection.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::geteuid;

use crate::handover::hand_over;

fn start(stdin: Stdio) -> Child {
    run(&mut Command::new(env!("CARGO_BIN_EXE_postern-gateway")), stdin)
}

/// Starts the program where the socket belongs to a group.
fn start_below(group: &str, stdin: Stdio) -> Child {
    const RUN: &str = "mount -t tmpfs tmpfs /run && mkdir -p /run/postern/internal && \
                       touch /run/postern/internal/gateway.sock && \
                       chgrp \"$0\" /run/postern/internal/gateway.sock && echo mounted >&2 && exec \"$1\"";
    let mut command = Command::new("/usr/bin/unshare");
    // Without root's rights: in a user namespace where this test's uid is 0.
    command.args(if geteuid().is_root() { &["--mount"][..] } else { &["--map-root-user", "--mount"] });
    command.args(["/bin/sh", "-c", RUN, group, env!("CARGO_BIN_EXE_postern-gateway")]);
    let mut child = run(&mut command, stdin);
    let mut line = [0; 8];
    child.stderr.as_mut().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"mounted\n");
    child
}

/// Starts the program where the socket's group is this test's.
fn start_as_of_broker(stdin: Stdio) -> Child {
    start_below("0", stdin)
}

fn run(command: &mut Command, stdin: Stdio) -> Child {
    command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::piped()).env_clear().spawn().unwrap()
}

/// Starts the program with two descriptors handed over; returns it with the helper's and the client's ends.
fn started(start: fn(Stdio) -> Child) -> (Child, UnixStream, UnixStream) {
    let (peer, gateway) = UnixStream::pair().unwrap();
    let (client, client_end) = UnixStream::pair().unwrap();
    let (channel, channel_end) = UnixStream::pair().unwrap();
    // Sent before the program runs: it may refuse the connection without reading.
    hand_over(&peer, &[client_end.as_fd(), channel_end.as_fd()]);
    (start(OwnedFd::from(gateway).into()), channel, client)
}

fn output(program: Child) -> (Output, String) {
    let output = program.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    (output, text)
}

#[test]
fn serves_the_broker() {
    let (program, channel, mut client) = started(start_as_of_broker);
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    // The server's own settings frame.
    let mut head = [0; 9];
    client.read_exact(&mut head).unwrap();
    assert_eq!(head[3], 4);
    drop(client);
    let (output, text) = output(program);
    assert!(output.status.success(), "{text}");
    assert_eq!(text, "");
    drop(channel);
}

#[test]
fn serves_nobody_where_it_cannot_see_the_brokers_socket() {
    let (program, _channel, _client) = started(start);
    let (output, text) = output(program);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.starts_with("cannot see the socket"), "{text}");
}

#[test]
fn ends_without_panic_on_garbage() {
    let (program, _channel, mut client) = started(start_as_of_broker);
    client.write_all(&[0xff; 4096]).ok();
    let (output, text) = output(program);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{text}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn exits_with_failure_if_nothing_is_handed_over() {
    let (root, closed) = UnixStream::pair().unwrap();
    drop(root);
    for stdin in [Stdio::null(), OwnedFd::from(closed).into()] {
        let (output, text) = output(start(stdin));
        assert_eq!(output.status.code(), Some(1));
        assert!(!text.contains("panicked") && text.ends_with('\n'), "{text}");
    }
}

/// Tests that need root: another group.
mod as_root {
    use super::{output, start_below, started};

    #[test]
    #[ignore = "needs root: nobody else can give the socket to another group"]
    fn refuses_every_peer_but_the_broker_including_root() {
        let (program, _channel, _client) = started(|stdin| start_below("1", stdin));
        let (output, text) = output(program);
        let refused = "hand-over refused: the peer is not the broker\n";
        assert_eq!((output.status.code(), text.as_str()), (Some(1), refused));
    }
}
