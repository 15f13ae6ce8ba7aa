//! Reading a file or a directory.

use super::list::List;
use super::read_error::ReadError;
use super::read_result::{HostPaths, ReadResult};
use super::roots::{Roots, same};
use crate::protocol::step::StepStatus;
use crate::redaction::excerpt::{Line, Pem};
use crate::redaction::redact::{self, MARK};
use serde_json::{Value, json};
use std::fs::{DirEntry, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::UNIX_EPOCH;

/// The most bytes of one read, also where more are asked for: what follows can be read next.
const READ_LIMIT: usize = 12_000;
/// No private key is longer: so much is looked at before and behind what is read.
const KEY_LIMIT: usize = 32 << 10;
/// The most entries of a directory that are looked at.
const ENTRY_LIMIT: usize = 20_000;

/// Reads a part of a text file.
pub fn read(
    places: &HostPaths,
    path: &str,
    offset: i64,
    limit: Option<u32>,
) -> Result<ReadResult, ReadError> {
    let (_, file) = places.roots.open(path)?;
    let facts = file.metadata().map_err(|error| failed(path, &error))?;
    if facts.is_dir() {
        return Err(ReadError::Failed(format!("{path:?} is a directory: see list_dir")));
    }
    let size = facts.len();
    let begin = match u64::try_from(offset) {
        Ok(begin) => begin.min(size),
        Err(_) => size.saturating_sub(offset.unsigned_abs()),
    };
    let limit =
        limit.map_or(READ_LIMIT, |limit| usize::try_from(limit).unwrap_or(READ_LIMIT).min(READ_LIMIT));
    let before = usize::try_from(begin).unwrap_or(KEY_LIMIT).min(KEY_LIMIT);
    let start = begin - before as u64;
    let window = read_at(&file, start, before + limit + KEY_LIMIT).map_err(|error| failed(path, &error))?;
    let end = window.len().min(before + limit);
    let part = window.get(before..end).unwrap_or_default();
    if part.contains(&0) {
        return Err(ReadError::Failed(format!("not_text: {path:?} holds zero bytes, it is no text")));
    }
    let next = start + end as u64;
    let text = without_keys(&window, before, end);
    let mut content = json!({ "path": path, "size": size, "offset": begin, "content": text });
    let status = if next < size {
        content["next_offset"] = json!(next);
        StepStatus::Truncated
    } else {
        StepStatus::Ok
    };
    Ok(ReadResult { status, content, text: Some(text), error: None })
}

fn read_at(file: &File, start: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut have = 0;
    while have < length {
        match file.read_at(&mut bytes[have..], start + have as u64)? {
            0 => break,
            read => have += read,
        }
    }
    bytes.truncate(have);
    Ok(bytes)
}

/// A part of a text without private keys and credentials that begin before it or end behind it.
fn without_keys(window: &[u8], begin: usize, end: usize) -> String {
    let (mut kept, mut at, mut pem, mut is_marked) = (Vec::new(), 0, Pem::default(), false);
    for line in window.split_inclusive(|&byte| byte == b'\n') {
        let whole = String::from_utf8_lossy(line);
        let is_key = pem.line(&whole) != Line::Other || pem.inside;
        let from = at.max(begin).min(end);
        let to = (at + line.len()).clamp(begin, end);
        at += line.len();
        if from >= to {
            continue;
        }
        // Half a credential has not its shape.
        let is_key = is_key || (to - from < line.len() && redact::text(&whole).1 > 0);
        if !is_key {
            kept.extend_from_slice(&window[from..to]);
        } else if !is_marked {
            kept.extend_from_slice(MARK.as_bytes());
            kept.push(b'\n');
        }
        is_marked = is_key;
    }
    // A character that the ends cut through is no replacement character.
    let cut = kept.iter().take(3).take_while(|&&byte| begin > 0 && byte & 0xc0 == 0x80).count();
    let mut kept = &kept[cut..];
    if let Err(error) = std::str::from_utf8(kept)
        && error.error_len().is_none()
    {
        kept = &kept[..error.valid_up_to()];
    }
    String::from_utf8_lossy(kept).into_owned()
}

/// Lists a directory.
pub fn list(places: &HostPaths, path: &str) -> Result<ReadResult, ReadError> {
    let (_, directory) = places.roots.open(path)?;
    if !directory.metadata().is_ok_and(|facts| facts.is_dir()) {
        return Err(ReadError::Failed(format!("{path:?} is no directory: see read_file")));
    }
    let (entries, left_out) = entries(&directory).map_err(|error| failed(path, &error))?;
    let mut content = json!({ "path": path });
    if left_out {
        content["left_out"] = json!(1);
    }
    let mut list = List::default();
    for entry in entries {
        list.push(described(&entry));
    }
    list.put("entries", &mut content);
    Ok(ReadResult::seen(content))
}

/// Returns the entries of an open directory, sorted by name, and whether there are more than `ENTRY_LIMIT`.
pub fn entries(directory: &File) -> io::Result<(Vec<DirEntry>, bool)> {
    let mut names = std::fs::read_dir(same(directory.as_fd()))?;
    let mut entries = names.by_ref().take(ENTRY_LIMIT).collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(DirEntry::file_name);
    Ok((entries, names.next().is_some()))
}

fn described(entry: &DirEntry) -> Value {
    let name = entry.file_name().to_string_lossy().into_owned();
    // Of a link it is the link's own.
    let Ok(facts) = entry.metadata() else { return json!({ "name": name, "type": "unknown" }) };
    let mut entry =
        json!({ "name": name, "type": kind(&facts), "mode": format!("{:04o}", facts.mode() & 0o7777) });
    if facts.is_file() {
        entry["size"] = json!(facts.len());
    }
    if let Some(time) = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()) {
        entry["modified_unix_s"] = json!(time.as_secs());
    }
    entry
}

fn kind(facts: &Metadata) -> &'static str {
    if facts.is_file() {
        "file"
    } else if facts.is_dir() {
        "directory"
    } else if facts.is_symlink() {
        "symlink"
    } else {
        "other"
    }
}

pub fn failed(path: &str, error: &io::Error) -> ReadError {
    ReadError::Failed(format!("cannot read {path:?}: {}", error.kind()))
}

impl HostPaths {
    /// Where there is no helper to ask instead.
    pub fn open_here(&self, path: &str) -> Result<File, ReadError> {
        match self.roots.open(path) {
            Ok((_, file)) => Ok(file),
            Err(ReadError::Elsewhere) => Err(ReadError::Denied(outside(&self.roots, path))),
            Err(other) => Err(other),
        }
    }
}

fn outside(roots: &Roots, path: &str) -> String {
    let roots = roots.shown();
    let roots = if roots.is_empty() { "none are configured".to_owned() } else { format!("they are {roots}") };
    format!(
        "the agent itself may not read {path:?}: it reads below its read roots only, where it has the right \
         and no secrets are kept; {roots} (read_roots in [tools] of agent.toml)"
    )
}
