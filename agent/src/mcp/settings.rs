//! Settings of an MCP server.

use crate::protocol::mode::Mode;
use std::time::Duration;

/// How the server times its answers.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// A call that is not done after this time answers `waiting` with an id to ask again.
    pub wait: Duration,
    /// The pause after which a client is told again what its call waits for.
    pub repeat: Duration,
    /// The pause between two looks at whether the policy was replaced.
    pub policy: Duration,
}

impl Default for Times {
    fn default() -> Self {
        // SDKs end a call after 60 s unless they are told otherwise.
        Self { wait: Duration::from_secs(45), repeat: Duration::from_secs(5), policy: Duration::from_secs(2) }
    }
}

/// Settings of an MCP server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// How answers are timed.
    pub times: Times,
    /// How far calls go: a server that previews changes nothing.
    pub mode: Mode,
    /// The ways that requests may take.
    pub ways: Ways,
}

/// The ways that requests may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ways {
    /// To the helper, or through the agent where the helper does not know the uid.
    #[default]
    Any,
    /// To the helper alone.
    Helper,
}

impl From<Times> for Settings {
    fn from(times: Times) -> Self {
        Self { times, ..Self::default() }
    }
}
