//! `package.update`: fetches the lists of available packages.

use crate::audit::{Json, Ticket};
use crate::context::Context;
use crate::error::Stop;
use crate::helper::{Helper, wait_for};
use crate::job;
use crate::leave::Done;
use crate::verb::{NoPlan, Verb};
use postern_policy::{Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
use postern_proto::root::v1::{Job, JobKind};
use postern_proto::v1 as wire;

/// No arguments.
#[derive(Debug)]
pub struct Update;

impl Verb for Update {
    type Wire = wire::PackageUpdateRequest;
    type Plan = NoPlan;
    type Leave = Ticket;
    const ID: VerbId = VerbId::PackageUpdate;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        (wire.meta, Ok(Self))
    }

    fn required_grants(&self, _: &Helper, _: u32) -> Result<Vec<RequiredGrant>, Denied> {
        Ok(vec![(Self::ID, Object::Nothing)])
    }

    fn args(&self) -> Json {
        Json::new()
    }

    fn plan(&self, _: &Context, _: &Grant) -> Result<NoPlan, Stop> {
        Ok(NoPlan)
    }

    fn act(&self, cx: &Context, by: &Grant, _: &NoPlan, leave: &Ticket) -> Result<Done, Stop> {
        let wait = cx.limit(by);
        let _one_at_a_time = wait_for(&cx.helper.packages, wait)?;
        let lock_timeout_s = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
        job::execute(cx, leave, &Job { kind: JobKind::Update.into(), lock_timeout_s, ..Job::default() }, wait)
    }
}
