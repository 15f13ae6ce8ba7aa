//! One verb on one object, with the rules that let it through.

use super::object::Object;
use super::rule::Rule;
use crate::facts::{Action, PackageStep};
use crate::verb_id::VerbId;
use std::sync::Arc;

/// One element of a request with the rules that let it through.
#[derive(Debug)]
pub struct Element {
    /// The verb that is granted.
    pub verb: VerbId,
    /// The object, without content.
    pub object: Object,
    /// The rules whose limits hold, in the policy's order.
    pub rules: Vec<Arc<Rule>>,
}

impl Element {
    /// Whether this names the step of a transaction. An upgrade of all names each package that is upgraded.
    pub(super) fn asks_for(&self, step: &PackageStep) -> bool {
        if let Object::Package { name, .. } = &self.object {
            return *name == step.name;
        }
        self.object == Object::AllPackages && step.action == Action::Upgrade
    }
}
