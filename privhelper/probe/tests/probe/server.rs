//! Both sockets of one process: who may connect, and when it ends.

use crate::support::{AGENT, Reply, World, read_reply, rule};
use nix::sys::eventfd::EventFd;
use postern_probe::startup::Sockets;
use postern_probe::{State, server};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{Decision, ProbeUnit, RootInspect};
use prost::Message;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(600);

fn sockets(world: &World) -> Sockets {
    let bind = |path: &Path| {
        let listener = UnixListener::bind(path).unwrap();
        listener.set_nonblocking(true).unwrap();
        listener
    };
    Sockets { probe: bind(&world.host.probe_socket), asked: bind(&world.host.asked_socket) }
}

fn world() -> World {
    let units = vec!["a.service".to_owned()];
    let look = postern_proto::root::v1::Rule { units, ..rule("look", Decision::Allow, &["unit.status"]) };
    let world = World::new(vec![look]);
    world.bus.unit("a.service", "active", &[]);
    world
}

fn probe(world: &World) -> UnixStream {
    let mut stream = UnixStream::connect(&world.host.probe_socket).unwrap();
    let question = ProbeUnit { unit: "a.service".to_owned(), ..ProbeUnit::default() };
    // It may be closed already.
    drop(link::open(&mut stream, Kind::ProbeUnit, &question));
    stream
}

fn asked(world: &World) -> UnixStream {
    let mut stream = UnixStream::connect(&world.host.asked_socket).unwrap();
    let order = world.status(AGENT, "a.service", 0, 0).encode_to_vec();
    drop(link::open(&mut stream, Kind::RootInspect, &RootInspect { order, envelope: None }));
    stream
}

fn answer(mut stream: UnixStream) -> Reply {
    read_reply(&mut stream)
}

/// Whether the other end has closed it without a word.
fn is_closed(mut stream: UnixStream) -> bool {
    // Reset, where the question was still to be read.
    !matches!(link::read(&mut stream), Ok(Some(_)))
}

/// Ends the server also where a test fails.
struct Stop<'a>(&'a EventFd);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.write(1).unwrap();
    }
}

/// Serves until the end that `act` brings about.
fn served(world: &World, idle: Duration, act: impl FnOnce()) -> Duration {
    let sockets = sockets(world);
    let stop = EventFd::new().unwrap();
    let state = State::open(world.host.clone()).unwrap();
    let started = Instant::now();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| server::serve(&state, &sockets, &stop, idle).unwrap());
        let ends = Stop(&stop);
        act();
        // An idle server ends by itself.
        if idle == LONG {
            drop(ends);
            server.join().unwrap();
        } else {
            server.join().unwrap();
        }
    });
    started.elapsed()
}

#[test]
fn serves_both_sockets_until_a_signal() {
    let world = world();
    served(&world, LONG, || {
        for _ in 0..3 {
            assert!(answer(probe(&world)).facts.is_some());
            assert!(answer(asked(&world)).outcome.is_some());
        }
    });
}

#[test]
fn each_socket_serves_its_own_uid_alone() {
    let mut world = world();
    world.host.broker_uid = world.host.broker_uid.wrapping_add(1);
    served(&world, LONG, || {
        assert!(is_closed(probe(&world)));
        assert!(answer(asked(&world)).outcome.is_some());
    });
    let mut world = self::world();
    world.host.root.peer_uid = world.host.root.peer_uid.wrapping_add(1);
    served(&world, LONG, || {
        assert!(answer(probe(&world)).facts.is_some());
        assert!(is_closed(asked(&world)));
    });
}

#[test]
fn ends_when_both_sockets_are_idle() {
    let idle = Duration::from_millis(400);
    let world = world();
    let took = served(&world, idle, || {
        let end = Instant::now() + idle * 4;
        // One of them is in use.
        while Instant::now() < end {
            assert!(answer(probe(&world)).facts.is_some());
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(answer(asked(&world)).outcome.is_some(), "the other socket is served as long");
    });
    // Not one idle time for each socket: the second would be spent for nothing.
    assert!(took >= idle * 19 / 4 && took < idle * 13 / 2, "{took:?}");
}

#[test]
fn an_open_connection_is_answered_before_the_end() {
    let world = world();
    let idle = Duration::from_millis(300);
    served(&world, idle, || {
        let mut stream = UnixStream::connect(&world.host.probe_socket).unwrap();
        std::thread::sleep(idle * 5);
        let question = ProbeUnit { unit: "a.service".to_owned(), ..ProbeUnit::default() };
        link::open(&mut stream, Kind::ProbeUnit, &question).unwrap();
        assert!(answer(stream).facts.is_some());
    });
}

#[test]
fn a_connection_after_the_policy_was_replaced_waits_for_the_next_process() {
    for connect in [probe, asked] {
        let mut world = world();
        let sockets = sockets(&world);
        let stop = EventFd::new().unwrap();
        let state = State::open(world.host.clone()).unwrap();
        world.accept(Vec::new());
        let waiting = connect(&world);
        server::serve(&state, &sockets, &stop, LONG).unwrap();
        // The next process takes it from the same sockets.
        let state = State::open(world.host.clone()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| server::serve(&state, &sockets, &stop, LONG).unwrap());
            let _ends = Stop(&stop);
            let reply = answer(waiting);
            assert!(
                reply.facts.is_some() || reply.code() == "unknown_client" || reply.code() == "no_grant",
                "{reply:?}"
            );
        });
    }
}
