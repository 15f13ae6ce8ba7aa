//! `package.hold` and `package.unhold`: packages stay at their version, or no longer.

use super::package_change::distinct;
use crate::audit::{Json, Ticket};
use crate::context::Context;
use crate::error::Stop;
use crate::helper::{Helper, wait_for};
use crate::job;
use crate::leave::Done;
use crate::verb::{NoPlan, Verb};
use postern_policy::types::PackageName;
use postern_policy::{Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
use postern_proto::root::v1::{Job, JobKind};
use postern_proto::v1 as wire;

/// Sets the mark or takes it away, under dpkg's lock.
///
/// # Errors
/// It could not be run; that it failed is an outcome.
pub(crate) fn mark(
    cx: &Context,
    by: &Grant,
    kind: JobKind,
    names: &[PackageName],
    ticket: &Ticket,
) -> Result<Done, Stop> {
    let wait = cx.limit(by);
    let _one_at_a_time = wait_for(&cx.helper.packages, wait)?;
    let package = |name: &PackageName| wire::Package { name: name.to_string(), version: String::new() };
    let packages = names.iter().map(package).collect();
    let lock_timeout_s = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
    job::execute(cx, ticket, &Job { kind: kind.into(), packages, lock_timeout_s, ..Job::default() }, wait)
}

/// One of the two verbs: 1 to 64 names, all different.
macro_rules! mark {
    ($doc:literal, $verb:ident, $wire:ident, $id:ident) => {
        #[doc = $doc]
        #[derive(Debug)]
        pub struct $verb {
            names: Vec<PackageName>,
        }

        impl Verb for $verb {
            type Wire = wire::$wire;
            type Plan = NoPlan;
            type Leave = Ticket;
            const ID: VerbId = VerbId::$id;

            fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
                let names =
                    wire.names.iter().map(|name| PackageName::new(name)).collect::<Result<Vec<_>, _>>();
                let names = names.and_then(|names| distinct(names, |name| name));
                (wire.meta, names.map(|names| Self { names }))
            }

            fn required_grants(&self, _: &Helper, _: u32) -> Result<Vec<RequiredGrant>, Denied> {
                let object = |name: &PackageName| Object::Package { name: name.clone(), version: None };
                Ok(self.names.iter().map(|name| (Self::ID, object(name))).collect())
            }

            fn args(&self) -> Json {
                Json::new().texts("names", self.names.iter().map(PackageName::as_str))
            }

            fn plan(&self, _: &Context, _: &Grant) -> Result<NoPlan, Stop> {
                Ok(NoPlan)
            }

            fn act(&self, cx: &Context, by: &Grant, _: &NoPlan, leave: &Ticket) -> Result<Done, Stop> {
                mark(cx, by, JobKind::$verb, &self.names, leave)
            }
        }
    };
}

mark!("`package.hold`", Hold, PackageHoldRequest, PackageHold);
mark!("`package.unhold`", Unhold, PackageUnholdRequest, PackageUnhold);
