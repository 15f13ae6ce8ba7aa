//! Orders that wait for people, in memory only: a replaced policy or a restart of broker or recorder ends them.
//!
//! People agree to the order itself: an answer names the approval digest of CONTRACTS 3. It is good once, for the order
//! that waits, and for nothing else. Each order waits on the thread that will send it on.

use crate::sys::locked;
use postern_policy::types::Digest;
use postern_policy::{Code, Denied};
use postern_proto::root::v1::ApprovalLimits;
use postern_proto::v1::{Approval, OperatorDecideRequest, OperatorShown, OperatorWatched, Verdict};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often a waiting order looks whether it is still wanted.
const CHECK: Duration = Duration::from_millis(250);

/// An order that waits.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// What operators' lists show.
    pub view: Approval,
    /// What is approved: see [`postern_proto::link::approval_digest`].
    pub digest: Digest,
    /// The policy that asks.
    pub policy: Digest,
    /// When it ends, on the clock that counts since boot.
    pub expires: Duration,
    /// What operators read before they answer: the order, the broker's claim, and the content.
    pub shown: Arc<(OperatorShown, Vec<Vec<u8>>)>,
}

/// People's agreement to one order.
#[derive(Debug, Clone, Default)]
pub struct Consent {
    /// Which approval.
    pub id: String,
    /// What was approved.
    pub digest: Vec<u8>,
    /// Who approved it.
    pub uids: Vec<u32>,
}

enum Verdicts {
    Open,
    Approved,
    Denied(String),
}

/// Called with what waits or has ended; false removes it.
pub type Watcher = Box<dyn FnMut(&OperatorWatched) -> bool + Send>;

#[derive(Default)]
struct Inner {
    waiting: Vec<(Waiting, Verdicts)>,
    watchers: Vec<Watcher>,
}

/// Everything that waits.
#[derive(Default)]
pub struct Approvals {
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl Approvals {
    /// Waits until enough people approve, while `is_wanted` permits.
    ///
    /// # Errors
    /// `too_many_pending`, `not_approved` with the operator's reason, `approval_expired`.
    pub fn wait(
        &self,
        waiting: Waiting,
        limits: ApprovalLimits,
        is_wanted: impl Fn(&Waiting) -> Result<(), Denied>,
    ) -> Result<Consent, Denied> {
        let id = waiting.view.approval_id.clone();
        let mut inner = locked(&self.inner);
        inner.admit(waiting.view.uid, limits)?;
        inner.tell(&waiting.view, "");
        inner.waiting.push((waiting, Verdicts::Open));
        loop {
            let at = inner.waiting.iter().position(|(one, _)| one.view.approval_id == id);
            let ended = match at.and_then(|at| inner.waiting.get(at)) {
                Some((_, Verdicts::Approved)) => Some(Ok("approved")),
                Some((_, Verdicts::Denied(reason))) => {
                    let reason = if reason.is_empty() { "no reason given" } else { reason };
                    Some(Err(("denied", Denied::new(Code::NotApproved, reason))))
                }
                Some((one, Verdicts::Open)) => {
                    is_wanted(one).err().map(|denied| Err((denied.code.as_str(), denied)))
                }
                None => Some(Err(("", Denied::new(Code::Interrupted, "it waits no longer")))),
            };
            if let Some(ended) = ended {
                let removed = at.map(|at| inner.waiting.remove(at).0);
                let word = match &ended {
                    Ok(word) | Err((word, _)) => *word,
                };
                if let Some(one) = &removed {
                    inner.tell(&one.view, word);
                }
                ended.map_err(|(_, denied)| denied)?;
                let removed = removed.map(|one| (one.digest.as_bytes().to_vec(), one.view.approved_by));
                let (digest, uids) = removed.unwrap_or_default();
                return Ok(Consent { id, digest, uids });
            }
            inner = self.changed.wait_timeout(inner, CHECK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns what waits, oldest first.
    pub fn list(&self) -> Vec<Approval> {
        locked(&self.inner).waiting.iter().map(|(one, _)| one.view.clone()).collect()
    }

    /// Returns one with all that is known of it.
    ///
    /// # Errors
    /// `unknown_request`.
    pub fn show(&self, id: &str) -> Result<Waiting, Denied> {
        let inner = locked(&self.inner);
        inner
            .waiting
            .iter()
            .find(|(one, _)| one.view.approval_id == id)
            .map(|(one, _)| one.clone())
            .ok_or_else(unknown)
    }

    /// Calls `watcher` with everything that waits, comes to wait or stops waiting.
    pub fn watch(&self, mut watcher: Watcher) {
        let mut inner = locked(&self.inner);
        if inner.waiting.iter().all(|(one, _)| watcher(&watched(&one.view, ""))) {
            inner.watchers.push(watcher);
        }
    }

    /// Takes an answer of `uid`; returns how many more must agree. `record` writes the answer down: an agreement that it
    /// cannot write does not count, a denial does.
    ///
    /// # Errors
    /// Nothing of this id waits, it is not what the person saw, the person cannot agree (any more), or `record` fails.
    pub fn decide(
        &self,
        uid: u32,
        decide: &OperatorDecideRequest,
        is_wanted: impl Fn(&Waiting) -> Result<(), Denied>,
        record: impl FnOnce(&Waiting, bool) -> Result<(), Denied>,
    ) -> Result<u32, Denied> {
        let mut inner = locked(&self.inner);
        let open = |(one, verdict): &&mut (Waiting, Verdicts)| {
            one.view.approval_id == decide.approval_id && matches!(verdict, Verdicts::Open)
        };
        let (one, verdict) = inner.waiting.iter_mut().find(open).ok_or_else(unknown)?;
        match decide.verdict() {
            Verdict::Unspecified => {
                return Err(Denied::new(Code::InvalidArgument, "verdict: must be APPROVE or DENY"));
            }
            Verdict::Deny => {
                // It is denied whether or not the log can take it.
                drop(record(one, false));
                *verdict = Verdicts::Denied(decide.reason.clone());
                self.changed.notify_all();
                return Ok(0);
            }
            Verdict::Approve => {}
        }
        is_wanted(one)?;
        if one.digest.as_bytes() != decide.shown_sha256 {
            return Err(Denied::new(Code::PlanChanged, "what was shown is not what waits; show it again"));
        }
        if one.view.uid == uid {
            return Err(Denied::new(Code::Denied, "the user who asks cannot agree"));
        }
        if one.view.approved_by.contains(&uid) {
            return Err(Denied::new(Code::Denied, "you have agreed already; another person must agree too"));
        }
        one.view.approved_by.push(uid);
        if let Err(denied) = record(one, true) {
            one.view.approved_by.pop();
            return Err(denied);
        }
        let agreed = u32::try_from(one.view.approved_by.len()).unwrap_or(u32::MAX);
        let missing = one.view.approvers.saturating_sub(agreed);
        if missing == 0 {
            *verdict = Verdicts::Approved;
        }
        let view = one.view.clone();
        if missing > 0 {
            inner.tell(&view, "");
        }
        self.changed.notify_all();
        Ok(missing)
    }
}

impl Inner {
    /// Checks that another request of this user may wait.
    fn admit(&self, uid: u32, limits: ApprovalLimits) -> Result<(), Denied> {
        let own = self.waiting.iter().filter(|(one, _)| one.view.uid == uid).count();
        let most = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
        if own < most(limits.max_pending_per_client) && self.waiting.len() < most(limits.max_pending) {
            return Ok(());
        }
        let why = format!("{own} requests of this user wait for approval already; wait for an operator");
        Err(Denied::new(Code::TooManyPending, why))
    }

    fn tell(&mut self, view: &Approval, ended: &str) {
        let watched = watched(view, ended);
        self.watchers.retain_mut(|watcher| watcher(&watched));
    }
}

fn watched(view: &Approval, ended: &str) -> OperatorWatched {
    OperatorWatched { approval: Some(view.clone()), ended: ended.to_owned() }
}

fn unknown() -> Denied {
    Denied::new(Code::UnknownRequest, "nothing of this id waits; it was decided, or its time is up")
}
