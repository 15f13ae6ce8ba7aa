//! A plan of commands and typed calls.

use crate::protocol::tool::{Action, Tool};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Steps, and what is looked at before and after them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandPlan {
    /// What will be so at the end.
    pub goal: String,
    /// The steps, in their order; each is run only if the ones before it went well.
    #[schemars(length(min = 1, max = 50))]
    pub commands: Vec<Step>,
    /// What could go wrong.
    #[serde(default)]
    pub risk_summary: String,
    /// What must be so before the first step; they change nothing.
    #[serde(default)]
    #[schemars(length(max = 50))]
    pub preflight_checks: Vec<Check>,
    /// What must be so after the last step; they change nothing.
    #[serde(default)]
    #[schemars(length(max = 50))]
    pub verification_commands: Vec<Check>,
    /// What takes the steps back, in their order; run only if the person says yes.
    #[serde(default)]
    #[schemars(length(max = 50))]
    pub rollback_commands: Vec<Check>,
    /// Some of it needs root. Who decides about that is the policy.
    #[serde(default)]
    pub requires_root: bool,
    /// What else will be different.
    #[serde(default)]
    pub expected_side_effects: Vec<String>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Step {
    /// A program with its arguments.
    Command(PlannedCommand),
    /// A typed call, as in a task: what `apt-get` and `systemctl` would do has a tool.
    Call(PlannedCall),
}

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedCommand {
    /// Plain words and quotes: no shell reads them, so that operators, variables and patterns are refused.
    #[schemars(length(min = 1, max = 2048))]
    pub command: String,
    /// What it is for.
    pub purpose: String,
    /// It changes nothing.
    pub read_only: bool,
    /// Always this host: empty, or "localhost".
    #[serde(default)]
    pub target_hosts: Vec<String>,
    /// Always false: a step has ended before the next one begins.
    #[serde(default)]
    pub background: bool,
    /// After so many seconds it is killed.
    #[serde(default = "thirty")]
    #[schemars(range(min = 1, max = 86_400))]
    pub timeout_seconds: u32,
    /// The exit codes that mean success; only 0 for what changes something.
    #[serde(default = "zero")]
    #[schemars(length(min = 1))]
    pub acceptable_exit_codes: Vec<u8>,
}

/// A typed call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedCall {
    /// The tool with its arguments.
    #[serde(flatten)]
    pub tool: Tool,
    /// Its purpose.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub purpose: String,
}

/// Something that is looked at, or done to take a step back. In JSON a command is a text, or an object with
/// `command` alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Check {
    /// A program with its arguments; exit code 0 is good.
    Command(String),
    /// A typed call.
    Call(Expected),
}

/// A typed call, and what its result must say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// The tool with its arguments.
    #[serde(flatten)]
    pub tool: Tool,
    /// Words that the result must hold; without them, the state of a unit must be active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
}

fn thirty() -> u32 {
    30
}

fn zero() -> Vec<u8> {
    vec![0]
}

/// A tool and its arguments out of an object that may hold one member more.
fn call<E: Error>(mut members: Map<String, Value>, besides: &str) -> Result<(Tool, Option<String>), E> {
    let more = match members.remove(besides) {
        None => None,
        Some(Value::String(text)) => Some(text),
        Some(_) => return Err(E::custom(format!("{besides} is no text"))),
    };
    // Past here an unknown member is an error, and so is an argument that the tool does not have.
    let tool = Tool::deserialize(Value::Object(members)).map_err(E::custom)?;
    Ok((tool, more))
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = Map::deserialize(deserializer)?;
        if members.contains_key("tool") {
            let (tool, purpose) = call(members, "purpose")?;
            return Ok(Self::Call(PlannedCall { tool, purpose: purpose.unwrap_or_default() }));
        }
        PlannedCommand::deserialize(Value::Object(members)).map(Self::Command).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Check {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = match Value::deserialize(deserializer)? {
            Value::String(text) => return Ok(Self::Command(text)),
            Value::Object(members) => members,
            _ => return Err(D::Error::custom("a check is a command's text or a call")),
        };
        if members.len() == 1
            && let Some(Value::String(text)) = members.remove("command")
        {
            return Ok(Self::Command(text));
        }
        let (tool, expect) = call(members, "expect")?;
        Ok(Self::Call(Expected { tool, expect }))
    }
}

impl<'de> Deserialize<'de> for Expected {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (tool, expect) = call(Map::deserialize(deserializer)?, "expect")?;
        Ok(Self { tool, expect })
    }
}

impl Step {
    /// Returns its identity without the purpose: two steps with the same key do the same.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Command(command) => command.command.clone(),
            Self::Call(call) => Self::key_of(&call.tool),
        }
    }

    /// The same of a step that was taken.
    #[must_use]
    pub fn key_of(tool: &Tool) -> String {
        match tool {
            Tool::Shell { cmd } => cmd.clone(),
            other => json!(other).to_string(),
        }
    }
}

impl Check {
    /// Describes it for people.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Command(command) => format!("`{command}`"),
            Self::Call(call) => call.tool.describe(),
        }
    }
}

/// No argument of a tool is a number that could differ from itself.
impl Eq for Expected {}

impl Expected {
    /// Checks a result against the expected text.
    ///
    /// # Errors
    /// The missing text.
    pub fn met_by(&self, found: &str) -> Result<(), String> {
        let asks_state = matches!(&self.tool, Tool::Service { action: Action::Status, .. });
        let wanted = match &self.expect {
            Some(words) => words.as_str(),
            None if asks_state => "active",
            None => return Ok(()),
        };
        if holds(found, wanted) { Ok(()) } else { Err(format!("the result does not say {wanted:?}")) }
    }
}

/// Whether the words stand in a text, not as a part of other words: "active" is not in "inactive".
fn holds(text: &str, words: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(words).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        let goes_on = is_word(before) && is_word(words.chars().next());
        let is_cut = is_word(after) && is_word(words.chars().next_back());
        !goes_on && !is_cut
    })
}

impl JsonSchema for Step {
    fn schema_name() -> Cow<'static, str> {
        "Step".into()
    }

    /// Either form. Which calls there are is known where tools are offered.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}

impl JsonSchema for Check {
    fn schema_name() -> Cow<'static, str> {
        "Check".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let about = "A command in plain words and quotes; exit code 0 is good.";
        let command = json!({ "type": "string", "minLength": 1, "description": about });
        json_schema!({ "anyOf": [command, generator.subschema_for::<Expected>()] })
    }
}

impl JsonSchema for Expected {
    fn schema_name() -> Cow<'static, str> {
        "Expected".into()
    }

    /// The arguments are those that the tool has where it is offered: the same schemas again would be a third of a prompt.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "tool": { "type": "string" },
                "args": { "type": "object", "description": "As of that tool." },
                "expect": { "type": "string", "description": "Words that the result must hold." },
            },
            "required": ["tool", "args"],
            "additionalProperties": false,
        })
    }
}
