//! Logs each call of a model: one span, and one line with its cost.

use super::Failure;
use crate::llm::conversation::Reply;
use tokio::time::Instant;
use tracing::Span;
use tracing::field::Empty;

/// A call under way, with all its tries.
pub struct Call {
    span: Span,
    began: Instant,
}

impl Call {
    /// Begins now.
    pub fn begin(model: &str) -> Self {
        let span = tracing::info_span!(
            "model_call",
            model,
            input_tokens = Empty,
            cached_tokens = Empty,
            output_tokens = Empty,
            latency_ms = Empty,
        );
        Self { span, began: Instant::now() }
    }

    /// Its span.
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// Tells how it ended.
    pub fn end(self, asked: &Result<Reply, Failure>) {
        let latency_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.span.record("latency_ms", latency_ms);
        let _entered = self.span.enter();
        match asked {
            Ok(Reply { usage, .. }) => {
                self.span.record("input_tokens", usage.input);
                self.span.record("cached_tokens", usage.cached_input);
                self.span.record("output_tokens", usage.output);
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
                tracing::warn!(event = "model_call", status = "error", latency_ms, "no answer: {failure}");
            }
        }
    }
}
