//! Adds to the answer of a start, restart or reload the unit's new journal lines, as a `unit.status` of their own.

use crate::call::Call;
use crate::claim;
use crate::client::Client;
use crate::order::Order;
use crate::relay::follow;
use crate::send::send_inspect;
use postern_policy::facts::{UnitState, all_names};
use postern_policy::types::UnitName;
use postern_policy::{Code, Decision, Facts, Object, Request, VerbId};
use postern_proto::root::v1::Claim;
use postern_proto::v1::UnitStatusRequest;
use prost::Message;
use std::time::Duration;

/// Most lines that are added to an answer.
const LINES_MAX: u32 = 20;
/// journald may write a line a little after its unit has ended; only root can make it sync.
const LAG: Duration = Duration::from_millis(100);
/// Longest wait for them, in milliseconds.
const WAIT_MS: u64 = 10_000;
/// The verbs after which the journal is read.
const STARTS: [VerbId; 4] =
    [VerbId::UnitStart, VerbId::UnitRestart, VerbId::UnitTryRestart, VerbId::UnitReload];

/// Sends the client the unit's journal lines since `began_ms` that it may read by `unit.status` without approval. Errors
/// are ignored: the outcome does not depend on the journal.
pub fn tell(call: &mut Call, client: &Client, order: &Order, began_ms: u64) {
    if !STARTS.contains(&order.verb) || !call.sender.is_open() {
        return;
    }
    if let Some((order, claim)) = read(call, client, order, began_ms) {
        std::thread::sleep(LAG);
        let own = std::mem::replace(&mut call.claim, claim);
        drop(send_inspect(call, &order, "served").and_then(|stream| follow(call, stream, Duration::MAX)));
        call.claim = own;
    }
}

/// Returns the read as an order of the same client, which the probe decides; none if no line is granted.
fn read(call: &Call, client: &Client, order: &Order, began_ms: u64) -> Option<(Order, Claim)> {
    let (policy, who) = (&client.policy, &client.identity);
    let Request::Unit(change) = &order.request else { return None };
    let Some(Ok(Facts::Unit(facts))) = order.wire.facts.as_ref().map(Facts::from_wire) else { return None };
    let journal_lines = lines(client, &facts.state).min(LINES_MAX);
    if journal_lines == 0 {
        return None;
    }
    let (unit, since_unix_s) = (change.unit.to_string(), began_ms.checked_div(1000)?);
    let body = UnitStatusRequest { meta: None, unit, journal_lines, since_unix_s }.encode_to_vec();
    let request = Request::decode_order(VerbId::UnitStatus, &body, Vec::new())?.ok()?;
    let mut read = Order::new(call.peer.uid, &call.claim.request_id, "units", request, body);
    let grants = read.required_grants();
    let grant = policy.decide(who, &grants).ok().filter(|grant| grant.decision() == Decision::Allow)?;
    read.decided(policy, &grant);
    let verb = VerbId::UnitStatus.name().to_owned();
    let mut claim = Claim { verb, wait_ms: WAIT_MS, plan_json: String::new(), ..call.claim.clone() };
    claim.undo_of.clear();
    claim::of_grants(&mut claim, &grants);
    claim::of_grant(&mut claim, &grant);
    claim::of_args(&mut claim, &read);
    Some((read, claim))
}

/// Returns how many lines of a unit's journal the client may see without asking, under all names that rules speak of.
fn lines(client: &Client, unit: &UnitState) -> u32 {
    let lines = |name: &str| {
        let grants = [(VerbId::UnitStatus, Object::unit(UnitName::new(name).ok()?))];
        let grant = match client.policy.decide(&client.identity, &grants) {
            Err(why) if why.code == Code::NoGrant && name != unit.id => return Some(LINES_MAX),
            grant => grant.ok()?,
        };
        let rules = grant.elements().iter().flat_map(|element| &element.rules);
        rules.filter(|rule| rule.decision == Decision::Allow).map(|rule| rule.journal_lines).max()
    };
    all_names(unit).into_iter().map(|name| lines(name).unwrap_or(0)).min().unwrap_or(0)
}
