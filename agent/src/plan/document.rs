//! A plan as a document: one JSON object, taken whole or not at all.

use super::command::{CommandPlan, PlannedCall, Step};
use super::fit::changes;
use super::patch::FilePatchPlan;
use super::unfit::{Code, Unfit, unfit};
use crate::model::reader;
use crate::model::tools::whole;
use crate::tool::Tool;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "plan_type", rename_all = "snake_case")]
pub enum Plan {
    /// Steps, with checks around them.
    CommandPlan(CommandPlan),
    /// Changes of files.
    FilePatch(FilePatchPlan),
    /// Nothing is to be done: this is the answer.
    DirectAnswer(DirectAnswer),
    /// Nothing is to be done: it is so already.
    NoChange(NoChange),
    /// Something must be known first that only the person knows.
    UserInput(UserInput),
}

/// An answer in place of steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectAnswer {
    /// The answer.
    #[schemars(length(min = 1))]
    pub answer: String,
}

/// It is so already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoChange {
    /// What was seen that says so.
    #[schemars(length(min = 1))]
    pub evidence: Vec<String>,
}

/// A question to the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserInput {
    /// What has to be known.
    #[schemars(length(min = 1))]
    pub question: String,
}

const TYPES: &[&str] = &["command_plan", "file_patch", "direct_answer", "no_change", "user_input"];

impl Plan {
    /// Reads a plan from a file's text.
    ///
    /// # Errors
    /// What is wrong with it first.
    pub fn read(text: &str) -> Result<Self, Unfit> {
        let value = reader::strict(text).map_err(|why| unfit(Code::InvalidJson, why))?;
        Self::of(value)
    }

    /// Takes a value for a plan.
    ///
    /// # Errors
    /// What is wrong with it first.
    pub fn of(value: Value) -> Result<Self, Unfit> {
        let shape = |why: String| unfit(Code::InvalidShape, why);
        let Value::Object(members) = &value else { return Err(shape("a plan is a JSON object".into())) };
        let known = TYPES.join(", ");
        match members.get("plan_type").and_then(Value::as_str) {
            None => return Err(shape(format!("plan_type is missing; it is one of {known}"))),
            Some(name) if !TYPES.contains(&name) => {
                return Err(shape(format!("there is no plan_type {name:?}; it is one of {known}")));
            }
            Some("command_plan") if members.get("commands").is_some_and(|list| *list == json!([])) => {
                return Err(unfit(Code::EmptyCommands, "the plan has no commands"));
            }
            Some(_) => {}
        }
        let plan: Self =
            serde_json::from_value(value).map_err(|error| unfit(Code::InvalidSchema, error.to_string()))?;
        plan.check()?;
        Ok(plan)
    }

    /// The plan of steps that are known already.
    #[must_use]
    pub fn of_steps(goal: &str, steps: Vec<Tool>) -> Self {
        let requires_root = steps.iter().any(changes);
        let step = |tool: Tool| Step::Call(PlannedCall { purpose: tool.describe(), tool });
        Self::CommandPlan(CommandPlan {
            goal: goal.to_owned(),
            commands: steps.into_iter().map(step).collect(),
            risk_summary: String::new(),
            preflight_checks: Vec::new(),
            verification_commands: Vec::new(),
            rollback_commands: Vec::new(),
            requires_root,
            expected_side_effects: Vec::new(),
        })
    }

    /// Its steps: of a diff the diff, and then the modes.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        match self {
            Self::CommandPlan(plan) => plan.commands.clone(),
            Self::FilePatch(plan) => plan.steps(),
            Self::DirectAnswer(_) | Self::NoChange(_) | Self::UserInput(_) => Vec::new(),
        }
    }

    fn check(&self) -> Result<(), Unfit> {
        let says = |text: &String| !text.trim().is_empty();
        let is_said = match self {
            Self::CommandPlan(plan) => return plan.check(),
            Self::FilePatch(plan) => return plan.check(),
            Self::DirectAnswer(answer) => says(&answer.answer),
            Self::NoChange(same) => !same.evidence.is_empty() && same.evidence.iter().all(says),
            Self::UserInput(input) => says(&input.question),
        };
        if is_said { Ok(()) } else { Err(unfit(Code::InvalidSchema, "a text of the plan is blank")) }
    }

    /// What it is for, in a line.
    #[must_use]
    pub fn goal(&self) -> &str {
        match self {
            Self::CommandPlan(plan) => &plan.goal,
            Self::FilePatch(plan) => &plan.goal,
            Self::DirectAnswer(answer) => &answer.answer,
            Self::NoChange(_) => "no change is needed",
            Self::UserInput(input) => &input.question,
        }
    }
}

/// The JSON Schema of a plan.
#[must_use]
pub fn schema(_: &mut SchemaGenerator) -> Schema {
    let mut schema = whole::<Plan>();
    for name in ["$schema", "title"] {
        schema.remove(name);
    }
    schema
}
