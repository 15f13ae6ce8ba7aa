//! `policy.describe`: what this client may do.

use crate::audit::Json;
use crate::dispatch::Context;
use crate::error::{Invalid, Stop};
use crate::policy::{Authorized, Grant, Object};
use crate::verb::{Done, Looked, NoPlan, Verb, Wish};
use crate::verb_id::VerbId;
use postern_proto::v1 as wire;

/// No arguments.
#[derive(Debug)]
pub struct Describe;

impl Verb for Describe {
    type Wire = wire::PolicyDescribeRequest;
    type Plan = NoPlan;
    type Leave = Looked;
    const ID: VerbId = VerbId::PolicyDescribe;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        (wire.meta, Ok(Self))
    }

    fn wishes(&self) -> Vec<Wish> {
        vec![(Self::ID, Object::Nothing)]
    }

    fn args(&self) -> Json {
        Json::new()
    }

    fn plan(&self, _: &Context<'_>, _: &Authorized<Self>) -> Result<NoPlan, Stop> {
        Ok(NoPlan)
    }

    fn act(&self, cx: &Context<'_>, _: &Authorized<Self>, _: &NoPlan, _: &Looked) -> Result<Done, Stop> {
        let grants = cx.policy.describe(cx.peer).into_iter().map(grant).collect();
        let description = Some(wire::Description { client: cx.record.client_name.clone(), grants });
        let status = wire::Status::Done.into();
        Ok(Done {
            completed: wire::Completed { status, description, ..Default::default() },
            undo: Json::new(),
        })
    }
}

fn grant(grant: Grant) -> wire::Grant {
    let decision = if grant.denies { wire::Decision::Deny } else { wire::Decision::Allow };
    wire::Grant {
        verbs: grant.verbs,
        decision: decision.into(),
        packages: grant.packages,
        units: grant.units,
        directories: grant.directories,
        files: grant.files,
        commands: Vec::new(),
        modes: grant.modes,
        max_bytes: grant.max_bytes,
        rate: grant.rate,
        limits: grant.limits,
    }
}
