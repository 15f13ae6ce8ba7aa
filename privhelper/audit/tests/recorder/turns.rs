//! Turns: who waits for whom, and that waiting in vain costs nothing.

use crate::common::{Answer, MEMBER, Root, World, done, eventually, new_id, send};
use postern_audit::turns::Turns;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(20);

fn objects(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// Waits for a turn on a thread, notes its name when it has it, and gives it back at once.
fn queue(
    turns: &Arc<Turns>,
    order: &Arc<Mutex<Vec<&'static str>>>,
    name: &'static str,
    who: (u32, bool),
    names: &[&str],
) -> JoinHandle<()> {
    let (turns, order, names) = (Arc::clone(turns), Arc::clone(order), objects(names));
    let thread = std::thread::spawn(move || {
        let turn = turns.take(who, &names, LONG, || true).unwrap();
        order.lock().unwrap().push(name);
        drop(turn);
    });
    // So that they wait in this order.
    std::thread::sleep(Duration::from_millis(60));
    thread
}

#[test]
fn operators_come_first_then_the_uids_in_rotation() {
    let (turns, order) = (Arc::new(Turns::default()), Arc::default());
    let held = turns.take((9, false), &objects(&["x"]), LONG, || true).unwrap();
    let threads = [
        queue(&turns, &order, "1a", (1, false), &["x"]),
        queue(&turns, &order, "1b", (1, false), &["x"]),
        queue(&turns, &order, "1c", (1, false), &["x"]),
        queue(&turns, &order, "2a", (2, false), &["x"]),
        queue(&turns, &order, "operator", (3, true), &["x"]),
        queue(&turns, &order, "2b", (2, false), &["x"]),
    ];
    drop(held);
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*order.lock().unwrap(), ["operator", "1a", "2a", "1b", "2b", "1c"]);
}

#[test]
fn different_objects_do_not_wait_for_each_other_and_many_objects_do_not_starve() {
    let (turns, order) = (Arc::new(Turns::default()), Arc::default());
    let x = turns.take((1, false), &objects(&["x"]), LONG, || true).unwrap();
    let y = turns.take((1, false), &objects(&["y"]), Duration::ZERO, || true).unwrap();
    assert!(turns.take((1, false), &objects(&["y", "z"]), Duration::ZERO, || true).is_none());
    let threads = [
        queue(&turns, &order, "both", (1, false), &["x", "y"]),
        queue(&turns, &order, "later", (1, false), &["y"]),
    ];
    drop(y);
    std::thread::sleep(Duration::from_millis(100));
    assert!(order.lock().unwrap().is_empty(), "who came later must not keep the first waiting");
    drop(x);
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*order.lock().unwrap(), ["both", "later"]);
}

#[test]
fn waiting_for_a_turn_ends_when_it_is_cancelled() {
    let turns = Turns::default();
    let _held = turns.take((1, false), &objects(&["x"]), LONG, || true).unwrap();
    let started = Instant::now();
    assert!(turns.take((2, false), &objects(&["x"]), LONG, || false).is_none());
    assert!(started.elapsed() < Duration::from_secs(5));
}

/// A root helper that answers an order when it is told to.
fn gated(world: &World) -> (Root, Sender<()>) {
    let (open, gate): (Sender<()>, Receiver<()>) = channel();
    let gate = Mutex::new(gate);
    let root = Root::at(&world.host.files, move |received, stream| {
        if received.kind == Kind::RootExecute {
            gate.lock().unwrap().recv().unwrap();
            send(stream, Kind::Outcome, &done(&received.order));
        }
    });
    (root, open)
}

#[test]
fn busy_costs_neither_id_nor_record_of_a_begin() {
    let world = World::new();
    let (files, open) = gated(&world);
    let mut first = world.broker();
    link::send(&mut first, Kind::RecorderExecute, &World::execute(world.claim(&new_id()))).unwrap();
    eventually("it runs", || files.executed().len() == 1);
    let id = new_id();
    let impatient = root::Claim { wait_ms: 50, ..world.claim(&id) };
    assert_eq!(world.run(impatient).refused(), "busy");
    assert_eq!((world.count("begin"), world.recall(&id).state.as_str()), (1, "unknown"));
    // Another object is free.
    let other = root::Claim { objects: vec!["dir:/etc".to_owned()], uid: MEMBER, ..world.claim(&new_id()) };
    let mut second = world.broker();
    link::send(&mut second, Kind::RecorderExecute, &World::execute(other)).unwrap();
    eventually("it begins", || world.count("begin") == 2);
    open.send(()).unwrap();
    open.send(()).unwrap();
    eventually("both end", || world.count("end") == 2);
    // The same id may try again.
    open.send(()).unwrap();
    world.run(world.claim(&id)).completed();
}

#[test]
fn nothing_begins_for_a_broker_that_disconnects_while_waiting_for_its_turn() {
    let world = World::new();
    let (files, open) = gated(&world);
    let mut first = world.broker();
    link::send(&mut first, Kind::RecorderExecute, &World::execute(world.claim(&new_id()))).unwrap();
    eventually("it runs", || files.executed().len() == 1);
    let mut second = world.broker();
    link::send(&mut second, Kind::RecorderExecute, &World::execute(world.claim(&new_id()))).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(second);
    eventually("it is refused", || world.count("refused") == 1);
    open.send(()).unwrap();
    eventually("the first ends", || world.count("end") == 1);
    assert_eq!((world.count("begin"), files.executed().len()), (1, 1));
}

#[test]
fn nothing_begins_once_the_recorder_stops() {
    let world = World::new();
    let (files, open) = gated(&world);
    let send = || {
        let claim = root::Claim { wait_ms: 20_000, ..world.claim(&new_id()) };
        let mut stream = world.broker();
        link::send(&mut stream, Kind::RecorderExecute, &World::execute(claim)).unwrap();
        stream
    };
    let _first = send();
    eventually("the first runs", || files.executed().len() == 1);
    let mut second = send();
    // It waits for its turn.
    std::thread::sleep(Duration::from_millis(200));
    let state = Arc::clone(&world.state);
    let stop = std::thread::spawn(move || state.stop(LONG).unwrap());
    eventually("the recorder stops", || world.state.is_stopping());
    open.send(()).unwrap();
    assert_eq!(Answer::read(&mut second).refused(), "busy");
    stop.join().unwrap();
    assert_eq!((world.count("begin"), world.count("end"), files.executed().len()), (1, 1, 1));
    assert_eq!(world.records("stop").len(), 1);
}
