//! What the steps of one request share.

use crate::audit::Record;
use crate::error::Code;
use crate::helper::Helper;
use crate::meta::Meta;
use crate::policy::{Authorized, Peer, Policy};
use crate::reply::Watchers;
use crate::types::Digest;
use postern_proto::v1 as wire;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One request under way.
#[derive(Debug)]
pub struct Context<'a> {
    /// What all connections share.
    pub helper: &'a Helper,
    /// Who asks.
    pub peer: Peer,
    /// What every request carries.
    pub meta: &'a Meta,
    /// The policy that this request is decided under, from its first step to its last.
    pub policy: &'a Policy,
    /// Who is told of progress.
    pub watchers: &'a Arc<Watchers>,
    /// What the audit will be told.
    pub record: Record,
    /// SHA-256 of rpc and message.
    pub digest: Digest,
    /// When it was read.
    pub started: Instant,
}

impl Context<'_> {
    /// How long this request may wait: the rule's limit, or less if the client says so.
    #[must_use]
    pub fn limit<V>(&self, by: &Authorized<V>) -> Duration {
        self.meta.wait.map_or(by.timeout(), |wait| wait.min(by.timeout()))
    }
}

/// What those are told whose time for waiting is up. The effect goes on, and its outcome is recorded.
#[must_use]
pub fn too_late() -> wire::event::Kind {
    wire::event::Kind::Completed(wire::Completed {
        status: wire::Status::Failed.into(),
        code: Code::Timeout.as_str().to_owned(),
        message: "the time for waiting is up; it goes on, ask for its result later".to_owned(),
        ..wire::Completed::default()
    })
}

/// Microseconds since then.
#[must_use]
pub fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}
