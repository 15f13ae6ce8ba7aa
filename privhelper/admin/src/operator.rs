//! Calls over operator.sock: one request frame, one reply frame, one end frame.

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use postern_proto::frame::{self, Head};
use prost::Message;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longest wait for the next bytes of an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why there is no answer.
#[derive(Debug)]
pub enum CallError {
    /// Nobody listens there, or not for this user.
    Unreachable(io::Error),
    /// The helper said no: gRPC code and text.
    Refused(u8, String),
    /// What answered is no helper of ours.
    Strange(String),
}

impl CallError {
    /// Whether no helper runs, rather than one that refuses or fails.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Unreachable(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused))
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                write!(f, "not permitted to ask the helper: only root and members of postern-operators may")
            }
            Self::Unreachable(error) => write!(f, "the helper cannot be reached: {error}"),
            Self::Refused(code, text) => {
                write!(f, "the helper refused: {} (code {code})", crate::text::escape(text))
            }
            Self::Strange(what) => write!(f, "the helper's answer is not understood: {what}"),
        }
    }
}

impl std::error::Error for CallError {}

/// Calls `method` (such as `Operator/Status`) and returns its reply.
///
/// # Errors
/// Nobody listens, the listener is not `owner`'s, the helper refuses, or the answer is none.
pub fn call<Q: Message, R: Message + Default>(
    socket: &Path,
    owner: u32,
    method: &str,
    request: &Q,
) -> Result<R, CallError> {
    let mut stream = UnixStream::connect(socket).map_err(CallError::Unreachable)?;
    let peer = getsockopt(&stream, PeerCredentials).map_err(|error| CallError::Unreachable(error.into()))?;
    if peer.uid() != owner {
        return Err(CallError::Strange(format!("uid {} listens on {}", peer.uid(), socket.display())));
    }
    stream.set_read_timeout(Some(PATIENCE)).map_err(CallError::Unreachable)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(CallError::Unreachable)?;
    let too_long = || CallError::Strange("the request is too long".to_owned());
    let payload = frame::encode_request(method, &request.encode_to_vec()).ok_or_else(too_long)?;
    let bytes = frame::encode(1, frame::REQUEST, &payload).ok_or_else(too_long)?;
    stream.write_all(&bytes).map_err(CallError::Unreachable)?;
    receive(&mut stream)
}

fn receive<R: Message + Default>(stream: &mut UnixStream) -> Result<R, CallError> {
    let strange = |what: &str| CallError::Strange(what.to_owned());
    let mut reply = None;
    loop {
        let (kind, payload) = next_frame(stream)?;
        match kind {
            frame::EVENT => {
                let message =
                    R::decode(payload.as_slice()).map_err(|_| strange("a reply of another form"))?;
                reply = Some(message);
            }
            frame::END => {
                let (&code, text) = payload.split_first().ok_or_else(|| strange("an empty end"))?;
                if code != 0 {
                    return Err(CallError::Refused(code, String::from_utf8_lossy(text).into_owned()));
                }
                return reply.ok_or_else(|| strange("an end without a reply"));
            }
            other => return Err(CallError::Strange(format!("a frame of kind {other}"))),
        }
    }
}

fn next_frame(stream: &mut UnixStream) -> Result<(u8, Vec<u8>), CallError> {
    let cut = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => CallError::Strange("it ends too early".to_owned()),
        _ => CallError::Unreachable(error),
    };
    let mut head = [0; frame::HEAD];
    stream.read_exact(&mut head).map_err(cut)?;
    let head = Head::decode(head);
    let len = usize::try_from(head.len).unwrap_or(usize::MAX);
    if len > frame::EVENT_MAX {
        return Err(CallError::Strange(format!("a frame of {len} bytes")));
    }
    let mut payload = vec![0; len];
    stream.read_exact(&mut payload).map_err(cut)?;
    Ok((head.kind, payload))
}
