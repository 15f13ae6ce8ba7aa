//! A file's lines as bytes, each at most [`LINE_MAX`] long.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Longest line that is held in memory: 16 MiB; no record is longer.
pub const LINE_MAX: usize = 16 * 1024 * 1024;

/// How a line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With LF, which is not part of the line.
    Whole,
    /// With the file.
    File,
    /// It goes on past [`LINE_MAX`].
    TooLong,
}

/// Reads lines.
#[derive(Debug)]
pub struct Lines(BufReader<File>);

impl Lines {
    /// Opens a log file.
    ///
    /// # Errors
    /// As open(2).
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(BufReader::with_capacity(256 * 1024, File::open(path)?)))
    }

    /// Puts the next line into `line`; `None` at the end.
    ///
    /// # Errors
    /// As read(2).
    pub fn next_into(&mut self, line: &mut Vec<u8>) -> io::Result<Option<End>> {
        line.clear();
        let most = LINE_MAX as u64 + 1;
        if self.0.by_ref().take(most).read_until(b'\n', line)? == 0 {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
            return Ok(Some(End::Whole));
        }
        Ok(Some(if line.len() > LINE_MAX { End::TooLong } else { End::File }))
    }
}
