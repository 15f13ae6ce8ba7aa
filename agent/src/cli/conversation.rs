//! `postern` alone on a terminal: a prompt, where each line is a task and all of them are one session.

use super::options::Tasks;
use super::session::Session;
use super::tasks::Going;
use super::view::{EndSignal, Signals};
use crate::client::pending_request::new_id;
use crate::protocol::args::Of;
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::protocol::task::Task;
use crate::protocol::trace::{self, Trace};
use crate::redaction::redact;
use hyper::Method;
use nix::sys::termios::{SetArg, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use serde_json::json;
use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

const PROMPT: &str = "postern> ";

/// Lines that the history keeps.
const KEPT: usize = 1000;

const HELP: &str = "\
Say what is to be done, in plain words; what was said and done before is remembered.
  /tasks      your tasks, the newest first
  /resume [ID]  resume an interrupted task: the newest, or this one
  /can        what may be asked
  /undo [ID]  take a change back: the last one, or the request with this id
  /new        forget what was said: a new session
  /help       this
  /quit       leave; so does Ctrl-D
Ctrl-C ends the task that runs; what has begun is not undone.
";

/// The words that begin with a slash, as in [`HELP`].
const COMMANDS: [&str; 7] = ["/tasks", "/resume", "/can", "/undo", "/new", "/help", "/quit"];

type Line = Editor<(), FileHistory>;

/// A line of the prompt, parsed.
enum Input<'l> {
    Nothing,
    Task(&'l str),
    Tasks,
    Resume(&'l str),
    Can,
    Undo(&'l str),
    New,
    Help,
    Quit,
    Unknown(&'l str),
}

impl Session<'_> {
    /// Reads lines until the person leaves.
    pub(super) async fn conversation(&mut self) -> Exit {
        if !self.is_attended() || !self.console.out_is_terminal {
            let why = "a conversation needs a terminal: say what is to be done, as in `postern run \"restart nginx\"`; \
                see `postern --help`";
            return self.fail(&AgentError::new("invalid_argument", why));
        }
        let history = history();
        let mut line = match editor(history.as_ref()) {
            Ok(line) => line,
            Err(why) => return self.fail(&AgentError::new("failed", format!("there is no prompt: {why}"))),
        };
        self.console.say("what is to be done? /help tells more, /quit leaves");
        self.conversation = Some(new_id());
        let mut signals = Signals::new();
        loop {
            let modes = tcgetattr(std::io::stdin()).ok();
            // A thread waits for the keys: the end of the session must not wait for the person.
            let reading = tokio::task::spawn_blocking(move || {
                let read = line.readline(PROMPT);
                (line, read)
            });
            let read = tokio::select! {
                read = reading => read,
                () = signals.end() => {
                    if let Some(modes) = modes {
                        let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, &modes);
                    }
                    return Exit::Failed;
                }
            };
            let said = match read {
                Ok((back, said)) => {
                    line = back;
                    said
                }
                Err(why) => {
                    return self.fail(&AgentError::new("internal", format!("the prompt ended: {why}")));
                }
            };
            match said {
                Ok(said) => {
                    keep(&mut line, history.as_ref(), &said);
                    let fulfilling = Box::pin(self.fulfil(said_in(&said)));
                    if trace::within(Trace::new(), fulfilling).await == EndSignal::HangUp {
                        return Exit::Done;
                    }
                    self.tell_session().await;
                }
                Err(ReadlineError::Interrupted) => self.console.say("/quit leaves"),
                Err(_) => return Exit::Done,
            }
        }
    }

    /// Does what a line asks for; a hang-up, if that is to leave.
    async fn fulfil(&mut self, said: Input<'_>) -> EndSignal {
        match said {
            Input::Nothing => {}
            Input::Task(text) => {
                // A session begins without memory; without the agent nobody remembers.
                let going = if self.global.direct { Going::Anew } else { Going::On };
                self.run_task(text.to_owned(), going).await;
            }
            Input::Tasks => {
                self.tasks(Tasks::List).await;
            }
            Input::Resume(id) => {
                self.resume_task(id).await;
            }
            Input::Can => {
                Box::pin(self.can(Vec::new())).await;
            }
            Input::Undo(id) => {
                match self.whole_id(id).await {
                    Ok(of) => self.typed(Request::RequestUndo(Of { of }), Mode::Execute).await,
                    Err(fault) => self.fail(&fault),
                };
            }
            Input::New => {
                self.conversation = Some(new_id());
                self.console.say("a new session");
            }
            Input::Help => self.console.say_lines(HELP),
            Input::Quit => return EndSignal::HangUp,
            Input::Unknown(word) => self.console.say(&postern_text::unknown("command", word, COMMANDS)),
        }
        EndSignal::Interrupt
    }
}

impl Session<'_> {
    /// Resumes an interrupted task, the newest if none is named. The next lines of the prompt belong to its session.
    async fn resume_task(&mut self, id: &str) -> Exit {
        let agent = self.agent();
        let tasks: Vec<Task> = match self.call(&agent, Method::GET, "/tasks", None).await {
            Ok(answer) => serde_json::from_value(answer.body).unwrap_or_default(),
            Err(fault) => return self.fail(&fault),
        };
        let mut interrupted = tasks.iter().filter(|task| task.is_interrupted() && task.id.starts_with(id));
        let (task, other) = (interrupted.next(), interrupted.next());
        let Some(task) = task.filter(|_| id.is_empty() || other.is_none()) else {
            let why = if other.is_some() {
                "several interrupted tasks begin so"
            } else {
                "no such task was interrupted"
            };
            return self.fail(&AgentError::new("not_found", why));
        };
        self.console.say(&format!("resumes: {}", task.task));
        match self.begin_there(&format!("/tasks/{}/resume", task.id), &json!({ "interactive": true })).await {
            Ok(ended) => {
                if !task.session.is_empty() {
                    self.conversation = Some(task.session.clone());
                }
                self.end(&ended)
            }
            Err(fault) => self.fail(&fault),
        }
    }
}

fn said_in(said: &str) -> Input<'_> {
    let said = said.trim();
    let (word, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
    match (word, rest.trim()) {
        ("", _) => Input::Nothing,
        ("/tasks", "") => Input::Tasks,
        ("/resume", id) => Input::Resume(id),
        ("/can", "") => Input::Can,
        ("/undo", "") => Input::Undo("last"),
        ("/undo", id) => Input::Undo(id),
        ("/new", "") => Input::New,
        ("/help" | "/?", _) => Input::Help,
        ("/quit" | "/exit", _) => Input::Quit,
        (word, _) if word.starts_with('/') => Input::Unknown(word),
        _ => Input::Task(said),
    }
}

fn editor(history: Option<&PathBuf>) -> rustyline::Result<Line> {
    let config = Config::builder().max_history_size(KEPT)?.history_ignore_space(true).build();
    let mut line = Line::with_config(config)?;
    if let Some(path) = history {
        // There is none at first.
        let _ = line.load_history(path);
    }
    Ok(line)
}

/// The history's file, which nobody but its owner may read; `None` where there is no home for it.
fn history() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")))?;
    let directory = state.join("postern");
    DirBuilder::new().recursive(true).mode(0o700).create(&directory).ok()?;
    let path = directory.join("history");
    OpenOptions::new().create(true).append(true).mode(0o600).open(&path).ok()?;
    Some(path)
}

/// Keeps a line, but for what looks like a credential in it.
fn keep(line: &mut Line, history: Option<&PathBuf>, said: &str) {
    if said.trim().is_empty() || said.starts_with(' ') {
        return;
    }
    let _ = line.add_history_entry(redact::text(said).0);
    if let Some(path) = history {
        // A history that cannot be kept is no reason to stop.
        let _ = line.append_history(path);
    }
}
