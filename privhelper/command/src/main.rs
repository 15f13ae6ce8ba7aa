//! `postern-command`: started by PID 1 in the unit of a named command.
//!
//! Exit status: 0 the last event is the outcome, success or not; 3 it could not be written, see the line on stderr.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let ended = run();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            // A closed stderr changes nothing about the exit status.
            drop(writeln!(io::stderr(), "postern-command: {text}"));
            ExitCode::from(3)
        }
    }
}

fn run() -> Result<(), String> {
    // The command may be of the same user: it must not reach this process's memory or files by /proc.
    nix::sys::prctl::set_dumpable(false).map_err(|error| format!("cannot hide from the command: {error}"))?;
    // PID 1 alone sets it (systemd.exec(5), CREDENTIALS).
    let directory = std::env::var_os("CREDENTIALS_DIRECTORY").ok_or("started without a credential")?;
    let record =
        File::open(PathBuf::from(directory).join("job")).map_err(|error| format!("credential: {error}"))?;
    postern_command::command(record, io::stdout().lock()).map_err(|fault| fault.to_string())
}
