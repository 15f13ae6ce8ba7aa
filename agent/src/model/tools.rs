//! The tools that a model is offered: names, schemas and checks from one list.
//!
//! The types are the source: serde reads the arguments by them, schemars writes the schema of prompt and
//! `response_format` from them. Nothing is coerced and no key is dropped: an argument that is not
//! understood may be a limit that the model relies on.

use crate::tool::Action;
use schemars::{JsonSchema, Schema};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::num::NonZeroU32;

/// One tool.
#[derive(Debug)]
pub struct Tool {
    /// Its name, as the model has to write it.
    pub name: &'static str,
    about: &'static str,
    schema: fn() -> Schema,
    check: fn(Map<String, Value>) -> Result<Call, serde_json::Error>,
}

/// Why a name and arguments are no call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCall {
    /// There is no such tool.
    UnknownTool,
    /// The arguments are not the tool's; why.
    BadArgs(String),
}

macro_rules! tools {
    ($($(#[doc = $about:literal])+ $variant:ident($args:ident) = $name:literal;)+) => {
        /// A call whose arguments were checked.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(tag = "tool", content = "args")]
        pub enum Call {
            $($(#[doc = $about])+ #[serde(rename = $name)] $variant($args),)+
        }

        impl Call {
            /// The tool's name.
            #[must_use]
            pub fn tool(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }
        }

        /// All tools.
        pub const ALL: &[Tool] = &[$(Tool {
            name: $name,
            about: concat!($($about),+),
            schema: || schemars::schema_for!($args),
            check: |args| exactly(args).map(Call::$variant),
        },)+];
    };
}

tools! {
    /// Run a shell command without any privilege.
    Shell(Shell) = "shell";
    /// Look at a systemd unit or change its state.
    Service(Service) = "service";
    /// Install one Debian package.
    PkgInstall(PkgInstall) = "pkg_install";
    /// Make a file hold exactly this content.
    WriteFile(WriteFile) = "write_file";
    /// Read a file, or a part of it.
    ReadFile(ReadFile) = "read_file";
    /// Remove one Debian package, keep its configuration.
    PkgRemove(PkgRemove) = "pkg_remove";
    /// Remove a file.
    RemoveFile(RemoveFile) = "remove_file";
    /// Ask the person a question that only they can answer. Nobody may be there.
    AskPerson(AskPerson) = "ask_person";
    /// End the task: it is done, or cannot be done. Always the last call.
    Finish(Finish) = "finish";
}

/// The tools with the names that every agent of this kind has: what `postern model read` goes by.
pub const TOOLS: &[Tool] = ALL.split_at(5).0;

/// The tools of a task: those that the helper stands behind, and the end.
pub const TASK: &[Tool] = ALL.split_at(1).1;

macro_rules! arguments {
    ($($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)+ })+) => {
        $(#[doc = concat!("The arguments of ", stringify!($name), ".")]
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$attribute])* pub $field: $type,)+ })+
    };
}

arguments! {
    Shell {
        /// The command line.
        cmd: Text,
    }
    Service {
        /// What to do with the unit.
        #[serde(deserialize_with = "word")]
        action: Action,
        /// The unit; a name without suffix is a service.
        name: Text,
    }
    PkgInstall {
        /// The package, or `NAME=VERSION`.
        name: Text,
    }
    WriteFile {
        /// An absolute path.
        path: Text,
        /// The whole new content; may be empty.
        content: String,
    }
    PkgRemove {
        /// The package.
        name: Text,
    }
    RemoveFile {
        /// An absolute path.
        path: Text,
    }
    AskPerson {
        /// One question.
        question: Text,
    }
    Finish {
        /// What was done, and what was not and why, in a sentence or two.
        summary: Text,
    }
    ReadFile {
        /// An absolute path.
        path: Text,
        /// The first byte to read; negative counts from the end.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "i64")]
        offset: Option<i64>,
        /// The most bytes to read.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "NonZeroU32")]
        limit: Option<NonZeroU32>,
    }
}

/// Text that says something: not blank, and without the zero byte, which ends a name for the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Text(#[schemars(length(min = 1))] String);

impl Text {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.trim().is_empty() {
            return Err(D::Error::custom("a text is blank"));
        }
        if text.contains('\0') {
            return Err(D::Error::custom("a text holds a zero byte"));
        }
        Ok(Self(text))
    }
}

/// A word of a fixed set. By way of a string: serde itself would take `{"stop": null}` for it as well.
fn word<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let word = String::deserialize(deserializer)?;
    T::deserialize(Value::String(word)).map_err(D::Error::custom)
}

/// A member that may be absent, but not null.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn exactly<T: DeserializeOwned>(args: Map<String, Value>) -> Result<T, serde_json::Error> {
    T::deserialize(Value::Object(args))
}

impl Finish {
    /// The model's words.
    #[must_use]
    pub fn summary(&self) -> &str {
        self.summary.as_str()
    }
}

impl AskPerson {
    /// The model's words.
    #[must_use]
    pub fn question(&self) -> &str {
        self.question.as_str()
    }
}

impl Call {
    /// It changes the host.
    #[must_use]
    pub fn is_effect(&self) -> bool {
        match self {
            Self::Service(service) => service.action != Action::Status,
            Self::Shell(_)
            | Self::PkgInstall(_)
            | Self::WriteFile(_)
            | Self::PkgRemove(_)
            | Self::RemoveFile(_) => true,
            Self::ReadFile(_) | Self::AskPerson(_) | Self::Finish(_) => false,
        }
    }
}

impl Tool {
    /// What it does, in one sentence for the model.
    #[must_use]
    pub fn about(&self) -> &'static str {
        self.about.trim()
    }

    /// The JSON Schema of its arguments.
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut schema = (self.schema)();
        // For people who collect schemas; a model has no use for them.
        schema.remove("$schema");
        schema.remove("title");
        schema.remove("description");
        schema.to_value()
    }
}

/// Makes a call of a name and arguments.
///
/// # Errors
/// The tool is not among `tools`, or the arguments are not exactly its own.
pub fn check(tools: &[Tool], name: &str, args: Map<String, Value>) -> Result<Call, NoCall> {
    let tool = tools.iter().find(|tool| tool.name == name).ok_or(NoCall::UnknownTool)?;
    (tool.check)(args).map_err(|error| NoCall::BadArgs(error.to_string()))
}
