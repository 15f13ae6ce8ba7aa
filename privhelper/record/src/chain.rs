//! The lines of a hash chain (`privhelper/audit/AUDIT.md`, "A line"): how a record becomes one, and how the last one is read.
//! The recorder's log and the agent's have the same form.

use super::Json;
use postern_policy::types::Digest;

/// The last record of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct End {
    /// Its number; 0 = there is none.
    pub seq: u64,
    /// Hash of the one before.
    pub prev: Digest,
    /// Its hash.
    pub hash: Digest,
    /// Its seal.
    pub seal: Option<Digest>,
    /// The boot that wrote it.
    pub boot_id: String,
    /// Its event.
    pub event: String,
    /// Whether its hash is not that of its bytes.
    pub is_changed: bool,
}

/// The size and digest of bytes at the end of a log that are no record.
pub type Torn = Option<(u64, Digest)>;

/// Returns the bytes that a record's hash is of, and the hash.
#[must_use]
pub fn hashed(head: &Json, members: &Json, prev: Digest) -> (String, Digest) {
    let comma = if members.members().is_empty() { "" } else { "," };
    let hashed = format!("{{{}{comma}{},\"prev\":\"{prev}\"", head.members(), members.members());
    let hash = Digest::of(&[hashed.as_bytes()]);
    (hashed, hash)
}

/// Returns the last record in these bytes, none if there is none, and what follows it: also a `torn` record that was itself
/// cut short, with the line that it was to name.
#[must_use]
pub fn last(bytes: &[u8]) -> (Option<End>, Torn) {
    let mut end = bytes.iter().rposition(|byte| *byte == b'\n');
    let torn = |from: usize| {
        let torn = bytes.get(from..).unwrap_or_default();
        (!torn.is_empty()).then(|| (u64::try_from(torn.len()).unwrap_or(u64::MAX), Digest::of(&[torn])))
    };
    while let Some(at) = end {
        let before = bytes.get(..at).unwrap_or_default().iter().rposition(|byte| *byte == b'\n');
        let line = bytes.get(before.map_or(0, |lf| lf.saturating_add(1))..at).unwrap_or_default();
        if let Some(record) = std::str::from_utf8(line).ok().and_then(record) {
            return (Some(record), torn(at.saturating_add(1)));
        }
        end = before;
    }
    (None, torn(0))
}

/// Reads a line as the record that it says it is.
fn record(line: &str) -> Option<End> {
    let rest = line.strip_suffix("\"}")?;
    let (rest, seal) = match rest.rsplit_once("\",\"seal\":\"") {
        Some((rest, seal)) => (rest, Some(Digest::from_hex(seal)?)),
        None => (rest, None),
    };
    let (hashed, hash) = rest.rsplit_once(",\"hash\":\"")?;
    let (_, prev) = hashed.strip_suffix('"')?.rsplit_once(",\"prev\":\"")?;
    // The writer's own members come first, before any text of others.
    let member = |name: &str| Some(line.split_once(name)?.1.split_once('"')?.0.to_owned());
    let hash = Digest::from_hex(hash)?;
    Some(End {
        seq: number(line)?,
        prev: Digest::from_hex(prev)?,
        hash,
        seal,
        boot_id: member(",\"boot_id\":\"")?,
        event: member(",\"event\":\"")?,
        is_changed: Digest::of(&[hashed.as_bytes()]) != hash,
    })
}

/// Returns the number of the record in a line.
#[must_use]
pub fn number(line: &str) -> Option<u64> {
    line.strip_prefix("{\"v\":1,\"seq\":")?.split_once(',')?.0.parse().ok()
}
