//! A host in a temporary directory, and a recorder that sends orders.

use postern_files::{State, recover};
use postern_policy::types::Digest;
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, event};
use postern_root::{ActivePolicy, Host};
use prost::Message;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::SystemTime;
use tempfile::TempDir;

/// Whether the rule keeps replaced content for undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoCopy {
    Keep,
    Discard,
}

pub const CLIENT: u32 = 4_000_001;
pub const OTHER: u32 = 4_000_002;
pub const OPERATOR: u32 = 4_000_003;
pub const VALIDATOR_KEY: [u8; 32] = [7; 32];

fn own_uid() -> u32 {
    nix::unistd::Uid::effective().as_raw()
}

fn own_gid() -> u32 {
    nix::unistd::Gid::effective().as_raw()
}

/// A state directory, a policy and the directory `site`.
pub struct World {
    path: PathBuf,
    _directory: Option<TempDir>,
    pub host: Host,
    state: Option<State>,
    /// Or a thread that has confined itself and serves what it is given.
    confined: Option<mpsc::Sender<UnixStream>>,
}

/// Opens the state as the program does at its start.
pub fn open(
    host: postern_root::Host,
    confine: impl FnOnce(&postern_root::Host, &postern_policy::Policy) -> Result<(), postern_root::Fault>,
) -> Result<State, postern_root::Fault> {
    let state = State::open(host, confine)?;
    recover::recover_all(&state)?;
    Ok(state)
}

/// A rule with the defaults of `policy apply`.
pub fn rule(id: &str, verbs: &[&str]) -> root::Rule {
    root::Rule {
        id: id.to_owned(),
        client: "agent".to_owned(),
        verbs: strings(verbs),
        decision: root::Decision::Allow.into(),
        timeout_s: 20,
        approvers: 1,
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

/// A rule that grants every verb below `site`.
pub fn all_verbs(at: &Path) -> root::Rule {
    let verbs = [
        "file.read",
        "file.list",
        "file.write",
        "file.patch",
        "file.remove",
        "file.mkdir",
        "file.set-mode",
        "file.set-owner",
        "request.undo",
    ];
    root::Rule {
        directories: vec![at.join("site").to_str().unwrap().to_owned()],
        files: strings(&["*"]),
        depth: 3,
        modes: strings(&["0644", "0640", "0600", "0755", "0700"]),
        ..rule("site", &verbs)
    }
}

pub fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// The accepted form of a policy.
pub fn accepted(mut rules: root::Rules) -> Vec<u8> {
    rules.version = 1;
    for (name, user) in [("agent", "postern"), ("other", "other")] {
        rules.clients.push(root::Client {
            name: name.to_owned(),
            user: user.to_owned(),
            group: String::new(),
        });
    }
    let rules = rules.encode_to_vec();
    let digest = Digest::of(&[&rules]).as_bytes().to_vec();
    root::AcceptedPolicy { rules, digest, ..root::AcceptedPolicy::default() }.encode_to_vec()
}

/// The host of a world at this place.
pub fn host(at: &Path) -> Host {
    Host {
        family: "files",
        accepted: at.join("accepted.pb"),
        validator_key: at.join("validator.key"),
        state: at.join("state"),
        passwd: at.join("passwd"),
        group: at.join("group"),
        boot_id: "00000000-0000-4000-8000-000000000000".to_owned(),
        root_uid: own_uid(),
        peer_uid: own_uid(),
        now: SystemTime::now,
    }
}

/// Makes what a host has before the program starts.
fn make(at: &Path, rules: impl FnOnce(&Path) -> root::Rules) -> Host {
    let host = host(at);
    std::fs::create_dir(at.join("site")).unwrap();
    std::fs::set_permissions(at.join("site"), PermissionsExt::from_mode(0o755)).unwrap();
    let (uid, gid) = (own_uid(), own_gid());
    let passwd = format!(
        "root:x:{uid}:{gid}::/:/bin/sh\npostern:x:{CLIENT}:4000001::/:/bin/sh\nother:x:{OTHER}:4000002::/:/bin/sh\noperator:x:{OPERATOR}:4000003::/:/bin/sh\n"
    );
    std::fs::write(&host.passwd, passwd).unwrap();
    std::fs::write(&host.group, format!("root:x:{gid}:\nhelpers:x:4000100:postern\n")).unwrap();
    std::fs::write(&host.validator_key, VALIDATOR_KEY).unwrap();
    std::fs::write(&host.accepted, accepted(rules(at))).unwrap();
    host
}

/// Runs a test of this program again in a mount namespace of its own, and gives the one that runs there a directory.
pub fn in_namespace(test: &str) -> Option<PathBuf> {
    const PLACE: &str = "POSTERN_TEST_NAMESPACE";
    if let Some(place) = std::env::var_os(PLACE) {
        return Some(place.into());
    }
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let run = std::process::Command::new("unshare")
        .args(["--mount", "--propagation", "private"])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"])
        .env(PLACE, place.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success() && told.contains("1 passed"),
        "{told}\n{}",
        String::from_utf8_lossy(&run.stderr)
    );
    None
}

/// mount(8) of a file system, or of a directory over itself.
pub fn mount(at: &Path, kind: &str, options: &str) {
    let mut command = std::process::Command::new("mount");
    if kind == "none" {
        command.args(["-o", options]).arg(at).arg(at)
    } else {
        command.args(["-t", kind, "-o", options, kind]).arg(at)
    };
    assert!(command.status().unwrap().success(), "{options}");
}

impl World {
    /// A world with these rules, given the place at which it is.
    pub fn new(rules: impl FnOnce(&Path) -> Vec<root::Rule>) -> Self {
        Self::with(|at| root::Rules { rules: rules(at), ..root::Rules::default() })
    }

    /// A world with this policy.
    pub fn with(rules: impl FnOnce(&Path) -> root::Rules) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let host = make(directory.path(), rules);
        let state = open(host.clone(), |_, _| Ok(())).unwrap();
        Self {
            path: directory.path().to_owned(),
            _directory: Some(directory),
            host,
            state: Some(state),
            confined: None,
        }
    }

    /// A world in an empty directory that is there.
    pub fn at(path: &Path, rules: impl FnOnce(&Path) -> Vec<root::Rule>) -> Self {
        let host = make(path, |at| root::Rules { rules: rules(at), ..root::Rules::default() });
        let state = open(host.clone(), |_, _| Ok(())).unwrap();
        Self { path: path.to_owned(), _directory: None, host, state: Some(state), confined: None }
    }
    /// A world that is there already, and the program on a thread that is confined as its process is.
    pub fn confined(path: &Path) -> Self {
        let host = host(path);
        let (connect, connections) = mpsc::channel::<UnixStream>();
        let theirs = host.clone();
        std::thread::spawn(move || {
            let state = open(theirs, postern_files::confine::confine).unwrap();
            assert!(state.is_current());
            for stream in connections {
                std::thread::scope(|scope| scope.spawn(|| state.serve(stream)).join().unwrap());
            }
        });
        Self { path: path.to_owned(), _directory: None, host, state: None, confined: Some(connect) }
    }

    /// The digest of the policy as it is accepted now.
    pub fn policy_digest(&self) -> Vec<u8> {
        ActivePolicy::load(&self.host).unwrap().policy.digest().as_bytes().to_vec()
    }

    pub fn state(&self) -> &State {
        self.state.as_ref().unwrap()
    }

    /// Ends the program and starts it anew.
    pub fn restart(&mut self) {
        self.state = None;
        self.state = Some(open(self.host.clone(), |_, _| Ok(())).unwrap());
    }

    /// Replaces the policy, and starts anew.
    pub fn apply(&mut self, rules: Vec<root::Rule>) {
        let new = self.path("accepted.new");
        std::fs::write(&new, accepted(root::Rules { rules, ..root::Rules::default() })).unwrap();
        std::fs::rename(new, &self.host.accepted).unwrap();
        self.restart();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.path.clone() } else { self.path.join(name) }
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Sends these frames and reads the answer.
    pub fn send(&self, frames: &[u8]) -> Answer {
        let Some(confined) = &self.confined else { return send(self.state(), frames) };
        let (ours, theirs) = UnixStream::pair().unwrap();
        confined.send(theirs).unwrap();
        converse(ours, frames)
    }

    /// An order as the broker makes it.
    pub fn order<R: Request>(&self, uid: u32, request: &R) -> (root::Order, Vec<Vec<u8>>) {
        let (body, contents) = request.clone().split();
        let order = root::Order {
            order_id: link::order_id(uid, &request.id()).to_vec(),
            uid,
            verb: R::VERB.to_owned(),
            body,
            contents: contents.iter().map(|bytes| announced(bytes)).collect(),
            policy_digest: self.policy_digest(),
            ..root::Order::default()
        };
        (order, contents)
    }

    pub fn inspect(&self, order: &root::Order, envelope: Option<root::Envelope>) -> Answer {
        let mut frames = Vec::new();
        let message = root::RootInspect { order: order.encode_to_vec(), envelope };
        link::open(&mut frames, Kind::RootInspect, &message).unwrap();
        self.send(&frames)
    }

    pub fn execute(&self, order: &root::Order, contents: &[Vec<u8>], envelope: root::Envelope) -> Answer {
        self.send(&execute_frames(order, contents, envelope))
    }

    /// Asks for the facts and then for the effect, or for the read.
    pub fn ask<R: Request>(&self, request: &R) -> Answer {
        self.ask_as(CLIENT, request)
    }

    pub fn ask_as<R: Request>(&self, uid: u32, request: &R) -> Answer {
        let (mut order, contents) = self.order(uid, request);
        let inspected = self.inspect(&order, None);
        if R::IS_READ || inspected.facts.is_none() {
            return inspected;
        }
        order.facts.clone_from(&inspected.facts);
        self.execute(&order, &contents, whole())
    }

    /// An undo as the broker asks for it: with the inverse that root issued.
    pub fn undo(&self, inverse: &root::Inverse) -> Answer {
        let (mut order, envelope) = (self.undo_order(CLIENT, inverse), whole());
        let inspected = self.inspect(&order, None);
        if inspected.facts.is_none() {
            return inspected;
        }
        order.facts.clone_from(&inspected.facts);
        self.execute(&order, &[], envelope)
    }

    pub fn undo_order(&self, uid: u32, inverse: &root::Inverse) -> root::Order {
        let request = wire::RequestUndoRequest { meta: Some(meta()), of: id() };
        root::Order { inverse: Some(inverse.clone()), ..self.order(uid, &request).0 }
    }

    /// An operator's undo as the recorder asks for it.
    pub fn operator_undo(&self, inverse: &root::Inverse) -> Answer {
        let order = self.undo_order(OPERATOR, inverse);
        let envelope = root::Envelope { by_operator: true, operator_uid: OPERATOR, ..whole() };
        self.execute(&order, &[], envelope)
    }

    /// Asks for the outcome of an order, as the recorder does at start.
    pub fn outcomes(&self, order_id: &[u8]) -> (String, Option<root::Outcome>) {
        let mut frames = Vec::new();
        link::open(&mut frames, Kind::Outcomes, &root::Outcomes { order_id: order_id.to_vec() }).unwrap();
        let reply = self.send(&frames).reply.unwrap();
        let outcome =
            (!reply.outcome.is_empty()).then(|| root::Outcome::decode(reply.outcome.as_slice()).unwrap());
        (reply.state, outcome)
    }

    pub fn acknowledge(&self, order_id: &[u8]) {
        let mut frames = Vec::new();
        link::open(&mut frames, Kind::Acknowledge, &root::Acknowledge { order_id: order_id.to_vec() })
            .unwrap();
        assert_eq!(self.send(&frames).close.unwrap().reason(), root::CloseReason::Unspecified);
    }
}

pub fn execute_frames(order: &root::Order, contents: &[Vec<u8>], envelope: root::Envelope) -> Vec<u8> {
    let mut frames = Vec::new();
    let envelope = Some(envelope);
    let message =
        root::RootExecute { envelope, order: order.encode_to_vec(), ..root::RootExecute::default() };
    link::open(&mut frames, Kind::RootExecute, &message).unwrap();
    for content in contents {
        link::send_content(&mut frames, content).unwrap();
    }
    frames
}

pub fn send(state: &State, frames: &[u8]) -> Answer {
    let (ours, theirs) = UnixStream::pair().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || state.serve(theirs));
        converse(ours, frames)
    })
}

/// Writes these frames and reads what comes back.
fn converse(mut ours: UnixStream, frames: &[u8]) -> Answer {
    std::thread::scope(|scope| {
        let mut writer = ours.try_clone().unwrap();
        // It may be closed before it has taken all.
        scope.spawn(move || {
            drop(std::io::Write::write_all(&mut writer, frames));
            drop(writer.shutdown(std::net::Shutdown::Write));
        });
        let mut answer = Answer::default();
        while let Ok(Some((kind, payload))) = link::read(&mut ours) {
            answer.take(kind, &payload);
        }
        answer
    })
}

pub fn announced(bytes: &[u8]) -> root::Content {
    root::Content {
        size: u64::try_from(bytes.len()).unwrap(),
        sha256: Digest::of(&[bytes]).as_bytes().to_vec(),
    }
}

pub fn whole() -> root::Envelope {
    root::Envelope { step: root::Step::Whole.into(), ..root::Envelope::default() }
}

/// Frames received on one connection.
#[derive(Debug, Default)]
pub struct Answer {
    pub events: Vec<wire::Event>,
    pub outcome: Option<root::Outcome>,
    pub facts: Option<root::Facts>,
    pub close: Option<root::Close>,
    pub reply: Option<root::OutcomesReply>,
}

impl Answer {
    fn take(&mut self, kind: Kind, payload: &[u8]) {
        if kind == Kind::Event {
            self.events.push(wire::Event::decode(payload).unwrap());
        } else if kind == Kind::Outcome {
            self.outcome = Some(root::Outcome::decode(payload).unwrap());
        } else if kind == Kind::Facts {
            self.facts = Some(root::Facts::decode(payload).unwrap());
        } else if kind == Kind::OutcomesReply {
            self.reply = Some(root::OutcomesReply::decode(payload).unwrap());
        } else {
            assert_eq!(kind, Kind::Close);
            self.close = Some(root::Close::decode(payload).unwrap());
        }
    }

    #[track_caller]
    pub fn done(&self) -> &wire::Completed {
        let outcome = self.outcome.as_ref().unwrap_or_else(|| panic!("no outcome: {self:?}"));
        outcome.completed.as_ref().unwrap()
    }

    #[track_caller]
    pub fn status(&self) -> wire::Status {
        self.done().status()
    }

    #[track_caller]
    pub fn inverse(&self) -> &root::Inverse {
        self.done();
        self.outcome.as_ref().unwrap().inverse.as_ref().unwrap()
    }

    #[track_caller]
    pub fn refused(&self) -> &root::Close {
        self.close.as_ref().unwrap_or_else(|| panic!("not refused: {self:?}"))
    }

    #[track_caller]
    pub fn code(&self) -> &str {
        &self.refused().code
    }

    pub fn content(&self) -> Vec<u8> {
        let outputs = self.events.iter().map(|event| match &event.kind {
            Some(event::Kind::Output(output)) => output.data.clone(),
            other => panic!("{other:?}"),
        });
        outputs.flatten().collect()
    }

    pub fn is_truncated(&self) -> bool {
        let last = self.events.last().and_then(|event| event.kind.as_ref());
        matches!(last, Some(event::Kind::Output(output)) if output.truncated)
    }
}

/// A new id.
pub fn id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("0190a0a0-0000-7000-8000-{:012x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

pub fn meta() -> wire::Meta {
    wire::Meta { request_id: id(), mode: wire::Mode::Execute.into(), ..wire::Meta::default() }
}

/// A client's message.
pub trait Request: Message + Clone {
    const VERB: &'static str;
    const IS_READ: bool = false;
    fn id(&self) -> String;
    /// The body of the order, and the content that follows it.
    fn split(self) -> (Vec<u8>, Vec<Vec<u8>>) {
        (self.encode_to_vec(), Vec::new())
    }
}

macro_rules! requests {
    ($($verb:literal $message:ident $is_read:literal;)*) => {
        $(impl Request for wire::$message {
            const VERB: &'static str = $verb;
            const IS_READ: bool = $is_read;
            fn id(&self) -> String { self.meta.as_ref().unwrap().request_id.clone() }
        })*
    };
}

requests! {
    "file.read" FileReadRequest true;
    "file.list" FileListRequest true;
    "file.remove" FileRemoveRequest false;
    "file.mkdir" FileMkdirRequest false;
    "file.set-mode" FileSetModeRequest false;
    "file.set-owner" FileSetOwnerRequest false;
    "request.undo" RequestUndoRequest false;
}

impl Request for wire::FileWriteRequest {
    const VERB: &'static str = "file.write";
    fn id(&self) -> String {
        self.meta.as_ref().unwrap().request_id.clone()
    }
    fn split(mut self) -> (Vec<u8>, Vec<Vec<u8>>) {
        let contents = self.change.iter_mut().map(|change| std::mem::take(&mut change.content)).collect();
        (self.encode_to_vec(), contents)
    }
}

impl Request for wire::FilePatchRequest {
    const VERB: &'static str = "file.patch";
    fn id(&self) -> String {
        self.meta.as_ref().unwrap().request_id.clone()
    }
    fn split(mut self) -> (Vec<u8>, Vec<Vec<u8>>) {
        let writes = self.changes.iter_mut().filter(|change| change.kind() == wire::ChangeKind::Write);
        let contents = writes.map(|change| std::mem::take(&mut change.content)).collect();
        (self.encode_to_vec(), contents)
    }
}

pub fn change(path: &str, kind: wire::ChangeKind, content: &[u8]) -> wire::FileChange {
    let (path, kind, content) = (path.to_owned(), kind.into(), content.to_vec());
    wire::FileChange { path, kind, content, expect: "any".to_owned(), ..wire::FileChange::default() }
}

pub fn to(path: &str, content: &[u8]) -> wire::FileChange {
    change(path, wire::ChangeKind::Write, content)
}

pub fn away(path: &str) -> wire::FileChange {
    change(path, wire::ChangeKind::Remove, b"")
}

pub fn write(path: &str, content: &[u8]) -> wire::FileWriteRequest {
    wire::FileWriteRequest { meta: Some(meta()), change: Some(to(path, content)) }
}

pub fn write_expecting(path: &str, content: &[u8], expect: &str) -> wire::FileWriteRequest {
    let change = wire::FileChange { expect: expect.to_owned(), ..to(path, content) };
    wire::FileWriteRequest { meta: Some(meta()), change: Some(change) }
}

pub fn patch(changes: Vec<wire::FileChange>) -> wire::FilePatchRequest {
    wire::FilePatchRequest { meta: Some(meta()), changes }
}

pub fn remove(path: &str) -> wire::FileRemoveRequest {
    wire::FileRemoveRequest { meta: Some(meta()), path: path.to_owned(), expect: "any".to_owned() }
}

pub fn mkdir(path: &str) -> wire::FileMkdirRequest {
    wire::FileMkdirRequest { meta: Some(meta()), path: path.to_owned(), ..wire::FileMkdirRequest::default() }
}

pub fn set_mode(path: &str, mode: &str) -> wire::FileSetModeRequest {
    wire::FileSetModeRequest { meta: Some(meta()), path: path.to_owned(), mode: mode.to_owned() }
}

pub fn set_owner(path: &str, owner: &str, group: &str) -> wire::FileSetOwnerRequest {
    let (path, owner, group) = (path.to_owned(), owner.to_owned(), group.to_owned());
    wire::FileSetOwnerRequest { meta: Some(meta()), path, owner, group }
}

pub fn read(path: &str) -> wire::FileReadRequest {
    wire::FileReadRequest { meta: Some(meta()), path: path.to_owned(), offset: 0, limit: 0 }
}

pub fn list(path: &str) -> wire::FileListRequest {
    wire::FileListRequest { meta: Some(meta()), path: path.to_owned() }
}

/// The names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Every file and directory in a directory, with mode and content.
pub fn tree(directory: &Path) -> Vec<String> {
    let line = |name: String| {
        let path = directory.join(&name);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        format!("{name} {mode:o} {}", std::fs::read_to_string(&path).unwrap_or_default())
    };
    names(directory).into_iter().map(line).collect()
}
