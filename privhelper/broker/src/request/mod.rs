//! Requests: what a verb's message says, as validated types.
//!
//! One file a family of verbs. Wire types end here: behind [`decode`] no message of a client is used.

mod commands;
mod files;
mod meta;
mod packages;
mod units;

pub use commands::CommandRequest;
pub use files::{Change, NewContent, ReadRequest, To};
pub use meta::{Meta, Mode, peek, split};
pub use packages::{Package, PackagesRequest};
pub use units::{StatusRequest, UnitRequest};

use postern_policy::types::{RequestId, TargetPath};
use postern_policy::{Invalid, Object, RequiredGrant, VerbId};
use postern_proto::{link, v1 as wire};
use prost::Message;

/// A request of a client.
#[derive(Debug)]
pub enum Request {
    /// `package.*`.
    Packages(PackagesRequest),
    /// `unit.start` to `unit.unmask`.
    Unit(UnitRequest),
    /// `unit.status`.
    Status(StatusRequest),
    /// `unit.daemon-reload`.
    DaemonReload,
    /// `file.read`.
    Read(ReadRequest),
    /// `file.list`.
    List(TargetPath),
    /// `file.write`, `file.patch`, `file.remove`, `file.mkdir`, `file.set-mode`, `file.set-owner`.
    Changes(Vec<Change>),
    /// `command.run`.
    Command(CommandRequest),
    /// `policy.describe`.
    Describe,
    /// `request.result`: the request that is asked about.
    Result(RequestId),
    /// `request.undo`: the request that is taken back.
    Undo(RequestId),
}

/// A message of a verb.
#[derive(Debug)]
pub struct Decoded {
    /// What every request carries. Present also where the rest is invalid, so that a refusal names its request.
    pub meta: Option<wire::Meta>,
    /// The validated arguments.
    pub request: Result<Request, Invalid>,
    /// The message without file content, encoded: the body of an order.
    pub body: Vec<u8>,
}

/// Decodes a client's message. None if it does not encode to the same bytes: it has an unknown field, a duplicate or
/// another form.
#[must_use]
pub fn decode(verb: VerbId, bytes: &[u8]) -> Option<Decoded> {
    by_verb(verb, bytes, None)
}

/// Decodes the body of an order, or of an inverse, whose content is known by size and digest.
#[must_use]
pub fn decode_order(verb: VerbId, bytes: &[u8], contents: Vec<NewContent>) -> Option<Decoded> {
    let has_content = matches!(verb, VerbId::FileWrite | VerbId::FilePatch);
    if has_content || contents.is_empty() { by_verb(verb, bytes, Some(contents)) } else { None }
}

/// The content that an order announces apart from its body; none = a client's message holds it.
type Contents = Option<Vec<NewContent>>;

/// The meta and the arguments of a message.
type Parsed = (Option<wire::Meta>, Result<Request, Invalid>);

fn by_verb(verb: VerbId, bytes: &[u8], contents: Contents) -> Option<Decoded> {
    match verb {
        VerbId::PackageInstall => parse(bytes, packages::install),
        VerbId::PackageRemove => parse(bytes, packages::remove),
        VerbId::PackagePurge => parse(bytes, packages::purge),
        VerbId::PackageAutoremove => parse(bytes, packages::autoremove),
        VerbId::PackageUpdate => parse(bytes, packages::update),
        VerbId::PackageUpgrade => parse(bytes, packages::upgrade),
        VerbId::PackageHold => parse(bytes, packages::hold),
        VerbId::PackageUnhold => parse(bytes, packages::unhold),
        VerbId::PackageRepair => parse(bytes, packages::repair),
        VerbId::PackageShow => parse(bytes, packages::show),
        VerbId::UnitStatus => parse(bytes, units::status),
        VerbId::UnitStart => parse(bytes, units::start),
        VerbId::UnitStop => parse(bytes, units::stop),
        VerbId::UnitRestart => parse(bytes, units::restart),
        VerbId::UnitReload => parse(bytes, units::reload),
        VerbId::UnitTryRestart => parse(bytes, units::try_restart),
        VerbId::UnitResetFailed => parse(bytes, units::reset_failed),
        VerbId::UnitEnable => parse(bytes, units::enable),
        VerbId::UnitDisable => parse(bytes, units::disable),
        VerbId::UnitMask => parse(bytes, units::mask),
        VerbId::UnitUnmask => parse(bytes, units::unmask),
        VerbId::UnitDaemonReload => parse(bytes, units::daemon_reload),
        VerbId::FileRead => parse(bytes, files::read),
        VerbId::FileList => parse(bytes, files::list),
        VerbId::FileWrite => files::write(bytes, contents),
        VerbId::FilePatch => files::patch(bytes, contents),
        VerbId::FileRemove => parse(bytes, files::remove),
        VerbId::FileMkdir => parse(bytes, files::mkdir),
        VerbId::FileSetMode => parse(bytes, files::set_mode),
        VerbId::FileSetOwner => parse(bytes, files::set_owner),
        VerbId::CommandRun => parse(bytes, commands::run),
        VerbId::PolicyDescribe => parse(bytes, describe),
        VerbId::RequestResult => parse(bytes, result),
        VerbId::RequestUndo => parse(bytes, undo),
    }
}

fn parse<M: Message + Default>(bytes: &[u8], read: fn(M) -> Parsed) -> Option<Decoded> {
    let (meta, request) = read(link::strict(bytes)?);
    Some(Decoded { meta, request, body: bytes.to_vec() })
}

fn describe(wire: wire::PolicyDescribeRequest) -> Parsed {
    (wire.meta, Ok(Request::Describe))
}

fn result(wire: wire::RequestResultRequest) -> Parsed {
    (wire.meta, of(&wire.of).map(Request::Result))
}

fn undo(wire: wire::RequestUndoRequest) -> Parsed {
    (wire.meta, of(&wire.of).map(Request::Undo))
}

fn of(id: &str) -> Result<RequestId, Invalid> {
    RequestId::new(id).map_err(|invalid| Invalid { field: "of", ..invalid })
}

impl Request {
    /// Returns the changes of files; none of another verb.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        match self {
            Self::Changes(changes) => changes,
            Self::Packages(_)
            | Self::Unit(_)
            | Self::Status(_)
            | Self::DaemonReload
            | Self::Read(_)
            | Self::List(_)
            | Self::Command(_)
            | Self::Describe
            | Self::Result(_)
            | Self::Undo(_) => &[],
        }
    }

    /// Returns what must be granted for the request to pass as `verb`. For an undo that is asked of its inverse.
    #[must_use]
    pub fn required_grants(&self, verb: VerbId) -> Vec<RequiredGrant> {
        match self {
            Self::Packages(packages) => packages.required_grants(verb),
            Self::Unit(unit) => unit.required_grants(verb),
            Self::Status(status) => vec![(verb, Object::Unit(status.unit.clone()))],
            Self::Read(read) => vec![(verb, Object::read(read.path.clone()))],
            Self::List(path) => vec![(verb, Object::read(path.clone()))],
            Self::Changes(changes) => files::required_grants(verb, changes),
            Self::Command(command) => vec![command.required_grant()],
            Self::DaemonReload | Self::Describe | Self::Result(_) | Self::Undo(_) => {
                vec![(verb, Object::Nothing)]
            }
        }
    }
}
