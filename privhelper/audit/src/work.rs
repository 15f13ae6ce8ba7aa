//! The life of one order: consent, turn, `begin` on disk, root, `end` on disk.

use crate::approvals::{Consent, Waiting};
use crate::claims::{self, with_state};
use crate::host::random_id;
use crate::log::{Class, Event, Record};
use crate::policy::check_digest;
use crate::requests::{bounded, is_done};
use crate::root::{self, Learned};
use crate::state::State;
use crate::subscribers::Subscribers;
use crate::sys::{locked, sockets};
use crate::turns::Turn;
use postern_policy::types::Digest;
use postern_policy::{Code, Denied, Policy};
use postern_proto::link::{INVERSE_MAX, Kind, approval_digest, order_id};
use postern_proto::root::v1::{Claim, Envelope, Outcome, Parked, Recorded, RequestState};
use postern_proto::v1::{Approval, Completed, Decision, OperatorShown, Status};
use postern_record::Json;
use prost::Message;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A larger order is more than a person reads.
const ASKED_MAX: usize = 512 * 1024;
/// An order waits at least this long for people: shorter ones could follow each other without end.
const ASK_MIN: u64 = 60;
/// Longest wait for a turn.
const TURN_MAX: Duration = Duration::from_secs(60 * 60);
/// The pause before an `end` that could not be written is tried again.
const END_PAUSE: Duration = Duration::from_millis(500);

/// What an order has of its request id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id {
    /// Nothing: a read.
    None,
    /// It is taken in memory.
    Taken,
    /// A record has taken it.
    Recorded,
}

/// One order under way.
#[derive(Debug)]
pub struct Work {
    /// What the broker claims about it; for people.
    pub claim: Claim,
    /// What the log will say.
    pub record: Record,
    /// What must be known of it after a restart.
    pub state: RequestState,
    /// The encoded order, which is not read.
    pub order: Vec<u8>,
    /// Content frames as they came.
    pub content: Vec<Vec<u8>>,
    /// The frame of secret values.
    pub secrets: Option<Vec<u8>>,
    /// Who follows it.
    pub subscribers: Arc<Subscribers>,
    /// When it came.
    pub started: Instant,
    /// What it has of its id.
    pub id: Id,
    /// What people agreed to.
    pub consent: Consent,
}

impl Work {
    /// Returns the work of a request without an order.
    #[must_use]
    pub fn new(state: RequestState) -> Self {
        Self {
            claim: Claim::default(),
            record: Record::default(),
            state,
            order: Vec::new(),
            content: Vec::new(),
            secrets: None,
            subscribers: Arc::default(),
            started: Instant::now(),
            id: Id::None,
            consent: Consent::default(),
        }
    }

    /// Adds the claim.
    #[must_use]
    pub fn with(self, claim: Claim) -> Self {
        Self { claim, ..self }
    }

    /// Returns the id of the order.
    #[must_use]
    pub fn order_id(&self) -> [u8; 32] {
        order_id(self.state.uid, &self.state.request_id)
    }

    /// Waits for a turn with its objects.
    #[must_use]
    pub fn turn<'a>(&self, state: &'a State, is_wanted: impl Fn() -> bool) -> Option<Turn<'a>> {
        let limit = Duration::from_millis(self.claim.wait_ms).min(TURN_MAX);
        let who = (self.state.uid, self.state.by_operator);
        state.turns.take(who, &self.state.objects, limit, is_wanted)
    }

    /// Returns what the recorder adds to the order.
    #[must_use]
    pub fn envelope(&self, seq: u64) -> Envelope {
        Envelope {
            seq,
            approvers: self.consent.uids.clone(),
            approved: self.consent.digest.clone(),
            by_operator: self.state.by_operator,
            operator_uid: if self.state.by_operator { self.state.uid } else { 0 },
            ..Envelope::default()
        }
    }

    fn failed(code: &str, message: &str) -> Completed {
        let (code, message) = (code.to_owned(), message.to_owned());
        Completed { status: Status::Failed.into(), code, message, ..Completed::default() }
    }

    fn ended(&self, completed: &Completed, inverse: Vec<u8>) -> RequestState {
        let (uid, request_id) = (self.state.uid, self.state.request_id.clone());
        let completed = Some(bounded(completed));
        RequestState { uid, request_id, completed, inverse, ..RequestState::default() }
    }
}

/// Runs an effect from consent to its recorded end. Returns what the client is answered; none if the recorder stops first.
///
/// # Errors
/// Nothing was done; that is recorded too.
pub fn execute(
    state: &State,
    mut work: Work,
    is_wanted: impl Fn() -> bool,
) -> Result<Option<Completed>, Denied> {
    let begun = permit(state, &mut work, Class::Effect, &is_wanted).and_then(|()| {
        let busy = "another change of the same objects is under way; ask again later";
        let turn = work.turn(state, &is_wanted).ok_or_else(|| Denied::new(Code::Busy, busy))?;
        Ok((begin(state, &mut work)?, turn))
    });
    let (seq, turn) = match begun {
        Ok(begun) => begun,
        Err(denied) => return Err(refuse(state, &mut work, denied)),
    };
    let learned = root::perform(state, &work, &work.envelope(seq), turn);
    Ok(end(state, &mut work, learned))
}

/// Checks policy, client and budget, and has people asked where the claim says so.
fn permit(state: &State, work: &mut Work, class: Class, is_wanted: &impl Fn() -> bool) -> Result<(), Denied> {
    let class = if work.state.by_operator { Class::Operator } else { class };
    state.admit(work.state.uid, class)?;
    let policy = state.policy()?;
    check_digest(&policy, &work.claim.policy)?;
    if class != Class::Operator && !state.is_client(work.state.uid) {
        return Err(Denied::new(Code::UnknownClient, "this user is no client of the policy"));
    }
    if class == Class::Effect {
        state.check_paused()?;
    }
    if work.claim.decision == "ask" { ask(state, work, &policy, is_wanted) } else { Ok(()) }
}

/// Has operators asked, and waits for them.
fn ask(state: &State, work: &mut Work, policy: &Policy, is_wanted: &impl Fn() -> bool) -> Result<(), Denied> {
    if work.order.len() > ASKED_MAX {
        let why = "the plan is too large for a person to read; make it smaller";
        return Err(Denied::new(Code::PlanTooLarge, why));
    }
    let (id, since, claim) = (random_id()?, state.host.unix(), &work.claim);
    let wait = Duration::from_secs(claim.approval_ttl_s.max(ASK_MIN));
    let view = Approval {
        approval_id: id.clone(),
        client: claim.client.clone(),
        uid: claim.uid,
        request_id: claim.request_id.clone(),
        task: claim.task.clone(),
        claimed_uid: claim.claimed_uid,
        verb: claim.verb.clone(),
        target: claim.target.clone(),
        rule: claim.rule.clone(),
        risk_score: claim.risk_score,
        capabilities: claim.capabilities.clone(),
        since_unix_s: since.as_secs(),
        expires_unix_s: since.saturating_add(wait).as_secs(),
        approvers: claim.approvers.max(1),
        approved_by: Vec::new(),
    };
    let digest = approval_digest(&state.host.boot_id, policy.digest().as_bytes(), &work.order);
    let digest = Digest::from_bytes(&digest).unwrap_or_default();
    let shown = OperatorShown {
        approval: Some(view.clone()),
        order: work.order.clone(),
        claim: claim.encode_to_vec(),
        ..OperatorShown::default()
    };
    let waiting = Waiting {
        digest,
        policy: policy.digest(),
        expires: (state.host.since_boot)().saturating_add(wait),
        // Moved here while it waits: content is in memory once.
        shown: Arc::new((shown, std::mem::take(&mut work.content))),
        view,
    };
    let shared = Arc::clone(&waiting.shown);
    let asked = Consent { id: id.clone(), digest: digest.as_bytes().to_vec(), uids: Vec::new() };
    work.record.approval = approval(&asked);
    work.record.own = with_state(Json::new(), &work.state);
    // On disk before anybody is asked.
    state.log.durable(Event::Pending, &work.record)?;
    work.id = Id::Recorded;
    work.subscribers.park(Parked { expires_unix_s: waiting.view.expires_unix_s, approval_id: id.clone() });
    announce(state, &waiting.view);
    let limits = policy.approvals();
    let answer = state.approvals.wait(waiting, limits, |one| state.still_asks(one, is_wanted()));
    work.content = Arc::try_unwrap(shared).map_or_else(|shared| shared.1.clone(), |own| own.1);
    work.consent = answer?;
    work.record.approval = approval(&work.consent);
    work.subscribers.park(Parked::default());
    Ok(())
}

/// Returns the approval as records name it: which, of what, by whom.
#[must_use]
pub fn approval(consent: &Consent) -> Json {
    let digest = postern_seal::hex(&consent.digest);
    Json::new().text("id", &consent.id).text("digest", &digest).numbers("uids", &consent.uids)
}

/// Tells operators who are logged in and whoever watches the journal. The words are ours; `show` tells the rest.
fn announce(state: &State, view: &Approval) {
    const WAITS: &str = "7d3c2f0b9a5e4c61b8f4d2a6e1905c3b";
    let (id, verb, client) = (&view.approval_id, &view.verb, &view.client);
    let message = format!("{verb} by client {client} waits for approval: postern-admin show {id}");
    state.journal.send(&format!(
        "MESSAGE={message}\nMESSAGE_ID={WAITS}\nPRIORITY=5\nSYSLOG_IDENTIFIER=postern-audit\nPOSTERN_APPROVAL={id}\n"
    ));
    // It is in every operator's list either way.
    drop(sockets::send_line(&state.host.announce, id));
}

/// Takes the id and records the intent, both with one sync. Nothing begins once a pause is recorded.
fn begin(state: &State, work: &mut Work) -> Result<u64, Denied> {
    let _one_at_a_time = locked(&state.begins);
    if !work.state.by_operator {
        state.check_paused()?;
    }
    work.state.begun_unix_us = u64::try_from(state.host.unix().as_micros()).unwrap_or(u64::MAX);
    let order = Digest::of(&[&work.order]).to_string();
    work.record.own = with_state(Json::new().text("order", &order), &work.state);
    let seq = state.log.begin(&work.record)?;
    work.id = Id::Recorded;
    state.requests.begun(&work.state);
    Ok(seq)
}

/// Records that nothing was done, and says so. An id that a record has taken stays taken.
pub fn refuse(state: &State, work: &mut Work, denied: Denied) -> Denied {
    let code = denied.code.as_str();
    let completed = Work::failed(code, &denied.message);
    let ended = work.ended(&completed, Vec::new());
    work.record.own = if work.id == Id::Recorded { with_state(Json::new(), &ended) } else { Json::new() };
    let outcome = Json::new().text("status", "refused").text("code", code);
    work.record.outcome = outcome.text("detail", &denied.message).text("missing", &denied.missing);
    // It is refused whether or not the log can take it; an id that was recorded then ends at the next start.
    if work.id == Id::Recorded {
        drop(state.log.durable(Event::Refused, &work.record));
        state.requests.finish(ended);
    } else if denied.code != Code::RateLimited {
        // What is over the budget is counted instead.
        drop(state.log.note(Event::Refused, &work.record));
    }
    if work.id == Id::Taken {
        state.requests.release(work.state.uid, &work.state.request_id);
    }
    work.subscribers.refuse(code, &denied.message);
    denied
}

/// Records the outcome, however long that takes, and answers. None if the recorder stops first.
pub fn end(state: &State, work: &mut Work, learned: Learned) -> Option<Completed> {
    let (statement, failed) = match learned {
        Learned::Outcome(outcome) => (*outcome, None),
        Learned::Refused(close) => {
            let code = if close.code.is_empty() { Code::Interrupted.as_str() } else { &close.code };
            let failed = Work::failed(code, &close.message);
            (Outcome { detail: close.detail, ..Outcome::default() }, Some(failed))
        }
        Learned::Unknown => (Outcome::default(), None),
        Learned::Later => {
            work.subscribers.abandon();
            return None;
        }
    };
    // A copy that was staged and not committed has changed nothing.
    let known = failed.or(statement.completed.clone().filter(|_| statement.staged.is_none()));
    let event = if known.is_some() { Event::End } else { Event::Interrupted };
    let mut completed = known.unwrap_or_else(|| Completed {
        status: Status::Interrupted.into(),
        ..Work::failed("interrupted", "it was interrupted; examine what is there before asking again")
    });
    let inverse = statement.inverse.as_ref().map(Message::encode_to_vec).unwrap_or_default();
    let inverse = if is_done(&completed) && inverse.len() <= INVERSE_MAX { inverse } else { Vec::new() };
    completed.undoable = !inverse.is_empty();
    completed.duration_us = u64::try_from(work.started.elapsed().as_micros()).unwrap_or(u64::MAX);
    if completed.rule.is_empty() {
        completed.rule.clone_from(if statement.rule.is_empty() { &work.state.rule } else { &statement.rule });
    }
    if completed.decision == 0 {
        let claimed = format!("DECISION_{}", work.state.decision.to_ascii_uppercase());
        let claimed = Decision::from_str_name(&claimed).unwrap_or_default();
        completed.decision = if statement.decision == 0 { claimed.into() } else { statement.decision };
    }
    let ended = work.ended(&completed, inverse);
    let record = &mut work.record;
    if !statement.verb.is_empty() {
        claims::put_statement(record, &statement);
    }
    let detail = if statement.detail.is_empty() { &completed.message } else { &statement.detail };
    record.outcome = claims::outcome(&completed, &statement.objects, detail);
    record.own = with_state(Json::new(), &ended);
    (record.plan, record.args) = (Json::new(), Json::new());
    record.duration_us = Some(completed.duration_us);
    if let Some(inverse) = statement.inverse.as_ref().filter(|_| completed.undoable) {
        record.undo = Json::new().text("kind", &inverse.verb).text("of", &work.state.undoes);
    }
    while state.log.end(event, record).is_err() {
        if state.is_stopping() {
            work.subscribers.abandon();
            return None;
        }
        std::thread::sleep(END_PAUSE);
    }
    state.requests.finish(ended);
    let recorded = Recorded { completed: Some(completed.clone()), ..Recorded::default() };
    work.subscribers.finish(Kind::Recorded, &recorded);
    root::acknowledge(state.host.family(&work.state.family), &work.order_id());
    Some(completed)
}

/// Runs a read that is recorded as `served`, or asks for facts about files, which are not recorded. Answers either way.
pub fn inspect(state: &State, mut work: Work, is_wanted: impl Fn() -> bool) {
    let is_read = work.claim.event == "served";
    let permitted = if is_read { permit(state, &mut work, Class::Read, &is_wanted) } else { Ok(()) };
    let answered = permitted.and_then(|()| root::inspect(state, &work, is_read));
    let answered = answered.and_then(|recorded| {
        let Some(completed) = &recorded.completed else { return Ok(recorded) };
        let ended = work.ended(completed, Vec::new());
        let is_recorded = work.id == Id::Recorded;
        work.record.outcome = claims::outcome(completed, &[], "");
        work.record.duration_us = Some(completed.duration_us);
        work.record.own = if is_recorded { with_state(Json::new(), &ended) } else { Json::new() };
        state.log.note(Event::Served, &work.record)?;
        if is_recorded {
            state.requests.finish(ended);
        }
        Ok(recorded)
    });
    match answered {
        Ok(recorded) => work.subscribers.finish(Kind::Recorded, &recorded),
        Err(denied) if is_read => drop(refuse(state, &mut work, denied)),
        Err(denied) => work.subscribers.refuse(denied.code.as_str(), &denied.message),
    }
}
