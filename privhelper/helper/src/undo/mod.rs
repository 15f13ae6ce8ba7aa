//! What takes a request back: its inverse, as changes of files, of a unit or of packages or as a command, planned and done by what
//! plans and does these otherwise.
//!
//! A client's own undo ([`crate::verbs::request_undo`]) is decided as the inverse request; an operator's
//! ([`operator`]) is not. Both are effects like any other: intent on disk before, outcome after, and an undo of their own.

mod commands;
mod files;
pub mod operator;
mod packages;
mod units;

use crate::audit::{Json, Ticket};
use crate::context::Context;
use crate::error::Stop;
use crate::helper::Helper;
use crate::leave::Done;
use crate::plan::{CommandPlan, FilesPlan};
use crate::verb::Planned;
use postern_policy::facts::{PackageTransaction, UnitFacts};
use postern_policy::types::UnitName;
use postern_policy::{Code, Consent, Denied, Facts, Grant, RequiredGrant, VerbId};
use postern_proto::root::v1::RequestRecord;
use postern_proto::v1 as wire;

/// How a request is taken back.
#[derive(Debug)]
pub enum Inverse {
    /// Files as they were.
    Files(files::Files),
    /// A unit as it was.
    Unit(units::Unit),
    /// Packages as they were.
    Packages(packages::Packages),
    /// The command that takes it back.
    Command(commands::Reverse),
}

/// What that would do.
#[derive(Debug)]
pub enum UndoPlan {
    /// To files.
    Files(FilesPlan),
    /// To a unit.
    Unit(Box<UnitFacts>),
    /// To packages.
    Packages(PackageTransaction),
    /// By a command.
    Command(CommandPlan),
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
            | VerbId::PackageRemove
            | VerbId::PackagePurge
            | VerbId::PackageAutoremove
            | VerbId::PackageUpgrade
            | VerbId::PackageHold
            | VerbId::PackageUnhold
            | VerbId::UnitStart
            | VerbId::UnitStop
            | VerbId::UnitEnable
            | VerbId::UnitDisable
            | VerbId::UnitMask
            | VerbId::UnitUnmask
            | VerbId::CommandRun
            | VerbId::RequestUndo
    )
}

/// Whether the request changed something that has not been taken back. Of a command only its row says so.
fn has_changed(record: &RequestRecord) -> bool {
    let is_done = record.completed.as_ref().is_some_and(|done| {
        done.status() == wire::Status::Done && (done.undoable || record.command.is_none())
    });
    is_done && !record.undone && VerbId::from_name(&record.verb).is_some_and(is_undoable)
}

impl Inverse {
    /// Whether and how it can be taken back: it changed something, was not undone, and nothing later changed the same.
    /// Whether the object is still what it was left as, the plan looks at.
    ///
    /// # Errors
    /// `undo_gone`, `undo_conflict`, `unsupported`.
    pub fn of(helper: &Helper, record: &RequestRecord) -> Result<Self, Stop> {
        let gone = |why| Stop::from(Denied::new(Code::UndoGone, why));
        let done = record.completed.as_ref().filter(|done| done.status() == wire::Status::Done);
        let done = done.ok_or_else(|| gone("it changed nothing, or not all of it"))?;
        if record.undone {
            return Err(gone("it was undone already, or its undo was begun"));
        }
        let unsupported = || {
            let why = format!("{} can't be undone by this helper", record.verb);
            Stop::from(Denied::new(Code::Unsupported, why))
        };
        let verb =
            VerbId::from_name(&record.verb).filter(|verb| is_undoable(*verb)).ok_or_else(unsupported)?;
        let inverse = if let Some(call) = &record.command {
            Self::Command(commands::Reverse::of(helper, call)?)
        } else if let Some(unit) = &done.unit {
            Self::Unit(units::Unit::new(UnitName::new(&unit.id)?, unit.clone()))
        } else if done.files.is_empty() {
            Self::Packages(packages::Packages::of(verb, done)?.ok_or_else(unsupported)?)
        } else {
            Self::Files(files::Files::of(helper, record)?)
        };
        let later = helper.requests.ended(|other| {
            let is_later = other.begun_unix_us > record.begun_unix_us && has_changed(other);
            is_later && other.verb != VerbId::RequestUndo.name() && inverse.shares(record, other)
        });
        match later.first() {
            None => Ok(inverse),
            Some(later) => {
                let why = format!("request {} changed the same later; undo that one first", later.request_id);
                Err(Denied::new(Code::UndoConflict, why).into())
            }
        }
    }

    /// What policy sees of it.
    ///
    /// # Errors
    /// What was recorded can't be asked for.
    pub fn required_grants(&self) -> Result<Vec<RequiredGrant>, Stop> {
        match self {
            Self::Files(files) => Ok(files.required_grants()),
            Self::Unit(unit) => Ok(unit.required_grants()),
            Self::Packages(packages) => packages.required_grants(),
            Self::Command(command) => Ok(vec![command.run.required_grant()]),
        }
    }

    /// Whether a person must agree, whatever the rules say.
    #[must_use]
    pub const fn needs_a_person(&self) -> bool {
        match self {
            Self::Packages(packages) => packages.needs_a_person(),
            Self::Files(_) | Self::Unit(_) | Self::Command(_) => false,
        }
    }

    /// What would be done.
    ///
    /// # Errors
    /// `undo_conflict` if the object changed since, or what its plan is refused for.
    pub fn plan(&self, cx: &Context, by: &Grant) -> Result<UndoPlan, Stop> {
        match self {
            Self::Files(files) => files.plan(cx, by).map(UndoPlan::Files),
            Self::Unit(unit) => unit.plan(cx, by).map(Box::new).map(UndoPlan::Unit),
            Self::Packages(packages) => packages.plan(cx, by).map(UndoPlan::Packages),
            Self::Command(command) => command.run.planned(cx, by).map(UndoPlan::Command),
        }
    }

    /// Does it, notes that the request was undone, and keeps what it was no longer.
    ///
    /// # Errors
    /// It failed.
    pub fn act(
        &self,
        cx: &Context,
        by: &Grant,
        record: &RequestRecord,
        plan: &UndoPlan,
        ticket: &Ticket,
    ) -> Result<Done, Stop> {
        let done = match (self, plan) {
            (Self::Files(files), UndoPlan::Files(plan)) => files.act(cx, by, plan, ticket)?,
            (Self::Unit(unit), UndoPlan::Unit(plan)) => unit.act(cx, by, plan, ticket)?,
            (Self::Packages(packages), UndoPlan::Packages(plan)) => packages.act(cx, by, plan, ticket)?,
            // Its row may be another since, and the plan's argv is not for that one's sandbox.
            (Self::Command(command), UndoPlan::Command(plan)) if plan.name == command.call.name => {
                command.act(cx, by, record, plan, ticket)?
            }
            (Self::Files(_) | Self::Unit(_) | Self::Packages(_) | Self::Command(_), _) => {
                return Err(
                    Denied::new(Code::PlanChanged, "it would be undone otherwise now; ask again").into()
                );
            }
        };
        if done.completed.status() != wire::Status::Failed {
            cx.helper.requests.note_undone(record.uid, &record.request_id, true)?;
            crate::change::forget(&cx.helper, record.uid, &record.request_id)?;
        }
        Ok(done)
    }

    /// Whether the other request is about the same unit, a file of this one, or the same command or its reverse.
    fn shares(&self, record: &RequestRecord, other: &RequestRecord) -> bool {
        if let (Self::Command(reverse), Some(call)) = (self, &other.command) {
            return record.command.as_ref() == Some(call) || reverse.call == *call;
        }
        let (Some(done), Some(other)) = (&record.completed, &other.completed) else {
            return false;
        };
        let id = |unit: &Option<wire::UnitInfo>| unit.as_ref().map(|unit| unit.id.clone());
        let has = |path: &str| other.files.iter().any(|file| file.path == path);
        (done.unit.is_some() && id(&other.unit) == id(&done.unit))
            || done.files.iter().any(|file| has(&file.path))
    }
}

impl Planned for UndoPlan {
    fn facts(&self) -> Facts {
        match self {
            Self::Files(plan) => plan.facts(),
            Self::Unit(plan) => plan.facts(),
            Self::Packages(plan) => plan.facts(),
            Self::Command(plan) => plan.facts(),
        }
    }

    fn wire(&self, cx: &Context, consent: Consent) -> wire::Plan {
        match self {
            Self::Files(plan) => plan.wire(cx, consent),
            Self::Unit(plan) => plan.wire(cx, consent),
            Self::Packages(plan) => plan.wire(cx, consent),
            Self::Command(plan) => plan.wire(cx, consent),
        }
    }

    fn json(&self) -> Json {
        match self {
            Self::Files(plan) => plan.json(),
            Self::Unit(plan) => plan.json(),
            Self::Packages(plan) => plan.json(),
            Self::Command(plan) => plan.json(),
        }
    }

    fn text(&self) -> Vec<u8> {
        match self {
            Self::Files(plan) => plan.text(),
            Self::Unit(plan) => plan.text(),
            Self::Packages(plan) => plan.text(),
            Self::Command(plan) => plan.text(),
        }
    }
}

fn conflict(what: &str) -> Stop {
    Denied::new(Code::UndoConflict, format!("{what} has changed since; nothing is undone")).into()
}
