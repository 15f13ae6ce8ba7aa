//! Tools with a closed set of actions: all that can be done with packages, and with files.
//!
//! Each action has exactly the arguments that it needs: what does not belong to it is an error, not left out.

use super::words::written;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// A call about packages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum PackageTool {
    /// Install them in one transaction.
    Install {
        /// `NAME` or `NAME=VERSION` each.
        #[serde(deserialize_with = "some_texts")]
        names: Vec<String>,
    },
    /// Remove them, keep their configuration.
    Remove {
        /// The packages.
        #[serde(deserialize_with = "some_texts")]
        names: Vec<String>,
    },
    /// Remove them and their configuration.
    Purge {
        /// The packages.
        #[serde(deserialize_with = "some_texts")]
        names: Vec<String>,
    },
    /// Remove packages that nothing needs any more.
    Autoremove {},
    /// Refresh the package lists.
    Update {},
    /// Bring them to their newest version.
    Upgrade {
        /// The packages; none = all.
        #[serde(default, deserialize_with = "texts")]
        names: Vec<String>,
    },
    /// Keep them at their version.
    Hold {
        /// The packages.
        #[serde(deserialize_with = "some_texts")]
        names: Vec<String>,
    },
    /// Let them change again.
    Unhold {
        /// The packages.
        #[serde(deserialize_with = "some_texts")]
        names: Vec<String>,
    },
    /// Finish what an interrupted transaction left behind.
    Repair {},
    /// Look at them.
    Show {
        /// The packages.
        #[serde(deserialize_with = "some_texts")]
        names: Vec<String>,
    },
    /// Look at what an upgrade of all packages would do.
    ListUpgrades {},
}

/// A call about a file or directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum FileTool {
    /// Make a file hold a content, with this mode and owner.
    Write {
        /// An absolute path.
        #[serde(deserialize_with = "text")]
        path: String,
        /// The whole content.
        content: String,
        /// Octal; the file's own, or the policy's for a new one, where it is absent.
        #[serde(default, deserialize_with = "text", skip_serializing_if = "String::is_empty")]
        mode: String,
        /// `USER`, `USER:GROUP` or `:GROUP`; likewise.
        #[serde(default, deserialize_with = "text", skip_serializing_if = "String::is_empty")]
        owner: String,
    },
    /// Make a directory.
    Mkdir {
        /// An absolute path.
        #[serde(deserialize_with = "text")]
        path: String,
        /// Octal; the policy's where it is absent.
        #[serde(default, deserialize_with = "text", skip_serializing_if = "String::is_empty")]
        mode: String,
        /// `USER`, `USER:GROUP` or `:GROUP`; likewise.
        #[serde(default, deserialize_with = "text", skip_serializing_if = "String::is_empty")]
        owner: String,
    },
    /// Set the mode.
    SetMode {
        /// An absolute path.
        #[serde(deserialize_with = "text")]
        path: String,
        /// Octal, such as 0644.
        #[serde(deserialize_with = "text")]
        mode: String,
    },
    /// Set the owner.
    SetOwner {
        /// An absolute path.
        #[serde(deserialize_with = "text")]
        path: String,
        /// `USER`, `USER:GROUP` or `:GROUP`.
        #[serde(deserialize_with = "text")]
        owner: String,
    },
    /// Remove a file.
    Remove {
        /// An absolute path.
        #[serde(deserialize_with = "text")]
        path: String,
    },
    /// List a directory.
    List {
        /// An absolute path.
        #[serde(deserialize_with = "text")]
        path: String,
    },
}

impl PackageTool {
    /// The actions, as they are written.
    pub const ACTIONS: &'static [&'static str] = &[
        "install",
        "remove",
        "purge",
        "autoremove",
        "update",
        "upgrade",
        "hold",
        "unhold",
        "repair",
        "show",
        "list_upgrades",
    ];

    /// Whether it changes the host.
    #[must_use]
    pub fn is_effect(&self) -> bool {
        !matches!(self, Self::Show { .. } | Self::ListUpgrades {})
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Install { names } => format!("install {}", names.join(", ")),
            Self::Remove { names } => format!("remove {}", names.join(", ")),
            Self::Purge { names } => format!("purge {}", names.join(", ")),
            Self::Autoremove {} => "remove the packages that nothing needs any more".to_owned(),
            Self::Update {} => "update the package lists".to_owned(),
            Self::Upgrade { names } if names.is_empty() => "upgrade all packages".to_owned(),
            Self::Upgrade { names } => format!("upgrade {}", names.join(", ")),
            Self::Hold { names } => format!("hold {}", names.join(", ")),
            Self::Unhold { names } => format!("unhold {}", names.join(", ")),
            Self::Repair {} => "repair the packages".to_owned(),
            Self::Show { names } => match names.as_slice() {
                [name] => format!("show the package {name}"),
                names => format!("show the packages {}", names.join(", ")),
            },
            Self::ListUpgrades {} => "list the upgrades".to_owned(),
        }
    }
}

impl FileTool {
    /// The actions, as they are written.
    pub const ACTIONS: &'static [&'static str] =
        &["write", "mkdir", "set_mode", "set_owner", "remove", "list"];

    /// Whether it changes the host.
    #[must_use]
    pub fn is_effect(&self) -> bool {
        !matches!(self, Self::List { .. })
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Write { path, content, .. } => written(path, content),
            Self::Mkdir { path, .. } => format!("make the directory {path}"),
            Self::SetMode { path, mode } => format!("set the mode of {path} to {mode}"),
            Self::SetOwner { path, owner } => format!("set the owner of {path} to {owner}"),
            Self::Remove { path } => format!("remove {path}"),
            Self::List { path } => format!("list {path}"),
        }
    }
}

/// A text that says something: not blank, and without the zero byte, which ends a name for the kernel.
///
/// # Errors
/// It says nothing, or holds a zero byte.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() {
        return Err(D::Error::custom("a text is blank"));
    }
    if text.contains('\0') {
        return Err(D::Error::custom("a text holds a zero byte"));
    }
    Ok(text)
}

#[derive(Deserialize)]
struct Text(#[serde(deserialize_with = "text")] String);

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Vec::<Text>::deserialize(deserializer)?.into_iter().map(|Text(text)| text).collect())
}

fn some_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts = texts(deserializer)?;
    if texts.is_empty() { Err(D::Error::custom("names is empty")) } else { Ok(texts) }
}
