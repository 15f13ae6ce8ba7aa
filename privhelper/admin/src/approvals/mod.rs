//! The operator's side of approvals: what waits, what exactly is agreed to, the answer, and the brake.
//!
//! The recorder hands out the order that waits; this program renders it and answers with the approval digest of exactly its bytes.

mod approve;
mod arguments;
mod order;
mod pause;
mod plan;
mod render;
mod result;
mod terminal;
mod undo;
mod waiting;
mod watch;

pub use approve::{approve, deny};
pub use arguments::{Agreement, Decision, Selection};
pub use plan::diff;
pub use render::{Charset, Screen, Style, inline, text};
pub use result::{CommandError, CommandResult};
pub use terminal::{Console, Terminal, screen_of, screen_of_stdout};
pub use undo::{UndoArgs, undo};
pub use waiting::{about, ids as waiting_ids, pending, show};
pub use watch::{Backoff, watch};

use crate::host::Host;
use crate::io::{Exit, Io};
use crate::policy::apply::Format;
use arguments::{ApproveArgs, DenyArgs};
use clap::Subcommand;
use std::io;

/// The commands about approvals, and the brake.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the requests that wait for approval
    Pending {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show what would be agreed to
    Show {
        /// The approval's id; the beginning will do, at least 4 digits
        id: String,
        /// One JSON object: the text and the digest of the order
        #[arg(long)]
        json: bool,
    },
    /// Show a request's text and ask whether it may run
    ///
    /// On a terminal it is agreed to by typing the last four digits of the digest of the order that was shown.
    /// Exactly the order that was shown runs, or nothing. Exit status 4 if it was not agreed to.
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
    let now = crate::text::now();
    // Standard input shows whether a person is present; the question goes to the terminal itself.
    let mut terminal = io.answers.as_ref().and_then(|_| Terminal::open().ok());
    let person = terminal.as_mut().map(|terminal| terminal as &mut dyn Console);
    let ended = match command {
        Command::Pending { json } => pending(host, now, screen_of_stdout(), format(*json), io),
        Command::Show { id, json } => show(host, id, screen_of_stdout(), format(*json), io),
        Command::Approve(args) => {
            args.decision().and_then(|(which, with)| approve(host, &which, &with, person, io))
        }
        Command::Deny(args) => args.decision().and_then(|(which, reason)| deny(host, &which, &reason, io)),
        Command::Watch { json } => watch::until_interrupted(host, format(*json), io),
        Command::Pause { reason } => pause::pause(host, reason, io),
        Command::Resume => pause::resume(host, io),
        Command::Undo(args) => undo(host, args, now, person, io),
    };
    match ended {
        Ok(exit) => Ok(exit),
        Err(CommandError::Output(error)) => Err(error),
        Err(CommandError::Message(exit, why)) => {
            writeln!(io.err, "{why}")?;
            Ok(exit)
        }
    }
}
