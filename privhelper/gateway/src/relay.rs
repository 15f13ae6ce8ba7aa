//! One gRPC request: checked for shape, sent as a frame, answered with frames.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, Response, StatusCode};
use postern_proto::frame;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tonic::body::Body;
use tonic::codegen::BoxFuture;
use tonic::server::{Grpc, StreamingService};
use tonic::{Code, Status, Streaming};

use crate::codec::Opaque;
use crate::limits::BODIES_MAX;
use crate::streams::{Replies, Streams};

/// The one service; what follows is a method's name.
const SERVICE: &str = "/postern.v1.";
const HELPER: &str = "Helper/";
/// Most letters of a method's name.
const NAME_MAX: usize = 64;

/// Relays the requests of one connection.
#[derive(Clone)]
pub(crate) struct Relay {
    streams: Arc<Streams>,
    /// Bytes of bodies that may be held at once.
    bodies: Arc<Semaphore>,
    /// The time for a request's body.
    body_time: Duration,
}

impl Relay {
    pub(crate) fn new(streams: Arc<Streams>, body_time: Duration) -> Self {
        let bodies = usize::try_from(BODIES_MAX).unwrap_or(Semaphore::MAX_PERMITS);
        Self { streams, bodies: Arc::new(Semaphore::new(bodies)), body_time }
    }

    /// Answers one HTTP request.
    pub(crate) async fn answer(self, request: Request<Incoming>) -> Response<Body> {
        if request.method() != Method::POST || !is_grpc(&request) {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return response;
        }
        let Some(method) = method(request.uri().path()) else {
            return Status::unimplemented("no such service or method").into_http();
        };
        let call = Call { method: method.to_owned(), relay: self };
        let limit = frame::body_max(method);
        Grpc::new(Opaque).max_decoding_message_size(limit).streaming(call, request).await
    }
}

fn is_grpc(request: &Request<Incoming>) -> bool {
    let kind = request.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind == "application/grpc" || kind == "application/grpc+proto")
}

/// Returns `Helper/FileWrite` of `/postern.v1.Helper/FileWrite`. The broker decides whether the method exists.
fn method(path: &str) -> Option<&str> {
    let method = path.strip_prefix(SERVICE)?;
    let name = method.strip_prefix(HELPER)?;
    let well_formed =
        (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    well_formed.then_some(method)
}

/// One request under way.
struct Call {
    method: String,
    relay: Relay,
}

impl Call {
    async fn run(self, body: Streaming<Bytes>) -> Result<tonic::Response<Replies>, Status> {
        let share = u32::try_from(frame::body_max(&self.method)).unwrap_or(BODIES_MAX);
        let share = Arc::clone(&self.relay.bodies)
            .acquire_many_owned(share)
            .await
            .map_err(|_| Status::unavailable("stopping"))?;
        let body = timeout(self.relay.body_time, only_message(body))
            .await
            .map_err(|_| Status::deadline_exceeded("the request was not complete in time"))??;
        let replies = self.relay.streams.open(&self.method, body, share).await?;
        Ok(tonic::Response::new(replies))
    }
}

impl StreamingService<Bytes> for Call {
    type Response = Bytes;
    type ResponseStream = Replies;
    type Future = BoxFuture<tonic::Response<Replies>, Status>;

    fn call(&mut self, request: tonic::Request<Streaming<Bytes>>) -> Self::Future {
        let call = Self { method: std::mem::take(&mut self.method), relay: self.relay.clone() };
        Box::pin(call.run(request.into_inner()))
    }
}

/// The one message of a request.
async fn only_message(mut body: Streaming<Bytes>) -> Result<Bytes, Status> {
    let message = body.message().await.map_err(refusal)?;
    let message = message.ok_or_else(|| Status::invalid_argument("the request holds no message"))?;
    match body.message().await.map_err(refusal)? {
        None => Ok(message),
        Some(_) => Err(Status::invalid_argument("the request holds more than one message")),
    }
}

/// Maps tonic's status for a broken message to the codes that Postern uses.
fn refusal(status: Status) -> Status {
    if status.code() == Code::OutOfRange {
        Status::resource_exhausted(status.message())
    } else if status.code() == Code::Internal {
        Status::invalid_argument(status.message())
    } else {
        status
    }
}
