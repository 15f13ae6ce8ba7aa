//! Who is connected to a socket of broker or recorder, and how much each user may have.

#![expect(
    clippy::must_use_candidate,
    reason = "no function here is called for anything but its result or its effect"
)]

mod limit;
mod lock;
mod socket;
mod window;

pub use limit::{Limit, Permit};
pub use lock::locked;
pub use socket::{Peer, hangup, hung_up, is_gone, peer};
pub use window::{Suppressed, Window};
