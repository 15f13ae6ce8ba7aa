//! The life of one request: DESIGN 3, top to bottom, the same for every verb.

use crate::audit::{Event, Json, Record};
use crate::context::{Context, micros};
use crate::error::{Code, Refusal, Stop};
use crate::helper::Helper;
use crate::leave::Leave;
use crate::meta::{Meta, Mode};
use crate::places::Share;
use crate::policy::{Authorized, Peer, Policy};
use crate::reply::{Sink, Watchers};
use crate::requests::Seen;
use crate::startup::spawn;
use crate::types::Digest;
use crate::verb::{Planned, Verb};
use postern_proto::v1 as wire;
use prost::Message;
use std::sync::Arc;
use std::time::Instant;
use wire::event::Kind;

/// A request as it came off a connection's channel: whose it is, the kernel said.
#[derive(Debug)]
pub struct Received {
    /// What all connections share.
    pub helper: Arc<Helper>,
    /// Who.
    pub peer: Peer,
    /// The rpc, such as `Helper/FileWrite`.
    pub method: String,
    /// The message.
    pub body: Vec<u8>,
    /// Where the answer goes.
    pub sink: Sink,
    /// The message's share of memory.
    pub share: Share,
}

/// Malformed, or the log can't say what happens: the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refuse;

/// What comes of the first four steps.
enum First<V: Verb> {
    /// This id is under way: the caller is attached to it.
    Attached,
    /// The answer is there: an earlier outcome, or a mere check.
    Answered(Event, Box<wire::Completed>),
    /// The policy lets it through.
    Go(Meta, V, Arc<Policy>, Authorized<V>),
}

/// Runs one request. What needs no waiting is done on the connection's own thread, the rest on another.
///
/// # Errors
/// The message is malformed, or no thread can be had: the connection must end.
pub fn run<V: Verb>(received: Received) -> Result<(), Refuse> {
    let started = Instant::now();
    let Received { helper, peer, method, body, sink, share } = received;
    // 2. Decode strictly: what an older helper would ignore is refused.
    let exact = V::Wire::decode(body.as_slice()).ok().filter(|wire| wire.encode_to_vec() == body);
    let Some(wire) = exact else {
        helper.note_malformed(peer, &method, &body);
        return Err(Refuse);
    };
    let digest = Digest::of(&[method.as_bytes(), &[0], &body]);
    drop(body);
    let mut record = Record { client: Some(peer), verb: V::ID.name().to_owned(), ..Record::default() };
    let watchers = Arc::new(Watchers::of(sink.clone()));
    let (meta, verb, policy, by) = match first_steps::<V>(&helper, peer, wire, digest, &sink, &mut record) {
        Ok(First::Go(meta, verb, policy, by)) => (meta, verb, policy, by),
        Ok(First::Attached) => return Ok(()),
        Ok(First::Answered(event, completed)) => {
            note(&helper, &watchers, record, started, event, *completed);
            return Ok(());
        }
        Err(refusal) => {
            refuse(&helper, &watchers, record, started, refusal.into());
            return Ok(());
        }
    };
    let (decision, rule) = (wire::Decision::Allow.into(), by.rule_id().to_owned());
    watchers.event(&Kind::Accepted(wire::Accepted { decision, rule, attached: false }));
    let Some(place) = helper.running.take(peer.uid) else {
        let many = Refusal::new(Code::Busy, "too many requests are under way; ask again later");
        refuse(&helper, &watchers, record, started, many.into());
        return Ok(());
    };
    let rest = move || {
        let (helper, meta, policy, watchers) = (&helper, &meta, &policy, &watchers);
        finish(Context { helper, peer, meta, policy, watchers, record, digest, started }, &verb, by);
        drop((place, share));
    };
    spawn(V::ID.name(), rest).map_err(|_| Refuse)
}

fn first_steps<V: Verb>(
    helper: &Helper,
    peer: Peer,
    wire: V::Wire,
    digest: Digest,
    sink: &Sink,
    record: &mut Record,
) -> Result<First<V>, Refusal> {
    // 3. Validate.
    let (meta, verb) = V::parse(wire);
    record.request_id = meta.iter().flat_map(|meta| meta.request_id.chars()).take(36).collect();
    let (meta, verb) = (Meta::new(meta)?, verb?);
    fill(record, &meta, verb.args());
    let policy = helper.policy().ok_or_else(|| {
        Refusal::new(Code::UnknownClient, "no policy is in force; an operator must apply one")
    })?;
    record.policy = policy.digest().to_string();
    record.client_name = policy.clients_of(peer).join("+");
    if record.client_name.is_empty() {
        return Err(Refusal::new(Code::UnknownClient, "this user is no client of the policy"));
    }
    // An id that is known acts once.
    if V::Leave::IS_EFFECT && meta.mode == Mode::Execute {
        let now_ms = u64::try_from(helper.host.unix().as_millis()).unwrap_or(u64::MAX);
        let attach = |watchers: &Watchers| {
            sink.event(Kind::Accepted(wire::Accepted { attached: true, ..wire::Accepted::default() }));
            watchers.add(sink.clone());
        };
        match helper.requests.look(peer.uid, &meta.request_id, digest, now_ms, attach)? {
            Seen::New => {}
            Seen::Running => return Ok(First::Attached),
            Seen::Done(completed) => {
                let completed = wire::Completed { replayed: true, ..*completed };
                return Ok(First::Answered(Event::Served, Box::new(completed)));
            }
        }
    }
    // 4. Decide, before anything that the caller named is touched.
    let by = policy.decide::<V>(peer, &verb.wishes())?;
    by.rule_id().clone_into(&mut record.rule);
    record.decision = "allow";
    if meta.mode == Mode::Check {
        let checked = completed_as(wire::Status::Previewed, &by);
        return Ok(First::Answered(Event::Previewed, Box::new(checked)));
    }
    Ok(First::Go(meta, verb, policy, by))
}

/// Steps 5 to 9, on a thread of their own. Answers the client whatever happens.
fn finish<V: Verb>(mut cx: Context<'_>, verb: &V, by: Authorized<V>) {
    match steps(&mut cx, verb, by) {
        Ok(completed) => cx.watchers.finish(&Kind::Completed(completed)),
        // Two calls planned the same request at once; the other began it and answers both.
        Err(Stop::Attached) => {}
        Err(stop) => refuse(cx.helper, cx.watchers, cx.record, cx.started, stop),
    }
}

fn steps<V: Verb>(cx: &mut Context<'_>, verb: &V, by: Authorized<V>) -> Result<wire::Completed, Stop> {
    // 5. Plan, and decide the plan too.
    let plan = verb.plan(cx, &by)?;
    let by = cx.policy.decide_plan(cx.peer, by, &verb.wishes(), &plan.subject())?;
    cx.record.plan = plan.json();
    if cx.meta.mode == Mode::Preview {
        let mut previewed = completed_as(wire::Status::Previewed, &by);
        previewed.plan = Some(plan.wire());
        previewed.duration_us = micros(cx.started);
        cx.record.duration_us = Some(previewed.duration_us);
        cx.helper.audit.note(Event::Previewed, &cx.record)?;
        return Ok(previewed);
    }
    // 6. Ask: the approval of canonical request, plan and policy digest stands here once rules may say `ask`.
    // 7. Begin: for an effect the intent is on disk when this returns.
    let leave = V::Leave::take(cx, V::ID, &by)?;
    // 8. Act. A client that hangs up does not stop it.
    let result = verb.act(cx, &by, &plan, &leave).map(|mut done| {
        // The recorded outcome of another request is told as it was.
        if !done.completed.replayed {
            done.completed.decision = wire::Decision::Allow.into();
            by.rule_id().clone_into(&mut done.completed.rule);
            done.completed.plan = Some(plan.wire());
            done.completed.duration_us = micros(cx.started);
        }
        done
    });
    // 9. End: the outcome is on disk, then the client is answered.
    leave.end(cx, result)
}

fn fill(record: &mut Record, meta: &Meta, args: Json) {
    record.request_id = meta.request_id.to_string();
    meta.trace_id.as_str().clone_into(&mut record.trace_id);
    meta.task.as_str().clone_into(&mut record.task);
    record.claimed_uid = meta.claimed_uid;
    record.args = args.text("reason", meta.reason.as_str());
}

fn completed_as<V>(status: wire::Status, by: &Authorized<V>) -> wire::Completed {
    wire::Completed {
        status: status.into(),
        decision: wire::Decision::Allow.into(),
        rule: by.rule_id().to_owned(),
        ..wire::Completed::default()
    }
}

/// Nothing is done: one record, then the answer. If the log can't take the record, that is the answer.
pub fn refuse(helper: &Helper, watchers: &Watchers, mut record: Record, started: Instant, stop: Stop) {
    let (mut refusal, detail) = stop.tell();
    if refusal.code == Code::Denied {
        record.decision = "deny";
    }
    let outcome = Json::new().text("status", "refused").text("code", refusal.code.as_str());
    record.outcome = outcome.text("detail", &detail).text("missing", &refusal.missing);
    record.duration_us = Some(micros(started));
    if let Err(fault) = helper.audit.note(Event::Refused, &record) {
        refusal = fault.into();
    }
    watchers.finish(&Kind::Refused(wire::Refused {
        code: refusal.code.as_str().to_owned(),
        message: refusal.message,
        missing: refusal.missing,
        retry_after_s: refusal.retry_after_s,
        plan: None,
        granted_nearby: refusal.granted_nearby,
    }));
}

fn note(
    helper: &Helper,
    watchers: &Watchers,
    mut record: Record,
    started: Instant,
    event: Event,
    mut completed: wire::Completed,
) {
    record.duration_us = Some(micros(started));
    if !completed.replayed {
        completed.duration_us = micros(started);
    }
    match helper.audit.note(event, &record) {
        Ok(_) => watchers.finish(&Kind::Completed(completed)),
        Err(fault) => refuse(helper, watchers, record, started, fault.into()),
    }
}
