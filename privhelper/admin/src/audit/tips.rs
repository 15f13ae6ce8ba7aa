//! Records that are known from elsewhere: tips that the helper left in the journal, those that somebody kept, and the
//! running helper's own keys.

use super::proof::{Known, Source};
use super::record::{Hex, hex};
use crate::host::Host;
use crate::lint::gather;
use postern_helper::audit::TIP;
use postern_helper::audit::seal::Running;
use postern_policy::types::Digest;
use serde::Deserialize;

/// The unit whose entries count, by journald's own word.
const UNIT: &str = "postern-helper.service";
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
}

/// The tips in this host's journal.
///
/// # Errors
/// Why the journal cannot be asked.
pub fn journal(host: &Host) -> Result<Vec<Known>, String> {
    let Some(journalctl) = &host.journalctl else { return Ok(Vec::new()) };
    let arguments = [
        "--no-pager".to_owned(),
        "--quiet".to_owned(),
        "--output=json".to_owned(),
        "--output-fields=_UID,_SYSTEMD_UNIT,MESSAGE_ID,POSTERN_SEQ,POSTERN_HASH".to_owned(),
        format!("--lines={TIPS_MAX}"),
        format!("MESSAGE_ID={TIP}"),
        "_UID=0".to_owned(),
        format!("_SYSTEMD_UNIT={UNIT}"),
    ];
    Ok(gather::run(journalctl, &arguments)?.lines().filter_map(tip).collect())
}

/// The tip in an entry, if it is one that the helper wrote.
fn tip(line: &str) -> Option<Known> {
    let entry: Entry = serde_json::from_str(line).ok()?;
    let is_helpers = entry.uid == "0" && entry.unit == UNIT && entry.id == TIP;
    let known = known(&entry.seq, &entry.hash, Source::Journal)?;
    is_helpers.then_some(known)
}

/// A tip that was kept: `SEQ:HASH`.
///
/// # Errors
/// Another form.
pub fn told(text: &str) -> Result<Known, String> {
    let parts = text.split_once(':').and_then(|(seq, hash)| known(seq, hash, Source::Told));
    parts.ok_or_else(|| "write it as SEQ:HASH, the way `audit verify` prints it".to_owned())
}

/// Where the running helper's keys stand. Only root can read them.
pub fn running(host: &Host) -> Option<Known> {
    let running = Running::decode(&std::fs::read(&host.seal).ok()?)?;
    let (hash, key) = (hex(&running.hash.array()), Some(running.key));
    Some(Known { seq: running.seq, hash, key, source: Source::Helper })
}

fn known(seq: &str, hash: &str, source: Source) -> Option<Known> {
    let hash: Hex = hex(&Digest::from_hex(hash)?.array());
    Some(Known { seq: seq.parse().ok()?, hash, key: None, source })
}
