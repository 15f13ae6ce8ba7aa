//! A captured recorder sends any frame to root's programs. It gets what the policy allows or marks `ask`, which it may
//! forge the consent to, without a record; each act of it is named in the journal, which it cannot write. Nothing else.

use crate::captured::others::{installs, other_order};
use crate::captured::{order, policy};
use crate::commands::{command, program};
use postern_corridor::{
    BOOT_ID, CLIENT_UID, OPERATOR, Processes, STRANGER_UID, World, accepted, changing, meta_with, new_id,
    rule, strings,
};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status};
use prost::Message;
use std::fs;
use std::os::unix::net::UnixStream;

/// The last frame of a connection.
#[derive(Debug)]
enum Last {
    Outcome(Box<root::Outcome>),
    Close(root::Close),
    Nothing,
}

impl Last {
    /// The code with which it was refused or failed; empty if it was done.
    fn code(&self) -> &str {
        match self {
            Self::Outcome(outcome) => &outcome.completed.as_ref().unwrap().code,
            Self::Close(close) => &close.code,
            Self::Nothing => "no answer",
        }
    }

    fn done(&self) -> &root::Outcome {
        match self {
            Self::Outcome(outcome) if outcome.completed.as_ref().unwrap().status() == Status::Done => outcome,
            other => panic!("{other:?}"),
        }
    }
}

/// Programs behind the recorder, and a policy that allows changes in `site` and asks for those in `asked`. It allows one unit,
/// one package and one command.
fn processes(approvers: u32) -> Processes {
    let world = World::with(|at| {
        fs::create_dir(at.join("asked")).unwrap();
        let asked = root::Rule {
            id: "asked".to_owned(),
            directories: vec![at.join("asked").to_str().unwrap().to_owned()],
            decision: root::Decision::Ask.into(),
            approvers,
            ..changing(at)
        };
        let unit = root::Rule { units: strings(&["a.service"]), ..rule("a", &["unit.restart"]) };
        let package = root::Rule { packages: strings(&["granted"]), ..rule("p", &["package.install"]) };
        let run = root::Rule { commands: strings(&["granted"]), ..rule("c", &["command.run"]) };
        let append = program(at, "granted", &format!("echo granted >>{}/ran", at.display()));
        let commands = vec![command("granted", &[&append]), command("other", &[&append])];
        let granted = root::Rule { units: strings(&["granted.service"]), ..rule("g", &["unit.restart"]) };
        let rules = vec![changing(at), asked, unit, package, run, granted];
        root::Rules { rules, commands, ..root::Rules::default() }
    });
    world.systemctl(&format!(
        "for unit; do :; done
         case $1 in show) printf 'Id=%s\\nNames=%s\\nLoadState=loaded\\nActiveState=active\\n' $unit $unit;;
         restart) echo $unit >>{}/ran;; esac",
        world.text("")
    ));
    installs(&world);
    Processes::new(env!("CARGO_BIN_EXE_corridor-program"), world)
}

/// Sends an order to a program, as the recorder does.
fn send(
    processes: &Processes,
    program: &str,
    envelope: root::Envelope,
    order: &root::Order,
    content: &[u8],
) -> Last {
    let mut stream = UnixStream::connect(processes.world.path(&format!("{program}.sock"))).unwrap();
    let envelope = Some(root::Envelope { seq: 1, ..envelope });
    let execute =
        root::RootExecute { envelope, order: order.encode_to_vec(), ..root::RootExecute::default() };
    link::open(&mut stream, Kind::RootExecute, &execute).unwrap();
    // Refused content is not read.
    drop(link::send_content(&mut stream, content));
    while let Ok(Some((kind, payload))) = link::read(&mut stream) {
        match kind {
            Kind::Outcome => return Last::Outcome(Box::new(link::strict(&payload).unwrap())),
            Kind::Close => return Last::Close(link::strict(&payload).unwrap()),
            Kind::Event => {}
            other => panic!("{other:?} from root"),
        }
    }
    Last::Nothing
}

fn whole() -> root::Envelope {
    root::Envelope { step: root::Step::Whole.into(), ..root::Envelope::default() }
}

/// An envelope by which these people have agreed, as the recorder would write it.
fn agreed(processes: &Processes, order: &root::Order, people: &[u32]) -> root::Envelope {
    let digest = policy(&processes.world);
    let approved = link::approval_digest(BOOT_ID, digest.as_bytes(), &order.encode_to_vec());
    root::Envelope { approvers: people.to_vec(), approved: approved.to_vec(), ..whole() }
}

fn write(processes: &Processes, name: &str) -> root::Order {
    order(&processes.world, &new_id(), &processes.world.text(name), b"x")
}

/// The orders that root's programs have named in the journal, with uid, verb and decision.
fn witnessed(processes: &Processes) -> Vec<String> {
    let lines =
        ["files", "units", "packages", "command"].into_iter().flat_map(|program| processes.journal(program));
    lines.filter_map(|line| line.strip_prefix("<5>postern-act v1 ").map(str::to_owned)).collect()
}

#[test]
fn gets_what_the_policy_allows_or_asks_unrecorded_and_the_journal_names_each_act() {
    let processes = processes(1);
    let plain = write(&processes, "site/a");
    let done = send(&processes, "files", whole(), &plain, b"x");
    // An undo is any that root has signed.
    let undo = root::Order {
        order_id: link::order_id(CLIENT_UID, &new_id()).to_vec(),
        verb: "request.undo".to_owned(),
        body: wire::RequestUndoRequest { meta: meta_with(&new_id(), Mode::Execute), of: new_id() }
            .encode_to_vec(),
        contents: Vec::new(),
        facts: None,
        inverse: done.done().inverse.clone(),
        ..plain.clone()
    };
    let by_operator = root::Envelope { by_operator: true, operator_uid: OPERATOR, ..whole() };
    send(&processes, "files", by_operator, &undo, b"").done();
    assert!(!processes.world.path("site/a").exists());
    let asked = write(&processes, "asked/a");
    send(&processes, "files", agreed(&processes, &asked, &[OPERATOR]), &asked, b"x").done();
    assert!(processes.world.path("asked/a").exists());
    let named = witnessed(&processes);
    let of = [(&plain, "file.write allow"), (&undo, "request.undo"), (&asked, "file.write ask")];
    assert_eq!(named.len(), of.len(), "{named:?}");
    for (line, (order, words)) in named.iter().zip(of) {
        let id = postern_policy::types::Digest::from_bytes(&order.order_id).unwrap().to_string();
        assert!(line.starts_with(&id) && line.contains(words), "{line}");
    }
    assert!(!processes.log().join("\n").contains("\"event\":\"begin\""), "the control: it recorded nothing");
}

#[test]
fn units_packages_and_commands_are_named_in_the_journal_once_and_only_if_a_rule_grants_them() {
    let processes = processes(1);
    let ran = || fs::read_to_string(processes.world.path("ran")).unwrap_or_default();
    let order_of = |family: &str, name: &str| other_order(&processes.world, &new_id(), family, name).1;
    for family in ["units", "packages", "commands"] {
        let other = order_of(family, "other");
        assert_eq!(send(&processes, "units", whole(), &other, b"").code(), "no_grant", "{family}");
        let forged = agreed(&processes, &other, &[OPERATOR]);
        assert_eq!(send(&processes, "units", forged, &other, b"").code(), "no_grant", "{family}");
    }
    assert_eq!((ran().as_str(), witnessed(&processes)), ("", Vec::new()));
    // A job begins once. Root keeps nothing of a change of a unit: it is made again, and named again.
    let families = [
        ("units", "unit.restart allow", "granted.service\n", ""),
        ("packages", "package.install allow", "granted\n", "request_id_conflict"),
        ("commands", "command.run allow", "granted\n", "request_id_conflict"),
    ];
    for (family, words, effect, again) in families {
        let before = ran();
        let order = order_of(family, "granted");
        send(&processes, "units", whole(), &order, b"").done();
        assert_eq!(ran(), before.clone() + effect, "{family}");
        assert_eq!(send(&processes, "units", whole(), &order, b"").code(), again, "{family}");
        let acts = if again.is_empty() { 2 } else { 1 };
        assert_eq!(ran(), before + &effect.repeat(acts), "{family}");
        let id = postern_policy::types::Digest::from_bytes(&order.order_id).unwrap().to_string();
        let named = witnessed(&processes).into_iter().filter(|line| line.starts_with(&id));
        let named = named.collect::<Vec<_>>();
        assert_eq!(named.len(), acts, "{family}: {named:?}");
        assert!(named.iter().all(|line| line.contains(words)), "{family}: {named:?}");
    }
    assert_eq!(witnessed(&processes).len(), 4, "nothing else is named");
    assert!(!processes.log().join("\n").contains("\"event\":\"begin\""), "the control: it recorded nothing");
}

#[test]
fn gets_nothing_that_no_rule_grants_and_nothing_for_those_who_are_no_clients() {
    let processes = processes(1);
    let world = &processes.world;
    let own = |order: root::Order| send(&processes, "files", whole(), &order, b"x").code().to_owned();
    assert_eq!(own(write(&processes, "outside")), "no_grant");
    assert_eq!(own(write(&processes, "accepted.pb")), "no_grant");
    assert_eq!(own(order(world, &new_id(), "/etc/shadow", b"x")), "protected");
    for uid in [0, STRANGER_UID, OPERATOR] {
        assert_eq!(own(root::Order { uid, ..write(&processes, "site/a") }), "unknown_client");
    }
    let other = root::Order { policy_digest: vec![7; 32], ..write(&processes, "site/a") };
    assert_eq!(own(other), "plan_changed");
    // An operator's envelope is good for an undo, and an undo needs an inverse that root has signed.
    let operator = root::Envelope { by_operator: true, operator_uid: OPERATOR, ..whole() };
    let reply = send(&processes, "files", operator.clone(), &write(&processes, "site/a"), b"x");
    assert_eq!(reply.code(), "no_grant");
    let forged = root::Inverse {
        family: "files".to_owned(),
        verb: "file.write".to_owned(),
        body: write(&processes, "outside").body,
        mac: vec![1; 32],
        ..root::Inverse::default()
    };
    let undo = root::Order {
        verb: "request.undo".to_owned(),
        inverse: Some(forged),
        contents: Vec::new(),
        facts: None,
        ..write(&processes, "site/a")
    };
    assert_eq!(send(&processes, "files", operator, &undo, b"").code(), "undo_gone");
    assert_eq!(postern_corridor::names(&world.path("site")), Vec::<String>::new());
    assert_eq!(witnessed(&processes), Vec::<String>::new());
}

#[test]
fn forges_no_consent_of_a_client_of_too_few_or_to_another_order() {
    let processes = processes(2);
    let order = write(&processes, "asked/a");
    let other = write(&processes, "asked/b");
    for envelope in [
        whole(),
        agreed(&processes, &order, &[OPERATOR]),
        agreed(&processes, &order, &[OPERATOR, OPERATOR]),
        agreed(&processes, &order, &[OPERATOR, CLIENT_UID]),
        agreed(&processes, &other, &[OPERATOR, OPERATOR + 1]),
    ] {
        let reply = send(&processes, "files", envelope.clone(), &order, b"x");
        assert_eq!(reply.code(), "not_approved", "{envelope:?}");
    }
    assert!(!processes.world.path("asked/a").exists());
    assert_eq!(witnessed(&processes), Vec::<String>::new());
    let two = agreed(&processes, &order, &[OPERATOR, OPERATOR + 1]);
    send(&processes, "files", two, &order, b"x").done();
}

#[test]
fn sends_no_order_twice_to_no_other_program_and_commits_nothing_that_was_not_validated() {
    let processes = processes(1);
    let order = write(&processes, "site/a");
    send(&processes, "files", whole(), &order, b"x").done();
    fs::remove_file(processes.world.path("site/a")).unwrap();
    assert_eq!(send(&processes, "files", whole(), &order, b"x").code(), "request_id_conflict");
    let other = write(&processes, "site/b");
    // postern-units knows files of rules with `as` alone.
    assert_eq!(send(&processes, "units", whole(), &other, b"x").code(), "no_grant");
    let restart =
        wire::UnitRestartRequest { meta: meta_with(&new_id(), Mode::Execute), unit: "a.service".to_owned() };
    let unit = root::Order {
        verb: "unit.restart".to_owned(),
        body: restart.encode_to_vec(),
        contents: Vec::new(),
        facts: None,
        ..write(&processes, "site/b")
    };
    assert_eq!(send(&processes, "files", whole(), &unit, b"").code(), "unsupported");
    // Facts that nobody gathered: root's own decide.
    assert_eq!(send(&processes, "units", whole(), &unit, b"").code(), "plan_changed");
    for step in [root::Step::Commit, root::Step::Validate] {
        let envelope = root::Envelope {
            step: step.into(),
            stage_id: vec![1; 32],
            stage_digest: vec![2; 32],
            validator: "agrees".to_owned(),
            ..root::Envelope::default()
        };
        let forged = send(&processes, "files", envelope.clone(), &other, b"");
        assert_ne!(forged.code(), "", "{step:?}: {forged:?}");
        let forged = send(&processes, "units", envelope, &other, b"");
        assert_eq!(forged.code(), "invalid_argument", "{step:?}");
    }
    assert_eq!(postern_corridor::names(&processes.world.path("site")), Vec::<String>::new());
    assert_eq!(witnessed(&processes).len(), 1);
    processes.world.replace_policy(&accepted(vec![rule("other", &["unit.daemon-reload"])]));
    let late = send(&processes, "files", whole(), &other, b"x");
    assert!(matches!(late, Last::Nothing | Last::Close(_)), "{late:?}");
    assert!(!processes.world.path("site/b").exists());
}
