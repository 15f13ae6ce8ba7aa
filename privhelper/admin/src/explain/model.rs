//! The content of an explanation, for JSON and text.

use crate::limits::Limit;
use postern_policy::{Code, Decision};
use serde::{Serialize, Serializer};

/// The explanation of a request.
#[derive(Debug, Serialize)]
pub(super) struct Explanation {
    pub v: u32,
    pub decision: Outcome,
    /// The stable code of a refusal.
    #[serde(serialize_with = "code", skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// The helper's words for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub verb: &'static str,
    /// The clients that the asker is.
    pub clients: Vec<String>,
    pub policy: PolicyOrigin,
    pub risk: RiskFacts,
    /// For `ask`: how many people must agree, and for how long the request waits for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_ttl_s: Option<u64>,
    pub elements: Vec<Verdict>,
}

/// Which policy was asked.
#[derive(Debug, Serialize)]
pub(super) struct PolicyOrigin {
    pub digest: String,
    pub in_force: bool,
    pub from: String,
    pub notes: Vec<String>,
}

/// The risk of the request.
#[derive(Debug, Serialize)]
pub(super) struct RiskFacts {
    pub score: u32,
    pub capabilities: Vec<&'static str>,
}

/// The explanation of one element of a request.
#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    pub verb: &'static str,
    pub object: String,
    /// Description of the command in the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    pub decision: Outcome,
    #[serde(serialize_with = "code", skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The rule that decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    pub limits: Vec<CheckedLimit>,
    /// Other rules that match it, in the policy's order.
    pub also: Vec<OtherRule>,
    /// Rules that differ in one of client, verb and object, in the policy's order.
    pub near: Vec<OtherRule>,
}

/// A rule, and where to find it.
#[derive(Debug, Serialize)]
pub(super) struct RuleRef {
    pub id: String,
    pub place: String,
    #[serde(serialize_with = "crate::loaded_policy::serialize_decision")]
    pub decision: Decision,
    pub justification: String,
}

/// A limit of the deciding rule.
#[derive(Debug, Serialize)]
pub(super) struct CheckedLimit {
    #[serde(flatten)]
    pub limit: Limit,
    pub state: LimitState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LimitState {
    Holds,
    Fails,
    Later,
}

/// A rule that does not decide, and why not.
#[derive(Debug, Serialize)]
pub(super) struct OtherRule {
    #[serde(flatten)]
    pub rule: RuleRef,
    pub why: Vec<String>,
}

/// The decision about a request or element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    Allow,
    Ask,
    Refuse,
}

impl Outcome {
    /// Returns the outcome as `policy explain` says it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::Ask => "asks a person",
            Self::Refuse => "refused",
        }
    }
}

/// Serializes a code as on the wire.
#[expect(clippy::trivially_copy_pass_by_ref, clippy::ref_option, reason = "serde hands over a reference")]
fn code<S: Serializer>(code: &Option<Code>, to: S) -> Result<S::Ok, S::Error> {
    code.map(Code::as_str).serialize(to)
}
