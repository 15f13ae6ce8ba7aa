//! A real HTTP server on this host that does what it is told, also what no server should.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Behaviour for one connection.
#[derive(Clone)]
pub enum Play {
    /// Status, headers, body.
    Answer(u16, &'static [(&'static str, &'static str)], String),
    /// A stream of events, each as it stands.
    Stream(String),
    /// The beginning of a stream, then the connection ends.
    Half(String),
    /// The beginning of a stream, then the connection is reset.
    Reset(String),
    /// A body shorter than its length says.
    Short(String),
    /// A stream that says nothing new, for ever.
    Drip,
    /// Nothing.
    Hang,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The first line and the headers.
    pub head: String,
    /// The body.
    pub body: serde_json::Value,
}

/// The server.
pub struct Server {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Plays to one connection after the other; the last play to all that are left.
    pub async fn start(plays: Vec<Play>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let log = Arc::clone(&seen);
        tokio::spawn(async move {
            let mut plays = VecDeque::from(plays);
            while let Ok((stream, _)) = listener.accept().await {
                let play = if plays.len() > 1 { plays.pop_front() } else { plays.front().cloned() };
                tokio::spawn(serve(stream, play.unwrap(), Arc::clone(&log)));
            }
        });
        Self { address, seen }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, play: Play, seen: Arc<Mutex<Vec<Seen>>>) {
    let mut request = Vec::new();
    let (head, length) = loop {
        if stream.read_buf(&mut request).await.unwrap_or_default() == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&request);
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let lower = head.to_ascii_lowercase();
            let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            break (head.to_owned(), length.map_or(0, |length| length.trim().parse().unwrap()));
        }
    };
    let whole = head.len() + 4 + length;
    while request.len() < whole {
        stream.read_buf(&mut request).await.unwrap();
    }
    let body = serde_json::from_slice(&request[head.len() + 4..]).unwrap_or_default();
    seen.lock().unwrap().push(Seen { head, body });
    play_to(stream, play).await;
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";

async fn play_to(mut stream: TcpStream, play: Play) {
    // The client may have gone away; that is no concern of the server's.
    match play {
        Play::Answer(status, headers, body) => {
            let headers: Vec<String> =
                headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let headers = headers.concat();
            let text = format!(
                "HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(text.as_bytes()).await;
        }
        Play::Stream(events) => {
            let text = format!("{STREAM}content-length: {}\r\n\r\n", events.len());
            let _ = stream.write_all(text.as_bytes()).await;
            // In small pieces, as tokens come.
            for piece in events.as_bytes().chunks(7) {
                let _ = stream.write_all(piece).await;
                let _ = stream.flush().await;
            }
        }
        Play::Half(events) => {
            let text = format!("{STREAM}\r\n{events}");
            let _ = stream.write_all(text.as_bytes()).await;
        }
        Play::Reset(events) => {
            let text =
                format!("{STREAM}transfer-encoding: chunked\r\n\r\n{:x}\r\n{events}\r\n", events.len());
            let _ = stream.write_all(text.as_bytes()).await;
            let _ = stream.set_zero_linger();
        }
        Play::Short(body) => {
            let text = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len() + 10
            );
            let _ = stream.write_all(text.as_bytes()).await;
        }
        Play::Drip => {
            let _ = stream.write_all(format!("{STREAM}\r\n").as_bytes()).await;
            while stream.write_all(b": still here\n\n").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Play::Hang => {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
        }
    }
}
