//! The life of one request: DESIGN 3, top to bottom, the same for every verb.

use crate::answer::{end, note, refuse};
use crate::approvals::{Answer, announce};
use crate::audit::{Event, Json, Record};
use crate::context::{Context, micros};
use crate::error::Stop;
use crate::helper::Helper;
use crate::host::Peer;
use crate::leave::Leave;
use crate::meta::{Meta, Mode, split_meta, strict};
use crate::places::{Place, Share};
use crate::reply::{Sink, Watchers};
use crate::requests::Seen;
use crate::startup::spawn;
use crate::verb::{Planned, Verb};
use postern_policy::types::Digest;
use postern_policy::{Code, Consent, Decision, Denied, Grant, Identity, Policy, RequiredGrant, Risk};
use postern_proto::v1 as wire;
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
    Go(Meta, V, Arc<Policy>, Box<(Identity, Grant)>, Vec<RequiredGrant>),
}

/// Runs one request. What needs no waiting is done on the connection's own thread, the rest on another.
///
/// # Errors
/// The message is malformed, or no thread can be had: the connection must end.
pub fn run<V: Verb>(received: Received) -> Result<(), Refuse> {
    let started = Instant::now();
    let Received { helper, peer, method, body, sink, share } = received;
    // 2. Decode strictly: what an older helper would ignore is refused.
    let Some(wire) = strict::<V::Wire>(&body) else {
        helper.note_malformed(peer, &method, &body);
        return Err(Refuse);
    };
    // Without the meta, which every try has anew.
    let (meta, rest) = split_meta(&body);
    let canonical = Digest::of(&[method.as_bytes(), &[0], rest]);
    let digest = Digest::of(&[canonical.as_bytes(), meta]);
    drop(body);
    let mut record = Record { client: Some(peer), verb: V::ID.name().to_owned(), ..Record::default() };
    let watchers = Arc::new(Watchers::of(sink.clone()));
    let digests = Digests { digest, canonical };
    let (meta, verb, policy, granted, required_grants) =
        match first_steps::<V>(&helper, peer, wire, digests, &sink, &mut record) {
            Ok(First::Go(meta, verb, policy, granted, required_grants)) => {
                (meta, verb, policy, granted, required_grants)
            }
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
    let (who, by) = *granted;
    let (decision, rule) = (by.decision().wire().into(), by.rule_id().to_owned());
    watchers.event(&Kind::Accepted(wire::Accepted { decision, rule, attached: false }));
    let Some(place) = helper.running.take(peer.uid) else {
        let many = Denied::new(Code::Busy, "too many requests are under way; ask again later");
        refuse(&helper, &watchers, record, started, many.into());
        return Ok(());
    };
    let cx = Context {
        helper,
        peer,
        meta,
        who,
        policy,
        watchers,
        record,
        required_grants,
        digest,
        canonical,
        has_id: false,
        started,
    };
    spawn(V::ID.name(), move || finish(cx, verb, by, (place, share))).map_err(|_| Refuse)
}

/// What a request is known by: itself, and itself without its meta.
#[derive(Debug, Clone, Copy)]
struct Digests {
    digest: Digest,
    canonical: Digest,
}

fn first_steps<V: Verb>(
    helper: &Helper,
    peer: Peer,
    wire: V::Wire,
    digests: Digests,
    sink: &Sink,
    record: &mut Record,
) -> Result<First<V>, Denied> {
    // 3. Validate.
    let (meta, verb) = V::parse(wire);
    record.request_id = meta.iter().flat_map(|meta| meta.request_id.chars()).take(36).collect();
    let (meta, verb) = (Meta::new(meta)?, verb?);
    fill(record, &meta, verb.args());
    let policy = helper.policy().ok_or_else(|| {
        Denied::new(Code::UnknownClient, "no policy is in force; an operator must apply one")
    })?;
    record.policy = policy.digest().to_string();
    let who = helper.host.identity(peer.uid)?;
    record.client_name = policy.clients_of(&who).join("+");
    if record.client_name.is_empty() {
        return Err(Denied::new(Code::UnknownClient, "this user is no client of the policy"));
    }
    // An id that is known acts once. Whether a read has taken its id, the decision says.
    if V::Leave::IS_EFFECT
        && meta.mode == Mode::Execute
        && let Some(known) = known(helper, peer, &meta, digests, sink)?
    {
        return Ok(known);
    }
    // 4. Decide, before anything that the caller named is touched.
    let required_grants = verb.required_grants(helper, peer.uid)?;
    let by = policy.decide(&who, &required_grants)?;
    by.rule_id().clone_into(&mut record.rule);
    record.decision = by.decision().as_str();
    record.risk = risk(&Risk::of(&required_grants));
    if meta.mode == Mode::Check {
        let checked = completed_as(wire::Status::Previewed, &by);
        return Ok(First::Answered(Event::Previewed, Box::new(checked)));
    }
    if meta.mode == Mode::Execute {
        if V::Leave::IS_EFFECT {
            helper.check_paused()?;
        }
        if by.decision() == Decision::Ask {
            if !V::Leave::IS_EFFECT
                && let Some(known) = known(helper, peer, &meta, digests, sink)?
            {
                return Ok(known);
            }
            let about = (peer.uid, digests.canonical);
            helper.approvals.admit(about, policy.approvals(), helper.boottime())?;
        }
    }
    let required_grants =
        required_grants.into_iter().map(|(verb, object)| (verb, object.without_content())).collect();
    Ok(First::Go(meta, verb, policy, Box::new((who, by)), required_grants))
}

/// What is known of this id: its outcome, or that it runs or waits, and the caller is attached to it.
fn known<V: Verb>(
    helper: &Helper,
    peer: Peer,
    meta: &Meta,
    digests: Digests,
    sink: &Sink,
) -> Result<Option<First<V>>, Denied> {
    let now_ms = u64::try_from(helper.host.unix().as_millis()).unwrap_or(u64::MAX);
    let attach = |watchers: &Watchers| {
        sink.event(Kind::Accepted(wire::Accepted { attached: true, ..wire::Accepted::default() }));
        watchers.add(sink.clone());
    };
    Ok(match helper.requests.look(peer.uid, &meta.request_id, digests.digest, now_ms, attach)? {
        Seen::New => None,
        Seen::Running => Some(First::Attached),
        Seen::Done(completed) => {
            let completed = wire::Completed { replayed: true, ..*completed };
            Some(First::Answered(Event::Served, Box::new(completed)))
        }
    })
}

/// What a request holds until it ends or waits for a person: a place among those that run, its share of memory.
type Held = (Place, Share);

/// Steps 5 to 9, on a thread of their own. Answers the client whatever happens.
fn finish<V: Verb>(mut cx: Context, verb: V, by: Grant, (place, share): Held) {
    match prepare(&mut cx, &verb, by) {
        Ok(Prepared::Answered(completed)) => cx.watchers.finish(&Kind::Completed(*completed)),
        Ok(Prepared::Ready(by, plan)) if by.decision() == Decision::Ask => {
            park(cx, verb, by, plan, share);
            drop(place);
        }
        Ok(Prepared::Ready(by, plan)) => perform(cx, &verb, &by, &plan),
        Err(stop) => end(cx, stop),
    }
}

/// What comes of step 5.
enum Prepared<V: Verb> {
    /// A mere look at the plan.
    Answered(Box<wire::Completed>),
    /// The plan is granted, or granted if a person agrees.
    Ready(Grant, V::Plan),
}

fn prepare<V: Verb>(cx: &mut Context, verb: &V, by: Grant) -> Result<Prepared<V>, Stop> {
    // 5. Plan, and decide the plan too.
    let plan = verb.plan(cx, &by)?;
    cx.who = cx.helper.host.identity(cx.peer.uid)?;
    let by = cx.policy.decide_facts(by, &cx.who, &plan.facts())?;
    // What the plan touches may be granted by a stricter rule than what was asked for.
    by.rule_id().clone_into(&mut cx.record.rule);
    cx.record.decision = by.decision().as_str();
    cx.record.plan = plan.json();
    if cx.meta.mode == Mode::Preview {
        let mut previewed = completed_as(wire::Status::Previewed, &by);
        previewed.plan = Some(plan.wire(cx, consent(&by)));
        previewed.duration_us = micros(cx.started);
        cx.record.duration_us = Some(previewed.duration_us);
        cx.helper.audit.note(Event::Previewed, &cx.record)?;
        return Ok(Prepared::Answered(Box::new(previewed)));
    }
    Ok(Prepared::Ready(by, plan))
}

/// 6. Ask: the rest of the request waits, and no thread with it.
fn park<V: Verb>(mut cx: Context, verb: V, by: Grant, plan: V::Plan, share: Share) {
    let question = cx.question(&verb, &by, &plan);
    let asked = question.and_then(|question| Ok((cx.ask(V::ID, &question)?, question)));
    let (proof, question) = match asked {
        Ok(asked) => asked,
        Err(stop) => return end(cx, stop),
    };
    let (helper, watchers) = (Arc::clone(&cx.helper), Arc::clone(&cx.watchers));
    let waiting = wire::Waiting {
        approval_id: question.view.approval_id.clone(),
        expires_unix_s: question.view.expires_unix_s,
        plan: Some(plan.wire(&cx, consent(&by))),
    };
    let view = question.view.clone();
    let then = Box::new(move |answer| {
        cx.watchers.wait(None);
        match answer {
            Answer::Approved(question) => {
                let _place = cx.helper.running.add(cx.peer.uid);
                cx.record.approval = question.json();
                perform(cx, &verb, &by, &plan);
            }
            Answer::Ended(refusal) => end(cx, refusal.into()),
        }
        drop(share);
    });
    let tell = || watchers.wait(Some(waiting));
    match helper.approvals.park(question, then, helper.boottime(), tell) {
        Ok(()) => {
            // A policy that was applied since step 4 has not seen it among those that wait.
            helper.policy().iter().for_each(|policy| helper.approvals.end_others(policy.digest()));
            announce(&helper, &proof, &view);
        }
        Err((refusal, then)) => then(Answer::Ended(refusal)),
    }
}

/// Steps 7 to 9.
fn perform<V: Verb>(mut cx: Context, verb: &V, by: &Grant, plan: &V::Plan) {
    // 7. Begin: for an effect the intent is on disk when this returns.
    let leave = match V::Leave::take(&mut cx, V::ID, by) {
        Ok(leave) => leave,
        Err(stop) => return end(cx, stop),
    };
    // 8. Act. A client that hangs up does not stop it.
    let result = verb.act(&cx, by, plan, &leave).map(|mut done| {
        // The recorded outcome of another request is told as it was.
        if !done.completed.replayed {
            done.completed.decision = by.decision().wire().into();
            by.rule_id().clone_into(&mut done.completed.rule);
            done.completed.plan = Some(plan.wire(&cx, Consent::Given));
            done.completed.duration_us = micros(cx.started);
        }
        done
    });
    // 9. End: the outcome is on disk, then the client is answered.
    match leave.end(&mut cx, result) {
        Ok(completed) => cx.watchers.finish(&Kind::Completed(completed)),
        Err(stop) => end(cx, stop),
    }
}

/// What a client may know of a plan that nobody was asked about yet.
fn consent(by: &Grant) -> Consent {
    if by.decision() == Decision::Ask { Consent::Pending } else { Consent::Given }
}

fn risk(risk: &Risk) -> Json {
    Json::new().number("score", risk.score).texts("capabilities", risk.capabilities.iter().copied())
}

fn fill(record: &mut Record, meta: &Meta, args: Json) {
    record.request_id = meta.request_id.to_string();
    meta.trace_id.as_str().clone_into(&mut record.trace_id);
    meta.task.as_str().clone_into(&mut record.task);
    record.claimed_uid = meta.claimed_uid;
    record.args = args.text("reason", meta.reason.as_str());
}

fn completed_as(status: wire::Status, by: &Grant) -> wire::Completed {
    wire::Completed {
        status: status.into(),
        decision: by.decision().wire().into(),
        rule: by.rule_id().to_owned(),
        ..wire::Completed::default()
    }
}
