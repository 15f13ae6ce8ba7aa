//! Postern's allowlist: which client may do what.
//!
//! A pure library: no I/O, no clock, no threads. Callers pass in every fact: who asks ([`accounts::Identity`]) and what
//! the request would touch ([`facts::Facts`]). Each program that relies on a decision makes it again with this code.

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
    Client, Command, Consent, Decision, Element, Grant, Object, PackageFlags, Policy, Rate, RequiredGrant,
    Risk, Rule, Selector, Source, Who,
};
pub use verb_id::VerbId;
