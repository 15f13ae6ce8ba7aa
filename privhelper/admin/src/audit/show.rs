//! `audit show`: records for people, or as they stand.

use super::lines::{End, Lines};
use super::{chosen, view};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::policy::apply::Format;
use crate::text::{escape, escape_json};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Which records are shown: those that fit all that is said.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The event.
    pub event: Option<String>,
    /// The verb.
    pub verb: Option<String>,
    /// The request's id, or its beginning.
    pub request: Option<String>,
    /// The client's name.
    pub client: Option<String>,
    /// The rule.
    pub rule: Option<String>,
}

impl Filter {
    fn fits(&self, record: &Value) -> bool {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let is = |wanted: &Option<String>, value: &Value| {
            wanted.as_ref().is_none_or(|wanted| *wanted == text(value))
        };
        is(&self.event, &record["event"])
            && is(&self.verb, &record["verb"])
            && is(&self.client, &record["client"]["name"])
            && is(&self.rule, &record["rule"])
            && self.request.as_ref().is_none_or(|id| text(&record["request_id"]).starts_with(id.as_str()))
    }
}

/// How many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// All that fit.
    All,
    /// The last of those that fit.
    Only(usize),
}

/// `audit show`. A line that is no record is told and passed over; `audit verify` judges it.
///
/// # Errors
/// The result cannot be written.
pub fn show(host: &Host, filter: &Filter, last: Last, format: Format, io: &mut Io<'_>) -> io::Result<Exit> {
    let files = match chosen(host, &[]) {
        Ok(files) => files,
        Err(why) => {
            writeln!(io.err, "{}", escape(&why))?;
            return Ok(Exit::Failed);
        }
    };
    let mut out = BufWriter::new(&mut *io.out);
    let mut kept: VecDeque<String> = VecDeque::new();
    let mut shown = 0_usize;
    if format == Format::Text {
        writeln!(out, "{}", view::HEAD)?;
    }
    for file in &files {
        let mut emit = |line: String| -> io::Result<()> {
            shown += 1;
            match last {
                Last::All => writeln!(out, "{line}"),
                Last::Only(most) => {
                    kept.push_back(line);
                    if kept.len() > most {
                        kept.pop_front();
                    }
                    Ok(())
                }
            }
        };
        if let Err(error) = one(file, filter, format, io.err, &mut emit) {
            // A reader of our own that went away is no fault of the file.
            if error.kind() == io::ErrorKind::BrokenPipe {
                return Err(error);
            }
            writeln!(io.err, "{}: {error}", escape(&file.display().to_string()))?;
            return Ok(Exit::Failed);
        }
    }
    kept.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    out.flush()?;
    drop(out);
    if shown == 0 {
        writeln!(io.err, "no record fits")?;
    }
    Ok(Exit::Done)
}

fn one(
    file: &Path,
    filter: &Filter,
    format: Format,
    err: &mut dyn Write,
    emit: &mut dyn FnMut(String) -> io::Result<()>,
) -> io::Result<()> {
    let mut lines = Lines::open(file)?;
    let mut number = 0_u64;
    while let Some((line, end)) = lines.next()? {
        number += 1;
        let record = serde_json::from_slice::<Value>(line).ok().filter(|_| end == End::Whole);
        let Some(record) = record.filter(Value::is_object) else {
            writeln!(
                err,
                "{}:{number}: no record (see `audit verify`)",
                escape(&file.display().to_string())
            )?;
            continue;
        };
        if filter.fits(&record) {
            emit(match format {
                // It was parsed, so it is UTF-8 and nothing is lost.
                Format::Json => escape_json(&String::from_utf8_lossy(line)),
                Format::Text => view::row(&record),
            })?;
        }
    }
    Ok(())
}
