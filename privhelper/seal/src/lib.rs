//! The keys that audit records are sealed with and how they evolve: `privhelper/audit/AUDIT.md`, "Seal". No I/O, no clock.
//!
//! An epoch is a boot that wrote records. Its seed `E` yields the key `K` that seals records and the first of the
//! keys that sign tips. Each evolves by a one-way function and the old value is overwritten, so a stolen key can
//! neither forge nor check an earlier seal.

#![expect(
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "pure functions: nobody calls one and drops its result"
)]

mod keys;
mod running;

pub use keys::*;
pub use running::RunningKeys;
