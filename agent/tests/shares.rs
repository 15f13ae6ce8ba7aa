//! One person holds all that they may have of the service, and another one is served. Alone in its file: it changes the
//! effective uid of its process.

mod common;

use common::{HEADERS, Place, Play, accepted, ended, http};
use http_body_util::BodyExt;
use nix::unistd::{Uid, seteuid};
use postern_proto::v1::Status;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Notify;

const OTHER: u32 = 65_534;
/// More than anybody may have of anything.
const MANY: usize = 300;

async fn connect(place: &Place) -> UnixStream {
    UnixStream::connect(&place.host.agent_socket).await.unwrap()
}

async fn ask(place: &Place, method: &str, path: &str, body: &str) -> (u16, String) {
    let response = http(connect(place).await, method, path, &HEADERS, body).await;
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

/// Returns the text that an idle connection receives at once; empty where it stays open.
async fn told_at_once(stream: &mut UnixStream) -> String {
    let mut told = String::new();
    let read = stream.read_to_string(&mut told);
    match tokio::time::timeout(std::time::Duration::from_millis(50), read).await {
        Ok(read) => read.map(|_| told).unwrap(),
        Err(_) => String::new(),
    }
}

fn restart() -> &'static str {
    r#"{"verb":"unit.restart","args":{"unit":"nginx.service"}}"#
}

/// The beginning of a request whose body is announced as larger than it comes.
async fn half(place: &Place, body: usize) -> UnixStream {
    let mut stream = connect(place).await;
    let head = "POST /requests HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 12000000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let piece = vec![b' '; 64 << 10];
    for _ in 0..body / piece.len() {
        // A refused body gets an answer, and the rest of it is not read.
        if stream.write_all(&piece).await.is_err() {
            break;
        }
    }
    stream
}

/// Run by `tests/run`; by hand as root with `-- --ignored as_root`.
mod as_root {
    use super::*;

    #[tokio::test]
    #[ignore = "needs root: nobody else can be somebody else"]
    async fn one_person_who_holds_all_they_may_have_does_not_lock_another_out() {
        let place = Place::new();
        let go = Arc::new(Notify::new());
        let decide = Arc::new(|_: &common::Seen| vec![ended(Status::Done, "")]);
        let mut plays: Vec<Play> =
            (0..8).map(|_| Play::Hold(vec![accepted()], Arc::clone(&go), Vec::new())).collect();
        plays.push(Play::Decide(decide));
        let helper = place.helper(plays);
        place.serve();
        let directory = place.host.agent_socket.parent().unwrap();
        set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
        set_permissions(&place.host.agent_socket, Permissions::from_mode(0o666)).unwrap();

        // Requests under way.
        let mut under_way = Vec::new();
        for count in 1..=8 {
            let response = http(connect(&place).await, "POST", "/requests", &HEADERS, restart()).await;
            assert_eq!(response.status(), 200);
            under_way.push(response);
            common::until("it is sent", || helper.seen().len() == count).await;
        }
        let (status, text) = ask(&place, "POST", "/requests", restart()).await;
        assert!(status == 503 && text.contains("busy"), "{status} {text}");
        seteuid(Uid::from_raw(OTHER)).unwrap();
        assert_eq!(ask(&place, "POST", "/requests", restart()).await.0, 200);
        seteuid(Uid::from_raw(0)).unwrap();
        drop(under_way);

        // Bytes of bodies.
        let mut halves = Vec::new();
        for _ in 0..20 {
            halves.push(half(&place, 4 << 20).await);
        }
        let (status, text) = ask(&place, "POST", "/requests", &" ".repeat(4 << 20)).await;
        assert!(status == 503 && text.contains("too many bytes"), "{status} {text}");
        seteuid(Uid::from_raw(OTHER)).unwrap();
        assert_eq!(ask(&place, "POST", "/plan", r#"{"task":"restart nginx"}"#).await.0, 200);
        seteuid(Uid::from_raw(0)).unwrap();
        drop(halves);
        let back = async { while ask(&place, "POST", "/requests", &" ".repeat(4 << 20)).await.0 == 503 {} };
        tokio::time::timeout(std::time::Duration::from_secs(20), back)
            .await
            .expect("what is dropped is given back");

        // Connections.
        let mut idle = Vec::new();
        let refused = loop {
            let mut stream = connect(&place).await;
            let told = told_at_once(&mut stream).await;
            if !told.is_empty() {
                break told;
            }
            idle.push(stream);
            assert!(idle.len() < MANY, "nobody is refused");
        };
        assert!(
            refused.starts_with("HTTP/1.1 503 ") && refused.contains("too many connections"),
            "{refused}"
        );
        seteuid(Uid::from_raw(OTHER)).unwrap();
        assert_eq!(ask(&place, "GET", "/tasks", "").await.0, 200);
        seteuid(Uid::from_raw(0)).unwrap();
    }
}
