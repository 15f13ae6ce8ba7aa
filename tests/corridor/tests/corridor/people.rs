//! Who asked: sessions of people on person.sock.

use crate::approvals::ask;
use crate::commands;
use postern_corridor::{
    ANN, Answer, BOB, CLIENT_UID, GROUP_UID, OPERATOR, World, changing, eventually, meta_with, new_id,
    strings, write_request,
};
use postern_policy::types::Digest;
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode};
use prost::Message;
use serde_json::json;
use std::process::Command;

/// A write in the name of this person, with the token of a session.
fn write(world: &World, claimed_uid: u32, session: &str) -> wire::FileWriteRequest {
    let mut request = write_request(&world.text("site/a"), b"a", "any");
    let meta = request.meta.as_mut().unwrap();
    (meta.claimed_uid, meta.session) = (claimed_uid, session.to_owned());
    request
}

fn send(world: &World, claimed_uid: u32, session: &str) -> Answer {
    world.ask("Helper/FileWrite", &write(world, claimed_uid, session))
}

/// The line of a person's process: which client may quote the session.
fn line() -> String {
    format!("{CLIENT_UID}\n")
}

/// The name of a session in records.
fn name(token: &str) -> String {
    Digest::of(&[token.as_bytes()]).to_string()[..16].to_owned()
}

/// `asked_by` and `claimed_by` of the last record of this event.
fn who(world: &World, event: &str) -> (serde_json::Value, serde_json::Value) {
    let record = world.records(event).pop().unwrap();
    (record["asked_by"].clone(), record["claimed_by"].clone())
}

fn site() -> World {
    World::new(|at| vec![changing(at)])
}

#[test]
fn a_quoted_session_is_recorded_beside_the_claim_until_its_connection_ends() {
    let world = site();
    let (ann, token) = world.session(ANN);
    assert_eq!(send(&world, ANN, &token).code, 0);
    let open = json!({"uid": ANN, "session": name(&token), "proof": "kernel", "open": true});
    assert_eq!(who(&world, "begin"), (open.clone(), json!({"uid": ANN})));
    assert_eq!(who(&world, "end"), (open, json!({"uid": ANN})));
    assert!(!world.log().concat().contains(&token), "auditors cannot use it");
    drop(ann);
    eventually("the session has ended", || world.recorder().sessions.all.lock().unwrap().is_empty());
    assert_eq!(send(&world, ANN, &token).code, 0);
    assert_eq!(who(&world, "begin"), (json!(null), json!({"uid": ANN})));
}

#[test]
fn a_byte_from_the_person_ends_the_session() {
    let world = site();
    let (mut ann, _) = world.session(ANN);
    std::io::Write::write_all(&mut ann, b"x").unwrap();
    eventually("the session has ended", || world.recorder().sessions.all.lock().unwrap().is_empty());
}

#[test]
fn a_session_ends_with_the_process_that_opened_it_though_its_connection_was_handed_on() {
    let world = site();
    let mut process = Command::new("sleep").arg("60").spawn().unwrap();
    let (_handed_on, token) = world.person(ANN, &line(), process.id());
    assert_eq!(send(&world, ANN, &token).code, 0);
    assert_eq!(who(&world, "begin").0["uid"], ANN);
    process.kill().and_then(|()| process.wait()).unwrap();
    eventually("the session has ended", || world.recorder().sessions.all.lock().unwrap().is_empty());
    assert_eq!(send(&world, ANN, &token).code, 0);
    assert_eq!(who(&world, "begin"), (json!(null), json!({"uid": ANN})));
    let hidden = world.person(ANN, &line(), 0).1;
    assert_eq!(hidden, "no session: your process is in another pid namespace");
}

#[test]
fn opens_a_session_for_one_uid_in_one_line_and_answers_anything_else_with_the_reason() {
    let world = site();
    let form = "no session: the uid of a client was expected, in one line";
    for line in ["\n", "x\n", "-1\n", "99999999999\n", "12345678901234567890", "1 2\n", "1\n2\n"] {
        assert_eq!(world.person(ANN, line, std::process::id()).1, form, "{line:?}");
    }
    // Nothing within two seconds.
    assert_eq!(
        world.person(ANN, "", std::process::id()).1,
        "no session: the line with the client's uid did not come"
    );
}

#[test]
fn a_session_counts_only_for_its_person_who_is_still_one_and_no_client_of_the_policy() {
    let world = site();
    // Root and the client are in the group too.
    let group = std::fs::read_to_string(world.path("group")).unwrap();
    std::fs::write(world.path("group"), group.replace("ann,bob", "ann,bob,zero,postern")).unwrap();
    world.add_user("zero", 0);
    let why = "no session: only members of postern-users have one, not root and no client of the policy";
    for uid in [0, CLIENT_UID, OPERATOR] {
        assert_eq!(world.person(uid, &line(), std::process::id()).1, why, "{uid}");
    }
    let (_ann, anns) = world.session(ANN);
    for claimed in [BOB, 0] {
        assert_eq!(send(&world, claimed, &anns).code, 0);
        let claim = if claimed == 0 { json!(null) } else { json!({"uid": claimed}) };
        assert_eq!(who(&world, "begin"), (json!(null), claim), "{claimed}");
    }
    let group = std::fs::read_to_string(world.path("group")).unwrap();
    std::fs::write(world.path("group"), group.replace("ann,bob,zero,postern", "bob")).unwrap();
    assert_eq!(send(&world, ANN, &anns).code, 0);
    assert_eq!(who(&world, "begin"), (json!(null), json!({"uid": ANN})), "she has left postern-users");
    let refused = send(&world, ANN, "no token");
    assert_eq!(refused.refused().code, "invalid_argument");
}

#[test]
fn the_same_request_in_another_session_is_the_same_request() {
    let world = site();
    let (_first, one) = world.session(ANN);
    let (_second, other) = world.session(ANN);
    let id = new_id();
    for token in [&one, &other] {
        let mut request = write(&world, ANN, token);
        let meta = wire::Meta { request_id: id.clone(), ..request.meta.take().unwrap() };
        request.meta = Some(meta);
        assert_eq!(world.ask("Helper/FileWrite", &request).code, 0);
    }
    assert_eq!(world.count("begin"), 1);
}

/// A request of Ann's that waits for approval: the client, its stream, and the approval's id.
fn waiting(world: &World, token: &str) -> (postern_corridor::Channel, u32, String) {
    let mut client = world.connect(CLIENT_UID);
    let (stream, waiting) = ask(&mut client, "Helper/FileWrite", &write(world, ANN, token));
    (client, stream, waiting.approval_id)
}

fn asking() -> World {
    World::new(|at| vec![root::Rule { decision: root::Decision::Ask.into(), approvers: 1, ..changing(at) }])
}

#[test]
fn the_record_says_whether_the_session_was_still_open_when_the_effect_began_and_operators_see_no_token() {
    let world = asking();
    let (ann, token) = world.session(ANN);
    let (mut client, stream, id) = waiting(&world, &token);
    drop(ann);
    eventually("the session has ended", || world.recorder().sessions.all.lock().unwrap().is_empty());
    let shown = world.operator(OPERATOR).show(&id).0;
    assert_eq!(shown.approval.unwrap().asked_by, ANN);
    for bytes in [shown.order, shown.claim] {
        assert!(!bytes.windows(token.len()).any(|part| part == token.as_bytes()));
    }
    assert_eq!(world.operator(OPERATOR).approve(&id), Ok(0));
    assert_eq!(client.answer(stream).code, 0);
    for event in ["pending", "begin", "end"] {
        let mut asked_by = json!({"uid": ANN, "session": name(&token), "proof": "kernel"});
        if event == "pending" {
            asked_by["open"] = json!(true);
        }
        assert_eq!(who(&world, event), (asked_by, json!({"uid": ANN})), "{event}");
    }
}

#[test]
fn the_session_of_somebody_who_has_left_postern_users_is_not_open_when_the_effect_begins() {
    let world = asking();
    let (_ann, token) = world.session(ANN);
    let (mut client, stream, id) = waiting(&world, &token);
    let group = std::fs::read_to_string(world.path("group")).unwrap();
    std::fs::write(world.path("group"), group.replace("ann,bob", "bob")).unwrap();
    assert_eq!(world.operator(OPERATOR).approve(&id), Ok(0));
    assert_eq!(client.answer(stream).code, 0);
    let asked_by = json!({"uid": ANN, "session": name(&token), "proof": "kernel"});
    assert_eq!(who(&world, "begin").0, asked_by);
}

#[test]
fn a_request_without_a_session_is_a_claim_as_ever() {
    let world = site();
    let mut request = write(&world, ANN, "");
    request.meta = Some(wire::Meta { claimed_uid: ANN, ..meta_with(&new_id(), Mode::Execute).unwrap() });
    assert_eq!(world.ask("Helper/FileWrite", &request).code, 0);
    assert_eq!(who(&world, "begin"), (json!(null), json!({"uid": ANN})));
}

#[test]
fn only_the_client_that_the_person_named_can_quote_a_session() {
    let world = World::new(|at| vec![changing(at)]);
    let (_ann, token) = world.session(ANN);
    let recorder = world.recorder();
    assert!(recorder.asker(&token, GROUP_UID, ANN).is_none(), "another client, though it comes first");
    assert!(recorder.asker(&token, CLIENT_UID, ANN).is_some());
    assert!(recorder.asker(&token, CLIENT_UID, BOB).is_none());
}

#[test]
fn four_people_cannot_keep_a_fifth_from_having_a_session() {
    let world = site();
    let many = (1..=4).map(|n| (format!("many{n}"), ANN + 10 + n)).collect::<Vec<_>>();
    for (name, uid) in &many {
        world.add_user(name, *uid);
    }
    let names = many.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(",");
    let group = std::fs::read_to_string(world.path("group")).unwrap();
    std::fs::write(world.path("group"), group.replace("ann,bob", &format!("ann,bob,{names}"))).unwrap();
    let of = |uid: u32| (0..16).map(|_| world.session(uid)).collect::<Vec<_>>();
    let all = many.iter().map(|(_, uid)| of(*uid)).collect::<Vec<_>>();
    let first = many[0].1;
    let refused = world.person(first, &line(), std::process::id()).1;
    assert_eq!(refused, format!("no session: 16 sessions of uid {first} are open already; end one of them"));
    let (_ann, token) = world.session(ANN);
    assert_eq!(send(&world, ANN, &token).code, 0);
    assert_eq!(who(&world, "begin").0["uid"], ANN);
    let recorder = world.recorder();
    let is_open =
        |person: usize, at: usize| recorder.asker(&all[person][at].1, CLIENT_UID, many[person].1).is_some();
    assert!(!is_open(0, 0), "the oldest of those who have most has ended");
    assert!(is_open(0, 1) && is_open(1, 0) && is_open(3, 15));
    assert_eq!(recorder.sessions.all.lock().unwrap().len(), 64);
}

#[test]
fn a_person_who_connects_again_and_again_is_turned_away_and_nobody_else() {
    let world = site();
    let mut last = String::new();
    for _ in 0..=240 {
        last = world.person(BOB, "x\n", std::process::id()).1;
    }
    assert!(
        last.starts_with(&format!(
            "no session: rate limit reached (240 requests a minute for uid {BOB}); retry in "
        )),
        "{last}"
    );
    world.session(ANN);
}

#[test]
fn an_interrupted_effect_is_recorded_with_the_session_that_it_quoted() {
    let mut world = commands::world(
        |at| {
            let script = format!("while [ ! -e {}/go ]; do sleep 0.01; done", at.display());
            vec![commands::command("slow", &[&commands::program(at, "slow", &script)])]
        },
        root::Decision::Allow,
    );
    let (_ann, token) = world.session(ANN);
    let mut request = commands::run("slow", &[]);
    let meta = request.meta.as_mut().unwrap();
    (meta.claimed_uid, meta.session) = (ANN, token.clone());
    let mut client = world.connect(CLIENT_UID);
    let stream = client.send("Helper/CommandRun", &request.encode_to_vec());
    eventually("it runs", || std::fs::read_dir(world.path("root/jobs")).is_ok_and(|jobs| jobs.count() == 1));
    eventually("it is recorded", || world.count("begin") == 1);
    world.cut_recorder();
    std::fs::write(world.path("go"), "").unwrap();
    assert_eq!(client.answer(stream).completed().status(), wire::Status::Done);
    let ended = json!({"uid": ANN, "session": name(&token), "proof": "kernel"});
    assert_eq!(who(&world, "end"), (ended, json!({"uid": ANN})));
}

fn for_people(people: &'static [&'static str]) -> World {
    World::new(move |at| vec![root::Rule { people: strings(people), ..changing(at) }])
}

#[test]
fn a_rule_with_people_is_for_those_whose_session_is_open_and_quoted() {
    let world = for_people(&["ann"]);
    let ((ann, anns), (_bob, bobs)) = (world.session(ANN), world.session(BOB));
    assert_eq!(send(&world, ANN, &anns).code, 0);
    assert_eq!(who(&world, "begin").0["uid"], ANN);
    for (claimed, token) in [(ANN, ""), (BOB, bobs.as_str()), (ANN, &bobs), (0, &anns)] {
        assert_eq!(send(&world, claimed, token).refused().code, "no_grant", "{claimed}");
    }
    drop(ann);
    eventually("the session has ended", || world.recorder().sessions.all.lock().unwrap().len() == 1);
    assert_eq!(send(&world, ANN, &anns).refused().code, "no_grant");
    assert_eq!(world.count("begin"), 1);
}

#[test]
fn a_group_of_people_is_that_of_the_account_files_now() {
    let world = for_people(&["group:web"]);
    let (_ann, token) = world.session(ANN);
    assert_eq!(send(&world, ANN, &token).refused().code, "no_grant");
    let group = std::fs::read_to_string(world.path("group")).unwrap();
    std::fs::write(world.path("group"), format!("{group}web:x:4000111:ann\n")).unwrap();
    assert_eq!(send(&world, ANN, &token).code, 0);
}

#[test]
fn a_person_who_left_while_people_were_asked_is_nobody_to_root() {
    let world = World::new(|at| {
        let asks = root::Rule { decision: root::Decision::Ask.into(), approvers: 1, ..changing(at) };
        vec![root::Rule { people: strings(&["ann"]), ..asks }]
    });
    let (_ann, token) = world.session(ANN);
    let (mut client, stream, id) = waiting(&world, &token);
    let group = std::fs::read_to_string(world.path("group")).unwrap();
    std::fs::write(world.path("group"), group.replace("ann,bob", "bob")).unwrap();
    assert_eq!(world.operator(OPERATOR).approve(&id), Ok(0));
    let answer = client.answer(stream);
    assert_eq!(answer.completed().code, "no_grant");
    assert!(!world.path("site/a").exists());
}

#[test]
fn the_person_who_asked_cannot_approve_where_the_rule_says_so() {
    let world = World::new(|at| {
        let asks = root::Rule { decision: root::Decision::Ask.into(), approvers: 1, ..changing(at) };
        vec![root::Rule { approvers_exclude_asker: true, ..asks }]
    });
    let refused = send(&world, ANN, "").refused().clone();
    assert_eq!(refused.code, "limit_exceeded");
    assert!(refused.message.contains("`approvers_exclude_asker`"), "{}", refused.message);
    let (_ann, token) = world.session(ANN);
    let (mut client, stream, id) = waiting(&world, &token);
    let own = world.operator(ANN).approve(&id).unwrap_err().1;
    assert!(own.contains("a session of yours was quoted"), "{own}");
    assert_eq!(world.operator(BOB).approve(&id), Ok(0));
    assert_eq!(client.answer(stream).code, 0);
}

#[test]
fn each_person_has_a_rate_of_their_own() {
    let world = World::new(|at| {
        let named = root::Rule { people: strings(&["ann", "bob"]), ..changing(at) };
        vec![root::Rule { person_rate_count: 1, person_rate_window_s: 3600, ..named }]
    });
    let ((_ann, anns), (_bob, bobs)) = (world.session(ANN), world.session(BOB));
    assert_eq!(send(&world, ANN, &anns).code, 0);
    let limited = send(&world, ANN, &anns).refused().clone();
    assert_eq!(limited.code, "rate_limited");
    assert!(limited.message.contains(&format!("(1 in 3600 s for uid {ANN})")), "{}", limited.message);
    assert_eq!(send(&world, BOB, &bobs).code, 0);
}

#[test]
fn an_order_for_people_whose_session_ended_while_it_waited_is_refused_by_root() {
    let world = World::new(|at| {
        let asks = root::Rule { decision: root::Decision::Ask.into(), approvers: 1, ..changing(at) };
        vec![root::Rule { people: strings(&["ann"]), ..asks }]
    });
    let (ann, token) = world.session(ANN);
    let (mut client, stream, id) = waiting(&world, &token);
    drop(ann);
    eventually("the session has ended", || world.recorder().sessions.all.lock().unwrap().is_empty());
    assert_eq!(world.operator(OPERATOR).approve(&id), Ok(0));
    assert_eq!(client.answer(stream).completed().code, "no_grant");
    assert!(!world.path("site/a").exists());
}
