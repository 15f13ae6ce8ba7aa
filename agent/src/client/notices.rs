//! Queues of the webhook's messages, between tasks and the part of the service that sends them.

use crate::config::values::WebhookEvent;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Messages of one event that may wait. Of more, the newest are dropped: no task waits for a webhook.
const QUEUE: usize = 256;

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

/// A queue for each event that the configuration names: many ended tasks cannot displace a request that waits.
#[derive(Clone, Debug, Default)]
pub struct Notices(Vec<(WebhookEvent, Sender<Notice>)>);

impl Notices {
    /// Makes the queues for these events, and returns the ends to read from.
    #[must_use]
    pub fn new(events: &[WebhookEvent]) -> (Self, Vec<Receiver<Notice>>) {
        let queue = |event: &WebhookEvent| {
            let (sender, receiver) = channel(QUEUE);
            ((*event, sender), receiver)
        };
        let (senders, receivers) = events.iter().map(queue).unzip();
        (Self(senders), receivers)
    }

    /// Whether no event is configured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the configuration names this event.
    #[must_use]
    pub fn has(&self, event: WebhookEvent) -> bool {
        self.0.iter().any(|(known, _)| *known == event)
    }

    /// Queues a message, if the configuration names its event. Never waits.
    pub fn send(&self, event: WebhookEvent, data: Value) {
        let Some((_, queue)) = self.0.iter().find(|(known, _)| *known == event) else { return };
        if queue.try_send(Notice { event, time: Timestamp::now(), data }).is_err() {
            tracing::warn!(event = "webhook", "a message was dropped: {QUEUE} are waiting already");
        }
    }
}
