//! What a `file.write` costs in the helper, against the same work and syncs in a bare loop:
//! `cargo bench -p postern-tests --bench file_write --profile hardened`.
//!
//! Both are done in turns, on the same file system and in one process, and compared by their medians. The bars are 1.3
//! for 4 KiB and 1.15 for 1 MiB.

use postern_helper::connection::{Client, serve};
use postern_helper::host::Host;
use postern_helper::host::{Accounts, Peer};
use postern_helper::startup;
use postern_helper::sys::confined;
use postern_policy::types::Digest;
use postern_proto::frame::{self, HEAD, Head};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, event::Kind};
use prost::Message;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const CLIENT: u32 = 4_000_001;

fn own() -> u32 {
    fs::metadata("/proc/self").expect("this process").uid()
}

fn accounts() -> Accounts {
    Accounts {
        user: |name| match name {
            "postern" => Some(CLIENT),
            "root" => Some(own()),
            _ => None,
        },
        group: |_| Some((fs::metadata("/proc/self").expect("this process").gid(), Vec::new())),
    }
}

/// A policy under which the client may write what it wants below `site`, as often as it wants.
fn accepted(at: &Path) -> Vec<u8> {
    let text = |text: &str| vec![text.to_owned()];
    let rule = root::Rule {
        id: "site".to_owned(),
        client: "agent".to_owned(),
        verbs: text("file.write"),
        decision: root::Decision::Allow.into(),
        timeout_s: 20,
        directories: text(at.join("site").to_str().expect("a path in UTF-8")),
        depth: 1,
        files: text("*"),
        max_bytes: 4 << 20,
        modes: text("0644"),
        owners: text("root"),
        groups: text("root"),
        max_files: 1,
        allow_create: true,
        ..root::Rule::default()
    };
    let client = root::Client { name: "agent".to_owned(), user: "postern".to_owned(), group: String::new() };
    let undo = root::UndoLimits { max_bytes: 1 << 40, max_count: 1_000_000, max_age_s: 1 << 40 };
    let audit = root::AuditLimits {
        records_per_minute: u32::MAX,
        records_per_hour: u32::MAX,
        ..root::AuditLimits::default()
    };
    let rules = root::Rules {
        version: 1,
        clients: vec![client],
        rules: vec![rule],
        undo: Some(undo),
        audit: Some(audit),
        ..Default::default()
    };
    let rules = rules.encode_to_vec();
    let digest = Digest::of(&[&rules]).as_bytes().to_vec();
    root::AcceptedPolicy { rules, digest, ..Default::default() }.encode_to_vec()
}

/// A gateway's end of a connection to a helper that works below `at`.
fn connect(at: &Path) -> UnixStream {
    let mut host = Host::real("00000000-0000-4000-8000-000000000000".to_owned(), confined::available());
    host.paths.state = at.join("state");
    host.paths.log = at.join("log");
    host.paths.run = at.join("run");
    for socket in
        [&mut host.paths.helper_socket, &mut host.paths.operator_socket, &mut host.paths.gateway_socket]
    {
        *socket = at.join("run/socket");
    }
    host.paths.etc = at.join("etc");
    fs::create_dir(at.join("etc")).expect("a directory");
    fs::write(at.join("etc/passwd"), format!("postern:x:{CLIENT}:{CLIENT}::/:/bin/sh\n")).expect("accounts");
    fs::write(at.join("etc/group"), "").expect("accounts");
    host.owner_uid = own();
    host.accounts = accounts();
    let (helper, _) = startup::open(host).expect("a helper");
    let (ours, theirs) = UnixStream::pair().expect("a channel");
    let (client, far) = UnixStream::pair().expect("a client");
    theirs.set_nonblocking(true).expect("a channel that does not block");
    std::thread::spawn(move || {
        let _far = far;
        let watch = client.try_clone().expect("a copy of the client's socket");
        let peer = Peer { uid: CLIENT, gid: CLIENT, pid: 1 };
        serve(theirs, Some(&watch), &mut Client { helper: Arc::clone(&helper), peer, socket: client });
    });
    ours
}

/// Asks for one write and waits for its end.
fn ask(channel: &mut UnixStream, number: u32, path: &str, content: &[u8]) {
    let ms = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis();
    let hex = format!("{ms:012x}");
    let request_id = format!("{}-{}-7000-8000-{number:012x}", &hex[..8], &hex[8..12]);
    let meta = wire::Meta { request_id, mode: wire::Mode::Execute.into(), ..Default::default() };
    let change = wire::FileChange {
        path: path.to_owned(),
        kind: wire::ChangeKind::Write.into(),
        content: content.to_vec(),
        expect: "any".to_owned(),
        ..Default::default()
    };
    let body = wire::FileWriteRequest { meta: Some(meta), change: Some(change) }.encode_to_vec();
    let payload = frame::encode_request("Helper/FileWrite", &body).expect("a frame");
    channel.write_all(&frame::encode(number, frame::REQUEST, &payload).expect("a frame")).expect("a helper");
    loop {
        let mut head = [0; HEAD];
        channel.read_exact(&mut head).expect("an answer");
        let head = Head::decode(head);
        let mut payload = vec![0; usize::try_from(head.len).expect("a length")];
        channel.read_exact(&mut payload).expect("an answer");
        if head.kind == frame::END {
            return;
        }
        match wire::Event::decode(payload.as_slice()).expect("an event").kind {
            Some(Kind::Completed(done)) => assert_eq!(done.status(), wire::Status::Done, "{done:?}"),
            Some(Kind::Refused(refused)) => panic!("{refused:?}"),
            _ => {}
        }
    }
}

/// The same work and syncs: two records, the copy of what was, and the new file in its place.
struct Bare {
    log: File,
    undo: PathBuf,
    site: PathBuf,
}

impl Bare {
    fn new(at: &Path) -> Self {
        let [undo, site] = ["bare-undo", "bare-site"].map(|name| at.join(name));
        fs::create_dir(&undo).expect("a directory");
        fs::create_dir(&site).expect("a directory");
        let log = OpenOptions::new().create(true).append(true).open(at.join("bare-log")).expect("a log");
        Self { log, undo, site }
    }

    fn record(&mut self) {
        self.log.write_all(&[b'x'; 700]).expect("a record");
        self.log.sync_data().expect("a sync");
    }

    fn put(directory: &Path, name: &str, temporary: &str, content: &[u8]) {
        let temporary = directory.join(temporary);
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary).expect("a file");
        file.write_all(content).expect("a write");
        fchown(&file, Some(own()), None).expect("an owner");
        file.set_permissions(Permissions::from_mode(0o644)).expect("a mode");
        file.sync_all().expect("a sync");
        fs::rename(temporary, directory.join(name)).expect("a rename");
        File::open(directory).and_then(|directory| directory.sync_all()).expect("a sync");
    }

    fn write(&mut self, number: u32, content: &[u8]) {
        self.record();
        let old = fs::read(self.site.join("file")).unwrap_or_default();
        Self::put(&self.undo, &number.to_string(), "new", &old);
        Self::put(&self.site, "file", ".new", content);
        self.record();
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn compare(what: &str, size: usize, rounds: u32, bar: f64) {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let at = place.path().canonicalize().expect("a path");
    for name in ["state", "state/policy", "log", "site", "run"] {
        fs::create_dir(at.join(name)).expect("a directory");
    }
    fs::write(at.join("state/policy/accepted.pb"), accepted(&at)).expect("a policy");
    let mut channel = connect(&at);
    let mut bare = Bare::new(&at);
    let path = at.join("site/file").to_str().expect("a path in UTF-8").to_owned();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for number in 1..=rounds {
        let content = vec![b'a' + u8::try_from(number % 26).expect("a letter"); size];
        let started = Instant::now();
        bare.write(number, &content);
        theirs.push(started.elapsed());
        let started = Instant::now();
        ask(&mut channel, number, &path, &content);
        ours.push(started.elapsed());
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("file.write of {what}: {ours:?}, bare loop {theirs:?}, ratio {ratio:.2} (bar {bar})");
}

fn main() {
    compare("4 KiB", 4 << 10, 400, 1.3);
    compare("1 MiB", 1 << 20, 100, 1.15);
}
