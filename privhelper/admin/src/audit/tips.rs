//! Records that are known from elsewhere: tips that the recorder left in the journal, those that somebody kept, and the
//! running recorder's own keys.

use super::proof::{KnownRecord, Source};
use super::record::{Hex, hex};
use crate::host::Host;
use crate::lint::gather;
use postern_policy::types::Digest;
use postern_seal::RunningKeys;
use serde::Deserialize;

/// The unit and user whose entries count, by journald's own word.
const UNIT: &str = "postern-audit.service";
const USER: &str = "postern-audit";
/// `journalctl MESSAGE_ID=…`: where the log ends.
const TIP: &str = "c2e4a6b81d3f4a5c9e7b0d2f4a6c8e11";
/// The newest so many: two hundred days at the usual interval.
const TIPS_MAX: usize = 30_000;

/// An entry of the journal. Fields that begin with `_` are journald's own word; the others are anybody's.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_UID")]
    uid: String,
    #[serde(rename = "_SYSTEMD_UNIT")]
    unit: String,
    #[serde(rename = "MESSAGE_ID")]
    id: String,
    #[serde(rename = "POSTERN_SEQ")]
    seq: String,
    #[serde(rename = "POSTERN_HASH")]
    hash: String,
    /// Microseconds since 1970 by journald's clock.
    #[serde(rename = "__REALTIME_TIMESTAMP", default)]
    realtime_us: String,
}

/// The tips in this host's journal.
///
/// # Errors
/// Why the journal cannot be asked.
pub fn journal(host: &Host) -> Result<Vec<KnownRecord>, String> {
    Ok(entries(host, TIPS_MAX)?.into_iter().map(|(known, _)| known).collect())
}

/// The number of the newest tip's record, and when the recorder left it in the journal, in seconds since 1970.
///
/// # Errors
/// As [`journal`].
pub fn newest(host: &Host) -> Result<Option<(u64, u64)>, String> {
    Ok(entries(host, 1)?.pop().and_then(|(known, unix_s)| Some((known.seq, unix_s?))))
}

/// The newest tips of the journal, oldest first, each with its time.
fn entries(host: &Host, most: usize) -> Result<Vec<(KnownRecord, Option<u64>)>, String> {
    let Some(journalctl) = &host.journalctl else { return Ok(Vec::new()) };
    let uid = (host.accounts.user)(USER).ok_or_else(|| format!("there is no user {USER}"))?.to_string();
    let arguments = [
        "--no-pager".to_owned(),
        "--quiet".to_owned(),
        "--output=json".to_owned(),
        "--output-fields=_UID,_SYSTEMD_UNIT,MESSAGE_ID,POSTERN_SEQ,POSTERN_HASH".to_owned(),
        format!("--lines={most}"),
        format!("MESSAGE_ID={TIP}"),
        format!("_UID={uid}"),
        format!("_SYSTEMD_UNIT={UNIT}"),
    ];
    Ok(gather::run(journalctl, &arguments)?.lines().filter_map(|line| tip(line, &uid)).collect())
}

/// The tip in an entry, if it is one that the recorder wrote.
fn tip(line: &str, uid: &str) -> Option<(KnownRecord, Option<u64>)> {
    let entry: Entry = serde_json::from_str(line).ok()?;
    let is_recorders = entry.uid == uid && entry.unit == UNIT && entry.id == TIP;
    let known = known(&entry.seq, &entry.hash, Source::Journal)?;
    let unix_s = entry.realtime_us.parse::<u64>().ok().map(|us| us / 1_000_000);
    is_recorders.then_some((known, unix_s))
}

/// A tip that was kept: `SEQ:HASH`.
///
/// # Errors
/// Another form.
pub fn parse(text: &str) -> Result<KnownRecord, String> {
    let parts = text.split_once(':').and_then(|(seq, hash)| known(seq, hash, Source::Argument));
    parts.ok_or_else(|| "write it as SEQ:HASH, the way `audit verify` prints it".to_owned())
}

/// The record that the running recorder's keys name. Only root can read them.
pub fn running(host: &Host) -> Option<KnownRecord> {
    let running = RunningKeys::decode(&std::fs::read(&host.seal).ok()?)?;
    let (hash, key) = (hex(&running.hash.array()), Some(running.key));
    Some(KnownRecord { seq: running.seq, hash, key, source: Source::Recorder })
}

fn known(seq: &str, hash: &str, source: Source) -> Option<KnownRecord> {
    let hash: Hex = hex(&Digest::from_hex(hash)?.array());
    Some(KnownRecord { seq: seq.parse().ok()?, hash, key: None, source })
}
