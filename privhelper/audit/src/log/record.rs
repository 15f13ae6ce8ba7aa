//! One record: CONTRACTS 7, member by member.

use crate::sys::sockets::Peer;
use postern_policy::types::Digest;
use postern_record::Json;

macro_rules! events {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// What a record is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Event { $(#[doc = concat!("`", $name, "`")] $variant),* }

        impl Event {
            /// Every event.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the word in the log.
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
    Rotated = "rotated",
    Suppressed = "suppressed",
    Sealed = "sealed",
    Tampered = "tampered",
}

impl Event {
    /// Returns whether its record names the seal's epoch.
    #[must_use]
    pub const fn names_epoch(self) -> bool {
        matches!(self, Self::Start | Self::Torn | Self::Rotated | Self::Sealed | Self::Tampered)
    }

    /// Returns the priority of its message in the journal (syslog(3)).
    #[must_use]
    pub const fn priority(self) -> u8 {
        match self {
            Self::Tampered => 2,
            Self::Torn | Self::Malformed | Self::Interrupted | Self::Suppressed => 4,
            Self::Refused
            | Self::Pending
            | Self::Approval
            | Self::Paused
            | Self::Resumed
            | Self::PolicyApplied => 5,
            Self::Start
            | Self::Stop
            | Self::Served
            | Self::Previewed
            | Self::Begin
            | Self::End
            | Self::Rotated
            | Self::Sealed => 6,
        }
    }
}

/// Who causes a record: on a disk that is almost full, clients are refused first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Payer {
    /// A client, within its budget.
    #[default]
    Client,
    /// An operator, or the recorder itself.
    Recorder,
}

/// A record before it is in the chain. Empty members are left out.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// The members that only this event has.
    pub own: Json,
    /// Who causes it.
    pub origin: Payer,
    /// The request's id, as far as it is one.
    pub request_id: String,
    /// W3C trace id.
    pub trace_id: String,
    /// The client's own task id: a claim.
    pub task: String,
    /// The client's name in the policy.
    pub client_name: String,
    /// Who asks: the broker's word of what the kernel said.
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
    pub decision: String,
    /// What is at stake.
    pub risk: Json,
    /// The accepted policy, as 64 hex digits.
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

/// Names bytes that may hold anything by their size and SHA-256.
#[must_use]
pub fn size_and_digest(size: u64, sha256: Digest) -> Json {
    Json::new().number("size", size).text("sha256", &sha256.to_string())
}

impl Record {
    /// Returns who causes this event: an effect that has begun must get its end.
    #[must_use]
    pub fn payer(&self, event: Event) -> Payer {
        let is_asked = matches!(
            event,
            Event::Begin
                | Event::Pending
                | Event::Served
                | Event::Previewed
                | Event::Refused
                | Event::Malformed
        );
        if is_asked { self.origin } else { Payer::Recorder }
    }

    /// Returns the members between `event` and `prev`.
    #[must_use]
    pub fn members(&self) -> Json {
        let mut json = self
            .own
            .clone()
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
        json = json.text("decision", &self.decision).object("risk", &self.risk).text("policy", &self.policy);
        json = json.bounded("plan", &self.plan).object("approval", &self.approval);
        json = json.bounded("outcome", &self.outcome);
        if let Some(duration) = self.duration_us {
            json = json.number("duration_us", duration);
        }
        json.bounded("undo", &self.undo)
    }
}
