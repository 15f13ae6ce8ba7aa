//! From typed commands to requests.

use super::verbs::{File, Host, Package, Service};
use crate::protocol::args;
use crate::protocol::args::{
    All, Change, ChangeKind, Command, FileChange, Names, NewDirectory, Nothing, OneChange, Ownership,
    Packages, Parameter, PathOnly, Permissions, ReadRange, Reboot, RemoveFile, Unit, UnitLook, UnitNow,
};
use crate::protocol::request::Request;
use crate::protocol::tool::unit_name;
use std::io::Read;
use std::path::Path;

/// Most bytes read of a new content: no policy can grant more.
const CONTENT_LIMIT: u64 = 4 << 20;

pub fn package(command: Package) -> Request {
    match command {
        Package::Install { names } => Request::PackageInstall(Packages {
            packages: names
                .iter()
                .map(|name| {
                    let (name, version) = name.split_once('=').unwrap_or((name, ""));
                    args::Package { name: name.to_owned(), version: version.to_owned() }
                })
                .collect(),
        }),
        Package::Remove(names) => Request::PackageRemove(Names { names: names.names }),
        Package::Purge(names) => Request::PackagePurge(Names { names: names.names }),
        Package::Autoremove => Request::PackageAutoremove(Nothing {}),
        Package::Update => Request::PackageUpdate(Nothing {}),
        Package::Upgrade { names, all } => Request::PackageUpgrade(All { names, all }),
        Package::Hold(names) => Request::PackageHold(Names { names: names.names }),
        Package::Unhold(names) => Request::PackageUnhold(Names { names: names.names }),
        Package::Repair => Request::PackageRepair(Nothing {}),
        Package::Show(names) => Request::PackageShow(Names { names: names.names }),
    }
}

pub fn service(command: Service) -> Request {
    let unit = |name: &str| Unit { unit: unit_name(name) };
    let unit_now = |name: &str, now: bool| UnitNow { unit: unit_name(name), now };
    match command {
        Service::Status { unit, lines } => {
            Request::UnitStatus(UnitLook { unit: unit_name(&unit), journal_lines: lines, since_unix_s: 0 })
        }
        Service::Start(u) => Request::UnitStart(unit(&u.unit)),
        Service::Stop(u) => Request::UnitStop(unit(&u.unit)),
        Service::Restart(u) => Request::UnitRestart(unit(&u.unit)),
        Service::Reload(u) => Request::UnitReload(unit(&u.unit)),
        Service::TryRestart(u) => Request::UnitTryRestart(unit(&u.unit)),
        Service::ResetFailed(u) => Request::UnitResetFailed(unit(&u.unit)),
        Service::Enable(u) => Request::UnitEnable(unit_now(&u.unit, u.now)),
        Service::Disable(u) => Request::UnitDisable(unit_now(&u.unit, u.now)),
        Service::Mask(u) => Request::UnitMask(unit_now(&u.unit, u.now)),
        Service::Unmask(u) => Request::UnitUnmask(unit(&u.unit)),
        Service::DaemonReload => Request::UnitDaemonReload(Nothing {}),
    }
}

/// The request of `postern host`.
///
/// # Errors
/// The delay is no number of seconds that a request can name.
pub fn host(command: &Host) -> Result<Request, String> {
    let Host::Reboot { delay, cancel } = command;
    let delay_s = if *cancel { 0 } else { delay.as_secs() };
    let delay_s = u32::try_from(delay_s).map_err(|_| "--delay is too long".to_owned())?;
    Ok(Request::HostReboot(Reboot { delay_s, cancel: *cancel }))
}

/// A file's request. Content comes from `input` where the command does not say otherwise.
pub fn file(command: File, input: &mut dyn Read) -> Result<Request, String> {
    Ok(match command {
        File::Read { path, offset, limit } => Request::FileRead(ReadRange { path, offset, limit }),
        File::List { path } => Request::FileList(PathOnly { path }),
        File::Write { path, from, content, ownership, expect } => {
            let content = match (content, from) {
                (Some(text), _) => text.into_bytes(),
                (None, None) => limited(input).map_err(|e| format!("cannot read stdin: {e}"))?,
                (None, Some(from)) => content_of(&from)?,
            };
            let (mode, owner, group) = (ownership.mode, ownership.owner, ownership.group);
            let kind = ChangeKind::Write;
            Request::FileWrite(Change {
                change: OneChange(FileChange { path, kind, content, expect, mode, owner, group }),
            })
        }
        // Only for `can`, which needs no content.
        File::Edit { path } => write(path, Vec::new(), args::any()),
        File::Patch(_) => return Err("what a diff needs tells `postern file patch --dry-run`".to_owned()),
        File::Remove { path, expect } => Request::FileRemove(RemoveFile { path, expect }),
        File::Mkdir { path, ownership } => {
            let (mode, owner, group) = (ownership.mode, ownership.owner, ownership.group);
            Request::FileMkdir(NewDirectory { path, mode, owner, group })
        }
        File::SetMode { path, mode } => Request::FileSetMode(Permissions { path, mode }),
        File::SetOwner { path, owner } => Request::FileSetOwner(Ownership::of(path, &owner)),
    })
}

/// Builds a command's request. Secrets must not be in argv, which every process can read: `KEY=-` takes the value
/// from `input`, `KEY=@PATH` from a file. No value that a policy can grant begins with `-` or `@`.
pub fn command(name: String, parameters: &[String], input: &mut dyn Read) -> Result<Request, String> {
    let mut parsed = Vec::with_capacity(parameters.len());
    let mut from_input = None;
    for parameter in parameters {
        // Not repeated: what stands there may be a secret.
        let (name, given) = parameter.split_once('=').ok_or("a parameter is given as KEY=VALUE")?;
        let value = if given == "-" {
            if let Some(first) = from_input.replace(name) {
                return Err(format!(
                    "both {first:?} and {name:?} cannot come from stdin; give one as KEY=@PATH"
                ));
            }
            text_of(limited(input).map_err(|e| format!("cannot read stdin: {e}"))?, name)?
        } else if let Some(path) = given.strip_prefix('@') {
            text_of(content_of(Path::new(path))?, name)?
        } else {
            given.to_owned()
        };
        parsed.push(Parameter { name: name.to_owned(), value });
    }
    parsed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Request::CommandRun(Command { name, parameters: parsed }))
}

/// A value as text, without the line feed that ends it in a file.
fn text_of(bytes: Vec<u8>, name: &str) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|_| format!("what is given for {name:?} is no UTF-8"))?;
    Ok(text.strip_suffix('\n').map_or_else(|| text.clone(), str::to_owned))
}

/// A request that makes a file hold a content, and keeps its mode and owner.
pub fn write(path: String, content: Vec<u8>, expect: String) -> Request {
    Request::FileWrite(Change { change: OneChange(FileChange::write(path, content, expect)) })
}

/// Reads a file of this process's user.
pub fn content_of(path: &Path) -> Result<Vec<u8>, String> {
    let content = std::fs::File::open(path).and_then(|mut file| limited(&mut file));
    content.map_err(|e| format!("cannot read {}: {e}", path.display()))
}

/// All of an input, up to what a request can carry.
pub fn limited(from: &mut dyn Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(CONTENT_LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > CONTENT_LIMIT {
        return Err(std::io::Error::other("more than 4 MiB"));
    }
    Ok(bytes)
}
