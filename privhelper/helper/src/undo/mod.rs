//! What takes a request back: its inverse, as changes of files or of a unit, planned and done by what plans and does
//! these otherwise.
//!
//! A client's own undo ([`crate::verbs::request_undo`]) is decided as the inverse request; an operator's
//! ([`operator`]) is not. Both are effects like any other: intent on disk before, outcome after, and an undo of their own.

mod files;
pub mod operator;
mod units;

use crate::audit::{Json, Ticket};
use crate::context::Context;
use crate::error::{Code, Refusal, Stop};
use crate::helper::Helper;
use crate::leave::Done;
use crate::plan::{FilesPlan, Subject, UnitPlan};
use crate::policy::Authorized;
use crate::types::UnitName;
use crate::verb::{Planned, Wish};
use crate::verb_id::VerbId;
use postern_proto::root::v1::RequestRecord;
use postern_proto::v1 as wire;

/// How a request is taken back.
#[derive(Debug)]
pub enum Inverse {
    /// Files as they were.
    Files(files::Files),
    /// A unit as it was.
    Unit(units::Unit),
}

/// What that would do.
#[derive(Debug)]
pub enum UndoPlan {
    /// To files.
    Files(FilesPlan),
    /// To a unit.
    Unit(Box<UnitPlan>),
}

/// What leaves something to take back. The state before a restart or reload is the state after it.
#[must_use]
pub const fn is_undoable(verb: VerbId) -> bool {
    matches!(
        verb,
        VerbId::FileWrite
            | VerbId::FilePatch
            | VerbId::FileRemove
            | VerbId::FileMkdir
            | VerbId::FileSetMode
            | VerbId::FileSetOwner
            | VerbId::PackageInstall
            | VerbId::UnitStart
            | VerbId::UnitStop
            | VerbId::UnitEnable
            | VerbId::UnitDisable
            | VerbId::UnitMask
            | VerbId::UnitUnmask
            | VerbId::RequestUndo
    )
}

/// Whether the request changed something that has not been taken back.
fn has_changed(record: &RequestRecord) -> bool {
    let is_done = record.completed.as_ref().is_some_and(|done| done.status() == wire::Status::Done);
    is_done && !record.undone && VerbId::from_name(&record.verb).is_some_and(is_undoable)
}

impl Inverse {
    /// Whether and how it can be taken back: it changed something, was not undone, and nothing later changed the same.
    /// Whether the object is still what it was left as, the plan looks at.
    ///
    /// # Errors
    /// `undo_gone`, `undo_conflict`, `unsupported`.
    pub fn of(helper: &Helper, record: &RequestRecord) -> Result<Self, Stop> {
        let gone = |why| Stop::from(Refusal::new(Code::UndoGone, why));
        let done = record.completed.as_ref().filter(|done| done.status() == wire::Status::Done);
        let done = done.ok_or_else(|| gone("it changed nothing, or not all of it"))?;
        if record.undone {
            return Err(gone("it was undone already"));
        }
        let inverse = match (VerbId::from_name(&record.verb).filter(|verb| is_undoable(*verb)), &done.unit) {
            (Some(_), Some(unit)) => Self::Unit(units::Unit::new(UnitName::new(&unit.id)?, unit.clone())),
            (Some(_), None) if !done.files.is_empty() => Self::Files(files::Files::of(helper, record)?),
            (_, _) => {
                let why = format!("{} can't be undone by this helper", record.verb);
                return Err(Refusal::new(Code::Unsupported, why).into());
            }
        };
        let later = helper.requests.ended(|other| {
            let is_later = other.begun_unix_us > record.begun_unix_us && has_changed(other);
            is_later && other.verb != VerbId::RequestUndo.name() && shares(other, done)
        });
        match later.first() {
            None => Ok(inverse),
            Some(later) => {
                let why = format!("request {} changed the same later; undo that one first", later.request_id);
                Err(Refusal::new(Code::UndoConflict, why).into())
            }
        }
    }

    /// What policy sees of it.
    #[must_use]
    pub fn wishes(&self) -> Vec<Wish> {
        match self {
            Self::Files(files) => files.wishes(),
            Self::Unit(unit) => unit.wishes(),
        }
    }

    /// What would be done.
    ///
    /// # Errors
    /// `undo_conflict` if the object changed since, or what its plan is refused for.
    pub fn plan<V>(&self, cx: &Context, by: &Authorized<V>) -> Result<UndoPlan, Stop> {
        match self {
            Self::Files(files) => files.plan(cx, by).map(UndoPlan::Files),
            Self::Unit(unit) => unit.plan(cx, by).map(Box::new).map(UndoPlan::Unit),
        }
    }

    /// Does it, notes that the request was undone, and keeps what it was no longer.
    ///
    /// # Errors
    /// It failed.
    pub fn act<V>(
        &self,
        cx: &Context,
        by: &Authorized<V>,
        record: &RequestRecord,
        plan: &UndoPlan,
        ticket: &Ticket,
    ) -> Result<Done, Stop> {
        let done = match (self, plan) {
            (Self::Files(files), UndoPlan::Files(plan)) => files.act(cx, by, plan, ticket)?,
            (Self::Unit(unit), UndoPlan::Unit(plan)) => unit.act(cx, by, plan, ticket)?,
            (Self::Files(_), UndoPlan::Unit(_)) | (Self::Unit(_), UndoPlan::Files(_)) => {
                return Err(
                    Refusal::new(Code::PlanChanged, "it would be undone otherwise now; ask again").into()
                );
            }
        };
        if done.completed.status() != wire::Status::Failed {
            cx.helper.requests.undone(record.uid, &record.request_id)?;
            crate::change::forget(&cx.helper, record.uid, &record.request_id)?;
        }
        Ok(done)
    }
}

/// Whether the two are about the same unit or a file of both.
fn shares(record: &RequestRecord, done: &wire::Completed) -> bool {
    let Some(other) = &record.completed else {
        return false;
    };
    let id = |unit: &Option<wire::UnitInfo>| unit.as_ref().map(|unit| unit.id.clone());
    let has = |path: &str| other.files.iter().any(|file| file.path == path);
    (done.unit.is_some() && id(&other.unit) == id(&done.unit))
        || done.files.iter().any(|file| has(&file.path))
}

impl Planned for UndoPlan {
    fn subject(&self) -> Subject<'_> {
        match self {
            Self::Files(plan) => plan.subject(),
            Self::Unit(plan) => plan.subject(),
        }
    }

    fn wire(&self) -> wire::Plan {
        match self {
            Self::Files(plan) => plan.wire(),
            Self::Unit(plan) => plan.wire(),
        }
    }

    fn json(&self) -> Json {
        match self {
            Self::Files(plan) => plan.json(),
            Self::Unit(plan) => plan.json(),
        }
    }

    fn text(&self) -> Vec<u8> {
        match self {
            Self::Files(plan) => plan.text(),
            Self::Unit(plan) => plan.text(),
        }
    }
}

fn conflict(what: &str) -> Stop {
    Refusal::new(Code::UndoConflict, format!("{what} has changed since; nothing is undone")).into()
}
