//! Orders that wait for people, in memory only: a replaced policy or a restart of broker or recorder ends them.
//!
//! People approve the order itself: an answer names its approval digest (`postern_proto::link::approval_digest`), is valid
//! once and for this order alone. Each order waits on the thread that will send it.

use postern_peers::locked;
use postern_policy::types::Digest;
use postern_policy::{Code, Denied};
use postern_proto::root::v1::ApprovalLimits;
use postern_proto::v1::{Approval, OperatorDecideRequest, OperatorShown, OperatorWatched, Verdict};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Most messages that may be queued for a watching operator.
const QUEUED_MAX: usize = 64;
/// How often a waiting order checks whether it is still wanted.
const CHECK: Duration = Duration::from_millis(250);

/// An order that waits.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// The entry in operators' lists.
    pub view: Approval,
    /// The digest that is approved: see [`postern_proto::link::approval_digest`].
    pub digest: Digest,
    /// The policy that asks.
    pub policy: Digest,
    /// When it ends, on the clock that counts since boot.
    pub expires: Duration,
    /// The order and the broker's claim, shown to operators before they answer.
    pub shown: Arc<OperatorShown>,
    /// And the content.
    pub content: Arc<Vec<Vec<u8>>>,
}

/// Decision of the operators; `None` while one is awaited.
type Decided = Option<Result<(), Denied>>;

#[derive(Default)]
struct Inner {
    waiting: Vec<(Waiting, Decided)>,
    /// One that falls behind is left: nobody waits for an operator.
    subscribers: Vec<SyncSender<OperatorWatched>>,
}

/// Everything that waits.
#[derive(Default)]
pub struct Approvals {
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl Approvals {
    /// Adds an order to the list of operators.
    ///
    /// # Errors
    /// `too_many_pending`.
    pub fn add(&self, waiting: Waiting, limits: ApprovalLimits) -> Result<(), Denied> {
        let mut inner = locked(&self.inner);
        inner.admit(waiting.view.uid, limits)?;
        inner.notify(&waiting.view, "");
        inner.waiting.push((waiting, None));
        Ok(())
    }

    /// Waits until enough people approve, while `is_wanted` permits; returns the order with the uids that did.
    ///
    /// # Errors
    /// `not_approved` with the operator's reason, `approval_expired`.
    pub fn wait(
        &self,
        id: &str,
        is_wanted: impl Fn(&Waiting) -> Result<(), Denied>,
    ) -> Result<Waiting, Denied> {
        let mut inner = locked(&self.inner);
        loop {
            let (one, decided) = inner.find(id)?;
            if let Some(ended) = decided.take().or_else(|| is_wanted(one).err().map(Err)) {
                let one = one.clone();
                inner.waiting.retain(|(other, _)| other.view.approval_id != id);
                let word = match &ended {
                    Ok(()) => "approved",
                    Err(denied) if denied.code == Code::NotApproved => "denied",
                    Err(denied) => denied.code.as_str(),
                };
                inner.notify(&one.view, word);
                return ended.map(|()| one);
            }
            inner = self.changed.wait_timeout(inner, CHECK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the waiting requests, oldest first.
    pub fn list(&self) -> Vec<Approval> {
        locked(&self.inner).waiting.iter().map(|(one, _)| one.view.clone()).collect()
    }

    /// Returns one waiting order with claim and content.
    ///
    /// # Errors
    /// `unknown_request`.
    pub fn show(&self, id: &str) -> Result<Waiting, Denied> {
        locked(&self.inner).find(id).map(|(one, _)| one.clone())
    }

    /// Subscribes to the requests that wait, start to wait or stop waiting.
    pub fn watch(&self) -> Receiver<OperatorWatched> {
        let mut inner = locked(&self.inner);
        let (subscriber, events) = sync_channel(inner.waiting.len().saturating_add(QUEUED_MAX));
        for (one, _) in &inner.waiting {
            // There is room for all.
            drop(subscriber.try_send(watched(&one.view, "")));
        }
        inner.subscribers.push(subscriber);
        events
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
        let (one, decided) = inner.find(&decide.approval_id)?;
        if decided.is_some() {
            return Err(unknown());
        }
        match decide.verdict() {
            Verdict::Unspecified => {
                return Err(Denied::new(Code::InvalidArgument, "verdict: must be APPROVE or DENY"));
            }
            Verdict::Deny => {
                // The denial counts even if the log cannot take it.
                drop(record(one, false));
                let reason = if decide.reason.is_empty() { "no reason given" } else { &decide.reason };
                *decided = Some(Err(Denied::new(Code::NotApproved, reason)));
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
        if one.view.excludes_asker && one.view.asked_by == uid {
            let why = "a session of yours was quoted for this; its rule wants another person \
                       (`approvers_exclude_asker`)";
            return Err(Denied::new(Code::Denied, why));
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
            *decided = Some(Ok(()));
        } else {
            let view = one.view.clone();
            inner.notify(&view, "");
        }
        self.changed.notify_all();
        Ok(missing)
    }
}

impl Inner {
    fn find(&mut self, id: &str) -> Result<&mut (Waiting, Decided), Denied> {
        self.waiting.iter_mut().find(|(one, _)| one.view.approval_id == id).ok_or_else(unknown)
    }

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

    fn notify(&mut self, view: &Approval, ended: &str) {
        let watched = watched(view, ended);
        self.subscribers.retain(|subscriber| subscriber.try_send(watched.clone()).is_ok());
    }
}

fn watched(view: &Approval, ended: &str) -> OperatorWatched {
    OperatorWatched { approval: Some(view.clone()), ended: ended.to_owned() }
}

fn unknown() -> Denied {
    Denied::new(Code::UnknownRequest, "nothing of this id waits; it was decided, or its time is up")
}
