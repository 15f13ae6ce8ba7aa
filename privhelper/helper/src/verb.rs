//! The privileged API: one trait, one table, one row a verb. Nothing else is reachable.

use crate::audit::{Json, Ticket};
use crate::dispatch::{Context, Received, Refuse, run};
use crate::error::{Invalid, Stop};
use crate::plan::Subject;
use crate::policy::{Authorized, Object};
use crate::reply::Watchers;
use crate::verb_id::VerbId;
use crate::verbs;
use postern_proto::v1 as wire;
use prost::Message;

/// What a request of a verb names, each with the verb that must be granted for it.
pub type Wish = (VerbId, Object);

/// A plan that policy can judge and a person can read.
pub trait Planned: Send + 'static {
    /// What policy sees.
    fn subject(&self) -> Subject<'_>;
    /// What the client sees.
    fn wire(&self) -> wire::Plan;
    /// What the audit sees.
    fn json(&self) -> Json;
}

/// The plan of verbs that do only what the request says.
#[derive(Debug, Clone, Copy)]
pub struct NoPlan;

impl Planned for NoPlan {
    fn subject(&self) -> Subject<'_> {
        Subject::Nothing
    }
    fn wire(&self) -> wire::Plan {
        wire::Plan::default()
    }
    fn json(&self) -> Json {
        Json::new()
    }
}

/// Leave to act: a [`Ticket`] for effects, [`Looked`] for what only reads.
pub trait Leave: Sized + Send + 'static {
    /// Whether the request takes its id.
    const IS_EFFECT: bool;
    /// Takes it: for effects the intent goes to disk.
    ///
    /// # Errors
    /// The audit can't take the record, the rate is used up, or the id is taken.
    fn take<V: Verb<Leave = Self>>(cx: &mut Context<'_>, by: &Authorized<V>) -> Result<Self, Stop>;
    /// Records how it went.
    ///
    /// # Errors
    /// The audit can't take the record, or what was only read went wrong.
    fn end(self, cx: &mut Context<'_>, result: Result<Done, Stop>) -> Result<wire::Completed, Stop>;
}

/// Leave to look: no record goes before it.
#[derive(Debug)]
pub struct Looked;

/// The outcome of a verb.
#[derive(Debug, Default)]
pub struct Done {
    /// What the client is told.
    pub completed: wire::Completed,
    /// How it could be undone, for the audit.
    pub undo: Json,
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
    /// 3. What policy sees.
    fn wishes(&self) -> Vec<Wish>;
    /// 4. What the audit sees.
    fn args(&self) -> Json;
    /// 5a. What exactly would happen. Probes only.
    ///
    /// # Errors
    /// It can't be, or can't be found out.
    fn plan(&self, cx: &Context<'_>, by: &Authorized<Self>) -> Result<Self::Plan, Stop>;
    /// 5b. Does it.
    ///
    /// # Errors
    /// It failed.
    fn act(
        &self,
        cx: &Context<'_>,
        by: &Authorized<Self>,
        plan: &Self::Plan,
        leave: &Self::Leave,
    ) -> Result<Done, Stop>;
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Which verb.
    pub id: VerbId,
    /// Whether it has an effect.
    pub is_effect: bool,
    /// Runs a request of it.
    pub run: fn(Received) -> Result<(), Refuse>,
    /// Takes up a request of it that an earlier helper began; the outcome if there is one.
    pub recover: fn(&crate::helper::Helper, &Ticket, &str, &Watchers) -> Option<Done>,
}

const fn row<V: Verb>() -> Row {
    Row { id: V::ID, is_effect: V::Leave::IS_EFFECT, run: run::<V>, recover: |_, _, _, _| None }
}

const fn job_row<V: Verb>() -> Row {
    Row { recover: crate::job::recover, ..row::<V>() }
}

/// Every verb that this helper can do.
pub const TABLE: &[Row] = &[
    job_row::<verbs::package_install::Install>(),
    job_row::<verbs::package_update::Update>(),
    row::<verbs::package_show::Show>(),
    row::<verbs::unit_status::Status>(),
    row::<verbs::unit_change::Start>(),
    row::<verbs::unit_change::Stop>(),
    row::<verbs::unit_change::Restart>(),
    row::<verbs::unit_change::Reload>(),
    row::<verbs::unit_change::Enable>(),
    row::<verbs::unit_change::Disable>(),
    row::<verbs::file_read::Read>(),
    row::<verbs::file_write::Write>(),
    row::<verbs::policy_describe::Describe>(),
    row::<verbs::request_result::RequestResult>(),
];

/// The row of a method such as `Helper/FileWrite`.
#[must_use]
pub fn find(method: &str) -> Option<&'static Row> {
    let rpc = method.strip_prefix("Helper/")?;
    TABLE.iter().find(|row| row.id.rpc() == rpc)
}
