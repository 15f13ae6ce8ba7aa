//! The program itself: its standard input is root's connection.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::geteuid;

use crate::handover::hand_over;

fn start(stdin: Stdio) -> Child {
    Command::new(env!("CARGO_BIN_EXE_postern-gateway"))
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .env_clear()
        .spawn()
        .unwrap()
}

/// Starts the program with two descriptors handed over; returns it with the helper's and the client's ends.
fn started() -> (Child, UnixStream, UnixStream) {
    let (root, gateway) = UnixStream::pair().unwrap();
    let (client, client_end) = UnixStream::pair().unwrap();
    let (channel, channel_end) = UnixStream::pair().unwrap();
    // Sent before the program runs: it may refuse root's connection without reading.
    hand_over(&root, &[client_end.as_fd(), channel_end.as_fd()]);
    (start(OwnedFd::from(gateway).into()), channel, client)
}

fn output(program: Child) -> (Output, String) {
    let output = program.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    (output, text)
}

#[test]
fn serves_root_and_nobody_else() {
    let (program, channel, mut client) = started();
    if geteuid().is_root() {
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
    } else {
        let (output, text) = output(program);
        assert_eq!(
            (output.status.code(), text.as_str()),
            (Some(1), "hand-over refused: the peer is not the broker\n")
        );
    }
}

#[test]
fn ends_without_panic_on_garbage() {
    let (program, _channel, mut client) = started();
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
