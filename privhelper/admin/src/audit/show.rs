//! `audit show` and `audit export`: prints records as a table, as JSON, or in an export format.

use super::filter::{Filter, FilterArgs};
use super::follow::{Reading, Step, Until};
use super::lines::End;
use super::{export, story, verify, view};
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::text::{escape, escape_json, now, time};
use clap::Args;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};

/// `audit show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// The records as the log has them, one JSON object a line
    #[arg(long)]
    json: bool,
    /// Only the last N that fit [default: all; 10 with --follow]
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Go on with what is recorded from now on, until Ctrl-C
    #[arg(long, short, conflicts_with = "files")]
    follow: bool,
    /// With --task: one page without script or references, to attach to a ticket
    #[arg(long, requires = "task", conflicts_with_all = ["json", "last", "follow", "files"])]
    html: bool,
}

/// `audit export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// For what it is exported
    #[arg(long, value_enum)]
    format: export::Format,
    /// Go on with what is recorded from now on, until Ctrl-C
    #[arg(long, short, conflicts_with = "files")]
    follow: bool,
}

/// As what a record is written.
#[derive(Debug, Clone, Copy)]
enum Form<'a> {
    /// A row of a table.
    Row,
    /// As the log has it.
    Json,
    /// For another system.
    Export(export::Format, &'a str),
}

/// `audit show`. A line that is not a record is reported and skipped; see `audit verify`.
///
/// # Errors
/// The result cannot be written.
pub fn show(host: &Host, args: &ShowArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    if let Some(task) = args.filter.task().filter(|_| !args.follow) {
        return whole_task(host, args, task, io);
    }
    let form = if args.json { Form::Json } else { Form::Row };
    let last = args.last.or(args.follow.then_some(10));
    run(host, &args.filter, form, last, args.follow.into(), io)
}

/// Shows a task from its beginning to its end, from both logs.
fn whole_task(host: &Host, args: &ShowArgs, task: &str, io: &mut Io<'_>) -> io::Result<Exit> {
    let (filter, files) = match args.filter.resolve(host) {
        Ok(resolved) => resolved,
        Err((exit, why)) => return fail(io, exit, &why),
    };
    let story = match story::collect(host, task, &filter, &files) {
        Ok(story) => story,
        Err(why) => return fail(io, Exit::Failed, &why),
    };
    let mut out = BufWriter::new(&mut *io.out);
    if args.html {
        let (proof, is_proven) = verify::in_sentences(host);
        let written = time(now());
        let (host_name, user_name) = (host.name.as_str(), host.user_name);
        let proof = (proof.as_slice(), is_proven);
        let page = story::Page { task, host: host_name, written: &written, story: &story, proof, user_name };
        story::write(&page, &mut out)?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    if !args.json {
        writeln!(out, "{}", view::head())?;
    }
    let skipped = args.last.map_or(0, |last| story.entries.len().saturating_sub(last));
    for entry in story.entries.iter().skip(skipped) {
        let line = if args.json { escape_json(&entry.line) } else { story::row(entry) };
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    drop(out);
    for note in &story.notes {
        writeln!(io.err, "note: {}", escape(note))?;
    }
    if story.entries.is_empty() {
        writeln!(io.err, "no record matches")?;
    }
    Ok(Exit::Done)
}

/// `audit export`.
///
/// # Errors
/// As [`show`].
pub fn export(host: &Host, args: &ExportArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    let form = Form::Export(args.format, &host.name);
    run(host, &args.filter, form, args.follow.then_some(0), args.follow.into(), io)
}

fn run(
    host: &Host,
    args: &FilterArgs,
    form: Form<'_>,
    mut last: Option<usize>,
    until: Until,
    io: &mut Io<'_>,
) -> io::Result<Exit> {
    let (filter, files) = match args.resolve(host) {
        Ok(resolved) => resolved,
        Err((exit, why)) => return fail(io, exit, &why),
    };
    let mut reading = Reading::new(host, files, until);
    let mut out = BufWriter::new(&mut *io.out);
    let mut kept = VecDeque::new();
    let mut is_any = false;
    if matches!(form, Form::Row) {
        writeln!(out, "{}", view::head())?;
    }
    loop {
        let step = match reading.next() {
            Ok(step) => step,
            Err(error) => {
                out.flush()?;
                writeln!(io.err, "{}: {error}", escape(&reading.line().0.display().to_string()))?;
                return Ok(Exit::Failed);
            }
        };
        if let Step::Line(end) = step {
            let Some(line) = one(&reading, end, &filter, form, io.err)? else { continue };
            is_any = true;
            match last {
                None => writeln!(out, "{line}")?,
                Some(most) => {
                    kept.push_back(line);
                    if kept.len() > most {
                        kept.pop_front();
                    }
                }
            }
            continue;
        }
        kept.drain(..).try_for_each(|line| writeln!(out, "{line}"))?;
        out.flush()?;
        if step == Step::End {
            break;
        }
        last = None;
        Reading::wait();
    }
    drop(out);
    if !is_any {
        writeln!(io.err, "no record matches")?;
    }
    Ok(Exit::Done)
}

/// The current line as it is shown, if it matches the filter.
fn one(
    reading: &Reading<'_>,
    end: End,
    filter: &Filter<'_>,
    form: Form<'_>,
    err: &mut dyn Write,
) -> io::Result<Option<String>> {
    let (file, number, line) = reading.line();
    let record = serde_json::from_slice::<Value>(line).ok().filter(|_| end == End::Whole);
    let Some(record) = record.filter(Value::is_object) else {
        writeln!(err, "{}:{number}: no record (see `audit verify`)", escape(&file.display().to_string()))?;
        return Ok(None);
    };
    Ok(filter.fits(&record).then(|| match form {
        // It was parsed, so it is UTF-8 and nothing is lost.
        Form::Json => escape_json(&String::from_utf8_lossy(line)),
        Form::Row => view::row(&record),
        Form::Export(format, host) => format.line(&record, host),
    }))
}

fn fail(io: &mut Io<'_>, exit: Exit, why: &str) -> io::Result<Exit> {
    writeln!(io.err, "{}", escape(why))?;
    Ok(exit)
}
