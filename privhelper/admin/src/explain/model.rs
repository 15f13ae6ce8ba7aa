//! What an explanation holds, for `--json` as for people.

use crate::words::Limit;
use postern_policy::{Code, Decision};
use serde::{Serialize, Serializer};

/// What the policy says of one request.
#[derive(Debug, Serialize)]
pub(super) struct Explanation {
    pub v: u32,
    pub decision: Answer,
    /// The stable code of a refusal.
    #[serde(serialize_with = "code", skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The helper's words for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub verb: &'static str,
    /// The clients that the asker is.
    pub clients: Vec<String>,
    pub policy: Whence,
    pub risk: Stake,
    /// For `ask`: how many people must agree, and for how long the request waits for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_ttl_s: Option<u64>,
    pub elements: Vec<Verdict>,
}

/// Which policy was asked.
#[derive(Debug, Serialize)]
pub(super) struct Whence {
    pub digest: String,
    pub in_force: bool,
    pub from: String,
    pub notes: Vec<String>,
}

/// What is at stake.
#[derive(Debug, Serialize)]
pub(super) struct Stake {
    pub score: u32,
    pub capabilities: Vec<&'static str>,
}

/// What the policy says of one element.
#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    pub verb: &'static str,
    pub object: String,
    pub decision: Answer,
    #[serde(serialize_with = "code", skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The rule that decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Named>,
    pub limits: Vec<Checked>,
    /// Other rules that speak of it, in the policy's order.
    pub also: Vec<Near>,
    /// Rules that differ in one of client, verb and object, in the policy's order.
    pub near: Vec<Near>,
}

/// A rule, and where to find it.
#[derive(Debug, Serialize)]
pub(super) struct Named {
    pub id: String,
    pub place: String,
    #[serde(serialize_with = "crate::law::word")]
    pub decision: Decision,
    pub justification: String,
}

/// A limit of the deciding rule.
#[derive(Debug, Serialize)]
pub(super) struct Checked {
    #[serde(flatten)]
    pub limit: Limit,
    pub state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Holds,
    Fails,
    Later,
}

/// A rule that does not decide, and why not.
#[derive(Debug, Serialize)]
pub(super) struct Near {
    #[serde(flatten)]
    pub rule: Named,
    pub why: Vec<String>,
}

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Answer {
    Allow,
    Ask,
    Refuse,
}

impl Answer {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::Ask => "asks a person",
            Self::Refuse => "refused",
        }
    }
}

/// The code as it stands on the wire.
#[expect(clippy::trivially_copy_pass_by_ref, clippy::ref_option, reason = "serde hands over a reference")]
fn code<S: Serializer>(code: &Option<Code>, to: S) -> Result<S::Ok, S::Error> {
    code.map(Code::as_str).serialize(to)
}
