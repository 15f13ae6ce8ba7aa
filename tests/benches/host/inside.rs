//! The client's side, in the machine: one open connection to the helper.

use super::write;
use hyper_util::rt::{TokioExecutor, TokioIo};
use postern_proto::v1::{self, helper_client::HelperClient};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Runtime;
use tonic::transport::{Channel, Endpoint, Uri};

pub const HELPER: &str = "/run/postern/helper.sock";
const UNIT: &str = "dbus.service";

/// One figure, printed on stdout.
pub fn run(what: &str, arguments: &[&str]) {
    runtime().block_on(async {
        match (what, arguments) {
            ("decision", []) => decision().await,
            ("status", []) => status().await,
            ("requests", [count]) => requests(count.parse().expect("a number")).await,
            ("install", [package]) => install(package).await,
            ("write", []) => write::compare().await,
            ("write-once", []) => write::once().await,
            _ => panic!("unknown figure {what:?} {arguments:?}"),
        }
    });
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Median times of both and their ratio, as a row of BENCHMARKS.md.
pub fn compared(
    name: &str,
    ours: &mut [Duration],
    beside: &str,
    theirs: &mut [Duration],
    bar: &str,
) -> String {
    let (ours, theirs) = (median(ours), median(theirs));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    row(name, &format!("{} µs, {beside} {} µs: {ratio:.2} ×", ours.as_micros(), theirs.as_micros()), bar)
}

pub fn row(what: &str, measured: &str, bar: &str) -> String {
    format!("| {what} | {measured} | {bar} |\n")
}

pub fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

async fn decision() {
    let echo = std::env::temp_dir().join(format!("postern-echo-{}", std::process::id()));
    let listener = std::os::unix::net::UnixListener::bind(&echo).expect("a socket for the echo");
    // A service is never its client's own thread.
    std::thread::spawn(move || runtime().block_on(serve_echo(listener)));
    let (mut helper, mut bare) = (connect(Path::new(HELPER)).await, connect(&echo).await);
    let (mut ours, mut echoes, mut sudos) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..2000 {
        ours.push(reload(&mut helper).await);
        echoes.push(reload(&mut bare).await);
    }
    for _ in 0..40 {
        sudos.push(spawned(&["sudo", "-n", "true"]));
    }
    std::fs::remove_file(&echo).expect("the echo's socket");
    print!("{}", compared("sudo -n true", &mut sudos, "a decision", &mut ours.clone(), "at least 25"));
    print!("{}", compared("a decision", &mut ours, "a bare echo", &mut echoes, "at most 1.8"));
}

async fn status() {
    let mut helper = connect(Path::new(HELPER)).await;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..60 {
        ours.push(unit_status(&mut helper).await);
        bare.push(spawned(&["systemctl", "show", UNIT]));
    }
    print!("{}", compared("unit.status", &mut ours, "systemctl show", &mut bare, "at most 0.5"));
}

/// Decisions, looks and refusals in turns; prints what the gateway of this connection holds after them.
async fn requests(count: usize) {
    let mut helper = connect(Path::new(HELPER)).await;
    for number in 0..count {
        match number % 3 {
            0 => drop(reload(&mut helper).await),
            1 => drop(unit_status(&mut helper).await),
            _ => {
                let request = v1::FileReadRequest {
                    meta: Some(meta(v1::Mode::Execute)),
                    path: "/etc/shadow".to_owned(),
                    ..v1::FileReadRequest::default()
                };
                let last = last(helper.file_read(request).await.expect("an answer").into_inner()).await;
                assert!(matches!(last, v1::event::Kind::Refused(_)), "{last:?}");
            }
        }
    }
    let gateways =
        Command::new("pgrep").args(["--newest", "--exact", "postern-gateway"]).output().expect("pgrep");
    let pid = String::from_utf8(gateways.stdout).expect("a process");
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.trim())).expect("its status");
    print!("{}", row("resident memory of `postern-gateway@.service`", &resident(&status), "at most 3 MB"));
}

/// The resident memory that `/proc/PID/status` tells, and how much of it no other process shares: the remainder is programs and libraries.
pub fn resident(status: &str) -> String {
    let megabytes = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a line of the status");
        line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") / 1000.0
    };
    format!("{:.1} MB, {:.1} MB of it its own", megabytes("VmRSS:"), megabytes("RssAnon:"))
}

async fn install(package: &str) {
    let mut helper = connect(Path::new(HELPER)).await;
    let packages = vec![v1::Package { name: package.to_owned(), version: String::new() }];
    let began = Instant::now();
    let request = v1::PackageInstallRequest { meta: Some(meta(v1::Mode::Execute)), packages };
    let last = last(helper.package_install(request).await.expect("an answer").into_inner()).await;
    println!("{}", began.elapsed().as_nanos());
    done(&last, v1::Status::Done);
}

async fn reload(client: &mut HelperClient<Channel>) -> Duration {
    let began = Instant::now();
    let request =
        v1::UnitReloadRequest { meta: Some(meta(v1::Mode::Check)), unit: "nginx.service".to_owned() };
    let last = last(client.unit_reload(request).await.expect("an answer").into_inner()).await;
    let took = began.elapsed();
    done(&last, v1::Status::Previewed);
    took
}

async fn unit_status(client: &mut HelperClient<Channel>) -> Duration {
    let began = Instant::now();
    let request = v1::UnitStatusRequest {
        meta: Some(meta(v1::Mode::Execute)),
        unit: UNIT.to_owned(),
        ..v1::UnitStatusRequest::default()
    };
    let last = last(client.unit_status(request).await.expect("an answer").into_inner()).await;
    let took = began.elapsed();
    done(&last, v1::Status::Done);
    took
}

pub fn done(last: &v1::event::Kind, status: v1::Status) {
    assert!(
        matches!(last, v1::event::Kind::Completed(completed) if completed.status() == status),
        "not {status:?}: {last:?}"
    );
}

pub async fn last(mut events: tonic::Streaming<v1::Event>) -> v1::event::Kind {
    let mut last = None;
    while let Some(event) = events.message().await.expect("the stream holds") {
        last = event.kind;
    }
    last.expect("a last event")
}

pub fn meta(mode: v1::Mode) -> v1::Meta {
    let request_id = uuid::Uuid::now_v7().to_string();
    v1::Meta { request_id, mode: mode.into(), ..v1::Meta::default() }
}

fn spawned(argv: &[&str]) -> Duration {
    let began = Instant::now();
    let ended = Command::new(argv[0]).args(&argv[1..]).stdout(Stdio::null()).status().expect("it starts");
    let took = began.elapsed();
    assert!(ended.success(), "{argv:?}: {ended}");
    took
}

pub async fn connect(path: &Path) -> HelperClient<Channel> {
    let path = path.to_owned();
    let connector = tower::service_fn(move |_: Uri| {
        let path = path.clone();
        async move { UnixStream::connect(path).await.map(TokioIo::new) }
    });
    let endpoint = Endpoint::from_static("http://localhost");
    HelperClient::new(endpoint.connect_with_connector(connector).await.expect("a connection"))
}

/// The least that a gRPC service over a Unix socket can do: one event for one request.
async fn serve_echo(listener: std::os::unix::net::UnixListener) {
    listener.set_nonblocking(true).expect("a socket for tokio");
    let listener = UnixListener::from_std(listener).expect("a socket for tokio");
    let (stream, _) = listener.accept().await.expect("a client");
    let service = hyper::service::service_fn(|request: http::Request<hyper::body::Incoming>| async move {
        let codec = tonic_prost::ProstCodec::<v1::Event, v1::UnitReloadRequest>::default();
        Ok::<_, std::convert::Infallible>(
            tonic::server::Grpc::new(codec).server_streaming(Echo, request).await,
        )
    });
    let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    serving.serve_connection(TokioIo::new(stream), service).await.expect("the echo serves");
}

struct Echo;

impl tonic::server::ServerStreamingService<v1::UnitReloadRequest> for Echo {
    type Response = v1::Event;
    type ResponseStream = tokio_stream::Once<Result<v1::Event, tonic::Status>>;
    type Future = std::future::Ready<Result<tonic::Response<Self::ResponseStream>, tonic::Status>>;

    fn call(&mut self, _: tonic::Request<v1::UnitReloadRequest>) -> Self::Future {
        let status = v1::Status::Previewed.into();
        let completed = v1::Completed { status, ..v1::Completed::default() };
        let event = v1::Event { seq: 1, kind: Some(v1::event::Kind::Completed(completed)) };
        std::future::ready(Ok(tonic::Response::new(tokio_stream::once(Ok(event)))))
    }
}
