//! A host with a fake systemctl, and a recorder's end of connections.

use postern_policy::types::Digest;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{
    AcceptedPolicy, Acknowledge, AffectedUnit, Client, Close, Command, Decision, Envelope, Facts, Inverse,
    Order, Outcome, Outcomes, OutcomesReply, RootExecute, Rule, Rules, SecretValue, SecretValues, Step,
    UnitFacts, UnitState,
};
use postern_proto::v1::event::Kind as EventKind;
use postern_proto::v1::{Event, UnitRestartRequest, UnitStartRequest, UnitStopRequest};
use postern_units::{Host, State};
use prost::Message;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub const AGENT: u32 = 2001;
pub const OPERATOR: u32 = 2003;

pub struct World {
    directory: tempfile::TempDir,
    pub host: Host,
    pub policy: Vec<u8>,
}

/// The last frame of a connection, and the events before it.
#[derive(Debug, Default)]
pub struct Reply {
    pub events: Vec<EventKind>,
    pub outcome: Option<Outcome>,
    pub close: Option<Close>,
    pub state: Option<OutcomesReply>,
}

impl Reply {
    /// The code of a refusal before any effect.
    pub fn code(&self) -> &str {
        self.close.as_ref().map_or("", |close| close.code.as_str())
    }

    pub fn outcome(&self) -> &Outcome {
        self.outcome.as_ref().unwrap_or_else(|| panic!("no outcome: {self:?}"))
    }
}

/// The id of an order as file names hold it.
pub fn hex(order: &Order) -> String {
    postern_root::OrderId::from_bytes(&order.order_id).unwrap().to_string()
}

/// A rule for the client `agent`.
pub fn rule(id: &str, decision: Decision, verbs: &[&str], units: &[&str]) -> Rule {
    let strings = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    Rule {
        id: id.to_owned(),
        client: "agent".to_owned(),
        verbs: strings(verbs),
        decision: decision.into(),
        timeout_s: 60,
        approval_ttl_s: if decision == Decision::Ask { 60 } else { 0 },
        approvers: u32::from(decision == Decision::Ask),
        units: strings(units),
        ..Rule::default()
    }
}

impl World {
    pub fn new(rules: Vec<Rule>, commands: Vec<Command>) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["units", "commands", "stage", "systemd", "state"] {
            fs::create_dir(at(name)).unwrap();
        }
        let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/systemctl");
        symlink(fake, at("systemctl")).unwrap();
        fs::write(at("act.sh"), "").unwrap();
        let passwd = "root:x:0:0::/:/bin/sh\nagent:x:2001:2001::/:/bin/sh\noperator:x:2003:2003::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n";
        fs::write(at("passwd"), passwd).unwrap();
        fs::write(at("group"), "root:x:0:\n").unwrap();
        let client = Client { name: "agent".to_owned(), user: "agent".to_owned(), group: String::new() };
        let rules = Rules { version: 1, clients: vec![client], rules, commands, ..Rules::default() };
        let rules = rules.encode_to_vec();
        let policy = Digest::of(&[&rules]).as_bytes().to_vec();
        let accepted = AcceptedPolicy { rules, digest: policy.clone(), ..AcceptedPolicy::default() };
        fs::write(at("accepted.pb"), accepted.encode_to_vec()).unwrap();
        let uid = nix::unistd::Uid::effective().as_raw();
        let host = Host {
            root: postern_root::Host {
                family: "units",
                accepted: at("accepted.pb"),
                validator_key: at("validator.key"),
                state: at("state"),
                passwd: at("passwd"),
                group: at("group"),
                boot_id: "this boot".to_owned(),
                root_uid: uid,
                peer_uid: uid,
                now: SystemTime::now,
            },
            systemctl: at("systemctl"),
            commands: at("commands"),
            dpkg_lock: at("dpkg.lock"),
            scheduled: at("scheduled"),
            systemd: at("systemd"),
        };
        Self { directory, host, policy }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A unit as systemd tells it.
    pub fn unit(&self, name: &str, active: &str, more: &str) {
        let text = format!(
            "Id={name}\nNames={name}\nLoadState=loaded\nActiveState={active}\nSubState=x\nUnitFileState=enabled\n{more}"
        );
        fs::write(self.path("units").join(name), text).unwrap();
    }

    /// Sets the script that systemctl runs for every verb that changes something; `$unit` and `$word` are its
    /// last and first words.
    pub fn act(&self, script: &str) {
        fs::write(self.path("act.sh"), script).unwrap();
    }

    /// systemctl's calls that change something, each as one line.
    pub fn acts(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        let is_read = |line: &&str| ["show", "cat", "is-enabled"].iter().any(|word| line.starts_with(word));
        calls.lines().filter(|line| !is_read(line)).map(str::to_owned).collect()
    }

    pub fn order(&self, uid: u32, verb: &str, body: Vec<u8>, facts: Option<UnitFacts>) -> Order {
        Order {
            order_id: link::order_id(uid, verb).to_vec(),
            uid,
            verb: verb.to_owned(),
            body,
            facts: facts.map(|unit| Facts { unit: Some(unit), ..Facts::default() }),
            policy_digest: self.policy.clone(),
            ..Order::default()
        }
    }

    /// An order to start, stop or restart nginx, whose state is decided as this.
    pub fn nginx(&self, verb: &str, active: &str, affected: &[(&str, &str)]) -> Order {
        let (meta, unit) = (None, "nginx.service".to_owned());
        let body = match verb {
            "unit.start" => UnitStartRequest { meta, unit }.encode_to_vec(),
            "unit.stop" => UnitStopRequest { meta, unit }.encode_to_vec(),
            _ => UnitRestartRequest { meta, unit }.encode_to_vec(),
        };
        self.order(AGENT, verb, body, Some(facts("nginx.service", active, affected)))
    }

    fn send(&self, frames: &[u8]) -> Reply {
        let state = State::open(self.host.clone()).unwrap();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || state.serve(theirs));
            std::io::Write::write_all(&mut ours, frames).unwrap();
            let mut reply = Reply::default();
            while let Some((kind, payload)) = link::read(&mut ours).unwrap() {
                let payload = payload.as_slice();
                if kind == Kind::Event {
                    reply.events.extend(Event::decode(payload).unwrap().kind);
                } else if kind == Kind::Outcome {
                    reply.outcome = Some(Outcome::decode(payload).unwrap());
                } else if kind == Kind::Close {
                    reply.close = Some(Close::decode(payload).unwrap());
                } else {
                    assert_eq!(kind, Kind::OutcomesReply);
                    reply.state = Some(OutcomesReply::decode(payload).unwrap());
                }
            }
            reply
        })
    }

    pub fn execute_as(&self, envelope: Envelope, order: &Order, secrets: Option<Vec<SecretValue>>) -> Reply {
        let mut frames = Vec::new();
        let execute = RootExecute {
            envelope: Some(envelope),
            order: order.encode_to_vec(),
            secrets: secrets.is_some(),
            ..RootExecute::default()
        };
        link::open(&mut frames, Kind::RootExecute, &execute).unwrap();
        if let Some(values) = secrets {
            link::send(&mut frames, Kind::Secrets, &SecretValues { values }).unwrap();
        }
        self.send(&frames)
    }

    /// Executes an order that nobody needs to approve.
    pub fn execute(&self, order: &Order) -> Reply {
        self.execute_as(Envelope { step: Step::Whole.into(), ..Envelope::default() }, order, None)
    }

    /// The envelope of an order that these people approved.
    pub fn approved(&self, order: &Order, approvers: &[u32]) -> Envelope {
        let digest = <[u8; 32]>::try_from(self.policy.as_slice()).unwrap();
        Envelope {
            step: Step::Whole.into(),
            approvers: approvers.to_vec(),
            approved: link::approval_digest("this boot", &digest, &order.encode_to_vec()).to_vec(),
            ..Envelope::default()
        }
    }

    pub fn outcomes(&self, order: &Order) -> OutcomesReply {
        let mut frames = Vec::new();
        link::open(&mut frames, Kind::Outcomes, &Outcomes { order_id: order.order_id.clone() }).unwrap();
        self.send(&frames).state.unwrap()
    }

    pub fn acknowledge(&self, order: &Order) {
        let mut frames = Vec::new();
        link::open(&mut frames, Kind::Acknowledge, &Acknowledge { order_id: order.order_id.clone() })
            .unwrap();
        assert!(self.send(&frames).close.is_some());
    }

    /// The client's undo of an outcome.
    pub fn undo(&self, inverse: Inverse) -> Order {
        let order = self.order(AGENT, "request.undo", undo_body(), None);
        Order { inverse: Some(inverse), ..order }
    }
}

fn undo_body() -> Vec<u8> {
    let of = "01890a5d-ac96-774b-bcce-b302099a8057".to_owned();
    postern_proto::v1::RequestUndoRequest { meta: None, of }.encode_to_vec()
}

/// Facts as the broker decided about them.
pub fn facts(unit: &str, active: &str, affected: &[(&str, &str)]) -> UnitFacts {
    let state = |id: &str, active: &str| UnitState {
        id: id.to_owned(),
        names: vec![id.to_owned()],
        load: "loaded".to_owned(),
        active: active.to_owned(),
        sub: "x".to_owned(),
        enabled: "enabled".to_owned(),
        ..UnitState::default()
    };
    let other = |(id, effect): &(&str, &str)| AffectedUnit {
        unit: Some(state(id, "active")),
        effect: (*effect).to_owned(),
        ..AffectedUnit::default()
    };
    UnitFacts { unit: Some(state(unit, active)), affected: affected.iter().map(other).collect() }
}
