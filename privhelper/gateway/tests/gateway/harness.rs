//! A gateway between a helper and a client that both are this test.

use std::time::Duration;

use bytes::{BufMut, Bytes};
use h2::client::SendRequest;
use http::{HeaderMap, Request, Response};
use postern_gateway::{Ended, Fault, Handover, Times, serve};
use postern_proto::frame::{self, HEAD, Head};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A running gateway and its two ends.
pub struct Rig {
    pub client: UnixStream,
    pub helper: Helper,
    pub gateway: JoinHandle<Result<Ended, Fault>>,
}

pub fn rig(times: Times) -> Rig {
    let (client, its_end) = UnixStream::pair().unwrap();
    let (channel, helper) = UnixStream::pair().unwrap();
    let gateway = tokio::spawn(serve(Handover { client: its_end, channel }, times));
    Rig { client, helper: Helper { channel: helper }, gateway }
}

/// How the gateway ended, if it does.
pub async fn end(gateway: JoinHandle<Result<Ended, Fault>>) -> Result<Ended, Fault> {
    timeout(PATIENCE, gateway).await.unwrap().unwrap()
}

/// The helper's end of the channel.
pub struct Helper {
    pub channel: UnixStream,
}

impl Helper {
    /// The next frame; `None` once the gateway has closed the channel.
    pub async fn frame(&mut self) -> Option<(Head, Vec<u8>)> {
        let mut head = [0; HEAD];
        timeout(PATIENCE, self.channel.read_exact(&mut head)).await.unwrap().ok()?;
        let head = Head::decode(head);
        let mut payload = vec![0; usize::try_from(head.len).unwrap()];
        timeout(PATIENCE, self.channel.read_exact(&mut payload)).await.unwrap().ok()?;
        Some((head, payload))
    }

    /// The next frame, which is a request: its stream, method and body.
    pub async fn request(&mut self) -> (u32, String, Vec<u8>) {
        let (head, payload) = self.frame().await.unwrap();
        assert_eq!(head.kind, frame::REQUEST);
        let (method, body) = frame::split_request(&payload).unwrap();
        (head.stream, method.to_owned(), body.to_vec())
    }

    pub async fn event(&mut self, stream: u32, event: &[u8]) {
        self.send(stream, frame::EVENT, event).await;
    }

    pub async fn end(&mut self, stream: u32, code: u8, text: &str) {
        self.send(stream, frame::END, &[&[code], text.as_bytes()].concat()).await;
    }

    pub async fn send(&mut self, stream: u32, kind: u8, payload: &[u8]) {
        let frame = frame::encode(stream, kind, payload).unwrap();
        timeout(PATIENCE, self.channel.write_all(&frame)).await.unwrap().unwrap();
    }

    /// Nothing has been sent to the helper.
    pub fn assert_idle(&self) {
        let nothing = self.channel.try_read(&mut [0]);
        assert_eq!(nothing.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
}

/// A client's HTTP/2 connection without gRPC's good manners.
pub async fn http2(client: UnixStream) -> SendRequest<Bytes> {
    let (sender, connection) = h2::client::handshake(client).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// A gRPC request without its body.
pub fn post(path: &str) -> Request<()> {
    Request::post(format!("http://localhost{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .unwrap()
}

/// A length-prefixed gRPC message.
pub fn message(body: &[u8]) -> Bytes {
    let mut message = Vec::new();
    message.put_u8(0);
    message.put_u32(u32::try_from(body.len()).unwrap());
    message.put_slice(body);
    message.into()
}

/// Response to a client's request.
#[derive(Debug)]
pub struct Answer {
    pub http: u16,
    pub code: Option<i32>,
    pub text: String,
    pub body: Vec<u8>,
}

/// Sends one request whole and collects its answer.
pub async fn call(sender: &SendRequest<Bytes>, request: Request<()>, body: Bytes) -> Answer {
    let mut sender = sender.clone().ready().await.unwrap();
    let (response, mut stream) = sender.send_request(request, false).unwrap();
    // A refusal may come before the body has been taken.
    stream.send_data(body, true).ok();
    answer(timeout(PATIENCE, response).await.unwrap().unwrap()).await
}

pub async fn answer(response: Response<h2::RecvStream>) -> Answer {
    let (head, mut stream) = response.into_parts();
    let mut body = Vec::new();
    while let Some(data) = timeout(PATIENCE, stream.data()).await.unwrap() {
        let data = data.unwrap();
        stream.flow_control().release_capacity(data.len()).unwrap();
        body.extend_from_slice(&data);
    }
    let trailers = stream.trailers().await.unwrap().unwrap_or_default();
    let field = |name| text(&trailers, name).or_else(|| text(&head.headers, name));
    Answer {
        http: head.status.as_u16(),
        code: field("grpc-status").map(|code| code.parse().unwrap()),
        text: field("grpc-message").unwrap_or_default(),
        body,
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| value.to_str().unwrap().to_owned())
}
