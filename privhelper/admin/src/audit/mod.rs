//! Reading the audit log: `audit show` and `audit verify`.
//!
//! The log is read as bytes, a line at a time: memory does not grow with it.

mod bad;
pub(crate) mod chain;
mod files;
mod lines;
mod record;
mod show;
pub mod uses;
mod view;

pub use bad::{Bad, Kind};
pub use chain::Verdict;
pub(crate) use files::chosen;
pub use files::files;
pub use show::{Filter, Last, show};

use crate::host::Host;
use crate::io::{Exit, Io};
use crate::policy::apply::Format;
use crate::text::{count, escape};
use serde_json::json;
use std::io;
use std::path::PathBuf;

/// `audit verify [FILE…]`.
///
/// # Errors
/// The result cannot be written.
pub fn verify(host: &Host, named: &[PathBuf], format: Format, io: &mut Io<'_>) -> io::Result<Exit> {
    let files = match chosen(host, named) {
        Ok(files) => files,
        Err(why) => {
            writeln!(io.err, "{}", escape(&why))?;
            return Ok(Exit::Failed);
        }
    };
    let verdict = match chain::verify(&files) {
        Ok(verdict) => verdict,
        Err((file, error)) => {
            writeln!(io.err, "{}: {error}", escape(&file.display().to_string()))?;
            return Ok(Exit::Failed);
        }
    };
    match format {
        Format::Json => {
            let bad = verdict.bad.as_ref().map(|bad| {
                json!({ "file": bad.file.display().to_string(), "line": bad.line, "reason": bad.reason })
            });
            let result = json!({
                "v": 1, "valid": bad.is_none(), "sealed": false, "files": files.len(), "records": verdict.records,
                "first_seq": verdict.first_seq, "last_seq": verdict.last_seq, "last_hash": verdict.last_hash,
                "torn": verdict.torn, "bad": bad,
            });
            writeln!(io.out, "{result}")?;
        }
        Format::Text => tell(&verdict, files.len(), io)?,
    }
    Ok(if verdict.bad.is_none() { Exit::Done } else { Exit::Failed })
}

fn tell(verdict: &Verdict, files: usize, io: &mut Io<'_>) -> io::Result<()> {
    let records = count(usize::try_from(verdict.records).unwrap_or(usize::MAX), "record");
    let span = match (verdict.first_seq, verdict.last_seq) {
        (Some(first), Some(last)) => format!(" ({first} to {last})"),
        _ => String::new(),
    };
    match &verdict.bad {
        None => {
            writeln!(io.out, "valid: {records}{span} in {}, unsealed", count(files, "file"))?;
            writeln!(io.out, "last hash: {}", verdict.last_hash)?;
        }
        Some(bad) => {
            let place = escape(&bad.file.display().to_string());
            writeln!(io.out, "NOT VALID: {place}:{}: {}", bad.line, escape(&bad.reason))?;
            writeln!(io.out, "valid before it: {records}{span}")?;
        }
    }
    if verdict.torn > 0 {
        let torn = count(usize::try_from(verdict.torn).unwrap_or(usize::MAX), "torn line");
        writeln!(io.out, "{torn}, as recorded: a write was cut short there by a crash")?;
    }
    if verdict.first_seq.is_some_and(|first| first > 1) {
        writeln!(io.err, "note: the records before the first are not here, so nothing is said of them")?;
    }
    if verdict.bad.is_none() {
        writeln!(
            io.err,
            "note: unsealed, so root could have written the whole chain anew; compare the last hash with one kept elsewhere"
        )?;
    }
    Ok(())
}
