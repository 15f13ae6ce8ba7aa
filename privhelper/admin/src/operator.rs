//! Calls over operator.sock: one request frame, reply frames (one, or many of a stream), one end frame.

use crate::io::Exit;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use postern_proto::code::{ExitKind, exit_kind};
use postern_proto::frame::{self, Head};
use prost::Message;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longest wait for the next bytes of an answer that needs no person.
pub const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// gRPC codes that say nothing of a request.
const UNKNOWN: u8 = 2;
const UNIMPLEMENTED: u8 = 12;
const INTERNAL: u8 = 13;
/// gRPC: the recorder is stopping.
pub const UNAVAILABLE: u8 = 14;

/// Why there is no answer.
#[derive(Debug)]
pub enum CallError {
    /// Nobody listens there, or not for this user.
    Unreachable(io::Error),
    /// The recorder refused: gRPC code and text.
    Refused(u8, String),
    /// The connection ended before the answer did.
    Disconnected,
    /// The answer is not a recorder's.
    Malformed(String),
}

impl CallError {
    /// Whether no recorder runs, rather than one that refuses or fails.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Unreachable(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused))
    }

    /// The exit status of a command that ends with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Unreachable(_) | Self::Refused(UNAVAILABLE, _) => Exit::Unreachable,
            Self::Disconnected
            | Self::Malformed(_)
            | Self::Refused(UNKNOWN | UNIMPLEMENTED | INTERNAL, _) => Exit::Failed,
            Self::Refused(_, text) => exit_of(text.split(':').next().unwrap_or_default()),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                write!(f, "not permitted to ask the recorder: only root and members of postern-operators may")
            }
            Self::Unreachable(error) => write!(f, "the recorder cannot be reached: {error}"),
            Self::Refused(code, text) => {
                write!(f, "the recorder refused: {} (code {code})", crate::text::escape(text))
            }
            Self::Disconnected => write!(f, "the recorder's answer ends too early"),
            Self::Malformed(what) => write!(f, "the recorder's answer is not understood: {what}"),
        }
    }
}

impl std::error::Error for CallError {}

/// The exit of a stable code. One that is newer than this program is a refusal.
#[must_use]
pub fn exit_of(code: &str) -> Exit {
    match exit_kind(code) {
        Some(ExitKind::Usage) => Exit::Usage,
        Some(ExitKind::NotApproved) => Exit::NotApproved,
        Some(ExitKind::Failed) => Exit::Failed,
        Some(ExitKind::Refused) | None => Exit::Refused,
    }
}

/// Calls `method` (such as `Operator/Status`) and returns its one reply.
///
/// # Errors
/// Nobody listens, the listener is not `owner`'s, the recorder refuses, or the answer cannot be decoded.
pub fn call<Q: Message, R: Message + Default>(
    socket: &Path,
    owner: u32,
    method: &str,
    request: &Q,
) -> Result<R, CallError> {
    let mut replies = Replies::open(socket, owner, method, request, Some(REPLY_TIMEOUT))?;
    let malformed = |what: &str| CallError::Malformed(what.to_owned());
    let reply = replies.receive()?.ok_or_else(|| malformed("an end without a reply"))?;
    match replies.receive::<R>()? {
        None => Ok(reply),
        Some(_) => Err(malformed("more than one reply")),
    }
}

/// The replies to one call, as they come.
#[derive(Debug)]
pub struct Replies(UnixStream);

impl Replies {
    /// Calls `method`. `timeout` is the longest wait for the next bytes, without end if there is none.
    ///
    /// # Errors
    /// Nobody listens, or the listener is not `owner`'s.
    pub fn open<Q: Message>(
        socket: &Path,
        owner: u32,
        method: &str,
        request: &Q,
        timeout: Option<Duration>,
    ) -> Result<Self, CallError> {
        let mut stream = UnixStream::connect(socket).map_err(CallError::Unreachable)?;
        let peer =
            getsockopt(&stream, PeerCredentials).map_err(|error| CallError::Unreachable(error.into()))?;
        if peer.uid() != owner {
            return Err(CallError::Malformed(format!("uid {} listens on {}", peer.uid(), socket.display())));
        }
        stream.set_read_timeout(timeout).map_err(CallError::Unreachable)?;
        stream.set_write_timeout(Some(REPLY_TIMEOUT)).map_err(CallError::Unreachable)?;
        let too_long = || CallError::Malformed("the request is too long".to_owned());
        let payload = frame::encode_request(method, &request.encode_to_vec()).ok_or_else(too_long)?;
        let bytes = frame::encode(1, frame::REQUEST, &payload).ok_or_else(too_long)?;
        stream.write_all(&bytes).map_err(CallError::Unreachable)?;
        Ok(Self(stream))
    }

    /// The next reply; `None` after the last.
    ///
    /// # Errors
    /// The recorder refuses or disconnects, or a reply cannot be decoded.
    pub fn receive<R: Message + Default>(&mut self) -> Result<Option<R>, CallError> {
        let malformed = |what: &str| CallError::Malformed(what.to_owned());
        let (kind, payload) = self.frame()?;
        match kind {
            frame::EVENT => {
                R::decode(payload.as_slice()).map(Some).map_err(|_| malformed("a reply of another form"))
            }
            frame::END => match payload.split_first().ok_or_else(|| malformed("an empty end"))? {
                (0, _) => Ok(None),
                (&code, text) => Err(CallError::Refused(code, String::from_utf8_lossy(text).into_owned())),
            },
            other => Err(CallError::Malformed(format!("a frame of kind {other}"))),
        }
    }

    fn frame(&mut self) -> Result<(u8, Vec<u8>), CallError> {
        let cut = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => CallError::Disconnected,
            _ => CallError::Unreachable(error),
        };
        let mut head = [0; frame::HEAD];
        self.0.read_exact(&mut head).map_err(cut)?;
        let head = Head::decode(head);
        let len = usize::try_from(head.len).unwrap_or(usize::MAX);
        if len > frame::EVENT_MAX {
            return Err(CallError::Malformed(format!("a frame of {len} bytes")));
        }
        let mut payload = vec![0; len];
        self.0.read_exact(&mut payload).map_err(cut)?;
        Ok((head.kind, payload))
    }
}

impl AsFd for Replies {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
