//! The tools that a client is offered: a family each, with the actions that the policy grants and hints that are true of
//! those.

use super::answer::Answer;
use crate::llm::tools;
use crate::protocol::event::{Decision, Description, Grant};
use crate::render;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// The most that an action does to what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nature {
    /// Nothing.
    Reads,
    /// It adds, or brings back.
    Adds,
    /// It replaces, interrupts or removes.
    Replaces,
}

/// Effect of a second call with the same arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    /// Nothing more.
    Same,
    /// It may do something again.
    Differs,
}

/// Whether something besides this host is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Host,
    Network,
}

/// One action of a tool, and the verb that it asks for.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The tool's name.
    pub tool: &'static str,
    /// The action; empty where the tool has but one.
    pub action: &'static str,
    /// The verb.
    pub verb: &'static str,
    nature: Nature,
    again: Again,
    reach: Reach,
}

const fn row(
    tool: &'static str,
    action: &'static str,
    verb: &'static str,
    nature: Nature,
    again: Again,
) -> Row {
    Row { tool, action, verb, nature, again, reach: Reach::Host }
}

const fn reaching(row: Row) -> Row {
    Row { reach: Reach::Network, ..row }
}

use Again::{Differs, Same};
use Nature::{Adds, Reads, Replaces};

/// Every action.
pub const ROWS: &[Row] = &[
    // Removals by a plan depend on the rule: see `annotations`.
    reaching(row("package", "install", "package.install", Adds, Same)),
    row("package", "remove", "package.remove", Replaces, Same),
    row("package", "purge", "package.purge", Replaces, Same),
    row("package", "autoremove", "package.autoremove", Replaces, Same),
    reaching(row("package", "update", "package.update", Adds, Differs)),
    reaching(row("package", "upgrade", "package.upgrade", Replaces, Differs)),
    row("package", "hold", "package.hold", Adds, Same),
    row("package", "unhold", "package.unhold", Adds, Same),
    reaching(row("package", "repair", "package.repair", Replaces, Same)),
    row("package", "show", "package.show", Reads, Same),
    row("package", "list_upgrades", "package.upgrade", Reads, Same),
    row("service", "status", "unit.status", Reads, Same),
    row("service", "start", "unit.start", Adds, Same),
    row("service", "stop", "unit.stop", Replaces, Same),
    row("service", "restart", "unit.restart", Replaces, Differs),
    row("service", "reload", "unit.reload", Adds, Differs),
    row("service", "enable", "unit.enable", Adds, Same),
    row("service", "disable", "unit.disable", Replaces, Same),
    row("service", "try_restart", "unit.try-restart", Replaces, Differs),
    row("service", "reset_failed", "unit.reset-failed", Replaces, Same),
    row("service", "mask", "unit.mask", Replaces, Same),
    row("service", "unmask", "unit.unmask", Adds, Same),
    row("unit_journal", "", "unit.status", Reads, Same),
    row("units_reload", "", "unit.daemon-reload", Adds, Same),
    row("reboot", "", "host.reboot", Replaces, Differs),
    row("file", "write", "file.write", Replaces, Same),
    row("file", "mkdir", "file.mkdir", Adds, Same),
    row("file", "set_mode", "file.set-mode", Replaces, Same),
    row("file", "set_owner", "file.set-owner", Replaces, Same),
    row("file", "remove", "file.remove", Replaces, Same),
    row("file", "list", "file.list", Reads, Same),
    row("read_file", "", "file.read", Reads, Same),
    row("apply_patch", "", "file.patch", Replaces, Differs),
    // The policy may give a command the network.
    reaching(row("run_command", "", "command.run", Replaces, Differs)),
    row("undo", "", "request.undo", Replaces, Differs),
];

/// The tools of a model that are offered, in this order.
pub const TOOLS: &[tools::Tool] = &[
    tools::Tool::of::<tools::Package>(),
    tools::Tool::of::<tools::Service>(),
    tools::Tool::of::<tools::UnitJournal>(),
    tools::Tool::of::<tools::UnitsReload>(),
    tools::Tool::of::<tools::Reboot>(),
    tools::Tool::of::<tools::File>(),
    tools::Tool::of::<tools::ReadFile>(),
    tools::Tool::of::<tools::ApplyPatch>(),
    tools::Tool::of::<tools::RunCommand>(),
    tools::Tool::of::<tools::Undo>(),
];

/// The longest that a call may ask to wait.
pub const WAIT_MAX_S: u64 = 3600;

/// The tool that asks for the outcome of an earlier request: open to every client, for what is its own.
pub const RESULT: &str = "request_result";

/// Limits that let an action change more than what it names.
const WIDE: &[&str] =
    &["allow_upgrades = true", "allow_removals = true", "allow_downgrades = true", "allow_cascade = true"];

/// The schema of every answer.
static OUTPUT: LazyLock<Arc<JsonObject>> = LazyLock::new(|| {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    let schema = settings.for_serialize().into_generator().into_root_schema_for::<Answer>();
    Arc::new(object(schema.to_value()))
});

/// The tools that some rule grants to this client.
#[must_use]
pub fn list(description: &Description) -> Vec<Tool> {
    let offered = TOOLS.iter().filter_map(|tool| offer(tool, description));
    offered.chain([result_tool()]).collect()
}

fn offer(tool: &tools::Tool, description: &Description) -> Option<Tool> {
    let is_granted = |row: &&Row| {
        let has_lines = || limits(description, row.verb).any(|limit| limit.starts_with("journal_lines = "));
        granting(description, row.verb).next().is_some() && (row.tool != "unit_journal" || has_lines())
    };
    let rows: Vec<&Row> = ROWS.iter().filter(|row| row.tool == tool.name).filter(is_granted).collect();
    if rows.is_empty() {
        return None;
    }
    let mut schema = tool.schema();
    if let Some(action) = schema.pointer_mut("/properties/action/enum") {
        *action = rows.iter().map(|row| row.action).collect();
    }
    let about = format!("{}\n{}", tool.about(), granted(description, &rows));
    Some(described(tool.name, about, schema, annotations(description, &rows)))
}

fn result_tool() -> Tool {
    let about = "The outcome of an earlier request, which is waited for if it has none yet.";
    let id = json!({ "type": "string", "minLength": 1, "description": "The request_id of the answer." });
    let schema = json!({
        "type": "object", "properties": { "request_id": id }, "required": ["request_id"],
        "additionalProperties": false,
    });
    let annotations = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
    described(RESULT, about.to_owned(), schema, annotations)
}

fn described(name: &'static str, about: String, mut schema: Value, annotations: ToolAnnotations) -> Tool {
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.insert(
            "dry_run".to_owned(),
            json!({ "type": "boolean", "description": "Show the decision and the plan, change nothing." }),
        );
        properties.insert(
            "reason".to_owned(),
            json!({ "type": "string", "description": "Why, for the operator who approves it and for the audit log." }),
        );
        properties.insert(
            "wait_s".to_owned(),
            json!({ "type": "integer", "minimum": 0, "maximum": WAIT_MAX_S,
                "description": "After so many seconds without an outcome the answer is \"waiting\"." }),
        );
    }
    Tool::new(name, about, object(schema))
        .with_raw_output_schema(Arc::clone(&OUTPUT))
        .with_annotations(annotations)
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    }
}

/// The rules that let a verb through.
fn granting<'d>(description: &'d Description, verb: &'d str) -> impl Iterator<Item = &'d Grant> {
    let is_of = move |grant: &&Grant| {
        grant.decision != Decision::Deny && grant.verbs.iter().any(|granted| granted == verb)
    };
    description.grants.iter().filter(is_of)
}

/// The limits of those rules.
fn limits<'d>(description: &'d Description, verb: &'d str) -> impl Iterator<Item = &'d String> {
    granting(description, verb).flat_map(|grant| &grant.limits)
}

/// Describes the grants of these actions.
fn granted(description: &Description, rows: &[&Row]) -> String {
    let mut own = description.clone();
    for grant in &mut own.grants {
        grant.verbs.retain(|verb| rows.iter().any(|row| row.verb == verb));
    }
    own.grants.retain(|grant| !grant.verbs.is_empty());
    render::grants(&own, render::Reader::Model)
}

/// Hints that hold for every action that is granted.
fn annotations(description: &Description, rows: &[&Row]) -> ToolAnnotations {
    // An action of a rule with such a limit may do more than add: to other packages, or to other units.
    let is_wide = |row: &Row| limits(description, row.verb).any(|limit| WIDE.contains(&limit.as_str()));
    let all = |is: &dyn Fn(&Row) -> bool| rows.iter().all(|row| is(row));
    ToolAnnotations::new()
        .read_only(all(&|row| row.nature == Reads))
        .destructive(!all(&|row| row.nature != Replaces && !is_wide(row)))
        .idempotent(all(&|row| row.again == Same))
        .open_world(!all(&|row| row.reach == Reach::Host))
}
