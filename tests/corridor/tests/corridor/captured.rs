//! A captured broker sends any frame to the recorder. It gets what the policy allows to some client without asking,
//! recorded, and nothing else.

use postern_corridor::{
    ANN, BOB, BOOT_ID, CLIENT_UID, OPERATOR, OTHER_OPERATOR, STRANGER_UID, World, accepted, changing,
    eventually, meta_with, new_id, rule, strings, write_request,
};
use postern_policy::types::Digest;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Completed, Mode, Status};
use prost::Message;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

pub mod others;

/// Frames received on a connection.
#[derive(Debug, Default)]
struct Reply {
    completed: Option<Completed>,
    facts: Option<root::Facts>,
    close: Option<root::Close>,
    recalled: Option<root::Recalled>,
}

impl Reply {
    /// The code of an effect that failed, or of a refusal.
    fn code(&self) -> &str {
        match (&self.completed, &self.close) {
            (Some(completed), _) => &completed.code,
            (None, Some(close)) => &close.code,
            (None, None) => panic!("no answer: {self:?}"),
        }
    }

    fn is_done(&self) -> bool {
        self.completed.as_ref().is_some_and(|completed| completed.status() == Status::Done)
    }
}

/// Reads to the last frame.
fn read(stream: &mut UnixStream) -> Reply {
    read_all(stream).0
}

/// Reads to the last frame, and returns the output of the events too.
fn read_all(stream: &mut UnixStream) -> (Reply, Vec<u8>) {
    let (mut reply, mut output) = (Reply::default(), Vec::new());
    while let Ok(Some((kind, payload))) = link::read(stream) {
        match kind {
            Kind::Recorded => {
                let recorded: root::Recorded = link::strict(&payload).unwrap();
                (reply.completed, reply.facts) = (recorded.completed, recorded.facts);
            }
            Kind::Close => reply.close = Some(link::strict(&payload).unwrap()),
            Kind::Recalled => reply.recalled = Some(link::strict(&payload).unwrap()),
            Kind::Event => {
                let event: wire::Event = link::strict(&payload).unwrap();
                if let Some(wire::event::Kind::Output(part)) = event.kind {
                    output.extend(part.data);
                }
            }
            Kind::Parked => {}
            other => panic!("{other:?} from the recorder"),
        }
    }
    (reply, output)
}

pub fn policy(world: &World) -> Digest {
    world.recorder().policy().unwrap().digest()
}

/// A claim about a file, as an honest broker would make it.
pub fn claim(world: &World, id: &str, verb: &str, target: &str) -> root::Claim {
    root::Claim {
        event: "begin".to_owned(),
        family: "files".to_owned(),
        uid: CLIENT_UID,
        client: "agent".to_owned(),
        request_id: id.to_owned(),
        verb: verb.to_owned(),
        target: target.to_owned(),
        objects: vec![format!("dir:{}", world.text("site"))],
        rule: "site".to_owned(),
        decision: "allow".to_owned(),
        wait_ms: 5000,
        approval_ttl_s: 60,
        approvers: 1,
        policy: policy(world).to_string(),
        ..root::Claim::default()
    }
}

/// An order to write a file.
pub fn order(world: &World, id: &str, path: &str, content: &[u8]) -> root::Order {
    let mut request = write_request(path, &[], "any");
    request.meta = meta_with(id, Mode::Execute);
    root::Order {
        order_id: link::order_id(CLIENT_UID, id).to_vec(),
        uid: CLIENT_UID,
        verb: "file.write".to_owned(),
        body: request.encode_to_vec(),
        contents: vec![root::Content {
            size: content.len() as u64,
            sha256: Digest::of(&[content]).as_bytes().to_vec(),
        }],
        facts: Some(facts(path)),
        policy_digest: policy(world).as_bytes().to_vec(),
        rule: "site".to_owned(),
        decision: wire::Decision::Allow.into(),
        ..root::Order::default()
    }
}

/// Facts of a file that does not exist, or as it is.
pub fn facts(path: &str) -> root::Facts {
    let path = path.to_owned();
    let file = fs::metadata(&path).map_or_else(
        |_| root::FileFacts { path: path.clone(), ..root::FileFacts::default() },
        |stat| root::FileFacts {
            path: path.clone(),
            exists: true,
            size: stat.size(),
            sha256: Digest::of(&[&fs::read(&path).unwrap()]).as_bytes().to_vec(),
            mode: stat.mode() & 0o7777,
            uid: stat.uid(),
            gid: stat.gid(),
            ..root::FileFacts::default()
        },
    );
    root::Facts { files: vec![file], ..root::Facts::default() }
}

fn send(world: &World, claim: root::Claim, order: &[u8], content: &[u8]) -> UnixStream {
    send_all(world, claim, order, &[content])
}

/// Sends an order with the content of each of its files.
fn send_all(world: &World, claim: root::Claim, order: &[u8], contents: &[&[u8]]) -> UnixStream {
    let mut stream = world.as_broker();
    let execute = root::RecorderOrder {
        claim: Some(claim),
        order: order.to_vec(),
        body_sha256: vec![1; 32],
        content_bytes: contents.iter().map(|content| content.len() as u64).sum(),
        secrets: false,
    };
    link::open(&mut stream, Kind::RecorderExecute, &execute).unwrap();
    // Refused content is not read.
    drop(contents.iter().try_for_each(|content| link::send_content(&mut stream, content)));
    stream
}

fn execute(world: &World, claim: root::Claim, order: &root::Order, content: &[u8]) -> Reply {
    read(&mut send(world, claim, &order.encode_to_vec(), content))
}

/// One write that the broker has decided as it likes.
fn write(world: &World, path: &str, content: &[u8]) -> Reply {
    let id = new_id();
    execute(world, claim(world, &id, "file.write", path), &order(world, &id, path, content), content)
}

/// Sends an order that is claimed to be asked for, has it approved by these people, and returns the outcome.
fn approved(world: &World, claim: root::Claim, order: &root::Order, content: &[u8], people: &[u32]) -> Reply {
    let mut stream = send(world, claim, &order.encode_to_vec(), content);
    let (kind, payload) = link::read(&mut stream).unwrap().unwrap();
    assert_eq!(kind, Kind::Parked);
    let id = link::strict::<root::Parked>(&payload).unwrap().approval_id;
    for person in people {
        world.operator(*person).approve(&id).unwrap();
    }
    read(&mut stream)
}

fn world() -> World {
    World::new(|at| vec![changing(at)])
}

/// The same, and every change is asked.
fn asking(approvers: u32) -> World {
    World::new(|at| vec![root::Rule { decision: root::Decision::Ask.into(), approvers, ..changing(at) }])
}

/// Everything that begins ends, and each `begin` names its order.
fn is_recorded(world: &World, begun: usize) {
    let begins = world.records("begin");
    assert_eq!((begins.len(), world.count("end")), (begun, begun));
    assert!(begins.iter().all(|begin| begin["order"].as_str().is_some_and(|order| order.len() == 64)));
}

#[test]
fn gets_no_path_that_no_rule_grants() {
    let world = world();
    let inside = world.text("site/a");
    assert!(write(&world, &inside, b"x").is_done(), "what the policy allows works");
    for (path, code) in [
        (world.text("outside"), "no_grant"),
        (world.text("accepted.pb"), "no_grant"),
        ("/etc/passwd".to_owned(), "protected"),
        (world.text("site/.hidden"), "no_grant"),
        (world.text("site/../outside"), "invalid_argument"),
    ] {
        let before = fs::read(&path).ok();
        assert_eq!(write(&world, &path, b"x").code(), code, "{path}");
        assert_eq!(fs::read(&path).ok(), before, "{path}");
    }
    is_recorded(&world, 6);
}

#[test]
fn exceeds_no_limit_of_a_rule() {
    let world = World::new(|at| {
        vec![root::Rule { max_bytes: 4, allow_create: false, lines: strings(&["a*"]), ..changing(at) }]
    });
    let path = world.text("site/a");
    assert_eq!(write(&world, &path, b"a").code(), "limit_exceeded", "allow_create");
    fs::write(&path, "a").unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    assert_eq!(write(&world, &path, b"aaaaa").code(), "limit_exceeded", "max_bytes");
    assert_eq!(write(&world, &path, b"b").code(), "limit_exceeded", "lines");
    let id = new_id();
    let mut wide = order(&world, &id, &path, b"aa");
    let mut request = wire::FileWriteRequest::decode(wide.body.as_slice()).unwrap();
    request.change.as_mut().unwrap().mode = "0666".to_owned();
    wide.body = request.encode_to_vec();
    let reply = execute(&world, claim(&world, &id, "file.write", &path), &wide, b"aa");
    assert_eq!(reply.code(), "limit_exceeded", "modes");
    assert_eq!(fs::read(&path).unwrap(), b"a");
    assert!(write(&world, &path, b"aa").is_done());
    is_recorded(&world, 5);
}

/// A change of another verb than `file.write`.
fn change(world: &World, verb: &str, target: &str, message: &impl Message, old: root::Facts) -> Reply {
    let id = new_id();
    let order = root::Order {
        verb: verb.to_owned(),
        body: message.encode_to_vec(),
        contents: Vec::new(),
        facts: Some(old),
        ..order(world, &id, target, b"")
    };
    execute(world, claim(world, &id, verb, target), &order, b"")
}

#[test]
fn sets_no_owner_and_no_group_that_the_rule_does_not_list() {
    let world = World::new(|at| {
        vec![root::Rule { owners: strings(&["root"]), groups: strings(&["root"]), ..changing(at) }]
    });
    let path = world.text("site/a");
    fs::write(&path, "a").unwrap();
    let before = fs::metadata(&path).unwrap();
    for (owner, group) in [("postern", ""), ("", "helpers")] {
        let request = wire::FileSetOwnerRequest {
            meta: meta_with(&new_id(), Mode::Execute),
            path: path.clone(),
            owner: owner.to_owned(),
            group: group.to_owned(),
        };
        let reply = change(&world, "file.set-owner", &path, &request, facts(&path));
        assert_eq!(reply.code(), "limit_exceeded", "{owner}:{group}");
        let mut written = write_request(&path, &[], "any");
        let change = written.change.as_mut().unwrap();
        (change.owner, change.group) = (owner.to_owned(), group.to_owned());
        let id = new_id();
        let order = root::Order { body: written.encode_to_vec(), ..order(&world, &id, &path, b"b") };
        let reply = execute(&world, claim(&world, &id, "file.write", &path), &order, b"b");
        assert_eq!(reply.code(), "limit_exceeded", "{owner}:{group}");
    }
    let after = fs::metadata(&path).unwrap();
    assert_eq!((after.uid(), after.gid(), after.len()), (before.uid(), before.gid(), 1));
    is_recorded(&world, 4);
}

#[test]
fn changes_no_more_files_at_once_and_none_deeper_than_the_rule_says() {
    let world = World::new(|at| vec![root::Rule { max_files: 2, depth: 1, ..changing(at) }]);
    fs::create_dir(world.path("site/deep")).unwrap();
    let patch = |names: &[&str]| {
        let paths = names.iter().map(|name| world.text(name)).collect::<Vec<_>>();
        let id = new_id();
        let changes = paths.iter().map(|path| postern_corridor::change_to(path, &[])).collect();
        let body = wire::FilePatchRequest { meta: meta_with(&id, Mode::Execute), changes };
        let content = order(&world, &id, &paths[0], b"x").contents;
        let order = root::Order {
            verb: "file.patch".to_owned(),
            body: body.encode_to_vec(),
            contents: paths.iter().flat_map(|_| content.clone()).collect(),
            facts: Some(root::Facts {
                files: paths.iter().flat_map(|path| facts(path).files).collect(),
                ..root::Facts::default()
            }),
            ..order(&world, &id, &paths[0], b"x")
        };
        let claim = claim(&world, &id, "file.patch", &paths[0]);
        read(&mut send_all(&world, claim, &order.encode_to_vec(), &vec![&b"x"[..]; paths.len()]))
    };
    assert_eq!(patch(&["site/a", "site/b", "site/c"]).code(), "limit_exceeded");
    assert_eq!(patch(&["site/a", "site/deep/b"]).code(), "no_grant");
    assert_eq!(write(&world, &world.text("site/deep/b"), b"x").code(), "no_grant");
    assert_eq!(postern_corridor::names(&world.path("site")), ["deep"]);
    assert!(patch(&["site/a", "site/b"]).is_done(), "the control");
    is_recorded(&world, 4);
}

#[test]
fn reads_nothing_that_a_rule_marks_ask_without_consent() {
    let world = World::new(|at| {
        let asked = root::Rule { decision: root::Decision::Ask.into(), ..changing(at) };
        let status = root::Rule {
            decision: root::Decision::Ask.into(),
            units: strings(&["a.service"]),
            ..rule("a", &["unit.status"])
        };
        vec![asked, status]
    });
    let path = world.text("site/a");
    fs::write(&path, "content").unwrap();
    world.systemctl("case $1 in show) printf 'Id=a.service\nNames=a.service\nLoadState=loaded\nActiveState=active\n';; esac");
    let meta = |id: &str| meta_with(id, Mode::Execute);
    let read = |id: &str| wire::FileReadRequest { meta: meta(id), path: path.clone(), ..Default::default() };
    let status = |id: &str| wire::UnitStatusRequest {
        meta: meta(id),
        unit: "a.service".to_owned(),
        ..Default::default()
    };
    let inspect = |family: &str, decision: &str| {
        let id = new_id();
        let (verb, target, body) = match family {
            "files" => ("file.read", path.as_str(), read(&id).encode_to_vec()),
            _ => ("unit.status", "a.service", status(&id).encode_to_vec()),
        };
        let order = root::Order {
            verb: verb.to_owned(),
            body,
            contents: Vec::new(),
            facts: None,
            ..order(&world, &id, &path, b"")
        };
        let claim = root::Claim {
            event: "served".to_owned(),
            family: family.to_owned(),
            decision: decision.to_owned(),
            ..claim(&world, &id, verb, target)
        };
        let order = order.encode_to_vec();
        let inspect = root::RecorderOrder { claim: Some(claim), order, ..root::RecorderOrder::default() };
        let mut stream = world.as_broker();
        link::open(&mut stream, Kind::RecorderInspect, &inspect).unwrap();
        if decision == "ask" {
            let (_, payload) = link::read(&mut stream).unwrap().unwrap();
            let parked: root::Parked = link::strict(&payload).unwrap();
            world.operator(OPERATOR).approve(&parked.approval_id).unwrap();
        }
        read_all(&mut stream)
    };
    for family in ["files", "units"] {
        let (reply, content) = inspect(family, "allow");
        assert_eq!((reply.code(), content.as_slice()), ("not_approved", &[][..]), "{family}");
        let (reply, content) = inspect(family, "ask");
        assert!(reply.is_done(), "{family}: {reply:?}");
        assert_eq!(content, if family == "files" { &b"content"[..] } else { b"" });
    }
}

#[test]
fn acts_for_no_uid_that_is_no_client() {
    let world = world();
    for uid in [0, STRANGER_UID, OPERATOR] {
        let id = new_id();
        let path = world.text("site/a");
        let order = root::Order { uid, ..order(&world, &id, &path, b"x") };
        // Claimed as the client's, and as what it is.
        let lied = execute(&world, claim(&world, &id, "file.write", &path), &order, b"x");
        assert_eq!(lied.code(), "unknown_client");
        let honest = root::Claim { uid, ..claim(&world, &new_id(), "file.write", &path) };
        assert_eq!(execute(&world, honest, &order, b"x").code(), "unknown_client");
        assert!(!world.path("site/a").exists());
    }
}

#[test]
fn gets_nothing_that_a_rule_marks_ask_without_enough_people() {
    let world = asking(2);
    let path = world.text("site/a");
    // Claimed as allowed: nobody is asked, and root refuses.
    assert_eq!(write(&world, &path, b"x").code(), "not_approved");
    // Claimed to need one person.
    let id = new_id();
    let asked = |id: &str, approvers| root::Claim {
        decision: "ask".to_owned(),
        approvers,
        ..claim(&world, id, "file.write", &path)
    };
    let one = approved(&world, asked(&id, 1), &order(&world, &id, &path, b"x"), b"x", &[OPERATOR]);
    assert_eq!(one.code(), "not_approved");
    assert!(!world.path("site/a").exists());
    let id = new_id();
    let people = [OPERATOR, OTHER_OPERATOR];
    let two = approved(&world, asked(&id, 2), &order(&world, &id, &path, b"x"), b"x", &people);
    assert!(two.is_done(), "{two:?}");
    is_recorded(&world, 3);
}

#[test]
fn replays_no_approval() {
    let world = asking(1);
    let path = world.text("site/a");
    let asked =
        |id: &str| root::Claim { decision: "ask".to_owned(), ..claim(&world, id, "file.write", &path) };
    let id = new_id();
    let once = order(&world, &id, &path, b"once");
    assert!(approved(&world, asked(&id), &once, b"once", &[OPERATOR]).is_done());
    fs::remove_file(&path).unwrap();
    // The very order under its id: it has ended.
    assert_eq!(execute(&world, asked(&id), &once, b"once").recalled.unwrap().state, "ended");
    // Under another id, claimed as allowed: it is another request's, and with that id the approval is not sent along.
    let other = claim(&world, &new_id(), "file.write", &path);
    assert_eq!(execute(&world, other, &once, b"once").code(), "invalid_argument");
    let id = new_id();
    let other = claim(&world, &id, "file.write", &path);
    let own = root::Order { order_id: link::order_id(CLIENT_UID, &id).to_vec(), ..once.clone() };
    assert_eq!(execute(&world, other, &own, b"once").code(), "not_approved");
    // The digest that was approved is no secret, and of no use to another order.
    let shown = link::approval_digest(BOOT_ID, policy(&world).as_bytes(), &once.encode_to_vec());
    let id = new_id();
    let mut stream = send(&world, asked(&id), &order(&world, &id, &path, b"else").encode_to_vec(), b"else");
    let (_, payload) = link::read(&mut stream).unwrap().unwrap();
    let parked: root::Parked = link::strict(&payload).unwrap();
    let verdict = wire::Verdict::Approve;
    let stale = world.operator(OPERATOR).decide(&parked.approval_id, &shown, verdict, "");
    assert!(stale.unwrap_err().1.starts_with("plan_changed: "));
    assert!(!world.path("site/a").exists());
}

#[test]
fn a_request_id_acts_once_whatever_is_claimed() {
    let world = world();
    let (path, id) = (world.text("site/a"), new_id());
    let first = order(&world, &id, &path, b"one");
    assert!(execute(&world, claim(&world, &id, "file.write", &path), &first, b"one").is_done());
    let again =
        execute(&world, claim(&world, &id, "file.write", &path), &order(&world, &id, &path, b"two"), b"two");
    assert_eq!(again.recalled.unwrap().state, "ended");
    assert_eq!(fs::read(&path).unwrap(), b"one");
    // The order itself under another id: undo copies and outcomes are kept by the order's id.
    let other = execute(&world, claim(&world, &new_id(), "file.write", &path), &first, b"one");
    assert_eq!(other.code(), "invalid_argument");
    is_recorded(&world, 1);
}

#[test]
fn names_no_session_that_is_not_open() {
    let world = world();
    let (ann, token) = world.session(ANN);
    let asked_by = |claimed_uid: u32, session: &str| {
        let id = new_id();
        let path = world.text(&format!("site/{id}"));
        let claim = claim(&world, &id, "file.write", &path);
        let claim = root::Claim { claimed_uid, session: session.to_owned(), ..claim };
        assert!(execute(&world, claim, &order(&world, &id, &path, b"x"), b"x").is_done());
        world.records("begin").pop().unwrap()["asked_by"]["uid"].clone()
    };
    // It can use a session while it is open: SECURITY.md says so.
    assert_eq!(asked_by(ANN, &token), ANN);
    for (claimed, session) in [(ANN, ""), (ANN, "0".repeat(32).as_str()), (BOB, &token), (0, &token)] {
        assert_eq!(asked_by(claimed, session), serde_json::Value::Null, "{claimed} {session}");
    }
    drop(ann);
    eventually("the session has ended", || world.recorder().sessions.all.lock().unwrap().is_empty());
    assert_eq!(asked_by(ANN, &token), serde_json::Value::Null);
}

#[test]
fn acts_under_no_policy_but_the_accepted_one() {
    let world = world();
    let (path, id) = (world.text("site/a"), new_id());
    let (old_claim, old) = (claim(&world, &id, "file.write", &path), order(&world, &id, &path, b"x"));
    world.replace_policy(&accepted(vec![root::Rule { depth: 2, ..changing(&world.path("")) }]));
    assert_eq!(execute(&world, old_claim, &old, b"x").code(), "plan_changed");
    let id = new_id();
    let old = root::Order { order_id: link::order_id(CLIENT_UID, &id).to_vec(), ..old };
    let claimed = claim(&world, &id, "file.write", &path);
    assert_eq!(execute(&world, claimed, &old, b"x").code(), "plan_changed");
    assert!(!world.path("site/a").exists());
}

#[test]
fn reads_are_no_effects_and_facts_are_told_of_granted_paths_alone() {
    let world = world();
    fs::write(world.path("outside"), "secret").unwrap();
    let inspect = |event: &str, path: &str| {
        let id = new_id();
        let mut stream = world.as_broker();
        let claim = root::Claim { event: event.to_owned(), ..claim(&world, &id, "file.write", path) };
        let order = order(&world, &id, path, b"x").encode_to_vec();
        let inspect = root::RecorderOrder { claim: Some(claim), order, ..root::RecorderOrder::default() };
        link::open(&mut stream, Kind::RecorderInspect, &inspect).unwrap();
        read(&mut stream)
    };
    let path = world.text("site/a");
    assert!(inspect("", &path).facts.is_some());
    assert!(inspect("served", &path).completed.is_none(), "a change is no read");
    assert_eq!(inspect("", &world.text("outside")).code(), "no_grant");
    assert!(!world.path("site/a").exists());
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn no_family_does_what_is_another_ones() {
    let units = root::Rule { units: strings(&["a.service"]), ..rule("a", &["unit.restart"]) };
    let world = World::new(|at| vec![changing(at), units]);
    let path = world.text("site/a");
    for family in ["units", "packages", "commands"] {
        let id = new_id();
        let claim = root::Claim { family: family.to_owned(), ..claim(&world, &id, "file.write", &path) };
        let reply = execute(&world, claim, &order(&world, &id, &path, b"x"), b"x");
        // postern-units knows files of rules with `as` alone.
        assert_eq!(reply.code(), "no_grant", "{family}");
    }
    assert!(world.calls().is_empty());
    let id = new_id();
    let restart =
        wire::UnitRestartRequest { meta: meta_with(&id, Mode::Execute), unit: "a.service".to_owned() };
    let unit = root::Order {
        verb: "unit.restart".to_owned(),
        body: restart.encode_to_vec(),
        contents: Vec::new(),
        facts: None,
        ..order(&world, &id, &path, b"")
    };
    let reply = execute(&world, claim(&world, &id, "unit.restart", "a.service"), &unit, b"");
    assert!(!reply.is_done(), "{reply:?}");
    // To its own family, with facts that were never gathered.
    let id = new_id();
    let claim = root::Claim { family: "units".to_owned(), ..claim(&world, &id, "unit.restart", "a.service") };
    world.systemctl("case $1 in show) printf 'Id=a.service\\nNames=a.service\\nLoadState=loaded\\nActiveState=active\\nRequiredBy=ssh.service\\n';; esac");
    let unit = root::Order { order_id: link::order_id(CLIENT_UID, &id).to_vec(), ..unit };
    assert_eq!(execute(&world, claim, &unit, b"").code(), "plan_changed");
    assert!(world.calls().iter().all(|call| call[0] == "show"), "{:?}", world.calls());
    assert!(!world.path("site/a").exists());
}

#[test]
fn no_file_of_a_rule_with_as_is_reached_by_another_program_than_its_users() {
    let (none, verbs) = (Vec::new, strings(&["file.write"]));
    let as_user = |at: &std::path::Path| root::Rule {
        verbs: verbs.clone(),
        as_user: "app".to_owned(),
        allow_create: false,
        modes: none(),
        owners: none(),
        groups: none(),
        ..changing(at)
    };
    let world = World::new(|at| vec![as_user(at)]);
    world.add_user("app", 4_000_400);
    fs::write(world.path("site/a"), "old").unwrap();
    let path = world.text("site/a");
    // postern-files, which the captured broker names, has no grant there; no other program writes a file itself.
    for (family, code) in [("files", "no_grant"), ("packages", ""), ("commands", ""), ("units", "")] {
        let id = new_id();
        let claim = root::Claim { family: family.to_owned(), ..claim(&world, &id, "file.write", &path) };
        let reply = execute(&world, claim, &order(&world, &id, &path, b"x"), b"x");
        assert!(!reply.is_done(), "{family}: {reply:?}");
        assert!(code.is_empty() || reply.code() == code, "{family}: {reply:?}");
        assert_eq!(fs::read_to_string(world.path("site/a")).unwrap(), "old", "{family}");
    }
}

/// An undo with this inverse, claimed as one of this request.
fn undo(world: &World, inverse: &root::Inverse, of: &str) -> Reply {
    let id = new_id();
    let body = wire::RequestUndoRequest { meta: meta_with(&id, Mode::Execute), of: new_id() };
    let path = inverse.left.as_ref().unwrap().files[0].path.clone();
    let order = root::Order {
        verb: "request.undo".to_owned(),
        body: body.encode_to_vec(),
        contents: Vec::new(),
        inverse: Some(inverse.clone()),
        ..order(world, &id, &path, b"")
    };
    let claim = root::Claim { undo_of: of.to_owned(), ..claim(world, &id, "request.undo", &path) };
    execute(world, claim, &order, b"")
}

/// The inverse that root issued with a write.
fn inverse(world: &World, id: &str) -> root::Inverse {
    let mut stream = world.as_broker();
    let recall = root::Recall { uid: CLIENT_UID, request_id: id.to_owned(), ..root::Recall::default() };
    link::open(&mut stream, Kind::Recall, &recall).unwrap();
    let (kind, payload) = link::read(&mut stream).unwrap().unwrap();
    assert_eq!(kind, Kind::Recalled);
    link::strict::<root::Recalled>(&payload).unwrap().inverse.unwrap()
}

fn written(world: &World, path: &str, content: &[u8]) -> (String, root::Inverse) {
    let id = new_id();
    let reply =
        execute(world, claim(world, &id, "file.write", path), &order(world, &id, path, content), content);
    assert!(reply.is_done(), "{reply:?}");
    let issued = inverse(world, &id);
    (id, issued)
}

#[test]
fn forges_no_inverse_and_changes_none() {
    let world = world();
    let path = world.text("site/a");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    fs::write(world.path("outside"), "secret").unwrap();
    let (of, issued) = written(&world, &path, b"new");
    let elsewhere = write_request(&world.text("outside"), &[], "any");
    let elsewhere = wire::FileWriteRequest { meta: None, ..elsewhere }.encode_to_vec();
    for forged in [
        root::Inverse { body: elsewhere, ..issued.clone() },
        root::Inverse { uid: STRANGER_UID, ..issued.clone() },
        root::Inverse { rules: Vec::new(), ..issued.clone() },
        root::Inverse { left: Some(facts(&path)), content_id: vec![3; 32], ..issued.clone() },
        root::Inverse { family: "units".to_owned(), ..issued.clone() },
        root::Inverse { mac: vec![0; 32], ..issued.clone() },
    ] {
        assert_eq!(undo(&world, &forged, &of).code(), "undo_gone");
    }
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert!(undo(&world, &issued, &of).is_done());
    assert_eq!(fs::read(&path).unwrap(), b"old");
    // It is used up, also where the file is again as it left it.
    assert_eq!(undo(&world, &issued, &of).code(), "undo_gone");
    assert!(write(&world, &path, b"new").is_done());
    assert_eq!(undo(&world, &issued, &of).code(), "undo_gone");
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn undoes_nothing_of_another_client_and_nothing_that_the_policy_stopped_granting() {
    let world = World::with(|at| {
        let user = |name: &str, user: &str| root::Client {
            name: name.to_owned(),
            user: user.to_owned(),
            group: String::new(),
        };
        let other = root::Rule { client: "other".to_owned(), id: "other".to_owned(), ..changing(at) };
        root::Rules {
            clients: vec![user("other", "stranger")],
            rules: vec![changing(at), other],
            ..root::Rules::default()
        }
    });
    let path = world.text("site/a");
    let (of, issued) = written(&world, &path, b"new");
    let id = new_id();
    let body = wire::RequestUndoRequest { meta: meta_with(&id, Mode::Execute), of: new_id() };
    let theirs = root::Order {
        uid: STRANGER_UID,
        order_id: link::order_id(STRANGER_UID, &id).to_vec(),
        verb: "request.undo".to_owned(),
        body: body.encode_to_vec(),
        contents: Vec::new(),
        inverse: Some(issued.clone()),
        ..order(&world, &id, &path, b"")
    };
    let claimed = root::Claim { uid: STRANGER_UID, ..claim(&world, &id, "request.undo", &path) };
    assert_eq!(execute(&world, claimed, &theirs, b"").code(), "invalid_argument");
    let verbs = strings(&["file.read", "file.write", "request.undo"]);
    world.replace_policy(&accepted(vec![root::Rule { verbs, ..changing(&world.path("")) }]));
    assert_eq!(undo(&world, &issued, &of).code(), "no_grant", "its inverse is a removal");
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn commits_no_stage_that_no_validator_has_seen() {
    let validator = root::Command {
        name: "agrees".to_owned(),
        argv: strings(&["/usr/bin/true"]),
        user: "nobody".to_owned(),
        sandbox: root::Sandbox::Validator.into(),
        cwd: "/".to_owned(),
        timeout_s: 20,
        ..root::Command::default()
    };
    let world = World::with(|at| {
        let rule = root::Rule { validate: "agrees".to_owned(), ..changing(at) };
        root::Rules { rules: vec![rule], commands: vec![validator], ..root::Rules::default() }
    });
    let path = world.text("site/a");
    world.validators(|_, _| false);
    assert_eq!(write(&world, &path, b"x").code(), "validation_failed");
    // A claim that the order is one for the family that validates does not help.
    let id = new_id();
    let units = root::Claim { family: "units".to_owned(), ..claim(&world, &id, "file.write", &path) };
    assert!(!execute(&world, units, &order(&world, &id, &path, b"x"), b"x").is_done());
    assert!(!world.path("site/a").exists());
    world.validators(|_, _| true);
    assert!(write(&world, &path, b"x").is_done());
}

#[test]
fn sends_no_content_but_the_announced_and_no_facts_but_the_true_ones() {
    let world = world();
    let path = world.text("site/a");
    let id = new_id();
    let other =
        execute(&world, claim(&world, &id, "file.write", &path), &order(&world, &id, &path, b"one"), b"two");
    assert!(!other.is_done(), "{other:?}");
    fs::write(&path, "there already").unwrap();
    let id = new_id();
    let absent = root::FileFacts { path: path.clone(), ..root::FileFacts::default() };
    let lied = root::Order {
        facts: Some(root::Facts { files: vec![absent], ..root::Facts::default() }),
        ..order(&world, &id, &path, b"one")
    };
    let reply = execute(&world, claim(&world, &id, "file.write", &path), &lied, b"one");
    assert_eq!(reply.code(), "precondition_failed");
    // Bytes that are no order begin nothing.
    let mut stream = send(&world, claim(&world, &new_id(), "file.write", &path), b"\xff\xff", b"");
    assert!(!read(&mut stream).is_done());
    assert_eq!(fs::read(&path).unwrap(), b"there already");
    is_recorded(&world, 2);
}

#[test]
fn nothing_begins_while_paused() {
    let world = world();
    let pause = wire::OperatorPauseRequest { reason: "looking".to_owned() };
    let paused = postern_corridor::call::<wire::OperatorPaused>(
        &mut world.operator(OPERATOR),
        "Operator/Pause",
        &pause,
    );
    paused.unwrap();
    assert_eq!(write(&world, &world.text("site/a"), b"x").code(), "paused");
    assert_eq!(world.count("begin"), 0);
}

#[test]
fn the_record_says_what_root_did_whatever_was_claimed() {
    let world = world();
    let (path, id) = (world.text("site/a"), new_id());
    let lie = root::Claim {
        verb: "file.read".to_owned(),
        target: world.text("site/harmless"),
        rule: "other".to_owned(),
        args_json: r#"{"path":"/harmless"}"#.to_owned(),
        ..claim(&world, &id, "file.write", &path)
    };
    assert!(execute(&world, lie, &order(&world, &id, &path, b"x"), b"x").is_done());
    let end = &world.records("end")[0];
    assert_eq!((end["verb"].as_str(), end["rule"].as_str()), (Some("file.write"), Some("site")), "{end}");
    assert!(end["outcome"]["objects"].to_string().contains(&path), "{end}");
    let order = world.records("begin")[0]["order"].clone();
    assert_eq!(order, Digest::of(&[&self::order_bytes(&world, &id, &path)]).to_string());
}

/// The order of the test above, as it was before the file was there.
fn order_bytes(world: &World, id: &str, path: &str) -> Vec<u8> {
    let absent = root::FileFacts { path: path.to_owned(), ..root::FileFacts::default() };
    let facts = Some(root::Facts { files: vec![absent], ..root::Facts::default() });
    root::Order { facts, ..order(world, id, path, b"x") }.encode_to_vec()
}

#[test]
fn invents_no_person_for_a_rule_with_people() {
    let world = World::new(|at| vec![root::Rule { people: strings(&["ann"]), ..changing(at) }]);
    let (_ann, token) = world.session(ANN);
    let done = |claimed_uid: u32, session: &str| {
        let id = new_id();
        let path = world.text(&format!("site/{id}"));
        let claim = claim(&world, &id, "file.write", &path);
        let claim = root::Claim { claimed_uid, session: session.to_owned(), ..claim };
        execute(&world, claim, &order(&world, &id, &path, b"x"), b"x").is_done()
    };
    assert!(!done(ANN, "") && !done(ANN, &"0".repeat(32)) && !done(BOB, &token));
    assert!(done(ANN, &token), "it can use a session while it is open: SECURITY.md says so");
}

#[test]
fn counts_no_approval_of_who_asked_where_the_rule_excludes_it() {
    let world = World::new(|at| {
        let asks = root::Rule { decision: root::Decision::Ask.into(), approvers: 1, ..changing(at) };
        vec![root::Rule { approvers_exclude_asker: true, ..asks }]
    });
    let (_ann, token) = world.session(ANN);
    let path = world.text("site/a");
    let send = |excludes_asker: bool, session: &str, people: &[u32]| {
        let id = new_id();
        let claim = root::Claim { decision: "ask".to_owned(), ..claim(&world, &id, "file.write", &path) };
        let claim = root::Claim { claimed_uid: ANN, session: session.to_owned(), excludes_asker, ..claim };
        approved(&world, claim, &order(&world, &id, &path, b"x"), b"x", people)
    };
    // Claimed as if the rule did not say so: the recorder takes her approval, and root does not count it.
    assert_eq!(send(false, &token, &[ANN]).code(), "not_approved");
    // Claimed without the session: root knows nobody who asked, and such a rule wants to know.
    assert_eq!(send(false, "", &[ANN]).code(), "limit_exceeded");
    assert!(!world.path("site/a").exists());
    assert!(send(false, &token, &[BOB]).is_done());
}
