//! The streams that are open on the channel, and the replies that wait for each.
//!
//! Everything here is bounded: before a stream exists it has reserved its number, and
//! space in the queue for its request and for a later cancel.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use postern_proto::frame::{self, Head, STREAMS_MAX};
use tokio::sync::mpsc::{self, OwnedPermit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tonic::codegen::tokio_stream::Stream;
use tonic::{Code, Status};

use crate::limits::EVENTS_WAITING;

/// Room for one request and one cancel of every stream.
const QUEUE: usize = STREAMS_MAX.saturating_mul(2);

/// A frame to the broker.
pub(crate) struct Outgoing {
    /// The frame's head and the method's name.
    pub(crate) prefix: Vec<u8>,
    /// The rest of the frame.
    pub(crate) body: Bytes,
    /// The body's share of the memory for bodies.
    pub(crate) _share: Option<OwnedSemaphorePermit>,
}

/// A frame from the broker.
pub(crate) enum Reply {
    /// An event's bytes.
    Event(Bytes),
    /// The end of the stream.
    End(Status),
}

/// Whether the client uses its connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Activity {
    /// Streams open now.
    pub(crate) open: usize,
    /// A whole request has come since the start.
    pub(crate) any: bool,
}

/// The open streams of a connection.
pub(crate) struct Streams {
    table: Mutex<Table>,
    places: Arc<Semaphore>,
    outgoing: mpsc::Sender<Outgoing>,
    activity: watch::Sender<Activity>,
}

#[derive(Default)]
struct Table {
    /// The newest stream's number. Numbers are not used again.
    last: u32,
    open: BTreeMap<u32, mpsc::Sender<Reply>>,
    closed: bool,
}

impl Streams {
    /// Makes an empty table, and the queue of frames for the broker.
    pub(crate) fn new() -> (Arc<Self>, mpsc::Receiver<Outgoing>) {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        let streams = Self {
            table: Mutex::default(),
            places: Arc::new(Semaphore::new(STREAMS_MAX)),
            outgoing,
            activity: watch::Sender::new(Activity::default()),
        };
        (Arc::new(streams), queue)
    }

    /// Follows whether streams are open.
    pub(crate) fn activity(&self) -> watch::Receiver<Activity> {
        self.activity.subscribe()
    }

    /// Sends a request, and returns the replies.
    ///
    /// Waits while the broker does not take frames, or has not yet got the cancels of
    /// earlier streams: HTTP/2 frees the number of a reset stream at once.
    ///
    /// # Errors
    /// UNAVAILABLE if the broker has closed the channel.
    pub(crate) async fn open(
        self: &Arc<Self>,
        method: &str,
        body: Bytes,
        share: OwnedSemaphorePermit,
    ) -> Result<Replies, Status> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| gone())?;
        let cancel = self.outgoing.clone().reserve_owned().await.map_err(|_| gone())?;
        let send = self.outgoing.clone().reserve_owned().await.map_err(|_| gone())?;
        let (replies, incoming) = mpsc::channel(EVENTS_WAITING);
        let stream = self.register(replies)?;
        // From here on, dropping `replies` cancels the request.
        let replies =
            Replies { stream, incoming, streams: Arc::clone(self), cancel: Some(cancel), _place: place };
        let prefix = request_prefix(stream, method, body.len())
            .ok_or_else(|| Status::internal("the request does not fit a frame"))?;
        send.send(Outgoing { prefix, body, _share: Some(share) });
        Ok(replies)
    }

    /// Where a reply of this stream goes; `None` once the client has left it.
    pub(crate) fn replies(&self, stream: u32) -> Option<mpsc::Sender<Reply>> {
        self.table().open.get(&stream).cloned()
    }

    /// Forgets a stream.
    pub(crate) fn remove(&self, stream: u32) {
        self.table().open.remove(&stream);
    }

    /// Ends all open streams and lets no new one begin: the broker has closed the channel.
    pub(crate) fn close(&self) {
        let mut table = self.table();
        table.closed = true;
        table.open.clear();
    }

    fn register(&self, replies: mpsc::Sender<Reply>) -> Result<u32, Status> {
        let mut table = self.table();
        if table.closed {
            return Err(gone());
        }
        let stream = table.last.checked_add(1).ok_or_else(gone)?;
        table.last = stream;
        table.open.insert(stream, replies);
        self.activity.send_modify(|now| {
            now.open = now.open.saturating_add(1);
            now.any = true;
        });
        Ok(stream)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // No code panics while it holds the lock, and a map is whole at any time.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The replies to one request. Dropping it before the last one sends a cancel to the broker.
pub(crate) struct Replies {
    stream: u32,
    incoming: mpsc::Receiver<Reply>,
    streams: Arc<Streams>,
    /// Room for the cancel frame; taken once the stream has ended.
    cancel: Option<OwnedPermit<Outgoing>>,
    /// Given back after the cancel frame is queued: in whatever order the tasks of a left
    /// stream and of the next one run, the broker never sees one stream too many.
    _place: OwnedSemaphorePermit,
}

impl Stream for Replies {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.cancel.is_none() {
            return Poll::Ready(None);
        }
        let end = match ready!(self.incoming.poll_recv(context)) {
            Some(Reply::Event(event)) => return Poll::Ready(Some(Ok(event))),
            Some(Reply::End(status)) => status,
            None => gone(),
        };
        self.cancel = None;
        Poll::Ready(if end.code() == Code::Ok { None } else { Some(Err(end)) })
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        self.streams.remove(self.stream);
        if let Some(room) = self.cancel.take() {
            let head = Head { stream: self.stream, kind: frame::CANCEL, len: 0 };
            room.send(Outgoing { prefix: head.encode().to_vec(), body: Bytes::new(), _share: None });
        }
        self.streams.activity.send_modify(|now| now.open = now.open.saturating_sub(1));
    }
}

/// A request frame up to its body.
fn request_prefix(stream: u32, method: &str, body: usize) -> Option<Vec<u8>> {
    let name = frame::encode_request(method, &[])?;
    let len = u32::try_from(name.len().checked_add(body)?).ok()?;
    let mut prefix = Head { stream, kind: frame::REQUEST, len }.encode().to_vec();
    prefix.extend_from_slice(&name);
    Some(prefix)
}

fn gone() -> Status {
    Status::unavailable("the helper has closed the connection")
}
