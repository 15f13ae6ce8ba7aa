//! What the steps of one request share.

use crate::audit::Record;
use crate::helper::Helper;
use crate::host::Peer;
use crate::meta::Meta;
use crate::reply::Watchers;
use postern_policy::types::Digest;
use postern_policy::{Code, Grant, Identity, Object, Policy, RequiredGrant, VerbId};
use postern_proto::root::v1::RequestRecord;
use postern_proto::v1 as wire;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One request under way.
#[derive(Debug)]
pub struct Context {
    /// What all connections share.
    pub helper: Arc<Helper>,
    /// Who asks.
    pub peer: Peer,
    /// What every request carries.
    pub meta: Meta,
    /// The client's users and groups, as of the last decision.
    pub who: Identity,
    /// The policy that this request is decided under, from its first step to its last.
    pub policy: Arc<Policy>,
    /// Who is told of progress.
    pub watchers: Arc<Watchers>,
    /// What the audit will be told.
    pub record: Record,
    /// What policy sees of it.
    pub required_grants: Vec<RequiredGrant>,
    /// SHA-256 of rpc and message.
    pub digest: Digest,
    /// The same without what every request carries: another try of the same thing has the same.
    pub canonical: Digest,
    /// Whether the request has taken its id, because it waited for a person.
    pub has_id: bool,
    /// When it was read.
    pub started: Instant,
}

impl Context {
    /// The entry of the log of ids, with the rules that it uses up.
    #[must_use]
    pub fn entry(&self, verb: VerbId, rules: Vec<String>) -> RequestRecord {
        RequestRecord {
            uid: self.peer.uid,
            request_id: self.meta.request_id.to_string(),
            digest: self.digest.as_bytes().to_vec(),
            verb: verb.name().to_owned(),
            begun_unix_us: micros_of(self.helper.host.unix()),
            rules,
            completed: None,
            client: self.record.client_name.clone(),
            gid: self.peer.gid,
            pid: self.peer.pid,
            task: self.meta.task.as_str().to_owned(),
            undone: false,
            decision: 0,
            command: self.required_grants.iter().find_map(|(_, object)| self.command(object)),
        }
    }

    /// A command's name and, if another takes it back, its values, but those that must stand nowhere.
    fn command(&self, object: &Object) -> Option<wire::CommandRunRequest> {
        let Object::Command { name, arguments } = object else { return None };
        let row = self.policy.command(name.as_str())?;
        let has_reverse = self.policy.reverse(name.as_str()).is_some();
        let kept = arguments.iter().filter(|(name, _)| has_reverse && !row.is_secret(name));
        let parameter =
            |(name, value): (&str, &str)| wire::Parameter { name: name.into(), value: value.into() };
        let parameters = kept.map(parameter).collect();
        Some(wire::CommandRunRequest { meta: None, name: name.to_string(), parameters })
    }

    /// How long this request may wait: the rule's limit, or less if the client says so.
    #[must_use]
    pub fn limit(&self, by: &Grant) -> Duration {
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
    micros_of(since.elapsed())
}

fn micros_of(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
