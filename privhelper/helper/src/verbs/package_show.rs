//! `package.show`: what dpkg and apt know of packages.

use super::package_change::distinct;
use crate::audit::Json;
use crate::context::Context;
use crate::error::Stop;
use crate::helper::Helper;
use crate::job;
use crate::leave::{Done, Looked};
use crate::verb::{NoPlan, Verb};
use postern_policy::types::PackageName;
use postern_policy::{Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
use postern_proto::root::v1::{Job, JobKind};
use postern_proto::v1 as wire;

/// 1 to 64 names, all different.
#[derive(Debug)]
pub struct Show {
    names: Vec<PackageName>,
}

impl Verb for Show {
    type Wire = wire::PackageShowRequest;
    type Plan = NoPlan;
    type Leave = Looked;
    const ID: VerbId = VerbId::PackageShow;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        let names = wire.names.iter().map(|name| PackageName::new(name)).collect::<Result<Vec<_>, _>>();
        (wire.meta, names.and_then(|names| distinct(names, |name| name)).map(|names| Self { names }))
    }

    fn required_grants(&self, _: &Helper, _: u32) -> Result<Vec<RequiredGrant>, Denied> {
        let of = |name: &PackageName| (Self::ID, Object::Package { name: name.clone(), version: None });
        Ok(self.names.iter().map(of).collect())
    }

    fn args(&self) -> Json {
        Json::new().texts("names", self.names.iter().map(PackageName::as_str))
    }

    fn plan(&self, _: &Context, _: &Grant) -> Result<NoPlan, Stop> {
        Ok(NoPlan)
    }

    fn act(&self, cx: &Context, by: &Grant, _: &NoPlan, _: &Looked) -> Result<Done, Stop> {
        let package = |name: &PackageName| wire::Package { name: name.to_string(), version: String::new() };
        let packages = self.names.iter().map(package).collect();
        let outcome = job::plan(cx, by, Job { kind: JobKind::Show.into(), packages, ..Job::default() })?;
        let status = wire::Status::Done.into();
        let completed = wire::Completed { status, packages: outcome.packages, ..wire::Completed::default() };
        Ok(Done { completed, undo: Json::new() })
    }
}
