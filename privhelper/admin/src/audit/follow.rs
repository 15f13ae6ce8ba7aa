//! Reads a log's lines, and with `--follow` those that are appended later, across rotation.

use super::files::{CURRENT, files, first_seq};
use super::lines::{End, Lines};
use super::record;
use crate::host::Host;
use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How often the log is looked at: often enough for a person.
const PAUSE: Duration = Duration::from_millis(200);

/// The position of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// On a line: see [`Reading::line`].
    Line(End),
    /// After the last line that is there; more may come.
    Caught,
    /// At the end.
    End,
}

/// Whether more is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Only what is there.
    End,
    /// New lines as well.
    Interrupted,
}

impl From<bool> for Until {
    /// `--follow`.
    fn from(follow: bool) -> Self {
        if follow { Self::Interrupted } else { Self::End }
    }
}

/// Reads a log.
pub struct Reading<'a> {
    host: &'a Host,
    until: Until,
    files: VecDeque<PathBuf>,
    path: PathBuf,
    lines: Option<Lines>,
    /// Which file is followed, and how long it was.
    followed: Option<(u64, u64)>,
    /// The file was replaced: it is read to its end once more.
    is_over: bool,
    number: u64,
    seq: u64,
}

impl<'a> Reading<'a> {
    /// Reads these files.
    pub fn new(host: &'a Host, files: Vec<PathBuf>, until: Until) -> Self {
        let files = files.into();
        Self {
            host,
            until,
            files,
            path: PathBuf::new(),
            lines: None,
            followed: None,
            is_over: false,
            number: 0,
            seq: 0,
        }
    }

    /// The file, number and bytes of the current line.
    pub fn line(&self) -> (&Path, u64, &[u8]) {
        (&self.path, self.number, self.lines.as_ref().map_or(&[], Lines::line))
    }

    /// Goes to the next line.
    ///
    /// # Errors
    /// A file cannot be read; its name is [`Self::line`]'s.
    pub fn next(&mut self) -> io::Result<Step> {
        loop {
            let Some(lines) = &mut self.lines else {
                if self.files.is_empty() && self.until == Until::Interrupted {
                    self.find()?;
                }
                match self.files.pop_front() {
                    Some(path) => self.open(path)?,
                    None if self.until == Until::Interrupted => return Ok(Step::Caught),
                    None => return Ok(Step::End),
                }
                continue;
            };
            match lines.advance()? {
                Some(End::File) if self.followed.is_some() => {}
                Some(end) => {
                    self.number += 1;
                    if self.until == Until::Interrupted
                        && let Some(seq) = record::seq(lines.line())
                    {
                        if seq <= self.seq {
                            continue;
                        }
                        self.seq = seq;
                    }
                    return Ok(Step::Line(end));
                }
                None => {}
            }
            if self.followed.is_none() || self.is_over {
                (self.lines, self.followed) = (None, None);
                continue;
            }
            // A rotated file is read to its end before the next one.
            self.is_over = self.has_moved();
            if !self.is_over {
                return Ok(Step::Caught);
            }
        }
    }

    /// Waits a little for more.
    pub fn wait() {
        thread::sleep(PAUSE);
    }

    fn open(&mut self, path: PathBuf) -> io::Result<()> {
        (self.path, self.number, self.is_over) = (path, 0, false);
        let is_current = self.path.file_name().is_some_and(|name| name == CURRENT);
        if self.until == Until::End || !is_current {
            (self.lines, self.followed) = (Some(Lines::open(&self.path)?), None);
            return Ok(());
        }
        let file = File::open(&self.path)?;
        self.followed = Some(id(&file.metadata()?));
        self.lines = Some(Lines::of(Box::new(file)));
        Ok(())
    }

    /// Whether the followed file was replaced or truncated.
    fn has_moved(&mut self) -> bool {
        let Ok(there) = std::fs::metadata(&self.path) else { return false };
        let cut = there.len() < self.lines.as_ref().map_or(0, Lines::read);
        self.followed != Some(id(&there)) || cut
    }

    /// The files that hold what was not read yet, in their order.
    fn find(&mut self) -> io::Result<()> {
        let seq = self.seq;
        let is_new = |path: &PathBuf| first_seq(path).is_none_or(|first| first > seq);
        self.files = files(&self.host.log)?.into_iter().filter(is_new).collect();
        Ok(())
    }
}

/// The identity of a file.
fn id(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}
