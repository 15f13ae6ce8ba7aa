//! Confinement of the agent's own commands: the profile that is asked for, and what held a call.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The sandbox that a command's text asks for. The sandbox decides what is possible, not this word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Nothing runs.
    None,
    /// Reads files, writes nothing.
    ReadOnly,
    /// Reads files and what the system tells of itself.
    SystemInspect,
    /// Writes in the task's workspace too.
    WorkspaceWrite,
}

/// Enforcement of the sandbox in one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Enforced {
    /// The profile that was asked for.
    pub profile: Profile,
    /// Whether every control of the profile was in force.
    pub enforced: bool,
    /// Each control, in a fixed order.
    pub controls: Vec<Control>,
}

/// One control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Control {
    /// Such as `filesystem`, `network`, `syscalls`, `signals`.
    pub name: String,
    /// The mechanism that enforces it on this kernel.
    pub by: Holder,
    /// The part of it that this kernel cannot enforce; empty where all of it is enforced.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lacks: String,
}

/// Mechanism that enforces a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// Landlock.
    Landlock,
    /// A seccomp filter.
    Seccomp,
    /// The unit.
    Unit,
    /// Limits of each process and of its user.
    Limits,
    /// Nobody: the control is not in force.
    Nobody,
}
