//! Serves a client from the hand-over to the end of its connection.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use postern_proto::frame::STREAMS_MAX;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::authority::ClientReader;
use crate::channel;
use crate::fault::{Ended, Fault};
use crate::handover::Handover;
use crate::limits::{CONNECTION_WINDOW, HEADER_LIST_MAX, SEND_BUFFER, STREAM_WINDOW, Times};
use crate::relay::Relay;
use crate::streams::{Activity, Streams};

/// Speaks gRPC to the client and frames to the broker, until one of them disconnects.
///
/// # Errors
/// [`Fault`] if the broker breaks the channel's format.
pub async fn serve(handover: Handover, times: Times) -> Result<Ended, Fault> {
    let Handover { client, channel } = handover;
    let (streams, queue) = Streams::new();
    let (from, to) = channel.into_split();
    // Dropped with this function, which ends both tasks.
    let mut channel = JoinSet::new();
    channel.spawn(channel::read(from, Arc::clone(&streams), times.stall));
    channel.spawn(channel::write(to, queue));
    let mut activity = streams.activity();

    let relay = Relay::new(streams, times.body);
    let service = service_fn(move |request| {
        let relay = relay.clone();
        async move { Ok::<_, Infallible>(relay.answer(request).await) }
    });
    let (from, to) = client.into_split();
    let client = tokio::io::join(ClientReader::new(from), to);
    let mut connection = pin!(http2().serve_connection(TokioIo::new(client), service));

    let mut ended = tokio::select! {
        result = connection.as_mut() => return Ok(client_end(result.is_ok())),
        result = helper_end(&mut channel) => result?,
        ended = unused(&mut activity, &times) => ended,
    };
    if matches!(ended, Ended::ClientSilent | Ended::ClientStalled) {
        return Ok(ended);
    }
    connection.as_mut().graceful_shutdown();
    if ended == Ended::Idle {
        // A request that crossed the GOAWAY is served to its end.
        ended = tokio::select! {
            _ = connection.as_mut() => return Ok(Ended::Idle),
            result = helper_end(&mut channel) => result?,
            () = quiet(&mut activity, times.grace) => return Ok(Ended::Idle),
        };
    }
    // The streams have ended as UNAVAILABLE; the client may take so long to read it.
    timeout(times.grace, connection).await.map_or(Ok(ended), |_| Ok(ended))
}

/// HTTP/2 with this project's limits, and h2's own against rapid resets and CONTINUATION floods.
fn http2() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .max_concurrent_streams(u32::try_from(STREAMS_MAX).unwrap_or(1))
        .max_header_list_size(HEADER_LIST_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .auto_date_header(false);
    builder
}

fn client_end(in_order: bool) -> Ended {
    if in_order { Ended::ClientLeft } else { Ended::ClientBroke }
}

/// The end of the channel, as the first of its tasks reports it.
async fn helper_end(channel: &mut JoinSet<Result<Ended, Fault>>) -> Result<Ended, Fault> {
    match channel.join_next().await {
        Some(Ok(ended)) => ended,
        // Both have reported, or one was aborted.
        Some(Err(_)) | None => Ok(Ended::HelperGone),
    }
}

/// Waits until the time for the first request, or later the idle time, is over.
async fn unused(activity: &mut watch::Receiver<Activity>, times: &Times) -> Ended {
    if timeout(times.first, activity.wait_for(|now| now.any)).await.is_err() {
        return Ended::ClientSilent;
    }
    quiet(activity, times.idle).await;
    Ended::Idle
}

/// Waits until no stream has been open for so long.
async fn quiet(activity: &mut watch::Receiver<Activity>, limit: Duration) {
    // An error means that the connection has ended.
    while activity.wait_for(|now| now.open == 0).await.is_ok() {
        if timeout(limit, activity.changed()).await.is_err() {
            return;
        }
    }
}
