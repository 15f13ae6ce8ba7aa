//! Shared by broker and recorder: peer credentials, the accepted policy, connection and rate limits of each
//! uid.

#![expect(
    clippy::must_use_candidate,
    reason = "no function here is called for anything but its result or its effect"
)]

mod accepted;
pub mod files;
mod limit;
mod lock;
mod rates;
mod socket;
mod window;

pub use accepted::Accepted;
pub use limit::{Limit, Permit};
pub use lock::locked;
pub use rates::{Class, Rates, Suppressed};
pub use socket::{Peer, hangup, hung_up, is_gone, peer};
pub use window::Window;
