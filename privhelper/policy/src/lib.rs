//! Postern's allowlist: which client may do what.
//!
//! A pure library: no I/O, no clock, no threads. Callers pass in every fact: the client ([`accounts::Identity`]) and the
//! objects of the request ([`facts::Facts`]). Each program that relies on a decision makes it again with this code.

#![expect(
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "pure functions: nobody calls one and drops its result"
)]

pub mod accounts;
pub mod error;
pub mod facts;
pub mod request;
pub mod rules;
pub mod types;
pub mod verb_id;

pub use accounts::Identity;
pub use error::{Code, Denied, Invalid};
pub use facts::Facts;
pub use request::Request;
pub use rules::{
    AS_USER_MAX, Command, Decision, Element, Grant, Object, Policy, RequiredGrant, Rule, Selector,
    is_comment, window_words,
};
pub use verb_id::VerbId;
