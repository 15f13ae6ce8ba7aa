//! Requests: the message of each verb, decoded strictly into validated types.

mod commands;
mod files;
mod own;
mod packages;
mod units;

pub use commands::CommandRequest;
pub use files::{FileChange, FileReadRequest, FilesRequest, NewState};
pub use own::{Statement, undo_grants};
pub use packages::{NamedPackage, PackagesRequest};
pub use units::{UnitRequest, UnitStatusRequest};

use crate::error::Invalid;
use crate::rules::{Object, RequiredGrant};
use crate::types::{RequestId, TargetPath};
use crate::verb_id::VerbId;
use postern_proto::link::strict;
use postern_proto::v1 as wire;
use std::sync::Arc;

/// A request of any verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Changes of files and directories.
    Files(FilesRequest),
    /// `file.read`
    FileRead(FileReadRequest),
    /// `file.list`
    FileList(TargetPath),
    /// A change of a unit.
    Unit(UnitRequest),
    /// `unit.status`
    UnitStatus(UnitStatusRequest),
    /// `unit.daemon-reload`
    DaemonReload,
    /// `host.reboot` after so many minutes; none = cancel.
    Reboot(Option<u32>),
    /// All verbs of packages.
    Packages(PackagesRequest),
    /// `command.run`
    Command(CommandRequest),
    /// `policy.describe`
    Describe,
    /// `request.result` of this id.
    Result(RequestId),
    /// `request.undo` of this id.
    Undo(RequestId),
    /// A statement of a client about what is its own. Only broker and recorder know these.
    Own(Statement),
}

/// The meta, also of an invalid request, so that its refusal names it; and the request.
pub type Decoded = (Option<wire::Meta>, Result<Request, Invalid>);

impl Request {
    /// Decodes a client's message. None: it is malformed, and the connection must end.
    pub fn decode(verb: VerbId, body: &[u8]) -> Option<Decoded> {
        macro_rules! read {
            ($message:ident, |$wire:ident| $request:expr) => {{
                let mut $wire = strict::<wire::$message>(body)?;
                let meta = $wire.meta.take();
                Some((meta, $request))
            }};
        }
        // Verbs with the same fields share the message of one of them (tested).
        match verb {
            VerbId::FileWrite => read!(FileWriteRequest, |it| FilesRequest::write(&it).map(Self::Files)),
            VerbId::FilePatch => read!(FilePatchRequest, |it| FilesRequest::patch(&it).map(Self::Files)),
            VerbId::FileRemove => read!(FileRemoveRequest, |it| FilesRequest::remove(it).map(Self::Files)),
            VerbId::FileMkdir => read!(FileMkdirRequest, |it| FilesRequest::mkdir(&it).map(Self::Files)),
            VerbId::FileSetMode => {
                read!(FileSetModeRequest, |it| FilesRequest::set_mode(&it).map(Self::Files))
            }
            VerbId::FileSetOwner => {
                read!(FileSetOwnerRequest, |it| FilesRequest::set_owner(&it).map(Self::Files))
            }
            VerbId::FileRead => read!(FileReadRequest, |it| FileReadRequest::new(&it).map(Self::FileRead)),
            VerbId::FileList => read!(FileListRequest, |it| TargetPath::new(&it.path).map(Self::FileList)),
            VerbId::UnitStatus => {
                read!(UnitStatusRequest, |it| UnitStatusRequest::new(&it).map(Self::UnitStatus))
            }
            VerbId::UnitStart
            | VerbId::UnitStop
            | VerbId::UnitRestart
            | VerbId::UnitReload
            | VerbId::UnitTryRestart
            | VerbId::UnitResetFailed
            | VerbId::UnitUnmask => {
                read!(UnitStartRequest, |it| UnitRequest::new(verb, &it.unit, false).map(Self::Unit))
            }
            VerbId::UnitEnable | VerbId::UnitDisable | VerbId::UnitMask => {
                read!(UnitEnableRequest, |it| UnitRequest::new(verb, &it.unit, it.now).map(Self::Unit))
            }
            VerbId::PackageInstall => {
                read!(PackageInstallRequest, |it| PackagesRequest::install(&it).map(Self::Packages))
            }
            VerbId::PackageUpgrade => {
                read!(PackageUpgradeRequest, |it| PackagesRequest::upgrade(&it).map(Self::Packages))
            }
            VerbId::PackageRemove
            | VerbId::PackagePurge
            | VerbId::PackageHold
            | VerbId::PackageUnhold
            | VerbId::PackageShow => {
                read!(PackageRemoveRequest, |it| PackagesRequest::named(verb, &it.names).map(Self::Packages))
            }
            VerbId::PackageAutoremove | VerbId::PackageRepair | VerbId::PackageUpdate => {
                read!(PackageUpdateRequest, |it| Ok(Self::Packages(PackagesRequest::unnamed(verb))))
            }
            VerbId::UnitDaemonReload => read!(UnitDaemonReloadRequest, |it| Ok(Self::DaemonReload)),
            VerbId::HostReboot => read!(HostRebootRequest, |it| units::delay(&it).map(Self::Reboot)),
            VerbId::CommandRun => read!(CommandRunRequest, |it| CommandRequest::new(it).map(Self::Command)),
            VerbId::PolicyDescribe => read!(PolicyDescribeRequest, |it| Ok(Self::Describe)),
            VerbId::RequestResult => read!(RequestResultRequest, |it| own::of(&it.of).map(Self::Result)),
            VerbId::RequestUndo => read!(RequestUndoRequest, |it| own::of(&it.of).map(Self::Undo)),
            VerbId::RequestKeep => {
                read!(RequestKeepRequest, |it| own::of(&it.of).map(Statement::Keep).map(Self::Own))
            }
            VerbId::AgentNote => {
                read!(AgentNoteRequest, |it| Statement::note(&it).map(Self::Own))
            }
        }
    }

    /// Decodes the body of an order, whose content travelled beside it. None: malformed, or the contents are not those
    /// of its WRITE changes.
    pub fn decode_order(
        verb: VerbId,
        body: &[u8],
        contents: Vec<Arc<[u8]>>,
    ) -> Option<Result<Self, Invalid>> {
        match Self::decode(verb, body)?.1 {
            Ok(Self::Files(files)) => Some(Ok(Self::Files(files.with_contents(contents)?))),
            other => contents.is_empty().then_some(other),
        }
    }

    /// The verb.
    pub const fn verb(&self) -> VerbId {
        match self {
            Self::Files(files) => files.verb,
            Self::FileRead(_) => VerbId::FileRead,
            Self::FileList(_) => VerbId::FileList,
            Self::Unit(unit) => unit.verb,
            Self::UnitStatus(_) => VerbId::UnitStatus,
            Self::DaemonReload => VerbId::UnitDaemonReload,
            Self::Reboot(_) => VerbId::HostReboot,
            Self::Packages(packages) => packages.verb,
            Self::Command(_) => VerbId::CommandRun,
            Self::Describe => VerbId::PolicyDescribe,
            Self::Result(_) => VerbId::RequestResult,
            Self::Undo(_) => VerbId::RequestUndo,
            Self::Own(Statement::Keep(_)) => VerbId::RequestKeep,
            Self::Own(Statement::Note(..)) => VerbId::AgentNote,
        }
    }

    /// Whether it changes nothing.
    pub const fn is_read(&self) -> bool {
        !self.verb().is_effect()
    }

    /// The grants that the request needs. Empty for an undo: see [`undo_grants`].
    pub fn required_grants(&self) -> Vec<RequiredGrant> {
        match self {
            Self::Files(files) => files.required_grants(),
            Self::FileRead(FileReadRequest { path, .. }) | Self::FileList(path) => {
                vec![(self.verb(), Object::read(path.clone()))]
            }
            Self::Unit(unit) => unit.required_grants(),
            Self::UnitStatus(status) => status.required_grants(),
            Self::Packages(packages) => packages.required_grants(),
            Self::Command(command) => command.required_grants(),
            Self::Reboot(minutes) => {
                let after_s = minutes.map(|minutes| minutes.saturating_mul(60));
                vec![(self.verb(), Object::Reboot { after_s })]
            }
            Self::DaemonReload | Self::Describe | Self::Result(_) | Self::Own(_) => {
                vec![(self.verb(), Object::Nothing)]
            }
            Self::Undo(_) => Vec::new(),
        }
    }
}
