//! A client of helper.sock that speaks gRPC, as every client does.

use bytes::Bytes;
use postern_proto::v1::{self as wire, event::Kind};
use prost::Message;
use std::path::Path;
use std::time::Duration;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// One request on a connection of its own. None: the connection ended before the last event.
pub fn request(socket: &Path, method: &str, message: &impl Message) -> Option<Kind> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let exchange = exchange(socket, method, message.encode_to_vec());
    let bytes = runtime.block_on(async { tokio::time::timeout(PATIENCE, exchange).await });
    let bytes = bytes.expect("no answer, and no end of the connection")?;
    match events(&bytes).pop()?.kind? {
        last @ (Kind::Completed(_) | Kind::Refused(_)) => Some(last),
        _ => None,
    }
}

async fn exchange(socket: &Path, method: &str, body: Vec<u8>) -> Option<Vec<u8>> {
    let stream = tokio::net::UnixStream::connect(socket).await.ok()?;
    let (sender, connection) = h2::client::handshake(stream).await.ok()?;
    let connection = tokio::spawn(connection);
    let request = http::Request::post(format!("http://localhost/postern.v1.{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    let (response, mut stream) =
        sender.ready().await.ok()?.send_request(request.body(()).unwrap(), false).ok()?;
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    stream.send_data(Bytes::from([&[0], &length[..], &body].concat()), true).ok()?;
    let (mut body, mut bytes) = (response.await.ok()?.into_body(), Vec::new());
    // Data before the end of a broken connection counts.
    while let Some(Ok(data)) = body.data().await {
        drop(body.flow_control().release_capacity(data.len()));
        bytes.extend_from_slice(&data);
    }
    connection.abort();
    Some(bytes)
}

/// The whole messages of a gRPC body.
fn events(mut bytes: &[u8]) -> Vec<wire::Event> {
    let mut events = Vec::new();
    while let Some((&[_, a, b, c, d], rest)) = bytes.split_first_chunk::<5>() {
        let Some((event, rest)) = rest.split_at_checked(u32::from_be_bytes([a, b, c, d]) as usize) else {
            break;
        };
        events.push(wire::Event::decode(event).unwrap());
        bytes = rest;
    }
    events
}
