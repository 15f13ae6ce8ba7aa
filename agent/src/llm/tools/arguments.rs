//! The arguments of each tool, as a model has to give them: exact sets of keys, nothing coerced.

use crate::protocol::plan::Expected;
pub use crate::protocol::tool::{FileTool as File, PackageTool as Package};

use crate::protocol::tool::{Action, LINES, families};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

macro_rules! arguments {
    ($($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)* })+) => {
        $(#[doc = concat!("The arguments of ", stringify!($name), ".")]
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$attribute])* pub $field: $type,)* })+
    };
}

arguments! {
    Shell {
        /// The command line.
        #[schemars(description = "-")]
        cmd: Text,
    }
    Service {
        /// What.
        #[schemars(description = "-")]
        #[serde(deserialize_with = "word")]
        action: Action,
        /// The unit; without suffix a service.
        name: Text,
    }
    PkgInstall {
        /// `NAME` or `NAME=VERSION`.
        name: Text,
    }
    WriteFile {
        /// An absolute path.
        path: Text,
        /// The whole new content.
        content: String,
    }
    UnitJournal {
        /// The unit.
        name: Text,
        /// The most lines.
        #[schemars(description = "-")]
        #[serde(default = "lines")]
        lines: NonZeroU32,
    }
    UnitsReload {}
    Reboot {
        /// Minutes from now, at least 1; people who are logged in are warned.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "NonZeroU32")]
        delay_minutes: Option<NonZeroU32>,
        /// Cancel your own reboot that is scheduled.
        #[serde(default)]
        cancel: bool,
    }
    ApplyPatch {
        /// A unified diff with absolute paths.
        diff: Text,
    }
    RunCommand {
        /// Its name there.
        name: Text,
        /// Its parameters by name.
        #[serde(default)]
        params: BTreeMap<String, String>,
    }
    Undo {
        /// The change's undo id, or `last`.
        #[serde(default = "last")]
        request_id: Text,
    }
    SearchFiles {
        /// A file or directory.
        path: Text,
        /// What to find, literally.
        text: Text,
        /// The most matches.
        #[schemars(description = "-")]
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "NonZeroU32")]
        max_matches: Option<NonZeroU32>,
    }
    SearchLogs {
        /// What to find, literally.
        text: Text,
        /// The most matches.
        #[schemars(description = "-")]
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "NonZeroU32")]
        max_matches: Option<NonZeroU32>,
    }
    SearchKnowledge {
        /// Words to look for.
        #[schemars(description = "-")]
        query: Text,
    }
    Runbook {
        /// Its name.
        #[schemars(description = "-")]
        name: Text,
        /// Values by name, to follow it; absent: only look.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "BTreeMap<String, String>")]
        follow: Option<BTreeMap<String, String>>,
    }
    GetSystemInfo {}
    ListUnits {
        /// A part of the name.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Text")]
        contains: Option<Text>,
        /// Such as failed, running, enabled or masked.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Text")]
        state: Option<Text>,
    }
    ListTimers {}
    ListProcesses {
        /// A part of the command or unit.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Text")]
        contains: Option<Text>,
    }
    GetNetwork {}
    ListDisks {}
    ListPackages {
        /// A part of the name.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Text")]
        contains: Option<Text>,
    }
    AskPerson {
        /// One question.
        #[schemars(description = "-")]
        question: Text,
    }
    Finish {
        /// How it ended.
        #[schemars(description = "-")]
        #[serde(deserialize_with = "word")]
        outcome: FinishOutcome,
        /// What was done, what was not, and why.
        summary: Text,
        /// For a person.
        #[schemars(description = "-")]
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        look_at: Vec<Text>,
        /// Looks that show it; made first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        verify: Vec<Expected>,
    }
    Checkpoint {
        /// What the person is told of how far the task is.
        response: Text,
        /// What was tried and what came of it, in a few sentences.
        log_summary: Text,
        /// What is done, each with the path, package or unit that it is about. Results must prove it.
        progress: Vec<Text>,
        /// What is left to do, in plain words; empty if nothing is.
        remaining: String,
        /// What was tried and failed.
        failed_approaches: Vec<Text>,
    }
    MakePlan {
        /// The plan.
        #[schemars(schema_with = "super::plan_schema::plan_schema")]
        plan: Value,
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

/// Flat, although each action has arguments of its own: that is what endpoints take and models understand best.
impl JsonSchema for Package {
    fn schema_name() -> Cow<'static, str> {
        "Package".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": Self::ACTIONS },
                "names": { "type": "array", "items": { "type": "string", "minLength": 1 },
                    "description": "To install also NAME=VERSION; none to upgrade all." },
            },
            "required": ["action"],
            "additionalProperties": false,
        })
    }
}

impl JsonSchema for File {
    fn schema_name() -> Cow<'static, str> {
        "File".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": Self::ACTIONS },
                "path": { "type": "string", "minLength": 1, "description": "An absolute path." },
                "content": { "type": "string", "description": "To write." },
                "mode": { "type": "string", "description": "Octal." },
                "owner": { "type": "string",
                    "description": "USER, USER:GROUP or :GROUP." },
            },
            "required": ["action", "path"],
            "additionalProperties": false,
        })
    }
}

/// How a task ended, as a model says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishOutcome {
    /// All that was wanted is done.
    Done,
    /// Some of it is.
    Partly,
    /// None of it is.
    NotDone,
    /// It was a question, and the summary answers it.
    Answered,
    /// A person has to look at it or decide.
    NeedsPerson,
}

/// Text that says something: not blank, and without the zero byte, which ends a name for the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(description = "-")]
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
        families::text(deserializer).map(Self)
    }
}

fn lines() -> NonZeroU32 {
    const { NonZeroU32::new(LINES).unwrap() }
}

fn last() -> Text {
    Text("last".to_owned())
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

impl AskPerson {
    /// The model's words.
    #[must_use]
    pub fn question(&self) -> &str {
        self.question.as_str()
    }
}

impl Finish {
    /// The model's words.
    #[must_use]
    pub fn summary(&self) -> &str {
        self.summary.as_str()
    }

    /// Things for a person to look at.
    #[must_use]
    pub fn look_at(&self) -> Vec<String> {
        self.look_at.iter().map(|what| what.as_str().to_owned()).collect()
    }
}
