//! Counts malformed replies: a model that does not answer in the form asked for is told so a few times, not
//! for ever.

use crate::llm::conversation::CallResult;
use crate::llm::reply_parser::{Code, MalformedReply};
use crate::llm::text_calls::Form;
use serde_json::json;
use std::num::NonZeroU32;

/// Counts the replies in a row that are no call.
#[derive(Clone, Debug)]
pub struct Breaker {
    limit: NonZeroU32,
    failures: u32,
    /// How calls are asked for: a correction that asks for another form would make the next reply wrong.
    pub form: Form,
}

/// Action after a reply that is no call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The model is told this, and asked again.
    Again(String),
    /// The task ends with this.
    End(String),
}

impl Breaker {
    /// A breaker that ends the task at `limit` failures in a row.
    #[must_use]
    pub fn new(limit: NonZeroU32) -> Self {
        Self { limit, failures: 0, form: Form::Text }
    }

    /// Failures in a row so far.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// A reply had the right form.
    pub fn valid(&mut self) {
        self.failures = 0;
    }

    /// A reply was no call. A name that no tool has is a call all the same: its form was right, so the
    /// count begins anew, and that the same failing call does not go on for ever is the loop guard's.
    pub fn failed(&mut self, malformed: &MalformedReply) -> Next {
        match malformed.code {
            Code::UnknownTool => {
                self.valid();
                Next::Again(malformed.why.clone())
            }
            Code::NoJson | Code::InvalidJson | Code::MissingTool | Code::BadArgs => {
                self.misformat(&malformed.why)
            }
        }
    }

    /// A reply did not have the form that was asked for.
    pub fn misformat(&mut self, why: &str) -> Next {
        self.failures = self.failures.saturating_add(1);
        let (failures, limit) = (self.failures, self.limit);
        if failures >= limit.get() {
            return Next::End(format!(
                "the model gave {failures} replies in a row that are no call; the last: {why}"
            ));
        }
        Next::Again(format!("No tool was run, attempt {failures}/{limit}: {why}. {}", self.form.correction()))
    }
}

/// The result of a call whose arguments could not be read. It was not run; other calls of its turn are.
#[must_use]
pub fn not_run(id: &str, error: &str) -> CallResult {
    let text = json!({ "status": "error", "error": error }).to_string();
    CallResult { id: id.to_owned(), text, is_error: true }
}
