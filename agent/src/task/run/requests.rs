//! The request that a tool stands for.

use crate::args::{
    All, Change, Changes, Command, FileChange, Names, NewDirectory, Nothing, Of, OneChange, Ownership,
    Package, Packages, Parameter, PathOnly, Permissions, ReadRange, RemoveFile, Unit, UnitLook, UnitNow, any,
};
use crate::request::Request;
use crate::tool::{Action, Tool, UnitAction, unit_name};

/// How a unit is.
pub fn status_of(unit: &str) -> Request {
    Request::UnitStatus(UnitLook { unit: unit.to_owned(), journal_lines: 0, since_unix_s: 0 })
}

/// `NAME` or `NAME=VERSION` each.
pub fn install(names: &[String]) -> Request {
    let package = |name: &String| {
        let (name, version) = name.split_once('=').unwrap_or((name, ""));
        Package { name: name.to_owned(), version: version.to_owned() }
    };
    Request::PackageInstall(Packages { packages: names.iter().map(package).collect() })
}

/// The one request of a tool that is one; of the others the one that changes something. What the agent does or
/// finds out by itself is none.
pub fn request(tool: &Tool) -> Option<Request> {
    Some(match tool {
        Tool::Request(request) => request.clone(),
        Tool::PkgInstall { name } => install(std::slice::from_ref(name)),
        Tool::PackagesInstall { names } | Tool::EnsureInstalled { names } => install(names),
        Tool::PkgRemove { name } => Request::PackageRemove(Names { names: vec![name.clone()] }),
        Tool::PackagesRemove { names } => Request::PackageRemove(Names { names: names.clone() }),
        Tool::PackagesPurge { names } => Request::PackagePurge(Names { names: names.clone() }),
        Tool::PackagesAutoremove {} => Request::PackageAutoremove(Nothing {}),
        Tool::PackagesHold { names } => Request::PackageHold(Names { names: names.clone() }),
        Tool::PackagesUnhold { names } => Request::PackageUnhold(Names { names: names.clone() }),
        Tool::PackagesRepair {} => Request::PackageRepair(Nothing {}),
        Tool::PackagesUpdate {} => Request::PackageUpdate(Nothing {}),
        Tool::PackagesUpgrade { names } => {
            Request::PackageUpgrade(All { names: names.clone(), all: names.is_empty() })
        }
        Tool::PkgShow { name } => Request::PackageShow(Names { names: vec![name.clone()] }),
        Tool::PackagesShow { names } => Request::PackageShow(Names { names: names.clone() }),
        Tool::Service { action, name } => service(*action, unit_name(name)),
        Tool::Unit { action, name } => unit(*action, unit_name(name)),
        Tool::UnitJournal { name, lines } => {
            Request::UnitStatus(UnitLook { unit: unit_name(name), journal_lines: *lines, since_unix_s: 0 })
        }
        Tool::UnitsReload {} => Request::UnitDaemonReload(Nothing {}),
        Tool::EnsureRunning { name } => service(Action::Start, unit_name(name)),
        Tool::WriteFile { path, content } => Request::FileWrite(Change {
            change: OneChange(FileChange::write(path.clone(), content.clone().into_bytes(), any())),
        }),
        // What it changes is known only once the files are read.
        Tool::ApplyPatch { .. } => Request::FilePatch(Changes { changes: Vec::new() }),
        Tool::ReadFile { path, offset, limit } => Request::FileRead(ReadRange {
            path: path.clone(),
            offset: offset.unwrap_or_default(),
            limit: limit.unwrap_or_default(),
        }),
        Tool::ListDir { path } => Request::FileList(PathOnly { path: path.clone() }),
        Tool::MakeDirectory { path } => {
            let [mode, owner, group] = Default::default();
            Request::FileMkdir(NewDirectory { path: path.clone(), mode, owner, group })
        }
        Tool::SetMode { path, mode } => {
            Request::FileSetMode(Permissions { path: path.clone(), mode: mode.clone() })
        }
        Tool::SetOwner { path, owner } => Request::FileSetOwner(Ownership::of(path.clone(), owner)),
        Tool::RemoveFile { path } => Request::FileRemove(RemoveFile { path: path.clone(), expect: any() }),
        Tool::RunCommand { name, params } => {
            let parameter =
                |(name, value): (&String, &String)| Parameter { name: name.clone(), value: value.clone() };
            // A map is in the order of names, as the wire wants them.
            let parameters = params.iter().map(parameter).collect();
            Request::CommandRun(Command { name: name.clone(), parameters })
        }
        Tool::Undo { request_id } => Request::RequestUndo(Of { of: request_id.clone() }),
        Tool::Shell { .. }
        | Tool::SearchFiles { .. }
        | Tool::SearchLogs { .. }
        | Tool::GetSystemInfo {}
        | Tool::ListUnits { .. }
        | Tool::ListTimers {}
        | Tool::ListProcesses { .. }
        | Tool::GetNetwork {}
        | Tool::ListDisks {}
        | Tool::ListPackages { .. } => return None,
    })
}

fn service(action: Action, unit: String) -> Request {
    match action {
        Action::Status => status_of(&unit),
        Action::Start => Request::UnitStart(Unit { unit }),
        Action::Stop => Request::UnitStop(Unit { unit }),
        Action::Restart => Request::UnitRestart(Unit { unit }),
        Action::Reload => Request::UnitReload(Unit { unit }),
        Action::Enable => Request::UnitEnable(UnitNow { unit, now: false }),
        Action::Disable => Request::UnitDisable(UnitNow { unit, now: false }),
    }
}

fn unit(action: UnitAction, unit: String) -> Request {
    match action {
        UnitAction::TryRestart => Request::UnitTryRestart(Unit { unit }),
        UnitAction::ResetFailed => Request::UnitResetFailed(Unit { unit }),
        UnitAction::Mask => Request::UnitMask(UnitNow { unit, now: false }),
        UnitAction::Unmask => Request::UnitUnmask(Unit { unit }),
    }
}
