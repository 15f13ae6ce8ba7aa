//! Limits of memory and time that a client can use in a gateway.
//!
//! `postern_proto::frame` has the limits of bodies and streams.

use std::time::Duration;

/// Most bytes of a request's header list (RFC 9113, section 6.5.2).
pub const HEADER_LIST_MAX: u32 = 8 * 1024;
/// Most bytes that a client may send ahead on one stream.
pub const STREAM_WINDOW: u32 = 128 * 1024;
/// Most bytes that a client may send ahead on all streams: every stream's window
/// fits, so that one stream that waits cannot hold up the others.
pub const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// Most bytes of a stream's replies that wait in HTTP/2 for the client.
pub const SEND_BUFFER: usize = 128 * 1024;
/// Most bytes of request bodies of one connection between the client and the channel.
pub const BODIES_MAX: u32 = 16 * 1024 * 1024;
/// Most events of one stream that wait for the client; behind them the channel is not read.
pub const EVENTS_WAITING: usize = 2;
/// Most bytes of an end frame's text: it travels in a header.
pub const STATUS_TEXT_MAX: usize = 1024;

/// The time limits, as a value so that a test need not wait for the real ones.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// From connecting to the first whole request.
    pub first: Duration,
    /// From a request's headers to its whole body.
    pub body: Duration,
    /// Without an open stream after the first request. GOAWAY ends the connection; a
    /// request that crosses it is still served.
    pub idle: Duration,
    /// For last replies, after GOAWAY or after the broker has closed the channel.
    pub grace: Duration,
    /// A client that does not read its replies for this long loses the connection:
    /// the channel is not read meanwhile, so that its end would not be noticed.
    pub stall: Duration,
}

impl Times {
    /// The limits of an installed gateway.
    pub const REAL: Self = Self {
        first: Duration::from_secs(10),
        body: Duration::from_secs(10),
        idle: Duration::from_secs(60),
        grace: Duration::from_secs(10),
        stall: Duration::from_secs(30),
    };
}
