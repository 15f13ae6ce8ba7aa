//! The end of `init`: a first task, run as the person who gives tasks.

use crate::host::Host;
use crate::io::{Exit, Io};
use crate::packs::CommandError;
use crate::programs::output;

/// Shows what the person can do now: what the policy grants, and a first task. Both only look.
pub fn run(host: &Host, tasks: &[String], io: &mut Io<'_>) -> Result<Exit, CommandError> {
    let mut exit = Exit::Done;
    let postern = host.programs.postern.display().to_string();
    for words in [&["can"][..], &["run", "is dbus running"]] {
        // `runuser` takes the groups from the user database, also those that a session of before lacks.
        let mut argv = match tasks.first() {
            Some(name) => vec!["--user", name.as_str(), "--", postern.as_str()],
            None => vec![],
        };
        argv.extend(words);
        let program = if tasks.is_empty() { &host.programs.postern } else { &host.programs.runuser };
        let shown = words.join(" ");
        writeln!(io.out, "\n$ postern {shown}")?;
        match output(program, &argv) {
            Ok(said) => {
                write!(io.out, "{}", lines(&said.stdout))?;
                write!(io.err, "{}", lines(&said.stderr))?;
                if !said.status.success() {
                    writeln!(io.err, "`postern {shown}` did not work; see: postern doctor")?;
                    exit = Exit::Partly;
                }
            }
            Err(why) => {
                writeln!(io.err, "{why}")?;
                exit = Exit::Partly;
            }
        }
    }
    writeln!(io.out)?;
    Ok(exit)
}

/// Lines of a program, harmless to a terminal.
fn lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().map(crate::text::escape).collect::<Vec<_>>().join("\n");
    if !lines.is_empty() {
        lines.push('\n');
    }
    lines
}
