//! What a step of a task can be, and what it says of itself to people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One tool with its arguments: `{"tool": …, "args": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tool", content = "args", rename_all = "snake_case", deny_unknown_fields)]
pub enum Tool {
    /// Install one package (`NAME` or `NAME=VERSION`).
    PkgInstall {
        /// The package.
        name: String,
    },
    /// Install several packages in one transaction.
    PackagesInstall {
        /// The packages.
        names: Vec<String>,
    },
    /// Remove packages, keep their configuration.
    PackagesRemove {
        /// The packages.
        names: Vec<String>,
    },
    /// Remove packages and their configuration.
    PackagesPurge {
        /// The packages.
        names: Vec<String>,
    },
    /// Refresh the package lists.
    PackagesUpdate {},
    /// Bring packages to their newest version; no names = all.
    PackagesUpgrade {
        /// The packages.
        names: Vec<String>,
    },
    /// Look at packages.
    PackagesShow {
        /// The packages.
        names: Vec<String>,
    },
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
    /// Read a file.
    ReadFile {
        /// An absolute path.
        path: String,
    },
    /// Remove a file.
    RemoveFile {
        /// An absolute path.
        path: String,
    },
}

/// What is done with a unit.
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
        }
    }
}

impl Tool {
    /// The step in words, without the content of files: this is also what the audit gets as reason.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::PkgInstall { name } => format!("install {name}"),
            Self::PackagesInstall { names } => format!("install {}", names.join(", ")),
            Self::PackagesRemove { names } => format!("remove {}", names.join(", ")),
            Self::PackagesPurge { names } => format!("purge {}", names.join(", ")),
            Self::PackagesUpdate {} => "update the package lists".to_owned(),
            Self::PackagesUpgrade { names } if names.is_empty() => "upgrade all packages".to_owned(),
            Self::PackagesUpgrade { names } => format!("upgrade {}", names.join(", ")),
            Self::PackagesShow { names } => format!("show the packages {}", names.join(", ")),
            Self::EnsureInstalled { names } => format!("make sure {} is installed", names.join(", ")),
            Self::Service { action: Action::Status, name } => format!("status of {name}"),
            Self::Service { action, name } => format!("{} {name}", action.word()),
            Self::EnsureRunning { name } => format!("make sure {name} is running"),
            Self::WriteFile { path, content } => format!("write {} bytes to {path}", content.len()),
            Self::ReadFile { path } => format!("read {path}"),
            Self::RemoveFile { path } => format!("remove {path}"),
        }
    }
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
