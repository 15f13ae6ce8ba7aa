//! An order under `ask` waits for its approvals, and there is no way round them.

use crate::common::{
    Answer, CLIENT, MEMBER, OPERATOR, OTHER_OPERATOR, Operator, Root, World, accept, eventually, new_id,
    order, plenty,
};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Status, Verdict};
use prost::Message;
use std::io::Read;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::time::{Duration, Instant};

impl World {
    /// A claim that a rule marks `ask`.
    fn asking(&self, id: &str) -> root::Claim {
        root::Claim { decision: "ask".to_owned(), approvers: 1, risk_score: 40, ..self.claim(id) }
    }
}

/// Sends an order and reads up to `Parked`.
fn ask(world: &World, claim: root::Claim) -> (UnixStream, String) {
    let mut stream = world.broker();
    link::send(&mut stream, Kind::RecorderExecute, &World::execute(claim)).unwrap();
    let id = parked(&mut stream).approval_id;
    (stream, id)
}

fn parked(stream: &mut UnixStream) -> root::Parked {
    let (kind, payload) = link::read(stream).unwrap().unwrap();
    assert_eq!(kind, Kind::Parked, "{:?}", link::strict::<root::Close>(&payload));
    link::strict(&payload).unwrap()
}

fn approve(world: &World, uid: u32, id: &str) -> Result<u32, (u8, String)> {
    // It is in the list right after it was parked.
    eventually("it waits", || world.state.approvals.list().iter().any(|one| one.approval_id == id));
    world.operator(uid).approve(id, &world.host)
}

#[test]
fn sends_nothing_to_root_before_approval_and_names_the_approvers() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let (mut stream, id) = ask(&world, world.asking(&new_id()));
    assert_eq!((world.count("pending"), world.count("begin"), files.executed().len()), (1, 0, 0));
    assert_eq!(approve(&world, OPERATOR, &id), Ok(0));
    let answer = Answer::read(&mut stream);
    assert_eq!(answer.kinds(), [Kind::Parked, Kind::Recorded]);
    assert_eq!(answer.frames[0].1, Vec::<u8>::new(), "it waits no longer");
    assert_eq!(answer.completed().status(), Status::Done);
    let received = &files.executed()[0];
    let digest = link::approval_digest(
        &world.host.audit.boot_id,
        &received.order.policy_digest,
        &received.execute.order,
    );
    assert_eq!(
        (&received.envelope().approvers, &received.envelope().approved),
        (&vec![OPERATOR], &digest.to_vec())
    );
    for event in ["pending", "approval", "begin", "end"] {
        let record = &world.records(event)[0];
        assert_eq!(
            (&record["approval"]["id"], &record["approval"]["digest"]),
            (&id.clone().into(), &postern_policy::types::hex(&digest).into())
        );
        let uids = if event == "pending" { serde_json::Value::Null } else { serde_json::json!([OPERATOR]) };
        assert_eq!(record["approval"]["uids"], uids, "{event}");
    }
}

#[test]
fn show_gives_the_order_the_claim_and_the_content_byte_by_byte() {
    let world = World::new();
    Root::willing(&world.host.files);
    let content = vec![b'x'; 200_000];
    let claim = world.asking(&new_id());
    let announced = root::Content { size: 200_000, sha256: vec![0; 32] };
    let order =
        root::Order { contents: vec![announced], ..link::strict(&order(&claim)).unwrap() }.encode_to_vec();
    let execute =
        root::RecorderOrder { order: order.clone(), content_bytes: 200_000, ..World::execute(claim.clone()) };
    let mut stream = world.broker();
    link::send(&mut stream, Kind::RecorderExecute, &execute).unwrap();
    link::send_content(&mut stream, &content).unwrap();
    let id = parked(&mut stream).approval_id;
    eventually("it waits", || world.state.approvals.list().len() == 1);
    let request = wire::OperatorShowRequest { approval_id: id.clone() };
    let shown: Vec<wire::OperatorShown> = world.operator(OPERATOR).replies("Show", &request).unwrap();
    assert_eq!(shown[0].order, order);
    assert_eq!(link::strict::<root::Claim>(&shown[0].claim).unwrap(), claim);
    assert_eq!(shown[1..].iter().flat_map(|part| part.content.clone()).collect::<Vec<_>>(), content);
    let view = shown[0].approval.as_ref().unwrap();
    assert_eq!((view.risk_score, view.uid, view.verb.as_str()), (40, CLIENT, "file.write"));
    approve(&world, OPERATOR, &id).unwrap();
    assert_eq!(Answer::read(&mut stream).completed().status(), Status::Done);
}

#[test]
fn a_decision_is_valid_only_for_the_order_that_was_shown() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let (_first, harmless) = ask(&world, world.asking(&new_id()));
    let (_second, other) = ask(&world, world.asking(&new_id()));
    eventually("both wait", || world.state.approvals.list().len() == 2);
    let mut operator = world.operator(OPERATOR);
    let digest = operator.digest(&harmless, &world.host);
    let answer = operator.decide(&other, &digest, Verdict::Approve, "");
    assert!(answer.unwrap_err().1.starts_with("plan_changed: "));
    let answer = operator.decide(&harmless, b"", Verdict::Approve, "");
    assert!(answer.unwrap_err().1.starts_with("plan_changed: "));
    let answer = operator.decide(&harmless, &digest, Verdict::Unspecified, "");
    assert!(answer.unwrap_err().1.starts_with("invalid_argument: "));
    assert_eq!((files.executed().len(), world.state.approvals.list().len()), (0, 2));
}

#[test]
fn an_approval_is_used_only_once() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let (mut stream, id) = ask(&world, world.asking(&new_id()));
    eventually("it waits", || world.state.approvals.list().len() == 1);
    let mut operator = world.operator(OPERATOR);
    let digest = operator.digest(&id, &world.host);
    assert_eq!(operator.decide(&id, &digest, Verdict::Approve, ""), Ok(0));
    let again = operator.decide(&id, &digest, Verdict::Approve, "");
    assert!(again.unwrap_err().1.starts_with("unknown_request: "));
    Answer::read(&mut stream).completed();
    let (_next, other) = ask(&world, world.asking(&new_id()));
    assert_ne!(other, id);
    eventually("it waits", || world.state.approvals.list().len() == 1);
    let stale = operator.decide(&other, &digest, Verdict::Approve, "");
    assert!(stale.unwrap_err().1.starts_with("plan_changed: "));
    assert_eq!((files.executed().len(), world.count("approval")), (1, 1));
}

#[test]
fn needs_as_many_distinct_approvers_as_the_claim_says() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let (mut stream, id) = ask(&world, root::Claim { approvers: 2, ..world.asking(&new_id()) });
    assert_eq!(approve(&world, OPERATOR, &id), Ok(1));
    assert!(approve(&world, OPERATOR, &id).unwrap_err().1.starts_with("denied: "));
    assert_eq!((files.executed().len(), world.count("begin")), (0, 0));
    assert_eq!(approve(&world, OTHER_OPERATOR, &id), Ok(0));
    Answer::read(&mut stream).completed();
    assert_eq!(files.executed()[0].envelope().approvers, [OPERATOR, OTHER_OPERATOR]);
}

#[test]
fn a_denial_returns_its_reason_and_uses_up_the_request_id() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let request = new_id();
    let (mut stream, id) = ask(&world, world.asking(&request));
    eventually("it waits", || world.state.approvals.list().len() == 1);
    assert_eq!(world.operator(OPERATOR).decide(&id, b"", Verdict::Deny, "use \"b\""), Ok(0));
    let close = Answer::read(&mut stream).close();
    assert_eq!((close.code.as_str(), close.message.as_str()), ("not_approved", "use \"b\""));
    let known = world.recall(&request);
    assert_eq!((known.state.as_str(), known.completed.unwrap().code.as_str()), ("ended", "not_approved"));
    assert_eq!(world.run(world.asking(&request)).recalled().completed.unwrap().code, "not_approved");
    assert_eq!((files.executed().len(), world.count("begin"), world.count("refused")), (0, 0, 1));
    assert_eq!(world.records("approval")[0]["outcome"]["status"], "denied");
}

#[test]
fn a_replaced_policy_ends_waiting_requests() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let request = new_id();
    let (mut stream, id) = ask(&world, world.asking(&request));
    eventually("it waits", || world.state.approvals.list().len() == 1);
    let digest = world.operator(OPERATOR).digest(&id, &world.host);
    accept(&world.path(""), 2, plenty());
    let late = world.operator(OPERATOR).decide(&id, &digest, Verdict::Approve, "");
    assert!(late.is_err());
    assert_eq!(Answer::read(&mut stream).refused(), "approval_expired");
    assert_eq!(
        (files.executed().len(), world.records("refused")[0]["outcome"]["code"].clone()),
        (0, "approval_expired".into())
    );
    assert_eq!(world.recall(&request).completed.unwrap().code, "approval_expired");
}

#[test]
fn waiting_ends_with_the_broker_at_its_deadline_and_when_the_recorder_stops() {
    let world = World::new();
    Root::willing(&world.host.files);
    let refused = |count: usize| {
        eventually("it is recorded", || world.count("refused") == count);
        assert!(world.records("refused").iter().all(|one| one["outcome"]["code"] == "approval_expired"));
        assert_eq!(world.state.approvals.list().len(), 0);
    };
    drop(ask(&world, world.asking(&new_id())));
    refused(1);
    let (_stream, id) = ask(&world, world.asking(&new_id()));
    eventually("it waits", || world.state.approvals.list().len() == 1);
    let waiting = world.state.approvals.show(&id).unwrap();
    assert!(world.state.still_asks(&waiting, true).is_ok());
    let late = postern_audit::approvals::Waiting { expires: Duration::ZERO, ..waiting };
    assert_eq!(world.state.still_asks(&late, true).unwrap_err().code.as_str(), "approval_expired");
    world.state.stop(Duration::from_secs(5)).unwrap();
    refused(2);
    assert!(world.log().last().unwrap().contains("\"event\":\"stop\""));
}

#[test]
fn records_requests_as_expired_that_waited_when_the_recorder_was_killed() {
    let mut world = World::new();
    let files = Root::willing(&world.host.files);
    let request = new_id();
    let (_stream, id) = ask(&world, world.asking(&request));
    eventually("it waits", || world.state.approvals.list().len() == 1);
    let digest = world.operator(OPERATOR).digest(&id, &world.host);
    world.restart();
    eventually("it is recorded", || world.count("refused") == 1);
    let late = world.operator(OPERATOR).decide(&id, &digest, Verdict::Approve, "");
    assert!(late.unwrap_err().1.starts_with("unknown_request: "));
    eventually("it is known", || {
        world.recall(&request).completed.is_some_and(|one| one.code == "approval_expired")
    });
    assert_eq!(files.executed().len(), 0);
}

#[test]
fn a_client_has_at_most_three_waiting_requests() {
    let world = World::new();
    let _held = (0..3).map(|_| ask(&world, world.asking(&new_id()))).collect::<Vec<_>>();
    eventually("three wait", || world.state.approvals.list().len() == 3);
    let mut stream = world.broker();
    link::send(&mut stream, Kind::RecorderExecute, &World::execute(world.asking(&new_id()))).unwrap();
    let answer = Answer::read(&mut stream);
    assert_eq!((answer.kinds(), answer.refused().as_str()), (vec![Kind::Close], "too_many_pending"));
    let other = root::Claim { uid: MEMBER, ..world.asking(&new_id()) };
    ask(&world, other);
}

#[test]
fn an_order_that_is_too_large_to_read_is_refused() {
    let world = World::new();
    let claim = world.asking(&new_id());
    let order: root::Order = link::strict(&crate::common::order(&claim)).unwrap();
    let order = root::Order { body: vec![0; 600 * 1024], ..order }.encode_to_vec();
    let execute = root::RecorderOrder { order, ..World::execute(claim) };
    let mut stream = world.broker();
    link::send(&mut stream, Kind::RecorderExecute, &execute).unwrap();
    assert_eq!(Answer::read(&mut stream).refused(), "plan_too_large");
    assert_eq!(world.count("pending"), 0);
}

#[test]
fn an_order_waits_at_least_a_minute_and_its_client_cannot_approve_it() {
    let world = World::new();
    let claim = root::Claim { approval_ttl_s: 1, uid: MEMBER, ..world.asking(&new_id()) };
    let (_stream, id) = ask(&world, claim);
    eventually("it waits", || world.state.approvals.list().len() == 1);
    let view = world.state.approvals.list()[0].clone();
    assert_eq!(view.expires_unix_s - view.since_unix_s, 60);
    let digest = world.operator(OPERATOR).digest(&id, &world.host);
    // Its membership ends, so it is no client any more; it asked all the same.
    std::fs::write(world.path("group"), "helpers:x:4000100:nobody\n").unwrap();
    let own = world.operator(MEMBER).decide(&id, &digest, Verdict::Approve, "");
    assert!(own.unwrap_err().1.contains("who asks cannot agree"));
}

#[test]
fn an_approval_that_cannot_be_recorded_does_not_count_but_a_denial_does() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let (mut stream, id) = ask(&world, world.asking(&new_id()));
    eventually("it waits", || world.state.approvals.list().len() == 1);
    let mut operator = world.operator(OPERATOR);
    let digest = operator.digest(&id, &world.host);
    std::fs::rename(world.path("log"), world.path("away")).unwrap();
    let answer = operator.decide(&id, &digest, Verdict::Approve, "");
    assert!(answer.unwrap_err().1.starts_with("audit_unavailable: "));
    assert!(world.state.approvals.list()[0].approved_by.is_empty());
    assert_eq!(operator.decide(&id, b"", Verdict::Deny, ""), Ok(0));
    assert_eq!(Answer::read(&mut stream).refused(), "not_approved");
    assert_eq!(files.executed().len(), 0);
}

#[test]
fn a_second_call_with_the_same_id_attaches_to_the_waiting_request() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let request = new_id();
    let (mut first, id) = ask(&world, world.asking(&request));
    let mut second = world.broker();
    link::send(&mut second, Kind::RecorderExecute, &World::execute(world.asking(&request))).unwrap();
    assert_eq!(link::read(&mut second).unwrap().unwrap().0, Kind::Recalled);
    assert_eq!(parked(&mut second).approval_id, id);
    approve(&world, OPERATOR, &id).unwrap();
    assert_eq!(Answer::read(&mut first).completed(), Answer::read(&mut second).completed());
    assert_eq!((files.executed().len(), world.count("pending")), (1, 1));
}

#[test]
fn announces_waiting_requests_in_the_journal_on_terminals_and_to_watchers() {
    let world = World::new();
    let journal = UnixDatagram::bind(world.path("journal")).unwrap();
    let terminals = UnixListener::bind(world.path("announce.sock")).unwrap();
    let mut watch: Operator = world.operator(OPERATOR);
    watch.send("Operator/Watch", &[]);
    std::thread::sleep(Duration::from_millis(200));
    let claim = root::Claim { reason: "\u{202e}do it".to_owned(), ..world.asking(&new_id()) };
    let (_stream, id) = ask(&world, claim);
    let mut line = String::new();
    terminals.accept().unwrap().0.read_to_string(&mut line).unwrap();
    assert_eq!(line, format!("{id}\n"));
    journal.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let message = loop {
        let mut message = vec![0; 64 * 1024];
        let len = journal.recv(&mut message).unwrap();
        let message = String::from_utf8_lossy(&message[..len]).into_owned();
        if message.contains("\nMESSAGE_ID=7d3c2f0b9a5e4c61b8f4d2a6e1905c3b\n") {
            break message;
        }
    };
    assert!(message.contains(&format!("POSTERN_APPROVAL={id}\n")) && message.is_ascii());
    let mut next = || wire::OperatorWatched::decode(watch.frame().unwrap().1.as_slice()).unwrap();
    let told = next();
    assert_eq!((told.approval.unwrap().approval_id, told.ended.as_str()), (id.clone(), ""));
    world.operator(OPERATOR).decide(&id, b"", Verdict::Deny, "").unwrap();
    assert_eq!(next().ended, "denied");
}

#[test]
fn a_recorded_refusal_keeps_its_id_while_other_requests_come() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let id = new_id();
    let (mut stream, approval) = ask(&world, world.asking(&id));
    let mut operator = world.operator(OPERATOR);
    operator.decide(&approval, &[], Verdict::Deny, "no").unwrap();
    assert_eq!(Answer::read(&mut stream).refused(), "not_approved");
    world.run(world.claim(&new_id())).completed();
    let again = world.run(world.claim(&id)).recalled();
    assert_eq!((again.state.as_str(), again.completed.unwrap().code.as_str()), ("ended", "not_approved"));
    assert_eq!(files.executed().len(), 1);
}

#[test]
fn a_watching_operator_that_does_not_read_blocks_nobody() {
    let world = World::new();
    let mut watchers = (0..4).map(|_| world.operator(OPERATOR)).collect::<Vec<_>>();
    for watcher in &mut watchers {
        watcher.send("Operator/Watch", &[]);
    }
    let mut operator = world.operator(OPERATOR);
    let begun = Instant::now();
    // More than a socket holds.
    for _ in 0..20 {
        let claim = root::Claim { target: "x".repeat(16_000), ..world.asking(&new_id()) };
        let (mut stream, id) = ask(&world, claim);
        operator.decide(&id, b"", Verdict::Deny, "").unwrap();
        assert_eq!(Answer::read(&mut stream).refused(), "not_approved");
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}
