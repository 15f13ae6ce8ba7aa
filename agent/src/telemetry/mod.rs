//! OpenTelemetry spans of tasks, steps, model calls, tools and requests, as JSON lines or to a collector over OTLP/HTTP.
//!
//! The SDK's own thread sends them in batches from a bounded queue: no task waits for a collector, and spans that find the
//! queue full are dropped. A span has names, codes, counts and ids alone, never texts of people, models, files or commands.

mod clean;
mod json_lines;
pub mod spans;

use crate::config::tables;
use crate::config::values::TelemetryExporter;
use crate::protocol::trace;
pub use clean::ATTRIBUTES;
use clean::Clean;
use json_lines::JsonLines;
use opentelemetry::trace::{SpanId, TraceId, TracerProvider};
use opentelemetry_otlp::{WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, IdGenerator, RandomIdGenerator, SdkTracerProvider, SpanExporter,
    TracerProviderBuilder,
};
use std::time::Duration;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

/// Spans that may wait to be sent. 2,048 are about 1 MiB.
const QUEUE: usize = 2048;
/// Spans of one message.
const BATCH: usize = 512;
/// How long a span waits for others.
const DELAY: Duration = Duration::from_secs(5);
/// How long one message may take, with all its tries.
const SEND_LIMIT: Duration = Duration::from_secs(30);
/// How long the end of the program waits for spans that were not sent.
const END_LIMIT: Duration = Duration::from_secs(2);

/// The spans of this process and the thread that sends them.
pub struct Telemetry(SdkTracerProvider);

impl Telemetry {
    /// Starts the thread; none if the configuration has no exporter. Must be called outside an async runtime.
    ///
    /// # Errors
    /// The file cannot be written, or HTTP cannot be set up.
    pub fn start(config: &tables::Telemetry) -> Result<Option<Self>, String> {
        let builder =
            SdkTracerProvider::builder().with_id_generator(Ids::default()).with_resource(resource());
        let builder = match config.exporter {
            TelemetryExporter::Off => return Ok(None),
            TelemetryExporter::Jsonl => sending(builder, JsonLines::open(config.file.path())?),
            TelemetryExporter::Otlp => {
                // The first of a process counts; a second one is the same.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let url = config.endpoint.join("v1/traces");
                let mut client = reqwest::blocking::Client::builder()
                    .user_agent(concat!("postern/", env!("CARGO_PKG_VERSION")))
                    .timeout(SEND_LIMIT)
                    .redirect(reqwest::redirect::Policy::none());
                if config.endpoint.is_loopback() {
                    client = client.no_proxy();
                }
                if config.endpoint.is_plain() {
                    client = client.tls_certs_only(Vec::new());
                }
                let failed = |why: &dyn std::fmt::Display| format!("cannot send spans to {url}: {why}");
                let client = client.build().map_err(|why| failed(&why))?;
                let exporter = opentelemetry_otlp::SpanExporter::builder().with_http();
                let exporter = exporter.with_http_client(client).with_endpoint(&url).with_timeout(SEND_LIMIT);
                sending(builder, exporter.build().map_err(|why| failed(&why))?)
            }
        };
        Ok(Some(Self(builder.build())))
    }

    /// Returns the layer that makes OpenTelemetry's spans of [`spans`], and of no other span or event.
    #[must_use]
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("postern"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_filter(filter_fn(|of| of.is_span() && of.target() == spans::TARGET))
    }

    /// Sends what waits, for at most two seconds, and ends the thread.
    pub fn end(self) {
        if let Err(error) = self.0.shutdown_with_timeout(END_LIMIT) {
            tracing::warn!(event = "telemetry", "spans were lost at the end: {error}");
        }
    }
}

fn sending<E: SpanExporter + 'static>(builder: TracerProviderBuilder, to: E) -> TracerProviderBuilder {
    let batches = BatchConfigBuilder::default().with_max_queue_size(QUEUE).with_max_export_batch_size(BATCH);
    let batches = batches.with_scheduled_delay(DELAY).build();
    builder
        .with_span_processor(BatchSpanProcessor::builder(Clean::new(to)).with_batch_config(batches).build())
}

/// Describes this program, and nothing of the host or of the environment.
fn resource() -> Resource {
    let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    Resource::builder_empty().with_service_name("postern-agent").with_attribute(version).build()
}

/// Gives the first span of a task or request the trace id that the audit record and the log have.
#[derive(Debug, Default)]
struct Ids(RandomIdGenerator);

impl IdGenerator for Ids {
    fn new_trace_id(&self) -> TraceId {
        trace::current().map_or_else(|| self.0.new_trace_id(), |trace| TraceId::from(trace.as_u128()))
    }

    fn new_span_id(&self) -> SpanId {
        self.0.new_span_id()
    }
}
