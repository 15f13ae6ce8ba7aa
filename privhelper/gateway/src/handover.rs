//! Takes the client's connection and the channel from the broker.

use std::io::{self, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::time::Duration;

use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, Shutdown, SocketType,
    recvmsg, shutdown,
};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::fault::Fault;

/// The broker sends at once after connecting; if it does not, it has died.
const WAIT: Duration = Duration::from_secs(10);

/// The sockets that the broker hands over.
#[derive(Debug)]
pub struct Handover {
    /// The connection that the broker accepted.
    pub client: UnixStream,
    /// The channel for frames to and from the broker.
    pub channel: UnixStream,
}

/// Receives the one message of a hand-over, one byte of any value with two
/// stream sockets: the client's, then the channel. Then closes `from`.
///
/// # Errors
/// [`Fault::Handover`] if the peer is not the broker, or if anything but
/// that message arrives; [`Fault::System`] if a system call fails.
pub async fn receive(mut from: StdUnixStream, broker_gid: u32) -> Result<Handover, Fault> {
    // The broker learns by it which process this is. If it has gone, no message comes.
    from.write_all(b"1").ok();
    let from = into_tokio(from).map_err(Fault::system("cannot use the hand-over's socket"))?;
    let peer = from.peer_cred().map_err(Fault::system("cannot read the peer's group"))?;
    if peer.gid() != broker_gid {
        return Err(Fault::Handover("the peer is not the broker"));
    }
    let message = timeout(WAIT, from.async_io(Interest::READABLE, || read_message(&from)))
        .await
        .map_err(|_| Fault::Handover("no message came"))?
        .map_err(Fault::system("cannot receive the hand-over"))?;
    let fds = message.map_err(Fault::Handover)?;
    refuse_more(&from)?;
    let [client, channel] = <[OwnedFd; 2]>::try_from(fds)
        .map_err(|_| Fault::Handover("the message did not carry two descriptors"))?;
    let stream = |fd| {
        if !is_unix_stream(&fd) {
            return Err(Fault::Handover("a descriptor is no Unix stream socket"));
        }
        into_tokio(StdUnixStream::from(fd)).map_err(Fault::system("cannot use a handed over socket"))
    };
    Ok(Handover { client: stream(client)?, channel: stream(channel)? })
}

/// One message: its descriptors, or what was wrong with it.
fn read_message(from: &UnixStream) -> io::Result<Result<Vec<OwnedFd>, &'static str>> {
    // Space for one descriptor more than permitted, so that a third is counted.
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let message = recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut fds = Vec::new();
    for part in control.drain() {
        let RecvAncillaryMessage::ScmRights(rights) = part else {
            return Ok(Err("the message carried something else than descriptors"));
        };
        fds.extend(rights);
    }
    if message.bytes == 0 {
        return Ok(Err("the broker closed the connection"));
    }
    if message.flags.contains(ReturnFlags::CTRUNC) {
        return Ok(Err("the message carried too many descriptors"));
    }
    Ok(Ok(fds))
}

/// Closes the connection both ways, and makes sure that nothing else had come over it.
///
/// Standard input itself stays open, so only a shutdown tells the broker.
fn refuse_more(from: &UnixStream) -> Result<(), Fault> {
    shutdown(from, Shutdown::Both).map_err(Fault::system("cannot close the hand-over's socket"))?;
    // After the shutdown nothing new arrives: what is read now had been waiting.
    match from.try_read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(Fault::Handover("more than one message came")),
        Err(error) => Err(Fault::System("cannot read the hand-over's socket", error)),
    }
}

fn is_unix_stream(fd: &OwnedFd) -> bool {
    socket_domain(fd) == Ok(AddressFamily::UNIX) && socket_type(fd) == Ok(SocketType::STREAM)
}

fn into_tokio(stream: StdUnixStream) -> io::Result<UnixStream> {
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
