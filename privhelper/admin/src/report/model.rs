//! What a report says, before it is text, Markdown or HTML: one value that all three render.

use crate::audit::uses::{InForce, Refused, RuleUse};
use crate::policy::finding::Finding;
use crate::words::Limit;
use postern_policy::Decision;
use serde::Serialize;

/// What the agent can do on a host.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Version of this form.
    pub v: u32,
    /// The host's name.
    pub host: String,
    /// When this was written, UTC.
    pub written: String,
    /// Which policy it is about.
    pub policy: PolicyFacts,
    /// In numbers.
    pub summary: Summary,
    /// What a reviewer looks at first.
    pub attention: Vec<Attention>,
    /// Every client with all it is granted.
    pub clients: Vec<Client>,
    /// Programs that rules grant by name.
    pub commands: Vec<Command>,
    /// The members of Postern's groups.
    pub people: People,
    /// The audit log.
    pub log: Log,
    /// What `policy check` finds.
    pub findings: Vec<Finding>,
}

/// Which policy.
#[derive(Debug, Serialize)]
pub struct PolicyFacts {
    /// SHA-256 of the rules.
    pub digest: String,
    /// Whether it is what is in force.
    pub standing: Standing,
    /// Where it was read.
    pub from: String,
    /// When it was applied, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<String>,
    /// By whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_by: Option<Person>,
    /// What else a reader must know of where it comes from.
    pub notes: Vec<String>,
}

/// Whether a policy is the accepted one, and the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is what was accepted.
    Accepted,
    /// It is what was accepted, and the audit log names another.
    Unrecorded,
    /// The audit log says that it was accepted.
    Recorded,
    /// The audit log says that another was accepted.
    Another,
    /// Nothing says so.
    Unknown,
}

impl Standing {
    /// Whether it is the policy that the helper decides by.
    #[must_use]
    pub const fn is_law(self) -> bool {
        match self {
            Self::Accepted | Self::Recorded => true,
            Self::Unrecorded | Self::Another | Self::Unknown => false,
        }
    }

    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Accepted => "in force",
            Self::Unrecorded => "accepted, and NOT RECORDED: the audit log names another policy",
            Self::Recorded => "in force, as the audit log says",
            Self::Another => "NOT in force: the audit log names another policy",
            Self::Unknown => "not known to be in force",
        }
    }
}

/// In numbers.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// Rules that allow.
    pub allow: usize,
    /// Rules that ask a person.
    pub ask: usize,
    /// Rules that deny.
    pub deny: usize,
    /// The highest risk of a rule that allows or asks.
    pub highest_risk: u32,
    /// Rules that allow or ask and were never used; none without a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub never_used: Option<usize>,
}

/// Something to look at first.
#[derive(Debug, Serialize)]
pub struct Attention {
    /// The rule that it is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// In one sentence.
    pub words: String,
}

/// A client of the policy.
#[derive(Debug, Serialize)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// `user postern (990)`, as this host knows it.
    pub who: String,
    /// Its grants by what they are about.
    pub groups: Vec<Group>,
    /// What was refused to it.
    pub refused: Vec<Times>,
}

/// How often something was refused.
#[derive(Debug, Serialize)]
pub struct Times {
    /// What.
    #[serde(flatten)]
    pub what: Refused,
    /// How often.
    pub count: u64,
}

/// Grants about one kind of thing.
#[derive(Debug, Serialize)]
pub struct Group {
    /// `Packages`, `Units`, `Files`, `Commands` or `Other`.
    pub title: &'static str,
    /// The grants, in the policy's order.
    pub grants: Vec<Grant>,
}

/// One rule.
#[derive(Debug, Serialize)]
pub struct Grant {
    /// Its id.
    pub id: String,
    /// `file:line`.
    pub place: String,
    /// `allow`, `ask` or `deny`.
    #[serde(serialize_with = "crate::law::word")]
    pub decision: Decision,
    /// The verbs.
    pub verbs: Vec<String>,
    /// What they may be done to: a label and patterns.
    pub objects: Vec<Objects>,
    /// Within what.
    pub limits: Vec<Limit>,
    /// 0 to 100; none for a rule that denies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<u32>,
    /// What it amounts to.
    pub capabilities: Vec<&'static str>,
    /// How an operator agrees, if one must.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Why it is there.
    pub justification: String,
    /// Findings that it accepts, with the reason.
    pub accepted_risks: Vec<AcceptedRisk>,
    /// What the log says of it; none without a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<RuleUse>,
}

/// Patterns of one kind.
#[derive(Debug, Serialize)]
pub struct Objects {
    /// `packages`, `units`, `in`, `files` or `commands`.
    pub label: &'static str,
    /// The patterns.
    pub patterns: Vec<String>,
}

/// A finding that a rule accepts.
#[derive(Debug, Serialize)]
pub struct AcceptedRisk {
    /// The finding's id.
    pub finding: String,
    /// The author's reason.
    pub reason: String,
}

/// A program that rules grant by name.
#[derive(Debug, Serialize)]
pub struct Command {
    /// Its name.
    pub name: String,
    /// What runs.
    pub argv: Vec<String>,
    /// As whom and in what sandbox.
    pub runs: String,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Person {
    /// As the host knows them.
    pub name: String,
    /// As the kernel does.
    pub uid: u32,
}

/// The members of Postern's groups. A group that does not exist on this host has none.
#[derive(Debug, Serialize)]
pub struct People {
    /// May give the agent tasks.
    pub users: Option<Vec<Person>>,
    /// May approve, deny, undo and pause.
    pub operators: Option<Vec<Person>>,
    /// Are in the operators' group and may not, because they are clients of the policy.
    pub barred: Vec<Person>,
    /// May read the policy and the log.
    pub auditors: Option<Vec<Person>>,
}

/// The audit log.
#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Log {
    /// It was read.
    Read {
        /// Records.
        records: u64,
        /// Lines that are none.
        unreadable: u64,
        /// Time of the first record, UTC.
        first: String,
        /// Time of the last.
        last: String,
        /// Number of the last.
        head_seq: u64,
        /// Whether the chain holds, in words.
        chain: String,
        /// Whether it holds.
        valid: bool,
        /// The policy that the helper recorded last.
        in_force: Option<InForce>,
    },
    /// It was not, and why.
    Unread {
        /// Why.
        why: String,
    },
}
