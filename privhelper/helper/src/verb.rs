//! What a verb is: five parts, none with a default.

use crate::audit::Json;
use crate::context::Context;
use crate::error::Stop;
use crate::helper::Helper;
use crate::leave::{Done, Leave};
use postern_policy::{Consent, Denied, Facts, Grant, Invalid, RequiredGrant, VerbId};
use postern_proto::v1 as wire;
use prost::Message;

/// A plan that policy can judge and a person can read.
pub trait Planned: Send + 'static {
    /// What policy sees.
    fn facts(&self) -> Facts;
    /// What the client sees, before or after people have agreed.
    fn wire(&self, cx: &Context, consent: Consent) -> wire::Plan;
    /// What the audit sees.
    fn json(&self) -> Json;
    /// What a person sees who must agree to it: whole lines.
    fn text(&self) -> Vec<u8>;
}

/// The plan of verbs that do only what the request says.
#[derive(Debug, Clone, Copy)]
pub struct NoPlan;

impl Planned for NoPlan {
    fn facts(&self) -> Facts {
        Facts::None
    }
    fn wire(&self, _: &Context, _: Consent) -> wire::Plan {
        wire::Plan::default()
    }
    fn json(&self) -> Json {
        Json::new()
    }
    fn text(&self) -> Vec<u8> {
        b"what the arguments say, and no more\n".to_vec()
    }
}

/// One verb: wire type, validated type, what policy sees, audit fields, effect. No item has a default.
pub trait Verb: Sized + Send + 'static {
    /// 1. The message.
    type Wire: Message + Default;
    /// The plan.
    type Plan: Planned;
    /// Effect or not.
    type Leave: Leave;
    /// Which.
    const ID: VerbId;

    /// 2. Validates. The meta is returned also when the rest is not valid, so that the refusal names its request.
    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>);
    /// 3. What policy sees, of a request of this client. Nothing that the caller named is touched; an undo asks the
    ///    helper's own memory.
    ///
    /// # Errors
    /// `unknown_request` and what an undo is refused for.
    fn required_grants(&self, helper: &Helper, uid: u32) -> Result<Vec<RequiredGrant>, Denied>;
    /// 4. What the audit sees.
    fn args(&self) -> Json;
    /// 5a. What exactly would happen. Probes only.
    ///
    /// # Errors
    /// It can't be, or can't be found out.
    fn plan(&self, cx: &Context, by: &Grant) -> Result<Self::Plan, Stop>;
    /// 5b. Does it.
    ///
    /// # Errors
    /// It failed.
    fn act(&self, cx: &Context, by: &Grant, plan: &Self::Plan, leave: &Self::Leave) -> Result<Done, Stop>;
}
