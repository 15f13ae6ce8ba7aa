//! `request.result`: the recorded outcome of one of the client's own requests.

use crate::audit::Json;
use crate::context::Context;
use crate::error::Stop;
use crate::helper::Helper;
use crate::leave::{Done, Looked};
use crate::verb::{NoPlan, Verb};
use postern_policy::types::RequestId;
use postern_policy::{Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
use postern_proto::v1 as wire;

/// The id of the request that is asked about.
#[derive(Debug)]
pub struct RequestResult {
    of: RequestId,
}

impl Verb for RequestResult {
    type Wire = wire::RequestResultRequest;
    type Plan = NoPlan;
    type Leave = Looked;
    const ID: VerbId = VerbId::RequestResult;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        let of = RequestId::new(&wire.of).map_err(|invalid| Invalid { field: "of", ..invalid });
        (wire.meta, of.map(|of| Self { of }))
    }

    fn required_grants(&self, _: &Helper, _: u32) -> Result<Vec<RequiredGrant>, Denied> {
        Ok(vec![(Self::ID, Object::Nothing)])
    }

    fn args(&self) -> Json {
        Json::new().text("of", self.of.as_str())
    }

    fn plan(&self, _: &Context, _: &Grant) -> Result<NoPlan, Stop> {
        Ok(NoPlan)
    }

    fn act(&self, cx: &Context, _: &Grant, _: &NoPlan, _: &Looked) -> Result<Done, Stop> {
        let completed = cx.helper.requests.result(cx.peer.uid, &self.of)?;
        Ok(Done { completed: wire::Completed { replayed: true, ..completed }, undo: Json::new() })
    }
}
