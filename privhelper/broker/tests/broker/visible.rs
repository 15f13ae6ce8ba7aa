//! Affected units in a plan are shown only to clients that may see them.

use crate::common::{CLIENT_UID, asked, rule, strings};
use postern_broker::client::Client;
use postern_broker::order::Order;
use postern_broker::visible::unit_steps;
use postern_policy::facts::{AffectedUnit, UnitFacts, UnitState};
use postern_policy::types::Digest;
use postern_policy::{Identity, Policy, Request, VerbId};
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;
use prost::Message;
use std::sync::Arc;

fn state(names: &[&str]) -> UnitState {
    let (active, enabled) = ("active".to_owned(), "enabled".to_owned());
    UnitState { id: names[0].to_owned(), names: strings(names), active, enabled, ..UnitState::default() }
}

fn along(verb: VerbId, names: &[&str]) -> AffectedUnit {
    AffectedUnit { verb, cause: "Requires= of a.service".to_owned(), state: state(names) }
}

fn order(verb: VerbId, message: &impl Message) -> Order {
    let body = message.encode_to_vec();
    let request = Request::decode_order(verb, &body, Vec::new()).unwrap().unwrap();
    Order::new(CLIENT_UID, "", "units", request, body)
}

#[test]
fn a_client_sees_the_states_that_it_may_look_at() {
    let units = |id: &str, names: &[&str]| root::Rule { units: strings(names), ..rule(id, &["unit.status"]) };
    let rules =
        vec![units("look", &["b.service", "also-b.service"]), asked(units("look-asked", &["c.service"]))];
    let clients =
        vec![root::Client { name: "agent".to_owned(), user: "postern".to_owned(), group: String::new() }];
    let rules = root::Rules { version: 1, clients, rules, ..root::Rules::default() };
    let policy = Arc::new(Policy::compile(&rules, Digest::default()).unwrap());
    let identity = Identity { uid: CLIENT_UID, users: strings(&["postern"]), ..Identity::default() };
    let client = Client { policy, identity };
    let affected = vec![
        along(VerbId::UnitStop, &["b.service", "also-b.service"]),
        along(VerbId::UnitStart, &["c.service"]),
        along(VerbId::UnitStop, &["d.service", "b.service"]),
    ];
    let facts = UnitFacts { state: state(&["a.service"]), affected };
    let request = wire::UnitRestartRequest { meta: None, unit: "a.service".to_owned() };
    let restart = order(VerbId::UnitRestart, &request);
    let told = |order: &Order, agreed| {
        let steps = unit_steps(&client, order, &facts, agreed).into_iter();
        steps
            .map(|step| {
                format!("{} {} {} {} {}", step.verb, step.id, step.cascade, step.active, step.enabled)
            })
            .collect::<Vec<_>>()
    };
    let expected = [
        "restart a.service false active enabled",
        "stop b.service true active enabled",
        "start c.service true  ",
        "stop d.service true  ",
    ];
    assert_eq!(told(&restart, true), expected);
    let before = ["restart a.service false  ", "stop b.service true active enabled"];
    assert_eq!(told(&restart, false), before, "before people agreed");
    let request = wire::UnitEnableRequest { meta: None, unit: "a.service".to_owned(), now: true };
    let enable = told(&order(VerbId::UnitEnable, &request), true);
    assert_eq!(
        enable[..2],
        ["enable a.service false active enabled", "start a.service false active enabled"]
    );
}
