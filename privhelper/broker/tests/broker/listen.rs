//! Accepting clients: who is handed to a gateway, and how long a connection counts.

use crate::common::{World, describe, eventually, site};
use postern_broker::listen::accept_all;
use postern_proto::frame::{END, HEAD, Head, REQUEST, encode, encode_request};
use prost::Message;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Descriptors given to a gateway: the client's socket and the channel. When dropped, the gateway's process
/// has ended.
struct Handed {
    client: UnixStream,
    channel: UnixStream,
    _process: Process,
}

/// A process that ends with its value.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A process that greets the broker and then does nothing, in the place of a gateway: this one holds what it is handed.
fn start(stream: &UnixStream) -> Process {
    let stdin = OwnedFd::from(stream.try_clone().unwrap());
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "printf 1 >&0; exec sleep 600"])
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Process(command.spawn().unwrap())
}

fn receive(from: &UnixStream) -> Option<Handed> {
    let process = start(from);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC).ok()?;
    let fds = control.drain().flat_map(|part| match part {
        RecvAncillaryMessage::ScmRights(rights) => rights.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    let [client, channel] = <[_; 2]>::try_from(fds.map(UnixStream::from).collect::<Vec<_>>()).ok()?;
    channel.set_nonblocking(false).ok()?;
    Some(Handed { client, channel, _process: process })
}

/// A broker that listens for this process as its client, and the gateways that it asks for.
fn listening() -> (World, Receiver<Handed>) {
    listening_after(|_| {})
}

/// The same; `first` happens once clients can connect, before any is accepted.
fn listening_after(first: impl FnOnce(&World)) -> (World, Receiver<Handed>) {
    let world = World::new(vec![site(&["file.write"])]);
    let uid = nix::unistd::Uid::effective();
    std::fs::write(world.path("passwd"), format!("postern:x:{uid}:{uid}::/:/bin/sh\n")).unwrap();
    let (sender, gateways) = channel();
    let listener = UnixListener::bind(world.path("gateway.sock")).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if receive(&stream).is_none_or(|handed| sender.send(handed).is_err()) {
                return;
            }
        }
    });
    let listener = UnixListener::bind(world.path("helper.sock")).unwrap();
    let state = Arc::clone(&world.state);
    first(&world);
    std::thread::spawn(move || accept_all(&state, &listener));
    (world, gateways)
}

fn connect(world: &World) -> UnixStream {
    UnixStream::connect(world.path("helper.sock")).unwrap()
}

const SOON: Duration = Duration::from_secs(20);

#[test]
fn hands_a_client_to_a_gateway_and_answers_on_its_channel() {
    let (world, gateways) = listening();
    let mut client = connect(&world);
    let gateway = gateways.recv_timeout(SOON).unwrap();
    let (mut handed, mut channel) = (&gateway.client, &gateway.channel);
    client.write_all(b"ping").unwrap();
    let mut bytes = [0; 4];
    handed.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"ping", "the gateway has the client's own socket");
    let request = encode_request("Helper/PolicyDescribe", &describe().encode_to_vec()).unwrap();
    channel.write_all(&encode(1, REQUEST, &request).unwrap()).unwrap();
    channel.set_read_timeout(Some(SOON)).unwrap();
    loop {
        let mut head = [0; HEAD];
        channel.read_exact(&mut head).unwrap();
        let head = Head::decode(head);
        let mut payload = vec![0; head.len as usize];
        channel.read_exact(&mut payload).unwrap();
        if head.kind == END {
            assert_eq!(payload, [0], "OK");
            break;
        }
    }
    let note = world.recorder.note("served");
    assert_eq!(note.uid, nix::unistd::Uid::effective().as_raw(), "as the kernel says");
    assert!(note.pid > 0);
}

#[test]
fn a_client_that_has_left_costs_no_gateway() {
    // They wait in the backlog while the broker starts, and leave.
    let (world, gateways) = listening_after(|world| (0..5).for_each(|_| drop(connect(world))));
    let _stayed = connect(&world);
    let _gateway = gateways.recv_timeout(SOON).expect("the one that stays has a gateway");
    eventually("their places are free", || world.state.connections.used() == 1);
    assert!(gateways.try_recv().is_err(), "a gateway was started for a client that had left");
}

#[test]
fn a_connection_counts_until_its_gateway_has_ended() {
    let (world, gateways) = listening();
    let mut handed = Vec::new();
    for _ in 0..7 {
        let client = connect(&world);
        handed.push(gateways.recv_timeout(SOON).unwrap());
        drop(client);
    }
    let stayed = connect(&world);
    let last = gateways.recv_timeout(SOON).unwrap();
    for gateway in &handed {
        gateway.channel.set_read_timeout(Some(SOON)).unwrap();
        assert_eq!((&gateway.channel).read(&mut [0]).unwrap(), 0, "the broker has closed its half");
    }
    assert_eq!(world.state.connections.used(), handed.len() + 1, "nobody's place was freed");
    drop(handed);
    eventually("gateways have ended", || world.state.connections.used() == 1);
    drop(stayed);
    last.channel.set_read_timeout(Some(SOON)).unwrap();
    assert_eq!((&last.channel).read(&mut [0]).unwrap(), 0);
}

/// Their client has no more of them than its budget, whatever they do: others find places.
#[test]
fn a_captured_gateway_that_closes_its_channel_and_lives_on_keeps_its_place() {
    let (world, gateways) = listening();
    let mut captured = Vec::new();
    for _ in 0..8 {
        let mut client = connect(&world);
        let gateway = gateways.recv_timeout(SOON).unwrap();
        // Both descriptors of it, and this process holds no other.
        gateway.channel.shutdown(Shutdown::Both).unwrap();
        gateway.client.shutdown(Shutdown::Both).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        captured.push(gateway);
    }
    let mut ninth = connect(&world);
    assert_eq!(ninth.read(&mut [0]).unwrap(), 0, "dropped at once");
    assert!(gateways.recv_timeout(Duration::from_millis(200)).is_err());
    assert_eq!(world.state.connections.used(), 8);
    assert!(world.state.connections.take(4_000_001, 1).is_some(), "another uid has its own");
    captured.pop();
    eventually("its process has ended", || world.state.connections.used() == 7);
    let _client = connect(&world);
    assert!(gateways.recv_timeout(SOON).is_ok());
}

#[test]
fn a_uid_has_no_more_connections_than_its_budget_and_others_have_theirs() {
    let (world, gateways) = listening();
    let clients = (0..8).map(|_| connect(&world)).collect::<Vec<_>>();
    let handed = (0..8).map(|_| gateways.recv_timeout(SOON).unwrap()).collect::<Vec<_>>();
    let mut ninth = connect(&world);
    assert_eq!(ninth.read(&mut [0]).unwrap(), 0, "dropped at once");
    assert!(gateways.recv_timeout(Duration::from_millis(200)).is_err());
    assert!(world.state.connections.take(4_000_001, 1).is_some(), "another uid has its own");
    world.state.report();
    let note = world.recorder.note("refused");
    assert_eq!((note.verb.as_str(), note.code.as_str()), ("connect", "busy"));
    drop((clients, handed));
    eventually("all have ended", || world.state.connections.used() == 0);
}

#[test]
fn refuses_who_is_no_client_before_any_gateway_starts() {
    let (world, gateways) = listening();
    std::fs::write(world.path("passwd"), "postern:x:4000001:1::/:/bin/sh\n").unwrap();
    assert_eq!(connect(&world).read(&mut [0]).unwrap(), 0);
    assert!(gateways.recv_timeout(Duration::from_millis(200)).is_err());
    assert_eq!(world.recorder.note("refused").code, "unknown_client");
}
