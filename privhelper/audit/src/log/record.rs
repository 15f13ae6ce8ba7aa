//! One record: CONTRACTS 7, member by member.

use crate::sys::sockets::Peer;
use postern_policy::types::Digest;
use postern_record::Json;

macro_rules! events {
    ($($variant:ident = $name:literal, $priority:literal, $names_epoch:literal;)*) => {
        /// What a record is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Event { $(#[doc = concat!("`", $name, "`")] $variant),* }

        impl Event {
            /// Every event.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the word in the log.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Returns the priority of its message in the journal (syslog(3)).
            pub const fn priority(self) -> u8 {
                match self { $(Self::$variant => $priority),* }
            }

            /// Returns whether its record names the seal's epoch.
            pub const fn names_epoch(self) -> bool {
                match self { $(Self::$variant => $names_epoch),* }
            }
        }
    };
}

// Name, priority, whether it names the epoch.
events! {
    Start = "start", 6, true;
    Stop = "stop", 6, false;
    PolicyApplied = "policy_applied", 5, false;
    Served = "served", 6, false;
    Previewed = "previewed", 6, false;
    Refused = "refused", 5, false;
    Malformed = "malformed", 4, false;
    Pending = "pending", 5, false;
    Approval = "approval", 5, false;
    Paused = "paused", 5, false;
    Resumed = "resumed", 5, false;
    Begin = "begin", 6, false;
    End = "end", 6, false;
    Interrupted = "interrupted", 4, false;
    Torn = "torn", 4, true;
    Rotated = "rotated", 6, true;
    Suppressed = "suppressed", 4, false;
    Sealed = "sealed", 6, true;
    Tampered = "tampered", 2, true;
}

/// Who causes a record: on a disk that is almost full, clients are refused first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
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
pub fn size_and_digest(size: u64, sha256: Digest) -> Json {
    Json::new().number("size", size).text("sha256", &sha256.to_string())
}

impl Record {
    /// Returns who causes this event: an effect that has begun must get its end.
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
