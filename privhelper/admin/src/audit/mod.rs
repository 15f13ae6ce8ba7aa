//! Reading the audit log: `audit show`, `summary`, `export`, `verify`, and `keygen`, which has it sealed.
//!
//! The log is read as bytes, a line at a time: memory does not grow with it. `privhelper/audit/AUDIT.md` is the format.

mod agent;
pub(crate) mod chain;
mod chain_error;
mod delays;
mod export;
mod files;
pub(crate) mod filter;
pub(crate) mod follow;
mod keygen;
pub(crate) mod lines;
mod proof;
mod record;
mod seals;
mod show;
mod statements;
pub(crate) mod storage;
mod story;
mod summary;
pub(crate) mod tips;
pub mod uses;
pub mod verified;
pub(crate) mod verify;
pub mod view;
mod witness;

pub use chain::{Extent, Verdict, verify};
pub use chain_error::{ChainError, Kind};
pub use delays::{Anchors, Delays, Noted, Span, Spans};
pub(crate) use files::chosen;
pub use files::{CURRENT, files};
pub use filter::EVENTS;
pub use keygen::keygen;
pub use proof::{KnownRecord, Proof, ProofState, Source};
pub use statements::Difference;

use crate::approvals::{Console, Terminal};
use crate::host::Host;
use crate::io::{Exit, Io};
use clap::Subcommand;
use std::io;

/// `audit …`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show records, oldest first
    Show(show::ShowArgs),
    /// How often what was asked for, by whom, under which rule, and what was refused
    Summary(summary::SummaryArgs),
    /// Records as other systems read them
    Export(show::ExportArgs),
    /// Prove that no record was changed, cut out, added or moved
    ///
    /// Exit status 0 if nothing is wrong, 1 if something is. Says what is not proven: a file alone cannot show that
    /// its end was not cut off, nor, without a key, that root did not write it anew.
    Verify(verify::VerifyArgs),
    /// Make the key that the log is sealed with, and show it once
    Keygen,
}

/// Does what the command line says.
///
/// # Errors
/// Output cannot be written.
pub fn run(command: &Command, host: &Host, io: &mut Io<'_>) -> io::Result<Exit> {
    match command {
        Command::Show(args) => show::show(host, args, io),
        Command::Summary(args) => summary::summary(host, args, io),
        Command::Export(args) => show::export(host, args, io),
        Command::Verify(args) => verify::run(host, args, io),
        Command::Keygen => {
            // dpkg sets this for maintainer scripts, whose terminal is apt's.
            let is_script = std::env::var_os("DPKG_MAINTSCRIPT_NAME").is_some();
            let asked = io.answers.as_ref().filter(|_| !is_script);
            let mut terminal = asked.and_then(|_| Terminal::open().ok());
            keygen(host, terminal.as_mut().map(|terminal| terminal as &mut dyn Console), io)
        }
    }
}
