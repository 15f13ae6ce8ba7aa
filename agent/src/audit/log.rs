//! Appends records to the chain. One process writes it: `postern serve`.

use super::budget::{Budget, Suppressed};
use super::file::{LogFile, rotated};
use super::record::Record;
use postern_record::chain::{End, Torn, hashed, last, number};
use postern_record::{Digest, Json, rfc3339};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// A rotated file is removed when there are more than so many, and it is older than this.
const KEPT_FILES: usize = 32;
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The kernel's id of this boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// How large the log may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A larger file is rotated.
    pub file_bytes: u64,
    /// Bytes of a day; records beyond them are counted.
    pub day_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 16 << 20, day_bytes: 16 << 20 }
    }
}

/// The end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Number of the last record.
    pub seq: u64,
    /// Its hash.
    pub hash: [u8; 32],
}

/// The agent's log. One that is off records nothing.
#[derive(Debug, Default)]
pub struct AuditLog {
    chain: Option<Mutex<Chain>>,
    /// Why records were lost, until one is written again.
    fault: Mutex<Option<String>>,
    ended: Notify,
}

/// The open log and its end.
#[derive(Debug)]
struct Chain {
    log: LogFile,
    seq: u64,
    prev: Digest,
    boot_id: String,
    budget: Budget,
    file_bytes: u64,
    has_failed_to_rotate: bool,
}

/// The state in which a log was found.
struct Found {
    end: End,
    torn: Torn,
    /// It is a new file, and this one has the records before.
    rotated: Option<String>,
}

impl AuditLog {
    /// Continues the log in this directory. One that cannot be used is off, and [`Self::fault`] says why.
    #[must_use]
    pub fn open(directory: &Path, limits: Limits) -> Self {
        match Chain::open(directory, limits) {
            Ok(chain) => Self { chain: Some(Mutex::new(chain)), ..Self::default() },
            Err(error) => {
                let log = Self::default();
                log.lost(&format!("{}: {error}", directory.display()));
                log
            }
        }
    }

    /// Appends a record, not synced. One that cannot be written is lost: `health` says so until one is written again.
    pub fn append(&self, record: &Record) {
        let Some(mut chain) = self.chain() else { return };
        match chain.record(record) {
            Ok(()) => *locked(&self.fault) = None,
            Err(error) => {
                chain.budget.count(SystemTime::now());
                self.lost(&error.to_string());
            }
        }
        if record.ends_task() {
            self.ended.notify_one();
        }
    }

    /// Makes all records durable, and returns where the log ends; none if it is empty.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn tip(&self) -> io::Result<Option<Tip>> {
        let Some(mut chain) = self.chain() else { return Ok(None) };
        chain.tell_suppressed()?;
        let tip = Tip { seq: chain.seq, hash: chain.prev.array() };
        let file = chain.log.twin()?;
        // Records go on meanwhile.
        drop(chain);
        file.sync_data()?;
        Ok((tip.seq > 0).then_some(tip))
    }

    /// Waits until a task has ended.
    pub async fn task_ended(&self) {
        self.ended.notified().await;
    }

    /// Returns why records are lost, if they are.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        locked(&self.fault).clone()
    }

    fn chain(&self) -> Option<MutexGuard<'_, Chain>> {
        self.chain.as_ref().map(locked)
    }

    fn lost(&self, why: &str) {
        let why = format!("the agent's audit log cannot be written, so what it does is not recorded: {why}");
        tracing::error!(event = "audit", "{why}");
        *locked(&self.fault) = Some(why);
    }
}

impl Chain {
    fn open(directory: &Path, limits: Limits) -> io::Result<Self> {
        let mut log = LogFile::open(directory)?;
        let found = Found::of(&log)?;
        log.is_cut |= found.torn.is_some();
        let boot_id = std::fs::read_to_string(BOOT_ID).unwrap_or_default().trim().to_owned();
        let (seq, prev) = (found.end.seq, found.end.hash);
        let (file_bytes, budget) = (limits.file_bytes, Budget::new(limits.day_bytes));
        let mut chain = Self { log, seq, prev, boot_id, budget, file_bytes, has_failed_to_rotate: false };
        if let Some((size, digest)) = found.torn {
            let own = Json::new().number("size", size).text("sha256", &digest.to_string());
            chain.append("torn", &own)?;
        }
        if let Some(file) = found.rotated {
            chain.append("rotated", &Json::new().text("file", &file))?;
        }
        if found.end.is_changed {
            chain.tampered("the last record was changed: its hash is not that of its bytes")?;
        }
        Ok(chain)
    }

    /// Appends a record within the day's budget, after it has recorded changes by other programs.
    fn record(&mut self, record: &Record) -> io::Result<()> {
        if let Some(what) = self.log.watch()? {
            self.tampered(&format!("{what}, behind record {}", self.seq))?;
        }
        let members = record.members();
        if !self.budget.admit(members.members().len(), SystemTime::now()) {
            return Ok(());
        }
        self.append(record.event(), members)?;
        if self.log.size() >= self.file_bytes {
            // The record is written all the same; the next one tries again.
            let rotated = self.rotate();
            let has_failed = rotated.is_err();
            if let Err(error) = rotated
                && !self.has_failed_to_rotate
            {
                tracing::warn!(event = "audit", "the agent's audit log stays in one file: {error}");
            }
            self.has_failed_to_rotate = has_failed;
        }
        Ok(())
    }

    fn append(&mut self, event: &str, members: &Json) -> io::Result<()> {
        let seq = self.seq.saturating_add(1);
        let head =
            Json::new().number("v", 1).number("seq", seq).text("time", &rfc3339(unix(SystemTime::now())));
        let head = head.text("boot_id", &self.boot_id).text("event", event);
        let (hashed, hash) = hashed(&head, members, self.prev);
        self.log.append(&format!("{hashed},\"hash\":\"{hash}\"}}\n"))?;
        (self.seq, self.prev) = (seq, hash);
        Ok(())
    }

    fn tampered(&mut self, what: &str) -> io::Result<()> {
        tracing::error!(event = "audit", "another program changed the agent's audit log: {what}");
        self.append("tampered", &Json::new().object("outcome", &Json::new().text("detail", what)))
    }

    fn tell_suppressed(&mut self) -> io::Result<()> {
        let Some(over) = self.budget.take() else { return Ok(()) };
        let Suppressed { count, times: (first, last) } = over;
        let own = Json::new().number("count", count).text("first", &rfc3339(unix(first)));
        let told = self.append("suppressed", &own.text("last", &rfc3339(unix(last))));
        told.inspect_err(|_| self.budget.put_back(over))
    }

    /// Puts the file away under the number of its first record, and removes what retention lets go.
    fn rotate(&mut self) -> io::Result<()> {
        let first = number(&self.log.head()?).unwrap_or(self.seq);
        let name = format!("audit-{first:012}.jsonl");
        self.log.rotate(&name)?;
        let files = rotated(self.log.directory())?;
        let surplus = files.len().saturating_sub(KEPT_FILES);
        let past = files.iter().take(surplus).take_while(|file| file.is_older_than(KEPT)).count();
        let own = Json::new().text("file", &name);
        let kept = files.get(past).filter(|_| past > 0).map(|first| first.first);
        self.append("rotated", &kept.iter().fold(own, |own, kept| own.number("kept", *kept)))?;
        files.iter().take(past).try_for_each(|file| std::fs::remove_file(&file.path))
    }
}

impl Found {
    fn of(log: &LogFile) -> io::Result<Self> {
        let (end, torn) = last_of(log.tail()?)?;
        let newest = if end.seq == 0 && torn.is_none() { rotated(log.directory())?.pop() } else { None };
        match newest {
            Some(file) => Ok(Self { end: last_of(file.tail()?)?.0, torn, rotated: Some(file.name) }),
            None => Ok(Self { end, torn, rotated: None }),
        }
    }
}

fn last_of((bytes, is_all): (Vec<u8>, bool)) -> io::Result<(End, Torn)> {
    match last(&bytes) {
        (None, _) if !is_all => Err(io::Error::other("no record is near its end; move it away")),
        (end, torn) => Ok((end.unwrap_or_default(), torn)),
    }
}

fn unix(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
