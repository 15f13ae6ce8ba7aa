//! A helper on directories of the test's own, spoken to as a gateway speaks to it.

use postern_helper::audit::Audit;
use postern_helper::connection::{Client, serve};
use postern_helper::helper::Helper;
use postern_helper::host::{Accounts, Peer};
use postern_helper::host::{Host, Paths, Programs};
use postern_helper::operator::Operator;
use postern_helper::places::Places;
use postern_helper::startup;
use postern_policy::types::Digest;
use postern_proto::frame::{self, HEAD, Head};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, event::Kind};
use prost::Message;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

pub const CLIENT_UID: u32 = 4_000_001;
pub const STRANGER_UID: u32 = 4_000_002;
/// Whose own group is `helpers`; the group does not list it.
pub const GROUP_UID: u32 = 4_000_055;

pub fn peer(uid: u32) -> Peer {
    Peer { uid, gid: uid, pid: 77 }
}

fn own_uid() -> u32 {
    nix::unistd::Uid::effective().as_raw()
}

fn own_gid() -> u32 {
    nix::unistd::Gid::effective().as_raw()
}

fn accounts() -> Accounts {
    Accounts {
        user: |name| match name {
            "postern" => Some(CLIENT_UID),
            "root" => Some(own_uid()),
            _ => None,
        },
        group: |name| match name {
            "root" => Some((own_gid(), Vec::new())),
            "helpers" => Some((4_000_100, vec![CLIENT_UID])),
            _ => None,
        },
    }
}

/// The client, a member of `helpers` by its own entry, and the user that runs the tests.
fn passwd() -> String {
    let own = format!("tester:x:{}:{}::/:/bin/sh\n", own_uid(), own_gid());
    format!("{own}postern:x:{CLIENT_UID}:{CLIENT_UID}::/:/bin/sh\nmember:x:{GROUP_UID}:4000100::/:/bin/sh\n")
}

const GROUP: &str = "helpers:x:4000100:postern\n";

/// A helper with its state in a temporary directory.
pub struct World {
    pub directory: TempDir,
    pub host: Host,
    pub helper: Arc<Helper>,
}

/// A rule with the defaults of CONTRACTS 5.
pub fn rule(id: &str, verbs: &[&str]) -> root::Rule {
    root::Rule {
        id: id.to_owned(),
        client: "agent".to_owned(),
        verbs: verbs.iter().map(ToString::to_string).collect(),
        decision: root::Decision::Allow.into(),
        timeout_s: 20,
        max_new_packages: 50,
        depth: 1,
        max_bytes: 1_048_576,
        modes: vec!["0644".to_owned()],
        owners: vec!["root".to_owned()],
        groups: vec!["root".to_owned()],
        max_files: 20,
        allow_create: true,
        ..root::Rule::default()
    }
}

pub fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

pub fn accept(rules: Vec<root::Rule>) -> Vec<u8> {
    accept_whole(root::Rules { rules, ..root::Rules::default() })
}

/// As [`accept`], with what a policy says besides rules, other clients included.
pub fn accept_whole(mut rules: root::Rules) -> Vec<u8> {
    rules.version = 1;
    let client = root::Client { name: "agent".to_owned(), user: "postern".to_owned(), group: String::new() };
    rules.clients.push(client);
    // Far more than any test asks; the tests of the budget say their own.
    let plenty =
        root::AuditLimits { records_per_minute: 100_000, records_per_hour: 100_000, ..Default::default() };
    rules.audit.get_or_insert(plenty);
    let rules = rules.encode_to_vec();
    let digest = Digest::of(&[&rules]).as_bytes().to_vec();
    root::AcceptedPolicy { rules, digest, ..root::AcceptedPolicy::default() }.encode_to_vec()
}

/// The host of a world that stands here.
pub fn host(at: &Path) -> Host {
    let run = at.join("run");
    Host {
        programs: Programs {
            systemctl: at.join("systemctl"),
            systemd_run: at.join("systemctl"),
            journalctl: at.join("journalctl"),
        },
        paths: Paths {
            state: at.join("state"),
            log: at.join("log"),
            run: run.clone(),
            helper_socket: run.join("helper.sock"),
            operator_socket: run.join("operator.sock"),
            gateway_socket: run.join("gateway.sock"),
            journal_socket: at.join("journal"),
            etc: at.join("etc"),
            systemd: at.join("systemd"),
        },
        owner_uid: own_uid(),
        accounts: accounts(),
        user_name: |uid| if uid == own_uid() { "root".to_owned() } else { uid.to_string() },
        group_name: |gid| if gid == own_gid() { "root".to_owned() } else { gid.to_string() },
        now: SystemTime::now,
        since_boot: || SystemTime::now().duration_since(UNIX_EPOCH).unwrap(),
        boot_id: "00000000-0000-4000-8000-000000000000".to_owned(),
        landlock: postern_helper::sys::confined::available(),
    }
}

/// Where directories can be made that the helper takes for root's alone: the tree's, or where that is below `/tmp`, or
/// another user's while root runs the test, the home directory.
fn place(fits: impl Fn(u32) -> bool) -> PathBuf {
    let places = [Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR"))), std::env::home_dir()];
    let mut places = places.into_iter().flatten().filter_map(|place| place.canonicalize().ok());
    let is_ours = |above: &Path| {
        let facts = above.metadata().unwrap();
        [0, own_uid()].contains(&facts.uid()) && fits(facts.mode())
    };
    places.find(|place| place.ancestors().all(is_ours)).expect("a directory that others cannot change: HOME")
}

impl World {
    /// A helper under these rules, for the client `postern`.
    pub fn new(rules: impl FnOnce(&Path) -> Vec<root::Rule>) -> Self {
        Self::below(&place(|mode| mode & 0o022 == 0 || mode & 0o1000 != 0), rules)
    }

    /// One whose programs may be run: above them not even a sticky directory may be written by others.
    pub fn with_programs() -> Self {
        Self::below(&place(|mode| mode & 0o022 == 0), |_| Vec::new())
    }

    fn below(place: &Path, rules: impl FnOnce(&Path) -> Vec<root::Rule>) -> Self {
        let directory = tempfile::Builder::new().prefix("helper").tempdir_in(place).unwrap();
        let at = directory.path().canonicalize().unwrap();
        std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["state", "state/policy", "log", "site", "run", "etc"] {
            std::fs::create_dir(at.join(name)).unwrap();
        }
        std::fs::create_dir(at.join("systemd")).unwrap();
        std::fs::write(at.join("etc/passwd"), passwd()).unwrap();
        std::fs::write(at.join("etc/group"), GROUP).unwrap();
        std::fs::write(at.join("state/policy/accepted.pb"), accept(rules(&at))).unwrap();
        let host = host(&at);
        let (helper, unfinished) = startup::open(host.clone()).unwrap();
        assert!(unfinished.is_empty());
        Self { directory, host, helper }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Installs a fake systemctl, which records argv and environment in `calls`, then runs `body`.
    pub fn systemctl(&self, body: &str) {
        let calls = self.text("calls");
        let script = format!(
            "#!/bin/sh\n{{ printf '%s\\n' \"$@\"; echo ENV; env; echo CWD $(pwd); echo END; }} >> {calls}\n{body}\n"
        );
        let path = self.path("systemctl");
        // Written under another name: a forked child of another test may hold the file open for writing.
        let temporary = self.path("systemctl.new");
        std::fs::write(&temporary, script).unwrap();
        std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(temporary, path).unwrap();
    }

    pub fn calls(&self) -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(self.path("calls")).unwrap_or_default();
        text.split("END\n")
            .filter(|call| !call.is_empty())
            .map(|call| call.lines().map(str::to_owned).collect())
            .collect()
    }

    /// A connection as a gateway holds it.
    pub fn connect(&self, uid: u32) -> Channel {
        connect(&self.helper, uid)
    }

    /// A connection to operator.sock as this uid.
    pub fn operator(&self, uid: u32) -> Channel {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let helper = Arc::clone(&self.helper);
        let peer = Peer { uid, gid: uid, pid: 78 };
        let mut service = Operator { helper, peer, clients: Arc::new(Places::default()) };
        let thread = std::thread::spawn(move || serve(theirs, None, &mut service));
        Channel::of(ours, thread)
    }

    pub fn log(&self) -> Vec<String> {
        self.helper.audit.sync().unwrap();
        std::fs::read_to_string(self.path("log/audit.jsonl")).unwrap().lines().map(str::to_owned).collect()
    }

    /// How many records of this event stand in the log.
    pub fn count(&self, event: &str) -> usize {
        self.log().iter().filter(|line| line.contains(&format!("\"event\":\"{event}\""))).count()
    }

    /// Opens the same state anew, as a restarted helper does.
    pub fn restart(&mut self) {
        let (helper, unfinished) = startup::open(self.host.clone()).unwrap();
        startup::take_up(&helper, unfinished);
        self.helper = helper;
    }
}

/// A connection as a gateway holds it.
pub fn connect(helper: &Arc<Helper>, uid: u32) -> Channel {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (client, far) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let helper = Arc::clone(helper);
    let thread = std::thread::spawn(move || {
        let watch = client.try_clone().unwrap();
        serve(theirs, Some(&watch), &mut Client { helper, peer: peer(uid), socket: client });
    });
    ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    Channel { stream: ours, client: Some(far), next: 1, thread: Some(thread) }
}

/// The gateway's end of a channel.
pub struct Channel {
    pub stream: UnixStream,
    pub client: Option<UnixStream>,
    next: u32,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// What came back on one stream.
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

    pub fn content(&self) -> Vec<u8> {
        let part = |event: &wire::Event| match &event.kind {
            Some(Kind::Output(output)) => output.data.clone(),
            _ => Vec::new(),
        };
        self.events.iter().flat_map(part).collect()
    }
}

impl Channel {
    /// Our end of a connection that `thread` serves.
    pub fn of(stream: UnixStream, thread: std::thread::JoinHandle<()>) -> Self {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream, client: None, next: 1, thread: Some(thread) }
    }

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

    /// Waits until the helper has left the connection.
    pub fn left(mut self) {
        let frame = self.frame();
        assert!(frame.is_none(), "a frame came: {frame:?}");
        self.thread.take().unwrap().join().unwrap();
    }
}

/// One call of an operator's: the reply, or code and text.
pub fn call<R: Message + Default>(
    channel: &mut Channel,
    method: &str,
    message: &impl Message,
) -> Result<R, (u8, String)> {
    let stream = channel.send(method, &message.encode_to_vec());
    let mut reply = None;
    loop {
        let (head, payload) = channel.frame().expect("the connection ended");
        assert_eq!(head.stream, stream);
        if head.kind == frame::END {
            let text = String::from_utf8_lossy(&payload[1..]).into_owned();
            return if payload[0] == 0 { Ok(reply.unwrap()) } else { Err((payload[0], text)) };
        }
        reply = Some(R::decode(payload.as_slice()).unwrap());
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

pub fn meta(mode: wire::Mode) -> Option<wire::Meta> {
    meta_with(&new_id(), mode)
}

#[expect(clippy::unnecessary_wraps, reason = "a message's field is an option")]
pub fn meta_with(id: &str, mode: wire::Mode) -> Option<wire::Meta> {
    Some(wire::Meta { request_id: id.to_owned(), mode: mode.into(), ..wire::Meta::default() })
}

pub fn write_request(path: &str, content: &[u8], expect: &str) -> wire::FileWriteRequest {
    wire::FileWriteRequest {
        meta: meta(wire::Mode::Execute),
        change: Some(wire::FileChange {
            path: path.to_owned(),
            kind: wire::ChangeKind::Write.into(),
            content: content.to_vec(),
            expect: expect.to_owned(),
            ..wire::FileChange::default()
        }),
    }
}

/// Rules for the directory `site`.
pub fn site_rules(at: &Path) -> Vec<root::Rule> {
    let site = at.join("site").to_str().unwrap().to_owned();
    vec![root::Rule {
        directories: vec![site],
        files: strings(&["*.html"]),
        ..rule("site", &["file.read", "file.write"])
    }]
}

/// Opens a log as the helper does.
pub fn open_audit(directory: &Path) -> Audit {
    std::fs::create_dir_all(directory).unwrap();
    Audit::open(&crate::reader::place(directory)).unwrap()
}

/// A rule that grants every change of files in `site` and below, and its undo.
pub fn changing(at: &Path) -> root::Rule {
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
        modes: strings(&["0644", "0600", "0755"]),
        ..rule("site", &verbs)
    }
}

/// A file's new content, of whatever stands there.
pub fn change_to(path: &str, content: &[u8]) -> wire::FileChange {
    wire::FileChange {
        path: path.to_owned(),
        kind: wire::ChangeKind::Write.into(),
        content: content.to_vec(),
        expect: "any".to_owned(),
        ..wire::FileChange::default()
    }
}

/// A file that goes.
pub fn change_away(path: &str) -> wire::FileChange {
    wire::FileChange {
        path: path.to_owned(),
        kind: wire::ChangeKind::Remove.into(),
        expect: "any".to_owned(),
        ..wire::FileChange::default()
    }
}

pub fn patch(changes: Vec<wire::FileChange>) -> wire::FilePatchRequest {
    wire::FilePatchRequest { meta: meta(wire::Mode::Execute), changes }
}

pub fn remove(path: &str) -> wire::FileRemoveRequest {
    let (path, expect) = (path.to_owned(), "any".to_owned());
    wire::FileRemoveRequest { meta: meta(wire::Mode::Execute), path, expect }
}

pub fn mkdir(path: &str) -> wire::FileMkdirRequest {
    wire::FileMkdirRequest {
        meta: meta(wire::Mode::Execute),
        path: path.to_owned(),
        ..wire::FileMkdirRequest::default()
    }
}

pub fn set_mode(path: &str, mode: &str) -> wire::FileSetModeRequest {
    let (path, mode) = (path.to_owned(), mode.to_owned());
    wire::FileSetModeRequest { meta: meta(wire::Mode::Execute), path, mode }
}

/// The names in a directory of the world's, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let names = std::fs::read_dir(directory).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>();
    names.sort();
    names
}
