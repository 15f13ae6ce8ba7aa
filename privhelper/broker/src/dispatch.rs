//! Admits requests before they are decoded: budgets, permits, and the thread that runs each.

use crate::call::Call;
use crate::describe::rules_of;
use crate::error::Error;
use crate::meta::peek;
use crate::run::run;
use crate::state::State;
use crate::table::{Verb, find};
use postern_peers::Class;
use postern_policy::{Code, Decision, Denied, VerbId};
use postern_proto::frame::BODY_MAX;
use postern_proto::v1::Mode;

/// Admits a large body before it is read: a rule must grant this client the verb, and that much content.
///
/// # Errors
/// `unknown_client`, `no_grant` or `limit_exceeded`.
pub fn admit(state: &State, uid: u32, method: &str, body_len: usize) -> Result<(), Error> {
    if body_len <= BODY_MAX {
        return Ok(());
    }
    let (policy, identity) = (state.policy()?, state.identity(uid)?);
    if policy.clients_of(&identity).is_empty() {
        return Err(Denied::new(Code::UnknownClient, format!("uid {uid} is no client of the policy")).into());
    }
    // Only these two verbs have bodies that large.
    let verb = find(method).map(|verb| verb.id);
    let files = |most: u32| if verb == Some(VerbId::FilePatch) { u64::from(most) } else { 1 };
    let rules = rules_of(&policy, &identity).filter(|rule| rule.decision != Decision::Deny);
    let granting = rules.filter(|rule| verb.is_some_and(|verb| rule.verbs.contains(&verb)));
    let most = granting.map(|rule| rule.max_bytes.saturating_mul(files(rule.max_files))).max();
    let name = verb.map_or(method, |verb| verb.name());
    let Some(most) = most else {
        let denied = Denied::new(Code::NoGrant, format!("no rule grants {name}"));
        return Err(Denied { missing: name.to_owned(), ..denied }.into());
    };
    let overhead = u64::try_from(BODY_MAX).unwrap_or(u64::MAX);
    if u64::try_from(body_len).is_ok_and(|len| len > most.saturating_add(overhead)) {
        let why = format!("the rules for {name} grant at most {most} bytes of content (`max_bytes`)");
        return Err(Denied::new(Code::LimitExceeded, why).into());
    }
    Ok(())
}

/// Refuses a request whose body was not admitted.
pub fn refuse(mut call: Call, method: &str, error: Error) {
    if let Some(verb) = find(method) {
        verb.id.name().clone_into(&mut call.claim.verb);
    }
    // The record names the client as the policy names it.
    drop(call.client());
    let over = call.state.admit(call.peer.uid, Class::Effect).err();
    call.answer(Err(over.map_or(error, Error::Recorded)));
}

/// Runs a request, or refuses it undecoded. CHECK runs on the connection's own thread, since it does not wait.
pub fn dispatch(mut call: Call, method: &str, body: Vec<u8>) {
    let verb = find(method);
    let mode = peek(&body);
    let is_read = verb.is_some_and(|verb| !verb.id.is_effect());
    let only_looks = matches!(mode, Some(Mode::Check | Mode::Preview));
    let class = if is_read || only_looks { Class::Read } else { Class::Effect };
    if let Err(denied) = call.state.admit(call.peer.uid, class) {
        return call.answer(Err(Error::Recorded(denied)));
    }
    let Some(verb) = verb else { return call.unimplemented() };
    verb.id.name().clone_into(&mut call.claim.verb);
    if mode == Some(Mode::Check) {
        return serve(call, &verb, body);
    }
    if !call.begin() {
        let busy = Denied::new(Code::Busy, "too many requests are under way; try again later");
        return call.answer(Err(busy.into()));
    }
    let thread = std::thread::Builder::new().name(verb.id.name().to_owned());
    // Without a thread the call is dropped, and with it its stream ends as UNAVAILABLE: nothing has begun.
    drop(thread.spawn(move || serve(call, &verb, body)));
}

fn serve(mut call: Call, verb: &Verb, body: Vec<u8>) {
    let result = run(&mut call, verb, body);
    call.answer(result);
}
