//! Requests: the message of each verb, decoded strictly into validated types.

mod commands;
mod files;
mod own;
mod packages;
mod units;

pub use commands::CommandRequest;
pub use files::{FileChange, FileReadRequest, FilesRequest, NewState};
pub use own::undo_grants;
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
}

/// The meta, also of an invalid request, so that its refusal names it; and the request.
pub type Decoded = (Option<wire::Meta>, Result<Request, Invalid>);

impl Request {
    /// Decodes a client's message. None: it is malformed, and the connection must end.
    #[must_use]
    pub fn decode(verb: VerbId, body: &[u8]) -> Option<Decoded> {
        use Request::{Command, FileList, FileRead, Files, Packages, Unit, UnitStatus};
        macro_rules! read {
            ($message:ident, $wrap:expr, $parse:expr) => {{
                let mut wire = strict::<wire::$message>(body)?;
                let meta = wire.meta.take();
                Some((meta, $parse(&wire).map($wrap)))
            }};
        }
        macro_rules! named {
            ($message:ident) => {
                read!($message, Packages, |wire: &wire::$message| PackagesRequest::named(verb, &wire.names))
            };
        }
        macro_rules! unnamed {
            ($message:ident) => {
                read!($message, Packages, |_| Ok(PackagesRequest::unnamed(verb)))
            };
        }
        macro_rules! unit {
            ($message:ident) => {
                read!($message, Unit, |wire: &wire::$message| UnitRequest::new(verb, &wire.unit, false))
            };
        }
        macro_rules! unit_now {
            ($message:ident) => {
                read!($message, Unit, |wire: &wire::$message| UnitRequest::new(verb, &wire.unit, wire.now))
            };
        }
        match verb {
            VerbId::FileWrite => read!(FileWriteRequest, Files, FilesRequest::write),
            VerbId::FilePatch => read!(FilePatchRequest, Files, FilesRequest::patch),
            VerbId::FileRemove => read!(FileRemoveRequest, Files, FilesRequest::remove),
            VerbId::FileMkdir => read!(FileMkdirRequest, Files, FilesRequest::mkdir),
            VerbId::FileSetMode => read!(FileSetModeRequest, Files, FilesRequest::set_mode),
            VerbId::FileSetOwner => read!(FileSetOwnerRequest, Files, FilesRequest::set_owner),
            VerbId::FileRead => read!(FileReadRequest, FileRead, FileReadRequest::new),
            VerbId::FileList => {
                read!(FileListRequest, FileList, |wire: &wire::FileListRequest| TargetPath::new(&wire.path))
            }
            VerbId::UnitStatus => read!(UnitStatusRequest, UnitStatus, UnitStatusRequest::new),
            VerbId::UnitStart => unit!(UnitStartRequest),
            VerbId::UnitStop => unit!(UnitStopRequest),
            VerbId::UnitRestart => unit!(UnitRestartRequest),
            VerbId::UnitReload => unit!(UnitReloadRequest),
            VerbId::UnitTryRestart => unit!(UnitTryRestartRequest),
            VerbId::UnitResetFailed => unit!(UnitResetFailedRequest),
            VerbId::UnitUnmask => unit!(UnitUnmaskRequest),
            VerbId::UnitEnable => unit_now!(UnitEnableRequest),
            VerbId::UnitDisable => unit_now!(UnitDisableRequest),
            VerbId::UnitMask => unit_now!(UnitMaskRequest),
            VerbId::UnitDaemonReload => read!(UnitDaemonReloadRequest, |()| Self::DaemonReload, |_| Ok(())),
            VerbId::PackageInstall => read!(PackageInstallRequest, Packages, PackagesRequest::install),
            VerbId::PackageUpgrade => read!(PackageUpgradeRequest, Packages, PackagesRequest::upgrade),
            VerbId::PackageRemove => named!(PackageRemoveRequest),
            VerbId::PackagePurge => named!(PackagePurgeRequest),
            VerbId::PackageHold => named!(PackageHoldRequest),
            VerbId::PackageUnhold => named!(PackageUnholdRequest),
            VerbId::PackageShow => named!(PackageShowRequest),
            VerbId::PackageAutoremove => unnamed!(PackageAutoremoveRequest),
            VerbId::PackageRepair => unnamed!(PackageRepairRequest),
            VerbId::PackageUpdate => unnamed!(PackageUpdateRequest),
            VerbId::CommandRun => read!(CommandRunRequest, Command, CommandRequest::new),
            VerbId::PolicyDescribe => read!(PolicyDescribeRequest, |()| Self::Describe, |_| Ok(())),
            VerbId::RequestResult => {
                read!(RequestResultRequest, Self::Result, |wire: &wire::RequestResultRequest| own::of(
                    &wire.of
                ))
            }
            VerbId::RequestUndo => {
                read!(RequestUndoRequest, Self::Undo, |wire: &wire::RequestUndoRequest| own::of(&wire.of))
            }
        }
    }

    /// Decodes the body of an order, whose content travelled beside it. None: malformed, or the contents are not those
    /// of its WRITE changes.
    #[must_use]
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
    #[must_use]
    pub const fn verb(&self) -> VerbId {
        match self {
            Self::Files(files) => files.verb,
            Self::FileRead(_) => VerbId::FileRead,
            Self::FileList(_) => VerbId::FileList,
            Self::Unit(unit) => unit.verb,
            Self::UnitStatus(_) => VerbId::UnitStatus,
            Self::DaemonReload => VerbId::UnitDaemonReload,
            Self::Packages(packages) => packages.verb,
            Self::Command(_) => VerbId::CommandRun,
            Self::Describe => VerbId::PolicyDescribe,
            Self::Result(_) => VerbId::RequestResult,
            Self::Undo(_) => VerbId::RequestUndo,
        }
    }

    /// Whether it changes nothing.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        !self.verb().is_effect()
    }

    /// The grants that the request needs. Empty for an undo: see [`undo_grants`].
    #[must_use]
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
            Self::DaemonReload | Self::Describe | Self::Result(_) => vec![(self.verb(), Object::Nothing)],
            Self::Undo(_) => Vec::new(),
        }
    }
}
