//! Putting frames together from bytes as they arrive. No I/O.
//!
//! Nothing is kept beyond the frame under way, and a body's limit is set by
//! its verb's name before room is made for it.

use postern_proto::frame::{CANCEL, HEAD, Head, METHOD_MAX, REQUEST, body_max, split_request};

/// What a gateway says.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A request on a stream of its choice.
    Request {
        /// The stream.
        stream: u32,
        /// Such as `Helper/FileWrite`.
        method: String,
        /// The message, not decoded.
        body: Vec<u8>,
    },
    /// The client left this stream.
    Cancel {
        /// The stream.
        stream: u32,
    },
}

/// What no gateway of ours says; ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation(pub &'static str);

/// Collects the bytes of one frame.
#[derive(Debug, Default)]
pub struct Assembler {
    bytes: Vec<u8>,
}

impl Assembler {
    /// Whether a frame is under way.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// What has arrived of the frame under way.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes are wanted next; 0 when the frame is whole.
    ///
    /// # Errors
    /// A head, a name or a length that no gateway of ours sends.
    pub fn wanted(&self) -> Result<usize, Violation> {
        let missing = |of: usize| of.saturating_sub(self.bytes.len());
        let Some((head, payload)) = self.bytes.split_first_chunk::<HEAD>() else {
            return Ok(missing(HEAD));
        };
        let head = Head::decode(*head);
        let len = usize::try_from(head.len).map_err(|_| Violation("frame too long"))?;
        match head.kind {
            CANCEL if len == 0 => Ok(0),
            REQUEST => {
                let Some(name) = payload.first().copied().map(usize::from) else {
                    return if len == 0 { Err(Violation("request without a name")) } else { Ok(1) };
                };
                let prefix = name.saturating_add(1);
                if name > METHOD_MAX || prefix > len {
                    return Err(Violation("method's name too long"));
                }
                if payload.len() < prefix {
                    return Ok(prefix.saturating_sub(payload.len()));
                }
                let Some((method, _)) = payload.get(..prefix).and_then(split_request) else {
                    return Err(Violation("method's name is no text"));
                };
                if len.saturating_sub(prefix) > body_max(method) {
                    return Err(Violation("body too large"));
                }
                Ok(missing(len.saturating_add(HEAD)))
            }
            _ => Err(Violation("unknown kind of frame")),
        }
    }

    /// Takes bytes that arrived: at most as many as were wanted.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The frame, once nothing more is wanted. The next one starts empty.
    pub fn take(&mut self) -> Option<Frame> {
        let bytes = std::mem::take(&mut self.bytes);
        let (head, payload) = bytes.split_first_chunk::<HEAD>()?;
        let head = Head::decode(*head);
        if head.kind == CANCEL {
            return Some(Frame::Cancel { stream: head.stream });
        }
        let (method, body) = split_request(payload)?;
        Some(Frame::Request { stream: head.stream, method: method.to_owned(), body: body.to_vec() })
    }
}
