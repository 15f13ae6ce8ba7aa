//! `postern-packages run ORDER` in its unit; `postern-packages check ORDER`, started by apt-get.
//!
//! Exit status: 0 done (`run`: `outcome.pb` is written, whatever it says; `check`: the transaction is the decided one);
//! 1 `check` stops apt-get; 2 wrong arguments; 3 the outcome could not be written, the line on stderr says why.

use postern_packages::{Host, check, run};
use postern_root::OrderId;
use std::io::{self, Write};
use std::process::ExitCode;

const USAGE: &str = "usage: postern-packages run ORDER | check ORDER (64 hex digits)";

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Err((code, message)) = act(&words) else { return ExitCode::SUCCESS };
    // A closed stderr changes nothing about the exit status.
    drop(writeln!(io::stderr(), "postern-packages: {message}"));
    ExitCode::from(code)
}

fn act(words: &[&str]) -> Result<(), (u8, String)> {
    let usage = || (2, USAGE.to_owned());
    let [verb, id] = *words else { return Err(usage()) };
    let id = OrderId::from_hex(id).ok_or_else(usage)?;
    let host = Host::real().map_err(|fault| (3, fault.to_string()))?;
    match verb {
        "run" if !only_standard_descriptors() => {
            Err((2, "started with descriptors beyond stderr".to_owned()))
        }
        "run" => run(&host, id).map_err(|fault| (3, fault.to_string())),
        "check" => check(&host, id, io::stdin().lock()).map_err(|fault| (1, fault.to_string())),
        _ => Err(usage()),
    }
}

/// Every other open descriptor would be inherited by maintainer scripts.
/// Reading the directory takes the lowest free number, so 3 when all is well.
fn only_standard_descriptors() -> bool {
    std::fs::read_dir("/proc/self/fd").is_ok_and(|entries| {
        entries
            .filter_map(Result::ok)
            .all(|entry| matches!(entry.file_name().to_str(), Some("0" | "1" | "2" | "3")))
    })
}
