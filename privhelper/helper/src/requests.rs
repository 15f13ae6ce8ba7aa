//! The memory of request ids: the same id acts once, also across a restart.
//!
//! `requests/log` holds two entries a request, each synced: when it is about
//! to begin and when it has ended. Kept for 24 hours, compacted at start.

use crate::error::{Fault, Stop};
use crate::reply::Watchers;
use crate::sys::{locked, store};
use postern_policy::types::{Digest, RequestId};
use postern_policy::{Code, Denied};
use postern_proto::root::v1::RequestRecord;
use postern_proto::v1::{self as wire, Completed};
use prost::Message;
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How old an id may be, in milliseconds.
const KEPT_MS: u64 = 24 * 60 * 60 * 1000;
/// How far ahead of our clock an id may be, in milliseconds.
const AHEAD_MS: u64 = 5 * 60 * 1000;
/// How long an entry is kept, in seconds: until its id is too old even if it was ahead, and a little more.
const KEPT_S: u64 = 25 * 60 * 60;
/// The log is written anew when it has grown by this many bytes.
const GROWTH_MAX: u64 = 32 * 1024 * 1024;
/// A larger outcome is kept without its plan; if that is not enough without its packages, then with no more of files
/// than their paths, and with the first of them that fit.
const OUTCOME_MAX: usize = 16 * 1024;
/// Most ids kept at once.
const IDS_MAX: usize = 10_000;

type Key = (u32, String);

#[derive(Debug)]
struct Slot {
    record: RequestRecord,
    /// Who watches it while it runs.
    watchers: Option<Arc<Watchers>>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    file: File,
    size: u64,
    /// At this size the log is written anew.
    limit: u64,
    slots: HashMap<Key, Slot>,
}

/// What is known of an id.
#[derive(Debug)]
pub enum Seen {
    /// Nothing.
    New,
    /// It has ended so.
    Done(Box<Completed>),
    /// It runs; who asks is attached.
    Running,
}

/// The store.
#[derive(Debug)]
pub struct Requests {
    inner: Mutex<Inner>,
}

impl Requests {
    /// Reads and compacts the log; returns the requests that an earlier helper began and did not end.
    ///
    /// # Errors
    /// It can't be read or written.
    pub fn open(directory: &Path, unix: Duration) -> Result<(Self, Vec<RequestRecord>), Fault> {
        let path: PathBuf = directory.join("log");
        let mut slots: HashMap<Key, Slot> = HashMap::new();
        for record in entries(&store::read(&path, u64::MAX)?.unwrap_or_default()) {
            let key = (record.uid, record.request_id.clone());
            if record.begun_unix_us == 0 {
                slots.remove(&key);
            } else {
                slots.insert(key, Slot { record, watchers: None });
            }
        }
        drop_old(&mut slots, unix.as_secs());
        let (file, size) = write_anew(&path, &slots)?;
        let unfinished = slots.values().filter(|slot| slot.record.completed.is_none());
        let unfinished = unfinished.map(|slot| slot.record.clone()).collect();
        let limit = size.saturating_add(GROWTH_MAX);
        Ok((Self { inner: Mutex::new(Inner { path, file, size, limit, slots }) }, unfinished))
    }

    /// What is known of this id; attaches the caller if it runs.
    ///
    /// # Errors
    /// `request_id_conflict` for other bytes under the same id, `request_id_expired` for an id out of its window.
    pub fn look(
        &self,
        uid: u32,
        id: &RequestId,
        digest: Digest,
        now_ms: u64,
        attach: impl FnOnce(&Watchers),
    ) -> Result<Seen, Denied> {
        let inner = locked(&self.inner);
        if let Some(slot) = inner.slots.get(&(uid, id.to_string())) {
            if slot.record.digest != digest.as_bytes() {
                let why = "this request_id stands for another request; use a new one";
                return Err(Denied::new(Code::RequestIdConflict, why));
            }
            return Ok(match (&slot.record.completed, &slot.watchers) {
                (Some(completed), _) => Seen::Done(Box::new(completed.clone())),
                (None, Some(watchers)) => {
                    attach(watchers);
                    Seen::Running
                }
                (None, None) => {
                    return Err(Denied::new(
                        Code::Busy,
                        "this request is being taken up again; ask for its result",
                    ));
                }
            });
        }
        if id.unix_ms().saturating_add(KEPT_MS) < now_ms || id.unix_ms() > now_ms.saturating_add(AHEAD_MS) {
            let why = "this request_id is older than 24 hours or ahead of the clock; use a new one";
            return Err(Denied::new(Code::RequestIdExpired, why));
        }
        Ok(Seen::New)
    }

    /// The recorded outcome of a client's own request; to another uid an id is unknown.
    ///
    /// # Errors
    /// `unknown_request`, or `busy` while it runs.
    pub fn result(&self, uid: u32, id: &RequestId) -> Result<Completed, Denied> {
        match locked(&self.inner).slots.get(&(uid, id.to_string())).map(|slot| &slot.record.completed) {
            Some(Some(completed)) => Ok(completed.clone()),
            Some(None) => Err(Denied::new(Code::Busy, "this request has not ended yet")),
            None => Err(Denied::new(Code::UnknownRequest, "no request of yours has this id")),
        }
    }

    /// One of a client's own requests that has ended.
    ///
    /// # Errors
    /// `unknown_request`, or `busy` while it runs.
    pub fn ended_of(&self, uid: u32, id: &RequestId) -> Result<RequestRecord, Denied> {
        self.result(uid, id)?;
        let record = locked(&self.inner).slots.get(&(uid, id.to_string())).map(|slot| slot.record.clone());
        record.ok_or_else(|| Denied::new(Code::UnknownRequest, "no request of yours has this id"))
    }

    /// Begin records of this rule since a time: what rates count.
    #[must_use]
    pub fn begun_since(&self, rule: &str, since_unix_s: u64) -> usize {
        let recent = |slot: &&Slot| {
            slot.record.rules.iter().any(|used| used == rule) && begun_s(&slot.record) >= since_unix_s
        };
        locked(&self.inner).slots.values().filter(recent).count()
    }

    /// Takes the id, on disk, before the begin record. If the same request was faster, its watchers get these too.
    ///
    /// # Errors
    /// Somebody was faster with other bytes, 10,000 ids are kept (`rate_limited`), or the log can't take it.
    pub fn take(&self, record: RequestRecord, watchers: &Arc<Watchers>) -> Result<(), Stop> {
        let mut inner = locked(&self.inner);
        let key = (record.uid, record.request_id.clone());
        // One that waited for a person has its id already.
        if let Some(slot) = inner.slots.get(&key).filter(|slot| !slot.is_of(watchers)) {
            return Err(match &slot.watchers {
                Some(others) if slot.record.digest == record.digest => {
                    others.adopt(watchers);
                    Stop::Attached
                }
                _ => Denied::new(Code::Busy, "this request has just been made; ask for its result").into(),
            });
        }
        if inner.slots.len() >= IDS_MAX {
            drop_old(&mut inner.slots, begun_s(&record));
        }
        if inner.slots.len() >= IDS_MAX {
            return Err(Denied::new(Code::RateLimited, "too many requests are kept; wait").into());
        }
        inner.append(&record)?;
        inner.slots.insert(key, Slot { record, watchers: Some(Arc::clone(watchers)) });
        Ok(())
    }

    /// Gives an id back that was taken and not begun.
    ///
    /// # Errors
    /// The log can't take it; the id then counts as interrupted after a restart.
    pub fn release(&self, uid: u32, id: &str) -> Result<(), Fault> {
        let mut inner = locked(&self.inner);
        match inner.slots.remove(&(uid, id.to_owned())) {
            Some(slot) => inner.append(&RequestRecord { begun_unix_us: 0, ..slot.record }),
            None => Ok(()),
        }
    }

    /// Notes the outcome, on disk. Nobody can attach any more.
    ///
    /// # Errors
    /// The log can't take it.
    pub fn finish(&self, uid: u32, id: &str, completed: &Completed) -> Result<(), Fault> {
        let mut inner = locked(&self.inner);
        let Some(slot) = inner.slots.get_mut(&(uid, id.to_owned())) else {
            return Ok(());
        };
        slot.watchers = None;
        slot.record.completed = Some(bounded(completed));
        let record = slot.record.clone();
        inner.append(&record)
    }

    /// What has begun and not ended. What waits for a person has used up no rule yet.
    #[must_use]
    pub fn running(&self) -> Vec<wire::Running> {
        let inner = locked(&self.inner);
        let running = inner
            .slots
            .values()
            .map(|slot| &slot.record)
            .filter(|record| record.completed.is_none() && !record.rules.is_empty());
        let running = running.map(|record| wire::Running {
            request_id: record.request_id.clone(),
            uid: record.uid,
            verb: record.verb.clone(),
            since_unix_s: begun_s(record),
        });
        running.collect()
    }

    /// The requests that have ended and that `fits` is about, newest first.
    #[must_use]
    pub fn ended(&self, fits: impl Fn(&RequestRecord) -> bool) -> Vec<RequestRecord> {
        let inner = locked(&self.inner);
        let ended = inner.slots.values().map(|slot| &slot.record).filter(|record| record.completed.is_some());
        let mut ended = ended.filter(|record| fits(record)).cloned().collect::<Vec<_>>();
        ended.sort_by_key(|record| std::cmp::Reverse(record.begun_unix_us));
        ended
    }

    /// Notes on disk whether a request is taken back; false if it was noted so already.
    ///
    /// # Errors
    /// The log can't take it.
    pub fn note_undone(&self, uid: u32, id: &str, undone: bool) -> Result<bool, Fault> {
        let mut inner = locked(&self.inner);
        let key = (uid, id.to_owned());
        let known = inner.slots.get(&key).map(|slot| &slot.record).filter(|known| known.undone != undone);
        let Some(record) = known.map(|known| RequestRecord { undone, ..known.clone() }) else {
            return Ok(false);
        };
        inner.append(&record)?;
        inner.slots.entry(key).and_modify(|slot| slot.record = record);
        Ok(true)
    }

    /// Lets others attach to a request that is taken up again after a restart.
    pub fn watch(&self, uid: u32, id: &str, watchers: &Arc<Watchers>) {
        if let Some(slot) = locked(&self.inner).slots.get_mut(&(uid, id.to_owned())) {
            slot.watchers = Some(Arc::clone(watchers));
        }
    }
}

impl Slot {
    fn is_of(&self, watchers: &Arc<Watchers>) -> bool {
        self.watchers.as_ref().is_some_and(|own| Arc::ptr_eq(own, watchers))
    }
}

impl Inner {
    /// An entry that fails halfway is cut off again, or those after it could not be read.
    fn append(&mut self, record: &RequestRecord) -> Result<(), Fault> {
        if self.size > self.limit {
            (self.file, self.size) = write_anew(&self.path, &self.slots)?;
            self.limit = self.size.saturating_add(GROWTH_MAX);
        }
        let bytes = record.encode_length_delimited_to_vec();
        if let Err(error) = self.file.write_all(&bytes) {
            self.file.set_len(self.size).map_err(Fault::io("cut the log of request ids"))?;
            return Err(Fault::Io { doing: "write the log of request ids", error });
        }
        self.size = self.size.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.file.sync_data().map_err(Fault::io("sync the log of request ids"))
    }
}

fn begun_s(record: &RequestRecord) -> u64 {
    Duration::from_micros(record.begun_unix_us).as_secs()
}

/// Entries whose ids are too old to be asked for again. What has not ended stays.
fn drop_old(slots: &mut HashMap<Key, Slot>, now_s: u64) {
    let oldest = now_s.saturating_sub(KEPT_S);
    slots.retain(|_, slot| slot.record.completed.is_none() || begun_s(&slot.record) >= oldest);
}

/// Writes one entry a request, and opens the log for more.
fn write_anew(path: &Path, slots: &HashMap<Key, Slot>) -> Result<(File, u64), Fault> {
    let bytes =
        slots.values().flat_map(|slot| slot.record.encode_length_delimited_to_vec()).collect::<Vec<_>>();
    store::replace(path, &bytes)?;
    Ok((store::open_log(path, 0o600)?, u64::try_from(bytes.len()).unwrap_or(u64::MAX)))
}

fn bounded(completed: &Completed) -> Completed {
    let mut kept = completed.clone();
    if kept.encoded_len() > OUTCOME_MAX {
        kept.plan = None;
    }
    if kept.encoded_len() > OUTCOME_MAX {
        kept.packages.clear();
    }
    if kept.encoded_len() > OUTCOME_MAX {
        for file in &mut kept.files {
            *file = wire::FileInfo { path: std::mem::take(&mut file.path), ..wire::FileInfo::default() };
        }
    }
    while kept.encoded_len() > OUTCOME_MAX && kept.files.len() > 1 {
        kept.files.pop();
    }
    kept
}

/// The whole entries; a torn one at the end never took effect.
fn entries(mut bytes: &[u8]) -> Vec<RequestRecord> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        match RequestRecord::decode_length_delimited(&mut bytes) {
            Ok(record) => records.push(record),
            Err(_) => break,
        }
    }
    records
}
