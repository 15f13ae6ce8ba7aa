//! Runs the steps that a command line was translated to, and ends as the real program would.

use super::call::{AfterFailure, Step};
use super::wire::ShimReply;
use std::fs;
use std::io::{self, Write};

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
        Some(moved) => {
            fs::remove_file(moved).map_or_else(|error| say(&format!("{moved}: {error}"), 1), |()| 0)
        }
        None => 0,
    }
}
