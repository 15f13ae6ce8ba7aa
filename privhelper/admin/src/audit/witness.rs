//! The second witness: root writes a line into the journal before each effect, which the recorder cannot write.
//!
//! A line counts by journald's own word for who wrote it. `begin` holds the digest of the order that root got, so the two
//! must name the same orders.

use super::lines::Lines;
use super::record::{Record, hex, words};
use crate::host::Host;
use crate::lint::gather;
use postern_proto::link::order_id;
use postern_record::rfc3339;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Units of root's programs whose lines count; the last is a template.
const UNITS: [&str; 3] = ["postern-files.service", "postern-units.service", "postern-packages@"];
/// How a line begins.
const MARK: &str = "postern-act v1 ";

/// The statement of one side about an order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Act {
    digest: String,
    uid: String,
    verb: String,
}

/// The comparison of log and journal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Witness {
    /// Lines in the journal.
    pub lines: u64,
    /// Records of effects that have their line.
    pub matched: u64,
    /// The differences, each one sentence.
    pub wrong: Vec<String>,
}

/// An entry of the journal. Fields that begin with `_` are journald's own word.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_UID")]
    uid: String,
    #[serde(rename = "_SYSTEMD_UNIT")]
    unit: String,
    #[serde(rename = "__REALTIME_TIMESTAMP")]
    unix_us: String,
    #[serde(rename = "MESSAGE")]
    message: String,
}

/// Compares this host's journal with the log's files.
///
/// # Errors
/// The journal cannot be asked, or a file not be read.
pub fn compare(host: &Host, files: &[PathBuf]) -> Result<Witness, String> {
    let Some(journalctl) = &host.journalctl else { return Err("there is no journal".to_owned()) };
    let mut arguments: Vec<String> =
        ["--no-pager", "--quiet", "--output=json", "--output-fields=_UID,_SYSTEMD_UNIT,MESSAGE"]
            .map(str::to_owned)
            .into();
    for unit in UNITS {
        let unit = unit.strip_suffix('@').map_or(unit.to_owned(), |unit| format!("{unit}@*.service"));
        arguments.extend(["--unit".to_owned(), unit]);
    }
    let text = gather::run(journalctl, &arguments)?;
    let entries = text.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok());
    let entries = entries.filter_map(|entry| entry.act(host)).collect::<Vec<_>>();
    let began = entries.iter().map(|(unix_us, ..)| *unix_us).min();
    let began = began.map(|unix_us| rfc3339(Duration::from_micros(unix_us)));
    let mut witness = Witness { lines: entries.len() as u64, ..Witness::default() };
    let mut acts = BTreeMap::new();
    for (_, order, act) in entries {
        if let Some(known) = acts.insert(order.clone(), act.clone()).filter(|known| *known != act) {
            witness.wrong.push(format!("root wrote two different lines for order {order}: {known}; {act}"));
        }
    }
    let mut log = Effects::default();
    for file in files {
        log.read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let mut effects = log.effects.into_iter().collect::<Vec<_>>();
    effects.sort_by_key(|(_, effect)| effect.seq);
    for (order, Effect { seq, time, act, is_done }) in effects {
        match acts.remove(&order) {
            Some(root) if root == act => witness.matched += 1,
            Some(root) => {
                witness
                    .wrong
                    .push(format!("record {seq} and root's line in the journal differ: {act}; {root}"));
            }
            // An effect from before the journal's first line cannot be in it.
            None if is_done && began.as_ref().is_some_and(|began| time > *began) => {
                witness.wrong.push(format!(
                    "record {seq} is of an effect without a line of root's in the journal: {act}"
                ));
            }
            None => {}
        }
    }
    // A log without its first records does not name everything that the journal still has.
    if log.first == Some(1) {
        let unrecorded =
            acts.iter().map(|(order, act)| format!("root did order {order}, which no record names: {act}"));
        witness.wrong.extend(unrecorded);
    }
    Ok(witness)
}

/// The effects that the log names.
#[derive(Default)]
struct Effects {
    /// Number of the first record.
    first: Option<u64>,
    /// By the order's id.
    effects: BTreeMap<String, Effect>,
}

/// A `begin` with what became of it.
struct Effect {
    seq: u64,
    /// As the record has it.
    time: String,
    act: Act,
    is_done: bool,
}

/// The members of an effect's record that are compared.
#[derive(Deserialize)]
struct Recorded {
    time: String,
    order: Option<String>,
    request_id: Option<String>,
    client: Option<Client>,
    verb: Option<String>,
    outcome: Option<Status>,
}

#[derive(Deserialize)]
struct Client {
    uid: u32,
}

#[derive(Deserialize)]
struct Status {
    status: Option<String>,
}

impl Effects {
    fn read(&mut self, file: &Path) -> io::Result<()> {
        let mut lines = Lines::open(file)?;
        while let Some((line, _)) = lines.next()? {
            let Ok(record) = Record::read(line) else { continue };
            self.first = self.first.or(Some(record.seq));
            if matches!(record.event, b"begin" | b"end") {
                self.take(&record);
            }
        }
        Ok(())
    }

    fn take(&mut self, record: &Record<'_>) -> Option<()> {
        let read: Recorded = serde_json::from_slice(record.line).ok()?;
        let (request_id, uid) = (read.request_id?, read.client?.uid);
        let order = words(&hex(&order_id(uid, &request_id)));
        if record.event == b"end" {
            let is_done = read.outcome?.status.is_some_and(|status| status == "done");
            self.effects.get_mut(&order)?.is_done = is_done;
        } else {
            let act = Act { digest: read.order?, uid: uid.to_string(), verb: read.verb? };
            self.effects.insert(order, Effect { seq: record.seq, time: read.time, act, is_done: false });
        }
        Some(())
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of uid {}, order {}", self.verb, self.uid, self.digest)
    }
}

impl Entry {
    /// The time, order and act of a line of root's own.
    fn act(&self, host: &Host) -> Option<(u64, String, Act)> {
        let is_root = UNITS.iter().any(|unit| match unit.strip_suffix('@') {
            Some(template) => self.unit.strip_prefix(template).is_some_and(|rest| rest.starts_with('@')),
            None => self.unit == *unit,
        });
        // postern-files has a uid of its own.
        let files = (host.accounts.user)("postern-files").map(|uid| uid.to_string());
        let uid = if self.unit == UNITS[0] { files? } else { "0".to_owned() };
        let words = self.message.strip_prefix(MARK)?.split(' ').collect::<Vec<_>>();
        let [order, digest, by, verb, _decision] = words.as_slice() else { return None };
        let act = Act { digest: (*digest).to_owned(), uid: (*by).to_owned(), verb: (*verb).to_owned() };
        (is_root && self.uid == uid).then_some((self.unix_us.parse().ok()?, (*order).to_owned(), act))
    }
}
