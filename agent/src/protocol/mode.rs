//! How far a request goes, and whether it may change something.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How far a request goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Do it.
    #[default]
    Execute,
    /// Decide and plan, change nothing.
    Preview,
    /// Decide on the request alone.
    Check,
}

/// Whether a request may change something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It looks, or shows what would be.
    #[default]
    None,
    /// It may.
    Possible,
}
