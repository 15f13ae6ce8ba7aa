//! The operator's side of approvals: what waits, what exactly is agreed to, the answer, and the brake.
//!
//! The helper renders the text of what would happen; this program shows exactly those bytes and answers with their SHA-256.

mod answer;
mod approve;
mod brake;
mod render;
mod terminal;
mod undo;
mod waiting;
mod watch;

pub use answer::{Consent, Decision, Which};
pub use approve::{approve, deny};
pub use render::{Charset, Ink, Look, inline, text};
pub use terminal::{Person, Terminal, look_of, look_of_stdout};
pub use undo::{UndoArgs, undo};
pub use waiting::{pending, show};
pub use watch::{Backoff, watch};

use crate::host::Host;
use crate::io::{Exit, Io};
use crate::operator::{self, CallError};
use crate::policy::apply::Format;
use answer::{ApproveArgs, DenyArgs};
use clap::Subcommand;
use prost::Message;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// The commands about approvals, and the brake.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What waits for a person to agree
    Pending {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show the text that would be agreed to
    Show {
        /// The approval's id; the beginning will do, at least 4 digits
        id: String,
        /// One JSON object: the text and its SHA-256
        #[arg(long)]
        json: bool,
    },
    /// Show a request's text and ask whether it may run
    ///
    /// On a terminal it is agreed to by typing the last four digits of the SHA-256 of the text that was shown. What runs is what was
    /// shown, or nothing runs. Exit status 4 if it was not agreed to.
    Approve(ApproveArgs),
    /// Refuse a request; the same request is refused for an hour
    Deny(DenyArgs),
    /// Follow what comes to wait and how it ends, until Ctrl-C
    Watch {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Let nothing new begin until `resume`; what has begun goes on
    Pause {
        /// Why, for `status` and for those who are refused meanwhile
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Let requests begin again
    Resume,
    /// Undo a request, all of a task or all since a time, newest first
    ///
    /// Stops at the first that cannot be undone, such as a file that was changed since. Exit status 0 if all is undone, 6 if some is, 1
    /// if nothing is.
    Undo(UndoArgs),
}

/// Does what the command line says.
///
/// # Errors
/// Output cannot be written.
pub fn run(command: &Command, host: &Host, io: &mut Io<'_>) -> io::Result<Exit> {
    let format = |json: bool| if json { Format::Json } else { Format::Text };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    // Standard input tells whether somebody is there; it is the terminal itself that is asked.
    let mut terminal = io.answers.as_ref().and_then(|_| Terminal::open().ok());
    let person = terminal.as_mut().map(|terminal| terminal as &mut dyn Person);
    let ended = match command {
        Command::Pending { json } => pending(host, now, look_of_stdout(), format(*json), io),
        Command::Show { id, json } => show(host, id, look_of_stdout(), format(*json), io),
        Command::Approve(args) => {
            args.decision().and_then(|(which, with)| approve(host, &which, &with, person, io))
        }
        Command::Deny(args) => args.decision().and_then(|(which, reason)| deny(host, &which, &reason, io)),
        Command::Watch { json } => watch::until_interrupted(host, format(*json), io),
        Command::Pause { reason } => brake::pause(host, reason, io),
        Command::Resume => brake::resume(host, io),
        Command::Undo(args) => undo(host, args, now, person, io),
    };
    match ended {
        Ok(exit) => Ok(exit),
        Err(Stop::Output(error)) => Err(error),
        Err(Stop::Told(exit, why)) => {
            writeln!(io.err, "{why}")?;
            Ok(exit)
        }
    }
}

/// Why a command ends early.
#[derive(Debug)]
pub enum Stop {
    /// With this exit and these words, which drive no terminal.
    Told(Exit, String),
    /// Its own output cannot be written.
    Output(io::Error),
}

impl From<CallError> for Stop {
    fn from(error: CallError) -> Self {
        Self::Told(error.exit(), error.to_string())
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// How a command ends.
pub type Ended = Result<Exit, Stop>;

/// How it went with each of several.
#[derive(Debug, Default)]
struct Tally {
    done: usize,
    failed: Option<Exit>,
}

impl Tally {
    fn add(&mut self, one: Result<(), Exit>) {
        match one {
            Ok(()) => self.done += 1,
            Err(exit) => self.failed = Some(exit),
        }
    }

    fn is_empty(&self) -> bool {
        self.done == 0 && self.failed.is_none()
    }

    fn exit(&self) -> Exit {
        match (self.failed, self.done) {
            (None, _) => Exit::Done,
            (Some(exit), 0) => exit,
            (Some(_), _) => Exit::Partly,
        }
    }
}

fn call<Q: Message, R: Message + Default>(host: &Host, method: &str, request: &Q) -> Result<R, CallError> {
    operator::call(&host.operator_socket, host.owner_uid, method, request)
}
