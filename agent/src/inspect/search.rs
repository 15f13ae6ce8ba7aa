//! Finding a text in files, literally. No link is followed, no other file system entered.

use super::files::{entries, failed};
use super::list::List;
use super::read_error::ReadError;
use super::read_result::{HostPaths, ReadResult};
use super::roots::opened;
use crate::redaction::excerpt::{Line, Pem};
use crate::redaction::redact;
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The most matches where none are asked for, and at all.
const MATCHES: u32 = 50;
const MATCHES_LIMIT: u32 = 500;
/// The most bytes of one file: of a log its end, of other files the beginning.
const FILE_LIMIT: u64 = 4 << 20;
/// First bytes of a gzip file (RFC 1952).
const GZIP: &[u8; 2] = b"\x1f\x8b";
/// The most bytes that are read of it: a legal file may hold millions of empty parts.
const PACKED_LIMIT: u64 = 16 << 20;
/// Bytes that are unpacked at once.
const PIECE: u64 = 2 << 20;
/// The most bytes and files of one search.
const TOTAL_LIMIT: u64 = 64 << 20;
const FILES_LIMIT: u32 = 10_000;
/// The most directories within each other.
const DEPTH_LIMIT: usize = 20;
/// Most characters shown of a line.
const LINE_LIMIT: usize = 400;
/// Where logs are.
const LOGS: &str = "var/log";

/// Finds a text in files.
pub fn files(
    places: &HostPaths,
    path: &str,
    text: &str,
    most: Option<u32>,
    until: Instant,
) -> Result<ReadResult, ReadError> {
    let mut search = Search::new(places, text, most, until);
    search.enter(&places.open_here(path)?, Path::new(path), 0, End::First)?;
    Ok(search.found())
}

/// Finds a text in log files, rotated and compressed ones too: the newest file first, of each the newest lines.
pub fn logs(
    places: &HostPaths,
    text: &str,
    most: Option<u32>,
    until: Instant,
) -> Result<ReadResult, ReadError> {
    let logs = places.base.join(LOGS);
    let roots = places.roots.below(&logs);
    if roots.is_empty() {
        places.open_here(&logs.to_string_lossy())?;
    }
    let mut search = Search::new(places, text, most, until);
    for root in roots {
        let file = places.open_here(&root.to_string_lossy())?;
        search.enter(&file, &root, 0, End::Last)?;
    }
    Ok(search.found())
}

/// Which end of things comes first.
#[derive(Clone, Copy, PartialEq)]
enum End {
    First,
    Last,
}

struct Search<'s> {
    places: &'s HostPaths,
    text: &'s str,
    most: usize,
    until: Instant,
    matches: List,
    files: u32,
    bytes: u64,
    /// Number of skipped files by reason: `binary`, `symlinks`, `unreadable`, `hidden`, `elsewhere`, `too_deep`.
    skipped: serde_json::Map<String, Value>,
    /// Why it ended before all was seen.
    ended: Option<&'static str>,
}

impl<'s> Search<'s> {
    fn new(places: &'s HostPaths, text: &'s str, most: Option<u32>, until: Instant) -> Self {
        let most = most.unwrap_or(MATCHES).min(MATCHES_LIMIT) as usize;
        let (matches, skipped) = Default::default();
        Self { places, text, most, until, matches, files: 0, bytes: 0, skipped, ended: None }
    }

    fn found(self) -> ReadResult {
        let mut content = json!({ "files_read": self.files });
        if let Some(why) = self.ended {
            content["left_out"] = json!(1);
            content["ended_by"] = json!(why);
        }
        if !self.skipped.is_empty() {
            content["skipped"] = Value::Object(self.skipped);
        }
        self.matches.put("matches", &mut content);
        ReadResult::seen(content)
    }

    fn skip(&mut self, why: &str) {
        let count = self.skipped.get(why).and_then(Value::as_u64).unwrap_or_default();
        self.skipped.insert(why.to_owned(), json!(count + 1));
    }

    /// Whether it is to go on.
    fn goes_on(&mut self) -> bool {
        self.ended = self.ended.or_else(|| {
            let ends = [
                (self.matches.is_full(), "the room for matches"),
                (self.matches.len() >= self.most, "max_matches"),
                (self.files >= FILES_LIMIT, "the number of files"),
                (self.bytes >= TOTAL_LIMIT, "the amount of text"),
                (Instant::now() >= self.until, "its time"),
            ];
            ends.into_iter().find_map(|(is_reached, why)| is_reached.then_some(why))
        });
        self.ended.is_none()
    }

    /// Looks at what was opened.
    fn enter(&mut self, file: &File, path: &Path, depth: usize, end: End) -> Result<(), ReadError> {
        let name = path.to_string_lossy();
        let facts = file.metadata().map_err(|error| failed(&name, &error))?;
        if !facts.is_dir() {
            return self.read(file, &name, facts.len(), end).map_err(|error| failed(&name, &error));
        }
        if depth == DEPTH_LIMIT {
            self.skip("too_deep");
            return Ok(());
        }
        let (mut entries, is_cut) = entries(file).map_err(|error| failed(&name, &error))?;
        if is_cut {
            self.ended = Some("the size of a directory");
        }
        if end == End::Last {
            let age =
                |entry: &std::fs::DirEntry| entry.metadata().map(|facts| facts.mtime()).unwrap_or_default();
            entries.sort_by_key(|entry| std::cmp::Reverse(age(entry)));
        }
        for entry in entries {
            if !self.goes_on() {
                break;
            }
            let path: PathBuf = path.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                self.skip("symlinks");
            } else if self.places.roots.hides(&path) {
                self.skip("hidden");
            } else {
                match opened(&path.to_string_lossy(), file, entry.file_name()) {
                    Err(_) => self.skip("unreadable"),
                    Ok(inner) if inner.metadata().is_ok_and(|inner| inner.dev() != facts.dev()) => {
                        self.skip("elsewhere");
                    }
                    Ok(inner) => {
                        if self.enter(&inner, &path, depth + 1, end).is_err() {
                            self.skip("unreadable");
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads the bytes of a file to search; true if they are all of it.
    fn text(&mut self, mut file: &File, size: u64, end: End) -> std::io::Result<(Vec<u8>, bool)> {
        let mut magic = [0; GZIP.len()];
        if end == End::Last && file.read_exact(&mut magic).is_ok() && magic == *GZIP {
            file.rewind()?;
            return self.unpacked(file);
        }
        let from = if end == End::Last { size.saturating_sub(FILE_LIMIT) } else { 0 };
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(FILE_LIMIT).read_to_end(&mut bytes)?;
        self.bytes += bytes.len() as u64;
        if from > 0 {
            begin_at_line(&mut bytes, 0);
        }
        Ok((bytes, size <= FILE_LIMIT))
    }

    /// Unpacks the end of a log that logrotate compressed. A small file can unpack to any size, so the unpacked bytes count.
    fn unpacked(&mut self, file: &File) -> std::io::Result<(Vec<u8>, bool)> {
        let mut unpacking = MultiGzDecoder::new(file.take(PACKED_LIMIT));
        let (mut bytes, mut is_whole) = (Vec::new(), true);
        let kept = usize::try_from(FILE_LIMIT).unwrap_or(usize::MAX);
        loop {
            let before = bytes.len();
            let unpacked = (&mut unpacking).take(PIECE).read_to_end(&mut bytes);
            let read = bytes.len() - before;
            self.bytes += read as u64;
            match unpacked {
                Err(error) if bytes.is_empty() => return Err(error),
                // Damaged or cut off: the text before it counts.
                Err(_) => return Ok((bytes, false)),
                Ok(_) => {}
            }
            if bytes.len() > kept {
                is_whole = false;
                let from = bytes.len() - kept;
                begin_at_line(&mut bytes, from);
            }
            if read == 0 {
                return Ok((bytes, is_whole));
            }
            if self.bytes >= TOTAL_LIMIT || Instant::now() >= self.until {
                return Ok((bytes, false));
            }
        }
    }

    fn read(&mut self, file: &File, name: &str, size: u64, end: End) -> std::io::Result<()> {
        self.files += 1;
        let (bytes, is_whole) = self.text(file, size, end)?;
        if bytes.contains(&0) {
            self.skip("binary");
            return Ok(());
        }
        if !is_whole {
            self.skip("long_files_in_part");
        }
        let text = String::from_utf8_lossy(&bytes);
        let mut pem = Pem::default();
        let mut hits: Vec<(usize, &str)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let is_key = pem.line(line) != Line::Other || pem.inside;
            // A search must not find redacted text either.
            if !is_key && line.contains(self.text) && redact::text(line).0.contains(self.text) {
                hits.push((number, line));
            }
        }
        if end == End::Last {
            hits.reverse();
        }
        let is_part = end == End::Last && !is_whole;
        for (number, line) in hits {
            if !self.goes_on() {
                break;
            }
            let mut hit = json!({ "path": name, "text": around(line, self.text) });
            if !is_part {
                hit["line"] = json!(number);
            }
            self.matches.push(hit);
        }
        Ok(())
    }
}

/// Drops what is before the first line that begins after `from`: the rest of a credential has not its shape.
fn begin_at_line(bytes: &mut Vec<u8>, from: usize) {
    let newline = bytes.iter().skip(from).position(|byte| *byte == b'\n');
    bytes.drain(..newline.map_or(bytes.len(), |at| from + at + 1));
}

/// The part of a long line where the text stands.
fn around(line: &str, text: &str) -> String {
    if line.chars().count() <= LINE_LIMIT {
        return line.to_owned();
    }
    // Half a credential has not its shape.
    let line = redact::text(line).0;
    let at = line.find(text).map_or(0, |at| line[..at].chars().count());
    line.chars().skip(at.saturating_sub(LINE_LIMIT / 4)).take(LINE_LIMIT).collect()
}
