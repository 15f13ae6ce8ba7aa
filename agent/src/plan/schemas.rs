//! The JSON Schemas of steps and checks: those of the tools, with what a plan says besides.

use super::command::{Check, Expected, PlannedCommand, Step};
use crate::model::tools::{self, Tool as Offered};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use std::borrow::Cow;

/// The tools that a plan's call can be of.
const STEPS: &[Offered] = &[
    Offered::of::<tools::Service>(),
    Offered::of::<tools::PkgInstall>(),
    Offered::of::<tools::Package>(),
    Offered::of::<tools::WriteFile>(),
    Offered::of::<tools::ApplyPatch>(),
    Offered::of::<tools::File>(),
    Offered::of::<tools::UnitsReload>(),
    Offered::of::<tools::RunCommand>(),
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
