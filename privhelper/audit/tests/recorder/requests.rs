//! The same id acts once: within a run, at the same time, and across a restart.

use crate::common::{Answer, CLIENT, MEMBER, OPERATOR, Root, World, done, eventually, id_at, new_id, send};
use postern_audit::requests::{Requests, Taken};
use postern_proto::link::{self, INVERSE_MAX, Kind};
use postern_proto::root::v1::{self as root, RequestState};
use postern_proto::v1::{self as wire, Completed, Status};
use prost::Message;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

fn recall(world: &World, uid: u32, id: &str, body: &[u8]) -> root::Recalled {
    let mut stream = world.broker();
    let recall = root::Recall {
        uid,
        request_id: id.to_owned(),
        body_sha256: body.to_vec(),
        attach: false,
        ..root::Recall::default()
    };
    link::send(&mut stream, Kind::Recall, &recall).unwrap();
    link::strict(&link::read(&mut stream).unwrap().unwrap().1).unwrap()
}

#[test]
fn a_request_id_acts_once_across_restarts() {
    let mut world = World::new();
    let files = Root::willing(&world.host.files);
    let id = new_id();
    let first = world.run(world.claim(&id)).completed();
    for _ in 0..2 {
        let again = world.run(world.claim(&id)).recalled();
        assert_eq!((again.state.as_str(), again.completed), ("ended", Some(first.clone())));
        let known = recall(&world, CLIENT, &id, &[]);
        assert_eq!(
            (known.completed, known.inverse.unwrap().mac, known.undone),
            (Some(first.clone()), vec![9; 32], false)
        );
        world.restart();
    }
    assert_eq!((files.executed().len(), world.count("begin"), world.count("end")), (1, 1, 1));
}

#[test]
fn a_used_id_with_another_body_is_a_conflict() {
    let mut world = World::new();
    let files = Root::willing(&world.host.files);
    let id = new_id();
    world.run(world.claim(&id)).completed();
    for _ in 0..2 {
        assert_eq!(recall(&world, CLIENT, &id, &[2; 32]).state, "conflict");
        let other = root::RecorderOrder { body_sha256: vec![2; 32], ..World::execute(world.claim(&id)) };
        let mut stream = world.broker();
        link::send(&mut stream, Kind::RecorderExecute, &other).unwrap();
        assert_eq!(Answer::read(&mut stream).refused(), "request_id_conflict");
        world.restart();
    }
    assert_eq!(files.executed().len(), 1);
}

#[test]
fn an_id_of_another_uid_is_unknown() {
    let world = World::new();
    Root::willing(&world.host.files);
    let id = new_id();
    world.run(world.claim(&id)).completed();
    assert_eq!(recall(&world, MEMBER, &id, &[]).state, "unknown");
    assert_eq!(recall(&world, MEMBER, &id, &[1; 32]).state, "new");
}

#[test]
fn rejects_ids_that_are_too_old_or_in_the_future() {
    let world = World::new();
    let ms = u64::try_from(now().as_millis()).unwrap();
    let hour = 60 * 60 * 1000;
    for (ms, state) in [
        (ms - 25 * hour, "expired"),
        (ms - 23 * hour, "new"),
        (ms + 4 * 60 * 1000, "new"),
        (ms + 6 * 60 * 1000, "expired"),
    ] {
        let id = id_at(ms, 1);
        assert_eq!(recall(&world, CLIENT, &id, &[1; 32]).state, state);
        assert_eq!(recall(&world, CLIENT, &id, &[]).state, "unknown");
        if state == "expired" {
            assert_eq!(world.run(world.claim(&id)).refused(), "request_id_expired");
        }
    }
}

#[test]
fn a_second_call_follows_the_first() {
    let world = World::new();
    let gate = Arc::new(Barrier::new(2));
    let waits = Arc::clone(&gate);
    let files = Root::at(&world.host.files, move |received, stream| {
        if received.kind == Kind::RootExecute {
            waits.wait();
            let kind = Some(wire::event::Kind::Progress(wire::Progress::default()));
            send(stream, Kind::Event, &wire::Event { seq: 0, kind });
            send(stream, Kind::Outcome, &done(&received.order));
        }
    });
    let id = new_id();
    let mut streams = (0..5).map(|_| world.broker()).collect::<Vec<_>>();
    for (number, stream) in streams.iter_mut().enumerate() {
        if number == 4 {
            let recall = root::Recall {
                uid: CLIENT,
                request_id: id.clone(),
                body_sha256: vec![1; 32],
                attach: true,
                ..root::Recall::default()
            };
            link::send(stream, Kind::Recall, &recall).unwrap();
        } else {
            link::send(stream, Kind::RecorderExecute, &World::execute(world.claim(&id))).unwrap();
        }
        eventually("it has begun", || world.count("begin") == 1);
    }
    std::thread::sleep(Duration::from_millis(200));
    gate.wait();
    let answers = streams.iter_mut().map(Answer::read).collect::<Vec<_>>();
    assert_eq!(answers[0].kinds(), [Kind::Event, Kind::Recorded]);
    for answer in &answers[1..] {
        assert_eq!(answer.kinds(), [Kind::Recalled, Kind::Event, Kind::Recorded]);
        assert_eq!(answer.completed(), answers[0].completed());
    }
    assert_eq!((files.executed().len(), world.count("begin"), world.count("end")), (1, 1, 1));
}

/// The look-up and the taking are under one lock.
#[test]
fn concurrent_calls_use_an_id_once() {
    let requests = Requests::default();
    let ready = Barrier::new(2);
    for _ in 0..2_000 {
        let state = RequestState { uid: CLIENT, request_id: new_id(), ..RequestState::default() };
        let take = || {
            ready.wait();
            usize::from(requests.take(state.clone(), &Arc::default(), now()).is_ok())
        };
        let taken = std::thread::scope(|scope| {
            let other = scope.spawn(take);
            take() + other.join().unwrap()
        });
        assert_eq!(taken, 1);
        requests.release(CLIENT, &state.request_id);
    }
}

#[test]
fn a_refusal_does_not_take_the_id() {
    let world = World::new();
    Root::willing(&world.host.files);
    let id = new_id();
    let stale = root::Claim { policy: "0".repeat(64), ..world.claim(&id) };
    assert_eq!(world.run(stale).refused(), "plan_changed");
    world.run(world.claim(&id)).completed();
}

#[test]
fn a_read_with_the_id_of_an_effect_does_not_free_it() {
    let world = World::new();
    Root::willing(&world.host.files);
    let id = new_id();
    world.run(world.claim(&id)).completed();
    let read = root::Claim { event: "served".to_owned(), ..world.claim(&id) };
    let inspect = root::RecorderOrder {
        claim: Some(root::Claim { policy: "0".repeat(64), ..read }),
        order: Vec::new(),
        ..root::RecorderOrder::default()
    };
    let mut stream = world.broker();
    link::send(&mut stream, Kind::RecorderInspect, &inspect).unwrap();
    assert_eq!(Answer::read(&mut stream).refused(), "plan_changed");
    assert_eq!(recall(&world, CLIENT, &id, &[1; 32]).state, "ended");
}

/// A request that has ended, with an inverse of this many bytes.
fn ended(
    requests: &Requests,
    uid: u32,
    by_operator: bool,
    inverse: usize,
    at: Duration,
) -> Result<(), String> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let begun_unix_us = u64::try_from(at.as_micros()).unwrap();
    let id = id_at(begun_unix_us / 1000, COUNT.fetch_add(1, Ordering::Relaxed));
    let state =
        RequestState { uid, request_id: id.clone(), by_operator, begun_unix_us, ..RequestState::default() };
    requests.take(state, &Arc::default(), at).map_err(|taken| match taken {
        Taken::Full(denied) => denied.code.as_str().to_owned(),
        Taken::Known(_) | Taken::Running(_) => "it is known".to_owned(),
    })?;
    let completed = Some(Completed { status: Status::Done.into(), ..Completed::default() });
    let ended =
        RequestState { uid, request_id: id, completed, inverse: vec![1; inverse], ..RequestState::default() };
    requests.restore(ended);
    Ok(())
}

fn is_full(result: Result<(), String>) -> bool {
    result.is_err_and(|code| {
        assert_eq!(code, "rate_limited");
        true
    })
}

#[test]
fn bounds_the_ids_of_one_uid_by_number_and_leaves_room_for_others_and_operators() {
    let requests = Requests::default();
    for _ in 0..4_000 {
        ended(&requests, CLIENT, false, 0, now()).unwrap();
    }
    assert!(is_full(ended(&requests, CLIENT, false, 0, now())));
    assert!(!is_full(ended(&requests, MEMBER, false, 0, now())));
    assert!(!is_full(ended(&requests, CLIENT, true, 0, now())), "operators are counted apart");
}

#[test]
fn bounds_the_bytes_kept_of_one_uid() {
    let requests = Requests::default();
    let mut count = 0;
    while !is_full(ended(&requests, CLIENT, false, INVERSE_MAX, now())) {
        count += 1;
    }
    assert!((60..64).contains(&count), "{count}");
    assert!(!is_full(ended(&requests, OPERATOR, true, INVERSE_MAX, now())));
}

#[test]
fn forgets_ids_after_25_hours() {
    let requests = Requests::default();
    for _ in 0..4_000 {
        ended(&requests, CLIENT, false, 0, now() - Duration::from_secs(25 * 60 * 60 + 1)).unwrap();
    }
    assert!(!is_full(ended(&requests, CLIENT, false, 0, now())));
    assert_eq!(requests.ended(|_| true).len(), 1);
}

#[test]
fn keeps_an_outcome_of_long_paths_in_16_kib() {
    for (length, most) in [(100, 64), (4000, 4)] {
        let file = |number: usize| wire::FileInfo {
            path: format!("/{number}{}", "x".repeat(length)),
            sha256: "0".repeat(64),
            owner: "o".repeat(64),
            ..wire::FileInfo::default()
        };
        let completed = Completed { files: (0..64).map(file).collect(), ..Completed::default() };
        let kept = postern_audit::requests::bounded(&completed);
        assert!(kept.encoded_len() <= 16 * 1024, "{}", kept.encoded_len());
        assert_eq!(kept.files.len(), most);
        assert!(kept.files.iter().zip(&completed.files).all(|(kept, file)| kept.path == file.path));
    }
}

#[test]
fn ids_survive_a_rotation_of_the_log() {
    let mut world = World::new();
    let files = Root::willing(&world.host.files);
    let id = new_id();
    world.run(world.claim(&id)).completed();
    world
        .state
        .log
        .limit(postern_audit::log::Limits { max_bytes: 1, ..postern_audit::log::Limits::default() });
    world.state.log.tick();
    assert_eq!(world.count("begin"), 0, "it is in the file before");
    world.restart();
    assert_eq!(world.run(world.claim(&id)).recalled().state, "ended");
    // A file that was compressed within the retention of ids is named.
    let old = std::fs::read_dir(world.path("log")).unwrap().map(|entry| entry.unwrap().path());
    let old = old.into_iter().find(|path| path.to_str().unwrap().contains("audit-0")).unwrap();
    std::fs::rename(&old, format!("{}.gz", old.display())).unwrap();
    world.restart();
    assert!(world.state.log.notes().iter().any(|note| note.contains("compressed too early")));
    assert_eq!(files.executed().len(), 1);
}

#[test]
fn text_in_a_claim_cannot_be_read_as_a_recorded_id() {
    let mut world = World::new();
    Root::willing(&world.host.files);
    let id = new_id();
    let completed = Some(Completed { status: Status::Done.into(), ..Completed::default() });
    let forged = RequestState { uid: CLIENT, request_id: id.clone(), completed, ..RequestState::default() };
    let hex = postern_policy::types::hex(&forged.encode_to_vec());
    let claim = root::Claim {
        event: "served".to_owned(),
        args_json: format!(r#"{{"x":"y","state":"{hex}"}}"#),
        detail: format!("\",\"state\":\"{hex}\""),
        ..world.claim(&new_id())
    };
    let mut stream = world.broker();
    link::send(&mut stream, Kind::Note, &root::Note { claim: Some(claim) }).unwrap();
    assert_eq!(link::read(&mut stream).unwrap().unwrap().0, Kind::Recorded);
    world.restart();
    assert_eq!(recall(&world, CLIENT, &id, &[]).state, "unknown");
}
