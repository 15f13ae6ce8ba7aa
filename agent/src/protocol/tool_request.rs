//! The request that a tool stands for.

use super::args::{
    All, Change, Changes, Command, FileChange, Names, NewDirectory, Nothing, Of, OneChange, Ownership,
    Package, Packages, Parameter, PathOnly, Permissions, ReadRange, Reboot, RemoveFile, Unit, UnitLook,
    UnitNow, any,
};
use super::request::Request;
use super::tool::{Action, FileTool, PackageTool, Tool, unit_name};

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

/// Returns the one request of a tool that is one; of a tool with several, the one that changes something. `None`
/// for the agent's own tools.
pub fn request(tool: &Tool) -> Option<Request> {
    Some(match tool {
        Tool::Request(request) => request.clone(),
        Tool::PkgInstall { name } => install(std::slice::from_ref(name)),
        Tool::EnsureInstalled { names } => install(names),
        Tool::Package(tool) => package(tool)?,
        Tool::Service { action, name } => service(*action, unit_name(name)),
        Tool::UnitJournal { name, lines } => {
            Request::UnitStatus(UnitLook { unit: unit_name(name), journal_lines: *lines, since_unix_s: 0 })
        }
        Tool::UnitsReload {} => Request::UnitDaemonReload(Nothing {}),
        Tool::Reboot { delay_minutes, cancel } => {
            Request::HostReboot(Reboot { delay_s: delay_minutes.saturating_mul(60), cancel: *cancel })
        }
        Tool::EnsureRunning { name } => service(Action::Start, unit_name(name)),
        Tool::WriteFile { path, content } => {
            Request::FileWrite(Change { change: OneChange(written(path, content, "", "")) })
        }
        // Its changes are known only once the files are read.
        Tool::ApplyPatch { .. } => Request::FilePatch(Changes { changes: Vec::new() }),
        Tool::ReadFile { path, offset, limit } => Request::FileRead(ReadRange {
            path: path.clone(),
            offset: offset.unwrap_or_default(),
            limit: limit.unwrap_or_default(),
        }),
        Tool::File(tool) => file(tool),
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
        | Tool::SearchKnowledge { .. }
        | Tool::Runbook { .. }
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
        Action::TryRestart => Request::UnitTryRestart(Unit { unit }),
        Action::ResetFailed => Request::UnitResetFailed(Unit { unit }),
        Action::Mask => Request::UnitMask(UnitNow { unit, now: false }),
        Action::Unmask => Request::UnitUnmask(Unit { unit }),
    }
}

/// `None` for what is only foreseen: the change itself is not asked for.
fn package(tool: &PackageTool) -> Option<Request> {
    let args = |names: &[String]| Names { names: names.to_vec() };
    Some(match tool {
        PackageTool::Install { names } => install(names),
        PackageTool::Remove { names } => Request::PackageRemove(args(names)),
        PackageTool::Purge { names } => Request::PackagePurge(args(names)),
        PackageTool::Autoremove {} => Request::PackageAutoremove(Nothing {}),
        PackageTool::Update {} => Request::PackageUpdate(Nothing {}),
        PackageTool::Upgrade { names } => upgrade(names),
        PackageTool::Hold { names } => Request::PackageHold(args(names)),
        PackageTool::Unhold { names } => Request::PackageUnhold(args(names)),
        PackageTool::Repair {} => Request::PackageRepair(Nothing {}),
        PackageTool::Show { names } => Request::PackageShow(args(names)),
        PackageTool::ListUpgrades {} => return None,
    })
}

/// The newest versions of these packages, or of all.
pub fn upgrade(names: &[String]) -> Request {
    Request::PackageUpgrade(All { names: names.to_vec(), all: names.is_empty() })
}

fn file(tool: &FileTool) -> Request {
    match tool {
        FileTool::Write { path, content, mode, owner } => {
            Request::FileWrite(Change { change: OneChange(written(path, content, mode, owner)) })
        }
        FileTool::Mkdir { path, mode, owner } => {
            let Ownership { path, owner, group } = Ownership::of(path.clone(), owner);
            Request::FileMkdir(NewDirectory { path, mode: mode.clone(), owner, group })
        }
        FileTool::SetMode { path, mode } => {
            Request::FileSetMode(Permissions { path: path.clone(), mode: mode.clone() })
        }
        FileTool::SetOwner { path, owner } => Request::FileSetOwner(Ownership::of(path.clone(), owner)),
        FileTool::Remove { path } => Request::FileRemove(RemoveFile { path: path.clone(), expect: any() }),
        FileTool::List { path } => Request::FileList(PathOnly { path: path.clone() }),
    }
}

/// A file's new content whatever it holds now; mode and owner stay where they are empty.
pub fn written(path: &str, content: &str, mode: &str, owner: &str) -> FileChange {
    let Ownership { path, owner, group } = Ownership::of(path.to_owned(), owner);
    let change = FileChange::write(path, content.as_bytes().to_vec(), any());
    FileChange { mode: mode.to_owned(), owner, group, ..change }
}
