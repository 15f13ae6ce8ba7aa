//! The content of a report, which text, Markdown and HTML render.

use crate::audit::uses::{RecordedPolicy, Refused, RuleUse};
use crate::limits::Limit;
use crate::policy::finding::Finding;
use postern_policy::Decision;
use serde::Serialize;

/// Everything that the agent can do on a host.
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
    /// The first screen, a part for each client.
    pub overview: Vec<Overview>,
    /// Remarks that a reviewer should read first.
    pub attention: Vec<Attention>,
    /// Every client with all it is granted.
    pub clients: Vec<Client>,
    /// Programs that rules grant by name.
    pub commands: Vec<Command>,
    /// The members of Postern's groups.
    pub people: People,
    /// The audit log.
    pub log: Log,
    /// The findings of `policy check`.
    pub findings: Vec<Finding>,
}

/// Which policy.
#[derive(Debug, Serialize)]
pub struct PolicyFacts {
    /// SHA-256 of the rules.
    pub digest: String,
    /// Whether it is the accepted policy.
    pub standing: PolicyStatus,
    /// Where it was read.
    pub from: String,
    /// When it was applied, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<String>,
    /// By whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_by: Option<Person>,
    /// Remarks about where it was read.
    pub notes: Vec<String>,
}

/// Whether a policy is the accepted one, and the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyStatus {
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

impl PolicyStatus {
    /// Whether it is the policy that the helper decides by.
    #[must_use]
    pub const fn is_active(self) -> bool {
        match self {
            Self::Accepted | Self::Recorded => true,
            Self::Unrecorded | Self::Another | Self::Unknown => false,
        }
    }

    /// Returns the status as the report says it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Unrecorded => "accepted, and NOT RECORDED: the audit log names another policy",
            Self::Recorded => "accepted, as the audit log says",
            Self::Another => "NOT accepted: the audit log names another policy",
            Self::Unknown => "not known to be accepted",
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
    /// Rules that allow or ask and were never used; none where the log does not know of 90 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub never_used: Option<usize>,
    /// Rules that allow or ask and were used, but not in the log's last 90 days; none without a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<usize>,
}

/// A client in short.
#[derive(Debug, Serialize)]
pub struct Overview {
    /// Its name.
    pub client: String,
    /// Its user or group on this host, with the members.
    pub who: String,
    /// Grants without approval.
    pub may: Vec<Line>,
    /// Grants that a person must approve.
    pub asks: Vec<Line>,
    /// Findings of root-equivalent grants.
    pub root: Vec<Line>,
}

/// One line of a client in short.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The rule that it is about; none for a line that says how many more there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Text of the line.
    pub words: String,
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
    /// Its refused requests.
    pub refused: Vec<RefusalCount>,
}

/// How often something was refused.
#[derive(Debug, Serialize)]
pub struct RefusalCount {
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
    #[serde(serialize_with = "crate::loaded_policy::serialize_decision")]
    pub decision: Decision,
    /// The verbs.
    pub verbs: Vec<String>,
    /// Their objects: a label and patterns.
    pub objects: Vec<Objects>,
    /// Whose session must be quoted; empty = nobody's.
    pub people: Vec<String>,
    /// Within what.
    pub limits: Vec<Limit>,
    /// 0 to 100; none for a rule that denies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<u32>,
    /// Its capabilities.
    pub capabilities: Vec<&'static str>,
    /// How an operator agrees, if one must.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Why it is there.
    pub justification: String,
    /// Findings that it accepts, with the reason.
    pub accepted_risks: Vec<AcceptedRisk>,
    /// Its uses according to the log; none without a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<RuleUse>,
    /// It was used, but not in the log's last 90 days.
    pub idle: bool,
    /// It allows or asks, and the log has no use of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unused: Option<Unused>,
}

/// A grant without a use in the log.
#[derive(Debug, Serialize)]
pub struct Unused {
    /// The day from which the log could know of one.
    pub since: String,
    /// Why not from an earlier day.
    pub reason: &'static str,
    /// Whether that is 90 days or more before the log's last record.
    pub is_long: bool,
}

impl Unused {
    /// `not used since 2026-08-23 (the log begins there)`
    #[must_use]
    pub fn words(&self) -> String {
        format!("not used since {} ({})", self.since, self.reason)
    }
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
    /// The program with its arguments.
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
        in_force: Option<RecordedPolicy>,
    },
    /// It was not, and why.
    Unread {
        /// Why.
        why: String,
    },
}
