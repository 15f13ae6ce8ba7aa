//! Sends the webhook's messages about requests that wait and tasks that ended, signed in the form of Standard Webhooks
//! (<https://www.standardwebhooks.com>).

use crate::client::notices::{Notice, Notices};
use crate::config::secret;
use crate::config::tables::{Retry, Webhook};
use crate::llm::endpoints::failure::{Failure, Kind};
use crate::llm::endpoints::{client, retry_after};
use backon::{ExponentialBuilder, Retryable};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretSlice};
use serde_json::json;
use sha2::Sha256;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::sleep;
use uuid::Uuid;

/// Longest time of one try.
const TRY_LIMIT: Duration = Duration::from_secs(10);
/// The prefix of a key, and its length in bytes.
const KEY_PREFIX: &str = "whsec_";
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Starts the senders that the configuration names. Returns their queues, of which there are none without a webhook, and the fault.
pub fn start(webhook: &Webhook, retry: &Retry) -> (Notices, Option<String>) {
    match sender(webhook, retry) {
        Ok(notices) => (notices, None),
        Err(why) => {
            let why = format!("the webhook is not in use: {why}");
            tracing::error!(event = "webhook", "{why}");
            (Notices::default(), Some(why))
        }
    }
}

fn sender(webhook: &Webhook, retry: &Retry) -> Result<Notices, String> {
    let (Some(url), Some(secret)) = (&webhook.url, &webhook.secret) else { return Ok(Notices::default()) };
    let text = secret::fetch(secret)?;
    let key = text.expose_secret().strip_prefix(KEY_PREFIX).and_then(|key| STANDARD.decode(key).ok());
    let key = key.filter(|key| KEY_BYTES.contains(&key.len())).ok_or_else(|| {
        format!("what {secret} holds is no key of a webhook: {KEY_PREFIX} and 24 to 64 bytes in base64")
    })?;
    let client = client(url.url())?;
    let sender = Arc::new(Sender { client, url: url.to_string(), key: key.into(), retry: retry.clone() });
    let (notices, queues) = Notices::new(&webhook.events);
    for queue in queues {
        // Ends when the last clone of `notices` is dropped.
        tokio::spawn(Arc::clone(&sender).send_all(queue));
    }
    Ok(notices)
}

/// Posts messages to the webhook's URL.
struct Sender {
    client: reqwest::Client,
    url: String,
    key: SecretSlice<u8>,
    retry: Retry,
}

impl Sender {
    async fn send_all(self: Arc<Self>, mut queue: mpsc::Receiver<Notice>) {
        while let Some(Notice { event, time, data }) = queue.recv().await {
            let expires = data["expires_unix_s"].as_i64();
            if expires.is_some_and(|expires| expires <= Timestamp::now().as_second()) {
                tracing::warn!(event = "webhook", "a message was dropped: its request waits no longer");
                continue;
            }
            let id = format!("msg_{}", Uuid::now_v7().simple());
            let message = json!({ "type": event, "timestamp": time.to_string(), "data": data });
            // Control and bidirectional characters of names stay escaped on the receiver's terminal.
            let body = postern_text::json(&message.to_string());
            if let Err(failure) = self.persist(&id, &body).await {
                tracing::warn!(event = "webhook", id, "a message was given up: {failure}");
            }
        }
    }

    /// Posts a message until the receiver accepts it or a retry cannot help.
    async fn persist(&self, id: &str, body: &str) -> Result<(), Failure> {
        let pauses = ExponentialBuilder::new()
            .with_min_delay(self.retry.backoff_base.0)
            .with_max_delay(self.retry.backoff_max.0)
            .with_max_times(usize::try_from(self.retry.max_attempts).unwrap_or(usize::MAX))
            .with_jitter();
        let asked = |failure: &Failure| failure.retry_after.unwrap_or_default().min(self.retry.backoff_max.0);
        (|| self.post(id, body))
            .retry(pauses)
            .sleep(sleep)
            .when(Failure::is_passing)
            .adjust(|failure, pause| pause.map(|pause| pause.max(asked(failure))))
            .await
    }

    async fn post(&self, id: &str, body: &str) -> Result<(), Failure> {
        // The time of this try: receivers refuse old messages, which protects them from replays.
        let timestamp = Timestamp::now().as_second().to_string();
        let request = self
            .client
            .post(&self.url)
            .timeout(TRY_LIMIT)
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", &timestamp)
            .header("webhook-signature", self.sign(&[id, &timestamp, body].join(".")))
            .body(body.to_owned());
        let response = request.send().await.map_err(|error| Failure::of_connection(&error.without_url()))?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let retry_after = retry_after(response.headers());
        let advice = if status.is_redirection() { "; redirects are not followed" } else { "" };
        let message = format!("the webhook's endpoint answers {}{advice}", status.as_u16());
        Err(Failure { retry_after, ..Failure::new(Kind::Status(status.as_u16()), message) })
    }

    /// The signature of a text: `v1,` and its HMAC-SHA-256 in base64.
    fn sign(&self, text: &str) -> String {
        // HMAC accepts keys of every length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.key.expose_secret()) else {
            return String::new();
        };
        mac.update(text.as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}
