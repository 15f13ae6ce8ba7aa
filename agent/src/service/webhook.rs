//! Sends the webhook's messages about requests that wait and tasks that ended until they are accepted, signed in the form of Standard Webhooks
//! (<https://www.standardwebhooks.com>).

use crate::client::notices::Notices;
use crate::config::secret;
use crate::config::tables::{Retry, Webhook};
use crate::config::values::WebhookEvent;
use crate::llm::endpoints::failure::{Failure, Kind};
use crate::llm::endpoints::{client, retry_after};
use crate::store::{Messages, WaitingMessage};
use backon::{BackoffBuilder, ExponentialBuilder};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretSlice};
use sha2::Sha256;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// Longest time of one try.
const TRY_LIMIT: Duration = Duration::from_secs(10);
/// The prefix of a key, and its length in bytes.
const KEY_PREFIX: &str = "whsec_";
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Longest pause between two tries of one message.
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// Starts the senders that the configuration names. Returns the way to them, which is empty without a webhook, and the
/// fault.
pub fn start(webhook: &Webhook, retry: &Retry, messages: Messages) -> (Notices, Option<String>) {
    match sender(webhook, retry, messages) {
        Ok(notices) => (notices, None),
        Err(why) => {
            let why = format!("the webhook is not in use: {why}");
            tracing::error!(event = "webhook", "{why}");
            (Notices::default(), Some(why))
        }
    }
}

fn sender(webhook: &Webhook, retry: &Retry, messages: Messages) -> Result<Notices, String> {
    let (Some(url), Some(secret)) = (&webhook.url, &webhook.secret) else {
        messages.keep_only(&[]);
        return Ok(Notices::default());
    };
    let text = secret::fetch(secret)?;
    let key = text.expose_secret().strip_prefix(KEY_PREFIX).and_then(|key| STANDARD.decode(key).ok());
    let key = key.filter(|key| KEY_BYTES.contains(&key.len())).ok_or_else(|| {
        format!("what {secret} holds is no key of a webhook: {KEY_PREFIX} and 24 to 64 bytes in base64")
    })?;
    messages.keep_only(&webhook.events);
    let (client, url) = (client(url.url())?, url.to_string());
    let pause = retry.backoff_base.0.min(LONGEST_PAUSE);
    let sender = Arc::new(Sender { client, url, key: key.into(), pause, messages: messages.clone() });
    let (added, news) = watch::channel(());
    for event in &webhook.events {
        // Ends when the last clone of `Notices` is dropped.
        tokio::spawn(Arc::clone(&sender).send_all(*event, news.clone()));
    }
    let keep = move |notice: &_| {
        messages.add(notice);
        added.send_replace(());
    };
    Ok(Notices::new(&webhook.events, Arc::new(keep)))
}

/// Posts messages to the webhook's URL.
struct Sender {
    client: reqwest::Client,
    url: String,
    key: SecretSlice<u8>,
    /// The pause after the first try of a message.
    pause: Duration,
    messages: Messages,
}

impl Sender {
    /// Sends the messages of one event, each when its time has come: one that fails holds up no other.
    async fn send_all(self: Arc<Self>, event: WebhookEvent, mut news: watch::Receiver<()>) {
        loop {
            // Before the look: a message that comes after it is news.
            news.borrow_and_update();
            let pause = match self.messages.next(event) {
                // A longer pause is left from before the clock was set back.
                Ok(Some(next)) if next.pause.is_zero() || next.pause > LONGEST_PAUSE => {
                    if self.send(&next).await.is_err() {
                        // Not written, it would be sent again at once.
                        sleep(LONGEST_PAUSE).await;
                    }
                    continue;
                }
                Ok(Some(next)) => next.pause,
                Ok(None) | Err(_) => LONGEST_PAUSE,
            };
            tokio::select! {
                () = sleep(pause) => {}
                changed = news.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Posts a message once, or drops it.
    ///
    /// # Errors
    /// The database did not learn of it.
    async fn send(&self, message: &WaitingMessage) -> Result<(), String> {
        let id = &message.id;
        if message.is_expired {
            tracing::warn!(event = "webhook", id, "a message was dropped: it could not be delivered in time");
            return self.messages.remove(message);
        }
        match self.post(id, &message.body).await {
            Ok(()) => self.messages.remove(message),
            Err(failure) if failure.is_passing() => {
                if message.tries == 0 {
                    tracing::warn!(event = "webhook", id, "a message is kept, and sent again: {failure}");
                }
                let asked = failure.retry_after.unwrap_or_default();
                self.messages.postpone(message, self.pause_after(message.tries).max(asked).min(LONGEST_PAUSE))
            }
            Err(failure) => {
                tracing::warn!(event = "webhook", id, "a message was given up: {failure}");
                self.messages.remove(message)
            }
        }
    }

    /// Returns the pause after so many tries. It doubles with each, and has jitter, so that many hosts do not
    /// come back to a receiver all at once.
    fn pause_after(&self, tries: u32) -> Duration {
        let pauses = ExponentialBuilder::new()
            .with_min_delay(self.pause)
            .with_max_delay(LONGEST_PAUSE)
            .without_max_times()
            .with_jitter();
        pauses.build().nth(usize::try_from(tries).unwrap_or(usize::MAX)).unwrap_or(LONGEST_PAUSE)
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
