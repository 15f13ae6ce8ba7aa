//! Policy packs: reviewed rules and commands for one service each, filled with a host's values.
//!
//! `pack add` writes plain TOML into the policy's directory and applies the policy: a pack is never read by any other program.

pub mod add;
pub mod added;
pub mod catalog;
mod compare;
mod error;
mod fill;
mod list;
mod options;
pub mod pack;
mod questions;
pub mod variable;

pub use added::{Added, file_name, text};
pub use error::CommandError;
pub use fill::{Values, fill};
pub use options::With;

use crate::host::Host;
use crate::io::{Exit, Io};
use clap::{Args, Subcommand};
use std::io;

/// The commands about packs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Every pack: whether it is added, on which releases it was run, and whether this host has what it is for
    List {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show a pack: its questions, its grants and what it leaves out
    Show {
        /// The pack
        name: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Ask for a pack's values, write its rules to /etc/postern/policy.d, and apply the policy
    ///
    /// Shows the difference in effect and asks, as `policy apply` does: nothing is written before the answer. A pack that is there
    /// already keeps the values that are not given anew.
    Add(AddArgs),
    /// Remove a pack's file and apply the policy
    Remove {
        /// The packs
        #[arg(required = true)]
        names: Vec<String>,
        /// How
        #[command(flatten)]
        with: With,
    },
    /// How a pack's file differs from what the installed pack makes of the same values
    Diff {
        /// The pack
        name: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Take up what the installed packs say now, and apply the policy
    Update {
        /// The packs [default: all that were added]
        names: Vec<String>,
        /// How
        #[command(flatten)]
        with: With,
    },
}

/// Arguments of `pack add`.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// The packs
    #[arg(required = true)]
    pub names: Vec<String>,
    /// How
    #[command(flatten)]
    pub with: With,
}

/// Does what the command line says.
///
/// # Errors
/// Output cannot be written.
pub fn run(command: &Command, host: &Host, io: &mut Io<'_>) -> io::Result<Exit> {
    let ended = match command {
        Command::List { json } => list::list(host, *json, io),
        Command::Show { name, json } => list::show(host, name, *json, io),
        Command::Add(args) => add::add(host, &args.names, &args.with, io),
        Command::Remove { names, with } => add::remove(host, names, with, io),
        Command::Diff { name, json } => compare::diff(host, name, *json, io),
        Command::Update { names, with } => add::update(host, names, with, io),
    };
    match ended {
        Ok(exit) => Ok(exit),
        Err(CommandError::Output(error)) => Err(error),
        Err(CommandError::Message(exit, why)) => {
            writeln!(io.err, "{}", crate::text::escape(&why))?;
            Ok(exit)
        }
    }
}
