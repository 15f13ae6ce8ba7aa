//! One request on its way: what is asked, the two doors it can take, and how it ended.

use crate::agent_client::AgentClient;
use crate::event::{Event, Fault, Stream};
use crate::helper::Helper;
use crate::request::Request;
use crate::show::FileView;
use crate::task::Effect;
use postern_text::is_hostile;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

/// How far a request goes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Do it.
    #[default]
    Execute,
    /// Decide and plan, change nothing.
    Preview,
    /// Decide on the request alone.
    Check,
}

/// A request with what goes along with it. The same value can be sent again: the helper acts once.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The verb and its arguments.
    pub request: Request,
    /// A UUID of version 7.
    pub id: String,
    /// How far.
    pub mode: Mode,
    /// Why; see [`reason`].
    pub reason: String,
    /// The agent's task, or empty.
    pub task: String,
    /// The person behind it.
    pub claimed_uid: u32,
    /// How long to wait for locks, jobs and approval; 0 = as the rule says.
    pub wait_ms: u32,
}

/// A fresh request id. Its time is what the helper's window of kept ids goes by.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// What is told of a request that its person left: nothing takes back what the helper has.
pub fn left(id: &str, waiting_for: Option<&str>) -> Fault {
    let message = match waiting_for {
        Some(approval_id) => format!(
            "it still waits and is done if somebody approves; to prevent that: `postern-admin deny {approval_id}`; \
             see `postern result {id}`"
        ),
        None => format!("what had begun goes on and is not undone: see `postern result {id}`"),
    };
    Fault::new("cancelled", message)
}

/// Makes a text fit for the wire's `reason`: no character that drives a terminal or hides, at most 500 bytes.
pub fn reason(text: &str) -> String {
    let mut reason: String = text.chars().map(|c| if is_hostile(c) { ' ' } else { c }).collect();
    reason.truncate((0..=500).rev().find(|&n| reason.is_char_boundary(n)).unwrap_or(0));
    reason
}

impl Ask {
    /// Whether it may change something.
    #[must_use]
    pub fn effect(&self) -> Effect {
        let may = self.mode == Mode::Execute && self.request.is_effect();
        if may { Effect::Possible } else { Effect::None }
    }
}

/// How a request ended, with what it put out on the way.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The request's id.
    pub id: String,
    /// The verb.
    pub verb: &'static str,
    /// The last event.
    pub end: Event,
    /// What a program or a journal wrote.
    pub stdout: Vec<u8>,
    /// What a program wrote to its error stream.
    pub stderr: Vec<u8>,
    /// What a file holds.
    pub content: Vec<u8>,
    /// Some of it was cut off.
    pub truncated: bool,
    /// With what an operator can see why it was decided so.
    pub explain: String,
    /// The files of a dry run, as far as the client may read them.
    pub views: Vec<FileView>,
}

impl Outcome {
    /// An outcome without output.
    pub fn ended(ask: &Ask, end: Event) -> Self {
        Self {
            id: ask.id.clone(),
            verb: ask.request.verb(),
            end,
            stdout: Vec::new(),
            stderr: Vec::new(),
            content: Vec::new(),
            truncated: false,
            explain: ask.request.explain(),
            views: Vec::new(),
        }
    }

    fn take(&mut self, event: &Event) {
        if let Event::Output(output) = event {
            self.truncated |= output.truncated;
            match output.stream {
                Stream::Content => &mut self.content,
                Stream::Stderr => &mut self.stderr,
                Stream::Stdout | Stream::Unspecified => &mut self.stdout,
            }
            .extend_from_slice(&output.data);
        }
    }
}

/// Why an attempt brought no last event.
#[derive(Debug)]
pub enum Lost {
    /// There was no connection at all.
    Closed(ErrorKind, String),
    /// The connection went away, perhaps after the effect had begun.
    Midway(String),
}

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
/// What the client waits beyond the time it gave the helper.
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

impl Lost {
    fn why(&self) -> &str {
        match self {
            Self::Closed(_, why) | Self::Midway(why) => why,
        }
    }

    /// What a person can do about a socket that does not let them in.
    pub fn explain(&self, who: &str, path: &Path, group: &str) -> String {
        let socket = path.display();
        match self {
            Self::Closed(ErrorKind::PermissionDenied, _) => {
                format!("may not open {socket}: it is for members of the group {group}")
            }
            Self::Closed(ErrorKind::NotFound, _) => {
                format!("there is no {socket}: is postern-{who}.socket started?")
            }
            Self::Closed(..) | Self::Midway(_) => {
                format!("cannot reach the {who} at {socket}: {}", self.why())
            }
        }
    }

    /// Whether trying again can not help.
    fn is_final(&self, was_connected: bool) -> bool {
        match self {
            Self::Closed(ErrorKind::PermissionDenied, _) => true,
            Self::Closed(ErrorKind::NotFound, _) => !was_connected,
            Self::Closed(..) | Self::Midway(_) => false,
        }
    }
}
