//! Reads and writes the channel's frames, one task each.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use postern_proto::frame::{self, EVENT_MAX, HEAD, Head};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::{Code, Status};

use crate::fault::{Ended, Fault};
use crate::limits::STATUS_TEXT_MAX;
use crate::streams::{Outgoing, Reply, Streams};

/// Gathers small frames into one system call.
const BUFFER: usize = 8 * 1024;

/// Passes the broker's frames to their streams, until the broker closes the channel.
///
/// A stream whose client does not read blocks all reading; after `stall` the connection ends.
pub(crate) async fn read(
    from: OwnedReadHalf,
    streams: Arc<Streams>,
    stall: Duration,
) -> Result<Ended, Fault> {
    let ended = read_frames(from, &streams, stall).await;
    streams.close();
    ended
}

async fn read_frames(from: OwnedReadHalf, streams: &Streams, stall: Duration) -> Result<Ended, Fault> {
    let mut from = BufReader::with_capacity(BUFFER, from);
    // A killed broker can leave the channel cut within a frame.
    while let Some((head, payload)) = read_frame(&mut from).await? {
        let reply = match head.kind {
            frame::EVENT => Reply::Event(payload),
            frame::END => Reply::End(status(&payload)?),
            _ => return Err(Fault::Frame("unknown kind")),
        };
        // The client has left this stream; the cancel crossed this frame.
        let Some(replies) = streams.replies(head.stream) else { continue };
        if head.kind == frame::END {
            streams.remove(head.stream);
        }
        if timeout(stall, replies.send(reply)).await.is_err() {
            return Ok(Ended::ClientStalled);
        }
    }
    Ok(Ended::HelperGone)
}

/// The next frame, or `None` at the end of the channel.
async fn read_frame(from: &mut BufReader<OwnedReadHalf>) -> Result<Option<(Head, Bytes)>, Fault> {
    let mut head = [0; HEAD];
    if from.read_exact(&mut head).await.is_err() {
        return Ok(None);
    }
    let head = Head::decode(head);
    let len = usize::try_from(head.len).map_err(|_| Fault::Frame("too long"))?;
    if len > EVENT_MAX {
        return Err(Fault::Frame("too long"));
    }
    let mut payload = vec![0; len];
    if from.read_exact(&mut payload).await.is_err() {
        return Ok(None);
    }
    Ok(Some((head, Bytes::from(payload))))
}

/// An end frame's gRPC status.
fn status(payload: &[u8]) -> Result<Status, Fault> {
    let (code, text) = payload.split_first().ok_or(Fault::Frame("end without a code"))?;
    let text = text.get(..STATUS_TEXT_MAX).unwrap_or(text);
    Ok(Status::new(Code::from(i32::from(*code)), String::from_utf8_lossy(text)))
}

/// Writes queued frames, until the broker closes the channel.
pub(crate) async fn write(to: OwnedWriteHalf, mut queue: mpsc::Receiver<Outgoing>) -> Result<Ended, Fault> {
    let mut to = BufWriter::with_capacity(BUFFER, to);
    while let Some(frame) = queue.recv().await {
        let written = async {
            to.write_all(&frame.prefix).await?;
            to.write_all(&frame.body).await?;
            to.flush().await
        };
        if written.await.is_err() {
            break;
        }
    }
    Ok(Ended::HelperGone)
}
