//! The table of verbs: one row each, and nothing else is reachable.

use crate::facts::{self, Gather};
use crate::perform::{self, Perform};
use postern_policy::VerbId;

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Verb {
    /// The verb.
    pub id: VerbId,
    /// The family of its orders: `files`, `units`, `packages`, `commands`, or empty.
    pub family: &'static str,
    /// Gathers its facts.
    pub facts: Gather,
    /// Its last step.
    pub perform: Perform,
}

/// Returns the row of a verb.
#[must_use]
#[expect(clippy::match_same_arms, reason = "one row a verb")]
pub const fn row(id: VerbId) -> Verb {
    let (family, facts, perform): (&str, Gather, Perform) = match id {
        VerbId::PackageInstall => ("packages", facts::packages, perform::execute),
        VerbId::PackageRemove => ("packages", facts::packages, perform::execute),
        VerbId::PackagePurge => ("packages", facts::packages, perform::execute),
        VerbId::PackageAutoremove => ("packages", facts::packages, perform::execute),
        VerbId::PackageUpdate => ("packages", facts::none, perform::execute),
        VerbId::PackageUpgrade => ("packages", facts::packages, perform::execute),
        VerbId::PackageHold => ("packages", facts::none, perform::execute),
        VerbId::PackageUnhold => ("packages", facts::none, perform::execute),
        VerbId::PackageRepair => ("packages", facts::packages, perform::execute),
        VerbId::PackageShow => ("packages", facts::none, perform::inspect),
        VerbId::UnitStatus => ("units", facts::unit, perform::inspect),
        VerbId::UnitStart => ("units", facts::unit, perform::execute),
        VerbId::UnitStop => ("units", facts::unit, perform::execute),
        VerbId::UnitRestart => ("units", facts::unit, perform::execute),
        VerbId::UnitReload => ("units", facts::unit, perform::execute),
        VerbId::UnitTryRestart => ("units", facts::unit, perform::execute),
        VerbId::UnitResetFailed => ("units", facts::unit, perform::execute),
        VerbId::UnitEnable => ("units", facts::unit, perform::execute),
        VerbId::UnitDisable => ("units", facts::unit, perform::execute),
        VerbId::UnitMask => ("units", facts::unit, perform::execute),
        VerbId::UnitUnmask => ("units", facts::unit, perform::execute),
        VerbId::UnitDaemonReload => ("units", facts::none, perform::execute),
        VerbId::HostReboot => ("units", facts::none, perform::execute),
        VerbId::FileRead => ("files", facts::none, perform::inspect),
        VerbId::FileList => ("files", facts::none, perform::inspect),
        VerbId::FileWrite => ("files", facts::files, perform::execute),
        VerbId::FilePatch => ("files", facts::files, perform::execute),
        VerbId::FileRemove => ("files", facts::files, perform::execute),
        VerbId::FileMkdir => ("files", facts::files, perform::execute),
        VerbId::FileSetMode => ("files", facts::files, perform::execute),
        VerbId::FileSetOwner => ("files", facts::files, perform::execute),
        VerbId::CommandRun => ("commands", facts::none, perform::execute),
        VerbId::PolicyDescribe => ("", facts::none, perform::describe),
        VerbId::RequestResult => ("", facts::none, perform::result),
        VerbId::RequestUndo => ("", facts::none, perform::execute),
        VerbId::RequestKeep => ("", facts::none, perform::keep),
        VerbId::AgentNote => ("", facts::none, perform::note),
    };
    Verb { id, family, facts, perform }
}

/// Returns the row of a method such as `Helper/FileWrite`.
#[must_use]
pub fn find(method: &str) -> Option<Verb> {
    let rpc = method.strip_prefix("Helper/")?;
    VerbId::ALL.iter().find(|id| id.rpc() == rpc).map(|id| row(*id))
}
