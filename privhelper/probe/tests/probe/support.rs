//! A host of fakes, and the ends of the broker and the recorder.

use crate::bus::FakeBus;
use postern_policy::types::Digest;
use postern_probe::{Host, State};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{
    AcceptedPolicy, Client, Close, Decision, Envelope, Facts, Order, Outcome, PackageFacts, PackageFlags,
    ProbePackages, ProbeUnit, RootInspect, Rule, Rules, UnitFacts,
};
use postern_proto::v1::event::Kind as EventKind;
use postern_proto::v1::{self as wire, Event, Package};
use prost::Message;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub const AGENT: u32 = 2001;
pub const OTHER: u32 = 2002;
pub const OPERATOR: u32 = 2003;

pub struct World {
    directory: tempfile::TempDir,
    pub host: Host,
    pub bus: FakeBus,
    pub policy: Vec<u8>,
}

/// The last frame of a connection, and the events before it.
#[derive(Debug, Default)]
pub struct Reply {
    pub events: Vec<EventKind>,
    pub facts: Option<Facts>,
    pub outcome: Option<Outcome>,
    pub close: Option<Close>,
}

impl Reply {
    /// The code of a refusal; empty = there is none.
    pub fn code(&self) -> &str {
        self.close.as_ref().map_or("", |close| close.code.as_str())
    }

    pub fn message(&self) -> &str {
        self.close.as_ref().map_or("", |close| close.message.as_str())
    }

    #[track_caller]
    pub fn outcome(&self) -> &Outcome {
        self.outcome.as_ref().unwrap_or_else(|| panic!("no outcome: {self:?}"))
    }

    #[track_caller]
    pub fn packages(&self) -> &PackageFacts {
        let facts = self.facts.as_ref().and_then(|facts| facts.packages.as_ref());
        facts.unwrap_or_else(|| panic!("no facts of packages: {self:?}"))
    }

    #[track_caller]
    pub fn unit(&self) -> &UnitFacts {
        let facts = self.facts.as_ref().and_then(|facts| facts.unit.as_ref());
        facts.unwrap_or_else(|| panic!("no facts of a unit: {self:?}"))
    }

    /// `EFFECT UNIT` of each affected unit.
    pub fn affected(&self) -> Vec<String> {
        let text = |other: &postern_proto::root::v1::AffectedUnit| {
            format!("{} {}", other.effect, other.unit.as_ref().unwrap().id)
        };
        let mut all = self.unit().affected.iter().map(text).collect::<Vec<_>>();
        all.sort();
        all
    }

    /// Joins the content frames.
    pub fn content(&self) -> String {
        let mut all = Vec::new();
        for event in &self.events {
            let EventKind::Output(output) = event else { panic!("{event:?}") };
            assert_eq!(output.stream(), wire::Stream::Content);
            all.extend_from_slice(&output.data);
        }
        String::from_utf8(all).unwrap()
    }
}

/// A rule for the client `agent`.
pub fn rule(id: &str, decision: Decision, verbs: &[&str]) -> Rule {
    Rule {
        id: id.to_owned(),
        client: "agent".to_owned(),
        verbs: verbs.iter().map(ToString::to_string).collect(),
        decision: decision.into(),
        timeout_s: 60,
        approval_ttl_s: if decision == Decision::Ask { 60 } else { 0 },
        approvers: u32::from(decision == Decision::Ask),
        ..Rule::default()
    }
}

impl World {
    pub fn new(rules: Vec<Rule>) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["apt-get", "apt-cache", "apt-mark", "dpkg", "dpkg-query", "journalctl"] {
            symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/program"), at(name)).unwrap();
            fs::write(at(name).with_extension("sh"), "").unwrap();
        }
        fs::create_dir(at("systemd")).unwrap();
        let passwd = "root:x:0:0::/:/bin/sh\nagent:x:2001:2001::/:/bin/sh\nother:x:2002:2002::/:/bin/sh\n";
        fs::write(at("passwd"), passwd).unwrap();
        fs::write(at("group"), "root:x:0:\n").unwrap();
        let bus = FakeBus::listen(&at("bus.sock"));
        let uid = nix::unistd::Uid::effective().as_raw();
        let root = postern_root::Host {
            family: "probe",
            accepted: at("accepted.pb"),
            validator_key: at("none"),
            state: at("none"),
            passwd: at("passwd"),
            group: at("group"),
            boot_id: "this boot".to_owned(),
            root_uid: uid,
            peer_uid: uid,
            now: SystemTime::now,
        };
        let host = Host {
            root,
            broker_uid: uid,
            probe_socket: at("probe.sock"),
            asked_socket: at("asked.sock"),
            apt: postern_apt::Host {
                apt_get: at("apt-get"),
                apt_cache: at("apt-cache"),
                apt_mark: at("apt-mark"),
                dpkg: at("dpkg"),
                dpkg_query: at("dpkg-query"),
                dpkg_lock: at("lock-frontend"),
                lists_lock: at("lists-lock"),
                dpkg_updates: at("updates"),
                run: postern_probe::child::run_apt,
            },
            journalctl: at("journalctl"),
            bus: format!("unix:path={}", at("bus.sock").display()),
            systemd: at("systemd"),
        };
        let mut world = Self { directory, host, bus, policy: Vec::new() };
        world.accept(rules);
        world.script("dpkg", "case $1 in --print-architecture) echo amd64 ;; *) exec dpkg \"$@\" ;; esac");
        world
    }

    /// Replaces the accepted policy.
    pub fn accept(&mut self, rules: Vec<Rule>) {
        let client = Client { name: "agent".to_owned(), user: "agent".to_owned(), group: String::new() };
        let rules = Rules { version: 1, clients: vec![client], rules, ..Rules::default() }.encode_to_vec();
        self.policy = Digest::of(&[&rules]).as_bytes().to_vec();
        let accepted = AcceptedPolicy { rules, digest: self.policy.clone(), ..AcceptedPolicy::default() };
        let new = self.path("accepted.new");
        fs::write(&new, accepted.encode_to_vec()).unwrap();
        fs::rename(new, self.path("accepted.pb")).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes a fake do this.
    pub fn script(&self, program: &str, text: &str) {
        fs::write(self.path(&format!("{program}.sh")), text).unwrap();
    }

    /// Returns the lines that a fake wrote of `what`: `argv` or `env`.
    pub fn noted(&self, program: &str, what: &str) -> Vec<String> {
        let noted = fs::read_to_string(self.path(&format!("{program}.{what}"))).unwrap_or_default();
        noted.lines().map(str::to_owned).collect()
    }

    pub fn state(&self) -> State {
        State::open(self.host.clone()).unwrap()
    }

    /// Sends these bytes as the broker.
    pub fn probe_bytes(&self, frames: &[u8]) -> Reply {
        let state = self.state();
        exchange(frames, |stream| state.serve_probe(stream))
    }

    pub fn probe(&self, kind: Kind, question: &impl Message) -> Reply {
        let mut frames = Vec::new();
        link::open(&mut frames, kind, question).unwrap();
        self.probe_bytes(&frames)
    }

    pub fn ask_unit(&self, unit: &str, action: &str) -> Reply {
        let question = ProbeUnit { unit: unit.to_owned(), action: action.to_owned(), now: false };
        self.probe(Kind::ProbeUnit, &question)
    }

    /// Asks as the recorder.
    pub fn inspect_as(&self, envelope: Option<Envelope>, order: &Order) -> Reply {
        let state = self.state();
        let mut frames = Vec::new();
        let inspect = RootInspect { order: order.encode_to_vec(), envelope };
        link::open(&mut frames, Kind::RootInspect, &inspect).unwrap();
        exchange(&frames, |stream| state.serve_asked(stream))
    }

    pub fn inspect(&self, order: &Order) -> Reply {
        self.inspect_as(None, order)
    }

    pub fn order(&self, uid: u32, verb: &str, body: &impl Message) -> Order {
        Order {
            order_id: link::order_id(uid, verb).to_vec(),
            uid,
            verb: verb.to_owned(),
            body: body.encode_to_vec(),
            policy_digest: self.policy.clone(),
            ..Order::default()
        }
    }

    pub fn status(&self, uid: u32, unit: &str, journal_lines: u32, since_unix_s: u64) -> Order {
        let unit = unit.to_owned();
        let body = wire::UnitStatusRequest { meta: None, unit, journal_lines, since_unix_s };
        self.order(uid, "unit.status", &body)
    }
}

/// Sends frames to an end that is served, and reads everything that it answers.
pub fn exchange(frames: &[u8], serve: impl FnOnce(UnixStream) + Send) -> Reply {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || serve(theirs));
        std::io::Write::write_all(&mut ours, frames).unwrap();
        ours.shutdown(std::net::Shutdown::Write).unwrap();
        read_reply(&mut ours)
    })
}

pub fn read_reply(from: &mut UnixStream) -> Reply {
    let mut reply = Reply::default();
    while let Some((kind, payload)) = link::read(from).unwrap() {
        assert!(
            reply.facts.is_none() && reply.outcome.is_none() && reply.close.is_none(),
            "a frame after the last"
        );
        match kind {
            Kind::Event => reply.events.extend(Event::decode(payload.as_slice()).unwrap().kind),
            Kind::Facts => reply.facts = Some(link::strict(&payload).unwrap()),
            Kind::Outcome => reply.outcome = Some(link::strict(&payload).unwrap()),
            Kind::Close => reply.close = Some(link::strict(&payload).unwrap()),
            other => panic!("{other:?}"),
        }
    }
    reply
}

/// A question for the transaction of a verb; a package is `name` or `name=version`.
pub fn transaction(verb: &str, packages: &[&str]) -> ProbePackages {
    let names = || packages.iter().map(ToString::to_string).collect::<Vec<_>>();
    let package = |text: &&str| {
        let (name, version) = text.split_once('=').unwrap_or((text, ""));
        Package { name: name.to_owned(), version: version.to_owned() }
    };
    let (meta, all) = (None, packages.is_empty());
    let body = match verb {
        "package.install" => {
            let packages = packages.iter().map(package).collect();
            wire::PackageInstallRequest { meta, packages }.encode_to_vec()
        }
        "package.upgrade" => wire::PackageUpgradeRequest { meta, names: names(), all }.encode_to_vec(),
        "package.autoremove" | "package.repair" | "package.update" => Vec::new(),
        _ => wire::PackageRemoveRequest { meta, names: names() }.encode_to_vec(),
    };
    ProbePackages { verb: verb.to_owned(), body, flags: Some(PackageFlags::default()) }
}

/// A dpkg-query that has these packages: name, architecture, state, version, and what is not `optional`, not wanted
/// as `install`.
pub fn has(rows: &[&str]) -> String {
    let row = |row: &&str| {
        let words: Vec<&str> = row.split(' ').collect();
        let [name, arch, state, version] = words.first_chunk().unwrap();
        let (priority, want) = (words.get(4).unwrap_or(&"optional"), words.get(5).unwrap_or(&"install"));
        format!("printf '{name}\\t{arch}\\t{want}\\t{state}\\t{version}\\tno\\t\\t{priority}\\t100\\tx\\n'\n")
    };
    rows.iter().map(row).collect()
}
