//! `postern-admin init`: from a new installation to a first task, in five questions.
//!
//! Each answer takes effect before the next question, so an interruption loses none. A second run proposes what is there.

mod answers;
mod args;
mod first_task;
mod model;
pub(crate) mod people;

pub use args::{InitArgs, Key, Provider};

use crate::audit;
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::packs::{CommandError, With, add, catalog};
use answers::Question;
use std::io;

/// `init`.
///
/// # Errors
/// The output cannot be written.
pub fn run(host: &Host, args: &InitArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    match all(host, args, io) {
        Ok(exit) => Ok(exit),
        Err(CommandError::Output(error)) => Err(error),
        Err(CommandError::Message(exit, why)) => {
            writeln!(io.err, "{}", crate::text::escape(&why))?;
            writeln!(io.err, "what was answered before is done; `postern-admin init` goes on from there")?;
            Ok(exit)
        }
    }
}

fn all(host: &Host, args: &InitArgs, io: &mut Io<'_>) -> Result<Exit, CommandError> {
    if nix::unistd::geteuid().as_raw() != host.owner_uid {
        return Err(CommandError::Message(
            Exit::Failed,
            "only root may set up Postern: sudo postern-admin init".to_owned(),
        ));
    }
    if io.answers.is_none() {
        missing(args)?;
        // Nothing is done of what cannot be done whole.
        people::check(host, args)?;
        let names = answers::list(args.packs.as_deref().unwrap_or_default());
        add::prepare(host, &names, &with(args), io)?;
    }
    let tasks = people::ask(host, args, io)?;
    let mut exit = choose_packs(host, args, io)?;
    exit = worse(exit, model::ask(host, args, io)?);
    exit = worse(exit, make_key(host, args, io)?);
    exit = worse(exit, first_task::run(host, &tasks, io)?);
    people::tell_session(&tasks, io)?;
    Ok(exit)
}

/// Without a terminal every question needs its flag.
fn missing(args: &InitArgs) -> Result<(), CommandError> {
    let given = [
        ("--tasks", args.tasks.is_some()),
        ("--approve", args.approve.is_some()),
        ("--look", args.look.is_some()),
        ("--packs", args.packs.is_some()),
        ("--model", args.model.is_some()),
        ("--key later", args.key.is_some()),
        ("--yes", args.yes),
    ];
    let missing = given.iter().filter(|(_, is_given)| !is_given).map(|(flag, _)| *flag).collect::<Vec<_>>();
    if missing.is_empty() {
        return Ok(());
    }
    let why = format!(
        "nothing was done: nobody is at a terminal to be asked, and these are missing: {}",
        missing.join(" ")
    );
    Err(CommandError::Message(Exit::Usage, why))
}

fn with(args: &InitArgs) -> With {
    With { set: args.set.clone(), yes: args.yes, discard_edits: false }
}

/// The packs of the fourth question, applied at once.
fn choose_packs(host: &Host, args: &InitArgs, io: &mut Io<'_>) -> Result<Exit, CommandError> {
    let fit = catalog::fitting(host, io)?;
    let names = Question {
        number: "4/5",
        text: "Which packs of rules? (`postern-admin pack list` has them all; none is an answer)",
        given: args.packs.as_deref(),
        proposed: fit,
    };
    let names = names.ask(io, |names| add::known(host, names))?;
    if names.is_empty() {
        writeln!(io.out, "packs: none added")?;
        return Ok(Exit::Done);
    }
    add::add(host, &names, &with(args), io)
}

/// The key of the audit log, last: it needs nobody's files, only a person.
fn make_key(host: &Host, args: &InitArgs, io: &mut Io<'_>) -> Result<Exit, CommandError> {
    if std::fs::symlink_metadata(host.seed()).is_ok() {
        writeln!(io.out, "audit key: made already")?;
        return Ok(Exit::Done);
    }
    let now = match args.key {
        Some(key) => key == Key::Now,
        None => answers::yes(
            io,
            "The audit log can be sealed with a key that you keep elsewhere. Make it now? [Y/n] ",
        )?,
    };
    if !now {
        writeln!(
            io.out,
            "audit key: not made; the log is chained but not sealed: postern-admin audit keygen"
        )?;
        return Ok(Exit::Done);
    }
    Ok(audit::run(&audit::Command::Keygen, host, io)?)
}

/// The first that was not done decides.
const fn worse(one: Exit, other: Exit) -> Exit {
    if matches!(one, Exit::Done) { other } else { one }
}
