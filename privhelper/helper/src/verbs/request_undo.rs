//! `request.undo`: takes back one of the client's own requests, decided as its inverse.

use crate::audit::{Json, Ticket};
use crate::context::Context;
use crate::error::Stop;
use crate::helper::Helper;
use crate::leave::Done;
use crate::undo::{Inverse, UndoPlan};
use crate::verb::Verb;
use postern_policy::types::RequestId;
use postern_policy::{Decision, Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
use postern_proto::root::v1::RequestRecord;
use postern_proto::v1 as wire;

/// The id of the request that is taken back.
#[derive(Debug)]
pub struct Undo {
    of: RequestId,
}

impl Undo {
    fn inverse(&self, helper: &Helper, uid: u32) -> Result<(RequestRecord, Inverse), Stop> {
        let record = helper.requests.ended_of(uid, &self.of)?;
        let inverse = Inverse::of(helper, &record)?;
        Ok((record, inverse))
    }
}

impl Verb for Undo {
    type Wire = wire::RequestUndoRequest;
    type Plan = UndoPlan;
    type Leave = Ticket;
    const ID: VerbId = VerbId::RequestUndo;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        let of = RequestId::new(&wire.of).map_err(|invalid| Invalid { field: "of", ..invalid });
        (wire.meta, of.map(|of| Self { of }))
    }

    /// Each rule that let the request through must let its undo be asked for, and the inverse must be granted as
    /// such. What a person approved is asked again.
    fn required_grants(&self, helper: &Helper, uid: u32) -> Result<Vec<RequiredGrant>, Denied> {
        let (record, inverse) = self.inverse(helper, uid).map_err(|stop| stop.tell().0)?;
        let decided = record.completed.as_ref().map(wire::Completed::decision);
        let asks = decided == Some(wire::Decision::Ask) || inverse.needs_a_person();
        let least = if asks { Decision::Ask } else { Decision::Allow };
        let mut rules = record.rules;
        rules.sort_unstable();
        rules.dedup();
        let rules = rules.into_iter().map(|rule| (Self::ID, Object::Undo { rule, least }));
        let inverse = inverse.required_grants().map_err(|stop| stop.tell().0)?;
        Ok(rules.chain(inverse).collect())
    }

    fn args(&self) -> Json {
        Json::new().text("of", self.of.as_str())
    }

    fn plan(&self, cx: &Context, by: &Grant) -> Result<UndoPlan, Stop> {
        self.inverse(&cx.helper, cx.peer.uid)?.1.plan(cx, by)
    }

    fn act(&self, cx: &Context, by: &Grant, plan: &UndoPlan, leave: &Ticket) -> Result<Done, Stop> {
        let (record, inverse) = self.inverse(&cx.helper, cx.peer.uid)?;
        inverse.act(cx, by, &record, plan, leave)
    }
}
