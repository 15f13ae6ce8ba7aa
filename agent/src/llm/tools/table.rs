//! The rows of the tools: names, bounds, and which of them are offered when.

use super::arguments::{
    ApplyPatch, AskPerson, Checkpoint, File, Finish, GetNetwork, GetSystemInfo, ListDisks, ListPackages,
    ListProcesses, ListTimers, ListUnits, MakePlan, Package, PkgInstall, ReadFile, Reboot, RunCommand,
    Runbook, SearchFiles, SearchKnowledge, SearchLogs, Service, Shell, Undo, UnitJournal, UnitsReload,
    WriteFile,
};
use super::call::Call;
use super::registry::{Arguments, OUTPUT, Redaction, TIME, Time, Tool};
use std::num::NonZeroUsize;

macro_rules! tools {
    ($($(#[doc = $about:literal])+ $args:ident = $name:literal, $time:expr, $output:expr, $redaction:expr;)+) => {
        $(impl Arguments for $args {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = concat!($($about),+);
            const TIME: Time = $time;
            const OUTPUT: NonZeroUsize = $output;
            const REDACTION: Redaction = $redaction;
            fn call(self) -> Call {
                Call::$args(self)
            }
        })+

        impl Call {
            /// The tool that it is a call of.
            #[must_use]
            pub fn of(&self) -> &'static Tool {
                match self { $(Self::$args(_) => const { &Tool::of::<$args>() },)+ }
            }
        }

        /// All tools.
        pub const ALL: &[Tool] = &[$(Tool::of::<$args>(),)+];
    };
}

// The first five are those that every agent of this kind has; a new ability is a new tool at the end.
tools! {
    /// Run a shell command without any privilege.
    Shell = "shell", Time::Task, OUTPUT, Redaction::Excerpt;
    /// Look at a systemd unit or change its state.
    Service = "service", Time::Rule, OUTPUT, Redaction::Whole;
    /// Install one Debian package.
    PkgInstall = "pkg_install", Time::Rule, OUTPUT, Redaction::Whole;
    /// Make a file hold exactly this content.
    WriteFile = "write_file", Time::Rule, OUTPUT, Redaction::Whole;
    /// Read a file, or a part of it.
    ReadFile = "read_file", Time::Rule, OUTPUT, Redaction::Excerpt;
    /// Change or look at Debian packages.
    Package = "package", Time::Rule, OUTPUT, Redaction::Whole;
    /// Read the end of a unit's journal.
    UnitJournal = "unit_journal", Time::Rule, OUTPUT, Redaction::Excerpt;
    /// Let systemd read changed unit files.
    UnitsReload = "units_reload", Time::Rule, OUTPUT, Redaction::Whole;
    /// Do with a file or directory what the other tools cannot.
    File = "file", Time::Rule, OUTPUT, Redaction::Whole;
    /// Change files by a unified diff, all of it or nothing.
    ApplyPatch = "apply_patch", Time::Rule, OUTPUT, Redaction::Whole;
    /// Find a text in the files below a directory.
    SearchFiles = "search_files", TIME, OUTPUT, Redaction::Whole;
    /// Find a text in /var/log, rotated logs too, newest first.
    SearchLogs = "search_logs", TIME, OUTPUT, Redaction::Whole;
    /// Look at release, kernel, memory, load, time since boot.
    GetSystemInfo = "get_system_info", TIME, OUTPUT, Redaction::Whole;
    /// List the loaded units with their states.
    ListUnits = "list_units", TIME, OUTPUT, Redaction::Whole;
    /// List the timers with their last and next time.
    ListTimers = "list_timers", TIME, OUTPUT, Redaction::Whole;
    /// List the processes by unit.
    ListProcesses = "list_processes", TIME, OUTPUT, Redaction::Whole;
    /// Look at interfaces, addresses, routes, name servers and listening ports.
    GetNetwork = "get_network", TIME, OUTPUT, Redaction::Whole;
    /// List the file systems with their free space.
    ListDisks = "list_disks", TIME, OUTPUT, Redaction::Whole;
    /// List packages by a part of their name, or those in no usual state.
    ListPackages = "list_packages", TIME, OUTPUT, Redaction::Whole;
    /// Find text in site notes, documents, manual pages.
    SearchKnowledge = "search_knowledge", TIME, OUTPUT, Redaction::Whole;
    /// Run a command that the policy names.
    RunCommand = "run_command", Time::Rule, OUTPUT, Redaction::Excerpt;
    /// Take an earlier change back.
    Undo = "undo", Time::Rule, OUTPUT, Redaction::Whole;
    /// Ask the person what only they can answer.
    AskPerson = "ask_person", Time::Task, OUTPUT, Redaction::Whole;
    /// End the task. Always the last call.
    Finish = "finish", TIME, OUTPUT, Redaction::Whole;
    /// Reboot the host after some minutes, or cancel that.
    Reboot = "reboot", Time::Rule, OUTPUT, Redaction::Whole;
    /// Say how far the task is. Only when asked for it, at the end of a run.
    Checkpoint = "checkpoint", TIME, OUTPUT, Redaction::Whole;
    /// Give the plan: it is shown to a person and carried out later, or says why there is none.
    MakePlan = "plan", Time::Task, OUTPUT, Redaction::Whole;
    /// Look at a reviewed runbook, or get it as calls to make one by one. What you do otherwise is told to the person.
    Runbook = "runbook", TIME, OUTPUT, Redaction::Whole;
}

/// The tools with the names that every agent of this kind has: what `postern model read` goes by.
pub const TOOLS: &[Tool] = ALL.split_at(5).0;

/// The tools of a task.
pub const TASK: &[Tool] = ALL.split_at(ALL.len() - 3).0;

/// Those of a task: the shell where commands are run, the last one where the policy grants a reboot. Each costs every
/// request of the task its tokens.
#[must_use]
pub const fn of_task(may_run: bool, may_reboot: bool) -> &'static [Tool] {
    let tools = if may_run { TASK } else { TASK.split_at(1).1 };
    if may_reboot { tools } else { tools.split_at(tools.len() - 1).0 }
}

/// The tool for runbooks, where some fit a task.
pub const RUNBOOK: Tool = Tool::of::<Runbook>();

/// The one tool at the end of a run.
pub const CHECKPOINT: &[Tool] = &[Tool::of::<Checkpoint>()];

/// The tools while a plan is made: those that only look, and the plan.
pub const PLANNING: &[Tool] = &[
    Tool::of::<Service>(),
    Tool::of::<ReadFile>(),
    Tool::of::<File>(),
    Tool::of::<Package>(),
    Tool::of::<UnitJournal>(),
    Tool::of::<SearchFiles>(),
    Tool::of::<SearchLogs>(),
    Tool::of::<GetSystemInfo>(),
    Tool::of::<ListUnits>(),
    Tool::of::<ListTimers>(),
    Tool::of::<ListProcesses>(),
    Tool::of::<GetNetwork>(),
    Tool::of::<ListDisks>(),
    Tool::of::<ListPackages>(),
    Tool::of::<SearchKnowledge>(),
    Tool::of::<MakePlan>(),
];

impl Call {
    /// The tool's name.
    #[must_use]
    pub fn tool(&self) -> &'static str {
        self.of().name
    }
}
