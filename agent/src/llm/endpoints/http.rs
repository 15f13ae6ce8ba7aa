//! Requests and responses of an endpoint, below the wire formats.

use super::failure::{self, Failure, Keys, Kind};
use super::{Chunk, chat, messages};
use crate::config::tables::Model;
use crate::config::values::{BaseUrl, Provider};
use crate::llm::conversation::Reply;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use std::time::{Duration, SystemTime};

/// A connection stands by then, or there is none.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// As much of an error's text is read.
const ERROR_LIMIT: usize = 64 << 10;

/// An answer that is being put together, by its wire format.
pub enum ReplyBuilder {
    /// Chat completions.
    Chat(chat::ChatReply),
    /// Messages.
    Messages(messages::MessagesReply),
}

impl ReplyBuilder {
    /// Of an endpoint of this kind.
    pub fn of(provider: Provider) -> Self {
        match provider {
            Provider::Anthropic => Self::Messages(messages::MessagesReply::default()),
            Provider::Openai | Provider::Offline | Provider::Scripted => {
                Self::Chat(chat::ChatReply::default())
            }
        }
    }

    /// Takes the data of events, or a whole answer.
    ///
    /// # Errors
    /// One of them is an error, or not of the form.
    pub fn take_all(
        &mut self,
        data: &[String],
        listener: &(dyn Fn(Chunk<'_>) + Send + Sync),
    ) -> Result<(), Failure> {
        for data in data.iter().filter(|data| !data.trim().is_empty()) {
            let words = match self {
                Self::Chat(answer) => answer.take(data)?,
                Self::Messages(answer) => answer.take(data)?,
            };
            if !words.is_empty() {
                listener(Chunk::Words(&words));
            }
        }
        Ok(())
    }

    /// The answer, once the stream has ended.
    ///
    /// # Errors
    /// It is not whole.
    pub fn finish(self) -> Result<Reply, Failure> {
        match self {
            Self::Chat(answer) => answer.finish(),
            Self::Messages(answer) => answer.finish(),
        }
    }
}

/// The headers of every request.
///
/// # Errors
/// The key cannot be sent, or a header of the configuration is none.
pub fn headers(model: &Model, key: Option<&SecretString>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &model.extra.headers {
        let wrong = || format!("[model.extra] headers: {name:?} is no header, or its value cannot be sent");
        let value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
    }
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("accept", HeaderValue::from_static("text/event-stream, application/json"));
    let (name, prefix) = match model.provider {
        Provider::Anthropic => {
            headers.insert("anthropic-version", HeaderValue::from_static(messages::VERSION));
            ("x-api-key", "")
        }
        Provider::Openai | Provider::Offline | Provider::Scripted => ("authorization", "Bearer "),
    };
    if let Some(key) = key {
        let value = HeaderValue::from_str(&format!("{prefix}{}", key.expose_secret()));
        let mut value = value.map_err(|_| "the key has characters that no header can hold".to_owned())?;
        // Not shown in debug output.
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// An HTTP client for one address.
///
/// # Errors
/// TLS does not start.
pub fn client(base: &BaseUrl) -> Result<reqwest::Client, String> {
    // The first of a process counts; a second one is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("postern/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_LIMIT)
        // A redirect would take the key to somebody else.
        .redirect(reqwest::redirect::Policy::none());
    if base.is_loopback() {
        builder = builder.no_proxy();
    }
    if base.is_plain() {
        // A host without certificates of authorities reaches what needs none.
        builder = builder.tls_certs_only(Vec::new());
    }
    builder.build().map_err(|e| format!("cannot set up HTTP: {}", Failure::of_connection(&e)))
}

/// Returns the content type.
pub fn content_type(headers: &HeaderMap) -> &str {
    headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The wait that an answer asks for before another try.
#[must_use]
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    failure::retry_after(header, SystemTime::now())
}

/// Builds the failure of an answer with an error status. `keys` are those of the configuration that name the endpoint.
pub async fn refusal(mut response: reqwest::Response, keys: &Keys) -> Failure {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers());
    // The status alone says enough if the text breaks off.
    let text = body_text(&mut response, ERROR_LIMIT).await.unwrap_or_default();
    Failure { retry_after, ..Failure::of_status(status, &text, keys) }
}

/// Takes the key out of a failure: endpoints repeat what they got.
pub fn without_key(failure: Failure, key: Option<&SecretString>) -> Failure {
    let Some(key) = key else { return failure };
    Failure { message: failure.message.replace(key.expose_secret(), "[REDACTED]"), ..failure }
}

/// The text of an answer of at most `limit` bytes.
///
/// # Errors
/// The connection broke, or there is more.
pub async fn body_text(response: &mut reqwest::Response, limit: usize) -> Result<String, Failure> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(|e| Failure::of_connection(&e))? {
        body.extend_from_slice(&bytes);
        if body.len() > limit {
            return Err(Failure::new(Kind::Form, "the endpoint's answer is too long"));
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}
