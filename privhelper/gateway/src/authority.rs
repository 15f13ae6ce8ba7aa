//! Accepts the `:authority` that gRPC's C core (Python, C++, Ruby, PHP) sends over a Unix socket.
//!
//! For `unix:/run/postern/helper.sock` it sends `run%2Fpostern%2Fhelper.sock`, which h2 refuses as malformed
//! (<https://github.com/grpc/grpc/issues/38142>). Each `%` of that value becomes a `-` before h2 reads it. No program of
//! Postern reads the value, and a client could have sent the replaced bytes itself.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::OwnedReadHalf;

/// Bytes before a client's first frame (RFC 9113, section 3.4).
const PREFACE: u32 = 24;
/// Bytes of a frame's head (RFC 9113, section 4.1).
const HEAD: u8 = 9;
/// The frame type HEADERS. The C core writes this field into no CONTINUATION frame.
const HEADERS: u8 = 1;
/// The field's name as a literal without Huffman coding, as the C core writes it (RFC 7541, section 6.2.1).
const NAME: [u8; 11] = *b"\x0a:authority";

/// Reads the client's bytes, with each `%` in a literal `:authority` replaced.
pub(crate) struct ClientReader {
    client: OwnedReadHalf,
    /// The last 16 bytes.
    last: u128,
    /// Bytes of the frame's head that were read.
    head: u8,
    is_headers: bool,
    /// Bytes left of the preface or of the frame's payload.
    payload: u32,
    /// Bytes left of the field's value.
    value: u32,
}

impl ClientReader {
    pub(crate) fn new(client: OwnedReadHalf) -> Self {
        Self { client, last: 0, head: 0, is_headers: false, payload: PREFACE, value: 0 }
    }

    fn pass(&mut self, byte: &mut u8) {
        if self.value > 0 && *byte == b'%' {
            *byte = b'-';
        }
        self.value = self.value.saturating_sub(1);
        self.last = self.last << 8 | u128::from(*byte);
        let last = self.last.to_be_bytes();
        if self.payload > 0 {
            self.payload = self.payload.saturating_sub(1);
            // From 127 on, a length has more bytes or says that the value is Huffman-coded.
            if let [_, _, _, _, name @ .., length @ ..127] = last
                && self.is_headers
                && name == NAME
            {
                self.value = self.payload.min(length.into());
            }
            return;
        }
        self.head = self.head.saturating_add(1);
        if let [.., high, middle, low, kind, _, _, _, _, _] = last
            && self.head == HEAD
        {
            self.head = 0;
            self.is_headers = kind == HEADERS;
            self.payload = u32::from_be_bytes([0, high, middle, low]);
        }
    }
}

impl AsyncRead for ClientReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.client).poll_read(context, buffer))?;
        let mut bytes = buffer.filled_mut().iter_mut().skip(before);
        while let Some(byte) = bytes.next() {
            self.pass(byte);
            // Bodies are long: a frame that is no HEADERS is passed over as a whole.
            if self.payload > 0 && !self.is_headers {
                let left = bytes.len().min(usize::try_from(self.payload).unwrap_or(usize::MAX));
                self.payload = self.payload.saturating_sub(u32::try_from(left).unwrap_or(u32::MAX));
                bytes.by_ref().take(left).for_each(drop);
            }
        }
        Poll::Ready(Ok(()))
    }
}
