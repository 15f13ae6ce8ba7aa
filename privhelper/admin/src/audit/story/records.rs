//! The records of a task, collected from both logs.

use crate::audit::chain::Extent;
use crate::audit::files::files_of_another_user;
use crate::audit::filter::Filter;
use crate::audit::lines::End;
use crate::host::Host;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The most records of one story, and bytes of their lines: more are counted.
const MOST: usize = 10_000;
const BYTES: usize = 32 << 20;

/// Which log a record is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The agent's own.
    Agent,
    /// The recorder's.
    Recorder,
}

/// A record of the task.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its log.
    pub source: Source,
    /// Its members.
    pub record: Value,
    /// Its line in the log.
    pub line: String,
}

impl Entry {
    /// A text member; empty if it is none.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.record[name].as_str().unwrap_or_default()
    }
}

/// The records of a task.
#[derive(Debug, Default)]
pub struct Story {
    /// In order of time.
    pub entries: Vec<Entry>,
    /// How many were left out, since there are more than anybody reads.
    pub left_out: usize,
    /// What a reader should know about the sources.
    pub notes: Vec<String>,
    /// Bytes of the lines of its records.
    bytes: usize,
}

/// Collects the records of a task that fit, of these files of the recorder's and of the agent's log.
///
/// # Errors
/// A file cannot be read, and which.
pub fn collect(host: &Host, task: &str, filter: &Filter<'_>, recorders: &[PathBuf]) -> Result<Story, String> {
    let mut story = Story::default();
    let failed = |path: &Path, error: &io::Error| format!("{}: {error}", path.display());
    // What people decided and undid is found by the requests of the task.
    let mut requests = BTreeSet::new();
    for path in recorders {
        let read = story.read(path, Source::Recorder, |record| {
            let (id, undone) = (record["request_id"].as_str(), record["undo"]["of"].as_str());
            let is_of_task = record["task"] == task;
            if is_of_task {
                requests.extend(id.map(str::to_owned));
            }
            let is_known = |id: Option<&str>| id.is_some_and(|id| requests.contains(id));
            let is_about_it = record["event"] == "approval" && is_known(id) || is_known(undone);
            (is_of_task || is_about_it) && filter.fits_besides_task(record)
        });
        read.map_err(|error| failed(path, &error))?;
    }
    // The agent's user can put anything in the place of its log: that keeps nobody from the recorder's records.
    let agents = files_of_another_user(&host.agent_log).map_err(|error| (host.agent_log.clone(), error));
    let read = agents.and_then(|agents| {
        let of_task = |record: &Value| record["task"] == task && filter.fits_besides_task(record);
        agents.iter().try_for_each(|path| {
            story.read(path, Source::Agent, of_task).map_err(|error| (path.clone(), error))
        })
    });
    match read {
        Ok(()) => {}
        Err((path, error)) if error.kind() == io::ErrorKind::NotFound && path == host.agent_log => {}
        Err((_, error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            story.notes.push("without the agent's own records, which only root can read".to_owned());
        }
        Err((path, error)) => {
            story.notes.push(format!("the agent's own records are not all here: {}", failed(&path, &error)));
        }
    }
    story.entries.sort_by(|a, b| (a.text("time"), a.source).cmp(&(b.text("time"), b.source)));
    if story.left_out > 0 {
        let note = format!("{} more records of this task are left out", story.left_out);
        story.notes.push(note);
    }
    Ok(story)
}

impl Story {
    fn read(&mut self, path: &Path, source: Source, mut fits: impl FnMut(&Value) -> bool) -> io::Result<()> {
        let extent = match source {
            Source::Agent => Extent::Agents,
            Source::Recorder => Extent::Installed,
        };
        let mut lines = extent.open(path)?;
        while let Some((line, end)) = lines.next()? {
            let record = serde_json::from_slice::<Value>(line).ok().filter(|_| end == End::Whole);
            let Some(record) = record.filter(|record| record.is_object() && fits(record)) else { continue };
            if self.entries.len() < MOST && self.bytes + line.len() <= BYTES {
                self.bytes += line.len();
                let line = String::from_utf8_lossy(line).into_owned();
                self.entries.push(Entry { source, record, line });
            } else {
                self.left_out += 1;
            }
        }
        Ok(())
    }
}
