//! Request ids: an effect runs at most once per (uid, request id), across restarts. The audit log holds them.

use crate::log::IDS;
use crate::subscribers::Subscribers;
use postern_peers::locked;
use postern_policy::types::RequestId;
use postern_policy::{Code, Denied, VerbId};
use postern_proto::link::INVERSE_MAX;
use postern_proto::root::v1::{Inverse, Recalled, RequestState};
use postern_proto::v1::{self as wire, Completed, Status};
use prost::Message;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Oldest id that is accepted, in milliseconds.
const AGE_MS: u64 = 24 * 60 * 60 * 1000;
/// Furthest ahead of our clock that an id may be, in milliseconds.
const AHEAD_MS: u64 = 5 * 60 * 1000;
/// A longer outcome is kept without its plan; then without packages and with the paths of its files alone, as many as
/// fit.
const OUTCOME_MAX: usize = 16 * 1024;
/// Most ids of one uid; operators' undos are counted apart.
const IDS_MAX: usize = 4_000;
/// Most bytes that are kept of one uid.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most bytes that one request may need: an inverse, an outcome, and the rest.
const EACH_MAX: usize = INVERSE_MAX + OUTCOME_MAX + 8 * 1024;

type Key = (u32, String);

struct Entry {
    state: RequestState,
    /// The subscribers while it runs.
    running: Option<Arc<Subscribers>>,
    undone: bool,
    /// Bytes that it may need, or that it uses once it has ended.
    bytes: usize,
}

impl Entry {
    fn new(state: RequestState, running: &Arc<Subscribers>) -> Self {
        Self { state, running: Some(Arc::clone(running)), undone: false, bytes: EACH_MAX }
    }
}

/// Why an id cannot be taken.
pub enum Taken {
    /// It is known, with this state.
    Known(Box<Recalled>),
    /// It runs.
    Running(Arc<Subscribers>),
    /// Too many are kept.
    Full(Denied),
}

/// The request ids of the last 25 hours.
#[derive(Default)]
pub struct Requests(Mutex<HashMap<Key, Entry>>);

impl Requests {
    /// Adds a state that the log holds, such as a beginning or an outcome once it is recorded.
    pub fn restore(&self, state: RequestState) {
        let mut entries = locked(&self.0);
        let key = (state.uid, state.request_id.clone());
        let entry = entries.entry(key).or_insert_with(|| Entry::new(state.clone(), &Arc::default()));
        let is_done = state.completed.as_ref().is_some_and(is_done);
        let mut loaded = Vec::new();
        if state.completed.is_some() {
            let known = &mut entry.state;
            if is_done && keep_until(known) > 0 && keep_until(&state) == 0 && state.not_taken_back.is_empty()
            {
                loaded.clone_from(&known.touches);
            }
            (known.completed, known.inverse) = (state.completed, state.inverse);
            known.not_taken_back = state.not_taken_back;
            if !state.boot_id.is_empty() {
                (known.boot_id, known.ended_us) = (state.boot_id, state.ended_us);
                known.keep_within_s = state.keep_within_s;
            }
            (entry.running, entry.bytes) = (None, entry.state.encoded_len());
        } else {
            entry.state = state;
        }
        let undoes = (entry.state.undoes_uid, entry.state.undoes.clone());
        // Whoever keeps a run of a command keeps the files that it has put in force.
        let is_kept = |by: &String| loaded.contains(by);
        if !loaded.is_empty() {
            for other in entries.values_mut().map(|other| &mut other.state) {
                if !other.loaded_by.is_empty() && other.loaded_by.iter().all(is_kept) {
                    *other = settled(other, "");
                }
            }
        }
        if let Some(undone) = entries.get_mut(&undoes).filter(|_| is_done) {
            undone.undone = true;
        }
    }

    /// Returns the requests that run or wait, with their subscribers.
    pub fn unfinished(&self) -> Vec<(RequestState, Arc<Subscribers>)> {
        let entries = locked(&self.0);
        let unfinished = entries.values().filter(|entry| entry.state.completed.is_none());
        unfinished
            .filter_map(|entry| Some((entry.state.clone(), Arc::clone(entry.running.as_ref()?))))
            .collect()
    }

    /// Returns the state of an id, and its subscribers if it runs. Without `digest` the request is not compared.
    pub fn recall(
        &self,
        uid: u32,
        id: &RequestId,
        digest: Option<&[u8]>,
        now: Duration,
    ) -> (Recalled, Option<Arc<Subscribers>>) {
        recall(&locked(&self.0), uid, id, digest, now)
    }

    /// Checks that nobody has undone, or begun to undo, the request that this one undoes.
    ///
    /// # Errors
    /// `undo_gone`.
    pub fn check_undo(&self, state: &RequestState) -> Result<(), Denied> {
        let entries = locked(&self.0);
        let of = (state.undoes_uid, state.undoes.clone());
        let begun = |other: &Entry| {
            let other_of = (other.state.undoes_uid, &other.state.undoes);
            other.running.is_some() && other.state.begun_unix_us > 0 && other_of == (of.0, &of.1)
        };
        let is_undone = entries.get(&of).is_some_and(|of| of.undone) || entries.values().any(begun);
        if state.undoes.is_empty() || !is_undone {
            return Ok(());
        }
        Err(Denied::new(Code::UndoGone, "this request was undone already, or its undo has begun"))
    }

    /// Whether this request waits to be kept.
    pub fn is_unkept(&self, uid: u32, id: &str) -> bool {
        let entries = locked(&self.0);
        let entry = entries.get(&(uid, id.to_owned()));
        entry.is_some_and(|entry| keep_until(&entry.state) > 0 && !entry.undone)
    }

    /// Returns the newest later request that changed the same and has not been undone.
    pub fn later(&self, of: &RequestState) -> Option<String> {
        later(&locked(&self.0), of)
    }

    /// Takes an id, in memory: its first record makes it durable.
    ///
    /// # Errors
    /// It is known already, or too many are kept.
    pub fn take(&self, state: RequestState, running: &Arc<Subscribers>, now: Duration) -> Result<(), Taken> {
        let invalid = |invalid: postern_policy::Invalid| Taken::Full(invalid.into());
        let id = RequestId::new(&state.request_id).map_err(invalid)?;
        let mut entries = locked(&self.0);
        let (known, follows) = recall(&entries, state.uid, &id, Some(&state.body_sha256), now);
        if let Some(running) = follows {
            return Err(Taken::Running(running));
        }
        if known.state != "new" {
            return Err(Taken::Known(Box::new(known)));
        }
        let oldest = now.saturating_sub(IDS);
        let (mut count, mut bytes) = (1_usize, EACH_MAX);
        entries.retain(|_, entry| {
            let is_kept = is_since(entry, oldest);
            if is_kept && (entry.state.uid, entry.state.by_operator) == (state.uid, state.by_operator) {
                (count, bytes) = (count.saturating_add(1), bytes.saturating_add(entry.bytes));
            }
            is_kept
        });
        if count > IDS_MAX || bytes > BYTES_MAX {
            let why =
                "too many requests of this user are kept (4,000 or 16 MiB within 25 h); ask again later";
            return Err(Taken::Full(Denied::new(Code::RateLimited, why)));
        }
        let key = (state.uid, state.request_id.clone());
        entries.insert(key, Entry::new(state, running));
        Ok(())
    }

    /// Gives back an id that no record has taken.
    pub fn release(&self, uid: u32, id: &str) {
        locked(&self.0).remove(&(uid, id.to_owned()));
    }

    /// Returns the effects that have begun and not ended.
    pub fn running(&self) -> Vec<wire::Running> {
        let running = self.unfinished().into_iter().filter(|(state, _)| state.begun_unix_us > 0);
        let running = running.map(|(state, _)| wire::Running {
            since_unix_s: begun(&state).as_secs(),
            request_id: state.request_id,
            uid: state.uid,
            verb: state.verb,
        });
        running.collect()
    }

    /// Returns the last order about a reboot in this boot, if it scheduled one.
    pub fn reboot_of(&self, boot_id: &str) -> Option<RequestState> {
        let of = |one: &RequestState| one.boot_id == boot_id && one.verb == VerbId::HostReboot.name();
        let (last, undone) =
            self.ended(of).into_iter().find(|(one, _)| one.completed.as_ref().is_some_and(is_done))?;
        (!undone && !last.inverse.is_empty()).then_some(last)
    }

    /// Returns the changes that wait to be kept, oldest first.
    pub fn unkept(&self) -> Vec<RequestState> {
        let mut unkept = self.ended(|one| keep_until(one) > 0);
        unkept.reverse();
        unkept.into_iter().filter(|(_, undone)| !undone).map(|(one, _)| one).collect()
    }

    /// Returns the changes that had to be kept and could not be taken back, oldest first.
    pub fn not_taken_back(&self) -> Vec<RequestState> {
        let mut failed = self.ended(|one| !one.not_taken_back.is_empty());
        failed.reverse();
        failed.into_iter().filter(|(_, undone)| !undone).map(|(one, _)| one).collect()
    }

    /// Checks that nobody's change of the same waits to be kept, or runs and will: it could not be taken back after this one.
    /// An undo of that very change may begin.
    ///
    /// # Errors
    /// `busy`, with that request.
    pub fn check_kept(&self, state: &RequestState, now: Duration) -> Result<(), Denied> {
        let entries = locked(&self.0);
        let overlaps = |other: &RequestState| {
            let is_same =
                |one: &String| other.touches.iter().any(|path| contains(one, path) || contains(path, one));
            state.touches.iter().any(is_same) || loads(other, state)
        };
        let blocks = |entry: &&Entry| {
            let other = &entry.state;
            let is_undone = (state.undoes_uid, &state.undoes) == (other.uid, &other.request_id);
            let will_wait = entry.running.is_some() && other.begun_unix_us > 0 && other.keep_within_s > 0;
            let is_same = overlaps(other) || (entry.running.is_some() && loads(state, other));
            (will_wait || keep_until(other) > 0) && !entry.undone && !is_undone && is_same
        };
        let Some(first) = entries.values().find(blocks) else { return Ok(()) };
        let (id, left) = (&first.state.request_id, keep_until(&first.state).saturating_sub(now.as_secs()));
        let when = if first.running.is_some() { "it runs".to_owned() } else { format!("in {left} s") };
        let why = format!(
            "request {id} changed or loaded the same and must be kept first (postern keep {id}), or it is taken back ({when})"
        );
        Err(Denied { retry_after_s: u32::try_from(left).unwrap_or(0), ..Denied::new(Code::Busy, why) })
    }

    /// Returns the requests that have ended and match, newest first, and whether each was undone.
    pub fn ended(&self, matches: impl Fn(&RequestState) -> bool) -> Vec<(RequestState, bool)> {
        let entries = locked(&self.0);
        let ended = entries.values().filter(|entry| entry.state.completed.is_some() && matches(&entry.state));
        let mut ended = ended.map(|entry| (entry.state.clone(), entry.undone)).collect::<Vec<_>>();
        ended.sort_by_key(|(state, _)| std::cmp::Reverse(state.begun_unix_us));
        ended
    }
}

/// See [`Requests::recall`].
fn recall(
    entries: &HashMap<Key, Entry>,
    uid: u32,
    id: &RequestId,
    digest: Option<&[u8]>,
    now: Duration,
) -> (Recalled, Option<Arc<Subscribers>>) {
    let state = |state: &str| Recalled { state: state.to_owned(), ..Recalled::default() };
    let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let Some(entry) = entries.get(&(uid, id.to_string())) else {
        let is_old = id.unix_ms().saturating_add(AGE_MS) < now_ms;
        let is_ahead = id.unix_ms() > now_ms.saturating_add(AHEAD_MS);
        let unknown = if is_old || is_ahead { "expired" } else { "new" };
        return (state(if digest.is_some() { unknown } else { "unknown" }), None);
    };
    if digest.is_some_and(|digest| digest != entry.state.body_sha256) {
        return (state("conflict"), None);
    }
    if let Some(running) = &entry.running {
        return (state("running"), Some(Arc::clone(running)));
    }
    let completed = entry.state.completed.clone();
    let inverse = Inverse::decode(entry.state.inverse.as_slice()).ok();
    let inverse = inverse.filter(|_| !entry.state.inverse.is_empty());
    let later = later(entries, &entry.state).unwrap_or_default();
    (Recalled { completed, inverse, undone: entry.undone, later, ..state("ended") }, None)
}

/// See [`Requests::later`]. Counts even if the object is again as `of` left it: the changes between would be lost.
fn later(entries: &HashMap<Key, Entry>, of: &RequestState) -> Option<String> {
    let others = entries.values().filter(|other| {
        !other.undone
            && other.state.begun_unix_us > of.begun_unix_us
            && other.state.undoes.is_empty()
            && shares(of, &other.state)
    });
    others.max_by_key(|other| other.state.begun_unix_us).map(|other| other.state.request_id.clone())
}

/// Whether both changed the same unit or a common file, or the other ran the same command, or the inverse of this one, with
/// the same values.
fn shares(one: &RequestState, other: &RequestState) -> bool {
    let (Some(done), Some(others)) = (&one.completed, &other.completed) else { return false };
    if one.inverse.is_empty() || other.inverse.is_empty() || one.family != other.family {
        return false;
    }
    if one.family == "commands" {
        let call = |state: &RequestState| {
            let inverse = Inverse::decode(state.inverse.as_slice()).ok()?;
            wire::CommandRunRequest::decode(inverse.body.as_slice()).ok()
        };
        let (Some(mine), Some(theirs)) = (call(one), call(other)) else { return false };
        return mine.parameters == theirs.parameters
            && (mine.name == theirs.name || mine.name == other.target);
    }
    let unit = |done: &Completed| done.unit.as_ref().map(|unit| unit.id.clone());
    let has = |path: &str| others.files.iter().any(|file| file.path == path);
    (done.unit.is_some() && unit(done) == unit(others)) || done.files.iter().any(|file| has(&file.path))
}

/// Whether an id is in use or was so since `oldest`, or its change waits to be kept. A request that was refused never began:
/// its id has a time too.
fn is_since(entry: &Entry, oldest: Duration) -> bool {
    if keep_until(&entry.state) > 0 && !entry.undone {
        return true;
    }
    let of_id = || RequestId::new(&entry.state.request_id).map_or(0, |id| id.unix_ms());
    entry.running.is_some() || begun(&entry.state) >= oldest || Duration::from_millis(of_id()) >= oldest
}

/// Whether the first runs a command that puts files of the other in force.
pub fn loads(load: &RequestState, change: &RequestState) -> bool {
    change.loaded_by.iter().any(|by| load.touches.contains(by))
}

/// Returns a change without its deadline.
pub fn settled(change: &RequestState, not_taken_back: &str) -> RequestState {
    let mut settled = RequestState { not_taken_back: not_taken_back.to_owned(), ..change.clone() };
    if let Some(completed) = &mut settled.completed {
        completed.keep_until_unix_s = 0;
    }
    settled
}

/// Whether a path, or the name of a command, is the other one or a directory above it.
fn contains(above: &str, path: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns until when a change must be kept, since 1970; 0 = it stays.
pub fn keep_until(state: &RequestState) -> u64 {
    state.completed.as_ref().map_or(0, |completed| completed.keep_until_unix_s)
}

/// Returns when it began, since 1970.
pub fn begun(state: &RequestState) -> Duration {
    Duration::from_micros(state.begun_unix_us)
}

/// Returns whether it did what was asked.
pub fn is_done(completed: &Completed) -> bool {
    completed.status() == Status::Done
}

/// Returns an outcome as it is kept.
pub fn bounded(completed: &Completed) -> Completed {
    let mut kept = completed.clone();
    if kept.encoded_len() > OUTCOME_MAX {
        kept.plan = None;
    }
    if kept.encoded_len() > OUTCOME_MAX {
        kept.packages.clear();
        for file in &mut kept.files {
            *file = wire::FileInfo { path: std::mem::take(&mut file.path), ..wire::FileInfo::default() };
        }
    }
    while kept.encoded_len() > OUTCOME_MAX && kept.files.len() > 1 {
        kept.files.pop();
    }
    kept
}
