//! Frames of the channel between a gateway and the broker, and of operator.sock.
//!
//! A frame is `u32` little-endian stream, `u8` kind, `u32` little-endian length
//! and that many bytes. This module does no I/O.

/// Length of a frame's head in bytes.
pub const HEAD: usize = 9;
/// Most bytes an `Output` event carries.
pub const OUTPUT_MAX: usize = 64 * 1024;
/// Most bytes of any frame from broker or recorder: an event.
pub const EVENT_MAX: usize = 1024 * 1024;
/// Most bytes of a request's body of most verbs.
pub const BODY_MAX: usize = 64 * 1024;
/// Most bytes of a `FileWrite` body.
pub const WRITE_BODY_MAX: usize = 4 * 1024 * 1024;
/// Most bytes of a `FilePatch` body.
pub const PATCH_BODY_MAX: usize = 8 * 1024 * 1024;
/// Most bytes of a method's name: `Helper/` and 64 letters.
pub const METHOD_MAX: usize = 7 + 64;
/// Most streams open at once on a connection.
pub const STREAMS_MAX: usize = 8;

/// Gateway to broker: a request, `u8` length and bytes of `Helper/FileWrite`, then the body.
pub const REQUEST: u8 = 1;
/// Gateway to broker: the client left this stream.
pub const CANCEL: u8 = 2;
/// Broker to gateway: an `Event`. Recorder to operator: a reply.
pub const EVENT: u8 = 1;
/// Broker to gateway, recorder to operator: the end, `u8` gRPC code, then the message's text.
pub const END: u8 = 2;

/// A frame's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The gRPC stream, chosen by the gateway.
    pub stream: u32,
    /// One of the kinds above.
    pub kind: u8,
    /// Bytes that follow.
    pub len: u32,
}

impl Head {
    /// The head's bytes.
    #[must_use]
    pub fn encode(self) -> [u8; HEAD] {
        let [s0, s1, s2, s3] = self.stream.to_le_bytes();
        let [l0, l1, l2, l3] = self.len.to_le_bytes();
        [s0, s1, s2, s3, self.kind, l0, l1, l2, l3]
    }

    /// Decodes a head. Every value decodes; the reader checks limits.
    #[must_use]
    pub fn decode(bytes: [u8; HEAD]) -> Self {
        let [s0, s1, s2, s3, kind, l0, l1, l2, l3] = bytes;
        Self { stream: u32::from_le_bytes([s0, s1, s2, s3]), kind, len: u32::from_le_bytes([l0, l1, l2, l3]) }
    }
}

/// The body limit of a method (`Helper/FileWrite`), in bytes, set before anything is allocated.
#[must_use]
pub fn body_max(method: &str) -> usize {
    match method {
        "Helper/FileWrite" => WRITE_BODY_MAX,
        "Helper/FilePatch" => PATCH_BODY_MAX,
        _ => BODY_MAX,
    }
}

/// A whole frame: head and payload in one buffer.
///
/// Returns `None` if the payload is longer than a frame can say.
#[must_use]
pub fn encode(stream: u32, kind: u8, payload: &[u8]) -> Option<Vec<u8>> {
    let head = Head { stream, kind, len: u32::try_from(payload.len()).ok()? };
    Some([&head.encode(), payload].concat())
}

/// A request's payload: the method's name and the body.
///
/// Returns `None` if the name is longer than [`METHOD_MAX`].
#[must_use]
pub fn encode_request(method: &str, body: &[u8]) -> Option<Vec<u8>> {
    let len = u8::try_from(method.len()).ok().filter(|_| method.len() <= METHOD_MAX)?;
    Some([&[len], method.as_bytes(), body].concat())
}

/// A request payload's method and body, or `None` if it is no request.
#[must_use]
pub fn split_request(payload: &[u8]) -> Option<(&str, &[u8])> {
    let (&len, rest) = payload.split_first()?;
    let (method, body) =
        rest.split_at_checked(usize::from(len)).filter(|_| usize::from(len) <= METHOD_MAX)?;
    Some((std::str::from_utf8(method).ok()?, body))
}
