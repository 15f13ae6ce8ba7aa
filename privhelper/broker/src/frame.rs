//! Assembles the frames of a gateway from bytes as they arrive. No I/O.
//!
//! Only the frame that is arriving is kept. Its length is checked against the limit of its method, and the connection
//! is asked to admit it, before any byte of its body is read.

use postern_proto::frame::{CANCEL, HEAD, Head, METHOD_MAX, REQUEST, body_max, split_request};

/// A frame of a gateway.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A request.
    Request {
        /// The stream, chosen by the gateway.
        stream: u32,
        /// Such as `Helper/FileWrite`.
        method: String,
        /// The message, not decoded.
        body: Vec<u8>,
    },
    /// The client has left this stream.
    Cancel {
        /// The stream.
        stream: u32,
    },
}

/// A violation of the frame format. It ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation(pub &'static str);

/// The next step for the frame that is arriving.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// At most so many bytes.
    Bytes(usize),
    /// [`Assembler::admit`] or [`Assembler::skip`]: the request's head is complete.
    Admit {
        /// The stream.
        stream: u32,
        /// Such as `Helper/FileWrite`.
        method: String,
        /// Bytes of the body that will follow.
        body_len: usize,
    },
    /// Nothing: it is whole. The next one starts empty.
    Whole(Frame),
}

/// Collects the bytes of one frame.
#[derive(Debug, Default)]
pub struct Assembler {
    bytes: Vec<u8>,
    admitted: bool,
    /// Bytes of a body that was not admitted: they are dropped as they arrive.
    skipping: usize,
}

impl Assembler {
    /// Whether a frame has begun and is not whole.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        !self.bytes.is_empty() || self.skipping > 0
    }

    /// Returns what has arrived of the frame.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns what the frame needs next.
    ///
    /// # Errors
    /// A head, a method or a length that the format does not allow.
    pub fn needs(&mut self) -> Result<Next, Violation> {
        if self.skipping > 0 {
            return Ok(Next::Bytes(self.skipping));
        }
        let missing = |of: usize| Next::Bytes(of.saturating_sub(self.bytes.len()));
        let Some((head, payload)) = self.bytes.split_first_chunk::<HEAD>() else {
            return Ok(missing(HEAD));
        };
        let head = Head::decode(*head);
        let len = usize::try_from(head.len).map_err(|_| Violation("frame too long"))?;
        match head.kind {
            CANCEL if len == 0 => {
                self.bytes.clear();
                return Ok(Next::Whole(Frame::Cancel { stream: head.stream }));
            }
            REQUEST if len > 0 => {}
            _ => return Err(Violation("unknown kind of frame")),
        }
        let Some(name) = payload.first().copied().map(usize::from) else {
            return Ok(Next::Bytes(1));
        };
        let prefix = name.saturating_add(1);
        if name > METHOD_MAX || prefix > len {
            return Err(Violation("method too long"));
        }
        if payload.len() < prefix {
            return Ok(missing(prefix.saturating_add(HEAD)));
        }
        let (method, body) = split_request(payload).ok_or(Violation("method is no text"))?;
        let body_len = len.saturating_sub(prefix);
        if body_len > body_max(method) {
            return Err(Violation("body too large"));
        }
        let (stream, method) = (head.stream, method.to_owned());
        if !self.admitted {
            return Ok(Next::Admit { stream, method, body_len });
        }
        if body.len() < body_len {
            return Ok(missing(len.saturating_add(HEAD)));
        }
        // In place: a body may be 8 MiB.
        let mut body = std::mem::take(&mut self.bytes);
        body.drain(..HEAD.saturating_add(prefix));
        self.admitted = false;
        Ok(Next::Whole(Frame::Request { stream, method, body }))
    }

    /// Lets the body of this many bytes arrive.
    pub fn admit(&mut self, body_len: usize) {
        self.bytes.reserve_exact(body_len);
        self.admitted = true;
    }

    /// Drops the body of this many bytes as it arrives.
    pub fn skip(&mut self, body_len: usize) {
        (self.bytes, self.skipping) = (Vec::new(), body_len);
    }

    /// Takes bytes that arrived: at most as many as were needed.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.skipping > 0 {
            self.skipping = self.skipping.saturating_sub(bytes.len());
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }
}
