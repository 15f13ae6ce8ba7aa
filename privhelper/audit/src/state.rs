//! The state that all connections share.

use crate::approvals::{Approvals, Waiting};
use crate::attempts::Attempts;
use crate::fault::Fault;
use crate::host::Host;
use crate::log::{AuditLog, Event, Limits, Record};
use crate::requests::Requests;
use crate::sessions::Sessions;
use crate::sys::files::{Reserve, replace};
use crate::turns::Turns;
use postern_peers::{Accepted, Class, Limit, files, locked};
use postern_policy::{Code, Denied, Policy};
use postern_proto::root::v1::Claim;
use postern_record::{Json, rfc3339};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Most bytes of orders and content in memory: of one client, and of all.
const MEMORY: [usize; 2] = [32 * 1024 * 1024, 64 * 1024 * 1024];
/// The uid that all uids which are no clients are counted as.
const NOBODY: u32 = u32::MAX;

/// The recorder.
pub struct State {
    /// Paths, users and clocks of this host.
    pub host: Host,
    /// The audit log.
    pub log: AuditLog,
    /// The request ids.
    pub requests: Requests,
    /// Orders that wait for people.
    pub approvals: Approvals,
    /// Open sessions of people.
    pub sessions: Sessions,
    /// The turns of effects.
    pub turns: Turns,
    /// Bytes of orders and content in memory.
    pub memory: Arc<Limit>,
    /// Disk space for operators.
    pub reserve: Reserve,
    /// One `begin` at a time: whoever pauses or stops holds it, and knows all that has begun.
    pub begins: Mutex<()>,
    /// The take-backs of changes that nobody kept.
    pub attempts: Attempts,
    /// When it started, since 1970.
    pub started: Duration,
    accepted: Accepted,
    paused: Mutex<Option<String>>,
    stopping: AtomicBool,
}

impl State {
    /// Continues log and ids, and records the start.
    ///
    /// # Errors
    /// The log, the seal's keys or the recorder's state cannot be read or written.
    pub fn open(host: Host) -> Result<Self, Fault> {
        let doing = "open the recorder's state";
        // The reserve is freed, so that the recorder starts on a full disk: operators need it to act.
        let reserve = Reserve::open(&host.state.join("reserve")).map_err(Fault::io(doing))?;
        let freed = reserve.free();
        let log = AuditLog::open(&host.audit)?;
        let requests = Requests::default();
        log.states(|state| requests.restore(state))?;
        let count = u64::try_from(requests.unfinished().len()).unwrap_or(u64::MAX);
        log.reserve_ends(|_| count);
        let paused = files::read(&host.state.join("paused"), 4096).map_err(Fault::io(doing))?;
        drop(freed);
        let state = Self {
            log,
            requests,
            approvals: Approvals::default(),
            sessions: Sessions::default(),
            turns: Turns::default(),
            memory: Limit::new(MEMORY[0], MEMORY[1]),
            reserve,
            begins: Mutex::new(()),
            attempts: Attempts::default(),
            started: host.audit.unix(),
            accepted: Accepted::new(&host.accepted, &host.passwd, &host.group),
            paused: Mutex::new(paused.map(|reason| String::from_utf8_lossy(&reason).into_owned())),
            stopping: AtomicBool::new(false),
            host,
        };
        let policy = state.policy();
        let detail = policy.as_ref().err().map(|fault| format!("no policy is accepted: {fault}"));
        let before = Some(&state.log.previous_boot).filter(|before| **before != state.host.audit.boot_id);
        let reboot = before.and_then(|before| state.requests.reboot_of(before));
        let reboot = reboot.map(|order| {
            let at = order.completed.map_or(0, |completed| completed.reboot_unix_s);
            let (at, up) = (rfc3339(Duration::from_secs(at)), rfc3339(state.started));
            format!(
                "request {} had scheduled a reboot for {at}; the host was up again at {up}",
                order.request_id
            )
        });
        let detail = detail.into_iter().chain(reboot).collect::<Vec<_>>().join("; ");
        let policy = policy.map(|policy| policy.digest().to_string()).unwrap_or_default();
        let start = Record {
            claim: Claim { policy, ..Claim::default() },
            outcome: Json::new().text("detail", &detail),
            ..Record::default()
        };
        let freed = state.reserve.free();
        state.log.durable(Event::Start, &start)?;
        state.log.sign()?;
        drop(freed);
        Ok(state)
    }

    /// Returns the accepted policy.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn policy(&self) -> Result<Arc<Policy>, Fault> {
        let policy = self.accepted.policy(|policy| self.log.limit(Limits::new(&policy.audit())));
        policy.map_err(Fault::io("read the accepted policy"))
    }

    /// Returns whether the accepted policy names this uid as a client. Without one that can be read, everybody but root may
    /// be one.
    pub fn is_client(&self, uid: u32) -> bool {
        let is_root = uid == self.host.owner_uid;
        self.policy().map_or(!is_root, |policy| self.accepted.is_client(&policy, uid))
    }

    /// Returns whether this uid is a person of the accepted policy now. Without one that can be read, nobody is.
    pub fn is_person(&self, uid: u32) -> bool {
        self.policy().is_ok_and(|policy| self.accepted.is_person(&policy, uid))
    }

    /// Counts a request of a client that is about to be recorded. All who are no clients share one budget.
    ///
    /// # Errors
    /// `rate_limited`.
    pub fn admit(&self, uid: u32, class: Class) -> Result<(), Denied> {
        let counted = if class == Class::Operator || self.is_client(uid) { uid } else { NOBODY };
        self.log.admit(counted, class).map_err(|retry_after_s| {
            let why = format!("too many records of uid {uid} in the audit log; retry in {retry_after_s} s");
            Denied { retry_after_s, ..Denied::new(Code::RateLimited, why) }
        })
    }

    /// Checks that an order may still wait: it is wanted, its time is not over, the policy is the same.
    ///
    /// # Errors
    /// `approval_expired`.
    pub fn still_asks(&self, one: &Waiting, is_wanted: bool) -> Result<(), Denied> {
        let is_same = self.policy().is_ok_and(|policy| policy.digest() == one.policy);
        let why =
            match (is_same, one.expires > (self.host.audit.since_boot)(), is_wanted && !self.is_stopping()) {
                (true, true, true) => return Ok(()),
                (false, _, _) => "the policy was replaced while this waited for approval; ask again",
                (true, false, _) => "nobody approved this in time; ask again if it is still wanted",
                (true, true, false) => "the broker or the recorder was restarted; ask again",
            };
        Err(Denied::new(Code::ApprovalExpired, why))
    }

    /// Returns the reason of the pause; none if not paused.
    pub fn paused(&self) -> Option<String> {
        locked(&self.paused).clone()
    }

    /// Pauses or resumes. A pause survives a restart.
    ///
    /// # Errors
    /// It cannot be written. A pause holds all the same, until the recorder ends.
    pub fn pause(&self, reason: Option<String>) -> Result<(), Fault> {
        let path = self.host.state.join("paused");
        let doing = "write down the pause";
        if reason.is_none() && path.exists() {
            std::fs::remove_file(&path).map_err(Fault::io(doing))?;
        }
        locked(&self.paused).clone_from(&reason);
        reason.map_or(Ok(()), |reason| replace(&path, reason.as_bytes()).map_err(Fault::io(doing)))
    }

    /// Checks that an effect of a client may begin.
    ///
    /// # Errors
    /// `paused`, with the operator's words.
    pub fn check_paused(&self) -> Result<(), Denied> {
        self.paused().map_or(Ok(()), |reason| Err(Denied::new(Code::Paused, reason)))
    }

    /// Returns whether the recorder is about to end.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Ends what waits, lets what has begun end for at most `limit`, and records the stop.
    ///
    /// # Errors
    /// The log cannot take the record.
    pub fn stop(&self, limit: Duration) -> Result<(), Fault> {
        // No effect begins from here on.
        let begins = locked(&self.begins);
        self.stopping.store(true, Ordering::Relaxed);
        drop(begins);
        let deadline = Instant::now().checked_add(limit);
        while !self.requests.unfinished().is_empty() && deadline.is_some_and(|at| Instant::now() < at) {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.log.stop()
    }

    /// Runs the upkeep of every second: syncs reads and refusals, rotates the log, reads a changed policy.
    pub fn tick(self: &Arc<Self>) {
        self.log.tick();
        self.take_back_due();
        self.reserve.keep();
        // Without a policy everybody is refused; `status` reports it.
        drop(self.policy());
    }
}
