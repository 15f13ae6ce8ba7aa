//! What a request under `ask` waits for, and every way round it that must not exist.

use crate::common::{
    Answer, CLIENT_UID, Channel, GROUP_UID, World, accept, call, meta, rule, site_rules, strings,
    write_request,
};
use postern_helper::operator::CALLS;
use postern_policy::types::Digest;
use postern_proto::frame::{CANCEL, EVENT, encode};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Decision, Mode, Status, Verdict, event::Kind};
use prost::Message;
use std::fs;
use std::io::Write;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

pub const OPERATOR: u32 = 4_000_201;
const OTHER_OPERATOR: u32 = 4_000_202;

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

impl World {
    fn write(&self, content: &[u8]) -> wire::FileWriteRequest {
        write_request(&self.text("site/a.html"), content, "any")
    }

    fn written(&self) -> Option<Vec<u8>> {
        fs::read(self.path("site/a.html")).ok()
    }
}

/// Sends a request and reads up to `Waiting`.
pub fn ask(channel: &mut Channel, method: &str, message: &impl Message) -> (u32, wire::Waiting) {
    let stream = channel.send(method, &message.encode_to_vec());
    loop {
        let (head, payload) = channel.frame().expect("it ended instead of waiting");
        assert_eq!((head.stream, head.kind), (stream, EVENT));
        let kind = wire::Event::decode(payload.as_slice()).unwrap().kind.unwrap();
        if let Kind::Waiting(waiting) = kind {
            return (stream, waiting);
        }
        assert!(matches!(kind, Kind::Accepted(_)), "not waiting: {kind:?}");
    }
}

pub fn show(channel: &mut Channel, id: &str) -> Vec<u8> {
    let request = wire::OperatorShowRequest { approval_id: id.to_owned() };
    call::<wire::OperatorShown>(channel, "Operator/Show", &request).unwrap().text
}

fn decide(
    channel: &mut Channel,
    id: &str,
    text: &[u8],
    verdict: Verdict,
    reason: &str,
) -> Result<u32, (u8, String)> {
    let request = wire::OperatorDecideRequest {
        approval_id: id.to_owned(),
        shown_sha256: Digest::of(&[text]).as_bytes().to_vec(),
        verdict: verdict.into(),
        reason: reason.to_owned(),
    };
    call::<wire::OperatorDecided>(channel, "Operator/Decide", &request).map(|decided| decided.missing)
}

pub fn approve(channel: &mut Channel, id: &str) -> Result<u32, (u8, String)> {
    let text = show(channel, id);
    decide(channel, id, &text, Verdict::Approve, "")
}

fn eventually(what: &str, is: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn nothing_happens_before_a_person_agrees_and_then_what_was_shown_does() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &world.write(b"hello\n"));
    assert_eq!(waiting.plan.unwrap().files.len(), 1);
    assert_eq!(world.written(), None);
    assert_eq!((world.count("pending"), world.count("begin")), (1, 0));
    eventually("no thread and no place is held", || world.helper.running.count() == 0);
    assert_eq!(approve(&mut world.operator(OPERATOR), &waiting.approval_id), Ok(0));
    let answer = client.answer(stream);
    assert_eq!(answer.completed().status(), Status::Done);
    assert_eq!(answer.completed().decision(), Decision::Ask);
    assert_eq!(world.written().unwrap(), b"hello\n");
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
fn the_text_says_what_is_done_and_content_or_reason_cannot_pass_for_it() {
    let world = World::new(asking);
    fs::write(world.path("site/a.html"), "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n").unwrap();
    let new = "one\ntwo\nthree\nfour\nverb policy.describe\n\u{1b}[2Jplan\nsix\nseven\neight\n";
    let mut request = world.write(new.as_bytes());
    request.meta.as_mut().unwrap().reason = "\"\\ approve this\u{202e}".to_owned();
    let mut client = world.connect(CLIENT_UID);
    let (_, waiting) = ask(&mut client, "Helper/FileWrite", &request);
    let text = show(&mut world.operator(OPERATOR), &waiting.approval_id);
    let text = String::from_utf8(text).unwrap();
    let path = world.text("site/a.html");
    let lines = text.lines().collect::<Vec<_>>();
    assert_eq!(lines[..3], ["postern approval 1", "verb file.write", &format!("target {path}")]);
    assert!(text.contains(&format!("client agent (uid {CLIENT_UID})\nrule site\n")));
    assert!(text.contains(&format!("\npolicy {}\n", world.helper.policy().unwrap().digest())));
    assert_eq!(lines.iter().filter(|line| line.starts_with("verb ")).count(), 1);
    assert_eq!(text.matches("approve this").count(), 1, "the client's words stand last and nowhere else");
    let diff = "at line 2\n two\n three\n four\n-five\n+verb policy.describe\n+\u{1b}[2Jplan\n six\n seven\n eight\n";
    assert!(text.contains(diff), "{text}");
    assert_eq!(
        *lines.last().unwrap(),
        "the client's reason, in its own words: \"\\\"\\\\ approve this\\u{202e}\""
    );
}

#[test]
fn an_answer_is_of_exactly_the_bytes_that_were_shown() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let (_, first) = ask(&mut client, "Helper/FileWrite", &world.write(b"harmless"));
    let (_, second) = ask(&mut client, "Helper/FileWrite", &world.write(b"not harmless"));
    let mut operator = world.operator(OPERATOR);
    let shown = show(&mut operator, &first.approval_id);
    let answer = decide(&mut operator, &second.approval_id, &shown, Verdict::Approve, "");
    assert!(answer.unwrap_err().1.starts_with("plan_changed: "));
    let answer = decide(&mut operator, &first.approval_id, b"", Verdict::Approve, "");
    assert!(answer.unwrap_err().1.starts_with("plan_changed: "));
    let answer = decide(&mut operator, &first.approval_id, &shown, Verdict::Unspecified, "");
    assert!(answer.unwrap_err().1.starts_with("invalid_argument: "));
    assert_eq!((world.written(), world.helper.approvals.list().len()), (None, 2));
}

#[test]
fn an_approval_is_good_once() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &world.write(b"once"));
    let mut operator = world.operator(OPERATOR);
    let shown = show(&mut operator, &waiting.approval_id);
    assert_eq!(decide(&mut operator, &waiting.approval_id, &shown, Verdict::Approve, ""), Ok(0));
    let again = decide(&mut operator, &waiting.approval_id, &shown, Verdict::Approve, "");
    assert!(again.unwrap_err().1.starts_with("unknown_request: "));
    client.answer(stream);
    // The same thing asked again is asked again, under another id.
    let (_, next) = ask(&mut client, "Helper/FileWrite", &world.write(b"twice"));
    assert_ne!(next.approval_id, waiting.approval_id);
    let stale = decide(&mut operator, &next.approval_id, &shown, Verdict::Approve, "");
    assert!(stale.unwrap_err().1.starts_with("plan_changed: "));
    assert_eq!((world.count("begin"), world.written().unwrap().as_slice()), (1, &b"once"[..]));
}

#[test]
fn a_client_can_be_no_operator_by_any_call() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let (_, waiting) = ask(&mut client, "Helper/FileWrite", &world.write(b"x"));
    let text = show(&mut world.operator(OPERATOR), &waiting.approval_id);
    // operator.sock, as the agent's own uid: every call there is.
    let mut own = world.operator(CLIENT_UID);
    let answer = decide(&mut own, &waiting.approval_id, &text, Verdict::Approve, "");
    assert_eq!(answer.unwrap_err().0, 7);
    for method in CALLS.iter().map(|(name, _)| *name).chain(["Nope"]) {
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
        shown_sha256: Digest::of(&[&text]).as_bytes().to_vec(),
        verdict: Verdict::Approve.into(),
        reason: String::new(),
    };
    for method in ["Operator/Decide", "Helper/Decide", "Helper/OperatorDecide"] {
        assert_eq!(world.connect(CLIENT_UID).ask(method, &decide).code, 12, "{method}");
    }
    assert_eq!((world.written(), world.count("approval"), world.helper.approvals.list().len()), (None, 0, 1));
}

#[test]
fn a_member_of_a_client_group_can_be_no_operator() {
    let world = World::new(asking);
    let client = |name: &str, user: &str, group: &str| root::Client {
        name: name.to_owned(),
        user: user.to_owned(),
        group: group.to_owned(),
    };
    let rules =
        root::Rules { version: 1, clients: vec![client("agent", "", "helpers")], ..root::Rules::default() };
    let policy = postern_policy::Policy::compile(&rules, Digest::ZERO).unwrap();
    world.helper.apply(policy, &postern_helper::audit::Record::default()).unwrap();
    // The second is no listed member: it is its own group, and newgrp(1) gave this connection another.
    for uid in [CLIENT_UID, GROUP_UID] {
        let mut own = world.operator(uid);
        let answer =
            call::<wire::OperatorPending>(&mut own, "Operator/Pending", &wire::OperatorPendingRequest {});
        assert_eq!(answer.unwrap_err().0, 7);
    }
}

#[test]
fn two_requests_on_one_id_wait_as_one_and_other_bytes_are_refused() {
    let world = World::new(asking);
    let request = world.write(b"one");
    let mut first = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut first, "Helper/FileWrite", &request);
    let mut second = world.connect(CLIENT_UID);
    let (attached, again) = ask(&mut second, "Helper/FileWrite", &request);
    assert_eq!(again.approval_id, waiting.approval_id);
    let mut other = request.clone();
    other.change.as_mut().unwrap().content = b"two".to_vec();
    let conflict = world.connect(CLIENT_UID).ask("Helper/FileWrite", &other);
    assert_eq!(conflict.refused().code, "request_id_conflict");
    approve(&mut world.operator(OPERATOR), &waiting.approval_id).unwrap();
    assert_eq!(first.answer(stream).completed().status(), Status::Done);
    assert_eq!(second.answer(attached).completed().status(), Status::Done);
    assert_eq!((world.count("pending"), world.count("begin")), (1, 1));
    assert_eq!(world.written().unwrap(), b"one");
}

#[test]
fn many_at_once_on_one_id_ask_once() {
    let world = World::new(asking);
    let request = world.write(b"race").encode_to_vec();
    let mut channels = (0..6).map(|_| world.connect(CLIENT_UID)).collect::<Vec<_>>();
    for channel in &mut channels {
        channel.send("Helper/FileWrite", &request);
    }
    eventually("it waits", || world.helper.approvals.list().len() == 1);
    eventually("all others are attached", || world.helper.running.count() == 0);
    let id = world.helper.approvals.list()[0].approval_id.clone();
    approve(&mut world.operator(OPERATOR), &id).unwrap();
    for channel in &mut channels {
        assert_eq!(channel.answer(1).completed().status(), Status::Done);
    }
    assert_eq!((world.count("pending"), world.count("begin"), world.count("end")), (1, 1, 1));
}

#[test]
fn a_policy_that_is_applied_meanwhile_ends_what_waits() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &world.write(b"x"));
    let mut operator = world.operator(OPERATOR);
    let text = show(&mut operator, &waiting.approval_id);
    let stricter = asking(&world.path("")).into_iter().map(|rule| root::Rule { max_bytes: 5, ..rule });
    fs::write(world.path("state/policy/accepted.pb"), accept(stricter.collect())).unwrap();
    let mut root = world.operator(world.host.owner_uid);
    call::<wire::OperatorReloaded>(&mut root, "Operator/Reload", &wire::OperatorReloadRequest {}).unwrap();
    assert_eq!(client.answer(stream).refused().code, "approval_expired");
    let late = decide(&mut operator, &waiting.approval_id, &text, Verdict::Approve, "");
    assert!(late.unwrap_err().1.starts_with("unknown_request: "));
    assert_eq!((world.written(), world.count("begin")), (None, 0));
}

#[test]
fn a_denial_is_told_and_the_same_thing_is_not_asked_again_for_an_hour() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let request = world.write(b"no");
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &request);
    let mut operator = world.operator(OPERATOR);
    assert_eq!(decide(&mut operator, &waiting.approval_id, b"", Verdict::Deny, "use \"b.html\""), Ok(0));
    let answer = client.answer(stream);
    let refused = answer.refused();
    assert_eq!(refused.code, "not_approved");
    assert_eq!(refused.message, "use \"b.html\"");
    // The id is used up: its outcome is told again.
    let again = client.ask("Helper/FileWrite", &request);
    assert_eq!((again.completed().code.as_str(), again.completed().replayed), ("not_approved", true));
    // Another id and another reason make it no other request.
    let mut same = world.write(b"no");
    same.meta.as_mut().unwrap().reason = "please".to_owned();
    let recent = client.ask("Helper/FileWrite", &same);
    assert_eq!(recent.refused().code, "denied_recently");
    assert!((3500..=3600).contains(&recent.refused().retry_after_s));
    assert!(recent.refused().message.contains("b.html"));
    ask(&mut client, "Helper/FileWrite", &world.write(b"another"));
    assert_eq!((world.written(), world.count("begin")), (None, 0));
    let log = world.log().join("\n");
    assert!(log.contains("\"event\":\"approval\"") && log.contains("\"status\":\"denied\""));
}

#[test]
fn a_client_has_three_that_wait_and_no_more() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    for content in [b"1", b"2", b"3"] {
        ask(&mut client, "Helper/FileWrite", &world.write(content));
    }
    let fourth = client.ask("Helper/FileWrite", &world.write(b"4"));
    assert_eq!(fourth.refused().code, "too_many_pending");
    assert_eq!(world.helper.approvals.list().len(), 3);
}

#[test]
fn what_nobody_answers_expires() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let request = world.write(b"late");
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &request);
    let text = show(&mut world.operator(OPERATOR), &waiting.approval_id);
    world.helper.approvals.expire(world.helper.boottime() + Duration::from_secs(890));
    assert_eq!(world.helper.approvals.list().len(), 1);
    world.helper.approvals.expire(world.helper.boottime() + Duration::from_secs(901));
    assert_eq!(client.answer(stream).refused().code, "approval_expired");
    let late = decide(&mut world.operator(OPERATOR), &waiting.approval_id, &text, Verdict::Approve, "");
    assert!(late.unwrap_err().1.starts_with("unknown_request: "));
    let again = client.ask("Helper/FileWrite", &request);
    assert_eq!(again.completed().code, "approval_expired");
    assert_eq!((world.written(), world.count("begin")), (None, 0));
}

#[test]
fn two_must_agree_where_the_rule_says_two_and_one_is_not_two() {
    let world = World::new(by_two);
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &world.write(b"both"));
    let id = &waiting.approval_id;
    assert_eq!(approve(&mut world.operator(OPERATOR), id), Ok(1));
    let twice = approve(&mut world.operator(OPERATOR), id);
    assert!(twice.unwrap_err().1.starts_with("denied: "));
    assert_eq!((world.written(), world.count("begin")), (None, 0));
    assert_eq!(approve(&mut world.operator(OTHER_OPERATOR), id), Ok(0));
    assert_eq!(client.answer(stream).completed().status(), Status::Done);
    assert!(world.log().join("").contains(&format!("\"uids\":[{OPERATOR},{OTHER_OPERATOR}]")));
}

#[test]
fn what_waits_ends_with_the_helper_and_counts_as_interrupted() {
    let mut world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let request = world.write(b"x");
    let (_, waiting) = ask(&mut client, "Helper/FileWrite", &request);
    let text = show(&mut world.operator(OPERATOR), &waiting.approval_id);
    world.restart();
    eventually("it is recorded", || world.count("interrupted") == 1);
    let late = decide(&mut world.operator(OPERATOR), &waiting.approval_id, &text, Verdict::Approve, "");
    assert!(late.unwrap_err().1.starts_with("unknown_request: "));
    let again = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!(again.completed().status(), Status::Interrupted);
    assert_eq!(world.written(), None);
}

#[test]
fn a_file_that_changes_while_the_question_stands_is_not_written() {
    let world = World::new(asking);
    fs::write(world.path("site/a.html"), "before").unwrap();
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &world.write(b"after"));
    fs::write(world.path("site/a.html"), "by another").unwrap();
    approve(&mut world.operator(OPERATOR), &waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).completed().code, "precondition_failed");
    assert_eq!(world.written().unwrap(), b"by another");
}

#[test]
fn a_plan_that_no_person_can_read_is_not_asked() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let long = client.ask("Helper/FileWrite", &world.write("x\n".repeat(2000).as_bytes()));
    assert_eq!(long.refused().code, "plan_too_large");
    let wide = client.ask("Helper/FileWrite", &world.write(&vec![b'x'; 256 * 1024]));
    assert_eq!(wide.refused().code, "plan_too_large");
    ask(&mut client, "Helper/FileWrite", &world.write("x\n".repeat(1900).as_bytes()));
    assert_eq!((world.count("pending"), world.helper.approvals.list().len()), (1, 1));
}

#[test]
fn a_client_that_hung_up_finds_the_outcome_later() {
    let world = World::new(asking);
    let request = world.write(b"later");
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &request);
    client.stream.write_all(&encode(stream, CANCEL, &[]).unwrap()).unwrap();
    drop(client);
    approve(&mut world.operator(OPERATOR), &waiting.approval_id).unwrap();
    // Its outcome is kept for whoever asks again right after its record.
    eventually("it is done", || world.count("end") == 1 && world.helper.requests.running().is_empty());
    let again = world.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    assert_eq!((again.completed().status(), again.completed().replayed), (Status::Done, true));
}

#[test]
fn to_read_can_be_asked_for_too_and_dry_runs_wait_for_nobody() {
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
    approve(&mut world.operator(OPERATOR), &waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).content(), b"secret");
    for mode in [Mode::Check, Mode::Preview] {
        let mut request = world.write(b"x");
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
fn while_paused_nothing_begins_also_what_is_approved_and_after_a_restart() {
    let mut world = World::new(|at| {
        let allowed = root::Rule { files: strings(&["*.txt"]), ..site_rules(at).remove(0) };
        let mut rules = asking(at);
        rules.push(root::Rule { id: "text".to_owned(), ..allowed });
        rules
    });
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &world.write(b"x"));
    let mut operator = world.operator(OPERATOR);
    let pause = wire::OperatorPauseRequest { reason: "looking into it".to_owned() };
    let paused: wire::OperatorPaused = call(&mut operator, "Operator/Pause", &pause).unwrap();
    assert!(paused.running.is_empty(), "what waits does not run");
    let text = |world: &World| write_request(&world.text("site/a.txt"), b"x", "any");
    let refused = client.ask("Helper/FileWrite", &text(&world));
    assert_eq!(refused.refused().code, "paused");
    assert!(refused.refused().message.contains("looking into it"));
    approve(&mut operator, &waiting.approval_id).unwrap();
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
fn whoever_watches_is_told_and_the_journal_names_it() {
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
    let (_, waiting) = ask(&mut client, "Helper/FileWrite", &world.write(b"x"));
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
    decide(&mut world.operator(OPERATOR), &waiting.approval_id, b"", Verdict::Deny, "").unwrap();
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
fn another_name_of_a_unit_is_no_way_round_ask() {
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
    let text = String::from_utf8(show(&mut world.operator(OPERATOR), &waiting.approval_id)).unwrap();
    assert!(text.contains("\nrule guarded\n"), "the rule that asks is the one that is named: {text}");
    assert_eq!(world.count("begin"), 0);
    assert!(world.log().join("").contains("\"rule\":\"guarded\",\"decision\":\"ask\""));
}

#[test]
fn a_unit_that_changes_while_the_question_stands_is_left_alone() {
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
    approve(&mut world.operator(OPERATOR), &waiting.approval_id).unwrap();
    assert_eq!(client.answer(stream).completed().code, "plan_changed");
    assert!(!world.path("is_up.stopped").exists());
}

#[test]
fn the_text_says_what_is_done_to_each_unit_that_comes_along() {
    let world = World::new(|_| {
        let rule = unit_rule("u", "nginx.service", &["unit.enable", "unit.start"]);
        vec![asked(root::Rule { allow_cascade: true, ..rule })]
    });
    let shown = |id: &str| {
        format!("Id={id}\\nNames={id}\\nLoadState=loaded\\nActiveState=inactive\\nUnitFileState=disabled\\n")
    };
    world.systemctl(&format!(
        "case \"$*\" in cat*) printf '[Install]\\nAlso=other.service\\n';; *other*) printf '{}';; show*) printf '{}';; esac",
        shown("other.service"),
        shown("nginx.service")
    ));
    let unit = "nginx.service".to_owned();
    let request = wire::UnitEnableRequest { meta: meta(Mode::Execute), unit, now: true };
    let mut client = world.connect(CLIENT_UID);
    let (_, waiting) = ask(&mut client, "Helper/UnitEnable", &request);
    let text = String::from_utf8(show(&mut world.operator(OPERATOR), &waiting.approval_id)).unwrap();
    let plan = "enable nginx.service, which is inactive and disabled\nstart nginx.service, which is inactive and disabled\nenable other.service, which is inactive and disabled; it comes along (Also= of nginx.service)\n";
    assert!(text.contains(plan), "{text}");
}

#[test]
fn a_denied_thing_is_not_asked_again_in_other_words() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let (_, waiting) = ask(&mut client, "Helper/FileWrite", &world.write(b"evil"));
    decide(&mut world.operator(OPERATOR), &waiting.approval_id, b"", Verdict::Deny, "no").unwrap();
    let mut client = world.connect(CLIENT_UID);
    for (expect, mode) in [("absent", ""), ("any", "0644")] {
        let mut same = world.write(b"evil");
        let change = same.change.as_mut().unwrap();
        (change.expect, change.mode) = (expect.to_owned(), mode.to_owned());
        assert_eq!(client.ask("Helper/FileWrite", &same).refused().code, "denied_recently");
    }
    assert!(world.helper.approvals.list().is_empty());
}

#[test]
fn the_most_approvers_of_any_rule_that_asks_are_needed() {
    let world = World::new(|at| {
        let one = asking(at).remove(0);
        let two = root::Rule { id: "stricter".to_owned(), approvers: 2, approval_ttl_s: 60, ..one.clone() };
        vec![one, two]
    });
    let mut client = world.connect(CLIENT_UID);
    let (_, waiting) = ask(&mut client, "Helper/FileWrite", &world.write(b"x"));
    assert_eq!(approve(&mut world.operator(OPERATOR), &waiting.approval_id), Ok(1));
}

#[test]
fn a_client_cannot_make_its_questions_short_to_ask_more_of_them() {
    let world = World::new(asking);
    let mut client = world.connect(CLIENT_UID);
    let mut request = world.write(b"x");
    request.meta.as_mut().unwrap().wait_ms = 1;
    ask(&mut client, "Helper/FileWrite", &request);
    world.helper.approvals.expire(world.helper.boottime() + Duration::from_secs(55));
    assert_eq!(world.helper.approvals.list().len(), 1);
}

#[test]
fn a_pause_that_no_disk_took_ends_too() {
    let world = World::new(asking);
    let mut operator = world.operator(OPERATOR);
    let pause = wire::OperatorPauseRequest { reason: "x".to_owned() };
    call::<wire::OperatorPaused>(&mut operator, "Operator/Pause", &pause).unwrap();
    fs::remove_file(world.path("state/paused")).unwrap();
    call::<wire::OperatorResumed>(&mut operator, "Operator/Resume", &wire::OperatorResumeRequest {}).unwrap();
    assert_eq!(world.helper.paused(), None);
}

#[test]
fn a_diff_cuts_what_is_equal_and_ends_where_nobody_reads_on() {
    let diff = |old: &str, new: &str| {
        String::from_utf8(postern_helper::question::diff(old.as_bytes(), new.as_bytes())).unwrap()
    };
    assert_eq!(diff("", "a\nb"), "at line 1\n+a\n+b\n\\ no line feed at the end\n");
    assert_eq!(diff("a\n", ""), "at line 1\n-a\n");
    assert_eq!(diff("a\na\na\n", "a\na\n"), "at line 1\n a\n a\n-a\n");
    assert_eq!(
        diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n"),
        "at line 2\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"
    );
    assert_eq!(diff("a\nb", "a\nb\n"), "at line 1\n a\n-b\n\\ no line feed at the end\n+b\n");
    let much = "\n".repeat(4 * 1024 * 1024);
    let len = diff("", &much).len();
    assert!((256 * 1024..300 * 1024).contains(&len), "{len}");
}
