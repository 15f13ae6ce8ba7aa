//! Hands messages of the webhook over, from tasks and requests to the part of the service that sends them.

use crate::config::values::WebhookEvent;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;

/// One message.
#[derive(Debug)]
pub struct Notice {
    /// The event that it is about.
    pub event: WebhookEvent,
    /// The time of the event.
    pub time: Timestamp,
    /// Ids, verbs and objects; never content of files, words of a task or values of secrets.
    pub data: Value,
}

/// Keeps a message until it is sent, and returns at once.
pub type Keep = Arc<dyn Fn(&Notice) + Send + Sync>;

/// Takes messages of the events that the configuration names.
#[derive(Clone, Default)]
pub struct Notices {
    events: Vec<WebhookEvent>,
    keep: Option<Keep>,
}

impl Notices {
    /// Messages of these events go to `keep`.
    #[must_use]
    pub fn new(events: &[WebhookEvent], keep: Keep) -> Self {
        Self { events: events.to_owned(), keep: Some(keep) }
    }

    /// Whether no event is configured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Whether the configuration names this event.
    #[must_use]
    pub fn has(&self, event: WebhookEvent) -> bool {
        self.events.contains(&event)
    }

    /// Hands a message over, if the configuration names its event.
    pub fn send(&self, event: WebhookEvent, data: Value) {
        if let Some(keep) = self.keep.as_ref().filter(|_| self.has(event)) {
            keep(&Notice { event, time: Timestamp::now(), data });
        }
    }
}
