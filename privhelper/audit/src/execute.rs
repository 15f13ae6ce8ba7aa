//! The life of one order: consent, turn, `begin` on disk, root, `end` on disk.

use crate::claims::{self, with_state};
use crate::fault::Fault;
use crate::log::{Event, Record};
use crate::permit::permit;
use crate::requests::is_done;
use crate::root::{self, Learned, NoOutcome};
use crate::state::State;
use crate::subscribers::Subscribers;
use crate::work::{Id, Work};
use postern_peers::{Class, locked};
use postern_policy::types::Digest;
use postern_policy::{Code, Denied};
use postern_proto::link::{INVERSE_MAX, Kind};
use postern_proto::root::v1::{Outcome, Recorded, RequestState};
use postern_proto::v1::{Completed, Decision, Status};
use postern_record::Json;
use prost::Message;
use std::sync::Arc;
use std::time::Duration;

/// The pause before an `end` that could not be written is tried again.
const END_PAUSE: Duration = Duration::from_millis(500);

impl State {
    /// Ends the requests that an earlier recorder began: asks root for each outcome, and waits for those that still run. Takes
    /// back what was due meanwhile.
    pub fn recover(self: &Arc<Self>) {
        for (request, subscribers) in self.requests.unfinished() {
            let (shared, name) = (Arc::clone(self), "recover".to_owned());
            let (of, follows) = (request.clone(), Arc::clone(&subscribers));
            let thread = std::thread::Builder::new().name(name).spawn(move || shared.end_old(of, follows));
            if thread.is_err() {
                self.end_old(request, subscribers);
            }
        }
        self.take_back_due();
    }

    fn end_old(&self, request: RequestState, subscribers: Arc<Subscribers>) {
        let work = Work::new(claims::record_of(&request), request, Vec::new());
        let mut work = Work { subscribers, id: Id::Recorded, ..work };
        if work.state.begun_unix_us == 0 {
            let why = "the recorder was restarted while this waited for approval; ask again";
            drop(refuse(self, &mut work, Denied::new(Code::ApprovalExpired, why)));
        } else {
            // A request of the single helper before the recorder has no family; root's programs do not know it.
            let learned = match work.state.family.as_str() {
                "" => Err(NoOutcome::Unknown),
                family => root::learn(self, self.host.family(family), &work.order_id()),
            };
            drop(end(self, &mut work, learned));
        }
    }
}

/// Runs an effect from consent to its recorded end. Returns the client's answer; none if the recorder stops first.
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

/// Takes the id and records the intent, both with one sync. Nothing begins once a pause is recorded.
fn begin(state: &State, work: &mut Work) -> Result<u64, Denied> {
    let _one_at_a_time = locked(&state.begins);
    if state.is_stopping() {
        return Err(Denied::new(Code::Busy, "the recorder is about to end; ask again"));
    }
    if !work.state.by_operator {
        state.check_paused()?;
    }
    let is_unkept = state.requests.is_unkept(work.state.undoes_uid, &work.state.undoes);
    if work.is_take_back && !is_unkept {
        return Err(Denied::new(Code::UndoGone, "the change was kept or undone meanwhile"));
    }
    // An undo of an unkept change that runs may still fail: then it is taken back after that.
    let code = if work.is_take_back { Code::Busy } else { Code::UndoGone };
    state.requests.check_undo(&work.state).map_err(|denied| Denied { code, ..denied })?;
    state.requests.check_kept(&work.state, state.host.audit.unix())?;
    if work.state.keep_within_s == 0 {
        (work.state.touches, work.state.loaded_by) = Default::default();
    }
    state.look_again(&mut work.record);
    work.state.begun_unix_us = u64::try_from(state.host.audit.unix().as_micros()).unwrap_or(u64::MAX);
    let order = Digest::of(&[&work.order]).to_string();
    work.record.own = with_state(Json::new().text("order", &order), &work.state);
    let seq = state.log.begin(&work.record)?;
    work.id = Id::Recorded;
    state.requests.restore(work.state.clone());
    Ok(seq)
}

/// Records the end of an order that changed nothing, with its state if a record has taken its id.
fn note_end(state: &State, work: &mut Work, event: Event, completed: &Completed) -> Result<u64, Fault> {
    work.record.own = Json::new();
    if work.id != Id::Recorded {
        return state.log.note(event, &work.record);
    }
    let ended = work.ended(completed, Vec::new());
    work.record.own = with_state(Json::new(), &ended);
    let noted = state.log.durable(event, &work.record);
    state.requests.restore(ended);
    noted
}

/// Records and sends that nothing was done. An id that a record has taken stays taken.
pub fn refuse(state: &State, work: &mut Work, denied: Denied) -> Denied {
    let code = denied.code.as_str();
    let outcome = Json::new().text("status", "refused").text("code", code);
    work.record.outcome = outcome.text("detail", &denied.message).text("missing", &denied.missing);
    // A request over the budget is counted instead.
    if work.id == Id::Recorded || denied.code != Code::RateLimited {
        // The refusal counts even if the log cannot take it; a recorded id then ends at the next start.
        drop(note_end(state, work, Event::Refused, &Work::failed(code, &denied.message)));
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
        Ok(outcome) => (outcome, None),
        Err(NoOutcome::Refused(close)) => {
            let code = if close.code.is_empty() { Code::Interrupted.as_str() } else { &close.code };
            let failed = Work::failed(code, &close.message);
            (Outcome { detail: close.detail, ..Outcome::default() }, Some(failed))
        }
        Err(NoOutcome::Unknown) => (Outcome::default(), None),
        Err(NoOutcome::Later) => {
            work.subscribers.abandon();
            return None;
        }
    };
    // A copy that was staged but not committed has changed nothing.
    let known = failed.or(statement.completed.clone().filter(|_| statement.staged.is_none()));
    let event = if known.is_some() { Event::End } else { Event::Interrupted };
    let mut completed = known.unwrap_or_else(|| Completed {
        status: Status::Interrupted.into(),
        ..Work::failed("interrupted", "it was interrupted; examine what is there before asking again")
    });
    let keep_within_s = statement.inverse.as_ref().map_or(0, |inverse| inverse.keep_within_s);
    let inverse = statement.inverse.as_ref().map(Message::encode_to_vec).unwrap_or_default();
    let is_inverse = (is_done(&completed) || keep_within_s > 0) && inverse.len() <= INVERSE_MAX;
    let inverse = if is_inverse { inverse } else { Vec::new() };
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
    let ended = work.ended_with_deadline(state, completed, inverse, keep_within_s);
    let completed = ended.completed.clone().unwrap_or_default();
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
    state.requests.restore(ended);
    let recorded = Recorded { completed: Some(completed.clone()), ..Recorded::default() };
    work.subscribers.finish(Kind::Recorded, &recorded);
    root::acknowledge(state.host.family(&work.state.family), &work.order_id());
    Some(completed)
}

/// Runs a read that is recorded as `served` before its content leaves, or asks for facts about files, which are not recorded.
/// Answers either way.
pub fn inspect(state: &State, mut work: Work, is_wanted: impl Fn() -> bool) {
    let is_read = work.record.claim.event == "served";
    let permitted = if is_read { permit(state, &mut work, Class::Read, &is_wanted) } else { Ok(()) };
    let done = Completed { status: Status::Done.into(), ..Completed::default() };
    let early = Record { outcome: claims::outcome(&done, &[], ""), ..work.record.clone() };
    // The last event is held: its record can say how the read ended.
    let (mut held, mut noted) = (None, None);
    let event = |payload: &[u8]| {
        let Some(first) = held.replace(payload.to_vec()) else { return };
        if noted.get_or_insert_with(|| state.log.note(Event::Served, &early)).is_ok() {
            work.subscribers.send(Kind::Event, &first);
        }
    };
    let answered = permitted.and_then(|()| root::inspect(state, &work, is_read, event));
    let answered = answered.and_then(|recorded| {
        let is_noted = noted.transpose()?.is_some();
        let says_more = |done: &&Completed| work.id == Id::Recorded || !is_noted || !is_done(done);
        if let Some(completed) = recorded.completed.as_ref().filter(says_more) {
            work.record.outcome = claims::outcome(completed, &[], "");
            work.record.duration_us = Some(completed.duration_us);
            note_end(state, &mut work, Event::Served, completed)?;
        }
        if let Some(last) = held {
            work.subscribers.send(Kind::Event, &last);
        }
        Ok(recorded)
    });
    match answered {
        Ok(recorded) => work.subscribers.finish(Kind::Recorded, &recorded),
        Err(denied) if is_read => drop(refuse(state, &mut work, denied)),
        Err(denied) => work.subscribers.refuse(denied.code.as_str(), &denied.message),
    }
}
