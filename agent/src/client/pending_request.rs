//! One request: what is asked, and how it ended.

use crate::protocol::event::{AgentError, Event, Stream};
use crate::protocol::file_view::FileView;
use crate::protocol::mode::{Effect, Mode};
use crate::protocol::request::Request;
use postern_text::is_hostile;
use std::io::ErrorKind;
use std::path::Path;

/// A request with what goes along with it. The same value can be sent again: the helper acts once.
#[derive(Clone, Debug)]
pub struct PendingRequest {
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
    /// The token of that person's session, or empty.
    pub session: String,
    /// How long to wait for locks, jobs and approval; 0 = as the rule says.
    pub wait_ms: u32,
}

/// A fresh request id. Its time is what the helper's window of kept ids goes by.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Returns the error for a request that its person left; it cannot be recalled.
pub fn left(id: &str, waiting_for: Option<&str>) -> AgentError {
    let message = match waiting_for {
        Some(approval_id) => format!(
            "it still waits and is done if somebody approves; to prevent that: `postern-admin deny {approval_id}`; \
             see `postern result {id}`"
        ),
        None => format!("what had begun goes on and is not undone: see `postern result {id}`"),
    };
    AgentError::new("cancelled", message)
}

/// Makes a text fit for the wire's `reason`: no character that drives a terminal or hides, at most 500 bytes.
pub fn reason(text: &str) -> String {
    let mut reason: String = text.chars().map(|c| if is_hostile(c) { ' ' } else { c }).collect();
    reason.truncate((0..=500).rev().find(|&n| reason.is_char_boundary(n)).unwrap_or(0));
    reason
}

impl PendingRequest {
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
    /// Standard output of a program, or a journal.
    pub stdout: Vec<u8>,
    /// Standard error of a program.
    pub stderr: Vec<u8>,
    /// Content of a file.
    pub content: Vec<u8>,
    /// Some of it was cut off.
    pub truncated: bool,
    /// The policy says that the command changes nothing.
    pub no_effect: bool,
    /// With what an operator can see why it was decided so.
    pub explain: String,
    /// The files of a dry run, as far as the client may read them.
    pub views: Vec<FileView>,
}

impl Outcome {
    /// An outcome without output.
    pub fn ended(ask: &PendingRequest, end: Event) -> Self {
        Self {
            id: ask.id.clone(),
            verb: ask.request.verb(),
            end,
            stdout: Vec::new(),
            stderr: Vec::new(),
            content: Vec::new(),
            truncated: false,
            no_effect: false,
            explain: ask.request.explain(),
            views: Vec::new(),
        }
    }

    /// Whether the policy says of the command that it changes nothing.
    #[must_use]
    pub fn has_no_effect(&self) -> bool {
        self.no_effect || matches!(&self.end, Event::Completed(done) if done.no_effect)
    }

    /// Takes in what an event put out, and what the policy says of a command.
    pub fn take(&mut self, event: &Event) {
        if let Event::Accepted(accepted) = event {
            self.no_effect |= accepted.no_effect;
        }
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
pub enum AttemptError {
    /// There was no connection at all.
    Closed(ErrorKind, String),
    /// The connection went away, perhaps after the effect had begun.
    Midway(String),
}

impl AttemptError {
    /// Why, in words.
    pub fn why(&self) -> &str {
        match self {
            Self::Closed(_, why) | Self::Midway(why) => why,
        }
    }

    /// Explains why a socket cannot be used, with the group or unit to check.
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
    pub fn is_final(&self, was_connected: bool) -> bool {
        match self {
            Self::Closed(ErrorKind::PermissionDenied, _) => true,
            Self::Closed(ErrorKind::NotFound, _) => !was_connected,
            Self::Closed(..) | Self::Midway(_) => false,
        }
    }
}
