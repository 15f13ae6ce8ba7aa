//! `postern-packages run ORDER` in its unit; `postern-packages check ORDER`, started by apt-get.
//!
//! Exit status 1 and one line on stderr: `run` could not write the outcome; `check` stops apt-get.

use postern_packages::{Host, check, run};
use postern_root::{Fault, OrderId, server};
use std::fs::DirEntry;
use std::process::ExitCode;

fn main() -> ExitCode {
    server::exit("postern-packages", act())
}

fn act() -> Result<(), Fault> {
    let usage = || Fault::new("usage: postern-packages run ORDER | check ORDER (64 hex digits)");
    let words: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    let [verb, id] = words.as_slice() else { return Err(usage()) };
    let id = OrderId::from_hex(id).ok_or_else(usage)?;
    let host = Host::real()?;
    match verb.as_str() {
        "run" if only_standard_descriptors() => run(&host, id),
        "run" => Err(Fault::new("started with descriptors beyond stderr")),
        "check" => check(&host, id, std::io::stdin().lock()),
        _ => Err(usage()),
    }
}

/// Every other open descriptor would be inherited by maintainer scripts.
/// Reading the directory takes the lowest free number, so 3 when all is well.
fn only_standard_descriptors() -> bool {
    let is_standard = |entry: DirEntry| matches!(entry.file_name().to_str(), Some("0" | "1" | "2" | "3"));
    std::fs::read_dir("/proc/self/fd").is_ok_and(|mut all| all.all(|entry| entry.is_ok_and(is_standard)))
}
