//! What a client may know of a unit's plan.

use super::accepted::Policy;
use super::object::Object;
use crate::accounts::Identity;
use crate::facts::{UnitFacts, UnitState};
use crate::types::UnitName;
use crate::verb_id::VerbId;
use postern_proto::v1 as wire;

/// Whether the people have agreed whom a rule asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Not yet.
    Pending,
    /// They have, or no rule asks for it.
    Given,
}

impl Policy {
    /// The steps of a plan as the client may know them. Affected units whose status it may not see are without their
    /// state; before consent they are left out, since their being there tells it, and the named unit is without its
    /// state too.
    #[must_use]
    pub fn visible_steps(&self, who: &Identity, facts: &UnitFacts, consent: Consent) -> Vec<wire::UnitStep> {
        let is_given = consent == Consent::Given;
        let sees_name = |name: &str| {
            let object = UnitName::new(name).map(Object::unit);
            object.is_ok_and(|object| self.grants(who, VerbId::UnitStatus, &object))
        };
        let sees = |unit: &UnitState| unit.all_names().into_iter().all(sees_name);
        let step = |verb: &str, unit: &UnitState, cascade, with_state| {
            let told = |state: &str| if with_state { state.to_owned() } else { String::new() };
            let (active, enabled) = (told(&unit.active), told(&unit.enabled));
            wire::UnitStep { id: unit.id.clone(), verb: verb.to_owned(), cascade, active, enabled }
        };
        let own = [Some(facts.action), facts.now].into_iter().flatten();
        let own = own.map(|verb| step(verb, &facts.state, false, is_given || sees(&facts.state)));
        let others = facts.affected.iter().map(|other| (other, sees(&other.state)));
        let others = others.filter(|(_, seen)| is_given || *seen);
        own.chain(others.map(|(other, seen)| step(other.word(), &other.state, true, seen))).collect()
    }
}
