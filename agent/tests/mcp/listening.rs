//! The server on a Unix socket.

use crate::client::{TIMES, hello};
use crate::common::{Place, ended, http, until};
use crate::granting_all;
use http_body_util::BodyExt;
use hyper::StatusCode;
use postern_agent::mcp;
use postern_proto::v1::Status;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

struct Listening {
    path: PathBuf,
    end: oneshot::Sender<()>,
    served: JoinHandle<Result<(), String>>,
}

async fn listening(place: &Place) -> Listening {
    let path = place.path("mcp.sock");
    let (end, ended) = oneshot::channel::<()>();
    let (host, socket) = (place.host.clone(), path.clone());
    let served = tokio::spawn(async move {
        let ended = async { drop(ended.await) };
        mcp::listen(&host, TIMES, &socket, ended).await.map_err(|fault| fault.message)
    });
    until("it listens", || std::os::unix::net::UnixStream::connect(&path).is_ok()).await;
    Listening { path, end, served }
}

const HEADERS: [(&str, &str); 3] = [
    ("host", "localhost"),
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
];

impl Listening {
    async fn post(&self, headers: &[(&str, &str)], body: &Value) -> (StatusCode, Option<String>, String) {
        let stream = UnixStream::connect(&self.path).await.expect("the socket");
        let answer = http(stream, "POST", "/", headers, &body.to_string()).await;
        let status = answer.status();
        let session = answer.headers().get("mcp-session-id").map(|id| id.to_str().expect("text").to_owned());
        let mut body = answer.into_body();
        let mut text = String::new();
        // The stream stays open for what the server has to say; the first message is the answer.
        while !text.contains("\"jsonrpc\"") {
            match body.frame().await {
                Some(Ok(frame)) => text.push_str(&String::from_utf8_lossy(frame.data_ref().expect("data"))),
                Some(Err(_)) | None => break,
            }
        }
        (status, session, text)
    }
}

fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[tokio::test]
async fn serves_sessions_over_http_on_a_socket_of_its_owner_alone() {
    let place = Place::new();
    let _helper = place.helper(granting_all(|_| vec![ended(Status::Done, "")]));
    let server = listening(&place).await;
    let mode = std::fs::metadata(&server.path).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let (status, session, text) = server.post(&HEADERS, &request(1, "initialize", &hello())).await;
    assert!(status.is_success() && text.contains("\"postern\""), "{status} {text}");
    let session = session.expect("a session");
    let headers =
        [&HEADERS[..], &[("mcp-session-id", &session), ("mcp-protocol-version", "2025-06-18")]].concat();
    let notified = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert!(server.post(&headers, &notified).await.0.is_success());
    let call = json!({ "name": "service", "arguments": { "action": "stop", "name": "a" } });
    let (_, _, text) = server.post(&headers, &request(2, "tools/call", &call)).await;
    assert!(text.contains("\"status\":\"done\""), "{text}");

    let _ = server.end.send(());
    assert_eq!(server.served.await.expect("it ends"), Ok(()));
    assert!(!server.path.exists(), "the socket is removed");
}

#[tokio::test]
async fn refuses_pages_of_browsers_and_other_hosts() {
    let place = Place::new();
    let _helper = place.helper(granting_all(|_| Vec::new()));
    let server = listening(&place).await;
    let page = [&HEADERS[..], &[("origin", "https://example.org")]].concat();
    let (status, ..) = server.post(&page, &request(1, "initialize", &hello())).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let other = [("host", "example.org"), HEADERS[1], HEADERS[2]];
    let (status, ..) = server.post(&other, &request(1, "initialize", &hello())).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn replaces_a_socket_that_was_left_and_nothing_else() {
    let place = Place::new();
    let _helper = place.helper(granting_all(|_| Vec::new()));
    drop(std::os::unix::net::UnixListener::bind(place.path("mcp.sock")).expect("a socket"));
    let server = listening(&place).await;
    let again = mcp::listen(&place.host, TIMES, &server.path, std::future::pending()).await;
    assert!(again.expect_err("another listens").message.contains("something already"));
    let file = place.path("file");
    std::fs::write(&file, "mine").expect("a file");
    mcp::listen(&place.host, TIMES, &file, std::future::pending()).await.expect_err("a file is there");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "mine");
}

mod as_root {
    use super::*;
    use std::process::Command;

    #[tokio::test]
    #[ignore = "needs root: connects as another user"]
    #[expect(clippy::disallowed_methods, reason = "another user's program")]
    async fn closes_connections_of_other_users_whatever_the_sockets_mode() {
        let place = Place::new();
        let _helper = place.helper(granting_all(|_| Vec::new()));
        let server = listening(&place).await;
        for path in [server.path.parent().expect("a directory"), &server.path] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("a mode");
        }
        let script = "import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.settimeout(10)
try:
    s.sendall(b'GET / HTTP/1.1\\r\\nhost: localhost\\r\\n\\r\\n')
    print(s.recv(100))
except (BrokenPipeError, ConnectionResetError):
    print(b'')";
        let connect = |user: &'static str| {
            let mut command = Command::new("setpriv");
            command
                .args(["--reuid", user, "--clear-groups", "/usr/bin/python3", "-c", script])
                .arg(&server.path);
            tokio::task::spawn_blocking(move || {
                let done = command.output().expect("setpriv");
                String::from_utf8(done.stdout).expect("UTF-8") + &String::from_utf8_lossy(&done.stderr)
            })
        };
        assert_eq!(connect("65534").await.expect("it ran"), "b''\n");
        let own = connect("0").await.expect("it ran");
        assert!(own.starts_with("b'HTTP/1.1 "), "its own user gets an answer: {own}");
    }
}
