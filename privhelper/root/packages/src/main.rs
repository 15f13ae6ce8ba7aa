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
    let host = match Host::real() {
        Ok(host) => host,
        Err(fault) => return end(3, &fault.to_string()),
    };
    let [verb, id] = *words.as_slice() else { return end(2, USAGE) };
    match (verb, OrderId::from_hex(id)) {
        ("run", Some(_)) if !only_standard_descriptors() => end(2, "started with descriptors beyond stderr"),
        ("run", Some(id)) => report(3, run(&host, id)),
        ("check", Some(id)) => report(1, check(&host, id, io::stdin().lock())),
        _ => end(2, USAGE),
    }
}

fn report(code: u8, result: Result<(), postern_root::Fault>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => end(code, &fault.to_string()),
    }
}

fn end(code: u8, message: &str) -> ExitCode {
    // A closed stderr changes nothing about the exit status.
    drop(writeln!(io::stderr(), "postern-packages: {message}"));
    ExitCode::from(code)
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
