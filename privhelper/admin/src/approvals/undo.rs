//! `undo`: what would be undone is shown, a person agrees, and exactly that is undone.

use super::plan;
use super::render::{self, Screen, field, inline};
use super::result::{CommandError, CommandResult, Tally};
use super::terminal::{Console, screen_of_stdout};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::operator::{Replies, exit_of};
use crate::policy::values::seconds;
use crate::text::count;
use clap::Args;
use postern_policy::{Request, VerbId};
use postern_proto::link::strict;
use postern_proto::root::v1::{Inverse, Order};
use postern_proto::v1::{OperatorUndoRequest, OperatorUndone};

/// `undo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    #[command(flatten)]
    which: Selection,
    /// Only show what would be undone
    #[arg(long, alias = "preview")]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Selection {
    /// The request's id, as the audit log and the client say it
    id: Option<String>,
    /// All requests of a task
    #[arg(long)]
    task: Option<String>,
    /// All requests since so long ago, such as 90s, 10m, 1h or 2d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
}

impl Selection {
    fn request(&self, now_unix_s: u64) -> Result<OperatorUndoRequest, CommandError> {
        let since = self.since.as_deref().map(seconds).transpose();
        let since =
            since.map_err(|why| CommandError::Message(Exit::Usage, format!("--since: {}", inline(&why))))?;
        Ok(OperatorUndoRequest {
            request_id: self.id.clone().unwrap_or_default(),
            task: self.task.clone().unwrap_or_default(),
            since_unix_s: since.map_or(0, |since| now_unix_s.saturating_sub(since).max(1)),
            dry_run: false,
        })
    }
}

/// `undo`.
///
/// # Errors
/// The recorder does not answer, nobody can be asked, or nobody agreed.
pub fn undo(
    host: &Host,
    args: &UndoArgs,
    now_unix_s: u64,
    person: Option<&mut dyn Console>,
    io: &mut Io<'_>,
) -> CommandResult {
    let request = args.which.request(now_unix_s)?;
    let mut tally = Tally::default();
    if args.yes || args.dry_run {
        let (done, not) =
            if args.dry_run { ("would be undone", "cannot be undone") } else { ("undone", "not undone") };
        let request = OperatorUndoRequest { dry_run: args.dry_run, ..request };
        each(host, &request, |one| {
            print_outcome(&mut tally, one, done, not, io)?;
            Ok(write!(io.out, "{}", inverse(one, screen_of_stdout()))?)
        })?;
        return end(&tally, io);
    }
    let Some(person) = person else {
        let why = "nothing was undone: there is no terminal to ask on; use `--yes` in a script";
        return Err(CommandError::Message(Exit::Usage, why.to_owned()));
    };
    let mut found = Vec::new();
    each(host, &OperatorUndoRequest { dry_run: true, ..request }, |one| {
        let (name, why) = (if one.code.is_empty() { "undo" } else { "cannot" }, describe(one));
        person.show(&(field(name, &why, person.screen()) + &inverse(one, person.screen())))?;
        match one.code.as_str() {
            "" => found.push(one.request_id.clone()),
            code => tally.add(Err(exit_of(code))),
        }
        Ok(())
    })?;
    if found.is_empty() {
        return end(&tally, io);
    }
    let question = format!("Undo {}, newest first, as listed above? [y/N] ", count(found.len(), "request"));
    if !matches!(person.ask(&question)?.as_str(), "y" | "Y" | "yes") {
        return Err(CommandError::Message(Exit::NotApproved, "nothing was undone".to_owned()));
    }
    // One by one and by its id, so that nothing is undone that was not on the list.
    for request_id in found {
        let request = OperatorUndoRequest { request_id, ..OperatorUndoRequest::default() };
        let mut last = String::new();
        each(host, &request, |one| {
            last.clone_from(&one.code);
            print_outcome(&mut tally, one, "undone", "not undone", io)
        })?;
        if !last.is_empty() {
            break;
        }
    }
    end(&tally, io)
}

/// Calls `Operator/Undo` and hands on every reply.
fn each(
    host: &Host,
    request: &OperatorUndoRequest,
    mut with: impl FnMut(&OperatorUndone) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    // No patience: putting packages back takes what it takes.
    let mut replies = Replies::open(&host.operator_socket, host.owner_uid, "Operator/Undo", request, None)?;
    while let Some(one) = replies.receive()? {
        with(&one)?;
    }
    Ok(())
}

/// Renders the effects of an undo, from the recorded inverse; nothing if it has none.
fn inverse(one: &OperatorUndone, screen: Screen) -> String {
    let inverse = strict::<Inverse>(&one.inverse).filter(|_| !one.inverse.is_empty());
    let decoded = inverse.and_then(|inverse| {
        let request = Request::decode(VerbId::from_name(&inverse.verb)?, &inverse.body)?.1.ok()?;
        Some(plan::of(&Order { inverse: Some(inverse), ..Order::default() }, &request))
    });
    decoded.map_or_else(String::new, |plan| render::text(&plan, screen))
}

fn describe(one: &OperatorUndone) -> String {
    let why = if one.code.is_empty() { String::new() } else { format!(": {}: {}", one.code, one.message) };
    format!("{}  uid {}  {}  {}{why}", one.request_id, one.uid, one.verb, one.target)
}

fn print_outcome(
    tally: &mut Tally,
    one: &OperatorUndone,
    done: &str,
    not: &str,
    io: &mut Io<'_>,
) -> Result<(), CommandError> {
    let words = inline(&describe(one));
    if one.code.is_empty() {
        tally.add(Ok(()));
        writeln!(io.out, "{done}  {words}")?;
    } else {
        tally.add(Err(exit_of(&one.code)));
        writeln!(io.err, "{not}, nor anything older  {words}")?;
    }
    Ok(())
}

fn end(tally: &Tally, io: &mut Io<'_>) -> CommandResult {
    if tally.is_empty() {
        writeln!(io.err, "there is nothing to undo")?;
    }
    Ok(tally.exit())
}
