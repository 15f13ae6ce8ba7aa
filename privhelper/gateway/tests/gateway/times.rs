//! A client that is slow, silent or idle holds nothing for ever.

use std::time::Duration;

use postern_gateway::{Ended, Times};
use postern_proto::frame::{self, OUTPUT_MAX};
use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};

use crate::harness::{PATIENCE, answer, call, end, http2, message, post, rig};

const READ: &str = "/postern.v1.Helper/FileRead";
const SHORT: Duration = Duration::from_millis(150);

#[tokio::test]
async fn ends_a_client_that_sends_nothing() {
    let rig = rig(Times { first: SHORT, ..Times::REAL });
    assert_eq!(end(rig.gateway).await.unwrap(), Ended::ClientSilent);
}

#[tokio::test]
async fn ends_a_client_that_never_sends_a_whole_request() {
    let mut rig = rig(Times { first: SHORT, ..Times::REAL });
    let mut sender = http2(rig.client).await.ready().await.unwrap();
    let (_response, mut body) = sender.send_request(post(READ), false).unwrap();
    body.send_data(message(b"abc").slice(..4), false).unwrap();
    assert_eq!(end(rig.gateway).await.unwrap(), Ended::ClientSilent);
    assert!(rig.helper.frame().await.is_none());
}

#[tokio::test]
async fn ends_a_request_whose_body_does_not_come() {
    let rig = rig(Times { body: SHORT, ..Times::REAL });
    let mut sender = http2(rig.client).await.ready().await.unwrap();
    let (response, _body) = sender.send_request(post(READ), false).unwrap();
    assert_eq!(answer(response.await.unwrap()).await.code, Some(4));
    rig.helper.assert_idle();
}

#[tokio::test]
async fn closes_an_idle_connection() {
    let mut rig = rig(Times { idle: SHORT, ..Times::REAL });
    let sender = http2(rig.client).await;
    for _ in 0..2 {
        let sender = sender.clone();
        let call = tokio::spawn(async move { call(&sender, post(READ), message(b"")).await.code });
        let (stream, ..) = rig.helper.request().await;
        // However long the helper takes, an open stream is use.
        sleep(SHORT * 2).await;
        assert!(!rig.gateway.is_finished());
        rig.helper.end(stream, 0, "").await;
        assert_eq!(call.await.unwrap(), Some(0));
    }
    assert_eq!(end(rig.gateway).await.unwrap(), Ended::Idle);
    assert!(rig.helper.frame().await.is_none());
}

#[tokio::test]
async fn holds_little_for_a_client_that_does_not_read() {
    const OFFERED: usize = 64 * 1024 * 1024;
    let mut rig = rig(Times { stall: SHORT, ..Times::REAL });
    let mut sender = http2(rig.client).await.ready().await.unwrap();
    let (response, mut body) = sender.send_request(post(READ), false).unwrap();
    body.send_data(message(b""), true).unwrap();
    let (stream, ..) = rig.helper.request().await;
    let unread = response.await;
    let event = frame::encode(stream, frame::EVENT, &vec![0; OUTPUT_MAX]).unwrap();
    let mut taken = 0;
    while taken < OFFERED {
        let Ok(Ok(())) = timeout(PATIENCE, rig.helper.channel.write_all(&event)).await else { break };
        taken += event.len();
    }
    // Upper bound: the socket buffers, the client's window of 64 KiB and a few events.
    assert!(taken < 2 * 1024 * 1024, "{taken} bytes taken");
    assert_eq!(end(rig.gateway).await.unwrap(), Ended::ClientStalled);
    drop(unread);
}

#[tokio::test]
async fn does_not_outlive_the_helper_for_a_client_that_does_not_read() {
    let mut rig = rig(Times { grace: SHORT, ..Times::REAL });
    let mut sender = http2(rig.client).await.ready().await.unwrap();
    let (response, mut body) = sender.send_request(post(READ), false).unwrap();
    body.send_data(message(b""), true).unwrap();
    let (stream, ..) = rig.helper.request().await;
    let unread = response.await;
    for _ in 0..2 {
        rig.helper.event(stream, &vec![0; OUTPUT_MAX]).await;
    }
    drop(rig.helper);
    assert_eq!(end(rig.gateway).await.unwrap(), Ended::HelperGone);
    drop(unread);
}
