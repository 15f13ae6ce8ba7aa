//! Anchors the agent's audit log in the helper's, once an interval (a minute) and at each task's end, where there is something new.

use crate::audit::{AuditLog, Record, Tip};
use crate::client::transport::Transport;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

/// Shortest time between two anchors: tasks that end sooner share one. The helper takes twelve a minute.
const SHORTEST: Duration = Duration::from_secs(6);
/// Longest wait for the helper.
const LIMIT: Duration = Duration::from_secs(5);

/// Anchors one log.
pub struct Anchor {
    audit: Arc<AuditLog>,
    transport: Arc<Transport>,
    interval: Duration,
    last: Option<Tip>,
    has_failed: bool,
}

impl Anchor {
    /// Records that the service has started and anchors from then on; returns what anchors once more at the end.
    pub fn start(
        audit: &Arc<AuditLog>,
        transport: &Arc<Transport>,
        interval: Duration,
    ) -> (JoinHandle<()>, Self) {
        audit.append(&Record::start());
        let new = || Self {
            audit: Arc::clone(audit),
            transport: Arc::clone(transport),
            interval,
            last: None,
            has_failed: false,
        };
        (tokio::spawn(new().work()), new())
    }

    /// Anchors for ever.
    async fn work(mut self) {
        loop {
            let began = Instant::now();
            self.anchor().await;
            tokio::select! {
                () = sleep_until(began + self.interval) => {}
                () = self.audit.task_ended() => sleep_until(began + SHORTEST).await,
            }
        }
    }

    /// Records that the service was told to stop, and anchors that.
    pub async fn stop(&mut self) {
        self.audit.append(&Record::stop());
        self.anchor().await;
    }

    /// Makes the log durable and has its end recorded, if that is new.
    async fn anchor(&mut self) {
        let audit = Arc::clone(&self.audit);
        let synced = tokio::task::spawn_blocking(move || audit.tip()).await;
        let tip = match synced {
            Ok(Ok(Some(tip))) if self.last != Some(tip) => tip,
            Ok(Ok(_)) => return,
            Ok(Err(error)) => return self.failed(&format!("it cannot be synced: {error}")),
            Err(error) => return self.failed(&error.to_string()),
        };
        let Transport::Helper(helper) = self.transport.as_ref() else { return };
        match timeout(LIMIT, helper.note(tip)).await.unwrap_or_else(|_| Err("no answer in time".to_owned())) {
            Ok(()) => (self.last, self.has_failed) = (Some(tip), false),
            Err(why) => self.failed(&why),
        }
    }

    /// Said once; the next try is one interval later, and `audit verify` says how far the log is anchored.
    fn failed(&mut self, why: &str) {
        if !std::mem::replace(&mut self.has_failed, true) {
            tracing::warn!(event = "audit", "the agent's audit log is not anchored in the helper's: {why}");
        }
    }
}
