//! The path of a request, from its bytes to its outcome.

use crate::call::{Call, Outcome};
use crate::claim;
use crate::error::Error;
use crate::facts;
use crate::meta::Mode;
use crate::perform;
use crate::plan::Plan;
use crate::table::{self, Verb};
use postern_policy::{Decision, Grant};
use postern_proto::v1 as wire;

/// Runs one request: decodes it, decides it, gathers facts, decides those, and passes it on.
///
/// # Errors
/// It is malformed or refused, or something failed.
pub fn run(call: &mut Call, verb: &Verb, body: Vec<u8>) -> Result<Outcome, Error> {
    let (meta, order) = call.decode(verb.id, verb.family, body)?; // strict; validated types from here on
    let client = call.client()?;
    let client = call.asked_by(client)?; // the recorder knows whose session is open
    let (policy, who) = (&client.policy, &client.identity);
    let mut order = order.with_inverse(&call.state.recorder)?; // an undo is decided as what it does
    let grants = order.required_grants();
    claim::of_grants(&mut call.claim, &grants);
    let grant = policy.decide(who, &grants)?; // nothing that the caller names is touched before this line
    call.decided(&meta, &grant);
    let takes_id = verb.id.is_effect() || grant.decision() == Decision::Ask;
    if meta.mode == Mode::Execute
        && takes_id
        && let Some(known) = perform::recall(call)?
    {
        return Ok(known); // the same id acts once
    }
    order.check_undo()?;
    if meta.mode == Mode::Check {
        return Ok(previewed(&grant, None));
    }
    if meta.mode == Mode::Execute {
        call.may_ask(&grant)?;
    }
    call.accepted(&grant, policy);
    order.commit_secrets(policy)?;
    order.decided(policy, &grant);
    let of_verb = table::row(order.verb).facts; // the probe, or root by way of the recorder
    let (found, facts) = facts::gather(call, &client, &order, &grant, of_verb)?;
    let grant = policy.decide_facts(grant, who, &facts)?;
    call.decided(&meta, &grant);
    let plan = Plan::new(&order, &facts, policy)?;
    claim::of_plan(&mut call.claim, &order, &grant, &facts, &plan);
    claim::of_keep(&mut call.claim, &order, &grant, policy);
    call.plan = plan.visible_to(&client, verb.id, &order, &grant, &facts);
    if meta.mode == Mode::Preview {
        return Ok(previewed(&grant, Some(call.plan.clone())));
    }
    order.decided(policy, &grant);
    order.wire.facts = Some(found);
    (verb.perform)(call, &client, &order, &grant) // people agree, begin on disk, root, end on disk
}

fn previewed(grant: &Grant, plan: Option<wire::Plan>) -> Outcome {
    let completed = wire::Completed {
        status: wire::Status::Previewed.into(),
        decision: grant.decision().wire().into(),
        rule: grant.rule_id().to_owned(),
        plan,
        ..wire::Completed::default()
    };
    Outcome::Noted("previewed", Box::new(completed))
}
