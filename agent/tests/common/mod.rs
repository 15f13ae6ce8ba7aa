//! A helper that is told what to answer, behind a real socket, and a command line with its own streams.
#![allow(dead_code, reason = "each test file uses a part of it")]

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use postern_agent::config::clock::Clock;
use postern_agent::config::tables::Log;
use postern_agent::config::values::LogLevel;
use postern_agent::{Exit, Host, cli};
use postern_proto::v1;
use prost::Message;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::Notify;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Status};
use tracing::Dispatch;
use tracing::subscriber::NoSubscriber;

pub mod decides;
pub mod tool;

/// Behaviour of the fake helper for the next request.
pub enum Play {
    /// Sends events, then the good end of the stream.
    Events(Vec<v1::event::Kind>),
    /// Sends what this says of the request, now and for all that follow.
    Decide(Policy),
    /// Sends events, then a status.
    Status(Code, &'static str),
    /// Sends events, then breaks the connection.
    Break(Vec<v1::event::Kind>),
    /// Sends events, then waits to be told.
    Hold(Vec<v1::event::Kind>, Arc<Notify>, Vec<v1::event::Kind>),
}

/// Answers of a helper to a request.
pub type Policy = Arc<dyn Fn(&Seen) -> Vec<v1::event::Kind> + Send + Sync>;

/// A request as it came: the rpc's name and its body.
#[derive(Clone, Debug)]
pub struct Seen {
    pub rpc: String,
    pub body: Vec<u8>,
}

impl Seen {
    /// Every request has its meta as field 1.
    pub fn meta(&self) -> v1::Meta {
        v1::PackageUpdateRequest::decode(self.body.as_slice()).expect("a request").meta.expect("meta")
    }

    pub fn decode<M: Message + Default>(&self) -> M {
        M::decode(self.body.as_slice()).expect("a request")
    }
}

/// Answer of the fake helper to the agent's question whether a change can be undone. That question is no part of
/// the script and not among the requests seen.
#[derive(Clone, Copy, Default)]
pub enum Undo {
    /// Granted.
    #[default]
    Granted,
    /// A rule lists `request.undo`, but this undo is refused, with this code.
    Refused(&'static str),
    /// No rule lists it.
    NotListed,
}

impl Undo {
    fn answer(self, seen: &Seen) -> Option<Vec<v1::event::Kind>> {
        if seen.meta().reason != "whether the change can be taken back" {
            return None;
        }
        if seen.rpc == "PolicyDescribe" {
            let listed = if matches!(self, Self::NotListed) { "file.read" } else { "request.undo" };
            let verbs = postern_agent::VERBS.iter().filter(|verb| **verb != "request.undo").chain([&listed]);
            let verbs = verbs.map(|verb| (*verb).to_owned()).collect();
            let grants =
                vec![v1::Grant { verbs, decision: v1::Decision::Allow.into(), ..v1::Grant::default() }];
            let description = Some(v1::Description { client: "agent".into(), grants });
            let status = v1::Status::Done.into();
            return Some(vec![completed(v1::Completed { status, description, ..v1::Completed::default() })]);
        }
        assert_eq!((seen.rpc.as_str(), seen.meta().mode()), ("RequestUndo", v1::Mode::Check));
        Some(match self {
            Self::Granted => vec![ended(v1::Status::Previewed, "")],
            Self::Refused(code) => vec![refused(code)],
            Self::NotListed => unreachable!("nothing is asked where no rule lists it"),
        })
    }
}

type Script = Arc<Mutex<VecDeque<Play>>>;
type Record = Arc<Mutex<Vec<Seen>>>;

/// The fake helper.
pub struct FakeHelper {
    pub script: Script,
    pub seen: Record,
    pub undo: Arc<Mutex<Undo>>,
    notes: Record,
    listening: tokio::task::JoinHandle<()>,
}

impl FakeHelper {
    pub fn start(socket: &Path, script: Vec<Play>) -> Self {
        let _ = std::fs::remove_file(socket);
        let listener = UnixListener::bind(socket).expect("bind");
        let script: Script = Arc::new(Mutex::new(script.into()));
        let seen = Record::default();
        let undo = Arc::new(Mutex::new(Undo::default()));
        let notes = Record::default();
        let (s, r, u) = (Arc::clone(&script), Arc::clone(&seen), Arc::clone(&undo));
        let n = Arc::clone(&notes);
        let listening = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("accept");
                tokio::spawn(connection(stream, Arc::clone(&s), [&r, &n].map(Arc::clone), Arc::clone(&u)));
            }
        });
        Self { script, seen, undo, notes, listening }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The ends of the agent's audit log that it was to note.
    pub fn notes(&self) -> Vec<v1::AgentNoteRequest> {
        self.notes.lock().unwrap().iter().map(Seen::decode).collect()
    }

    pub fn add(&self, play: Play) {
        self.script.lock().unwrap().push_back(play);
    }

    /// Stops listening, as a helper that is gone.
    pub fn stop(&self) {
        self.listening.abort();
    }
}

async fn connection(
    stream: tokio::net::UnixStream,
    script: Script,
    records: [Record; 2],
    undo: Arc<Mutex<Undo>>,
) {
    let broken = Arc::new(Notify::new());
    let kill = Arc::clone(&broken);
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let (script, records, kill) = (Arc::clone(&script), records.clone(), Arc::clone(&kill));
        let undo = *undo.lock().unwrap();
        async move { Ok::<_, std::convert::Infallible>(answer(request, script, records, kill, undo).await) }
    });
    let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        _ = serving => {}
        () = broken.notified() => {}
    }
}

async fn answer(
    request: Request<Incoming>,
    script: Script,
    records: [Record; 2],
    kill: Arc<Notify>,
    undo: Undo,
) -> Response<tonic::body::Body> {
    assert_eq!(request.uri().authority().map(http::uri::Authority::as_str), Some("localhost"));
    let rpc = request.uri().path().strip_prefix("/postern.v1.Helper/").expect("the service").to_owned();
    // Of the notes of its log's end, which come whenever the agent likes, no script knows.
    let [record, notes] = records;
    let (script, record) = if rpc == "AgentNote" {
        let done: Policy = Arc::new(|_| vec![ended(v1::Status::Done, "")]);
        (Arc::new(Mutex::new(VecDeque::from([Play::Decide(done)]))), notes)
    } else {
        (script, record)
    };
    let handler = Handler { rpc, script, record, kill, undo };
    tonic::server::Grpc::new(Raw).server_streaming(handler, request).await
}

struct Handler {
    rpc: String,
    script: Script,
    record: Record,
    kill: Arc<Notify>,
    undo: Undo,
}

type Events = tokio_stream::wrappers::UnboundedReceiverStream<Result<Vec<u8>, Status>>;

impl tonic::server::ServerStreamingService<Vec<u8>> for Handler {
    type Response = Vec<u8>;
    type ResponseStream = Events;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<tonic::Response<Events>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<Vec<u8>>) -> Self::Future {
        let body = request.into_inner();
        let seen = Seen { rpc: self.rpc.clone(), body };
        let play = self.undo.answer(&seen).map(Play::Events).or_else(|| {
            self.record.lock().unwrap().push(seen.clone());
            let mut script = self.script.lock().unwrap();
            match script.front() {
                Some(Play::Decide(policy)) => Some(Play::Events(policy(&seen))),
                _ => script.pop_front(),
            }
        });
        let kill = Arc::clone(&self.kill);
        Box::pin(async move {
            let (to, stream) = tokio::sync::mpsc::unbounded_channel();
            let stream = Events::new(stream);
            let mut seq = 0;
            let mut send = move |kinds: Vec<v1::event::Kind>| {
                for kind in kinds {
                    seq += 1;
                    let _ = to.send(Ok(v1::Event { seq, kind: Some(kind) }.encode_to_vec()));
                }
            };
            match play {
                None => return Err(Status::internal("the script has ended")),
                Some(Play::Status(code, text)) => return Err(Status::new(code, text)),
                Some(Play::Events(kinds)) => send(kinds),
                Some(Play::Decide(_)) => unreachable!("a policy stays at the front"),
                Some(Play::Break(kinds)) => {
                    send(kinds);
                    tokio::spawn(async move {
                        let _keep_open = send;
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        kill.notify_one();
                        std::future::pending::<()>().await;
                    });
                }
                Some(Play::Hold(before, go, after)) => {
                    send(before);
                    tokio::spawn(async move {
                        go.notified().await;
                        send(after);
                    });
                }
            }
            Ok(tonic::Response::new(stream))
        })
    }
}

/// Messages as bytes: the fake answers every rpc alike.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Raw;
    type Decoder = Raw;
    fn encoder(&mut self) -> Raw {
        Raw
    }
    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;
    fn encode(&mut self, item: Vec<u8>, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        prost::bytes::BufMut::put_slice(to, &item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;
    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        use prost::bytes::Buf;
        let mut bytes = vec![0; from.remaining()];
        from.copy_to_slice(&mut bytes);
        Ok(Some(bytes))
    }
}

/// A stream that keeps what is written.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Kept {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

/// Exit status and output of a command line.
#[derive(Debug)]
pub struct Ran {
    pub exit: Exit,
    pub out: String,
    pub err: String,
    pub bytes: Vec<u8>,
}

impl Ran {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(self.out.lines().last().unwrap_or_default()).expect(&self.out)
    }
}

/// A host whose places are all in one directory.
pub fn host_at(directory: &Path) -> Host {
    Host {
        agent_socket: directory.join("agent.sock"),
        helper_socket: directory.join("helper.sock"),
        tool_socket: directory.join("tool.sock"),
        state: directory.join("state"),
        operator_socket: directory.join("operator.sock"),
        person_socket: directory.join("person.sock"),
        agent_user: "root".to_owned(),
        admin: directory.join("postern-admin"),
        system: directory.join("system"),
        accepted_policy: directory.join("policy"),
        config: directory.join("agent.toml"),
        root: directory.join("root"),
        operators: "no-such-group".to_owned(),
        users: "no-such-group".to_owned(),
        calendar: Host::default().calendar,
        clock: Clock::default(),
        anchor_interval: Host::default().anchor_interval,
        runbooks: directory.join("runbooks"),
        runbook_owner: nix::unistd::geteuid().as_raw(),
        terminals: Vec::new(),
        editor: vec!["/bin/false".to_owned()],
    }
}

/// A place with its own sockets.
pub struct Place {
    pub host: Host,
    directory: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("tempdir");
        let host = host_at(directory.path());
        Self { host, directory }
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A program in it: a shell script.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("write");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("chmod");
        path
    }

    /// A runbook of the site with this rest after name and title.
    pub fn runbook(&self, name: &str, title: &str, rest: &str) -> PathBuf {
        let directory = self.host.site_runbooks();
        std::fs::create_dir_all(&directory).expect("a directory");
        let path = directory.join(format!("{name}.yaml"));
        std::fs::write(&path, format!("name: {name}\ntitle: {title}\n{rest}")).expect("write");
        for (path, mode) in [(&path, 0o644), (&directory, 0o755)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("chmod");
        }
        path
    }

    pub fn helper(&self, script: Vec<Play>) -> FakeHelper {
        FakeHelper::start(&self.host.helper_socket, script)
    }

    /// A recorder that knows people: each connection gets the next token. Returns how to end those that are open.
    pub fn people(&self) -> impl Fn() {
        let listener = std::os::unix::net::UnixListener::bind(&self.host.person_socket).expect("bind");
        let open = Arc::<Mutex<Vec<_>>>::default();
        let streams = Arc::clone(&open);
        std::thread::spawn(move || {
            for (count, stream) in listener.incoming().enumerate() {
                let mut stream = stream.expect("a connection");
                let mut line = [0; 2];
                std::io::Read::read_exact(&mut stream, &mut line).expect("a line");
                assert_eq!(&line, b"0\n", "the uid of the agent's user, who may quote it");
                let token = format!("{count:032x}\n");
                std::io::Write::write_all(&mut stream, token.as_bytes()).expect("a token");
                streams.lock().expect("streams").push(stream);
            }
        });
        move || open.lock().expect("streams").clear()
    }

    /// `postern serve` in this process.
    pub fn serve(&self) -> tokio::task::JoinHandle<()> {
        let listener = UnixListener::bind(&self.host.agent_socket).expect("bind");
        let host = self.host.clone();
        tokio::spawn(async move {
            postern_agent::service::serve_on(listener, &host, std::future::pending()).await.expect("serve");
        })
    }

    /// `postern serve` with a runtime of its own: it dies whole, connections too, when the sender is dropped.
    pub fn serve_apart(&self) -> tokio::sync::oneshot::Sender<()> {
        let listener = std::os::unix::net::UnixListener::bind(&self.host.agent_socket).expect("bind");
        listener.set_nonblocking(true).expect("nonblocking");
        let (alive, dead) = tokio::sync::oneshot::channel::<()>();
        let host = self.host.clone();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
            runtime.block_on(async {
                let listener = UnixListener::from_std(listener).expect("listener");
                tokio::select! {
                    served = postern_agent::service::serve_on(listener, &host, std::future::pending()) => {
                        served.expect("serve");
                    }
                    _ = dead => {}
                }
            });
        });
        alive
    }

    pub async fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, b"").await
    }

    pub async fn run_with(&self, args: &[&str], input: &'static [u8]) -> Ran {
        self.run_on(args, &Streams::default(), input).await
    }

    /// The same with streams that the test looks at meanwhile, and perhaps a person at a terminal.
    pub async fn run_on(&self, args: &[&str], streams: &Streams, input: &'static [u8]) -> Ran {
        let mut console = cli::Console {
            out: Box::new(streams.out.clone()),
            err: Box::new(streams.err.clone()),
            input: Box::new(input),
            in_is_terminal: streams.is_terminal,
            out_is_terminal: streams.is_terminal,
            err_is_terminal: streams.is_terminal,
            color: false,
            height: Some(1),
            // No terminal: it is never started.
            pager: Some(format!("touch {}", self.path("paged").display()).into()),
            width: streams.width,
            is_broken: false,
        };
        let args = std::iter::once("postern").chain(args.iter().copied()).map(OsString::from);
        let exit = cli::run(args, &self.host, &mut console).await;
        Ran { exit, out: streams.out.text(), err: streams.err.text(), bytes: streams.out.bytes() }
    }
}

/// Output streams of a command line.
#[derive(Clone, Default)]
pub struct Streams {
    pub out: Kept,
    pub err: Kept,
    pub is_terminal: bool,
    pub width: Option<usize>,
}

/// One HTTP call over a connection of its own; the answer, whose body comes as it is read.
pub async fn http<S>(
    stream: S,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response<Incoming>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
    sender.send_request(request).await.unwrap()
}

/// Headers of a call on the agent's socket.
pub const HEADERS: [(&str, &str); 2] = [("host", "localhost"), ("content-type", "application/json")];

pub fn accepted() -> v1::event::Kind {
    v1::event::Kind::Accepted(v1::Accepted {
        decision: v1::Decision::Allow.into(),
        rule: "web".into(),
        attached: false,
        no_effect: false,
    })
}

/// An approval's id, of one digit.
pub fn approval(digit: &str) -> String {
    digit.repeat(32)
}

/// Let through by a rule that wants a person's word, and waiting for it.
pub fn waiting(id: &str, expires_unix_s: u64) -> Vec<v1::event::Kind> {
    let ask = v1::Accepted {
        decision: v1::Decision::Ask.into(),
        rule: "web-config".into(),
        attached: false,
        no_effect: false,
    };
    let waiting = v1::Waiting { approval_id: id.into(), expires_unix_s, plan: None };
    vec![v1::event::Kind::Accepted(ask), v1::event::Kind::Waiting(waiting)]
}

/// Seconds since 1970, some from now.
pub fn in_seconds(seconds: u64) -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_secs() + seconds
}

/// How the log says that a request or task has ended while an operator is still asked: all that it tells has come.
pub const ENDED_WHILE_ASKED: &str = "the work has ended is_asking=true";

/// To be called before a test sets a subscriber for its own thread. While there is one subscriber only, what a thread meets first
/// is judged by that thread's own, and stays silent for all if that has none: with this one there are two, and all of
/// them are asked.
pub fn keep_a_second_subscriber() {
    static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));
    LazyLock::force(&SECOND);
}

/// The settings of a log that holds everything.
pub fn debug_log() -> Log {
    Log { level: LogLevel::Debug, ..Log::default() }
}

/// Waits until something is so, at most 10 s.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

pub fn progress(item: &str, percent: u32) -> v1::event::Kind {
    v1::event::Kind::Progress(v1::Progress {
        phase: v1::Phase::Unpack.into(),
        item: item.into(),
        percent,
        detail: String::new(),
    })
}

pub fn output(stream: v1::Stream, data: &[u8]) -> v1::event::Kind {
    v1::event::Kind::Output(v1::Output { stream: stream.into(), data: data.to_vec(), truncated: false })
}

pub fn completed(done: v1::Completed) -> v1::event::Kind {
    v1::event::Kind::Completed(done)
}

/// Completed with a status and nothing else.
pub fn ended(status: v1::Status, code: &str) -> v1::event::Kind {
    completed(v1::Completed {
        status: status.into(),
        code: code.into(),
        message: if code.is_empty() { String::new() } else { format!("because of {code}") },
        ..v1::Completed::default()
    })
}

pub fn refused(code: &str) -> v1::event::Kind {
    v1::event::Kind::Refused(v1::Refused {
        code: code.into(),
        message: "the policy grants nothing of the kind".into(),
        missing: "unit.stop nginx.service".into(),
        retry_after_s: 0,
        plan: None,
        granted_nearby: vec!["unit.status nginx.service".into()],
    })
}

/// Completed with a unit as it is.
pub fn unit(status: v1::Status, id: &str, active: &str, sub: &str) -> v1::event::Kind {
    completed(v1::Completed {
        status: status.into(),
        decision: v1::Decision::Allow.into(),
        rule: "web".into(),
        undoable: status == v1::Status::Done,
        unit: Some(v1::UnitInfo {
            id: id.into(),
            load: "loaded".into(),
            active: active.into(),
            sub: sub.into(),
            enabled: "enabled".into(),
            ..v1::UnitInfo::default()
        }),
        ..v1::Completed::default()
    })
}
