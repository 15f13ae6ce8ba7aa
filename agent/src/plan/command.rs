//! A plan of commands and typed calls.

use super::{Code, Meaning, Unfit, argv, unfit};
use crate::model::tools::{self, Tool as Offered};
use crate::shell::{Level, Rules};
use crate::task::request;
use crate::tool::{Action, Tool, UnitAction};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The longest that one command may take, in seconds: a day.
const LONGEST: u32 = 86_400;
/// Steps or checks of one list.
const MOST: usize = 50;

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
    /// What it is for.
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

/// The tools that a plan's call can be of.
const STEPS: &[Offered] = &[
    Offered::of::<tools::Service>(),
    Offered::of::<tools::PkgInstall>(),
    Offered::of::<tools::PkgRemove>(),
    Offered::of::<tools::WriteFile>(),
    Offered::of::<tools::ApplyPatch>(),
    Offered::of::<tools::RemoveFile>(),
    Offered::of::<tools::RunCommand>(),
];

/// Those of them that change nothing.
const LOOKS: &[Offered] = &[
    Offered::of::<tools::Service>(),
    Offered::of::<tools::ReadFile>(),
    Offered::of::<tools::ListDir>(),
    Offered::of::<tools::PkgShow>(),
    Offered::of::<tools::UnitJournal>(),
];

impl JsonSchema for Step {
    fn schema_name() -> Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let command = generator.subschema_for::<PlannedCommand>().to_value();
        any([command].into_iter().chain(calls(STEPS, "purpose", "What it is for.")))
    }
}

impl JsonSchema for Check {
    fn schema_name() -> Cow<'static, str> {
        "Check".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let about = "A command in plain words and quotes; exit code 0 is good.";
        let command = json!({ "type": "string", "minLength": 1, "description": about });
        any([command, generator.subschema_for::<Expected>().to_value()])
    }
}

impl JsonSchema for Expected {
    fn schema_name() -> Cow<'static, str> {
        "Expected".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        any(calls(LOOKS, "expect", "Words that the result must hold."))
    }
}

fn any(schemas: impl IntoIterator<Item = Value>) -> Schema {
    let any: Vec<Value> = schemas.into_iter().collect();
    Schema::try_from(json!({ "anyOf": any })).unwrap_or_default()
}

/// The schemas of typed calls, with one member more.
fn calls<'t>(tools: &'t [Offered], besides: &'t str, about: &'t str) -> impl Iterator<Item = Value> + 't {
    tools.iter().map(move |tool| {
        json!({
            "type": "object",
            "properties": {
                "tool": { "type": "string", "const": tool.name },
                "args": tool.schema(),
                besides: { "type": "string", "description": about },
            },
            "required": ["tool", "args"],
            "additionalProperties": false,
        })
    })
}

impl Step {
    /// What it is, apart from what it is for: two steps with the same key do the same.
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

    /// It makes something that runs take in what is new, such as a restart.
    #[must_use]
    pub fn takes_effect_again(&self) -> bool {
        match self {
            Self::Call(call) => matches!(
                call.tool,
                Tool::Service { action: Action::Restart | Action::Reload, .. }
                    | Tool::Unit { action: UnitAction::TryRestart, .. }
                    | Tool::UnitsReload {}
            ),
            Self::Command(command) => {
                let words = argv::split(&command.command).unwrap_or_default();
                let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
                has(&["systemctl", "service"]) && has(&["restart", "reload", "try-restart", "daemon-reload"])
            }
        }
    }
}

impl Check {
    /// What it is in words.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Command(command) => format!("`{command}`"),
            Self::Call(call) => call.tool.describe(),
        }
    }
}

impl CommandPlan {
    /// Whether it can be carried out as it says.
    pub(super) fn check(&self) -> Result<(), Unfit> {
        if self.commands.is_empty() {
            return Err(unfit(Code::EmptyCommands, "the plan has no commands"));
        }
        let checks = [&self.preflight_checks, &self.verification_commands, &self.rollback_commands];
        if self.commands.len() > MOST || checks.iter().any(|list| list.len() > MOST) {
            return Err(unfit(Code::InvalidSchema, format!("more than {MOST} of one kind are no plan")));
        }
        for (step, number) in self.commands.iter().zip(1..) {
            step.check().map_err(|why| why.of(&format!("command {number}")))?;
        }
        for (check, number) in self.rollback_commands.iter().zip(1..) {
            check.is_safe().map_err(|why| why.of(&format!("rollback command {number}")))?;
        }
        only_look("preflight check", &self.preflight_checks)?;
        only_look("verification", &self.verification_commands)
    }
}

/// Whether none of the checks changes anything.
pub(super) fn only_look(name: &str, checks: &[Check]) -> Result<(), Unfit> {
    for (check, number) in checks.iter().zip(1..) {
        check.only_looks().map_err(|why| why.of(&format!("{name} {number}")))?;
    }
    Ok(())
}

impl Step {
    fn check(&self) -> Result<(), Unfit> {
        let Self::Command(command) = self else { return Ok(()) };
        let invalid = |why: String| Err(unfit(Code::InvalidSchema, why));
        let meaning = judged(&command.command)?;
        if command.read_only && meaning.is_effect() {
            return invalid(format!("read_only is true, but {:?} would change something", command.command));
        }
        if let Some(host) = command.target_hosts.iter().find(|host| !is_here(host)) {
            return invalid(format!("target_hosts names {host:?}: this agent administers its own host only"));
        }
        if command.background {
            return invalid("background is true: a step has ended before the next one begins".into());
        }
        if !(1..=LONGEST).contains(&command.timeout_seconds) {
            return invalid(format!("timeout_seconds is not from 1 to {LONGEST}"));
        }
        let codes = &command.acceptable_exit_codes;
        let is_unique = codes.iter().enumerate().all(|(at, code)| !codes[..at].contains(code));
        if codes.is_empty() || !is_unique {
            return invalid("acceptable_exit_codes is empty or names a code twice".into());
        }
        if !command.read_only && codes != &[0] {
            return invalid("acceptable_exit_codes of what changes something is [0]".into());
        }
        Ok(())
    }
}

impl Check {
    fn is_safe(&self) -> Result<(), Unfit> {
        match self {
            Self::Command(command) => judged(command).map(drop),
            Self::Call(_) => Ok(()),
        }
    }

    /// A check that changes something would be a step.
    fn only_looks(&self) -> Result<(), Unfit> {
        match self {
            Self::Command(command) if judged(command)?.is_effect() => {
                Err(unfit(Code::InvalidSchema, format!("a check changes nothing, but {command:?} would")))
            }
            Self::Call(call) if changes(&call.tool) => Err(unfit(
                Code::InvalidSchema,
                format!("a check changes nothing, but to {} does", call.tool.describe()),
            )),
            Self::Command(_) | Self::Call(_) => Ok(()),
        }
    }
}

/// A command is plain words, and none that is never run.
fn judged(command: &str) -> Result<Meaning, Unfit> {
    let meaning = Meaning::of(command).map_err(|why| unfit(Code::ArgvUnsafe, why))?;
    let blocked = |why: &str| Err(unfit(Code::Blocked, format!("{command:?} is never run: {why}")));
    let decision = match Rules::builtin() {
        Ok(rules) => rules.judge(command),
        Err(why) => return blocked(why),
    };
    match &meaning {
        _ if decision.effective() == Level::Block => blocked(decision.reason()),
        Meaning::Nothing(why) => blocked(why),
        Meaning::Requests(_) | Meaning::Program => Ok(meaning),
    }
}

/// Whether a tool may change the host.
#[must_use]
pub fn changes(tool: &Tool) -> bool {
    match tool {
        Tool::Shell { .. } => true,
        // What asks the helper for nothing only looks.
        other => request(other).is_some_and(|request| request.is_effect()),
    }
}

fn is_here(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1")
        || std::fs::read_to_string("/proc/sys/kernel/hostname").is_ok_and(|name| name.trim_end() == host)
}

/// No argument of a tool is a number that could differ from itself.
impl Eq for Expected {}

impl Expected {
    /// Whether a result is what was expected; else what it lacks.
    ///
    /// # Errors
    /// What the result does not say.
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
