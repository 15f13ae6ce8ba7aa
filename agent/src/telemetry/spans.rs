//! The spans: a task, its steps, the calls of its model, their tools, and requests to the helper.
//!
//! Names and attributes of calls and tools are OpenTelemetry's conventions for generative AI as of version 1.38, which still
//! may change (<https://opentelemetry.io/docs/specs/semconv/gen-ai/>).

use crate::protocol::mode::Mode;
use tracing::field::Empty;
use tracing::{Span, info_span};

/// The target of every span here, by which the layer knows them.
pub const TARGET: &str = "postern::span";

/// Begins the span of a task.
#[must_use]
pub fn task(id: &str) -> Span {
    info_span!(
        target: TARGET,
        "task",
        gen_ai.operation.name = "invoke_agent",
        postern.task.id = id,
        postern.steps = Empty,
        postern.changes = Empty,
        postern.status = Empty,
        otel.status_code = Empty,
    )
}

/// Begins the span of a step, which counts from 1.
#[must_use]
pub fn step(number: usize, tool: &str) -> Span {
    info_span!(
        target: TARGET,
        "step",
        gen_ai.tool.name = tool,
        postern.step = number,
        postern.status = Empty,
        otel.status_code = Empty,
    )
}

/// Begins the span of a model's call of a tool.
#[must_use]
pub fn tool(name: &'static str) -> Span {
    info_span!(
        target: TARGET,
        "execute_tool",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = name,
        postern.status = Empty,
        otel.status_code = Empty,
    )
}

/// Begins the span of a call of a model, with all its tries.
#[must_use]
pub fn model_call(model: &str) -> Span {
    info_span!(
        target: TARGET,
        "chat",
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.request.model = model,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        otel.status_code = Empty,
    )
}

/// Begins the span of a request to the helper, from its sending to its outcome: people's time to approve is in it.
#[must_use]
pub fn request(verb: &'static str, mode: Mode, id: &str) -> Span {
    let mode = match mode {
        Mode::Execute => "execute",
        Mode::Preview => "preview",
        Mode::Check => "check",
    };
    info_span!(
        target: TARGET,
        "request",
        otel.kind = "client",
        postern.verb = verb,
        postern.mode = mode,
        postern.request.id = id,
        postern.decision = Empty,
        postern.code = Empty,
        otel.status_code = Empty,
    )
}

/// Ends a span as failed.
pub fn fail(span: &Span) {
    span.record("otel.status_code", "ERROR");
}
