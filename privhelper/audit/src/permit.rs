//! Checks before an order gets its turn: policy, client, budget, and approval.

use crate::approvals::Waiting;
use crate::claims::with_state;
use crate::host::random_id;
use crate::log::Event;
use crate::state::State;
use crate::subscribers::LAG;
use crate::work::{Id, Work};
use postern_peers::Class;
use postern_policy::types::Digest;
use postern_policy::{Code, Denied, Policy};
use postern_proto::link::{approval_digest, order_id};
use postern_proto::root::v1::{Envelope, Order, Parked};
use postern_proto::v1::{Approval, OperatorShown};
use postern_record::Json;
use prost::Message;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// A larger order, more lines or bytes of new content are more than a person reads.
const ASKED_MAX: usize = 512 * 1024;
const LINES_MAX: usize = 2000;
const CONTENT_MAX: usize = 256 * 1024;
/// Shortest time to approve: shorter ones would let a client ask people again and again.
const ASK_MIN: u64 = 60;

/// Checks policy, client and budget, and has people asked where the claim says so.
///
/// # Errors
/// The request is refused: nothing was done.
pub fn permit(
    state: &State,
    work: &mut Work,
    class: Class,
    is_wanted: &impl Fn() -> bool,
) -> Result<(), Denied> {
    let class = if work.state.by_operator { Class::Operator } else { class };
    state.admit(work.state.uid, class)?;
    let policy = state.policy()?;
    if policy.digest().to_string() != work.record.claim.policy {
        return Err(Denied::new(Code::PlanChanged, "the policy was replaced; ask again"));
    }
    if class != Class::Operator && !state.is_client(work.state.uid) {
        return Err(Denied::new(Code::UnknownClient, "this user is no client of the policy"));
    }
    if class == Class::Effect {
        check_ids(work)?;
        state.check_paused()?;
        // Checked again right before it begins.
        state.requests.check_kept(&work.state, state.host.audit.unix())?;
    }
    if work.record.claim.decision == "ask" { ask(state, work, &policy, is_wanted) } else { Ok(()) }
}

/// Checks that the order is of the request that is recorded, and undoes the one that its claim names: another id would
/// reach another order's undo copy, and another undo would mark a request as undone that is not.
fn check_ids(work: &Work) -> Result<(), Denied> {
    let order = Order::decode(work.order.as_slice()).unwrap_or_default();
    let state = &work.state;
    let undone = order_id(state.undoes_uid, &state.undoes);
    let is_named = match order.inverse {
        Some(inverse) => inverse.order_id == undone,
        None => state.undoes.is_empty(),
    };
    if order.order_id == work.order_id() && is_named {
        return Ok(());
    }
    Err(Denied::new(Code::InvalidArgument, "the order is another request's"))
}

/// Has operators asked, and waits for them.
fn ask(state: &State, work: &mut Work, policy: &Policy, is_wanted: &impl Fn() -> bool) -> Result<(), Denied> {
    let bytes = work.content.iter().map(Vec::len).sum::<usize>();
    let lines = work.content.iter().flatten().filter(|byte| **byte == b'\n').count();
    if work.order.len() > ASKED_MAX || bytes > CONTENT_MAX || lines > LINES_MAX {
        let why = "the plan is too large for a person to read; make it smaller";
        return Err(Denied::new(Code::PlanTooLarge, why));
    }
    let (id, since, claim) = (random_id()?, state.host.audit.unix(), &work.record.claim);
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
        asked_by: work.record.person_uid(),
        excludes_asker: claim.excludes_asker,
    };
    let digest = approval_digest(&state.host.audit.boot_id, policy.digest().as_bytes(), &work.order);
    let digest = Digest::from_bytes(&digest).unwrap_or_default();
    let shown = OperatorShown {
        boot_id: state.host.audit.boot_id.clone(),
        order: work.order.clone(),
        claim: claim.encode_to_vec(),
        ..OperatorShown::default()
    };
    let waiting = Waiting {
        digest,
        policy: policy.digest(),
        expires: (state.host.audit.since_boot)().saturating_add(wait),
        shown: Arc::new(shown),
        content: Arc::clone(&work.content),
        view: view.clone(),
    };
    work.record.approval = approval(&waiting);
    work.record.own = with_state(Json::new(), &work.state);
    // On disk before anybody is asked.
    state.log.durable(Event::Pending, &work.record)?;
    work.id = Id::Recorded;
    state.approvals.add(waiting, policy.approvals())?;
    // Announced after it was added: an operator can show and decide it at once.
    work.subscribers.park(Parked { expires_unix_s: view.expires_unix_s, approval_id: id.clone() });
    announce(state, &view);
    let agreed = state.approvals.wait(&id, |one| state.still_asks(one, is_wanted()))?;
    work.record.approval = approval(&agreed);
    let (approvers, approved) = (agreed.view.approved_by, digest.as_bytes().to_vec());
    work.consent = Envelope { approvers, approved, ..Envelope::default() };
    state.look_again(&mut work.record);
    work.subscribers.park(Parked::default());
    Ok(())
}

/// Returns the approval as records name it: which, of what, by whom.
pub fn approval(one: &Waiting) -> Json {
    let json = Json::new().text("id", &one.view.approval_id).text("digest", &one.digest.to_string());
    json.numbers("uids", &one.view.approved_by)
}

/// Announces the request on operators' terminals and in the journal, in a fixed text; `show` has the rest.
fn announce(state: &State, view: &Approval) {
    const WAITS: &str = "7d3c2f0b9a5e4c61b8f4d2a6e1905c3b";
    let (id, verb, client) = (&view.approval_id, &view.verb, &view.client);
    let message = format!("{verb} by client {client} waits for approval: postern-admin show {id}");
    state.log.journal.send(&format!(
        "MESSAGE={message}\nMESSAGE_ID={WAITS}\nPRIORITY=5\nSYSLOG_IDENTIFIER=postern-audit\nPOSTERN_APPROVAL={id}\n"
    ));
    // If that fails, the request is still in every operator's list.
    drop(UnixStream::connect(&state.host.announce).and_then(|mut stream| {
        stream.set_write_timeout(Some(LAG))?;
        writeln!(stream, "{id}")
    }));
}
