//! Runs the steps that a command line was translated to, and ends as the real program would.

use super::call::{AfterFailure, Step};
use super::wire::ShimReply;
use crate::protocol::request::Request;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// One line for people and models.
pub fn say(line: &str, exit: u8) -> u8 {
    let _ = writeln!(io::stderr(), "{}", line.replace(postern_text::is_hostile, " "));
    exit
}

/// How a step is asked for.
pub type Asking<'a> = dyn FnMut(&Step) -> Result<ShimReply, String> + 'a;

/// Takes the steps in turn; the exit code as the program's or the script's would be.
pub fn take(steps: Vec<Step>, ask: &mut Asking<'_>) -> u8 {
    let mut exit = 0;
    let mut is_skipped = false;
    for step in steps {
        if !is_skipped {
            exit = match one(&step, ask) {
                0 => exit,
                failed => failed,
            };
        }
        match step.then {
            AfterFailure::Stop => is_skipped |= exit != 0,
            AfterFailure::Forget => (exit, is_skipped) = (0, false),
            AfterFailure::GoOn => {}
        }
    }
    exit
}

fn one(step: &Step, ask: &mut Asking<'_>) -> u8 {
    let mut stdout = io::stdout();
    if stdout.write_all(&step.echo).and_then(|()| stdout.flush()).is_err() {
        return step.family.failure();
    }
    let ShimReply { code, message, unit, output, .. } =
        ask(step).unwrap_or_else(|why| ShimReply::no("unreachable", why));
    let said = step.family.exit_status(&code, &message, step.excused, step.request.verb());
    if said.exit != 0 {
        return say(&said.line, said.exit);
    }
    if let (Some((look, is_quiet)), Some(unit)) = (step.look, &unit) {
        let (text, exit) = look.output(unit);
        let _ = stdout.write_all(if is_quiet { b"" } else { text.as_bytes() });
        return exit;
    }
    if !step.is_quiet && stdout.write_all(&output).and_then(|()| stdout.flush()).is_err() {
        return step.family.failure();
    }
    match &step.moved {
        Some(moved) => remove_moved(moved, &step.request),
        None => 0,
    }
}

/// Removes the source of an `mv` that was written to its destination. It may have changed meanwhile, since a person may
/// have had to approve the request: then it stays.
fn remove_moved(source: &str, request: &Request) -> u8 {
    let is_as_written = || {
        let Request::FileWrite(write) = request else { return false };
        Path::new(source).symlink_metadata().is_ok_and(|file| file.is_file())
            && fs::read(source).is_ok_and(|now| now == write.change.0.content)
    };
    if !is_as_written() {
        return say(&format!("mv: {source} changed meanwhile: it was copied as it was before, and stays"), 1);
    }
    fs::remove_file(source).map_or_else(|error| say(&format!("mv: {source}: {error}"), 1), |()| 0)
}
