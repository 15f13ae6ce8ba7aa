//! Abilities of an endpoint: learned from its refusals, each met once.

use super::failure::{Failure, Kind};
use crate::config::values::ResponseFormat;

/// Response format requested from the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A JSON Schema.
    Schema,
    /// Any JSON object.
    Object,
    /// Nothing.
    None,
}

/// Whether an endpoint has calls of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCalls {
    /// Nobody has tried.
    Untried,
    /// A request with tools was answered.
    Taken,
    /// It refused them: calls are text.
    Refused,
}

impl ToolCalls {
    /// They are not known to be refused.
    pub(super) fn may_be_used(self) -> bool {
        self != Self::Refused
    }
}

/// Abilities of an endpoint. A refusal is met once and remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Abilities {
    /// Tools.
    pub tools: ToolCalls,
    /// The strictest form of an answer, where calls are text.
    pub format: Format,
    /// Counts of tokens at the end of a stream.
    pub stream_usage: bool,
}

impl Abilities {
    /// Of an endpoint that nobody has asked, as the configuration wants it.
    pub(super) fn of(format: ResponseFormat) -> Self {
        let format = match format {
            ResponseFormat::Auto | ResponseFormat::JsonSchema => Format::Schema,
            ResponseFormat::JsonObject => Format::Object,
            ResponseFormat::Off => Format::None,
        };
        Self { tools: ToolCalls::Untried, format, stream_usage: true }
    }

    /// Returns the abilities without the refused one; `None` if the failure has another cause.
    pub(super) fn without_refused(self, failure: &Failure, has_tools: bool) -> Option<Self> {
        let Kind::Status(400 | 404 | 415 | 422 | 500 | 501) = failure.kind else { return None };
        if failure.is_too_long() {
            return None;
        }
        let text = failure.message.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if self.stream_usage && says(&["stream_options", "include_usage"]) {
            return Some(Self { stream_usage: false, ..self });
        }
        if !has_tools {
            return None;
        }
        match self.tools {
            ToolCalls::Untried => {
                says(&["tool", "function"]).then_some(Self { tools: ToolCalls::Refused, ..self })
            }
            ToolCalls::Refused if says(&["format", "schema", "grammar", "json"]) => match self.format {
                Format::Schema => Some(Self { format: Format::Object, ..self }),
                Format::Object => Some(Self { format: Format::None, ..self }),
                Format::None => None,
            },
            // An endpoint that took tools before means something else.
            ToolCalls::Taken | ToolCalls::Refused => None,
        }
    }
}
