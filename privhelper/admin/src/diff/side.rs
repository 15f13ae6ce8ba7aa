//! The two policies that are compared, and the people that their rules name.

use postern_proto::root::v1 as root;
use std::collections::BTreeSet;
use std::fmt;

/// One of the two policies.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The compiled policy.
    pub rules: &'a root::Rules,
    /// File and line of each rule; may be empty.
    pub positions: &'a [root::Position],
}

/// Which of the two policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    /// The one before.
    Old,
    /// The one after.
    New,
}

/// The user or group of a client, whatever its name in the policies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// A user.
    User(String),
    /// A group.
    Group(String),
}

impl Identity {
    /// The user or group of this client.
    #[must_use]
    pub fn of(client: &root::Client) -> Self {
        if client.group.is_empty() {
            Self::User(client.user.clone())
        } else {
            Self::Group(client.group.clone())
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(name) => write!(f, "user {name}"),
            Self::Group(name) => write!(f, "group {name}"),
        }
    }
}

/// Everyone who is all of these at once.
pub type Principal = BTreeSet<Identity>;
