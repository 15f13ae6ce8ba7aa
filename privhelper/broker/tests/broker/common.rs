//! A broker on a temporary directory, spoken to as a gateway speaks to it, with a small recorder and a small probe.

use crate::fakes::{FakeProbe, FakeRecorder};
use postern_broker::connection::Connection;
use postern_broker::host::Host;
use postern_broker::state::State;
use postern_peers::Peer;
use postern_policy::types::Digest;
use postern_proto::frame::{self, HEAD, Head};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, event::Kind};
use prost::Message;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

pub const CLIENT_UID: u32 = 4_000_001;
pub const STRANGER_UID: u32 = 4_000_002;

pub fn peer(uid: u32) -> Peer {
    Peer { uid, gid: uid, pid: 77 }
}

pub fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// A rule with the defaults of `policy apply`.
pub fn rule(id: &str, verbs: &[&str]) -> root::Rule {
    root::Rule {
        id: id.to_owned(),
        client: "agent".to_owned(),
        verbs: strings(verbs),
        decision: root::Decision::Allow.into(),
        timeout_s: 20,
        approval_ttl_s: 900,
        approvers: 1,
        max_new_packages: 50,
        depth: 1,
        max_bytes: 1_048_576,
        modes: strings(&["0644"]),
        owners: strings(&["root"]),
        groups: strings(&["root"]),
        max_files: 20,
        allow_create: true,
        ..root::Rule::default()
    }
}

pub fn asked(rule: root::Rule) -> root::Rule {
    root::Rule { decision: root::Decision::Ask.into(), ..rule }
}

/// A rule for changes of files below /srv/site.
pub fn site(verbs: &[&str]) -> root::Rule {
    root::Rule { directories: strings(&["/srv/site"]), files: strings(&["*"]), ..rule("site", verbs) }
}

pub fn unit(id: &str, unit: &str, verbs: &[&str]) -> root::Rule {
    root::Rule { units: strings(&[unit]), ..rule(id, verbs) }
}

pub fn accept(mut rules: root::Rules) -> Vec<u8> {
    rules.version = 1;
    let user =
        |name: &str, user: &str| root::Client { name: name.into(), user: user.into(), group: String::new() };
    rules.clients.insert(0, user("agent", "postern"));
    // Far more than any test asks; the tests of budgets set their own.
    let plenty =
        root::AuditLimits { records_per_minute: 100_000, records_per_hour: 100_000, ..Default::default() };
    rules.audit.get_or_insert(plenty);
    let rules = rules.encode_to_vec();
    let digest = Digest::of(&[&rules]).as_bytes().to_vec();
    root::AcceptedPolicy { rules, digest, ..root::AcceptedPolicy::default() }.encode_to_vec()
}

/// A broker with its state in a temporary directory.
pub struct World {
    pub directory: TempDir,
    pub state: Arc<State>,
    pub recorder: Arc<FakeRecorder>,
    pub probe: Arc<FakeProbe>,
}

impl World {
    /// A broker under these rules, for the client `postern`.
    pub fn new(rules: Vec<root::Rule>) -> Self {
        Self::of(root::Rules { rules, ..root::Rules::default() })
    }

    /// As [`World::new`], with what a policy says besides rules.
    pub fn of(rules: root::Rules) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        std::fs::create_dir(at.join("broker")).unwrap();
        std::fs::write(at.join("accepted.pb"), accept(rules)).unwrap();
        let line = |name: &str, uid: u32| format!("{name}:x:{uid}:{uid}::/nonexistent:/usr/sbin/nologin\n");
        std::fs::write(at.join("passwd"), line("postern", CLIENT_UID) + &line("stranger", STRANGER_UID))
            .unwrap();
        std::fs::write(at.join("group"), format!("helpers:x:4000100:postern\nown:x:{STRANGER_UID}:\n"))
            .unwrap();
        let recorder = FakeRecorder::listen(&at.join("recorder.sock"));
        let probe = FakeProbe::listen(&at.join("probe.sock"));
        let state = Arc::new(State::open(host(at)).unwrap());
        Self { directory, state, recorder, probe }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Replaces the accepted policy, as `postern-admin policy apply` does.
    pub fn apply(&self, rules: Vec<root::Rule>) {
        let rules = root::Rules { rules, ..root::Rules::default() };
        std::fs::write(self.path("accepted.new"), accept(rules)).unwrap();
        std::fs::rename(self.path("accepted.new"), self.path("accepted.pb")).unwrap();
    }

    /// A connection as a gateway holds it.
    pub fn connect(&self, uid: u32) -> Channel {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (client, far) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let connection = Connection { state: Arc::clone(&self.state), peer: peer(uid), client };
        let thread = std::thread::spawn(move || connection.serve(theirs));
        ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Channel { stream: ours, client: Some(far), next: 1, thread: Some(thread) }
    }

    /// One request of the client's on a connection of its own.
    pub fn ask(&self, method: &str, message: &impl Message) -> Answer {
        self.connect(CLIENT_UID).ask(method, message)
    }
}

pub fn host(at: &Path) -> Host {
    Host {
        accepted: at.join("accepted.pb"),
        passwd: at.join("passwd"),
        group: at.join("group"),
        directory: at.join("broker"),
        gateway_socket: at.join("gateway.sock"),
        recorder_socket: at.join("recorder.sock"),
        probe_socket: at.join("probe.sock"),
        now: SystemTime::now,
        since_boot: || SystemTime::now().duration_since(UNIX_EPOCH).unwrap(),
    }
}

/// The gateway's end of a channel.
pub struct Channel {
    pub stream: UnixStream,
    pub client: Option<UnixStream>,
    next: u32,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Frames received on one stream.
#[derive(Debug, Default)]
pub struct Answer {
    pub events: Vec<wire::Event>,
    pub code: u8,
    pub text: String,
}

impl Answer {
    pub fn refused(&self) -> &wire::Refused {
        match self.events.last().and_then(|event| event.kind.as_ref()) {
            Some(Kind::Refused(refused)) => refused,
            other => panic!("not refused: {other:?}"),
        }
    }

    pub fn completed(&self) -> &wire::Completed {
        match self.events.last().and_then(|event| event.kind.as_ref()) {
            Some(Kind::Completed(completed)) => completed,
            other => panic!("not completed: {other:?}"),
        }
    }
}

impl Channel {
    pub fn send(&mut self, method: &str, body: &[u8]) -> u32 {
        let stream = self.next;
        self.next += 1;
        let payload = frame::encode_request(method, body).unwrap();
        self.stream.write_all(&frame::encode(stream, frame::REQUEST, &payload).unwrap()).unwrap();
        stream
    }

    /// The next frame; none at the end of the connection.
    pub fn frame(&mut self) -> Option<(Head, Vec<u8>)> {
        let mut head = [0; HEAD];
        self.stream.read_exact(&mut head).ok()?;
        let head = Head::decode(head);
        let mut payload = vec![0; head.len as usize];
        self.stream.read_exact(&mut payload).ok()?;
        Some((head, payload))
    }

    /// The next event; it must be one.
    pub fn event(&mut self) -> Kind {
        let (head, payload) = self.frame().expect("the connection ended");
        assert_eq!(head.kind, frame::EVENT);
        wire::Event::decode(payload.as_slice()).unwrap().kind.unwrap()
    }

    /// Everything up to the end of this stream.
    pub fn answer(&mut self, stream: u32) -> Answer {
        let mut answer = Answer::default();
        loop {
            let (head, payload) = self.frame().expect("the connection ended before the stream");
            if head.stream != stream {
                continue;
            }
            if head.kind == frame::EVENT {
                answer.events.push(wire::Event::decode(payload.as_slice()).unwrap());
                continue;
            }
            answer.code = payload[0];
            answer.text = String::from_utf8_lossy(&payload[1..]).into_owned();
            return answer;
        }
    }

    pub fn ask(&mut self, method: &str, message: &impl Message) -> Answer {
        let stream = self.send(method, &message.encode_to_vec());
        self.answer(stream)
    }

    /// Waits until the broker has left the connection.
    pub fn left(mut self) {
        let frame = self.frame();
        assert!(frame.is_none(), "a frame came: {frame:?}");
        self.thread.take().unwrap().join().unwrap();
    }
}

pub fn eventually(what: &str, is: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(std::time::Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A new request id, as RFC 9562 makes them.
pub fn new_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let (hex, count) = (format!("{ms:012x}"), COUNT.fetch_add(1, Ordering::Relaxed));
    format!("{}-{}-7000-8000-{count:012x}", &hex[..8], &hex[8..12])
}

#[expect(clippy::unnecessary_wraps, reason = "a message's field is an option")]
pub fn meta(mode: wire::Mode) -> Option<wire::Meta> {
    Some(wire::Meta { request_id: new_id(), mode: mode.into(), ..wire::Meta::default() })
}

pub fn describe() -> wire::PolicyDescribeRequest {
    wire::PolicyDescribeRequest { meta: meta(wire::Mode::Execute) }
}

pub fn change(path: &str, content: &[u8], expect: &str) -> wire::FileChange {
    wire::FileChange {
        path: path.to_owned(),
        kind: wire::ChangeKind::Write.into(),
        content: content.to_vec(),
        expect: expect.to_owned(),
        ..wire::FileChange::default()
    }
}

pub fn write(path: &str, content: &[u8], expect: &str) -> wire::FileWriteRequest {
    wire::FileWriteRequest { meta: meta(wire::Mode::Execute), change: Some(change(path, content, expect)) }
}

pub fn start(unit: &str) -> wire::UnitStartRequest {
    wire::UnitStartRequest { meta: meta(wire::Mode::Execute), unit: unit.to_owned() }
}
