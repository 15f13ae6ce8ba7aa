//! What must hold before an order gets its turn: policy, client, budget, and people's consent.

use crate::approvals::{Consent, Waiting};
use crate::claims::with_state;
use crate::host::random_id;
use crate::log::{Class, Event};
use crate::policy::check_digest;
use crate::state::State;
use crate::sys::sockets;
use crate::work::{Id, Work};
use postern_policy::types::Digest;
use postern_policy::{Code, Denied, Policy};
use postern_proto::link::approval_digest;
use postern_proto::root::v1::Parked;
use postern_proto::v1::{Approval, OperatorShown};
use postern_record::Json;
use prost::Message;
use std::sync::Arc;
use std::time::Duration;

/// A larger order is more than a person reads.
const ASKED_MAX: usize = 512 * 1024;
/// An order waits at least this long for people: shorter ones could follow each other without end.
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
