//! A recorder that is killed in the place of any system call between claim and answer: nothing is done twice, nothing is
//! unrecorded, and the next recorder knows what became of it.

use crate::common::{
    Answer, BROKER, CLIENT, OPERATOR, Operator, Received, Root, World, done, eventually, furnish, host,
    new_id, send,
};
use crate::reader::{epoch0, verified};
use crate::tracer::{End, READY, kill_at};
use postern_audit::state::State;
use postern_audit::{broker, operator};
use postern_peers::Peer;
use postern_policy::types::Digest;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use prost::Message;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Names the directory in which the killed recorder works. The request is in it, as `request`.
const WORLD: &str = "POSTERN_RECORDER_KILLED_IN";

/// A root helper that does each order once, and keeps outcomes until they are acknowledged.
#[derive(Default)]
struct Done {
    effects: Vec<Vec<u8>>,
    kept: HashMap<Vec<u8>, root::Outcome>,
}

fn act(at: &Path, done_here: &Mutex<Done>, received: &Received, stream: &mut UnixStream) {
    match received.kind {
        Kind::RootExecute => {
            let text = std::fs::read_to_string(at.join("log/audit.jsonl")).unwrap();
            let digest = Digest::of(&[&received.execute.order]).to_string();
            assert!(
                text.contains(&format!("\"event\":\"begin\",\"order\":\"{digest}\"")),
                "an effect without its begin"
            );
            let mut known = done_here.lock().unwrap();
            known.effects.push(received.order.order_id.clone());
            known.kept.insert(received.order.order_id.clone(), done(&received.order));
            drop(known);
            send(stream, Kind::Outcome, &done(&received.order));
        }
        Kind::Outcomes => {
            let kept = done_here.lock().unwrap().kept.get(&received.order_id).cloned();
            let state = if kept.is_some() { "ended" } else { "unknown" };
            let outcome = kept.map(|outcome| outcome.encode_to_vec()).unwrap_or_default();
            send(stream, Kind::OutcomesReply, &root::OutcomesReply { state: state.to_owned(), outcome });
        }
        Kind::Acknowledge => drop(done_here.lock().unwrap().kept.remove(&received.order_id)),
        other => panic!("{other:?}"),
    }
}

fn pair(serve: fn(&State, UnixStream, Peer), state: &Arc<State>, uid: u32) -> UnixStream {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let state = Arc::clone(state);
    std::thread::spawn(move || serve(&state, theirs, Peer { uid, gid: uid, pid: 1 }));
    ours
}

/// The killed recorder: opens its state, says that it is ready, and serves one request when it is told to.
fn killed(at: &Path) {
    let state = Arc::new(State::open(host(at)).unwrap());
    std::io::stdout().write_all(format!("{READY}\n").as_bytes()).unwrap();
    let _ = std::io::stdin().read(&mut [0]).unwrap();
    let mut stream = pair(broker::serve, &state, BROKER);
    link::send(&mut stream, Kind::Hello, &root::Hello { build: link::build().to_vec() }).unwrap();
    link::write(&mut stream, Kind::RecorderExecute, &std::fs::read(at.join("request")).unwrap()).unwrap();
    // Under `ask` somebody approves it.
    let asks = std::fs::exists(at.join("asks")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while asks && Instant::now() < deadline {
        if let Some(one) = state.approvals.list().first() {
            let mut operator = Operator::new(pair(operator::serve, &state, OPERATOR));
            operator.approve(&one.approval_id, &host(at)).unwrap();
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Answer::read(&mut stream).completed();
    // The acknowledgement follows the answer.
    eventually("root may forget it", || std::fs::read(at.join("kept")).is_ok_and(|kept| kept == b"0"));
}

/// Kills it at one call after the other until it makes no more of them.
fn run(test: &str, asks: bool) {
    if let Some(at) = std::env::var_os(WORLD).map(PathBuf::from) {
        return killed(&at);
    }
    let (mut kills, mut effects) = (0, 0);
    loop {
        let directory =
            tempfile::Builder::new().prefix("kill").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = directory.path().to_owned();
        furnish(&at);
        std::fs::write(at.join("state/seal/next"), epoch0().encode()).unwrap();
        let known: Arc<Mutex<Done>> = Arc::default();
        let (shared, log) = (Arc::clone(&known), at.clone());
        let files = Root::at(&at.join("files.sock"), move |received, stream| {
            act(&log, &shared, received, stream);
            let kept = shared.lock().unwrap().kept.len();
            std::fs::write(log.join("kept"), kept.to_string()).unwrap();
        });
        let id = new_id();
        let policy = policy(&at);
        let decision = if asks { "ask" } else { "allow" }.to_owned();
        let claim = root::Claim { decision, approvers: 1, policy, ..World::claim_of(&id) };
        let execute = World::execute(claim);
        std::fs::write(at.join("request"), execute.encode_to_vec()).unwrap();
        if asks {
            std::fs::write(at.join("asks"), "").unwrap();
        }
        let end = kill_at(test, (WORLD, &at), kills + 1);
        let where_ = format!("killed at call {}", kills + 1);
        check(directory, &id, &execute, &known, &where_);
        effects += usize::from(files.executed().len() == 1);
        if end == End::Ended {
            break;
        }
        kills += 1;
    }
    assert!(kills > 15 && effects > 5, "{kills} kills, {effects} effects before a restart");
}

fn policy(at: &Path) -> String {
    let accepted =
        root::AcceptedPolicy::decode(std::fs::read(at.join("accepted.pb")).unwrap().as_slice()).unwrap();
    Digest::from_bytes(&accepted.digest).unwrap().to_string()
}

/// The next recorder: what had begun has one end that says what root did, all else never began.
fn check(
    directory: tempfile::TempDir,
    id: &str,
    execute: &root::RecorderOrder,
    known: &Mutex<Done>,
    where_: &str,
) {
    let effects = || known.lock().unwrap().effects.len();
    let before = effects();
    let world = World::at(directory);
    world.state.recover();
    let begun = world.count("begin");
    assert!(before <= begun && begun <= 1, "{where_}: {before} effects, {begun} begun");
    eventually("all has ended", || world.state.requests.unfinished().is_empty());
    let ends = (world.count("end"), world.count("interrupted"));
    assert_eq!(ends.0 + ends.1, begun, "{where_}: {ends:?}");
    assert_eq!(ends.0, before, "{where_}: what was done has an end that says so");
    let waited = world.count("pending") - begun.min(world.count("pending"));
    assert_eq!(world.count("refused"), waited, "{where_}");
    // The same request again acts only if it never took its id.
    let mut stream = world.broker();
    let taken = begun + waited > 0;
    let again = root::RecorderOrder {
        claim: execute.claim.clone().map(|claim| root::Claim { decision: "allow".to_owned(), ..claim }),
        ..execute.clone()
    };
    link::send(&mut stream, Kind::RecorderExecute, &again).unwrap();
    let answer = Answer::read(&mut stream);
    if taken {
        let recalled = answer.recalled();
        assert_eq!((recalled.state.as_str(), recalled.inverse.is_some()), ("ended", before == 1), "{where_}");
        assert_eq!(effects(), before, "{where_}: done twice");
    } else {
        answer.completed();
        assert_eq!(effects(), 1, "{where_}");
    }
    assert_eq!(world.recall(id).state, "ended");
    world.state.stop(Duration::from_secs(5)).unwrap();
    assert_eq!(world.count("tampered"), 0, "{where_}");
    assert!(verified(&world.log()).signatures > 0);
    assert!(known.lock().unwrap().effects.iter().all(|order| order == &link::order_id(CLIENT, id).to_vec()));
}

#[test]
fn killed_at_any_system_call_an_effect_runs_once_and_is_recorded() {
    run("kills::killed_at_any_system_call_an_effect_runs_once_and_is_recorded", false);
}

#[test]
fn killed_at_any_system_call_an_approved_effect_runs_once_and_is_recorded() {
    run("kills::killed_at_any_system_call_an_approved_effect_runs_once_and_is_recorded", true);
}
