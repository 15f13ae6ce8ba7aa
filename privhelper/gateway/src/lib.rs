//! The unprivileged parser of HTTP/2 and gRPC, one process for one client.
//!
//! A gateway receives the client's connection and a channel from the broker, relays
//! each request's method and opaque body as a frame, and streams the frames that
//! come back. It knows no verb, decides nothing, opens no file, and has only one
//! client's rights. It serves one connection and ends with it.

mod authority;
mod channel;
mod codec;
mod connection;
mod fault;
mod handover;
mod limits;
mod relay;
mod streams;

pub use connection::serve;
pub use fault::{Ended, Fault};
pub use handover::{Handover, receive};
pub use limits::{HEADER_LIST_MAX, Times};
