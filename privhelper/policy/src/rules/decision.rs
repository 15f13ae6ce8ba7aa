//! The three decisions of a rule.

use postern_proto::v1 as wire;

/// The decision of a rule, ordered by strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// Done without asking.
    Allow,
    /// Done when a person agrees.
    Ask,
    /// Never.
    Deny,
}

impl Decision {
    /// As messages hold it.
    pub const fn wire(self) -> wire::Decision {
        match self {
            Self::Allow => wire::Decision::Allow,
            Self::Ask => wire::Decision::Ask,
            Self::Deny => wire::Decision::Deny,
        }
    }

    /// The word in policies and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}
