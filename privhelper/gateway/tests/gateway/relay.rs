//! Requests go through whole, replies come back, and both sides learn when the other leaves.

use hyper_util::rt::TokioIo;
use postern_gateway::{Ended, Fault, Times};
use postern_proto::frame::{self, EVENT_MAX, PATCH_BODY_MAX, WRITE_BODY_MAX};
use postern_proto::v1::helper_client::HelperClient;
use postern_proto::v1::{Event, UnitStartRequest};
use prost::Message;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

use crate::harness::{call, end, http2, message, post, rig};

/// The client that the agent uses.
async fn stock_client(client: tokio::net::UnixStream) -> HelperClient<Channel> {
    let mut once = Some(client);
    let connect = tower::service_fn(move |_| {
        let client = once.take().map(TokioIo::new);
        async move { client.ok_or_else(|| std::io::Error::other("one connection only")) }
    });
    let channel = Endpoint::from_static("http://localhost").connect_with_connector(connect).await;
    HelperClient::new(channel.unwrap())
}

#[tokio::test]
async fn relays_a_request_and_its_events() {
    let mut rig = rig(Times::REAL);
    let mut client = stock_client(rig.client).await;
    let request = UnitStartRequest { meta: None, unit: "nginx.service".into() };
    let call = tokio::spawn({
        let request = request.clone();
        async move {
            let mut events = client.unit_start(request).await?.into_inner();
            let mut seen = Vec::new();
            while let Some(event) = events.message().await? {
                seen.push(event.seq);
            }
            Ok::<_, tonic::Status>(seen)
        }
    });
    let (stream, method, body) = rig.helper.request().await;
    assert_eq!(method, "Helper/UnitStart");
    assert_eq!(body, request.encode_to_vec());
    for seq in 1..=3 {
        rig.helper.event(stream, &Event { seq, kind: None }.encode_to_vec()).await;
    }
    rig.helper.end(stream, 0, "").await;
    assert_eq!(call.await.unwrap().unwrap(), [1, 2, 3]);
    assert_eq!(end(rig.gateway).await.unwrap(), Ended::ClientLeft);
}

#[tokio::test]
async fn returns_the_helpers_refusal() {
    let mut rig = rig(Times::REAL);
    let mut client = stock_client(rig.client).await;
    let call = tokio::spawn(async move { client.unit_start(UnitStartRequest::default()).await });
    let (stream, ..) = rig.helper.request().await;
    rig.helper.end(stream, 3, "not canonical").await;
    // A refusal may stand in the headers or after them.
    let status = match call.await.unwrap() {
        Ok(events) => events.into_inner().message().await.unwrap_err(),
        Err(status) => status,
    };
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "not canonical"));
}

#[tokio::test]
async fn leaves_it_to_the_helper_which_methods_exist() {
    let mut rig = rig(Times::REAL);
    let sender = http2(rig.client).await;
    let name = "a".repeat(64);
    let request = post(&format!("/postern.v1.Helper/{name}"));
    let call = tokio::spawn(async move { call(&sender, request, message(b"?")).await });
    let (stream, method, body) = rig.helper.request().await;
    assert_eq!((method, body.as_slice()), (format!("Helper/{name}"), b"?".as_slice()));
    rig.helper.end(stream, 12, "unknown verb").await;
    let answer = call.await.unwrap();
    assert_eq!((answer.code, answer.text.as_str()), (Some(12), "unknown%20verb"));
}

#[tokio::test]
async fn carries_the_largest_bodies_and_events() {
    let mut rig = rig(Times::REAL);
    let sender = http2(rig.client).await;
    for (method, size) in [("FileWrite", WRITE_BODY_MAX), ("FilePatch", PATCH_BODY_MAX)] {
        let sent: Vec<u8> = (0..=250).cycle().take(size).collect();
        let request = post(&format!("/postern.v1.Helper/{method}"));
        let call = tokio::spawn({
            let (sender, body) = (sender.clone(), message(&sent));
            async move { call(&sender, request, body).await }
        });
        let (stream, _, body) = rig.helper.request().await;
        assert!(body == sent);
        rig.helper.event(stream, &sent[..EVENT_MAX]).await;
        rig.helper.end(stream, 0, "").await;
        let answer = call.await.unwrap();
        assert_eq!(answer.code, Some(0));
        assert!(answer.body == message(&sent[..EVENT_MAX]));
    }
}

#[tokio::test]
async fn serves_streams_side_by_side() {
    let mut rig = rig(Times::REAL);
    let sender = http2(rig.client).await;
    let mut calls = Vec::new();
    for body in [b"a", b"b", b"c"] {
        let sender = sender.clone();
        calls.push(tokio::spawn(async move {
            call(&sender, post("/postern.v1.Helper/FileRead"), message(body)).await.body
        }));
    }
    let mut requests = Vec::new();
    for _ in 0..3 {
        requests.push(rig.helper.request().await);
    }
    // Answered in the other order, each with its own body.
    for (stream, _, body) in requests.iter().rev() {
        rig.helper.event(*stream, body).await;
        rig.helper.end(*stream, 0, "").await;
    }
    for (call, body) in calls.into_iter().zip([b"a", b"b", b"c"]) {
        assert_eq!(call.await.unwrap(), message(body));
    }
}

#[tokio::test]
async fn tells_the_helper_that_a_client_left_its_stream() {
    let mut rig = rig(Times::REAL);
    let sender = http2(rig.client).await;
    let mut first = sender.clone().ready().await.unwrap();
    let (_response, mut body) = first.send_request(post("/postern.v1.Helper/UnitStart"), false).unwrap();
    body.send_data(message(b"1"), true).unwrap();
    let (left, ..) = rig.helper.request().await;
    body.send_reset(h2::Reason::CANCEL);
    let (head, payload) = rig.helper.frame().await.unwrap();
    assert_eq!((head.stream, head.kind, payload.len()), (left, frame::CANCEL, 0));

    // Late frames of the cancelled stream are dropped, and disturb no later stream.
    rig.helper.event(left, b"late").await;
    rig.helper.end(left, 0, "").await;
    let call =
        tokio::spawn(async move { call(&sender, post("/postern.v1.Helper/UnitStart"), message(b"2")).await });
    let (stream, _, body) = rig.helper.request().await;
    assert_ne!(stream, left);
    assert_eq!(body, b"2");
    rig.helper.event(stream, b"new").await;
    rig.helper.end(stream, 0, "").await;
    assert_eq!(call.await.unwrap().body, message(b"new"));
}

#[tokio::test]
async fn ends_open_streams_as_unavailable_when_the_helper_goes() {
    let mut rig = rig(Times::REAL);
    let sender = http2(rig.client).await;
    let call = tokio::spawn({
        let sender = sender.clone();
        async move { call(&sender, post("/postern.v1.Helper/UnitStart"), message(b"")).await }
    });
    let (stream, ..) = rig.helper.request().await;
    rig.helper.event(stream, b"accepted").await;
    drop(rig.helper);
    let answer = call.await.unwrap();
    assert_eq!((answer.code, answer.body), (Some(14), message(b"accepted").to_vec()));
    assert_eq!(end(rig.gateway).await.unwrap(), Ended::HelperGone);
    assert!(sender.ready().await.is_err());
}

#[tokio::test]
async fn closes_the_channel_when_the_client_leaves() {
    let mut rig = rig(Times::REAL);
    let sender = http2(rig.client).await;
    let call =
        tokio::spawn(async move { call(&sender, post("/postern.v1.Helper/UnitStart"), message(b"")).await });
    rig.helper.request().await;
    call.abort();
    while rig.helper.frame().await.is_some() {}
    assert_eq!(end(rig.gateway).await.unwrap(), Ended::ClientLeft);
}

#[tokio::test]
async fn ends_when_the_helper_sends_what_is_no_frame() {
    for (kind, payload) in [(7, vec![]), (frame::END, vec![]), (frame::EVENT, vec![0; EVENT_MAX + 1])] {
        let mut rig = rig(Times::REAL);
        let frame = frame::encode(1, kind, &payload).unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut rig.helper.channel, &frame).await.ok();
        assert!(matches!(end(rig.gateway).await, Err(Fault::Frame(_))));
    }
}
