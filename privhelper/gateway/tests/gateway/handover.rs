//! Exactly one message, from the broker, with exactly two descriptors; anything else is refused.

use std::io::{IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use postern_gateway::{Fault, Handover, receive};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::getegid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Sends one byte with descriptors, as the broker does.
pub fn hand_over(to: &UnixStream, fds: &[BorrowedFd]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(fds)));
    }
    sendmsg(to, &[IoSlice::new(b"\0")], &mut control, SendFlags::empty()).unwrap();
}

async fn received(gateway: UnixStream) -> Result<Handover, Fault> {
    receive(gateway, getegid().as_raw()).await
}

#[tokio::test]
async fn takes_the_client_first_and_then_the_channel() {
    let (root, gateway) = UnixStream::pair().unwrap();
    let (mut client, client_end) = UnixStream::pair().unwrap();
    let (mut channel, channel_end) = UnixStream::pair().unwrap();
    hand_over(&root, &[client_end.as_fd(), channel_end.as_fd()]);
    let mut handover = received(gateway).await.unwrap();

    client.write_all(b"client").unwrap();
    channel.write_all(b"channel").unwrap();
    let mut bytes = [0; 6];
    handover.client.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"client");
    let mut bytes = [0; 7];
    handover.channel.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"channel");
    handover.channel.write_all(b"x").await.unwrap();
    // Nothing can follow.
    assert_eq!((&root).write(b"x").unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn refuses_any_other_number_of_descriptors() {
    for count in [0, 1, 3, 4] {
        let (root, gateway) = UnixStream::pair().unwrap();
        let (socket, _other) = UnixStream::pair().unwrap();
        hand_over(&root, &vec![socket.as_fd(); count]);
        assert!(matches!(received(gateway).await, Err(Fault::Handover(_))), "{count} descriptors");
    }
}

#[tokio::test]
async fn refuses_a_second_message() {
    let (socket, _other) = UnixStream::pair().unwrap();
    let two = [socket.as_fd(), socket.as_fd()];
    for second in [&two[..], &[]] {
        let (root, gateway) = UnixStream::pair().unwrap();
        hand_over(&root, &two);
        hand_over(&root, second);
        assert!(matches!(received(gateway).await, Err(Fault::Handover(_))));
    }
}

#[tokio::test]
async fn refuses_a_connection_without_a_message() {
    let (root, gateway) = UnixStream::pair().unwrap();
    drop(root);
    assert!(matches!(received(gateway).await, Err(Fault::Handover(_))));
}

#[tokio::test]
async fn refuses_a_peer_that_is_not_the_broker() {
    let (peer, gateway) = UnixStream::pair().unwrap();
    let (socket, _other) = UnixStream::pair().unwrap();
    hand_over(&peer, &[socket.as_fd(), socket.as_fd()]);
    let refusal = receive(gateway, getegid().as_raw() + 1).await.unwrap_err();
    assert_eq!(refusal.to_string(), "hand-over refused: the peer is not the broker");
}

#[tokio::test]
async fn refuses_descriptors_that_are_no_sockets() {
    let (root, gateway) = UnixStream::pair().unwrap();
    let (socket, _other) = UnixStream::pair().unwrap();
    let (reader, _writer) = std::io::pipe().unwrap();
    hand_over(&root, &[socket.as_fd(), reader.as_fd()]);
    assert!(received(gateway).await.is_err());
}
