//! Takes everything out of spans that is not a listed attribute before they leave the process.

use crate::redaction::redact;
use opentelemetry::Value;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter, SpanLinks};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The attributes that a span may have. Names of models, tools, verbs and codes, numbers and ids: no texts.
pub const ATTRIBUTES: [&str; 16] = [
    "gen_ai.operation.name",
    "gen_ai.request.model",
    "gen_ai.tool.name",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "postern.changes",
    "postern.code",
    "postern.decision",
    "postern.mode",
    "postern.request.id",
    "postern.status",
    "postern.step",
    "postern.steps",
    "postern.task.id",
    "postern.verb",
];
/// Characters of an attribute's value: none of ours is longer.
const VALUE_LIMIT: usize = 200;

/// An exporter that gets clean spans. The log has one line when it begins to fail, and one when it works again.
#[derive(Debug)]
pub struct Clean<E> {
    to: E,
    fails: AtomicBool,
}

impl<E> Clean<E> {
    pub fn new(to: E) -> Self {
        Self { to, fails: AtomicBool::new(false) }
    }
}

/// Takes out of a span what is not listed.
fn clean(mut span: SpanData) -> SpanData {
    span.attributes.retain(|one| ATTRIBUTES.contains(&one.key.as_str()));
    for one in &mut span.attributes {
        if let Value::String(text) = &one.value {
            let text: String = redact::text(text.as_str()).0.chars().take(VALUE_LIMIT).collect();
            one.value = text.into();
        }
    }
    SpanData { events: SpanEvents::default(), links: SpanLinks::default(), ..span }
}

impl<E: SpanExporter> SpanExporter for Clean<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let number = batch.len();
        let sent = self.to.export(batch.into_iter().map(clean).collect()).await;
        match &sent {
            Ok(()) if self.fails.swap(false, Ordering::Relaxed) => {
                tracing::info!(event = "telemetry", "spans are sent again");
            }
            Err(error) if !self.fails.swap(true, Ordering::Relaxed) => {
                tracing::warn!(event = "telemetry", "{number} spans were not sent and are dropped: {error}");
            }
            Ok(()) | Err(_) => {}
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.to.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.to.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.to.set_resource(resource);
    }
}
