//! The path of a request: what is asked of whom, in which order, and what the client gets.

use crate::common::{
    CLIENT_UID, World, asked, change, describe, eventually, meta, new_id, rule, site, start, strings, unit,
    write,
};
use crate::fakes::{Arrived, Question, absent, close, done, facts, of_unit, park, send, state};
use postern_policy::types::Digest;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Decision, Mode, Status, event};
use prost::Message;
use std::sync::mpsc;
use std::time::Duration;

fn executed(world: &World) -> Vec<Arrived> {
    world.recorder.executed.lock().unwrap().clone()
}

fn digest(bytes: &[u8]) -> Vec<u8> {
    Digest::of(&[bytes]).as_bytes().to_vec()
}

#[test]
fn passes_a_granted_write_on_with_its_facts_and_its_content_apart() {
    let world = World::new(vec![site(&["file.write"])]);
    let mut request = write("/srv/site/a", b"hello\n", "absent");
    let meta = request.meta.as_mut().unwrap();
    (meta.reason, meta.task, meta.claimed_uid) = ("because".to_owned(), "t-1".to_owned(), 1000);
    let id = meta.request_id.clone();
    let answer = world.ask("Helper/FileWrite", &request);
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.plan.clone().unwrap().files[0].new_size), (Status::Done, 6));
    let Some(event::Kind::Accepted(accepted)) = &answer.events[0].kind else { panic!("{answer:?}") };
    assert_eq!((accepted.decision(), accepted.rule.as_str()), (Decision::Allow, "site"));

    let inspected = world.recorder.inspected.lock().unwrap()[0].clone();
    assert!(inspected.claim.event.is_empty() && inspected.order.facts.is_none());
    assert_eq!((inspected.order.policy_digest.len(), inspected.order.contents.len()), (32, 1));
    let [Arrived { claim, order, content, secrets, body, .. }] = executed(&world).try_into().unwrap();
    assert_eq!(order.order_id, link::order_id(CLIENT_UID, &id));
    assert_eq!((order.uid, order.verb.as_str(), order.rule.as_str()), (CLIENT_UID, "file.write", "site"));
    assert_eq!((order.decision(), order.facts), (Decision::Allow, Some(absent(&inspected))));
    let accepted = std::fs::read(world.path("accepted.pb")).unwrap();
    let accepted = root::AcceptedPolicy::decode(accepted.as_slice()).unwrap();
    assert_eq!(order.policy_digest, accepted.digest);
    assert_eq!(order.contents, [root::Content { size: 6, sha256: digest(b"hello\n") }]);
    let without = wire::FileChange { content: Vec::new(), ..request.change.clone().unwrap() };
    let without = wire::FileWriteRequest { change: Some(without), ..request.clone() };
    assert_eq!(order.body, without.encode_to_vec(), "the client's own message, less the content");
    assert_eq!((content.as_slice(), secrets, body.len()), (&b"hello\n"[..], None, 32));

    let objects = strings(&["dir:/srv/site"]);
    assert_eq!((claim.event.as_str(), claim.family.as_str(), claim.objects), ("begin", "files", objects));
    assert_eq!((claim.uid, claim.gid, claim.pid), (CLIENT_UID, CLIENT_UID, 77));
    assert_eq!((claim.client.as_str(), claim.request_id, claim.verb.as_str()), ("agent", id, "file.write"));
    assert_eq!((claim.reason.as_str(), claim.task.as_str(), claim.claimed_uid), ("because", "t-1", 1000));
    assert_eq!(
        (claim.target.as_str(), claim.rule.as_str(), claim.decision.as_str()),
        ("/srv/site/a", "site", "allow")
    );
    assert_eq!(
        (claim.wait_ms, claim.risk_score, claim.capabilities),
        (20_000, 40, strings(&["filesystem.write"]))
    );
    let sha256 = Digest::of(&[b"hello\n"]);
    let args = format!(r#"{{"path":"/srv/site/a","size":6,"sha256":"{sha256}","expect":"absent"}}"#);
    assert_eq!(claim.args_json, args);
    let step = format!(r#""action":"write","new_size":6,"new_sha256":"{sha256}","mode":"0644""#);
    assert_eq!(claim.plan_json, format!(r#"{{"files":[{{"path":"/srv/site/a",{step}}}]}}"#));
    assert!(world.recorder.events().is_empty(), "the recorder records orders itself");
}

#[test]
fn check_asks_nobody_and_preview_asks_for_facts_alone() {
    let world = World::new(vec![site(&["file.write"]), unit("u", "x.service", &["unit.start"])]);
    let request = |mode| wire::FileWriteRequest { meta: meta(mode), ..write("/srv/site/a", b"x", "any") };
    let checked = world.ask("Helper/FileWrite", &request(Mode::Check));
    assert_eq!((checked.completed().status(), checked.completed().plan.clone()), (Status::Previewed, None));
    assert_eq!(checked.events.len(), 1);
    assert!(world.recorder.inspected.lock().unwrap().is_empty());
    let previewed = world.ask("Helper/FileWrite", &request(Mode::Preview));
    assert_eq!(previewed.completed().status(), Status::Previewed);
    let file = previewed.completed().plan.clone().unwrap().files.remove(0);
    assert_eq!(
        (file.path.as_str(), file.new_size, file.mode.as_str(), file.owner.as_str()),
        ("/srv/site/a", 1, "0644", "root")
    );
    let start = wire::UnitStartRequest { meta: meta(Mode::Preview), unit: "x.service".to_owned() };
    let plan = world.ask("Helper/UnitStart", &start).completed().plan.clone().unwrap();
    assert_eq!((plan.units[0].verb.as_str(), plan.units[0].active.as_str()), ("start", "active"));
    assert!(executed(&world).is_empty() && world.recorder.recalls.lock().unwrap().is_empty());
    assert_eq!(world.recorder.events(), ["previewed"; 3]);
    assert_eq!(world.recorder.note("previewed").decision, "allow");
}

#[test]
fn gives_one_answer_outside_the_grant_and_touches_nothing() {
    let world = World::new(vec![site(&["file.write"]), unit("u", "x.service", &["unit.start"])]);
    for path in ["/etc/hostname", "/etc/missing"] {
        let answer = world.ask("Helper/FileWrite", &write(path, b"x", "any"));
        let refused = answer.refused();
        let expected = (String::from("no_grant"), format!("file.write {path}"));
        assert_eq!((refused.code.clone(), refused.missing.clone()), expected);
        assert_eq!(refused.granted_nearby, ["/srv/site/*"]);
    }
    for name in ["ssh.service", "none.service"] {
        let answer = world.ask("Helper/UnitStart", &start(name));
        assert_eq!(answer.refused().missing, format!("unit.start {name}"));
        assert_eq!(answer.refused().message, "no rule grants unit.start of this");
    }
    assert!(
        world.recorder.inspected.lock().unwrap().is_empty()
            && world.recorder.recalls.lock().unwrap().is_empty()
    );
    assert!(world.probe.asked.lock().unwrap().is_empty());
    let note = world.recorder.note("refused");
    assert_eq!(
        (note.code.as_str(), note.missing.as_str(), note.status.as_str()),
        ("no_grant", "file.write /etc/hostname", "refused")
    );
}

#[test]
fn an_invalid_argument_is_refused_by_name_and_the_record_has_the_id() {
    let world = World::new(vec![site(&["file.write"])]);
    let request = write("/srv/site/../a", b"x", "any");
    let answer = world.ask("Helper/FileWrite", &request);
    assert_eq!(answer.refused().code, "invalid_argument");
    assert!(answer.refused().message.starts_with("path: "), "{:?}", answer.refused());
    assert_eq!(world.recorder.note("refused").request_id, request.meta.unwrap().request_id);
    let mut request = write("/srv/site/a", b"x", "any");
    request.meta.as_mut().unwrap().request_id = "\u{1b}[2J not an id".to_owned();
    assert!(world.ask("Helper/FileWrite", &request).refused().message.starts_with("request_id: "));
    let ids =
        world.recorder.notes.lock().unwrap().iter().map(|note| note.request_id.clone()).collect::<Vec<_>>();
    assert_eq!(ids[1], "", "what is no id is not recorded as one");
}

#[test]
fn a_repeated_id_returns_the_recorded_outcome_without_acting() {
    let world = World::new(vec![site(&["file.write"])]);
    let request = write("/srv/site/a", b"x", "any");
    let id = request.meta.clone().unwrap().request_id;
    let completed = wire::Completed { status: Status::Done.into(), undoable: true, ..Default::default() };
    let known =
        root::Recalled { state: "ended".to_owned(), completed: Some(completed), ..Default::default() };
    world.recorder.ids.lock().unwrap().insert(id.clone(), known);
    let answer = world.ask("Helper/FileWrite", &request);
    let completed = answer.completed();
    assert_eq!((completed.status(), completed.replayed, completed.undoable), (Status::Done, true, true));
    assert!(executed(&world).is_empty() && world.recorder.inspected.lock().unwrap().is_empty());
    let note = world.recorder.note("served");
    assert_eq!((note.request_id, note.status.as_str()), (id.clone(), "done"));
    for (state, code) in [("conflict", "request_id_conflict"), ("expired", "request_id_expired")] {
        let known = root::Recalled { state: state.to_owned(), ..Default::default() };
        world.recorder.ids.lock().unwrap().insert(id.clone(), known);
        assert_eq!(world.ask("Helper/FileWrite", &request).refused().code, code);
    }
}

#[test]
fn request_digests_are_stable_across_restarts_and_reveal_no_secret() {
    let world = World::new(vec![site(&["file.write"])]);
    let request = write("/srv/site/a", b"x", "any");
    world.ask("Helper/FileWrite", &request);
    let mut again = crate::common::World::new(vec![site(&["file.write"])]);
    // The second broker has the first one's directory.
    let host = crate::common::host(world.directory.path());
    again.state = std::sync::Arc::new(postern_broker::state::State::open(host).unwrap());
    again.ask("Helper/FileWrite", &request);
    let other = write("/srv/site/a", b"y", "any");
    again.ask("Helper/FileWrite", &wire::FileWriteRequest { meta: request.meta.clone(), ..other });
    let recalls = world.recorder.recalls.lock().unwrap().clone();
    let digests = recalls.iter().map(|recall| recall.body_sha256.clone()).collect::<Vec<_>>();
    assert_eq!((digests.len(), digests[0] == digests[1], digests[0] == digests[2]), (3, true, false));
    let plain = digest(&[b"Helper/FileWrite\0".as_slice(), &request.encode_to_vec()].concat());
    assert_ne!(digests[0], plain);
}

#[test]
fn attaches_to_a_request_that_runs() {
    let world = World::new(vec![unit("u", "x.service", &["unit.start"])]);
    let request = start("x.service");
    let known = root::Recalled { state: "running".to_owned(), ..Default::default() };
    world.recorder.ids.lock().unwrap().insert(request.meta.clone().unwrap().request_id, known);
    world.recorder.on_execute(|_, stream| {
        let progress = wire::Progress { item: "x.service".to_owned(), ..Default::default() };
        let kind = Some(event::Kind::Progress(progress));
        send(stream, Kind::Event, &wire::Event { seq: 0, kind });
        send(stream, Kind::Recorded, &done());
    });
    let answer = world.ask("Helper/UnitStart", &request);
    let kinds = answer.events.iter().map(|event| event.kind.clone().unwrap()).collect::<Vec<_>>();
    assert!(matches!(&kinds[0], event::Kind::Accepted(accepted) if accepted.attached), "{kinds:?}");
    assert!(matches!(&kinds[1], event::Kind::Progress(progress) if progress.item == "x.service"));
    assert_eq!((answer.completed().status(), executed(&world).len()), (Status::Done, 0));
    assert!(world.probe.asked.lock().unwrap().is_empty(), "nothing is planned anew");
    assert_eq!(answer.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn concurrent_calls_with_the_same_id_attach_to_the_first() {
    let world = World::new(vec![root::Rule {
        rate_count: 1,
        rate_window_s: 3600,
        ..unit("u", "x.service", &["unit.start"])
    }]);
    world.recorder.on_execute(|_, stream| {
        send(stream, Kind::Recalled, &root::Recalled { state: "running".to_owned(), ..Default::default() });
        send(stream, Kind::Recorded, &done());
    });
    for _ in 0..2 {
        let answer = world.ask("Helper/UnitStart", &start("x.service"));
        assert_eq!(answer.completed().status(), Status::Done, "the use of the rule was given back");
    }
}

#[test]
fn a_request_that_waits_for_people_holds_no_place_and_goes_on_when_they_approve() {
    let world = World::new(vec![asked(unit("u", "x.service", &["unit.start"]))]);
    let (approve, approved) = mpsc::channel::<()>();
    world.recorder.on_execute(move |arrived, stream| {
        assert_eq!((arrived.claim.decision.as_str(), arrived.claim.approvers), ("ask", 1));
        assert_eq!((arrived.order.decision(), arrived.claim.approval_ttl_s), (Decision::Ask, 60));
        park(stream, "a-1");
        approved.recv().unwrap();
        park(stream, "");
        send(stream, Kind::Recorded, &done());
    });
    let mut channel = world.connect(CLIENT_UID);
    let mut request = start("x.service");
    // The waiting of the client is shorter than people may take: an hour it is not, a minute it is.
    request.meta.as_mut().unwrap().wait_ms = 300;
    let stream = channel.send("Helper/UnitStart", &request.encode_to_vec());
    assert!(matches!(channel.event(), event::Kind::Accepted(_)));
    let event::Kind::Waiting(waiting) = channel.event() else { panic!("not waiting") };
    assert_eq!((waiting.approval_id.as_str(), waiting.expires_unix_s), ("a-1", 2_000_000_000));
    assert_eq!(waiting.plan.unwrap().units[0].verb, "start");
    eventually("its place is given up", || world.state.running.used() == 0);
    std::thread::sleep(Duration::from_millis(500));
    approve.send(()).unwrap();
    assert_eq!(channel.answer(stream).completed().status(), Status::Done);
    eventually("its place is given back", || world.state.running.used() == 0);
    assert!(world.state.waiting.lock().unwrap().is_empty());
}

#[test]
fn a_client_that_leaves_does_not_end_the_waiting_of_its_request() {
    let world = World::new(vec![asked(unit("u", "x.service", &["unit.start"]))]);
    let (approve, approved) = mpsc::channel::<()>();
    let (told, still_there) = mpsc::channel::<bool>();
    world.recorder.on_execute(move |_, stream| {
        park(stream, "a-1");
        approved.recv().unwrap();
        told.send(!postern_peers::hung_up(stream)).unwrap();
        send(stream, Kind::Recorded, &done());
    });
    let mut channel = world.connect(CLIENT_UID);
    channel.send("Helper/UnitStart", &start("x.service").encode_to_vec());
    assert!(matches!(channel.event(), event::Kind::Accepted(_)));
    assert!(matches!(channel.event(), event::Kind::Waiting(_)));
    drop(channel.client.take());
    channel.left();
    std::thread::sleep(Duration::from_millis(700));
    approve.send(()).unwrap();
    assert!(still_there.recv().unwrap(), "the broker keeps the order's connection");
}

#[test]
fn a_call_attached_to_a_waiting_request_sees_its_plan_and_may_leave() {
    let world = World::new(vec![asked(unit("u", "x.service", &["unit.start"]))]);
    let (approve, approved) = mpsc::channel::<()>();
    let approved = std::sync::Mutex::new(approved);
    world.recorder.on_execute(move |arrived, stream| {
        park(stream, "a-1");
        if !arrived.bytes.is_empty() {
            return;
        }
        approved.lock().unwrap().recv_timeout(Duration::from_secs(20)).ok();
    });
    let request = start("x.service");
    let known = root::Recalled { state: "running".to_owned(), ..Default::default() };
    let id = request.meta.clone().unwrap().request_id;
    world.state.waiting.lock().unwrap().insert(
        "a-1".to_owned(),
        wire::Plan { units: vec![wire::UnitStep::default()], ..Default::default() },
    );
    world.recorder.ids.lock().unwrap().insert(id, known);
    let mut channel = world.connect(CLIENT_UID);
    channel.send("Helper/UnitStart", &request.encode_to_vec());
    assert!(matches!(channel.event(), event::Kind::Accepted(accepted) if accepted.attached));
    let event::Kind::Waiting(waiting) = channel.event() else { panic!("not waiting") };
    assert_eq!(waiting.plan.unwrap().units.len(), 1);
    drop(channel.client.take());
    channel.left();
    eventually("the state is let go", || std::sync::Arc::strong_count(&world.state) == 1);
    assert_eq!(world.state.waiting.lock().unwrap().len(), 1, "the question is the first call's");
    drop(approve);
}

#[test]
fn a_denied_client_backs_off_by_target_whatever_bytes_it_changes() {
    let world = World::new(vec![asked(site(&["file.write"]))]);
    world.recorder.on_execute(|_, stream| {
        park(stream, "a-1");
        close(stream, "not_approved", "not on a Friday");
    });
    let answer = world.ask("Helper/FileWrite", &write("/srv/site/a", b"evil", "any"));
    assert_eq!(
        (answer.refused().code.as_str(), answer.refused().message.as_str()),
        ("not_approved", "not on a Friday")
    );
    for (content, expect) in [(&b"evil"[..], "any"), (b"evil!", "any"), (b"evil", "absent")] {
        let answer = world.ask("Helper/FileWrite", &write("/srv/site/a", content, expect));
        assert_eq!(
            (answer.refused().code.as_str(), answer.refused().message.as_str()),
            ("denied_recently", "not on a Friday")
        );
        assert!(answer.refused().retry_after_s > 0);
    }
    assert_eq!(
        (executed(&world).len(), world.recorder.inspected.lock().unwrap().len()),
        (1, 1),
        "nothing is planned either"
    );
    // A restart forgets nothing, and dry runs ask nobody.
    let state = postern_broker::state::State::open(crate::common::host(world.directory.path())).unwrap();
    let world = World { state: std::sync::Arc::new(state), ..world };
    let answer = world.ask("Helper/FileWrite", &write("/srv/site/a", b"again", "any"));
    assert_eq!(answer.refused().code, "denied_recently");
    let preview =
        wire::FileWriteRequest { meta: meta(Mode::Preview), ..write("/srv/site/a", b"evil", "any") };
    assert_eq!(world.ask("Helper/FileWrite", &preview).completed().decision(), Decision::Ask);
    world.recorder.on_execute(|_, stream| {
        park(stream, "a-2");
        park(stream, "");
        send(stream, Kind::Recorded, &done());
    });
    assert_eq!(
        world.ask("Helper/FileWrite", &write("/srv/site/b", b"evil", "any")).completed().status(),
        Status::Done
    );
    assert!(
        world.recorder.notes.lock().unwrap().iter().all(|note| note.code != "not_approved"),
        "recorded by the recorder"
    );
}

#[test]
fn the_rate_of_every_rule_that_is_used_counts_and_busy_costs_nothing() {
    let limited =
        root::Rule { rate_count: 1, rate_window_s: 3600, ..unit("start", "x.service", &["unit.start"]) };
    let world = World::new(vec![unit("enable", "x.service", &["unit.enable"]), limited]);
    let enable =
        || wire::UnitEnableRequest { meta: meta(Mode::Execute), unit: "x.service".to_owned(), now: true };
    world.recorder.on_execute(|_, stream| close(stream, "busy", "another change of x.service is under way"));
    for _ in 0..3 {
        assert_eq!(world.ask("Helper/UnitEnable", &enable()).refused().code, "busy");
    }
    world.recorder.on_execute(|_, stream| send(stream, Kind::Recorded, &done()));
    assert_eq!(world.ask("Helper/UnitEnable", &enable()).completed().status(), Status::Done);
    let refused = world.ask("Helper/UnitEnable", &enable());
    assert_eq!(refused.refused().message, "rate limit of rule start reached (1 in 3600 s)");
    assert_eq!(executed(&world).last().unwrap().claim.objects, strings(&["unit:x.service", "units"]));
    let notes = world.recorder.notes.lock().unwrap().iter().map(|note| note.code.clone()).collect::<Vec<_>>();
    assert_eq!(notes, ["rate_limited"], "what the recorder refused, it has recorded");
}

#[test]
fn an_expired_wait_does_not_end_the_effect() {
    let world = World::new(vec![unit("u", "x.service", &["unit.start"])]);
    let (release, held) = mpsc::channel::<()>();
    let (ended, end) = mpsc::channel::<()>();
    world.recorder.on_execute(move |_, stream| {
        held.recv().unwrap();
        assert!(!postern_peers::hung_up(stream));
        send(stream, Kind::Recorded, &done());
        ended.send(()).unwrap();
    });
    let mut request = start("x.service");
    request.meta.as_mut().unwrap().wait_ms = 100;
    let answer = world.ask("Helper/UnitStart", &request);
    assert_eq!((answer.completed().status(), answer.completed().code.as_str()), (Status::Failed, "timeout"));
    assert_eq!(executed(&world)[0].claim.wait_ms, 100);
    release.send(()).unwrap();
    end.recv_timeout(Duration::from_secs(20)).unwrap();
}

#[test]
fn a_recorder_that_dies_under_an_order_is_asked_again_what_became_of_it() {
    let world = World::new(vec![unit("u", "x.service", &["unit.start"])]);
    let request = start("x.service");
    let id = request.meta.clone().unwrap().request_id;
    let ids = std::sync::Arc::clone(&world.recorder);
    let known = id.clone();
    world.recorder.on_execute(move |arrived, stream| {
        if arrived.bytes.is_empty() {
            return send(stream, Kind::Recorded, &done());
        }
        // It has begun; then the recorder is killed. The next one knows that it runs.
        let running = root::Recalled { state: "running".to_owned(), ..Default::default() };
        ids.ids.lock().unwrap().insert(known.clone(), running);
    });
    let answer = world.ask("Helper/UnitStart", &request);
    assert_eq!(answer.completed().status(), Status::Done);
    assert_eq!(executed(&world).len(), 1, "an order is sent once");
}

#[test]
fn an_order_fails_if_the_recorder_dies_before_begin() {
    let world = World::new(vec![unit("u", "x.service", &["unit.start"])]);
    world.recorder.on_execute(|_, _| {});
    let answer = world.ask("Helper/UnitStart", &start("x.service"));
    assert_eq!(answer.refused().code, "audit_unavailable");
    assert_eq!(executed(&world).len(), 1);
}

#[test]
fn refuses_every_request_without_a_recorder() {
    let world = World::new(vec![site(&["file.write"]), unit("u", "x.service", &["unit.start"])]);
    std::fs::remove_file(world.path("recorder.sock")).unwrap();
    let check = wire::FileWriteRequest { meta: meta(Mode::Check), ..write("/srv/site/a", b"x", "any") };
    for answer in [
        world.ask("Helper/FileWrite", &check),
        world.ask("Helper/FileWrite", &write("/srv/site/a", b"x", "any")),
        world.ask("Helper/UnitStart", &start("x.service")),
        world.ask("Helper/PolicyDescribe", &describe()),
    ] {
        assert_eq!(answer.refused().code, "audit_unavailable");
        assert_eq!(answer.refused().message, "the audit log cannot be written, so nothing was done");
    }
}

#[test]
fn notes_and_ids_share_one_connection_which_is_opened_anew_if_it_breaks() {
    let world = World::new(vec![site(&["file.write"])]);
    let check = || wire::FileWriteRequest { meta: meta(Mode::Check), ..write("/srv/site/a", b"x", "any") };
    for _ in 0..20 {
        world.ask("Helper/FileWrite", &check());
    }
    assert_eq!(*world.recorder.connections.lock().unwrap(), 1);
    std::fs::remove_file(world.path("recorder.sock")).unwrap();
    let recorder = crate::fakes::FakeRecorder::listen(&world.path("recorder.sock"));
    // The old one lives on its one connection; kill that.
    world.recorder.hang_up();
    assert_eq!(world.ask("Helper/FileWrite", &check()).completed().status(), Status::Previewed);
    assert_eq!(recorder.events(), ["previewed"]);
}

#[test]
fn a_request_is_decided_under_one_policy_and_the_next_one_under_the_new() {
    let world = World::new(vec![site(&["file.write"])]);
    let (before, directory) =
        (std::fs::read(world.path("accepted.pb")).unwrap(), world.directory.path().to_owned());
    world.recorder.on_inspect(move |arrived, stream| {
        // An operator applies a policy that admits nobody while facts are gathered.
        std::fs::write(directory.join("accepted.new"), crate::common::accept(root::Rules::default()))
            .unwrap();
        std::fs::rename(directory.join("accepted.new"), directory.join("accepted.pb")).unwrap();
        facts(stream, absent(arrived));
    });
    world.ask("Helper/FileWrite", &write("/srv/site/a", b"x", "any"));
    let old = root::AcceptedPolicy::decode(before.as_slice()).unwrap().digest;
    assert_eq!(executed(&world)[0].order.policy_digest, old, "root and recorder refuse another digest");
    let answer = world.ask("Helper/FileWrite", &write("/srv/site/a", b"x", "any"));
    assert_eq!(answer.refused().code, "no_grant");
    world.apply(vec![site(&["file.write"])]);
    assert_eq!(
        world.ask("Helper/FileWrite", &write("/srv/site/a", b"x", "any")).completed().status(),
        Status::Done
    );
}

#[test]
fn a_damaged_or_missing_policy_admits_nobody() {
    let world = World::new(vec![site(&["file.write"])]);
    std::fs::write(world.path("accepted.pb"), b"\xff\xff").unwrap();
    let answer = world.ask("Helper/FileWrite", &write("/srv/site/a", b"x", "any"));
    assert_eq!(answer.refused().code, "unknown_client");
    assert!(
        world.recorder.note("refused").detail.contains("damaged"),
        "{:?}",
        world.recorder.note("refused")
    );
    std::fs::remove_file(world.path("accepted.pb")).unwrap();
    let answer = world.ask("Helper/FileWrite", &write("/srv/site/a", b"x", "any"));
    assert_eq!(answer.refused().message, "no policy has been accepted; an operator must apply one");
}

#[test]
fn a_read_goes_to_the_recorder_and_needs_no_id_unless_people_are_asked() {
    let read = |path: &str| wire::FileReadRequest {
        meta: meta(Mode::Execute),
        path: path.to_owned(),
        offset: 0,
        limit: 0,
    };
    let world = World::new(vec![
        root::Rule { files: strings(&["*.txt"]), ..site(&["file.read"]) },
        asked(root::Rule { id: "secret".to_owned(), files: strings(&["*.key"]), ..site(&["file.read"]) }),
    ]);
    world.recorder.on_inspect(|arrived, stream| {
        assert_eq!((arrived.claim.event.as_str(), arrived.claim.family.as_str()), ("served", "files"));
        if arrived.claim.decision == "ask" {
            park(stream, "a-1");
            return close(stream, "not_approved", "no");
        }
        let content = wire::Stream::Content.into();
        let output = wire::Output { stream: content, data: b"text".to_vec(), ..Default::default() };
        let kind = Some(event::Kind::Output(output));
        send(stream, Kind::Event, &wire::Event { seq: 0, kind });
        send(stream, Kind::Recorded, &done());
    });
    let answer = world.ask("Helper/FileRead", &read("/srv/site/a.txt"));
    assert!(matches!(&answer.events[1].kind, Some(event::Kind::Output(output)) if output.data == b"text"));
    assert!(world.recorder.recalls.lock().unwrap().is_empty());
    assert_eq!(world.ask("Helper/FileRead", &read("/srv/site/a.key")).refused().code, "not_approved");
    assert_eq!(world.recorder.recalls.lock().unwrap().len(), 1);
    assert_eq!(world.ask("Helper/FileRead", &read("/srv/site/a.key")).refused().code, "denied_recently");
}

#[test]
fn a_recorded_outcome_is_told_to_its_own_client_alone() {
    let world = World::new(Vec::new());
    let of = new_id();
    let result = || wire::RequestResultRequest { meta: meta(Mode::Execute), of: of.clone() };
    assert_eq!(world.ask("Helper/RequestResult", &result()).refused().code, "unknown_request");
    let recall = world.recorder.recalls.lock().unwrap()[0].clone();
    assert_eq!(
        (recall.uid, recall.request_id, recall.body_sha256.len(), recall.attach),
        (CLIENT_UID, of.clone(), 0, false)
    );
    let known = |state: &str| root::Recalled {
        state: state.to_owned(),
        completed: done().completed,
        ..Default::default()
    };
    world.recorder.ids.lock().unwrap().insert(of.clone(), known("running"));
    assert_eq!(world.ask("Helper/RequestResult", &result()).refused().code, "busy");
    world.recorder.ids.lock().unwrap().insert(of.clone(), known("ended"));
    assert!(world.ask("Helper/RequestResult", &result()).completed().replayed);
}

#[test]
fn unit_state_under_ask_is_hidden_until_approval() {
    let rules = |status: bool| {
        let mut rules =
            vec![asked(root::Rule { allow_cascade: true, ..unit("u", "*.service", &["unit.stop"]) })];
        if status {
            rules.push(unit("s", "*.service", &["unit.status"]));
        }
        rules
    };
    for (may_see, expected) in [(false, ""), (true, "active")] {
        let world = World::new(rules(may_see));
        world.probe.on(|_, stream| {
            let mut facts = of_unit(state("x.service", "active"));
            let other = root::AffectedUnit {
                unit: Some(state("y.service", "active")),
                effect: "stop".to_owned(),
                cause: "RequiredBy= of x.service".to_owned(),
            };
            facts.unit.as_mut().unwrap().affected.push(other);
            send(stream, Kind::Facts, &facts);
        });
        world.recorder.on_execute(|_, stream| {
            park(stream, "a-1");
            close(stream, "approval_expired", "late");
        });
        let stop = |mode| wire::UnitStopRequest { meta: meta(mode), unit: "x.service".to_owned() };
        let previewed = world.ask("Helper/UnitStop", &stop(Mode::Preview)).completed().plan.clone().unwrap();
        let answer = world.ask("Helper/UnitStop", &stop(Mode::Execute));
        let waiting = answer.events.iter().find_map(|event| match &event.kind {
            Some(event::Kind::Waiting(waiting)) => waiting.plan.clone(),
            _ => None,
        });
        for plan in [previewed, waiting.unwrap()] {
            let steps = plan
                .units
                .iter()
                .map(|step| (step.id.as_str(), step.verb.as_str(), step.cascade, step.active.as_str()));
            let all = [("x.service", "stop", false, expected), ("y.service", "stop", true, expected)];
            // Before consent even its being affected tells that it is active.
            assert_eq!(steps.collect::<Vec<_>>(), if may_see { &all[..] } else { &all[..1] });
        }
        let claim = executed(&world)[0].claim.clone();
        assert!(claim.plan_json.contains(r#""active":"active""#), "people see all: {}", claim.plan_json);
        assert_eq!(claim.objects, strings(&["unit:x.service", "unit:y.service"]));
    }
}

#[test]
fn shows_old_content_only_to_clients_that_may_read_it() {
    let old = |arrived: &Arrived| {
        let mut facts = absent(arrived);
        let file = &mut facts.files[0];
        (file.exists, file.size, file.sha256, file.mode) = (true, 9, digest(b"old"), 0o600);
        facts
    };
    let sha256 = Digest::of(&[b"old"]).to_string();
    for (verbs, told) in [(&["file.write"][..], ""), (&["file.write", "file.read"], sha256.as_str())] {
        let world = World::new(vec![site(verbs)]);
        world.recorder.on_inspect(move |arrived, stream| facts(stream, old(arrived)));
        let preview =
            wire::FileWriteRequest { meta: meta(Mode::Preview), ..write("/srv/site/a", b"x", "any") };
        let step = world.ask("Helper/FileWrite", &preview).completed().plan.clone().unwrap().files.remove(0);
        assert_eq!(
            (step.old_sha256.as_str(), step.old_size > 0, step.mode.as_str()),
            (told, !told.is_empty(), "0600")
        );
        let answer = world.ask("Helper/FileWrite", &write("/srv/site/a", b"x", &"0".repeat(64)));
        assert_eq!(answer.refused().code, "precondition_failed");
        assert_eq!(
            answer.refused().message.contains(&sha256),
            !told.is_empty(),
            "{}",
            answer.refused().message
        );
        assert_eq!(
            world.ask("Helper/FileWrite", &write("/srv/site/a", b"x", "absent")).refused().code,
            "already_exists"
        );
    }
}

#[test]
fn a_simulation_runs_with_the_flags_of_every_rule_and_names_what_was_asked_for() {
    let install = root::Rule {
        packages: strings(&["nginx*"]),
        recommends: true,
        max_new_packages: 3,
        ..rule("a", &["package.install"])
    };
    let other =
        root::Rule { packages: strings(&["curl"]), allow_upgrades: true, ..rule("b", &["package.install"]) };
    let world = World::new(vec![install, other]);
    let step = |name: &str, asked: bool| wire::PackageStep {
        action: wire::Action::Install.into(),
        name: name.to_owned(),
        arch: "amd64".to_owned(),
        new: "1.0".to_owned(),
        asked,
        ..Default::default()
    };
    world.probe.on(move |_, stream| {
        let steps = vec![step("nginx", false), step("libx", true), step("curl", false)];
        let packages = Some(root::PackageFacts { steps, download_bytes: 7, ..Default::default() });
        send(stream, Kind::Facts, &root::Facts { packages, ..Default::default() });
    });
    let package = |name: &str| wire::Package { name: name.to_owned(), version: String::new() };
    let request = wire::PackageInstallRequest {
        meta: meta(Mode::Execute),
        packages: vec![package("nginx"), package("curl")],
    };
    assert_eq!(world.ask("Helper/PackageInstall", &request).completed().status(), Status::Done);
    let Question::Packages(asked) = world.probe.asked.lock().unwrap()[0].clone() else {
        panic!("not about packages")
    };
    let flags = asked.flags.unwrap();
    assert_eq!((flags.recommends, flags.allow_upgrades, flags.max_new_packages), (false, false, 3));
    assert_eq!((asked.verb.as_str(), asked.body), ("package.install", request.encode_to_vec()));
    let Arrived { claim, order, .. } = executed(&world).remove(0);
    let steps = order.facts.unwrap().packages.unwrap().steps;
    let asked = steps.iter().map(|step| (step.name.as_str(), step.asked)).collect::<Vec<_>>();
    assert_eq!(asked, [("curl", true), ("libx", false), ("nginx", true)], "whatever the simulation says");
    assert_eq!((claim.family.as_str(), claim.objects), ("packages", strings(&["packages"])));
    assert_eq!(claim.args_json, r#"{"packages":[{"name":"nginx"},{"name":"curl"}]}"#);
}

/// Row 10: root runs apt with these very flags.
#[test]
fn a_simulation_runs_with_the_flags_of_the_grant_where_two_rules_grant_a_package() {
    let grants = |id: &str| root::Rule { packages: strings(&["nginx"]), ..rule(id, &["package.install"]) };
    let first = root::Rule { max_new_packages: 1, ..grants("first") };
    let second = root::Rule { max_new_packages: 9, allow_removals: true, ..grants("second") };
    let world = World::new(vec![first, second]);
    let package = wire::Package { name: "nginx".to_owned(), version: String::new() };
    world.ask(
        "Helper/PackageInstall",
        &wire::PackageInstallRequest { meta: meta(Mode::Preview), packages: vec![package] },
    );
    let Question::Packages(asked) = world.probe.asked.lock().unwrap()[0].clone() else {
        panic!("not about packages")
    };
    let flags = asked.flags.unwrap();
    assert!(flags.allow_removals, "some rule grants it: the facts decide which");
    assert_eq!(flags.max_new_packages, 9);
}

/// The recorder answers a read with a line.
fn tells_a_line(world: &World) {
    world.recorder.on_inspect(|_, stream| {
        let (content, data) = (wire::Stream::Content.into(), b"no such port\n".to_vec());
        let output = wire::Output { stream: content, data, ..wire::Output::default() };
        let kind = Some(event::Kind::Output(output));
        send(stream, Kind::Event, &wire::Event { seq: 0, kind });
        send(stream, Kind::Recorded, &done());
    });
}

#[test]
fn a_start_returns_the_journal_lines_that_the_client_may_read() {
    let lines = root::Rule { journal_lines: 5, ..unit("lines", "x.service", &["unit.status"]) };
    let world = World::new(vec![unit("u", "x.service", &["unit.start", "unit.stop"]), lines]);
    tells_a_line(&world);
    let answer = world.ask("Helper/UnitStart", &start("x.service"));
    assert_eq!(answer.completed().status(), Status::Done);
    let is_line = |event: &wire::Event| matches!(&event.kind, Some(event::Kind::Output(output)) if output.data == b"no such port\n");
    assert!(answer.events.iter().any(is_line), "{answer:?}");
    let asked = world.recorder.inspected.lock().unwrap()[0].clone();
    let (claim, order) = (asked.claim, asked.order);
    assert_eq!(
        (claim.event.as_str(), claim.verb.as_str(), claim.rule.as_str()),
        ("served", "unit.status", "lines")
    );
    assert_eq!((order.verb.as_str(), order.uid, order.rule.as_str()), ("unit.status", CLIENT_UID, "lines"));
    let body = wire::UnitStatusRequest::decode(order.body.as_slice()).unwrap();
    assert_eq!((body.unit.as_str(), body.journal_lines), ("x.service", 5));
    assert!(body.since_unix_s > 1_700_000_000, "none that are older than the start");
    // Stopping says nothing.
    let stop = wire::UnitStopRequest { meta: meta(Mode::Execute), unit: "x.service".to_owned() };
    world.ask("Helper/UnitStop", &stop).completed();
    assert_eq!(world.recorder.inspected.lock().unwrap().len(), 1);
}

#[test]
fn requests_no_journal_lines_beyond_the_grant() {
    let start_of_x = || unit("u", "x.service", &["unit.start"]);
    let none = unit("none", "x.service", &["unit.status"]);
    let asks = asked(root::Rule { journal_lines: 5, ..unit("asks", "x.service", &["unit.status"]) });
    for rules in [vec![start_of_x()], vec![start_of_x(), none], vec![start_of_x(), asks]] {
        let world = World::new(rules);
        tells_a_line(&world);
        let answer = world.ask("Helper/UnitStart", &start("x.service"));
        assert_eq!(answer.completed().status(), Status::Done);
        assert!(world.recorder.inspected.lock().unwrap().is_empty());
    }
}

#[test]
fn a_simulation_has_the_flags_that_the_run_will_have() {
    // One rule that grants a flag is enough for the run, and the first rule decides about recommended packages.
    let names = || strings(&["nginx"]);
    let first = root::Rule { packages: names(), recommends: true, ..rule("a", &["package.install"]) };
    let second = root::Rule { packages: names(), allow_upgrades: true, ..rule("b", &["package.install"]) };
    let world = World::new(vec![first, second]);
    let packages = vec![wire::Package { name: "nginx".to_owned(), version: String::new() }];
    let request = wire::PackageInstallRequest { meta: meta(Mode::Preview), packages };
    assert_eq!(world.ask("Helper/PackageInstall", &request).completed().status(), Status::Previewed);
    let Question::Packages(asked) = world.probe.asked.lock().unwrap()[0].clone() else {
        panic!("not about packages")
    };
    let flags = asked.flags.unwrap();
    assert_eq!((flags.recommends, flags.allow_upgrades, flags.allow_removals), (true, true, false));
}

#[test]
fn rejects_facts_about_another_object() {
    let world = World::new(vec![site(&["file.write"]), unit("u", "x.service", &["unit.start"])]);
    world.recorder.on_inspect(|arrived, stream| {
        let mut other = absent(arrived);
        other.files[0].path = "/srv/site/other".to_owned();
        facts(stream, other);
    });
    let answer = world.ask("Helper/FileWrite", &write("/srv/site/a", b"x", "any"));
    assert_eq!(answer.refused().code, "interrupted");
    assert_eq!(answer.refused().message, "the helper could not do this; the audit log has the reason");
    for lie in ["Active", "active\n<5>postern-act", "a\u{1b}[2J", &"x".repeat(300)] {
        let lie = lie.to_owned();
        world.probe.on(move |_, stream| send(stream, Kind::Facts, &of_unit(state("x.service", &lie))));
        assert_eq!(world.ask("Helper/UnitStart", &start("x.service")).refused().code, "interrupted");
    }
    world.probe.on(|_, stream| {
        let missing = root::UnitState { load: "not-found".to_owned(), ..state("x.service", "inactive") };
        send(stream, Kind::Facts, &of_unit(missing));
    });
    assert_eq!(world.ask("Helper/UnitStart", &start("x.service")).refused().code, "not_found");
    world.probe.on(|_, stream| close(stream, "unsupported", "this host does not run systemd"));
    assert_eq!(world.ask("Helper/UnitStart", &start("x.service")).refused().code, "unsupported");
    assert!(executed(&world).is_empty());
    assert!(
        world.recorder.notes.lock().unwrap().iter().all(|note| note.detail.chars().all(|c| !c.is_control()))
    );
}

#[test]
fn a_patch_of_many_files_is_one_order_with_one_content_each() {
    let world = World::new(vec![site(&["file.patch", "file.remove"])]);
    let removed =
        wire::FileChange { kind: wire::ChangeKind::Remove.into(), ..change("/srv/site/c", b"", "any") };
    let changes =
        vec![change("/srv/site/a", &[b'a'; 300_000], "any"), removed, change("/srv/site/b", b"", "any")];
    world.recorder.on_inspect(|arrived, stream| {
        let mut found = absent(arrived);
        (found.files[1].exists, found.files[1].mode) = (true, 0o644);
        facts(stream, found);
    });
    let patch = wire::FilePatchRequest { meta: meta(Mode::Execute), changes };
    assert_eq!(world.ask("Helper/FilePatch", &patch).completed().status(), Status::Done);
    let Arrived { order, content, claim, .. } = executed(&world).remove(0);
    assert_eq!(order.contents.iter().map(|content| content.size).collect::<Vec<_>>(), [300_000, 0]);
    assert_eq!(content, vec![b'a'; 300_000]);
    assert_eq!(claim.target, "/srv/site/a /srv/site/c /srv/site/b /srv/site/c");
    eventually("its memory is given back", || world.state.bodies.used() == 0);
}
