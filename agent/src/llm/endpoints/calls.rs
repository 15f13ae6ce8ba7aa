//! Logs each call of a model: one span, and one line with its cost.

use super::Failure;
use crate::llm::conversation::Reply;
use crate::telemetry::spans;
use std::time::Duration;
use tokio::time::Instant;
use tracing::Span;

/// A call under way, with all its tries.
pub struct Call {
    span: Span,
    began: Instant,
}

impl Call {
    /// Begins now.
    pub fn begin(model: &str) -> Self {
        let span = spans::model_call(model);
        Self { span, began: Instant::now() }
    }

    /// Its span.
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// Logs how it ended, and returns how long it took.
    pub fn end(self, asked: &Result<Reply, Failure>) -> Duration {
        let latency = self.began.elapsed();
        let latency_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX);
        let _entered = self.span.enter();
        match asked {
            Ok(Reply { usage, .. }) => {
                self.span.record("gen_ai.usage.input_tokens", usage.input);
                self.span.record("gen_ai.usage.cache_read.input_tokens", usage.cached_input);
                self.span.record("gen_ai.usage.output_tokens", usage.output);
                tracing::info!(
                    event = "model_call",
                    status = "ok",
                    input_tokens = usage.input,
                    cached_tokens = usage.cached_input,
                    output_tokens = usage.output,
                    latency_ms,
                    "the model answered"
                );
            }
            Err(failure) => {
                spans::fail(&self.span);
                tracing::warn!(event = "model_call", status = "error", latency_ms, "no answer: {failure}");
            }
        }
        latency
    }
}
