//! What all connections share.

use crate::approvals::Approvals;
use crate::audit::{self, Audit, Event, Json, Limits, Record};
use crate::copies::Copies;
use crate::error::Fault;
use crate::host::Host;
use crate::host::Peer;
use crate::places::{Bodies, Places};
use crate::requests::Requests;
use crate::sys::log::Reserve;
use crate::sys::{locked, store};
use postern_policy::{Code, Denied, Policy};
use postern_proto::frame::METHOD_MAX;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// The helper.
#[derive(Debug)]
pub struct Helper {
    /// Where things stand.
    pub host: Host,
    /// The record of everything.
    pub audit: Audit,
    /// The memory of request ids.
    pub requests: Requests,
    /// What was replaced, for undo.
    pub copies: Copies,
    /// What this host lacks, each one sentence.
    pub notes: Vec<String>,
    /// Room on the disk that is operators'.
    pub reserve: Reserve,
    /// When it started, since 1970.
    pub started: Duration,
    /// Requests under way, so that no client takes all threads.
    pub running: Arc<Places>,
    /// Bytes of request bodies in memory.
    pub bodies: Bodies,
    /// One simulation at a time: each takes a core and a lot of memory.
    pub simulations: Mutex<()>,
    /// One begin at a time: rates are counted and used up in one step.
    pub begins: Mutex<()>,
    /// Requests that wait for a person.
    pub approvals: Approvals,
    /// The helper is about to end: nothing more is accepted.
    pub stopping: AtomicBool,
    /// One file change at a time, so that two writers can't lose an update.
    pub files: Mutex<()>,
    /// One package transaction at a time: apt would refuse the second.
    pub packages: Mutex<()>,
    /// One change of units at a time. The plan is made again under it.
    pub units: Mutex<()>,
    policy: Mutex<Option<Arc<Policy>>>,
    /// Why nothing new begins.
    paused: Mutex<Option<String>>,
    numbers: AtomicU64,
}

/// What stands on the disk.
#[derive(Debug)]
pub struct Kept {
    /// The record of everything.
    pub audit: Audit,
    /// The memory of request ids.
    pub requests: Requests,
    /// What files were before requests changed them.
    pub copies: Copies,
    /// Room on the disk that is operators'.
    pub reserve: Reserve,
}

impl Helper {
    /// Puts the parts together. Without a policy everybody is refused.
    #[must_use]
    pub fn new(
        host: Host,
        kept: Kept,
        policy: Option<Policy>,
        paused: Option<String>,
        notes: Vec<String>,
    ) -> Self {
        let Kept { audit, requests, copies, reserve } = kept;
        Self {
            started: host.unix(),
            host,
            audit,
            requests,
            copies,
            notes,
            reserve,
            running: Arc::new(Places::default()),
            bodies: Bodies::default(),
            simulations: Mutex::new(()),
            begins: Mutex::new(()),
            approvals: Approvals::default(),
            paused: Mutex::new(paused),
            stopping: AtomicBool::new(false),
            files: Mutex::new(()),
            packages: Mutex::new(()),
            units: Mutex::new(()),
            policy: Mutex::new(policy.map(Arc::new)),
            numbers: AtomicU64::new(0),
        }
    }

    /// The policy in force.
    #[must_use]
    pub fn policy(&self) -> Option<Arc<Policy>> {
        locked(&self.policy).clone()
    }

    /// Puts another policy in force: all or nothing, and recorded first.
    ///
    /// # Errors
    /// The audit can't take the record; the old policy then stays.
    pub fn apply(&self, policy: Policy, record: &Record) -> Result<(), Fault> {
        self.audit.durable(Event::PolicyApplied, record)?;
        self.audit.limit(Limits::new(policy.audit()));
        let digest = policy.digest();
        *locked(&self.policy) = Some(Arc::new(policy));
        self.approvals.end_others(digest);
        Ok(())
    }

    /// Why nothing new begins; none = it does.
    #[must_use]
    pub fn paused(&self) -> Option<String> {
        locked(&self.paused).clone()
    }

    /// Lets nothing new begin, or lets it again. It survives a restart.
    ///
    /// # Errors
    /// It can't be written down. A pause holds all the same, until the helper ends.
    pub fn pause(&self, reason: Option<String>) -> Result<(), Fault> {
        let path = self.host.paths.state.join("paused");
        if reason.is_none() && path.exists() {
            store::remove_file(&path)?;
        }
        locked(&self.paused).clone_from(&reason);
        reason.map_or(Ok(()), |reason| store::replace(&path, reason.as_bytes()))
    }

    /// Whether anything may begin.
    ///
    /// # Errors
    /// `paused`, with the operator's words.
    pub fn check_paused(&self) -> Result<(), Denied> {
        self.paused().map_or(Ok(()), |reason| Err(Denied::new(Code::Paused, reason)))
    }

    /// Time since boot, sleep included.
    #[must_use]
    pub fn boottime(&self) -> Duration {
        (self.host.since_boot)()
    }

    /// Records bytes that are no request: size and digest, never their text.
    pub fn note_malformed(&self, peer: Peer, method: &str, bytes: &[u8]) {
        let record = Record {
            own: audit::bytes(bytes),
            client: Some(peer),
            verb: method.chars().take(METHOD_MAX).collect(),
            ..Record::default()
        };
        if self.audit.admit(peer.uid).is_err() {
            return;
        }
        // The connection ends either way; a log that can't be written is said in status.
        drop(self.audit.note(Event::Malformed, &record));
    }

    /// Records a refusal of what is no request of a verb that this helper has.
    pub fn note_refused(&self, peer: Peer, what: &str, code: Code) {
        let record = Record {
            client: Some(peer),
            verb: what.chars().take(METHOD_MAX).collect(),
            outcome: Json::new().text("status", "refused").text("code", code.as_str()),
            ..Record::default()
        };
        if self.audit.admit(peer.uid).is_err() {
            return;
        }
        // It is refused whether or not the log can take it.
        drop(self.audit.note(Event::Refused, &record));
    }

    /// A number that this helper has not given before.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

/// Takes a lock that others hold for as long as their effect lasts.
///
/// # Errors
/// `busy` after `limit`.
pub fn wait_for(mutex: &Mutex<()>, limit: Duration) -> Result<MutexGuard<'_, ()>, Denied> {
    let deadline = Instant::now().checked_add(limit);
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if deadline.is_some_and(|at| Instant::now() >= at) => {
                return Err(Denied::new(
                    Code::Busy,
                    "another change of this kind is under way; ask again later",
                ));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}
