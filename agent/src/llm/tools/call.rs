//! A call of one tool, its arguments checked.

use super::arguments::{
    ApplyPatch, AskPerson, Checkpoint, File, Finish, GetNetwork, GetSystemInfo, ListDisks, ListPackages,
    ListProcesses, ListTimers, ListUnits, MakePlan, Package, PkgInstall, ReadFile, Reboot, RunCommand,
    Runbook, SearchFiles, SearchKnowledge, SearchLogs, Service, Shell, Undo, UnitJournal, UnitsReload,
    WriteFile,
};
use crate::protocol::tool::Action;
use serde::Serialize;

/// A call whose arguments were checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "tool", content = "args", rename_all = "snake_case")]
pub enum Call {
    /// Run a shell command without any privilege.
    Shell(Shell),
    /// Look at a systemd unit or change its state.
    Service(Service),
    /// Install one Debian package.
    PkgInstall(PkgInstall),
    /// Make a file hold exactly this content.
    WriteFile(WriteFile),
    /// Read a file, or a part of it.
    ReadFile(ReadFile),
    /// Change or look at Debian packages.
    Package(Package),
    /// Read the end of a unit's journal.
    UnitJournal(UnitJournal),
    /// Let systemd read changed unit files.
    UnitsReload(UnitsReload),
    /// Reboot the host, or cancel that.
    Reboot(Reboot),
    /// Do with a file or directory what the other tools cannot.
    File(File),
    /// Change files by a unified diff, all of it or nothing.
    ApplyPatch(ApplyPatch),
    /// Find a text in the files below a directory.
    SearchFiles(SearchFiles),
    /// Find a text in /var/log, rotated logs too, newest first.
    SearchLogs(SearchLogs),
    /// Find text in site notes, documents, manual pages.
    SearchKnowledge(SearchKnowledge),
    /// Look at a reviewed runbook, or get it as calls to follow.
    Runbook(Runbook),
    /// Look at release, kernel, memory, load, time since boot.
    GetSystemInfo(GetSystemInfo),
    /// List the loaded units with their states.
    ListUnits(ListUnits),
    /// List the timers with their last and next time.
    ListTimers(ListTimers),
    /// List the processes by unit.
    ListProcesses(ListProcesses),
    /// Look at interfaces, addresses, routes, name servers and listening ports.
    GetNetwork(GetNetwork),
    /// List the file systems with their free space.
    ListDisks(ListDisks),
    /// List packages by a part of their name, or those in no usual state.
    ListPackages(ListPackages),
    /// Run a command that the policy names.
    RunCommand(RunCommand),
    /// Take an earlier change back.
    Undo(Undo),
    /// Ask the person what only they can answer.
    AskPerson(AskPerson),
    /// End the task. Always the last call.
    Finish(Finish),
    /// Say how far the task is. Only when asked for it, at the end of a run.
    Checkpoint(Checkpoint),
    /// Give the plan: it is shown to a person and carried out later, or says why there is none.
    #[serde(rename = "plan")]
    MakePlan(MakePlan),
}

impl Call {
    /// It changes the host.
    #[must_use]
    pub fn is_effect(&self) -> bool {
        match self {
            Self::Service(service) => service.action != Action::Status,
            Self::Package(package) => package.is_effect(),
            Self::File(file) => file.is_effect(),
            Self::PkgInstall(_)
            | Self::WriteFile(_)
            | Self::ApplyPatch(_)
            | Self::UnitsReload(_)
            | Self::Reboot(_)
            | Self::RunCommand(_)
            | Self::Undo(_) => true,
            // Requests of its programs count on their own.
            Self::Shell(_)
            | Self::ReadFile(_)
            | Self::UnitJournal(_)
            | Self::SearchFiles(_)
            | Self::SearchLogs(_)
            | Self::SearchKnowledge(_)
            | Self::Runbook(_)
            | Self::GetSystemInfo(_)
            | Self::ListUnits(_)
            | Self::ListTimers(_)
            | Self::ListProcesses(_)
            | Self::GetNetwork(_)
            | Self::ListDisks(_)
            | Self::ListPackages(_)
            | Self::AskPerson(_)
            | Self::Finish(_)
            | Self::Checkpoint(_)
            | Self::MakePlan(_) => false,
        }
    }
}
