//! The two ways that a request can take: to the helper, or through the agent.

use super::agent::AgentClient;
use super::counts;
use super::helper::Helper;
use super::pending_request::{AttemptError, Outcome, PendingRequest};
use crate::protocol::event::{AgentError, Event};
use crate::telemetry::spans;
use backon::{BackoffBuilder, ExponentialBuilder};
use std::path::Path;
use std::time::{Duration, Instant};
use tracing::Instrument;

/// The way a request takes.
pub enum Transport {
    /// Straight to the helper, as this process's own uid.
    Helper(Helper),
    /// Through `postern serve`, whose client the helper knows.
    Agent(AgentClient),
}

/// How long a lost connection is tried again, and how long a socket where nobody has answered yet.
const PATIENCE: Duration = Duration::from_secs(15);
const FIRST_PATIENCE: Duration = Duration::from_secs(2);
/// The time that the client waits beyond the time it gave the helper.
const GRACE: Duration = Duration::from_secs(10);

/// The first pause between two attempts, and the longest; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

fn pauses() -> impl Iterator<Item = Duration> {
    let pauses = ExponentialBuilder::default().with_min_delay(FIRST_PAUSE).with_max_delay(LONGEST_PAUSE);
    pauses.without_max_times().build()
}

impl Transport {
    /// Asks, and asks again under the same id when the connection is lost: the helper then answers
    /// with what it recorded, or acts if it had not begun. `on` sees each event
    /// before the last as it comes.
    pub async fn ask(&self, ask: &PendingRequest, on: &mut (dyn FnMut(&Event) + Send)) -> Outcome {
        let Self::Helper(helper) = self else { return self.wait(ask, on).await };
        let mut under_way = helper.counts().begin();
        let mut heard = |event: &Event| {
            under_way.see(event);
            on(event);
        };
        let span = spans::request(ask.request.verb(), ask.mode, &ask.id);
        let outcome = self.wait(ask, &mut heard).instrument(span.clone()).await;
        span.record("postern.decision", counts::decision(&outcome.end));
        if !outcome.end.code().is_empty() {
            span.record("postern.code", outcome.end.code());
            spans::fail(&span);
        }
        under_way.end(ask, &outcome);
        outcome
    }

    /// Asks for no longer than the request says.
    async fn wait(&self, ask: &PendingRequest, on: &mut (dyn FnMut(&Event) + Send)) -> Outcome {
        if ask.wait_ms == 0 {
            return self.persist(ask, on).await;
        }
        let mut is_waiting = false;
        let mut heard = |event: &Event| {
            is_waiting = matches!(event, Event::Waiting(_));
            on(event);
        };
        let limit = Duration::from_millis(ask.wait_ms.into()) + GRACE;
        if let Ok(outcome) = tokio::time::timeout(limit, self.persist(ask, &mut heard)).await {
            return outcome;
        }
        let see = format!("see `postern result {}`", ask.id);
        let fault = if is_waiting {
            let message = format!("nobody has approved it in time; it may still be approved: {see}");
            AgentError::new("approval_expired", message)
        } else {
            AgentError::new("timeout", format!("no answer in time; it may still go on: {see}"))
        };
        Outcome::ended(ask, Event::Error(fault))
    }

    async fn persist(&self, ask: &PendingRequest, on: &mut (dyn FnMut(&Event) + Send)) -> Outcome {
        let mut lost_since = None;
        let mut was_connected = false;
        let mut pauses = pauses();
        loop {
            let started = Instant::now();
            let mut outcome = Outcome::ended(ask, Event::Error(AgentError::new("internal", "no answer yet")));
            let mut was_heard = false;
            let mut seen = |event: &Event| {
                was_heard = true;
                outcome.take(event);
                on(event);
            };
            let attempt = match self {
                Self::Helper(helper) => helper.attempt(ask, &mut seen).await,
                Self::Agent(agent) => agent.attempt(ask, &mut seen).await,
            };
            let lost = match attempt {
                Ok(end) => return Outcome { end, ..outcome },
                Err(lost) => lost,
            };
            // A connection that lived and spoke was no part of the trouble before it.
            if was_heard && started.elapsed() > PATIENCE {
                lost_since = None;
                pauses = self::pauses();
            }
            was_connected |= matches!(lost, AttemptError::Midway(_));
            let patience = if was_connected { PATIENCE } else { FIRST_PATIENCE };
            if lost.is_final(was_connected)
                || lost_since.get_or_insert_with(Instant::now).elapsed() > patience
            {
                return Outcome { end: Event::Error(self.unreachable(&lost, ask, was_connected)), ..outcome };
            }
            tracing::debug!(?lost, id = ask.id, "connection lost, asking again");
            tokio::time::sleep(pauses.next().unwrap_or(LONGEST_PAUSE)).await;
        }
    }

    /// Whether somebody listens there.
    ///
    /// # Errors
    /// Nobody does, or not to us; what a person can do about it.
    pub async fn is_open(&self) -> Result<(), AgentError> {
        let (who, path, group) = self.names();
        match tokio::net::UnixStream::connect(path).await {
            Ok(_) => Ok(()),
            Err(error) => {
                let lost = AttemptError::Closed(error.kind(), error.to_string());
                Err(AgentError::new("unreachable", lost.explain(who, path, group)))
            }
        }
    }

    fn names(&self) -> (&'static str, &Path, &'static str) {
        match self {
            Self::Helper(helper) => ("helper", helper.path(), "postern-clients"),
            Self::Agent(agent) => ("agent", agent.path(), "postern-users"),
        }
    }

    fn unreachable(&self, lost: &AttemptError, ask: &PendingRequest, was_connected: bool) -> AgentError {
        let (who, path, group) = self.names();
        let socket = path.display();
        let message = if was_connected {
            let why = lost.why();
            format!(
                "lost the {who} at {socket} ({why}); what had begun is not undone: see `postern result {}`",
                ask.id
            )
        } else {
            lost.explain(who, path, group)
        };
        let fault = AgentError::new("unreachable", message);
        if was_connected { fault } else { fault.not_begun() }
    }
}
