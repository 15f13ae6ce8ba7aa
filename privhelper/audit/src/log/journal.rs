//! Records and tips as messages of systemd's journal, with fields: log forwarders take them along.

use super::chain::Appended;
use super::record::{Event, Record};
use crate::sys::sockets::Journal;
use postern_policy::types::Digest;
use postern_record::json::escaped;

/// `journalctl MESSAGE_ID=…`: every record.
pub const RECORD: &str = "5f0d2c8e7b1a4f6d9c3e8a7b6d5c4f21";
/// `journalctl MESSAGE_ID=…`: where the log ends.
pub const TIP: &str = "c2e4a6b81d3f4a5c9e7b0d2f4a6c8e11";
/// A longer record is in the log alone.
const LINE_MAX: usize = 48 * 1024;

/// Sends a record to the journal.
pub fn send(journal: &Journal, event: Event, record: &Record, appended: &Appended) {
    let Appended { seq, line } = appended;
    let mut text = format!(
        "MESSAGE_ID={RECORD}\nPRIORITY={}\nSYSLOG_IDENTIFIER=postern-audit\nPOSTERN_SEQ={seq}\nPOSTERN_EVENT={}\n",
        event.priority(),
        event.as_str()
    );
    let claim = &record.claim;
    let uid = record.client.map(|peer| peer.uid.to_string()).unwrap_or_default();
    let mut message = format!("audit record {seq}: {}", event.as_str());
    for (name, value) in [
        ("VERB", &claim.verb),
        ("REQUEST_ID", &claim.request_id),
        ("RULE", &claim.rule),
        ("DECISION", &claim.decision),
        ("CLIENT", &claim.client),
        ("CLIENT_UID", &uid),
        ("TASK", &claim.task),
        ("TRACE_ID", &claim.trace_id),
    ] {
        if !value.is_empty() {
            let value = escaped(value);
            message.extend([" ", &name.to_ascii_lowercase(), "=", &value]);
            text.extend(["POSTERN_", name, "=", &value, "\n"]);
        }
    }
    text.extend(["MESSAGE=", &message, "\n"]);
    if line.len() <= LINE_MAX {
        // A record never holds a line feed.
        text.extend(["POSTERN_RECORD=", line, "\n"]);
    }
    journal.send(&text);
}

/// Sends the number and hash of the last record to the journal, for comparison later.
pub fn send_tip(journal: &Journal, seq: u64, hash: Digest) {
    journal.send(&format!(
        "MESSAGE=audit log ends with record {seq}, hash {hash}\nMESSAGE_ID={TIP}\nPRIORITY=6\n\
         SYSLOG_IDENTIFIER=postern-audit\nPOSTERN_SEQ={seq}\nPOSTERN_HASH={hash}\n"
    ));
}
