//! The steps of a task, and their descriptions for people.

pub(crate) mod families;
mod words;

pub use families::{FileTool, PackageTool};

use super::request::Request;
use postern_patch::parse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
pub(crate) use words::brief;
use words::written;

/// One tool with its arguments: `{"tool": …, "args": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tool", content = "args", rename_all = "snake_case", deny_unknown_fields)]
pub enum Tool {
    /// Install one package (`NAME` or `NAME=VERSION`).
    PkgInstall {
        /// The package.
        name: String,
    },
    /// Do something with packages, or look at them.
    Package(PackageTool),
    /// Look, and install what is not installed.
    EnsureInstalled {
        /// The packages.
        names: Vec<String>,
    },
    /// Do something with a unit, or look at it.
    Service {
        /// What.
        action: Action,
        /// The unit.
        name: String,
    },
    /// Read the end of a unit's journal.
    UnitJournal {
        /// The unit.
        name: String,
        /// The most lines.
        #[serde(default = "lines")]
        lines: u32,
    },
    /// Let systemd read its units again.
    UnitsReload {},
    /// Reboot the host, or cancel that.
    Reboot {
        /// Minutes from now.
        #[serde(default)]
        delay_minutes: u32,
        /// Not any more.
        #[serde(default)]
        cancel: bool,
    },
    /// Look, start the unit if it is not active, and look again.
    EnsureRunning {
        /// The unit.
        name: String,
    },
    /// Make a file hold a content.
    WriteFile {
        /// An absolute path.
        path: String,
        /// The whole content.
        content: String,
    },
    /// Apply a unified diff to what the files hold, all of it or nothing.
    ApplyPatch {
        /// The diff.
        diff: String,
    },
    /// Read a file, or a part of it.
    ReadFile {
        /// An absolute path.
        path: String,
        /// The first byte; negative counts from the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<i64>,
        /// The most bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// Find a text in files.
    SearchFiles {
        /// The absolute path of a file or a directory.
        path: String,
        /// The text, literally.
        text: String,
        /// The most matches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_matches: Option<u32>,
    },
    /// Find a text in logs.
    SearchLogs {
        /// The text, literally.
        text: String,
        /// The most matches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_matches: Option<u32>,
    },
    /// Find parts of documents in the knowledge base.
    SearchKnowledge {
        /// Words to look for.
        query: String,
    },
    /// Look at a runbook of this host, or have it as calls to follow.
    Runbook {
        /// Its name.
        name: String,
        /// Values of its parameters, to follow it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follow: Option<BTreeMap<String, String>>,
    },
    /// Look at the host.
    GetSystemInfo {},
    /// List units.
    ListUnits {
        /// Only those whose name contains this text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contains: Option<String>,
        /// Only those in this state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<String>,
    },
    /// List timers.
    ListTimers {},
    /// List processes.
    ListProcesses {
        /// Only those whose command or unit contains this text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contains: Option<String>,
    },
    /// Look at the network.
    GetNetwork {},
    /// List file systems.
    ListDisks {},
    /// List packages.
    ListPackages {
        /// Only those whose name contains this text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contains: Option<String>,
    },
    /// Do with a file or directory what `write_file` and `read_file` do not.
    File(FileTool),
    /// Run a command that the policy names.
    RunCommand {
        /// Its name there.
        name: String,
        /// Its parameters.
        #[serde(default)]
        params: BTreeMap<String, String>,
    },
    /// Take an earlier change back.
    Undo {
        /// Its request id, the beginning of it, or `last`.
        request_id: String,
    },
    /// Run a command in the sandbox, as nobody in particular.
    Shell {
        /// As `sh -c` would get it.
        cmd: String,
    },
    /// One request by its verb, for what no other tool says: `{"verb": …, "args": {…}}`.
    Request(Request),
}

/// What `service` does with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Look.
    Status,
    /// Start.
    Start,
    /// Stop.
    Stop,
    /// Stop and start.
    Restart,
    /// Let it read its configuration again.
    Reload,
    /// Start it at boot.
    Enable,
    /// Do not start it at boot.
    Disable,
    /// Restart it if it runs.
    TryRestart,
    /// Forget that it failed.
    ResetFailed,
    /// Let nothing start it.
    Mask,
    /// Let it be started again.
    Unmask,
}

impl Action {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::Reload => "reload",
            Self::Enable => "enable",
            Self::Disable => "disable",
            Self::TryRestart => "try-restart",
            Self::ResetFailed => "reset-failed",
            Self::Mask => "mask",
            Self::Unmask => "unmask",
        }
    }
}

impl Tool {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        let step = serde_json::to_value(self).unwrap_or_default();
        step["tool"].as_str().unwrap_or_default().to_owned()
    }

    /// Why a step's request is asked, for the audit log and for operators: the step in words without values that may
    /// be secret.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::RunCommand { name, .. } => format!("run {name}"),
            Self::Shell { .. } => "run a command".to_owned(),
            Self::Request(Request::CommandRun(command)) => format!("run {}", command.name),
            other => other.describe(),
        }
    }

    /// The step in words for its person, without the content of files.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::PkgInstall { name } => format!("install {name}"),
            Self::Package(tool) => tool.describe(),
            Self::EnsureInstalled { names } => format!("make sure {} is installed", names.join(", ")),
            Self::Service { action: Action::Status, name } => format!("status of {name}"),
            Self::Service { action, name } => format!("{} {name}", action.word()),
            Self::UnitJournal { name, lines } => format!("read {lines} lines of the journal of {name}"),
            Self::UnitsReload {} => "let systemd read its units again".to_owned(),
            Self::Reboot { cancel: true, .. } => "cancel the reboot".to_owned(),
            Self::Reboot { delay_minutes, .. } => format!("reboot the host in {delay_minutes} min"),
            Self::EnsureRunning { name } => format!("make sure {name} is running"),
            Self::WriteFile { path, content } => written(path, content),
            Self::ApplyPatch { diff } => match parse(diff.as_bytes()) {
                Ok(files) => {
                    let paths: Vec<_> = files.into_iter().map(|file| file.path).collect();
                    format!("patch {}", paths.join(", "))
                }
                Err(_) => "apply a patch".to_owned(),
            },
            Self::ReadFile { path, .. } => format!("read {path}"),
            Self::SearchFiles { path, text, .. } => format!("look for {text:?} in {path}"),
            Self::SearchLogs { text, .. } => format!("look for {text:?} in the logs"),
            Self::SearchKnowledge { query } => format!("look for {query:?} in the knowledge base"),
            Self::Runbook { name, follow: None } => format!("look at the runbook {name}"),
            Self::Runbook { name, follow: Some(values) } => {
                let values = values.iter().map(|(key, value)| format!(" {key}={}", brief(value)));
                format!("follow the runbook {name}{}", values.collect::<String>())
            }
            Self::GetSystemInfo {} => "look at the host".to_owned(),
            Self::ListUnits { .. } => "list the units".to_owned(),
            Self::ListTimers {} => "list the timers".to_owned(),
            Self::ListProcesses { .. } => "list the processes".to_owned(),
            Self::GetNetwork {} => "look at the network".to_owned(),
            Self::ListDisks {} => "list the file systems".to_owned(),
            Self::ListPackages { .. } => "list the packages".to_owned(),
            Self::File(tool) => tool.describe(),
            Self::RunCommand { name, params } => {
                let values = params.iter().map(|(key, value)| format!(" {key}={}", brief(value)));
                format!("run {name}{}", values.collect::<String>())
            }
            Self::Undo { request_id } if request_id == "last" => "undo the last change".to_owned(),
            Self::Undo { request_id } => format!("undo {request_id}"),
            Self::Shell { cmd } => format!("run {}", postern_text::line(cmd)),
            Self::Request(request) => {
                format!("{} {}", request.verb(), request.target()).trim_end().to_owned()
            }
        }
    }
}

/// So much of a journal, where nobody says how much.
pub(crate) const LINES: u32 = 50;

fn lines() -> u32 {
    LINES
}

/// The kinds of units, as their suffixes.
const SUFFIXES: &[&str] = &[
    ".service",
    ".socket",
    ".timer",
    ".target",
    ".mount",
    ".automount",
    ".path",
    ".slice",
    ".scope",
    ".swap",
    ".device",
];

/// A unit's name with its suffix: without one it is a service.
#[must_use]
pub fn unit_name(name: &str) -> String {
    if SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
        name.to_owned()
    } else {
        format!("{name}.service")
    }
}
