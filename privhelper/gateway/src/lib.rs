//! The unprivileged end of Postern's wire: HTTP/2 and gRPC for one client.
//!
//! A gateway receives the client's connection and a channel from root, relays
//! each request's name and opaque body as a frame, and streams the frames that
//! come back. It knows no verb, decides nothing, opens nothing, and holds one
//! client's power only. It serves one connection and ends with it.

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
