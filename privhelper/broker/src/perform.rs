//! The last step of a request: an order to the recorder, or an answer of the broker's own.

use crate::call::{Call, Outcome};
use crate::client::Client;
use crate::describe;
use crate::error::{Error, Fault};
use crate::history::Question;
use crate::order::Order;
use crate::recorder::{Known, replayed};
use crate::relay::follow;
use crate::sys::{log, socket};
use postern_policy::{Code, Denied, Grant, Request};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::{Claim, RecorderExecute, RecorderInspect};
use postern_proto::v1 as wire;
use prost::Message;
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The last step of one verb.
pub type Perform = fn(&mut Call, &Client, &Order, &Grant) -> Result<Outcome, Error>;

/// `policy.describe`: the rules of the client itself.
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
/// Nothing began, or nobody can say what became of it.
pub fn execute(call: &mut Call, _: &Client, order: &Order, grant: &Grant) -> Result<Outcome, Error> {
    let question = call.may_ask(grant)?;
    let unix_ms = u64::try_from(call.state.host.unix().as_millis()).unwrap_or(u64::MAX);
    let reservation = call.state.history.reserve(grant, unix_ms)?;
    let ended = send_execute(call, order).and_then(|stream| finish(call, stream));
    // Where nothing began, no rule is used up; a call that attached to another counts as that one.
    if call.is_attached() || matches!(ended, Err(Error::Recorded(_) | Error::Denied(_))) {
        call.state.history.give_back(&reservation).unwrap_or_else(|fault| log(&fault));
    }
    remember(call, &question, &ended);
    ended
}

/// Returns the outcome of an id that has acted, or attaches to one that runs; none: it is new.
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

/// Follows an order of which an outcome is awaited.
///
/// # Errors
/// As [`follow`].
pub fn finish(call: &mut Call, stream: UnixStream) -> Result<Outcome, Error> {
    let mut completed = follow(call, stream, call.limit)?;
    // The recorder has the plan as text alone; the client gets what it may see of it.
    if !completed.replayed && !call.is_attached() {
        completed.plan = Some(call.plan.clone());
    }
    Ok(Outcome::Recorded(Box::new(completed)))
}

/// Remembers what people said.
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

/// Sends a read, or with an empty `event` asks for facts. No content follows: it changes nothing that facts tell.
///
/// # Errors
/// The recorder does not listen.
pub fn send_inspect(call: &Call, order: &Order, event: &str) -> Result<UnixStream, Error> {
    let claim = Claim { event: event.to_owned(), family: order.family.clone(), ..call.claim.clone() };
    let inspect = RecorderInspect {
        claim: Some(claim),
        order: order.wire.encode_to_vec(),
        content_bytes: 0,
        body_sha256: call.digest.as_bytes().to_vec(),
    };
    let send = |stream: &mut UnixStream| link::send(stream, Kind::RecorderInspect, &inspect);
    send_order(call, send)
}

fn send_execute(call: &Call, order: &Order) -> Result<UnixStream, Error> {
    let (contents, secrets) = (order.content(), order.secrets());
    let claim = Claim { event: "begin".to_owned(), family: order.family.clone(), ..call.claim.clone() };
    let bytes = contents.iter().map(|content| content.len()).sum::<usize>();
    let execute = RecorderExecute {
        claim: Some(claim),
        order: order.wire.encode_to_vec(),
        body_sha256: call.digest.as_bytes().to_vec(),
        content_bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        secrets: secrets.is_some(),
    };
    let send = |stream: &mut UnixStream| {
        link::send(stream, Kind::RecorderExecute, &execute)?;
        contents.iter().try_for_each(|content| link::send_content(stream, content))?;
        secrets.iter().try_for_each(|secrets| link::send(stream, Kind::Secrets, secrets))
    };
    send_order(call, send)
}

/// Opens a connection and sends an order. A recorder that refuses early reads no content: what it says is still there
/// to be read where the sending fails.
fn send_order(
    call: &Call,
    send: impl FnOnce(&mut UnixStream) -> io::Result<()>,
) -> Result<UnixStream, Error> {
    let mut stream = call.state.recorder.open().map_err(unreachable)?;
    match send(&mut stream) {
        Err(error) if !socket::readable(&stream, Duration::ZERO) => Err(unreachable(error)),
        Ok(()) | Err(_) => Ok(stream),
    }
}

/// Nothing was sent whole, so nothing began.
fn unreachable(error: io::Error) -> Error {
    Error::Denied(Fault::recorder(error).denied())
}
