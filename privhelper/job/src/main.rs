//! `postern-job run ID`, `check ID`, `plan`, `command`, `end ID`.
//!
//! Exit status: 0 done (`run`: `outcome.pb` is written, whatever it says;
//! `check`: the transaction is the decided one); 1 `check` stops apt-get;
//! 2 wrong arguments or wrong user; 3 the part could not be done, the line on
//! stderr says why.

use std::io::{self, Write};
use std::process::ExitCode;

use postern_job::{Ended, Fault, Host, JobId};

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let host = Host::debian();
    match words.as_slice() {
        ["run", id] => match JobId::new(id) {
            Ok(_) if !only_standard_descriptors() => end(2, "started with descriptors beyond stderr"),
            Ok(id) => report(3, postern_job::run(&host, &id)),
            Err(fault) => end(2, &fault.to_string()),
        },
        ["check", id] => match JobId::new(id) {
            Ok(id) => report(1, postern_job::check(&host, &id, io::stdin().lock())),
            Err(fault) => end(2, &fault.to_string()),
        },
        ["plan"] if nix::unistd::geteuid().is_root() => end(2, "plan never runs as root"),
        ["plan"] => report(3, postern_job::plan(&host, io::stdin().lock(), io::stdout().lock())),
        // The command may be of the same user: it must not reach this process's memory or files by /proc.
        ["command"] if nix::sys::prctl::set_dumpable(false).is_err() => {
            end(3, "cannot hide from the command")
        }
        ["command"] => report(3, postern_job::command(io::stdin().lock(), io::stdout().lock())),
        ["end", id] => match JobId::new(id) {
            Ok(id) => report(3, postern_job::end(&host, &id, &told())),
            Err(fault) => end(2, &fault.to_string()),
        },
        _ => end(2, "usage: postern-job run ID | check ID | plan | command | end ID"),
    }
}

/// What PID 1 says of how the unit's processes ended, systemd.exec(5).
fn told() -> Ended {
    #[expect(clippy::disallowed_methods, reason = "PID 1 alone sets these, for ExecStopPost=")]
    let text = |name: &str| std::env::var(name).unwrap_or_default();
    Ended { result: text("SERVICE_RESULT"), code: text("EXIT_CODE"), status: text("EXIT_STATUS") }
}

fn report(code: u8, result: Result<(), Fault>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => end(code, &fault.to_string()),
    }
}

fn end(code: u8, message: &str) -> ExitCode {
    // A closed stderr changes nothing about the exit status.
    drop(writeln!(io::stderr(), "postern-job: {message}"));
    ExitCode::from(code)
}

/// Whatever else were open here, maintainer scripts would inherit.
/// Reading the directory takes the lowest free number, so 3 when all is well.
fn only_standard_descriptors() -> bool {
    std::fs::read_dir("/proc/self/fd").is_ok_and(|entries| {
        entries
            .filter_map(Result::ok)
            .all(|entry| matches!(entry.file_name().to_str(), Some("0" | "1" | "2" | "3")))
    })
}
