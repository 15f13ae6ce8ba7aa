//! A plan, as it is written down.

use super::command::{CommandPlan, Step};
use super::patch::FilePatchPlan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

impl Plan {
    /// Its steps: of a diff the diff, and then the modes.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        match self {
            Self::CommandPlan(plan) => plan.commands.clone(),
            Self::FilePatch(plan) => plan.steps(),
            Self::DirectAnswer(_) | Self::NoChange(_) | Self::UserInput(_) => Vec::new(),
        }
    }

    /// Returns its goal, one line.
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
