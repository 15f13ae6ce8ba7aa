//! One record: the members of `privhelper/audit/AUDIT.md`, in order.

use postern_peers::Peer;
use postern_policy::types::Digest;
use postern_proto::root::v1::Claim;
use postern_record::Json;

macro_rules! events {
    ($($variant:ident = $name:literal, $priority:literal, [$($mark:ident)*];)*) => {
        /// The event of a record.
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

            /// Returns whether its records are so.
            pub fn is(self, of: Mark) -> bool {
                match self { $(Self::$variant => [$(Mark::$mark),*].contains(&of)),* }
            }
        }
    };
}

/// What only some events' records have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It names the seal's epoch.
    Epoch,
    /// It is paid by the client that caused it; all others by the recorder, such as the end of an effect that has begun.
    Paid,
    /// It may hold a request's state.
    State,
    /// The broker may note it.
    Noted,
}

// Name, priority, and what its records have.
events! {
    Start = "start", 6, [Epoch];
    Stop = "stop", 6, [];
    PolicyApplied = "policy_applied", 5, [];
    Served = "served", 6, [Paid State Noted];
    Previewed = "previewed", 6, [Paid Noted];
    Refused = "refused", 5, [Paid State Noted];
    Malformed = "malformed", 4, [Paid Noted];
    Pending = "pending", 5, [Paid State];
    Approval = "approval", 5, [];
    Paused = "paused", 5, [];
    Resumed = "resumed", 5, [];
    Begin = "begin", 6, [Paid State];
    End = "end", 6, [State];
    Interrupted = "interrupted", 4, [State];
    NotTakenBack = "not_taken_back", 3, [State];
    Torn = "torn", 4, [Epoch];
    Rotated = "rotated", 6, [Epoch];
    Suppressed = "suppressed", 4, [Noted];
    Note = "note", 6, [Paid Noted];
    Sealed = "sealed", 6, [Epoch];
    Tampered = "tampered", 2, [Epoch];
}

/// The cause of a record: on a disk that is almost full, clients are refused first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Payer {
    /// A client, within its budget.
    #[default]
    Client,
    /// An operator, or the recorder itself.
    Recorder,
}

/// The person whose session was open and was quoted when the request came. The kernel named the session's peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// Never 0.
    pub uid: u32,
    /// The session's name in records: a digest, since auditors could use the token.
    pub session: String,
    /// Whether it was open when the record was made, at the latest when the effect began.
    pub open: bool,
}

/// A record before it is in the chain. Empty members are left out.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// The members that only this event has.
    pub own: Json,
    /// The cause.
    pub origin: Payer,
    /// The broker's claim of the request; its texts are members of the record without change. In `end`, root
    /// gives verb, rule and decision.
    pub claim: Claim,
    /// The client: from `SO_PEERCRED` as the broker reports it, or root's in `end`. None: the recorder
    /// itself.
    pub client: Option<Peer>,
    /// Whose open session it quoted.
    pub asked_by: Option<Asker>,
    /// The claim's arguments, contents as size and SHA-256.
    pub args: Json,
    /// Risk of the effect.
    pub risk: Json,
    /// Plan, as the broker claims it.
    pub plan: Json,
    /// The approval.
    pub approval: Json,
    /// The outcome.
    pub outcome: Json,
    /// Microseconds since the request was read.
    pub duration_us: Option<u64>,
    /// The inverse, or the undone request.
    pub undo: Json,
}

/// Names bytes that may hold anything by their size and SHA-256.
pub fn size_and_digest(size: u64, sha256: Digest) -> Json {
    Json::new().number("size", size).text("sha256", &sha256.to_string())
}

impl Record {
    /// Returns who causes this event: an effect that has begun must get its end.
    pub fn payer(&self, event: Event) -> Payer {
        if event.is(Mark::Paid) { self.origin } else { Payer::Recorder }
    }

    /// Returns the uid of the person whose session it quoted; 0 = none.
    pub fn person_uid(&self) -> u32 {
        self.asked_by.as_ref().map_or(0, |asker| asker.uid)
    }

    /// Returns the members between `event` and `prev`.
    pub fn members(&self) -> Json {
        let claim = &self.claim;
        let mut json = self.own.clone().text("request_id", &claim.request_id);
        json = json.text("trace_id", &claim.trace_id).text("task", &claim.task);
        if let Some(peer) = self.client {
            let client = Json::new().text("name", &claim.client).number("uid", peer.uid);
            json = json.object("client", &client.number("gid", peer.gid).number("pid", peer.pid));
        }
        if claim.claimed_uid != 0 {
            json = json.object("claimed_by", &Json::new().number("uid", claim.claimed_uid));
        }
        if let Some(Asker { uid, session, open }) = &self.asked_by {
            let asked_by = Json::new().number("uid", *uid).text("session", session).text("proof", "kernel");
            json = json.object("asked_by", &asked_by.flag("open", *open));
        }
        json = json.text("verb", &claim.verb).bounded("args", &self.args).text("rule", &claim.rule);
        json =
            json.text("decision", &claim.decision).object("risk", &self.risk).text("policy", &claim.policy);
        json = json.bounded("plan", &self.plan).object("approval", &self.approval);
        json = json.bounded("outcome", &self.outcome);
        if let Some(duration) = self.duration_us {
            json = json.number("duration_us", duration);
        }
        json.bounded("undo", &self.undo)
    }
}
