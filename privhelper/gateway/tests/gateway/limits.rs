//! Attacks of a client on the gateway: each is refused, and no frame of it reaches the helper.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use http::Request;
use postern_gateway::{Ended, HEADER_LIST_MAX, Times};
use postern_proto::frame::{self, BODY_MAX, PATCH_BODY_MAX, STREAMS_MAX, WRITE_BODY_MAX};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::harness::{PATIENCE, call, end, http2, message, post, rig};

const READ: &str = "/postern.v1.Helper/FileRead";

/// A request that must be answered with this code without the helper.
async fn assert_refused(request: Request<()>, body: Bytes, code: i32) {
    let rig = rig(Times::REAL);
    let sender = http2(rig.client).await;
    let uri = request.uri().clone();
    let answer = call(&sender, request, body).await;
    assert_eq!(answer.code, Some(code), "{uri}: {answer:?}");
    rig.helper.assert_idle();
}

#[tokio::test]
async fn refuses_a_body_over_its_methods_limit() {
    for (name, limit) in
        [("FileRead", BODY_MAX), ("FileWrite", WRITE_BODY_MAX), ("FilePatch", PATCH_BODY_MAX)]
    {
        let path = format!("/postern.v1.Helper/{name}");
        assert_refused(post(&path), message(&vec![0; limit + 1]), 8).await;
    }
}

#[tokio::test]
async fn refuses_an_oversized_message_length() {
    assert_refused(post(READ), Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff]), 8).await;
}

#[tokio::test]
async fn refuses_paths_outside_the_service() {
    let long = format!("/postern.v1.Helper/{}", "a".repeat(65));
    for path in [
        "/",
        "/postern.v1.Helper",
        "/postern.v1.Helper/",
        "/postern.v1.Helper/File.Read",
        "/postern.v1.Helper/FileRead/",
        "/postern.v1.Helper//FileRead",
        "/postern.v1.Helper/File%52ead",
        "/postern.v1.Operator/Reload",
        "/postern.v2.Helper/FileRead",
        "/x/postern.v1.Helper/FileRead",
        &long,
    ] {
        assert_refused(post(path), message(b""), 12).await;
    }
}

#[tokio::test]
async fn refuses_compression() {
    let mut request = post(READ);
    request.headers_mut().insert("grpc-encoding", "gzip".parse().unwrap());
    assert_refused(request, message(b"x"), 12).await;
    // The flag alone, without the header.
    assert_refused(post(READ), Bytes::from_static(&[1, 0, 0, 0, 1, b'x']), 3).await;
}

#[tokio::test]
async fn refuses_a_request_without_exactly_one_message() {
    let two = [message(b"a"), message(b"b")].concat();
    let half = message(b"abc").slice(..6);
    let tail = [message(b"a"), Bytes::from_static(&[0])].concat();
    for body in [Bytes::new(), two.into(), half, tail.into()] {
        assert_refused(post(READ), body, 3).await;
    }
}

#[tokio::test]
async fn refuses_what_is_not_grpc() {
    for request in [
        Request::get(format!("http://localhost{READ}")).header("content-type", "application/grpc"),
        Request::post(format!("http://localhost{READ}")).header("content-type", "application/json"),
        Request::post(format!("http://localhost{READ}")),
    ] {
        let rig = rig(Times::REAL);
        let sender = http2(rig.client).await;
        let answer = call(&sender, request.body(()).unwrap(), message(b"")).await;
        assert_eq!(answer.http, 415);
        rig.helper.assert_idle();
    }
}

#[tokio::test]
async fn refuses_a_large_header_list() {
    let rig = rig(Times::REAL);
    let sender = http2(rig.client).await;
    let mut request = post(READ);
    let large = "x".repeat(usize::try_from(HEADER_LIST_MAX).unwrap());
    request.headers_mut().insert("x-large", large.parse().unwrap());
    assert_eq!(call(&sender, request, message(b"")).await.http, 431);
    rig.helper.assert_idle();
}

#[tokio::test]
async fn refuses_more_streams_than_the_channel_has() {
    let mut rig = rig(Times::REAL);
    // Before it has heard the limit, a client may open as many as it likes.
    let (mut sender, connection) = h2::client::handshake(rig.client).await.unwrap();
    let mut responses = Vec::new();
    for _ in 0..=STREAMS_MAX {
        sender = sender.ready().await.unwrap();
        let (response, mut body) = sender.send_request(post(READ), false).unwrap();
        body.send_data(message(b""), true).unwrap();
        responses.push((response, body));
    }
    tokio::spawn(connection);
    let (last, _) = responses.pop().unwrap();
    let error = timeout(PATIENCE, last).await.unwrap().unwrap_err();
    assert_eq!(error.reason(), Some(Reason::REFUSED_STREAM));
    for _ in 0..STREAMS_MAX {
        rig.helper.request().await;
    }
    rig.helper.assert_idle();
}

/// A client that swaps its oldest stream for a new one as fast as it can, with a helper that is slow to read.
#[tokio::test]
async fn never_has_more_streams_open_at_the_helper_than_allowed() {
    const ROUNDS: usize = 2000;
    let mut rig = rig(Times::REAL);
    let sender = http2(rig.client).await;
    let flood = tokio::spawn(async move {
        let mut bodies = VecDeque::new();
        for _ in 0..ROUNDS {
            if bodies.len() == STREAMS_MAX {
                let mut oldest: h2::SendStream<Bytes> = bodies.pop_front().unwrap();
                oldest.send_reset(Reason::CANCEL);
            }
            let mut sender = sender.clone().ready().await.unwrap();
            let (_, mut body) = sender.send_request(post(READ), false).unwrap();
            body.send_data(message(&[0; 1000]), true).ok();
            bodies.push_back(body);
            tokio::task::yield_now().await;
        }
        for mut body in bodies {
            body.send_reset(Reason::CANCEL);
        }
        sender
    });
    sleep(Duration::from_millis(200)).await;
    let mut open = BTreeSet::new();
    let mut seen = 0;
    loop {
        let next = timeout(Duration::from_millis(500), rig.helper.frame());
        let Ok(Some((head, _))) = next.await else { break };
        seen += 1;
        match head.kind {
            frame::REQUEST => assert!(open.insert(head.stream), "a number was used again"),
            frame::CANCEL => assert!(open.remove(&head.stream), "a cancel without its request"),
            kind => assert_eq!(kind, frame::REQUEST),
        }
        assert!(open.len() <= STREAMS_MAX);
    }
    assert!(seen > STREAMS_MAX && seen.is_multiple_of(2), "{seen} frames");
    assert!(open.is_empty());
    // The connection has outlived it.
    drop(flood.await.unwrap());
    assert_eq!(end(rig.gateway).await.unwrap(), Ended::ClientLeft);
}

#[tokio::test]
async fn ends_without_panic_on_what_is_not_http2() {
    let attempts: [&[u8]; 4] = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &[0xff; 4096],
        // The preface, then a frame that must not be there.
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x04\x08\x00\x00\x00\x00\x01\x00\x00\x00\x00",
        // The preface, then a frame longer than agreed.
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x00\x00\x00\x00\x00\x01",
    ];
    for bytes in attempts {
        let mut rig = rig(Times::REAL);
        rig.client.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        timeout(PATIENCE, rig.client.read_to_end(&mut answer)).await.unwrap().ok();
        assert_eq!(end(rig.gateway).await.unwrap(), Ended::ClientBroke);
    }
}
