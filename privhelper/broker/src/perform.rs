//! The last step of a request: an order to the recorder, or an answer that the broker gives itself.

use crate::call::{Call, Outcome};
use crate::client::Client;
use crate::describe;
use crate::error::{Error, Fault};
use crate::history::Question;
use crate::journal;
use crate::order::Order;
use crate::recorder::{Known, replayed};
use crate::relay::follow;
use crate::send::{send_execute, send_inspect};
use crate::sys::log;
use postern_policy::request::Statement;
use postern_policy::{Code, Denied, Grant, Request};
use postern_proto::v1 as wire;
use std::os::unix::net::UnixStream;

/// The last step of one verb.
pub type Perform = fn(&mut Call, &Client, &Order, &Grant) -> Result<Outcome, Error>;

/// `policy.describe`: the client's own rules.
///
/// # Errors
/// None.
pub fn describe(_: &mut Call, client: &Client, _: &Order, _: &Grant) -> Result<Outcome, Error> {
    let description = Some(describe::describe(&client.policy, &client.identity));
    let status = wire::Status::Done.into();
    let completed = wire::Completed { status, description, ..wire::Completed::default() };
    Ok(Outcome::Noted("served", Box::new(completed)))
}

/// `request.result`: the recorded outcome of one of the client's own requests.
///
/// # Errors
/// `unknown_request`, or `busy` while it runs.
pub fn result(call: &mut Call, _: &Client, order: &Order, _: &Grant) -> Result<Outcome, Error> {
    let Request::Result(of) = &order.request else { return Err(Error::Malformed) };
    match call.state.recorder.recall(call.peer.uid, of.as_str(), None)? {
        Known::Ended(recalled) => Ok(Outcome::Noted("served", Box::new(replayed(*recalled)))),
        Known::Running => Err(Denied::new(Code::Busy, "this request has not ended yet").into()),
        Known::New => Err(Denied::new(Code::UnknownRequest, "no request of yours has this id").into()),
    }
}

/// `request.keep`: the recorder decides it, and records it before it answers.
///
/// # Errors
/// None here.
pub fn keep(call: &mut Call, _: &Client, order: &Order, _: &Grant) -> Result<Outcome, Error> {
    let Request::Own(Statement::Keep(of)) = &order.request else { return Err(Error::Malformed) };
    of.as_str().clone_into(&mut call.claim.undo_of);
    let status = wire::Status::Done.into();
    Ok(Outcome::Noted("served", Box::new(wire::Completed { status, ..wire::Completed::default() })))
}

/// `agent.note`: the end of a record that the client keeps of itself becomes a record.
///
/// # Errors
/// `rate_limited`.
pub fn note(call: &mut Call, _: &Client, _: &Order, _: &Grant) -> Result<Outcome, Error> {
    call.state.admit_note(call.peer.uid)?;
    let status = wire::Status::Done.into();
    Ok(Outcome::Noted("note", Box::new(wire::Completed { status, ..wire::Completed::default() })))
}

/// A read: served by root or the probe, which decide it again.
///
/// # Errors
/// They refuse, or people do.
pub fn inspect(call: &mut Call, _: &Client, order: &Order, grant: &Grant) -> Result<Outcome, Error> {
    let question = call.may_ask(grant)?;
    let stream = send_inspect(call, order, "served")?;
    let ended = finish(call, stream);
    remember(call, &question, &ended);
    ended
}

/// An effect: recorded on disk before and after it, and sent to root once.
///
/// # Errors
/// Nothing began, or its outcome is not known.
pub fn execute(call: &mut Call, client: &Client, order: &Order, grant: &Grant) -> Result<Outcome, Error> {
    let question = call.may_ask(grant)?;
    let unix_ms = u64::try_from(call.state.host.unix().as_millis()).unwrap_or(u64::MAX);
    let asker = client.identity.asker.as_ref().map(|asker| asker.uid);
    let reservation = call.state.history.reserve(grant, asker, unix_ms)?;
    let ended = send_execute(call, order).and_then(|stream| finish(call, stream));
    if matches!(&ended, Ok(Outcome::Recorded(completed)) if !completed.replayed) && !call.is_attached() {
        journal::tell(call, client, order, unix_ms);
    }
    // A request that did not begin does not count against `rate`; a call that attached to another counts as that one.
    if call.is_attached() || matches!(ended, Err(Error::Recorded(_) | Error::Denied(_))) {
        call.state.history.give_back(&reservation).unwrap_or_else(|fault| log(&fault));
    }
    remember(call, &question, &ended);
    ended
}

/// Returns the outcome of an id that has ended, or attaches to one that runs; none if it is new.
///
/// # Errors
/// `request_id_conflict` or `request_id_expired`.
pub fn recall(call: &mut Call) -> Result<Option<Outcome>, Error> {
    let (uid, id) = (call.peer.uid, call.claim.request_id.clone());
    call.takes_id = true;
    match call.state.recorder.recall(uid, &id, Some(call.digest.array()))? {
        Known::New => Ok(None),
        Known::Ended(recalled) => Ok(Some(Outcome::Noted("served", Box::new(replayed(*recalled))))),
        Known::Running => {
            let stream = call.state.recorder.attach(uid, &id, call.digest.array());
            finish(call, stream.map_err(Fault::recorder)?).map(Some)
        }
    }
}

/// Follows an order to its outcome.
///
/// # Errors
/// As [`follow`].
pub fn finish(call: &mut Call, stream: UnixStream) -> Result<Outcome, Error> {
    let mut completed = follow(call, stream, call.limit)?;
    // The recorder has the plan as text alone; the client gets the part that it may see.
    if !completed.replayed && !call.is_attached() {
        if completed.status() == wire::Status::Unchanged && !call.plan.kept_back.is_empty() {
            completed.message = format!("nothing to do; kept back: {}", call.plan.kept_back.join(", "));
        }
        completed.plan = Some(call.plan.clone());
    }
    Ok(Outcome::Recorded(Box::new(completed)))
}

/// Remembers whether people approved or denied.
fn remember(call: &Call, question: &Question, ended: &Result<Outcome, Error>) {
    let unix_s = call.state.host.unix().as_secs();
    let kept = match ended {
        Err(Error::Recorded(denied)) if denied.code == Code::NotApproved && !call.is_attached() => {
            call.state.history.denied(question, &denied.message, unix_s)
        }
        Ok(_) if call.was_asked => call.state.history.approved(question),
        Ok(_) | Err(_) => Ok(()),
    };
    kept.unwrap_or_else(|fault| log(&fault));
}
