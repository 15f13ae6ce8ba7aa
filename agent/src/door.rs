//! The two ways that a request can take: to the helper, or through the agent.

use crate::agent_client::AgentClient;
use crate::ask::{Ask, Lost, Outcome};
use crate::event::{Event, Fault};
use crate::helper::Helper;
use std::path::Path;
use std::time::{Duration, Instant};

/// The way a request takes.
pub enum Door {
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

impl Door {
    /// Asks, and asks again under the same id when the connection is lost: the helper then answers
    /// with what it recorded, or acts if it had not begun. `on` sees each event
    /// before the last as it comes.
    pub async fn ask(&self, ask: &Ask, on: &mut (dyn FnMut(&Event) + Send)) -> Outcome {
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
            Fault::new("approval_expired", message)
        } else {
            Fault::new("timeout", format!("no answer in time; it may still go on: {see}"))
        };
        Outcome::ended(ask, Event::Error(fault))
    }

    async fn persist(&self, ask: &Ask, on: &mut (dyn FnMut(&Event) + Send)) -> Outcome {
        let mut lost_since = None;
        let mut was_connected = false;
        let mut pause = Duration::from_millis(50);
        loop {
            let started = Instant::now();
            let mut outcome = Outcome::ended(ask, Event::Error(Fault::new("internal", "no answer yet")));
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
                pause = Duration::from_millis(50);
            }
            was_connected |= matches!(lost, Lost::Midway(_));
            let patience = if was_connected { PATIENCE } else { FIRST_PATIENCE };
            if lost.is_final(was_connected)
                || lost_since.get_or_insert_with(Instant::now).elapsed() > patience
            {
                return Outcome { end: Event::Error(self.unreachable(&lost, ask, was_connected)), ..outcome };
            }
            tracing::debug!(?lost, id = ask.id, "connection lost, asking again");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }

    /// Whether somebody listens there.
    ///
    /// # Errors
    /// Nobody does, or not to us; what a person can do about it.
    pub async fn is_open(&self) -> Result<(), Fault> {
        let (who, path, group) = self.names();
        match tokio::net::UnixStream::connect(path).await {
            Ok(_) => Ok(()),
            Err(error) => {
                let lost = Lost::Closed(error.kind(), error.to_string());
                Err(Fault::new("unreachable", lost.explain(who, path, group)))
            }
        }
    }

    fn names(&self) -> (&'static str, &Path, &'static str) {
        match self {
            Self::Helper(helper) => ("helper", helper.path(), "postern-clients"),
            Self::Agent(agent) => ("agent", agent.path(), "postern-users"),
        }
    }

    fn unreachable(&self, lost: &Lost, ask: &Ask, was_connected: bool) -> Fault {
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
        let fault = Fault::new("unreachable", message);
        if was_connected { fault } else { fault.not_begun() }
    }
}
