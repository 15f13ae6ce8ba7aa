//! Spans as a collector and a file get them: which there are, that no text is in them, and that nothing waits for them.

use crate::common::{Place, Play, ended, keep_a_second_subscriber, refused};
use crate::http::ask;
use crate::server::Server;
use crate::tasks::{calls, configure};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use postern_agent::config::tables::{Log, Telemetry as Table};
use postern_agent::config::values::{AbsolutePath, BaseUrl, TelemetryExporter, Value as _};
use postern_agent::protocol::mode::Mode;
use postern_agent::redaction::log;
use postern_agent::telemetry::{ATTRIBUTES, Telemetry, spans};
use postern_proto::v1::Status;
use prost::Message;
use serde_json::json;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tracing_subscriber::layer::SubscriberExt;

/// Words that no span may have: in the order, in a model's reply, in a request and in the helper's answer.
const SECRET: &str = "tangerine";

/// Starts and ends telemetry as `main` does: outside of a runtime.
fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

fn start(table: &Table) -> Telemetry {
    keep_a_second_subscriber();
    apart(|| Telemetry::start(table)).unwrap().unwrap()
}

fn to_file(place: &Place) -> Table {
    let file = AbsolutePath::from_text(place.path("spans.jsonl").to_str().unwrap()).unwrap();
    Table { exporter: TelemetryExporter::Jsonl, file, ..Table::default() }
}

fn to_collector(address: SocketAddr) -> Table {
    let endpoint = BaseUrl::from_text(&format!("http://{address}")).unwrap();
    Table { exporter: TelemetryExporter::Otlp, endpoint, ..Table::default() }
}

/// A message as a collector got it.
struct Got {
    head: String,
    body: Vec<u8>,
}

/// A collector that answers with these statuses, the last one for ever.
fn collector(statuses: &'static [u16]) -> (SocketAddr, Arc<Mutex<Vec<Got>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let got: Arc<Mutex<Vec<Got>>> = Arc::default();
    let kept = Arc::clone(&got);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let one = read(&mut stream);
            let status = statuses[number.min(statuses.len() - 1)];
            let body = ExportTraceServiceResponse::default().encode_to_vec();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/x-protobuf\r\nconnection: close\r\nretry-after: 0\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            kept.lock().unwrap().push(one);
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&body).unwrap();
        }
    });
    (address, got)
}

fn read(stream: &mut TcpStream) -> Got {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let number = stream.read(&mut part).unwrap();
        bytes.extend_from_slice(&part[..number]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let body = &bytes[end + 4..];
        if body.len() == length.parse::<usize>().unwrap() {
            return Got { head, body: body.to_vec() };
        }
    }
}

fn spans_of(message: ExportTraceServiceRequest) -> Vec<Span> {
    let scopes = message.resource_spans.into_iter().flat_map(|of| of.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

/// The text of an attribute; numbers as text.
fn attribute(span: &Span, key: &str) -> Option<String> {
    let value = span.attributes.iter().find(|one| one.key == key)?.value.clone()?.value?;
    Some(match value {
        Any::StringValue(text) => text,
        Any::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}

/// Runs a task of a model in which every text is secret, and returns the task's trace id.
async fn task(place: &Place) -> String {
    let server = Server::start(vec![
        calls("write_file", &json!({ "path": "/etc/motd", "content": format!("{SECRET}\n") })),
        calls("service", &json!({ "action": "restart", "name": "nginx" })),
        calls("finish", &json!({ "outcome": "done", "summary": format!("{SECRET} is served") })),
    ])
    .await;
    configure(place, &server);
    place.helper(vec![
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![refused("no_grant")]),
        Play::Events(vec![ended(Status::Done, "")]),
        Play::Events(vec![ended(Status::Done, "")]),
    ]);
    place.serve();
    let ran = place.run(&["run", &format!("serve {SECRET}"), "--json"]).await;
    ran.json()["trace_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_collector_gets_the_spans_of_a_task_after_it_refused_them_once_and_no_text_is_in_them() {
    let (address, got) = collector(&[503, 200]);
    let telemetry = start(&to_collector(address));
    let subscriber = log::subscriber(&Log::default(), std::io::sink).with(telemetry.layer());
    let guard = tracing::subscriber::set_default(subscriber);
    // As a task of another test does: its thread has no subscriber.
    apart(|| drop(spans::request("unit.restart", Mode::Check, "0")));
    let place = Place::new();
    let trace = task(&place).await;
    drop(guard);
    // The end of the program waits for two seconds, which two tries may take on a busy machine.
    let waited = Instant::now();
    while got.lock().unwrap().len() < 2 {
        assert!(waited.elapsed() < Duration::from_secs(60), "a message that got 503 is sent again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    apart(|| telemetry.end());

    let got = got.lock().unwrap();
    assert!(got.len() >= 2, "a message that got 503 is sent again");
    assert_eq!(got[0].body, got[1].body);
    let mut all = Vec::new();
    for one in &got[1..] {
        assert!(one.head.starts_with("post /v1/traces http/1.1"), "{}", one.head);
        assert!(one.head.contains("content-type: application/x-protobuf"), "{}", one.head);
        let text = String::from_utf8_lossy(&one.body);
        assert!(!text.contains(SECRET) && !text.contains("motd") && !text.contains("nginx"), "{text}");
        let message = ExportTraceServiceRequest::decode(one.body.as_slice()).unwrap();
        let resource = message.resource_spans[0].resource.clone().unwrap();
        let keys: Vec<&str> = resource.attributes.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys.len(), 2, "no name of the host, no environment: {keys:?}");
        all.extend(spans_of(message));
    }
    let of_task: Vec<&Span> = all.iter().filter(|span| hex(&span.trace_id) == trace).collect();
    let named = |name: &str| of_task.iter().copied().filter(|span| span.name == name).collect::<Vec<_>>();
    let roots = named("task");
    assert_eq!(roots.len(), 1);
    let root = roots[0];
    assert!(root.parent_span_id.is_empty());
    assert!(attribute(root, "postern.status").is_some(), "{root:?}");
    let chats = named("chat");
    assert_eq!(chats.len(), 3);
    assert_eq!(attribute(chats[0], "gen_ai.usage.input_tokens").as_deref(), Some("100"));
    assert_eq!(attribute(chats[0], "gen_ai.operation.name").as_deref(), Some("chat"));
    assert!(chats.iter().all(|span| span.parent_span_id == root.span_id));
    let tools = named("execute_tool");
    let called: Vec<_> = tools.iter().filter_map(|span| attribute(span, "gen_ai.tool.name")).collect();
    assert_eq!(called, ["write_file", "service"]);
    let steps = named("step");
    assert_eq!(steps.len(), 2);
    assert!(steps.iter().zip(&tools).all(|(step, tool)| step.parent_span_id == tool.span_id));
    let requests = named("request");
    let refused = requests.iter().find(|span| attribute(span, "postern.code").is_some()).unwrap();
    assert_eq!(attribute(refused, "postern.code").as_deref(), Some("no_grant"));
    assert_eq!(refused.status.clone().unwrap().code(), StatusCode::Error);
    assert!(requests.iter().any(|span| attribute(span, "postern.verb").as_deref() == Some("unit.restart")));
    for span in &all {
        assert!(span.events.is_empty() && span.links.is_empty(), "{span:?}");
        assert!(span.attributes.iter().all(|one| ATTRIBUTES.contains(&one.key.as_str())), "{span:?}");
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano && span.start_time_unix_nano > 0);
    }
}

/// A collector that another project wrote.
struct Rotel(Child);

impl Rotel {
    #[expect(clippy::disallowed_methods, reason = "a test starts the collector that it is about")]
    /// Starts it: what it gets over OTLP/HTTP at the first address it sends to the second.
    fn start(program: &OsStr, at: &str, to: SocketAddr, place: &Place) -> Self {
        let grpc = free();
        let log = std::fs::File::create(place.path("rotel.log")).unwrap();
        let mut command = Command::new(program);
        command.args([
            "start",
            "--otlp-http-endpoint",
            at,
            "--otlp-grpc-endpoint",
            &grpc,
            "--exporter",
            "otlp",
        ]);
        command.args(["--otlp-exporter-protocol", "http"]);
        command.args(["--otlp-exporter-endpoint", &format!("http://{to}")]);
        let child = command.current_dir(place.path("")).stdout(log.try_clone().unwrap()).stderr(log).spawn();
        let rotel = Self(child.expect("rotel starts"));
        let began = Instant::now();
        while TcpStream::connect(at).is_err() {
            let said = std::fs::read_to_string(place.path("rotel.log")).unwrap();
            assert!(began.elapsed() < Duration::from_secs(60), "rotel does not listen: {said}");
            std::thread::sleep(Duration::from_millis(50));
        }
        rotel
    }
}

impl Drop for Rotel {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The body of a message, which Rotel compresses.
fn unpacked(one: &Got) -> Vec<u8> {
    let mut body = Vec::new();
    if one.head.contains("content-encoding: gzip") {
        flate2::read::GzDecoder::new(one.body.as_slice()).read_to_end(&mut body).unwrap();
    } else {
        body.clone_from(&one.body);
    }
    body
}

/// An address on which nobody listens.
fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[tokio::test]
#[ignore = "needs the collector rotel of PyPI: POSTERN_ROTEL=/path/to/rotel-agent"]
async fn a_collector_of_another_project_reads_the_spans_of_a_task_and_passes_them_on() {
    let program = std::env::var_os("POSTERN_ROTEL").expect("POSTERN_ROTEL=/path/to/rotel-agent");
    let (place, at) = (Place::new(), free());
    let (address, got) = collector(&[200]);
    let rotel = Rotel::start(&program, &at, address, &place);
    let telemetry = start(&to_collector(at.parse().unwrap()));
    let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(telemetry.layer()));
    let trace = task(&place).await;
    drop(guard);
    apart(|| telemetry.end());
    let began = Instant::now();
    let spans = loop {
        let all: Vec<Span> = got
            .lock()
            .unwrap()
            .iter()
            .flat_map(|one| spans_of(ExportTraceServiceRequest::decode(unpacked(one).as_slice()).unwrap()))
            .filter(|span| hex(&span.trace_id) == trace)
            .collect();
        if all.iter().any(|span| span.name == "task") {
            break all;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "rotel passes nothing on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    drop(rotel);
    let count = |name: &str| spans.iter().filter(|span| span.name == name).count();
    let counts = ["task", "chat", "execute_tool", "step"].map(count);
    assert_eq!(counts, [1, 3, 2, 2], "{spans:#?}");
    let root = spans.iter().find(|span| span.name == "task").unwrap();
    let chats = spans.iter().filter(|span| span.name == "chat");
    assert!(chats.clone().all(|span| span.parent_span_id == root.span_id));
    assert!(chats.clone().any(|span| attribute(span, "gen_ai.usage.input_tokens").as_deref() == Some("100")));
    let refused = spans.iter().find(|span| attribute(span, "postern.code").is_some()).unwrap();
    assert_eq!(refused.status.clone().unwrap().code(), StatusCode::Error);
}

/// The 16 bytes of a trace id as the record has them.
fn hex(bytes: &[u8]) -> String {
    format!("{:032x}", u128::from_be_bytes(bytes.try_into().unwrap()))
}

#[tokio::test]
async fn a_file_gets_otlp_messages_as_lines_and_only_its_owner_may_read_it() {
    let place = Place::new();
    let telemetry = start(&to_file(&place));
    let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(telemetry.layer()));
    let trace = task(&place).await;
    drop(guard);
    apart(|| telemetry.end());
    let file = place.path("spans.jsonl");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains(SECRET), "{text}");
    let messages =
        text.lines().map(|line| serde_json::from_str::<ExportTraceServiceRequest>(line).expect(line));
    let all: Vec<Span> = messages.flat_map(spans_of).collect();
    let of_task = all.iter().filter(|span| hex(&span.trace_id) == trace && span.name == "task");
    assert_eq!(of_task.count(), 1);
}

#[tokio::test]
async fn metrics_count_tokens_and_their_price() {
    let server =
        Server::start(vec![calls("finish", &json!({ "outcome": "done", "summary": "looked" }))]).await;
    let place = Place::new();
    configure(&place, &server);
    let config = std::fs::read_to_string(&place.host.config).unwrap();
    let price = "[model.price]\ninput = 3.0\noutput = 15\ncurrency = \"EUR\"\n";
    std::fs::write(&place.host.config, config + price).unwrap();
    place.helper(vec![Play::Events(vec![ended(Status::Done, "")])]);
    place.serve();
    let _ = place.run(&["run", "look around"]).await;
    let (_, _, text) = ask(&place, "GET", "/metrics", &[], "").await;
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        line.trim().parse::<f64>().unwrap()
    };
    assert!((value("postern_agent_tokens_total{kind=\"input\"}") - 100.0).abs() < f64::EPSILON, "{text}");
    // 100 tokens at 3 and 10 at 15 a million: 0.00045, of which the record shows four places.
    assert!((value("postern_agent_cost_total") - 0.0004).abs() < 0.00011, "{text}");
    assert!((value("postern_agent_model_call_seconds_count") - 1.0).abs() < f64::EPSILON, "{text}");
}

#[test]
fn a_file_of_64_mib_is_put_aside() {
    let place = Place::new();
    let (file, old) = (place.path("spans.jsonl"), place.path("spans.jsonl.1"));
    std::fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
    let telemetry = start(&to_file(&place));
    let subscriber = tracing_subscriber::registry().with(telemetry.layer());
    tracing::subscriber::with_default(subscriber, || drop(spans::task("0")));
    apart(|| telemetry.end());
    assert_eq!(std::fs::metadata(&old).unwrap().len(), 64 << 20);
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
}

#[test]
fn a_collector_that_never_answers_holds_up_neither_work_nor_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let telemetry = start(&to_collector(listener.local_addr().unwrap()));
    let subscriber = tracing_subscriber::registry().with(telemetry.layer());
    let began = Instant::now();
    // Twice what the queue holds. Sending takes 30 s where nobody answers, which nothing here may wait for.
    tracing::subscriber::with_default(subscriber, || (0..4096).for_each(|_| drop(spans::task("0"))));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let began = Instant::now();
    apart(|| telemetry.end());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

/// A collector that answers its first message when it is told to, and the others at once; how many spans it got.
fn slow_collector() -> (SocketAddr, std::sync::mpsc::Sender<()>, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (go, gate) = std::sync::mpsc::channel();
    let spans: Arc<Mutex<usize>> = Arc::default();
    let count = Arc::clone(&spans);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let message = ExportTraceServiceRequest::decode(read(&mut stream).body.as_slice()).unwrap();
            *count.lock().unwrap() += spans_of(message).len();
            if number == 0 {
                gate.recv().unwrap();
            }
            stream.write_all(b"HTTP/1.1 200 X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").unwrap();
        }
    });
    (address, go, spans)
}

#[test]
fn spans_that_find_the_queue_full_are_dropped() {
    let (address, go, got) = slow_collector();
    let telemetry = start(&to_collector(address));
    let subscriber = tracing_subscriber::registry().with(telemetry.layer());
    tracing::subscriber::with_default(subscriber, || (0..10_000).for_each(|_| drop(spans::task("0"))));
    go.send(()).unwrap();
    let began = Instant::now();
    while *got.lock().unwrap() < 2048 {
        assert!(began.elapsed() < Duration::from_secs(60), "{} spans came", got.lock().unwrap());
        std::thread::sleep(Duration::from_millis(20));
    }
    apart(|| telemetry.end());
    // The queue's 2,048, the message that was held up, and those that left the queue beside it.
    assert!(*got.lock().unwrap() <= 2048 + 3 * 512, "{} of 10,000 spans came", got.lock().unwrap());
}

const SENDER: &str = "POSTERN_TEST_SENDS_SPANS_TO";

/// Spans of a whole process: its log is that of all threads.
#[test]
#[ignore = "the process that the other tests start"]
fn sends_spans_where_it_is_told() {
    let to = std::env::var(SENDER).unwrap();
    let table = if let Ok(address) = to.parse() {
        to_collector(address)
    } else {
        let file = AbsolutePath::from_text(&to).unwrap();
        Table { exporter: TelemetryExporter::Jsonl, file, ..Table::default() }
    };
    let telemetry = apart(|| Telemetry::start(&table)).unwrap().unwrap();
    let subscriber = log::subscriber(&Log::default(), std::io::stderr).with(telemetry.layer());
    tracing::subscriber::set_global_default(subscriber).unwrap();
    // Three messages of 512 spans.
    (0..3 * 512).for_each(|_| drop(spans::task("0")));
    std::thread::sleep(Duration::from_secs(3));
    telemetry.end();
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn sender(to: &str) -> std::process::Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "telemetry::sends_spans_where_it_is_told", "--ignored", "--nocapture"]);
    command.env(SENDER, to).output().unwrap()
}

#[test]
fn a_collector_that_refuses_is_told_once_in_the_log_and_once_more_when_it_takes_spans_again() {
    let (address, got) = collector(&[400, 400, 200]);
    let output = sender(&address.to_string());
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    assert!(got.lock().unwrap().len() >= 3, "{log}");
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("spans")).collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].contains("512 spans were not sent and are dropped: "), "{log}");
    assert!(lines[1].contains("spans are sent again"), "{log}");
}

#[test]
fn standard_output_gets_otlp_messages_as_lines() {
    let output = sender("/dev/stdout");
    let text = String::from_utf8(output.stdout).unwrap();
    // The test's own name stands before the first.
    let lines = text.lines().filter_map(|line| line.find("{\"resourceSpans\"").map(|at| &line[at..]));
    let messages = lines.map(|line| serde_json::from_str::<ExportTraceServiceRequest>(line).expect(line));
    assert_eq!(messages.flat_map(spans_of).count(), 3 * 512, "{text}");
}

#[test]
fn an_attribute_that_is_not_listed_and_a_credential_in_one_that_is_leave_no_trace() {
    let place = Place::new();
    let telemetry = start(&to_file(&place));
    let subscriber = tracing_subscriber::registry().with(telemetry.layer());
    tracing::subscriber::with_default(subscriber, || {
        let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789abcdef";
        let span = tracing::info_span!(target: spans::TARGET, "task", content = SECRET, postern.code = key);
        span.in_scope(|| tracing::info!(target: spans::TARGET, "{SECRET}"));
        let _other = tracing::info_span!(target: "postern_agent", "another", postern.code = SECRET).entered();
    });
    apart(|| telemetry.end());
    let text = std::fs::read_to_string(place.path("spans.jsonl")).unwrap();
    assert!(text.contains("\"task\"") && !text.contains("another"), "{text}");
    assert!(!text.contains(SECRET) && !text.contains("sk-proj"), "{text}");
}

#[test]
fn without_an_exporter_there_are_no_spans_and_a_file_that_cannot_be_written_is_told() {
    assert!(Telemetry::start(&Table::default()).unwrap().is_none());
    let file = AbsolutePath::from_text("/proc/postern/spans").unwrap();
    let table = Table { exporter: TelemetryExporter::Jsonl, file, ..Table::default() };
    let Err(why) = Telemetry::start(&table) else { panic!("it was opened") };
    assert!(why.starts_with("cannot write spans to /proc/postern/spans: "), "{why}");
}
