//! Requests that wait for a person, in memory only: they end with this helper and with the policy that asked.
//!
//! What is agreed to is a text that root wrote ([`crate::question`]); an answer names the SHA-256 of exactly its
//! bytes. It is good once, for the request that waits, and for nothing else.

use crate::audit::{Asked, Event, Json, Payer, Record};
use crate::helper::Helper;
use crate::host::Peer;
use crate::reply::Sink;
use crate::startup::spawn;
use crate::sys::{locked, process, socket};
use postern_policy::types::{Digest, Reason};
use postern_policy::{Code, Denied};
use postern_proto::root::v1::ApprovalLimits;
use postern_proto::v1 as wire;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

/// How long what was denied is not asked again.
const DENIED: Duration = Duration::from_secs(60 * 60);
/// Most denials that are remembered; the oldest are forgotten first.
const DENIED_MAX: usize = 1000;

/// What became of a question.
#[derive(Debug)]
pub enum Answer {
    /// Everybody who must has agreed, as the question now says.
    Approved(Box<Question>),
    /// Nobody will.
    Ended(Denied),
}

/// What is done with the answer: the rest of the request.
pub type Then = Box<dyn FnOnce(Answer) + Send>;

/// What a person is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// What operators' lists show.
    pub view: wire::Approval,
    /// What is agreed to.
    pub text: Vec<u8>,
    /// The policy that asks.
    pub policy: Digest,
    /// Who asks, and for what: another try of the same has the same digest.
    pub about: (u32, Digest),
    /// What it would do, however it is asked for.
    pub same: Digest,
    /// How many may wait under that policy.
    pub limits: ApprovalLimits,
    /// When it ends, on the clock that counts since boot, sleep included.
    pub expires: Duration,
}

struct Waiting {
    question: Question,
    then: Then,
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.question.fmt(f)
    }
}

#[derive(Debug)]
struct Denial {
    about: (u32, Digest),
    same: Digest,
    until: Duration,
    reason: String,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: Vec<Waiting>,
    denied: Vec<Denial>,
    watching: Vec<Sink>,
}

/// Everything that waits.
#[derive(Debug, Default)]
pub struct Approvals(Mutex<Inner>);

impl Approvals {
    /// Whether this may be asked at all.
    ///
    /// # Errors
    /// `denied_recently` with the operator's reason, or `too_many_pending`.
    pub fn admit(&self, about: (u32, Digest), limits: ApprovalLimits, now: Duration) -> Result<(), Denied> {
        locked(&self.0).admit(about, limits, now)
    }

    /// Lets a request wait; whoever watches is told, and with `tell` the client, before anybody can answer.
    ///
    /// # Errors
    /// As [`Self::admit`].
    pub fn park(
        &self,
        question: Question,
        then: Then,
        now: Duration,
        tell: impl FnOnce(),
    ) -> Result<(), (Denied, Then)> {
        let mut inner = locked(&self.0);
        let denied =
            inner.denied(|denial| denial.about.0 == question.about.0 && denial.same == question.same, now);
        if let Err(refusal) = denied.and_then(|()| inner.admit(question.about, question.limits, now)) {
            return Err((refusal, then));
        }
        inner.tell(&question.view, "");
        inner.waiting.push(Waiting { question, then });
        tell();
        Ok(())
    }

    /// What waits, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<wire::Approval> {
        locked(&self.0).waiting.iter().map(|waiting| waiting.question.view.clone()).collect()
    }

    /// The text of one.
    ///
    /// # Errors
    /// `unknown_request`.
    pub fn show(&self, id: &str) -> Result<wire::OperatorShown, Denied> {
        let inner = locked(&self.0);
        let question = inner.questions().find(|question| question.view.approval_id == id);
        let question = question.ok_or_else(unknown)?;
        let (approval, text) = (Some(question.view.clone()), question.text.clone());
        Ok(wire::OperatorShown { approval, text, ..wire::OperatorShown::default() })
    }

    /// Tells this stream of everything that waits, comes to wait or stops waiting.
    pub fn watch(&self, sink: Sink) {
        let mut inner = locked(&self.0);
        for question in inner.questions() {
            sink.message(&watched(&question.view, ""));
        }
        inner.watching.push(sink);
    }

    /// Takes a person's answer; how many more must agree.
    ///
    /// # Errors
    /// Nothing of this id waits, it is not what the person saw, the person has agreed already, or the agreement
    /// can't be recorded. It then waits on.
    pub fn decide(
        &self,
        helper: &Helper,
        peer: Peer,
        decide: &wire::OperatorDecideRequest,
    ) -> Result<u32, Denied> {
        let reason = Reason::new(&decide.reason)?;
        let mut inner = locked(&self.0);
        let found = inner.questions().position(|question| question.view.approval_id == decide.approval_id);
        let question = found.and_then(|at| inner.waiting.get_mut(at)).ok_or_else(unknown)?;
        let question = &mut question.question;
        match decide.verdict() {
            wire::Verdict::Unspecified => {
                return Err(Denied::new(Code::InvalidArgument, "verdict: must be APPROVE or DENY"));
            }
            wire::Verdict::Deny => {}
            wire::Verdict::Approve => check(question, helper, peer, decide)?,
        }
        let approves = decide.verdict() == wire::Verdict::Approve;
        if approves {
            question.view.approved_by.push(peer.uid);
        }
        let noted = note(helper, peer, question, approves, reason.as_str());
        if approves {
            if let Err(refusal) = noted {
                question.view.approved_by.pop();
                return Err(refusal);
            }
            let agreed = u32::try_from(question.view.approved_by.len()).unwrap_or(u32::MAX);
            let missing = question.view.approvers.saturating_sub(agreed);
            if missing > 0 {
                let view = question.view.clone();
                inner.tell(&view, "");
                return Ok(missing);
            }
        }
        let Some(Waiting { question, then }) = found.map(|at| inner.waiting.remove(at)) else {
            return Err(unknown());
        };
        let ended = if approves { "approved" } else { "denied" };
        inner.tell(&question.view, ended);
        let answer = if approves {
            Answer::Approved(Box::new(question))
        } else {
            inner.remember(&question, helper.boottime(), reason.as_str());
            Answer::Ended(denied(Code::NotApproved, reason.as_str()))
        };
        drop(inner);
        spawn("approved", move || then(answer)).map_err(Denied::from)?;
        Ok(0)
    }

    /// Ends those whose time is up.
    pub fn expire(&self, now: Duration) {
        let why = "nobody approved this in time; ask again if it is still wanted";
        self.end(|question| question.expires <= now, why);
    }

    /// Ends those that another policy asked.
    pub fn end_others(&self, policy: Digest) {
        let why = "the policy changed while this waited for approval; ask again";
        self.end(|question| question.policy != policy, why);
    }

    fn end(&self, ends: impl Fn(&Question) -> bool, why: &str) {
        let mut inner = locked(&self.0);
        let all = std::mem::take(&mut inner.waiting).into_iter();
        let (ended, waiting) = all.partition::<Vec<_>, _>(|waiting| ends(&waiting.question));
        inner.waiting = waiting;
        for Waiting { question, .. } in &ended {
            inner.tell(&question.view, Code::ApprovalExpired.as_str());
        }
        drop(inner);
        for waiting in ended {
            (waiting.then)(Answer::Ended(Denied::new(Code::ApprovalExpired, why)));
        }
    }
}

impl Inner {
    fn questions(&self) -> impl Iterator<Item = &Question> {
        self.waiting.iter().map(|waiting| &waiting.question)
    }

    fn admit(&mut self, about: (u32, Digest), limits: ApprovalLimits, now: Duration) -> Result<(), Denied> {
        self.denied(|denial| denial.about == about, now)?;
        let own = self.questions().filter(|question| question.about.0 == about.0).count();
        let most = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
        if own >= most(limits.max_pending_per_client) || self.waiting.len() >= most(limits.max_pending) {
            let why = format!("{own} requests of yours wait for approval already; wait for an operator");
            return Err(Denied::new(Code::TooManyPending, why));
        }
        Ok(())
    }

    /// Whether such a thing was denied within the hour.
    fn denied(&mut self, is_such: impl Fn(&Denial) -> bool, now: Duration) -> Result<(), Denied> {
        self.denied.retain(|denial| denial.until > now);
        let Some(denial) = self.denied.iter().find(|denial| is_such(denial)) else {
            return Ok(());
        };
        let wait = denial.until.saturating_sub(now).as_secs();
        let refusal = denied(Code::DeniedRecently, &denial.reason);
        Err(Denied { retry_after_s: u32::try_from(wait).unwrap_or(u32::MAX), ..refusal })
    }

    fn remember(&mut self, question: &Question, now: Duration, reason: &str) {
        if self.denied.len() >= DENIED_MAX {
            self.denied.remove(0);
        }
        let until = now.saturating_add(DENIED);
        let (about, same) = (question.about, question.same);
        self.denied.push(Denial { about, same, until, reason: reason.to_owned() });
    }

    /// Those who have left are forgotten.
    fn tell(&mut self, view: &wire::Approval, ended: &str) {
        self.watching.retain(Sink::is_open);
        for sink in &self.watching {
            sink.message(&watched(view, ended));
        }
    }
}

/// Whether this approval is of what waits, by somebody who has not agreed yet.
fn check(
    question: &Question,
    helper: &Helper,
    peer: Peer,
    decide: &wire::OperatorDecideRequest,
) -> Result<(), Denied> {
    let is_same = helper.policy().is_some_and(|policy| policy.digest() == question.policy);
    if question.expires <= helper.boottime() || !is_same {
        return Err(Denied::new(Code::ApprovalExpired, "its time is up, or the policy has changed"));
    }
    if Digest::of(&[&question.text]).as_bytes() != decide.shown_sha256 {
        return Err(Denied::new(Code::PlanChanged, "what was shown is not what waits; look at it again"));
    }
    if question.about.0 == peer.uid {
        return Err(Denied::new(Code::Denied, "who asks cannot agree"));
    }
    if question.view.approved_by.contains(&peer.uid) {
        return Err(Denied::new(Code::Denied, "you have agreed already; another person must agree too"));
    }
    Ok(())
}

/// The agreement is on disk before it counts. A denial counts even if the log can't take it.
fn note(
    helper: &Helper,
    peer: Peer,
    question: &Question,
    approves: bool,
    reason: &str,
) -> Result<(), Denied> {
    let view = &question.view;
    let record = Record {
        request_id: view.request_id.clone(),
        client: Some(peer),
        verb: view.verb.clone(),
        rule: view.rule.clone(),
        policy: question.policy.to_string(),
        approval: question.json(),
        outcome: Json::new()
            .text("status", if approves { "approved" } else { "denied" })
            .text("detail", reason),
        origin: Payer::Helper,
        ..Record::default()
    };
    helper.audit.durable(Event::Approval, &record)?;
    Ok(())
}

impl Question {
    /// The approval as records name it: which, of what text, by whom.
    #[must_use]
    pub fn json(&self) -> Json {
        let json = Json::new().text("id", &self.view.approval_id);
        let json = json.text("digest", &Digest::of(&[&self.text]).to_string());
        json.numbers("uids", &self.view.approved_by)
    }
}

fn watched(view: &wire::Approval, ended: &str) -> wire::OperatorWatched {
    wire::OperatorWatched { approval: Some(view.clone()), ended: ended.to_owned() }
}

fn denied(code: Code, reason: &str) -> Denied {
    // The operator's words alone: the code says the rest, and who shows it says it in words.
    Denied::new(code, if reason.is_empty() { "no reason given" } else { reason })
}

fn unknown() -> Denied {
    Denied::new(Code::UnknownRequest, "nothing of this id waits; it was decided, or its time is up")
}

/// Tells the operators: those who are logged in and, in the journal, whatever watches it. Both say only what root
/// made; whoever wants to know more asks with the id.
pub fn announce(helper: &Helper, proof: &Asked, view: &wire::Approval) {
    let id = &view.approval_id;
    let text = format!("{} by client {} waits for approval: postern-admin show {id}", view.verb, view.client);
    // It stands in every operator's list either way.
    drop(socket::tell_journal(&helper.host, proof, &text, id));
    if helper.host.paths.systemd.exists() {
        drop(process::tell_operators(&helper.host, proof, id));
    }
}
