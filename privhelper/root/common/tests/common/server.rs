//! The accept loop: who may connect, and when it ends.

use crate::support::{World, accept};
use postern_root::ActivePolicy;
use postern_root::server::{Ended, Limits, serve};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SHORT: Limits =
    Limits { idle: Duration::from_millis(200), connections: 2, patience: Duration::from_secs(5) };

/// Nobody asks to stop.
fn running() -> (UnixStream, UnixStream) {
    UnixStream::pair().unwrap()
}

fn bind(path: &Path) -> UnixListener {
    let listener = UnixListener::bind(path).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

fn uid() -> u32 {
    nix::unistd::Uid::effective().as_raw()
}

#[test]
fn exits_when_idle_and_answers_connections_accepted_before() {
    let world = World::new(Vec::new());
    let path = world.host.state.join("sock");
    let listener = bind(&path);
    let clients = std::thread::spawn(move || {
        // More at once than there are threads.
        let mut streams = (0..6).map(|_| UnixStream::connect(&path).unwrap()).collect::<Vec<_>>();
        for stream in &mut streams {
            stream.write_all(b"?").unwrap();
        }
        streams.iter_mut().map(|stream| stream.read(&mut [0]).unwrap()).sum::<usize>()
    });
    let answer = |mut stream: UnixStream| {
        stream.read_exact(&mut [0]).unwrap();
        stream.write_all(b"!").unwrap();
    };
    let begun = Instant::now();
    let ended = serve(&listener, &running().0, SHORT, uid(), || true, answer).unwrap();
    assert_eq!((ended, clients.join().unwrap()), (Ended::Idle, 6));
    assert!(begun.elapsed() >= SHORT.idle);
}

#[test]
fn closes_a_connection_of_another_uid() {
    let world = World::new(Vec::new());
    let path = world.host.state.join("sock");
    let listener = bind(&path);
    let mut stream = UnixStream::connect(&path).unwrap();
    let ended = serve(&listener, &running().0, SHORT, uid() + 1, || true, |_| panic!("it was served"));
    assert_eq!(ended.unwrap(), Ended::Idle);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn leaves_the_connection_to_the_next_process_when_the_policy_was_replaced() {
    let mut world = World::new(Vec::new());
    let path = world.host.state.join("sock");
    let listener = bind(&path);
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"?").unwrap();
    accept(&world.host.state.join("next"), Vec::new());
    std::fs::rename(world.host.state.join("next"), &world.host.accepted).unwrap();
    let served = AtomicBool::new(false);
    let one = |mut stream: UnixStream| {
        served.store(true, Ordering::Relaxed);
        stream.write_all(b"!").unwrap();
    };
    serve(&listener, &running().0, SHORT, uid(), || world.active.is_current(), one).unwrap();
    assert!(!served.load(Ordering::Relaxed));
    world.active = ActivePolicy::load(&world.host).unwrap();
    serve(&listener, &running().0, SHORT, uid(), || world.active.is_current(), one).unwrap();
    assert_eq!((served.load(Ordering::Relaxed), stream.read(&mut [0]).unwrap()), (true, 1));
}

#[test]
fn finishes_the_orders_under_way_when_asked_to_stop() {
    let world = World::new(Vec::new());
    let path = world.host.state.join("sock");
    let listener = bind(&path);
    let mut stream = UnixStream::connect(&path).unwrap();
    let (stop, asks) = running();
    let slow = |mut stream: UnixStream| {
        (&asks).write_all(b"1").unwrap();
        std::thread::sleep(Duration::from_millis(300));
        stream.write_all(b"!").unwrap();
    };
    let long = Limits { idle: Duration::from_secs(60), ..SHORT };
    assert_eq!(serve(&listener, &stop, long, uid(), || true, slow).unwrap(), Ended::Signal);
    assert_eq!(stream.read(&mut [0]).unwrap(), 1);
}
