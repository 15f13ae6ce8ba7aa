//! A recorder in a temporary directory, with a broker and operators at its front and a fake root helper at its back.

use postern_audit::host::Host;
use postern_audit::log::Location;
use postern_audit::state::State;
use postern_audit::{broker, operator};
use postern_peers::Peer;
use postern_policy::types::Digest;
use postern_proto::frame::{self, HEAD, Head};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Completed, Status};
use prost::Message;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// The client of the policy, by its entry in passwd.
pub const CLIENT: u32 = 4_000_001;
/// A client by its group alone.
pub const MEMBER: u32 = 4_000_002;
pub const OPERATOR: u32 = 4_000_201;
pub const OTHER_OPERATOR: u32 = 4_000_202;
pub const ROOT: u32 = 4_000_000;
/// The broker's uid here.
pub const BROKER: u32 = 4_000_900;

pub struct World {
    directory: TempDir,
    pub host: Host,
    pub state: Arc<State>,
}

pub fn host(at: &Path) -> Host {
    Host {
        audit: Location {
            log: at.join("log"),
            next: at.join("state/seal/next"),
            running: at.join("run/seal"),
            journal: at.join("journal"),
            boot_id: "00000000-0000-4000-8000-000000000000".to_owned(),
            now: SystemTime::now,
            since_boot: || SystemTime::now().duration_since(UNIX_EPOCH).unwrap(),
        },
        state: at.join("state"),
        accepted: at.join("accepted.pb"),
        recorder_socket: at.join("recorder.sock"),
        operator_socket: at.join("operator.sock"),
        person_socket: at.join("person.sock"),
        files: at.join("files.sock"),
        units: at.join("units.sock"),
        asked: at.join("asked.sock"),
        announce: at.join("announce.sock"),
        passwd: at.join("passwd"),
        group: at.join("group"),
        owner_uid: ROOT,
        peer_uid: BROKER,
    }
}

/// An accepted policy of the client `agent` and of the members of `helpers`; `mark` makes it another one.
pub fn accept(at: &Path, mark: u32, audit: root::AuditLimits) {
    let client = |name: &str, user: &str, group: &str| root::Client {
        name: name.to_owned(),
        user: user.to_owned(),
        group: group.to_owned(),
    };
    let rules = root::Rules {
        version: 1,
        clients: vec![client("agent", "postern", ""), client("people", "", "helpers")],
        undo: Some(root::UndoLimits { max_count: mark, ..root::UndoLimits::default() }),
        audit: Some(audit),
        ..root::Rules::default()
    };
    let rules = rules.encode_to_vec();
    let digest = Digest::of(&[&rules]).as_bytes().to_vec();
    let accepted = root::AcceptedPolicy { rules, digest, ..root::AcceptedPolicy::default() };
    let new = at.join("accepted.new");
    std::fs::write(&new, accepted.encode_to_vec()).unwrap();
    std::fs::rename(new, at.join("accepted.pb")).unwrap();
}

/// Far more than any test asks for.
pub fn plenty() -> root::AuditLimits {
    root::AuditLimits {
        records_per_minute: 100_000,
        records_per_hour: 100_000,
        max_bytes: 1 << 30,
        ..root::AuditLimits::default()
    }
}

/// Makes what a recorder finds on its host.
pub fn furnish(at: &Path) {
    for name in ["log", "state", "state/seal", "run"] {
        std::fs::create_dir_all(at.join(name)).unwrap();
    }
    accept(at, 1, plenty());
    let passwd = format!(
        "root:x:{ROOT}:0::/:/bin/sh\npostern:x:{CLIENT}:{CLIENT}::/:/bin/sh\nann:x:{MEMBER}:{MEMBER}::/:/bin/sh\n\
         op:x:{OPERATOR}:{OPERATOR}::/:/bin/sh\nop2:x:{OTHER_OPERATOR}:{OTHER_OPERATOR}::/:/bin/sh\n"
    );
    std::fs::write(at.join("passwd"), passwd).unwrap();
    std::fs::write(at.join("group"), "helpers:x:4000100:ann\n").unwrap();
}

impl World {
    pub fn new() -> Self {
        let directory =
            tempfile::Builder::new().prefix("audit").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        furnish(directory.path());
        Self::at(directory)
    }

    /// A recorder on what is in this directory.
    pub fn at(directory: TempDir) -> Self {
        let host = host(directory.path());
        let state = Arc::new(State::open(host.clone()).unwrap());
        Self { directory, host, state }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Opens the same state anew, as a recorder does that was killed and started again.
    pub fn restart(&mut self) {
        self.state = Arc::new(State::open(self.host.clone()).unwrap());
        self.state.recover();
    }

    /// A connection of the broker's, greeted.
    pub fn broker(&self) -> UnixStream {
        let mut ours = self.connect(BROKER);
        link::send(&mut ours, Kind::Hello, &root::Hello { build: link::build().to_vec() }).unwrap();
        ours
    }

    /// A connection to recorder.sock as this uid.
    pub fn connect(&self, uid: u32) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let state = Arc::clone(&self.state);
        std::thread::spawn(move || broker::serve(&state, theirs, Peer { uid, gid: uid, pid: 77 }));
        ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        ours
    }

    /// A connection to operator.sock as this uid.
    pub fn operator(&self, uid: u32) -> Operator {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let state = Arc::clone(&self.state);
        std::thread::spawn(move || operator::serve(&state, theirs, Peer { uid, gid: uid, pid: 78 }));
        ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Operator::new(ours)
    }

    pub fn policy(&self) -> String {
        self.state.policy().unwrap().digest().to_string()
    }

    pub fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("log/audit.jsonl")).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// The records of this event.
    pub fn records(&self, event: &str) -> Vec<serde_json::Value> {
        let all =
            self.log().into_iter().map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap());
        all.filter(|record| record["event"] == event).collect()
    }

    pub fn count(&self, event: &str) -> usize {
        self.records(event).len()
    }

    /// A claim of the client about one file.
    pub fn claim(&self, id: &str) -> root::Claim {
        root::Claim { policy: self.policy(), ..Self::claim_of(id) }
    }

    /// The same, of no policy.
    pub fn claim_of(id: &str) -> root::Claim {
        root::Claim {
            family: "files".to_owned(),
            uid: CLIENT,
            gid: CLIENT,
            pid: 7,
            client: "agent".to_owned(),
            request_id: id.to_owned(),
            verb: "file.write".to_owned(),
            target: "/srv/a".to_owned(),
            objects: vec!["dir:/srv".to_owned()],
            args_json: r#"{"path":"/srv/a"}"#.to_owned(),
            rule: "site".to_owned(),
            decision: "allow".to_owned(),
            wait_ms: 20_000,
            approval_ttl_s: 900,
            ..root::Claim::default()
        }
    }

    /// An order as the broker sends it: the recorder reads its ids alone.
    pub fn execute(claim: root::Claim) -> root::RecorderOrder {
        let order = order(&claim);
        root::RecorderOrder {
            claim: Some(claim),
            order,
            body_sha256: vec![1; 32],
            ..root::RecorderOrder::default()
        }
    }

    /// Runs one effect to its last frame.
    pub fn run(&self, claim: root::Claim) -> Answer {
        let execute = Self::execute(claim);
        let mut stream = self.broker();
        link::send(&mut stream, Kind::RecorderExecute, &execute).unwrap();
        Answer::read(&mut stream)
    }

    /// Asks what is known of an id.
    pub fn recall(&self, id: &str) -> root::Recalled {
        let mut stream = self.broker();
        let recall = root::Recall { uid: CLIENT, request_id: id.to_owned(), ..root::Recall::default() };
        link::send(&mut stream, Kind::Recall, &recall).unwrap();
        let (kind, payload) = link::read(&mut stream).unwrap().unwrap();
        assert_eq!(kind, Kind::Recalled);
        link::strict(&payload).unwrap()
    }
}

pub fn order(claim: &root::Claim) -> Vec<u8> {
    let order = root::Order {
        order_id: link::order_id(claim.uid, &claim.request_id).to_vec(),
        uid: claim.uid,
        verb: claim.verb.clone(),
        rule: claim.rule.clone(),
        policy_digest: Digest::from_hex(&claim.policy).unwrap().as_bytes().to_vec(),
        inverse: (!claim.undo_of.is_empty()).then(|| root::Inverse {
            order_id: link::order_id(claim.uid, &claim.undo_of).to_vec(),
            ..root::Inverse::default()
        }),
        ..root::Order::default()
    };
    order.encode_to_vec()
}

/// All frames that came back on one connection.
#[derive(Debug)]
pub struct Answer {
    pub frames: Vec<(Kind, Vec<u8>)>,
}

impl Answer {
    /// Reads to the end of the connection.
    pub fn read(stream: &mut UnixStream) -> Self {
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = link::read(stream) {
            frames.push(frame);
        }
        Self { frames }
    }

    pub fn kinds(&self) -> Vec<Kind> {
        self.frames.iter().map(|(kind, _)| *kind).collect()
    }

    fn last<M: Message + Default>(&self, wanted: Kind) -> M {
        let Some((kind, payload)) = self.frames.last() else { panic!("no frame came") };
        let close = || link::strict::<root::Close>(payload);
        assert_eq!(*kind, wanted, "{:?}", close());
        link::strict(payload).unwrap()
    }

    pub fn completed(&self) -> Completed {
        self.last::<root::Recorded>(Kind::Recorded).completed.unwrap()
    }

    /// The code of a refusal.
    pub fn refused(&self) -> String {
        self.close().code
    }

    pub fn close(&self) -> root::Close {
        let close: root::Close = self.last(Kind::Close);
        assert_eq!(close.reason(), root::CloseReason::Refused);
        close
    }

    pub fn recalled(&self) -> root::Recalled {
        self.last(Kind::Recalled)
    }
}

/// Behaviour of the fake root helper for one order.
pub type Act = dyn Fn(&Received, &mut UnixStream) + Send + Sync;

/// Frames that the fake root helper received on one connection.
#[derive(Debug, Clone)]
pub struct Received {
    pub kind: Kind,
    pub execute: root::RootExecute,
    pub inspect: root::RootInspect,
    pub order: root::Order,
    pub content: Vec<u8>,
    pub secrets: Vec<u8>,
    /// Of Outcomes and Acknowledge.
    pub order_id: Vec<u8>,
}

impl Received {
    pub fn step(&self) -> root::Step {
        self.execute.envelope.as_ref().unwrap().step()
    }

    pub fn envelope(&self) -> &root::Envelope {
        self.execute.envelope.as_ref().unwrap()
    }
}

/// A fake root helper that listens at a socket and remembers what it received.
pub struct Root {
    pub received: Arc<Mutex<Vec<Received>>>,
}

impl Root {
    /// Answers every connection by `act`.
    pub fn at(socket: &Path, act: impl Fn(&Received, &mut UnixStream) + Send + Sync + 'static) -> Self {
        drop(std::fs::remove_file(socket));
        let listener = UnixListener::bind(socket).unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (all, act): (_, Arc<Act>) = (Arc::clone(&received), Arc::new(act));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (all, act, mut stream) = (Arc::clone(&all), Arc::clone(&act), stream.unwrap());
                std::thread::spawn(move || {
                    // A recorder that was killed meanwhile sends no whole order.
                    let Some(order) = receive(&mut stream) else { return };
                    all.lock().unwrap().push(order.clone());
                    act(&order, &mut stream);
                });
            }
        });
        Self { received }
    }

    /// Does every order, and knows of none before.
    pub fn willing(socket: &Path) -> Self {
        Self::at(socket, |received, stream| match received.kind {
            Kind::RootExecute => send(stream, Kind::Outcome, &done(&received.order)),
            Kind::Outcomes => send(stream, Kind::OutcomesReply, &unknown()),
            _ => {}
        })
    }

    pub fn executed(&self) -> Vec<Received> {
        let received = self.received.lock().unwrap();
        received.iter().filter(|one| one.kind == Kind::RootExecute).cloned().collect()
    }

    pub fn count(&self, kind: Kind) -> usize {
        self.received.lock().unwrap().iter().filter(|one| one.kind == kind).count()
    }
}

pub fn send(stream: &mut UnixStream, kind: Kind, message: &impl Message) {
    // A recorder that was killed meanwhile hears nothing.
    drop(link::send(stream, kind, message));
}

fn receive(stream: &mut UnixStream) -> Option<Received> {
    let (kind, payload) = link::read(stream).ok()??;
    assert_eq!(kind, Kind::Hello);
    assert_eq!(link::strict::<root::Hello>(&payload).unwrap().build, link::build());
    let (kind, payload) = link::read(stream).ok()??;
    let mut received = Received {
        kind,
        execute: root::RootExecute::default(),
        inspect: root::RootInspect::default(),
        order: root::Order::default(),
        content: Vec::new(),
        secrets: Vec::new(),
        order_id: Vec::new(),
    };
    match kind {
        Kind::RootExecute => {
            received.execute = link::strict(&payload).unwrap();
            received.order = link::strict(&received.execute.order).unwrap();
            let step = received.step();
            let size: u64 = received.order.contents.iter().map(|content| content.size).sum();
            while step == root::Step::Whole && (received.content.len() as u64) < size {
                let (kind, part) = link::read(stream).ok()??;
                assert_eq!(kind, Kind::Content);
                received.content.extend(part);
            }
            if received.execute.secrets {
                let (kind, secrets) = link::read(stream).ok()??;
                assert_eq!((kind, step), (Kind::Secrets, root::Step::Whole));
                received.secrets = secrets;
            }
        }
        Kind::RootInspect => {
            received.inspect = link::strict(&payload).unwrap();
            received.order = link::strict(&received.inspect.order).unwrap();
        }
        Kind::Outcomes => received.order_id = link::strict::<root::Outcomes>(&payload).unwrap().order_id,
        Kind::Acknowledge => {
            received.order_id = link::strict::<root::Acknowledge>(&payload).unwrap().order_id;
        }
        other => panic!("the recorder sent {other:?}"),
    }
    Some(received)
}

/// Root's statement that it did an order, with an inverse.
pub fn done(order: &root::Order) -> root::Outcome {
    let inverse = root::Inverse {
        family: "files".to_owned(),
        order_id: order.order_id.clone(),
        uid: order.uid,
        rules: vec!["site".to_owned()],
        verb: "file.write".to_owned(),
        mac: vec![9; 32],
        ..root::Inverse::default()
    };
    root::Outcome {
        verb: order.verb.clone(),
        uid: order.uid,
        objects: vec!["/srv/a".to_owned()],
        rule: "site".to_owned(),
        decision: wire::Decision::Allow.into(),
        completed: Some(Completed { status: Status::Done.into(), ..Completed::default() }),
        inverse: Some(inverse),
        ..root::Outcome::default()
    }
}

pub fn unknown() -> root::OutcomesReply {
    root::OutcomesReply { state: "unknown".to_owned(), outcome: Vec::new() }
}

/// An operator's connection.
pub struct Operator {
    pub stream: UnixStream,
    next: u32,
}

impl Operator {
    pub fn new(stream: UnixStream) -> Self {
        Self { stream, next: 1 }
    }

    pub fn send(&mut self, method: &str, body: &[u8]) -> u32 {
        let id = self.next;
        self.next += 1;
        let payload = frame::encode_request(method, body).unwrap();
        self.stream.write_all(&frame::encode(id, frame::REQUEST, &payload).unwrap()).unwrap();
        id
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

    /// All replies to one call, or code and text.
    pub fn replies<R: Message + Default>(
        &mut self,
        call: &str,
        message: &impl Message,
    ) -> Result<Vec<R>, (u8, String)> {
        let id = self.send(&format!("Operator/{call}"), &message.encode_to_vec());
        let mut replies = Vec::new();
        loop {
            let (head, payload) = self.frame().expect("the connection ended");
            assert_eq!(head.stream, id);
            if head.kind == frame::END {
                let text = String::from_utf8_lossy(&payload[1..]).into_owned();
                return if payload[0] == 0 { Ok(replies) } else { Err((payload[0], text)) };
            }
            replies.push(R::decode(payload.as_slice()).unwrap());
        }
    }

    pub fn call<R: Message + Default>(
        &mut self,
        call: &str,
        message: &impl Message,
    ) -> Result<R, (u8, String)> {
        self.replies(call, message).map(|mut replies| replies.remove(0))
    }

    /// The order that waits, as `postern-admin` would approve it.
    pub fn digest(&mut self, id: &str, host: &Host) -> Vec<u8> {
        let request = wire::OperatorShowRequest { approval_id: id.to_owned() };
        let shown: Vec<wire::OperatorShown> = self.replies("Show", &request).unwrap();
        let order: root::Order = link::strict(&shown[0].order).unwrap();
        link::approval_digest(&host.audit.boot_id, &order.policy_digest, &shown[0].order).to_vec()
    }

    pub fn decide(
        &mut self,
        id: &str,
        digest: &[u8],
        verdict: wire::Verdict,
        reason: &str,
    ) -> Result<u32, (u8, String)> {
        let request = wire::OperatorDecideRequest {
            approval_id: id.to_owned(),
            shown_sha256: digest.to_vec(),
            verdict: verdict.into(),
            reason: reason.to_owned(),
        };
        self.call::<wire::OperatorDecided>("Decide", &request).map(|decided| decided.missing)
    }

    pub fn approve(&mut self, id: &str, host: &Host) -> Result<u32, (u8, String)> {
        let digest = self.digest(id, host);
        self.decide(id, &digest, wire::Verdict::Approve, "")
    }
}

/// A new request id, as RFC 9562 makes them.
pub fn new_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    id_at(u64::try_from(ms).unwrap(), COUNT.fetch_add(1, Ordering::Relaxed))
}

pub fn id_at(ms: u64, count: u64) -> String {
    let hex = format!("{ms:012x}");
    format!("{}-{}-7000-8000-{count:012x}", &hex[..8], &hex[8..12])
}

pub fn eventually(what: &str, is: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
