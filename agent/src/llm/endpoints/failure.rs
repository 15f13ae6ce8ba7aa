//! Failures of a call to a model, and whether a retry can help.

use std::fmt;
use std::time::{Duration, SystemTime};

/// Longest text of an endpoint that is passed on.
const TOLD_LIMIT: usize = 500;

/// Kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// There is no connection, or it broke before the answer was whole.
    Connection,
    /// No whole answer in time.
    Timeout,
    /// The endpoint answered with a status that means failure.
    Status(u16),
    /// The endpoint is up, but its model is still being loaded.
    Loading,
    /// The answer is not of the form of this kind of endpoint.
    Form,
}

/// Keys of the configuration that name an endpoint, for advice to people.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// Of its key.
    pub key: &'static str,
    /// Of its address and model.
    pub address: &'static str,
}

impl Keys {
    /// Of the model.
    pub const MODEL: Self = Self { key: "key in [model]", address: "base_url and name in [model]" };
    /// Of embeddings.
    pub const EMBEDDINGS: Self = Self {
        key: "embedding_key in [knowledge]",
        address: "embedding_url and embedding_model in [knowledge]",
    };
}

/// A call to a model that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its kind.
    pub kind: Kind,
    /// In words: one line, without the key.
    pub message: String,
    /// How long the endpoint asks to be left alone.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// A failure.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }

    /// Of a status and the text that came with it.
    #[must_use]
    pub fn of_status(status: u16, body: &str, keys: &Keys) -> Self {
        let said = said(body);
        let is_loading = status == 503 && said.to_ascii_lowercase().contains("loading");
        let kind = if is_loading { Kind::Loading } else { Kind::Status(status) };
        let advice = match status {
            401 | 403 => format!("; see {}", keys.key),
            404 => format!("; see {}", keys.address),
            _ => String::new(),
        };
        Self::new(kind, format!("the endpoint answers {status}: {said}{advice}"))
    }

    /// Of the connection.
    #[must_use]
    pub fn of_connection(error: &reqwest::Error) -> Self {
        let kind = if error.is_timeout() { Kind::Timeout } else { Kind::Connection };
        // The causes say more than the error, whose own words repeat the URL.
        let mut words = Vec::new();
        let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
        while let Some(error) = cause {
            words.push(error.to_string());
            cause = error.source();
        }
        words.dedup();
        let words = if words.is_empty() { error.to_string() } else { words.join(": ") };
        Self::new(kind, format!("cannot talk to the endpoint: {}", one_line(&words)))
    }

    /// The conversation has more tokens than the model takes. Every endpoint has its own words for that.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        const WORDS: &[&str] = &[
            "context length",
            "context size",
            "context window",
            "context limit",
            "exceed_context",
            "maximum number of tokens",
            "prompt is too long",
            "reduce the length",
            "too many tokens",
        ];
        let text = self.message.to_ascii_lowercase();
        match self.kind {
            Kind::Status(413) => true,
            Kind::Status(400 | 422 | 500) => WORDS.iter().any(|words| text.contains(words)),
            Kind::Status(_) | Kind::Connection | Kind::Timeout | Kind::Loading | Kind::Form => false,
        }
    }

    /// Trying again can help.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self.kind {
            _ if self.is_too_long() => false,
            Kind::Connection | Kind::Timeout | Kind::Loading => true,
            Kind::Status(status) => matches!(status, 408 | 429 | 500..=599),
            Kind::Form => false,
        }
    }
}

/// Extracts the message from an error's body: from JSON as endpoints write it, else its beginning.
fn said(body: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let error = value.get("error").unwrap_or(&value);
    let message = error.get("message").or_else(|| value.get("message")).unwrap_or(error);
    let text = match message.as_str() {
        Some(text) => text,
        None if body.trim_start().starts_with('<') => "(a page of HTML)",
        None if body.trim().is_empty() => "(nothing more)",
        None => body,
    };
    one_line(text)
}

/// Text of others in one line of limited length.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > TOLD_LIMIT {
            let end = (0..=TOLD_LIMIT).rfind(|end| line.is_char_boundary(*end));
            line.truncate(end.unwrap_or_default());
            line.push_str("... [truncated]");
            break;
        }
    }
    line
}

/// How long the headers of an answer ask to wait: `retry-after-ms`, or `Retry-After` as seconds or as a date.
#[must_use]
pub fn retry_after<'h>(header: impl Fn(&str) -> Option<&'h str>, now: SystemTime) -> Option<Duration> {
    if let Some(wait) = header("retry-after-ms").and_then(|ms| seconds(ms.trim(), 1000.0)) {
        return Some(wait);
    }
    let text = header("retry-after")?.trim();
    seconds(text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text).ok()?;
        // A date that has passed means now.
        Some(date.duration_since(now).unwrap_or_default())
    })
}

fn seconds(text: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number / per_second).ok()
}

/// Of an error that came where a part of the answer belongs.
#[must_use]
pub fn in_stream(error: &serde_json::Value) -> Failure {
    let said = error["message"].as_str().or(error.as_str()).unwrap_or("an error without words");
    let message = format!("the endpoint broke its answer off: {}", one_line(said));
    let code = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let kind = match (error["type"].as_str(), code) {
        (
            Some("invalid_request_error" | "authentication_error" | "permission_error" | "not_found_error"),
            _,
        ) => Kind::Status(400),
        (Some("rate_limit_error"), _) => Kind::Status(429),
        (_, Some(code)) if code >= 400 => Kind::Status(code),
        // The status said that all was well: what has happened since can pass.
        _ => Kind::Status(500),
    };
    Failure::new(kind, message)
}
