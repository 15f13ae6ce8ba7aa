//! The JSON Schema of a plan: its typed calls are those of the tools that are offered.

use super::arguments::{
    ApplyPatch, File, Package, PkgInstall, Reboot, RunCommand, Service, UnitsReload, WriteFile,
};
use super::registry::{Tool, whole};
use crate::protocol::plan::{Plan, PlannedCommand};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

/// The tools that a plan's call can be of.
const STEPS: &[Tool] = &[
    Tool::of::<Service>(),
    Tool::of::<PkgInstall>(),
    Tool::of::<Package>(),
    Tool::of::<WriteFile>(),
    Tool::of::<ApplyPatch>(),
    Tool::of::<File>(),
    Tool::of::<UnitsReload>(),
    Tool::of::<Reboot>(),
    Tool::of::<RunCommand>(),
];

/// The JSON Schema of a plan.
#[must_use]
pub fn plan_schema(_: &mut SchemaGenerator) -> Schema {
    let mut schema = bare::<Plan>();
    let command = bare::<PlannedCommand>().to_value();
    let steps: Vec<Value> = [command].into_iter().chain(calls()).collect();
    for kind in schema.pointer_mut("/oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(step) = kind.pointer_mut("/properties/commands/items") {
            *step = json!({ "anyOf": steps });
        }
    }
    schema
}

fn bare<T: schemars::JsonSchema>() -> Schema {
    let mut schema = whole::<T>();
    for name in ["$schema", "title"] {
        schema.remove(name);
    }
    schema
}

/// The schemas of typed calls, each with what it is for.
fn calls() -> impl Iterator<Item = Value> {
    STEPS.iter().map(|tool| {
        json!({
            "type": "object",
            "properties": {
                "tool": { "type": "string", "const": tool.name },
                "args": tool.schema(),
                "purpose": { "type": "string", "description": "What it is for." },
            },
            "required": ["tool", "args"],
            "additionalProperties": false,
        })
    })
}
