//! The owner of a task or a request.

use serde::{Deserialize, Serialize};

/// The owner. To all others the task or request does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// A person, as the kernel names the peer of a Unix socket.
    Uid(u32),
    /// The bearer of the HTTP service's token.
    Token,
}

/// Right to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To look at it.
    See,
    /// To end it, to answer for its person.
    Control,
}

impl Owner {
    /// Whether this one has a right over what another one owns. Root sees all: it could read them anyhow.
    #[must_use]
    pub fn has(self, right: Right, over: Self) -> bool {
        match right {
            Right::See => self == over || self == Self::Uid(0),
            Right::Control => self == over,
        }
    }

    /// Whom the helper is told: 0 where no uid is behind it.
    #[must_use]
    pub fn claimed_uid(self) -> u32 {
        match self {
            Self::Uid(uid) => uid,
            Self::Token => 0,
        }
    }
}
