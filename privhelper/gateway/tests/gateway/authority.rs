//! The `:authority` of gRPC's C core is accepted, and no other byte of a client's changes.

use postern_gateway::Times;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::harness::{Rig, message, rig};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A field as a literal with incremental indexing and a new name, as the C core writes them.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| vec![u8::try_from(text.len()).unwrap()];
    [vec![0x40], length(name), name.into(), length(value), value.into()].concat()
}

/// Returns the bytes that grpcio 1.85 sends for one request, with this authority and message.
fn request(authority: &str, body: &[u8]) -> Vec<u8> {
    // POST and http stand in the static table.
    let headers = [
        literal(":path", "/postern.v1.Helper/UnitStart"),
        literal(":authority", authority),
        vec![0x83, 0x86],
        literal("content-type", "application/grpc"),
        literal("te", "trailers"),
    ]
    .concat();
    [
        PREFACE.to_vec(),
        frame(SETTINGS, 0, 0, &[]),
        frame(HEADERS, END_HEADERS, 1, &headers),
        frame(DATA, END_STREAM, 1, &message(body)),
    ]
    .concat()
}

/// Sends these bytes in parts of `part` and returns the request's body as the helper gets it, if it gets one.
async fn received(bytes: &[u8], part: usize) -> Option<Vec<u8>> {
    let Rig { mut client, mut helper, gateway } = rig(Times::REAL);
    for part in bytes.chunks(part) {
        client.write_all(part).await.unwrap();
        tokio::task::yield_now().await;
    }
    let body = tokio::select! {
        (_, _, body) = helper.request() => Some(body),
        // h2 resets the one stream: RST_STREAM (RFC 9113, section 6.4).
        () = reset(&mut client) => None,
    };
    gateway.abort();
    body
}

async fn reset(client: &mut tokio::net::UnixStream) {
    loop {
        let mut head = [0; 9];
        client.read_exact(&mut head).await.unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        client.read_exact(&mut payload).await.unwrap();
        if head[3] == 3 {
            return;
        }
    }
}

#[tokio::test]
async fn accepts_the_percent_encoded_socket_path_however_it_arrives() {
    let bytes = request("run%2Fpostern%2Fhelper.sock", b"body");
    for part in [1, 2, 3, 7, 64, bytes.len()] {
        assert_eq!(received(&bytes, part).await.as_deref(), Some(&b"body"[..]), "parts of {part} bytes");
    }
}

#[tokio::test]
async fn changes_no_byte_of_a_message_that_looks_like_the_field() {
    let body = [&b"%2F\x0a:authority\x03%2F "[..], &frame(HEADERS, 0, 1, b"\x0a:authority\x03%2F")].concat();
    for authority in ["run%2Fpostern%2Fhelper.sock", "localhost"] {
        assert_eq!(received(&request(authority, &body), 5).await, Some(body.clone()));
    }
}

#[tokio::test]
async fn refuses_other_malformed_authorities() {
    for authority in ["run/postern", "a b", "a@", "[::1"] {
        assert_eq!(received(&request(authority, b"body"), 1000).await, None, "{authority}");
    }
}
