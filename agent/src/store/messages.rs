//! Messages of the webhook that were not accepted yet: kept over a restart, each with the time of its next try.

use super::database::{Database, Wait};
use super::entry::text;
use crate::client::notices::Notice;
use crate::config::values::WebhookEvent;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Messages of one event that may wait. Of more, the newest are dropped: many ended tasks displace neither each other
/// nor a request that waits.
const QUEUE: i64 = 256;
/// Longest time for which a message is kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The messages.
#[derive(Clone)]
pub struct Messages(Arc<Database>);

/// A message that waits.
#[derive(Debug)]
pub struct WaitingMessage {
    row: i64,
    /// The header `webhook-id`.
    pub id: String,
    /// The JSON text that is posted.
    pub body: String,
    /// Tries so far.
    pub tries: u32,
    /// The time until the next try.
    pub pause: Duration,
    /// Whether nobody needs it any longer.
    pub is_expired: bool,
}

impl Messages {
    pub(super) fn new(database: &Arc<Database>) -> Self {
        Self(Arc::clone(database))
    }

    /// Keeps a message until it is removed. A loss is told in the journal.
    pub fn add(&self, notice: &Notice) {
        let Notice { event, time, data } = notice;
        let now = time.as_millisecond();
        let last = now.saturating_add(milliseconds(KEPT));
        // A request that waits no longer is no news.
        let expires = data["expires_unix_s"].as_i64().map_or(last, |end| end.saturating_mul(1000).min(last));
        let message = json!({ "type": event, "timestamp": time.to_string(), "data": data });
        // Control and bidirectional characters of names stay escaped on the receiver's terminal.
        let body = postern_text::json(&message.to_string());
        let id = format!("msg_{}", Uuid::now_v7().simple());
        let added = self.0.write(Wait::ForKernel, |sql| {
            // Expired messages take no place.
            sql.execute("DELETE FROM messages WHERE expires <= ?", [now])?;
            let add = "INSERT INTO messages (id, event, body, due, expires) SELECT ?1, ?2, ?3, ?4, ?5
                       WHERE (SELECT count(*) FROM messages WHERE event = ?2) < ?6";
            sql.prepare(add)?.execute(params![id, name(*event), body, now, expires, QUEUE])
        });
        match added {
            Ok(0) => tracing::warn!(event = "webhook", "a message was dropped: {QUEUE} are waiting already"),
            Ok(_) => {}
            Err(why) => tracing::warn!(event = "webhook", "a message was dropped: {why}"),
        }
    }

    /// Returns the message of an event whose next try is the first to come.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn next(&self, event: WebhookEvent) -> Result<Option<WaitingMessage>, String> {
        let now = Timestamp::now().as_millisecond();
        self.0.read(|sql| {
            let next = "SELECT seq, id, body, tries, due, expires FROM messages WHERE event = ? ORDER BY due, seq LIMIT 1";
            let row = |row: &rusqlite::Row<'_>| {
                let (due, expires): (i64, i64) = (row.get(4)?, row.get(5)?);
                Ok(WaitingMessage {
                    row: row.get(0)?,
                    id: row.get(1)?,
                    body: row.get(2)?,
                    tries: row.get(3)?,
                    pause: Duration::from_millis(u64::try_from(due.saturating_sub(now)).unwrap_or_default()),
                    is_expired: expires <= now,
                })
            };
            sql.prepare(next)?.query_row([name(event)], row).optional()
        })
    }

    /// Counts a try that failed, and lets the next one come after a pause.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn postpone(&self, message: &WaitingMessage, pause: Duration) -> Result<(), String> {
        let due = Timestamp::now().as_millisecond().saturating_add(milliseconds(pause));
        let later = "UPDATE messages SET tries = tries + 1, due = ? WHERE seq = ?";
        self.0.write(Wait::ForKernel, |sql| sql.execute(later, [due, message.row])).map(|_| ())
    }

    /// Removes a message that was accepted or given up.
    ///
    /// # Errors
    /// The database cannot be written: it would be sent again.
    pub fn remove(&self, message: &WaitingMessage) -> Result<(), String> {
        let gone = "DELETE FROM messages WHERE seq = ?";
        self.0.write(Wait::ForKernel, |sql| sql.execute(gone, [message.row])).map(|_| ())
    }

    /// Removes messages of events that are configured no longer.
    pub fn keep_only(&self, events: &[WebhookEvent]) {
        let kept: Vec<String> = events.iter().copied().map(name).collect();
        let kept = json!(kept).to_string();
        let gone = "DELETE FROM messages WHERE event NOT IN (SELECT value FROM json_each(?))";
        // Left in place, they are never sent.
        let _ = self.0.write(Wait::ForKernel, |sql| sql.execute(gone, [kept]));
    }
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn name(event: WebhookEvent) -> String {
    text(&event).trim_matches('"').to_owned()
}
