//! A plan as a document: one JSON object, taken whole or not at all.

use super::fit::changes;
use crate::protocol::plan::{Code, CommandPlan, Plan, PlannedCall, Step, Unfit, unfit};
use crate::protocol::tool::Tool;
use serde_json::{Value, json};

const TYPES: &[&str] = &["command_plan", "file_patch", "direct_answer", "no_change", "user_input"];

impl Plan {
    /// Parses a plan.
    ///
    /// # Errors
    /// The first fault.
    pub fn of(value: Value) -> Result<Self, Unfit> {
        let shape = |why: String| unfit(Code::InvalidShape, why);
        let Value::Object(members) = &value else { return Err(shape("a plan is a JSON object".into())) };
        let known = TYPES.join(", ");
        match members.get("plan_type").and_then(Value::as_str) {
            None => return Err(shape(format!("plan_type is missing; it is one of {known}"))),
            Some(name) if !TYPES.contains(&name) => {
                return Err(shape(postern_text::unknown("plan_type", name, TYPES.iter().copied())));
            }
            Some("command_plan") if members.get("commands").is_some_and(|list| *list == json!([])) => {
                return Err(unfit(Code::EmptyCommands, "the plan has no commands"));
            }
            Some(_) => {}
        }
        let plan: Self = serde_json::from_value(value)
            .map_err(|error| unfit(Code::InvalidSchema, postern_text::with_nearest(&error.to_string())))?;
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
}
