//! The policy is replaced at every point of a request: before each frame that any program sends about it. An order
//! that root has not received whole by then has no effect.

use postern_corridor::{
    Answer, CLIENT_UID, Listener, World, accepted, changing, eventually, meta, rule, strings, write_request,
};
use postern_proto::frame;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status, event};
use prost::Message;
use std::fs;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The frames between the programs, in their order, each with the socket on whose connection it went.
#[derive(Default)]
struct Frames(Mutex<Vec<(&'static str, Kind)>>);

/// Listens in front of a program's socket, and calls `before` ahead of each frame of both directions.
fn tap(from: &Path, to: PathBuf, before: impl Fn(Kind) + Send + Sync + 'static) -> Listener {
    Listener::bind(from, move |ours| {
        let Ok(theirs) = UnixStream::connect(&to) else { return };
        std::thread::scope(|scope| {
            scope.spawn(|| pass(&ours, &theirs, &before));
            pass(&theirs, &ours, &before);
        });
    })
}

fn pass(mut from: &UnixStream, mut to: &UnixStream, before: &impl Fn(Kind)) {
    while let Ok(Some((kind, payload))) = link::read(&mut from) {
        before(kind);
        if link::write(&mut to, kind, &payload).is_err() {
            break;
        }
    }
    // Nobody here half-closes.
    drop(to.shutdown(Shutdown::Both));
}

/// A world whose policy no longer grants the order once so many frames have gone.
struct Tapped {
    world: World,
    frames: Arc<Frames>,
    _taps: Vec<Listener>,
}

impl Tapped {
    fn new(mut world: World, at: usize) -> Self {
        let frames = Arc::<Frames>::default();
        let taps = ["recorder", "probe", "files", "units"].map(|name| {
            let (shared, directory) = (Arc::clone(&frames), world.path(""));
            tap(&world.path(&format!("{name}.tap")), world.path(&format!("{name}.sock")), move |kind| {
                let mut frames = shared.0.lock().unwrap();
                if frames.len() == at {
                    let revoked = accepted(vec![rule("other", &["unit.daemon-reload"])]);
                    fs::write(directory.join("accepted.new"), revoked).unwrap();
                    fs::rename(directory.join("accepted.new"), directory.join("accepted.pb")).unwrap();
                }
                frames.push((name, kind));
            })
        });
        world.hosts.broker.recorder_socket = world.path("recorder.tap");
        world.hosts.broker.probe_socket = world.path("probe.tap");
        world.hosts.recorder.files = world.path("files.tap");
        world.hosts.recorder.units = world.path("units.tap");
        world.restart();
        Self { world, frames, _taps: taps.into() }
    }
}

/// The frames of one order from the recorder to root: the order itself, and its content.
fn is_of_order((socket, kind): &(&str, Kind)) -> bool {
    ["files", "units"].contains(socket) && [Kind::RootExecute, Kind::Content].contains(kind)
}

/// Has the policy replaced before each frame of an order in turn. Root receives the whole order in `frames` frames.
fn at_every_point(
    frames: usize,
    world: impl Fn() -> World,
    ask: impl Fn(&World) -> Answer,
    effects: impl Fn(&World) -> usize,
) {
    let (mut refused, mut done) = (0, 0);
    for at in 0.. {
        let Tapped { world, frames: seen, _taps } = Tapped::new(world(), at);
        let answer = ask(&world);
        eventually("all has ended", || world.recorder().requests.unfinished().is_empty());
        let seen = seen.0.lock().unwrap();
        let before = seen.iter().take(at).filter(|frame| is_of_order(frame)).count();
        let point = format!("replaced before frame {at} of {seen:?}");
        assert_eq!(world.count("begin"), world.count("end"), "{point}");
        if before == frames {
            assert_eq!(answer.completed().status(), Status::Done, "{point}");
            assert_eq!(effects(&world), 1, "{point}");
            done += 1;
        } else {
            let code = match answer.events.last().and_then(|event| event.kind.clone()) {
                Some(event::Kind::Refused(refused)) => refused.code,
                Some(event::Kind::Completed(completed)) => completed.code,
                other => panic!("{other:?}, {point}"),
            };
            // A read that reaches a postern-files of the old policy ends without an answer: it may be sent again.
            assert!(["plan_changed", "no_grant", "interrupted"].contains(&code.as_str()), "{code}, {point}");
            assert_eq!(effects(&world), 0, "{point}");
            refused += 1;
        }
        // Everything about the order has gone by.
        if at >= seen.len() {
            break;
        }
    }
    assert!(refused > 8 && done > 2, "{refused} refused, {done} done");
}

#[test]
fn a_write_under_a_policy_that_is_replaced_at_any_frame_happens_only_if_root_had_all_of_it() {
    // Its content is three frames.
    let content = vec![b'x'; 2 * link::CONTENT_MAX + 1];
    at_every_point(
        4,
        || World::new(|at| vec![changing(at)]),
        |world| world.ask("Helper/FileWrite", &write_request(&world.text("site/a"), &content, "any")),
        |world| {
            let written = fs::read(world.path("site/a")).ok();
            assert!(written.as_ref().is_none_or(|written| *written == content), "half of it");
            usize::from(written.is_some())
        },
    );
}

#[test]
fn a_restart_under_a_policy_that_is_replaced_at_any_frame_happens_only_if_root_had_the_order() {
    at_every_point(
        1,
        || {
            let a = root::Rule { units: strings(&["a.service"]), ..rule("a", &["unit.restart"]) };
            let world = World::new(|_| vec![a]);
            world.systemctl(&format!(
                "case $1 in show) printf 'Id=a.service\\nNames=a.service\\nLoadState=loaded\\nActiveState=active\\n';;
                 restart) echo x >>{}/restarts;; esac",
                world.text("")
            ));
            world
        },
        |world| {
            let request =
                wire::UnitRestartRequest { meta: meta(Mode::Execute), unit: "a.service".to_owned() };
            world.ask("Helper/UnitRestart", &request)
        },
        |world| fs::read_to_string(world.path("restarts")).unwrap_or_default().lines().count(),
    );
}

#[test]
fn a_policy_that_is_replaced_while_a_request_arrives_decides_it() {
    let world = World::new(|at| vec![changing(at)]);
    let request = write_request(&world.text("site/a"), &vec![b'x'; 600_000], "any");
    let payload = frame::encode_request("Helper/FileWrite", &request.encode_to_vec()).unwrap();
    let bytes = frame::encode(1, frame::REQUEST, &payload).unwrap();
    let mut channel = world.connect(CLIENT_UID);
    let (first, rest) = bytes.split_at(300_000);
    channel.stream.write_all(first).unwrap();
    eventually("its body is admitted", || world.broker().bodies.used() > 0);
    world.apply(vec![rule("other", &["unit.daemon-reload"])]);
    channel.stream.write_all(rest).unwrap();
    assert_eq!(channel.answer(1).refused().code, "no_grant");
    assert_eq!((world.path("site/a").exists(), world.count("begin")), (false, 0));
}

/// postern-files ends with its orders, and the next one takes up the new policy: no client that reads slowly holds it up.
#[test]
fn a_slow_reader_of_a_file_does_not_hold_up_the_next_policy() {
    let world = World::new(|at| vec![root::Rule { max_bytes: 1 << 39, ..changing(at) }]);
    // Larger than may be read, so that it is not hashed first; it has no blocks.
    fs::File::create(world.path("site/large")).unwrap().set_len(1 << 40).unwrap();
    let read = wire::FileReadRequest {
        meta: meta(Mode::Execute),
        path: world.text("site/large"),
        ..wire::FileReadRequest::default()
    };
    let mut slow = world.connect(CLIENT_UID);
    let stream = slow.send("Helper/FileRead", &read.encode_to_vec());
    while !matches!(slow.event(stream).expect("it is read"), event::Kind::Output(_)) {}
    world.apply(vec![root::Rule { id: "next".to_owned(), ..changing(&world.path("")) }]);
    let mut channel = world.connect(CLIENT_UID);
    channel.stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
    let answer = channel.ask("Helper/FileWrite", &write_request(&world.text("site/a"), b"x", "any"));
    assert_eq!((answer.completed().status(), answer.completed().rule.as_str()), (Status::Done, "next"));
}
