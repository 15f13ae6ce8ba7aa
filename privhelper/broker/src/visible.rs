//! Redacts a unit's plan: affected units that the client may not see lose their state, or are left out.

use crate::client::Client;
use crate::order::Order;
use postern_policy::facts::{UnitFacts, UnitState, all_names};
use postern_policy::types::UnitName;
use postern_policy::{Object, Request, VerbId};
use postern_proto::v1 as wire;

/// Returns systemctl's words for what is done to the named unit: `enable`, and with `now` also `start`.
pub fn own_words(order: &Order) -> impl Iterator<Item = &'static str> {
    let now = matches!(&order.request, Request::Unit(change) if change.now);
    let at_once = if order.verb == VerbId::UnitEnable { "start" } else { "stop" };
    let word = order.verb.name().trim_start_matches("unit.");
    [word].into_iter().chain(now.then_some(at_once))
}

/// Returns the steps of a plan as the client may know them. Affected units whose status it may not see are without their
/// state; before people agreed they are left out, since their being there tells it, and the named unit is without its
/// state too.
#[must_use]
pub fn unit_steps(client: &Client, order: &Order, facts: &UnitFacts, agreed: bool) -> Vec<wire::UnitStep> {
    let sees_name = |name: &str| {
        let object = UnitName::new(name).map(Object::unit);
        object.is_ok_and(|object| client.policy.grants(&client.identity, VerbId::UnitStatus, &object))
    };
    let sees = |unit: &UnitState| all_names(unit).into_iter().all(sees_name);
    let step = |verb: &str, unit: &UnitState, cascade, with_state| {
        let told = |state: &str| if with_state { state.to_owned() } else { String::new() };
        let (active, enabled) = (told(&unit.active), told(&unit.enabled));
        wire::UnitStep { id: unit.id.clone(), verb: verb.to_owned(), cascade, active, enabled }
    };
    let own = own_words(order).map(|verb| step(verb, &facts.state, false, agreed || sees(&facts.state)));
    let others = facts.affected.iter().map(|other| (other, sees(&other.state)));
    let others = others.filter(|(_, seen)| agreed || *seen);
    own.chain(others.map(|(other, seen)| step(other.word(), &other.state, true, seen))).collect()
}
