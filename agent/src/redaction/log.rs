//! The log: a line an event, with the trace that it belongs to.
//!
//! Text is `LEVEL TRACE message key=value…`, with `-` where nothing is traced; JSON is one object a line, with the
//! same names. Control characters are escaped, since values may come from anybody.

use crate::config::tables::Log;
use crate::config::values::{LogFormat, LogLevel};
use crate::protocol::trace;
use serde_json::{Map, Value};
use std::fmt;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;

/// A value is cut to so many characters.
const VALUE_LIMIT: usize = 1000;

/// Builds the tracing subscriber that writes the log.
pub fn subscriber<W>(log: &Log, to: W) -> impl Subscriber + for<'s> LookupSpan<'s> + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let level = match log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // Libraries would write headers, and with them keys.
    let own = Targets::new().with_target("postern", level).with_default(level.min(LevelFilter::WARN));
    let lines = tracing_subscriber::fmt::layer().with_writer(to).event_format(Lines(log.format));
    tracing_subscriber::registry().with(lines.with_filter(own))
}

/// How a line looks.
struct Lines(LogFormat);

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = EventFields::default();
        event.record(&mut fields);
        match self.0 {
            LogFormat::Text => text(&mut to, *event.metadata().level(), &fields),
            LogFormat::Json => json(&mut to, *event.metadata().level(), fields),
        }
    }
}

/// The journal has the time.
fn text(to: &mut Writer<'_>, level: Level, fields: &EventFields) -> fmt::Result {
    write!(to, "{level} ")?;
    match trace::current() {
        Some(trace) => write!(to, "{trace}")?,
        None => to.write_char('-')?,
    }
    write!(to, " {}", postern_text::line(&fields.message))?;
    for (name, value) in &fields.members {
        match value {
            Value::String(word) if is_plain(word) => write!(to, " {name}={word}")?,
            other => write!(to, " {name}={}", postern_text::json(&other.to_string()))?,
        }
    }
    writeln!(to)
}

fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:/".contains(&b))
}

fn json(to: &mut Writer<'_>, level: Level, fields: EventFields) -> fmt::Result {
    let mut line = Map::new();
    line.insert("time".to_owned(), jiff::Timestamp::now().to_string().into());
    line.insert("level".to_owned(), level.as_str().to_ascii_lowercase().into());
    line.extend(trace::current().map(|trace| ("trace_id".to_owned(), trace.to_string().into())));
    line.insert("message".to_owned(), fields.message.into());
    line.extend(fields.members);
    writeln!(to, "{}", postern_text::json(&Value::Object(line).to_string()))
}

/// Message and fields of an event.
#[derive(Default)]
struct EventFields {
    message: String,
    members: Map<String, Value>,
}

impl EventFields {
    fn member(&mut self, field: &Field, value: Value) {
        self.members.insert(field.name().to_owned(), value);
    }
}

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let value: String = value.chars().take(VALUE_LIMIT).collect();
        if field.name() == "message" {
            self.message = value;
        } else {
            self.member(field, value.into());
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.member(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.member(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.member(field, value.into());
    }
}
