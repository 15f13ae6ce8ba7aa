//! A request that a rule marks `ask` waits for people, and there is no way round it.

use postern_corridor::{
    Answer, CLIENT_UID, Channel, GROUP_UID, OPERATOR, OTHER_OPERATOR, World, call, changing, eventually,
    meta, remove, rule, site_rules, strings, write_request,
};
use postern_proto::frame::{CANCEL, EVENT, encode};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Decision, Mode, Status, Verdict, event::Kind};
use prost::Message;
use std::fs;
use std::io::Write;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The calls of operators.
const CALLS: [&str; 9] = ["Pending", "Show", "Decide", "Watch", "Undo", "Pause", "Resume", "Status", "Apply"];

fn asking(at: &Path) -> Vec<root::Rule> {
    let ask = |rule: root::Rule| root::Rule {
        decision: root::Decision::Ask.into(),
        approval_ttl_s: 900,
        approvers: 1,
        ..rule
    };
    site_rules(at).into_iter().map(ask).collect()
}

fn by_two(at: &Path) -> Vec<root::Rule> {
    asking(at).into_iter().map(|rule| root::Rule { approvers: 2, ..rule }).collect()
}

fn write(world: &World, content: &[u8]) -> wire::FileWriteRequest {
    write_request(&world.text("site/a.html"), content, "any")
}

fn written(world: &World) -> Option<Vec<u8>> {
    fs::read(world.path("site/a.html")).ok()
}

/// How many requests wait.
fn pending(world: &World) -> usize {
    world.recorder().approvals.list().len()
}

/// Sends a request that a rule marks `ask`, and returns its stream once it waits.
pub fn ask(channel: &mut Channel, method: &str, message: &impl Message) -> (u32, wire::Waiting) {
    let stream = channel.send(method, &message.encode_to_vec());
    loop {
        match channel.event(stream).expect("it ended instead of waiting") {
            Kind::Waiting(waiting) => return (stream, waiting),
            Kind::Accepted(_) => {}
            other => panic!("not waiting: {other:?}"),
        }
    }
}

/// The digest that an approval of what waits names.
fn show(operator: &mut Channel, id: &str) -> Vec<u8> {
    operator.show(id).1
}

#[test]
fn nothing_happens_before_a_person_approves_and_then_exactly_what_was_shown() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &write(&world, b"hello\n"));
    assert_eq!(waiting.plan.unwrap().files.len(), 1);
    assert_eq!(written(&world), None);
    assert_eq!((world.count("pending"), world.count("begin")), (1, 0));
    eventually("no thread and no place is held", || world.broker().running.used() == 0);
    assert_eq!(world.operator(OPERATOR).approve(&waiting.approval_id), Ok(0));
    let answer = client.answer(stream);
    assert_eq!(answer.completed().status(), Status::Done);
    assert_eq!(answer.completed().decision(), Decision::Ask);
    assert_eq!(written(&world).unwrap(), b"hello\n");
    let log = world.log();
    let events = ["pending", "approval", "begin", "end"].map(|event| {
        let is = |line: &&String| line.contains(&format!("\"event\":\"{event}\""));
        log.iter().find(is).unwrap_or_else(|| panic!("no {event}")).clone()
    });
    let id = format!("\"approval\":{{\"id\":\"{}\"", waiting.approval_id);
    assert!(events.iter().all(|line| line.contains(&id)), "{events:?}");
    assert!(events[1].contains(&format!("\"uid\":{OPERATOR}")));
    for line in &events[1..] {
        assert!(line.contains(&format!("\"uids\":[{OPERATOR}]")), "who agreed stands in {line}");
    }
    assert!(events[0].contains("\"decision\":\"ask\",\"risk\":{\"score\":"), "{}", events[0]);
}

#[test]
fn an_approval_is_of_exactly_the_bytes_that_were_shown() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let (_, first) = ask(&mut client, "Helper/FileWrite", &write(&world, b"harmless"));
    let (_, second) = ask(&mut client, "Helper/FileWrite", &write(&world, b"not harmless"));
    let mut operator = world.operator(OPERATOR);
    let shown = show(&mut operator, &first.approval_id);
    let answer = operator.decide(&second.approval_id, &shown, Verdict::Approve, "");
    assert!(answer.unwrap_err().1.starts_with("plan_changed: "));
    let answer = operator.decide(&first.approval_id, b"", Verdict::Approve, "");
    assert!(answer.unwrap_err().1.starts_with("plan_changed: "));
    let answer = operator.decide(&first.approval_id, &shown, Verdict::Unspecified, "");
    assert!(answer.unwrap_err().1.starts_with("invalid_argument: "));
    assert_eq!((written(&world), pending(&world)), (None, 2));
}

/// The broker's clock is four minutes behind; between the two clocks the window closes.
#[test]
fn an_approval_given_in_the_hours_of_a_rule_is_not_used_outside_them() {
    let minute = |ago: u64| {
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        u32::try_from((unix_s / 60 + 3 * 24 * 60 - ago) % (7 * 24 * 60)).unwrap()
    };
    let hours = vec![root::Window { start: minute(10), minutes: 8 }];
    let reload = asked(root::Rule { hours, ..rule("reload", &["unit.daemon-reload"]) });
    let mut world = World::with(|_| root::Rules {
        rules: vec![reload],
        zone: "UTC".to_owned(),
        clock_changes: vec![root::ClockChange { unix_s: 0, offset_s: 0 }],
        ..root::Rules::default()
    });
    let request = || wire::UnitDaemonReloadRequest { meta: meta(Mode::Execute) };
    assert_eq!(world.ask("Helper/UnitDaemonReload", &request()).refused().code, "limit_exceeded");
    world.hosts.broker.now = || SystemTime::now() - Duration::from_secs(240);
    world.restart_broker();
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/UnitDaemonReload", &request());
    let mut operator = world.operator(OPERATOR);
    let shown = show(&mut operator, &waiting.approval_id);
    assert_eq!(operator.decide(&waiting.approval_id, &shown, Verdict::Approve, ""), Ok(0));
    let answer = client.answer(stream);
    let said = answer.completed();
    assert_eq!((said.code.as_str(), world.calls().len()), ("limit_exceeded", 0), "{}", said.message);
    assert!(said.message.contains("it opens next on "), "{}", said.message);
}

#[test]
fn an_approval_is_used_only_once() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &write(&world, b"once"));
    let mut operator = world.operator(OPERATOR);
    let shown = show(&mut operator, &waiting.approval_id);
    assert_eq!(operator.decide(&waiting.approval_id, &shown, Verdict::Approve, ""), Ok(0));
    let again = operator.decide(&waiting.approval_id, &shown, Verdict::Approve, "");
    assert!(again.unwrap_err().1.starts_with("unknown_request: "));
    client.answer(stream);
    // The same thing asked again is asked again, under another id.
    let (_, next) = ask(&mut client, "Helper/FileWrite", &write(&world, b"twice"));
    assert_ne!(next.approval_id, waiting.approval_id);
    let stale = operator.decide(&next.approval_id, &shown, Verdict::Approve, "");
    assert!(stale.unwrap_err().1.starts_with("plan_changed: "));
    assert_eq!((world.count("begin"), written(&world).unwrap().as_slice()), (1, &b"once"[..]));
}

#[test]
fn a_client_cannot_act_as_operator_by_any_call() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let (_, waiting) = ask(&mut client, "Helper/FileWrite", &write(&world, b"x"));
    let text = show(&mut world.operator(OPERATOR), &waiting.approval_id);
    // operator.sock, as the agent's own uid: every call there is.
    let mut own = world.operator(CLIENT_UID);
    let answer = own.decide(&waiting.approval_id, &text, Verdict::Approve, "");
    assert_eq!(answer.unwrap_err().0, 7);
    for method in CALLS.into_iter().chain(["Nope"]) {
        let answer = call::<wire::OperatorDecided>(
            &mut own,
            &format!("Operator/{method}"),
            &wire::OperatorPendingRequest {},
        );
        assert_eq!(answer.unwrap_err().0, 7, "{method}");
    }
    // Its own channel: no such verb there.
    let decide = wire::OperatorDecideRequest {
        approval_id: waiting.approval_id,
        shown_sha256: text,
        verdict: Verdict::Approve.into(),
        reason: String::new(),
    };
    for method in ["Operator/Decide", "Helper/Decide", "Helper/OperatorDecide"] {
        assert_eq!(world.connect(CLIENT_UID).ask(method, &decide).code, 12, "{method}");
    }
    assert_eq!((written(&world), world.count("approval"), pending(&world)), (None, 0, 1));
}

#[test]
fn a_member_of_a_client_group_cannot_act_as_operator() {
    let world = World::with(|_| {
        let group = "helpers".to_owned();
        let client = root::Client { name: "people".to_owned(), user: String::new(), group };
        root::Rules { clients: vec![client], ..root::Rules::default() }
    });
    // The second is no listed member: it is its own group, and newgrp(1) gave this connection another.
    for uid in [CLIENT_UID, GROUP_UID] {
        let mut own = world.operator(uid);
        let answer =
            call::<wire::OperatorPending>(&mut own, "Operator/Pending", &wire::OperatorPendingRequest {});
        assert_eq!(answer.unwrap_err().0, 7);
    }
}

#[test]
fn two_calls_with_one_id_wait_as_one_and_other_bytes_are_refused() {
    let world = World::new(asking);
    let request = write(&world, b"one");
    let mut first = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut first, "Helper/FileWrite", &request);
    let mut second = world.connect(CLIENT_UID);
    let (attached, again) = ask(&mut second, "Helper/FileWrite", &request);
    assert_eq!(again.approval_id, waiting.approval_id);
    let mut other = request.clone();
    other.change.as_mut().unwrap().content = b"two".to_vec();
    let conflict = world.connect(CLIENT_UID).ask("Helper/FileWrite", &other);
    assert_eq!(conflict.refused().code, "request_id_conflict");
    world.operator(OPERATOR).approve(&waiting.approval_id).unwrap();
    assert_eq!(first.answer(stream).completed().status(), Status::Done);
    assert_eq!(second.answer(attached).completed().status(), Status::Done);
    assert_eq!((world.count("pending"), world.count("begin")), (1, 1));
    assert_eq!(written(&world).unwrap(), b"one");
}

#[test]
fn many_calls_at_once_with_one_id_ask_once() {
    let world = World::new(asking);
    let request = write(&world, b"race").encode_to_vec();
    let mut channels = (0..6).map(|_| world.connect(CLIENT_UID)).collect::<Vec<_>>();
    for channel in &mut channels {
        channel.send("Helper/FileWrite", &request);
    }
    eventually("it waits", || pending(&world) == 1);
    eventually("all others are attached", || world.broker().running.used() == 0);
    let id = world.recorder().approvals.list()[0].approval_id.clone();
    world.operator(OPERATOR).approve(&id).unwrap();
    for channel in &mut channels {
        assert_eq!(channel.answer(1).completed().status(), Status::Done);
    }
    assert_eq!((world.count("pending"), world.count("begin"), world.count("end")), (1, 1, 1));
}

#[test]
fn a_replaced_policy_ends_waiting_requests() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &write(&world, b"x"));
    let mut operator = world.operator(OPERATOR);
    let text = show(&mut operator, &waiting.approval_id);
    let stricter = asking(&world.path("")).into_iter().map(|rule| root::Rule { max_bytes: 5, ..rule });
    world.apply(stricter.collect());
    assert_eq!(client.answer(stream).refused().code, "approval_expired");
    let late = operator.decide(&waiting.approval_id, &text, Verdict::Approve, "");
    assert!(late.unwrap_err().1.starts_with("unknown_request: "));
    assert_eq!((written(&world), world.count("begin")), (None, 0));
}

#[test]
fn a_denial_reaches_the_client_and_the_same_request_is_not_asked_again_for_an_hour() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let request = write(&world, b"no");
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &request);
    let mut operator = world.operator(OPERATOR);
    assert_eq!(operator.decide(&waiting.approval_id, b"", Verdict::Deny, "use \"b.html\""), Ok(0));
    let answer = client.answer(stream);
    let refused = answer.refused();
    assert_eq!(refused.code, "not_approved");
    assert_eq!(refused.message, "use \"b.html\"");
    // The id is used up: its outcome is told again.
    let again = client.ask("Helper/FileWrite", &request);
    assert_eq!((again.completed().code.as_str(), again.completed().replayed), ("not_approved", true));
    // Another id and another reason make it no other request.
    let mut same = write(&world, b"no");
    same.meta.as_mut().unwrap().reason = "please".to_owned();
    let recent = client.ask("Helper/FileWrite", &same);
    assert_eq!(recent.refused().code, "denied_recently");
    assert!((3500..=3600).contains(&recent.refused().retry_after_s));
    assert!(recent.refused().message.contains("b.html"));
    // Nor is another content of the same file, for a minute; another file is.
    let other = client.ask("Helper/FileWrite", &write(&world, b"another"));
    assert_eq!(other.refused().code, "denied_recently");
    assert!((50..=60).contains(&other.refused().retry_after_s));
    ask(&mut client, "Helper/FileWrite", &write_request(&world.text("site/b.html"), b"another", "any"));
    assert_eq!((written(&world), world.count("begin")), (None, 0));
    let log = world.log().join("\n");
    assert!(log.contains("\"event\":\"approval\"") && log.contains("\"status\":\"denied\""));
}

#[test]
fn a_client_has_at_most_three_waiting_requests() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    for content in [b"1", b"2", b"3"] {
        ask(&mut client, "Helper/FileWrite", &write(&world, content));
    }
    let fourth = client.ask("Helper/FileWrite", &write(&world, b"4"));
    assert_eq!(fourth.refused().code, "too_many_pending");
    assert_eq!(pending(&world), 3);
}

#[test]
fn a_request_that_nobody_answers_expires() {
    static AHEAD_S: AtomicU64 = AtomicU64::new(0);
    let mut world = World::new(asking);
    world.hosts.recorder.audit.since_boot = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        now + Duration::from_secs(AHEAD_S.load(Ordering::Relaxed))
    };
    world.restart();
    let mut client = world.connect(CLIENT_UID);
    let request = write(&world, b"late");
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &request);
    // A client cannot make its questions short to ask more of them: they wait for at least a minute.
    let mut short = write(&world, b"short");
    short.meta.as_mut().unwrap().wait_ms = 5000;
    let (shorter, _) = ask(&mut client, "Helper/FileWrite", &short);
    AHEAD_S.store(55, Ordering::Relaxed);
    let text = show(&mut world.operator(OPERATOR), &waiting.approval_id);
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(pending(&world), 2);
    AHEAD_S.store(61, Ordering::Relaxed);
    assert_eq!(client.answer(shorter).refused().code, "approval_expired");
    AHEAD_S.store(901, Ordering::Relaxed);
    assert_eq!(client.answer(stream).refused().code, "approval_expired");
    let late = world.operator(OPERATOR).decide(&waiting.approval_id, &text, Verdict::Approve, "");
    assert!(late.unwrap_err().1.starts_with("unknown_request: "));
    let again = client.ask("Helper/FileWrite", &request);
    assert_eq!(again.completed().code, "approval_expired");
    assert_eq!((written(&world), world.count("begin")), (None, 0));
}

#[test]
fn two_people_must_approve_where_the_rule_says_two() {
    let world = World::new(by_two);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &write(&world, b"both"));
    let id = &waiting.approval_id;
    assert_eq!(world.operator(OPERATOR).approve(id), Ok(1));
    let twice = world.operator(OPERATOR).approve(id);
    assert!(twice.unwrap_err().1.starts_with("denied: "));
    assert_eq!((written(&world), world.count("begin")), (None, 0));
    assert_eq!(world.operator(OTHER_OPERATOR).approve(id), Ok(0));
    assert_eq!(client.answer(stream).completed().status(), Status::Done);
    assert!(world.log().join("").contains(&format!("\"uids\":[{OPERATOR},{OTHER_OPERATOR}]")));
}

#[test]
fn a_waiting_request_ends_with_the_recorder() {
    let mut world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let request = write(&world, b"x");
    let (_, waiting) = ask(&mut client, "Helper/FileWrite", &request);
    let text = show(&mut world.operator(OPERATOR), &waiting.approval_id);
    world.restart();
    let late = world.operator(OPERATOR).decide(&waiting.approval_id, &text, Verdict::Approve, "");
    assert!(late.unwrap_err().1.starts_with("unknown_request: "));
    let again = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!((again.completed().code.as_str(), again.completed().replayed), ("approval_expired", true));
    assert_eq!((world.count("refused"), world.count("begin")), (1, 0));
    assert_eq!(written(&world), None);
}

#[test]
fn does_not_write_a_file_that_changed_while_the_request_waited() {
    let world = World::new(asking);
    fs::write(world.path("site/a.html"), "before").unwrap();
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &write(&world, b"after"));
    fs::write(world.path("site/a.html"), "by another").unwrap();
    world.operator(OPERATOR).approve(&waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).completed().code, "precondition_failed");
    assert_eq!(written(&world).unwrap(), b"by another");
}

#[test]
fn refuses_to_ask_for_more_than_a_person_can_read() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let long = client.ask("Helper/FileWrite", &write(&world, "x\n".repeat(2001).as_bytes()));
    assert_eq!(long.refused().code, "plan_too_large");
    let wide = client.ask("Helper/FileWrite", &write(&world, &vec![b'x'; 256 * 1024 + 1]));
    assert_eq!(wide.refused().code, "plan_too_large");
    ask(&mut client, "Helper/FileWrite", &write(&world, "x\n".repeat(1900).as_bytes()));
    assert_eq!((world.count("pending"), pending(&world)), (1, 1));
}

#[test]
fn a_client_that_hung_up_finds_the_outcome_later() {
    let world = World::new(asking);
    let request = write(&world, b"later");
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &request);
    client.stream.write_all(&encode(stream, CANCEL, &[]).unwrap()).unwrap();
    drop(client);
    world.operator(OPERATOR).approve(&waiting.approval_id).unwrap();
    // Its outcome is kept for whoever asks again right after its record.
    eventually("it is done", || world.count("end") == 1 && world.recorder().requests.unfinished().is_empty());
    let again = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!((again.completed().status(), again.completed().replayed), (Status::Done, true));
}

#[test]
fn reads_can_be_marked_ask_and_dry_runs_wait_for_nobody() {
    let world = World::new(asking);
    fs::write(world.path("site/a.html"), "secret").unwrap();
    let read = wire::FileReadRequest {
        meta: meta(Mode::Execute),
        path: world.text("site/a.html"),
        offset: 0,
        limit: 0,
    };
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileRead", &read);
    world.operator(OPERATOR).approve(&waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).content(), b"secret");
    for mode in [Mode::Check, Mode::Preview] {
        let mut request = write(&world, b"x");
        request.meta = meta(mode);
        let answer = client.ask("Helper/FileWrite", &request);
        assert_eq!(
            (answer.completed().status(), answer.completed().decision()),
            (Status::Previewed, Decision::Ask)
        );
    }
    assert_eq!(world.count("pending"), 1);
}

#[test]
fn nothing_begins_while_paused_not_even_approved_requests_nor_after_a_restart() {
    let mut world = World::new(|at| {
        let allowed = root::Rule { files: strings(&["*.txt"]), ..site_rules(at).remove(0) };
        let mut rules = asking(at);
        rules.push(root::Rule { id: "text".to_owned(), ..allowed });
        rules
    });
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &write(&world, b"x"));
    let mut operator = world.operator(OPERATOR);
    let pause = wire::OperatorPauseRequest { reason: "looking into it".to_owned() };
    let paused: wire::OperatorPaused = call(&mut operator, "Operator/Pause", &pause).unwrap();
    assert!(paused.running.is_empty(), "what waits does not run");
    let text = |world: &World| write_request(&world.text("site/a.txt"), b"x", "any");
    let refused = client.ask("Helper/FileWrite", &text(&world));
    assert_eq!(refused.refused().code, "paused");
    assert!(refused.refused().message.contains("looking into it"));
    operator.approve(&waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).refused().code, "paused");
    // To look is free, and so are dry runs.
    let read = |mode| wire::PolicyDescribeRequest { meta: meta(mode) };
    assert_eq!(client.ask("Helper/PolicyDescribe", &read(Mode::Execute)).completed().status(), Status::Done);
    world.restart();
    assert_eq!(world.connect(CLIENT_UID).ask("Helper/FileWrite", &text(&world)).refused().code, "paused");
    let status: wire::OperatorStatus =
        call(&mut world.operator(OPERATOR), "Operator/Status", &wire::OperatorStatusRequest {}).unwrap();
    assert_eq!(status.paused, "looking into it");
    call::<wire::OperatorResumed>(
        &mut world.operator(OPERATOR),
        "Operator/Resume",
        &wire::OperatorResumeRequest {},
    )
    .unwrap();
    assert_eq!(
        world.connect(CLIENT_UID).ask("Helper/FileWrite", &text(&world)).completed().status(),
        Status::Done
    );
    assert_eq!((world.count("paused"), world.count("resumed"), world.count("begin")), (1, 1, 1));
}

#[test]
fn watching_operators_and_the_journal_learn_of_a_waiting_request() {
    let world = World::new(asking);
    let journal = UnixDatagram::bind(world.path("journal")).unwrap();
    let mut watch = world.operator(OPERATOR);
    let stream = watch.send("Operator/Watch", &[]);
    let mut next = || {
        let (head, payload) = watch.frame().unwrap();
        assert_eq!((head.stream, head.kind), (stream, EVENT));
        wire::OperatorWatched::decode(payload.as_slice()).unwrap()
    };
    eventually("the watch stands", || world.count("start") == 1);
    std::thread::sleep(Duration::from_millis(100));
    let mut client = world.connect(CLIENT_UID);
    let (_, waiting) = ask(&mut client, "Helper/FileWrite", &write(&world, b"x"));
    let told = next();
    assert_eq!(
        (told.approval.unwrap().approval_id, told.ended),
        (waiting.approval_id.clone(), String::new())
    );
    journal.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let message = loop {
        let mut message = [0; 4096];
        let len = journal.recv(&mut message).unwrap();
        let message = String::from_utf8_lossy(&message[..len]).into_owned();
        // Records come too.
        if message.contains("\nMESSAGE_ID=7d3c2f0b9a5e4c61b8f4d2a6e1905c3b\n") {
            break message;
        }
    };
    assert!(message.contains(&format!("POSTERN_APPROVAL={}\n", waiting.approval_id)));
    world.operator(OPERATOR).decide(&waiting.approval_id, b"", Verdict::Deny, "").unwrap();
    assert_eq!(next().ended, "denied");
}

#[test]
fn an_operators_malformed_call_ends_the_connection() {
    let world = World::new(asking);
    let mut operator = world.operator(OPERATOR);
    // A field that this helper does not know.
    let stream = operator.send("Operator/Decide", &[0x7a, 0x01, 0x01]);
    let answer: Answer = operator.answer(stream);
    assert_eq!(answer.code, 3);
    operator.left();
    assert_eq!(world.count("malformed"), 1);
}

fn asked(rule: root::Rule) -> root::Rule {
    root::Rule { decision: root::Decision::Ask.into(), approval_ttl_s: 900, approvers: 1, ..rule }
}

fn unit_rule(id: &str, unit: &str, verbs: &[&str]) -> root::Rule {
    root::Rule { units: strings(&[unit]), ..rule(id, verbs) }
}

#[test]
fn another_name_of_a_unit_does_not_bypass_ask() {
    let world = World::new(|_| {
        let verbs = &["unit.restart"];
        vec![unit_rule("free", "web.service", verbs), asked(unit_rule("guarded", "nginx.service", verbs))]
    });
    world.systemctl(
        "case $1 in show) printf 'Id=nginx.service\\nNames=nginx.service web.service\\nLoadState=loaded\\nActiveState=active\\n';; esac",
    );
    let request = wire::UnitRestartRequest { meta: meta(Mode::Execute), unit: "web.service".to_owned() };
    let mut client = world.connect(CLIENT_UID);
    let (_, waiting) = ask(&mut client, "Helper/UnitRestart", &request);
    let (shown, _) = world.operator(OPERATOR).show(&waiting.approval_id);
    assert_eq!(shown.approval.unwrap().rule, "guarded", "the rule that asks is the one that is named");
    assert_eq!(world.count("begin"), 0);
    assert!(world.log().join("").contains("\"rule\":\"guarded\",\"decision\":\"ask\""));
}

#[test]
fn does_not_change_a_unit_that_changed_while_the_request_waited() {
    let world = World::new(|_| vec![asked(unit_rule("u", "nginx.service", &["unit.stop"]))]);
    let shown = |active: &str| {
        format!(
            "Id=nginx.service\\nNames=nginx.service\\nLoadState=loaded\\nActiveState={active}\\nUnitFileState=enabled\\n"
        )
    };
    world.systemctl(&format!(
        "up=$(dirname $0)/is_up\ncase $1 in show) [ -e $up ] && printf '{}' || printf '{}';; stop) touch $up.stopped;; esac",
        shown("active"),
        shown("inactive")
    ));
    fs::write(world.path("is_up"), "").unwrap();
    let request = wire::UnitStopRequest { meta: meta(Mode::Execute), unit: "nginx.service".to_owned() };
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/UnitStop", &request);
    fs::remove_file(world.path("is_up")).unwrap();
    world.operator(OPERATOR).approve(&waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).completed().code, "plan_changed");
    assert!(!world.path("is_up.stopped").exists());
}

#[test]
fn a_denied_request_is_not_asked_again_in_other_words() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &write(&world, b"evil"));
    world.operator(OPERATOR).decide(&waiting.approval_id, b"", Verdict::Deny, "no").unwrap();
    assert_eq!(client.answer(stream).refused().code, "not_approved");
    let mut client = world.connect(CLIENT_UID);
    for (expect, mode) in [("absent", ""), ("any", "0644")] {
        let mut same = write(&world, b"evil");
        let change = same.change.as_mut().unwrap();
        (change.expect, change.mode) = (expect.to_owned(), mode.to_owned());
        assert_eq!(client.ask("Helper/FileWrite", &same).refused().code, "denied_recently");
    }
    assert!(pending(&world) == 0);
}

/// A person who denied that a file is written has not said that it must stay.
#[test]
fn another_verb_on_a_denied_target_and_another_target_are_asked_anew() {
    let world = World::new(|at| vec![root::Rule { decision: root::Decision::Ask.into(), ..changing(at) }]);
    let (path, other) = (world.text("site/a"), world.text("site/b"));
    fs::write(&path, "old").unwrap();
    let mut client = world.connect(CLIENT_UID);
    let evil = write_request(&path, b"evil", "any");
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &evil);
    world.operator(OPERATOR).decide(&waiting.approval_id, b"", Verdict::Deny, "no").unwrap();
    assert_eq!(client.answer(stream).refused().code, "not_approved");
    let again = write_request(&path, b"evil too", "any");
    assert_eq!(client.ask("Helper/FileWrite", &again).refused().code, "denied_recently");
    let (stream, waiting) = ask(&mut client, "Helper/FileRemove", &remove(&path));
    world.operator(OPERATOR).approve(&waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).completed().status(), Status::Done);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &write_request(&other, b"x", "any"));
    world.operator(OPERATOR).approve(&waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).completed().status(), Status::Done);
}

#[test]
fn the_largest_number_of_approvers_of_any_rule_that_asks_counts() {
    let world = World::new(|at| {
        let one = asking(at).remove(0);
        let two = root::Rule { id: "stricter".to_owned(), approvers: 2, approval_ttl_s: 60, ..one.clone() };
        vec![one, two]
    });
    let mut client = world.connect(CLIENT_UID);
    let (_, waiting) = ask(&mut client, "Helper/FileWrite", &write(&world, b"x"));
    assert_eq!(world.operator(OPERATOR).approve(&waiting.approval_id), Ok(1));
}

#[test]
fn a_pause_that_could_not_be_stored_can_be_ended() {
    let world = World::new(asking);
    let mut operator = world.operator(OPERATOR);
    let pause = wire::OperatorPauseRequest { reason: "x".to_owned() };
    call::<wire::OperatorPaused>(&mut operator, "Operator/Pause", &pause).unwrap();
    fs::remove_file(world.path("audit/paused")).unwrap();
    call::<wire::OperatorResumed>(&mut operator, "Operator/Resume", &wire::OperatorResumeRequest {}).unwrap();
    assert_eq!(world.recorder().paused(), None);
}
