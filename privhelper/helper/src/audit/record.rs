//! One record: CONTRACTS 7, member by member.

use super::json::Json;
use crate::policy::Peer;
use crate::types::Digest;

macro_rules! events {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// What a record is of.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Event { $(#[doc = concat!("`", $name, "`")] $variant),* }

        impl Event {
            /// The word in the log.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
    };
}

events! {
    Start = "start",
    Stop = "stop",
    PolicyApplied = "policy_applied",
    Served = "served",
    Previewed = "previewed",
    Refused = "refused",
    Malformed = "malformed",
    Pending = "pending",
    Approval = "approval",
    Paused = "paused",
    Resumed = "resumed",
    Begin = "begin",
    End = "end",
    Interrupted = "interrupted",
    Torn = "torn",
}

/// A record before it has its place in the chain. What is empty is left out.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Only for `torn` and `malformed`: bytes and their SHA-256.
    pub bytes: Option<(usize, Digest)>,
    /// The request's id, as far as it is one.
    pub request_id: String,
    /// W3C trace id.
    pub trace_id: String,
    /// The client's own task id: a claim.
    pub task: String,
    /// The client's name in the policy.
    pub client_name: String,
    /// Who, as the kernel says.
    pub client: Option<Peer>,
    /// The person behind the task, as the client says; 0 = not said.
    pub claimed_uid: u32,
    /// The verb's name, or the method that was asked for.
    pub verb: String,
    /// The arguments, contents as size and SHA-256.
    pub args: Json,
    /// The rule that decided.
    pub rule: String,
    /// What it decided.
    pub decision: &'static str,
    /// What is at stake.
    pub risk: Json,
    /// The policy in force, as 64 hex digits.
    pub policy: String,
    /// What would happen.
    pub plan: Json,
    /// Who agreed to what.
    pub approval: Json,
    /// What happened.
    pub outcome: Json,
    /// Microseconds since the request was read.
    pub duration_us: Option<u64>,
    /// How it could be undone.
    pub undo: Json,
}

impl Record {
    /// The members between `event` and `prev`.
    #[must_use]
    pub fn members(&self) -> Json {
        let mut json = Json::new();
        if let Some((size, sha256)) = &self.bytes {
            json =
                json.number("size", i128::try_from(*size).unwrap_or(-1)).text("sha256", &sha256.to_string());
        }
        json = json
            .text("request_id", &self.request_id)
            .text("trace_id", &self.trace_id)
            .text("task", &self.task);
        if let Some(peer) = self.client {
            let client = Json::new().text("name", &self.client_name).number("uid", peer.uid);
            json = json.object("client", &client.number("gid", peer.gid).number("pid", peer.pid));
        }
        if self.claimed_uid != 0 {
            json = json.object("claimed_by", &Json::new().number("uid", self.claimed_uid));
        }
        json = json.text("verb", &self.verb).bounded("args", &self.args).text("rule", &self.rule);
        json = json.text("decision", self.decision).object("risk", &self.risk).text("policy", &self.policy);
        json = json.bounded("plan", &self.plan).object("approval", &self.approval);
        json = json.bounded("outcome", &self.outcome);
        if let Some(duration) = self.duration_us {
            json = json.number("duration_us", duration);
        }
        json.bounded("undo", &self.undo)
    }
}
