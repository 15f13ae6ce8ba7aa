//! A runbook with values: a plan.

use super::argument::{Values, command, filled, names};
use super::document::Runbook;
use super::needs::is_change;
use super::parameter::Kind;
use super::place::Place;
use crate::plan::Meaning;
use crate::protocol::plan::Plan;
use serde_json::{Map, Value, json};

/// All texts in a value.
pub fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().flat_map(strings).collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(key, value)| std::iter::once(key.as_str()).chain(strings(value)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Fills one part.
pub fn piece(place: Place, value: &Value, runbook: &Runbook, values: &Values) -> Result<Value, String> {
    let members = match value {
        Value::String(text) => Map::from_iter([("command".to_owned(), json!(text))]),
        Value::Object(members) => members.clone(),
        _ => return Err("a command line, or an object with tool and args".to_owned()),
    };
    if let Some(Value::String(text)) = members.get("command") {
        return of_command(place, &members, &command(text, values)?);
    }
    if members.get("tool").and_then(Value::as_str) == Some("shell") {
        return Err("the tool shell reads a script: write the command line itself".to_owned());
    }
    let mut members = members;
    if let Some(args) = members.get_mut("args") {
        *args = argument(args, runbook, values)?;
    }
    for name in ["purpose", "expect"] {
        if let Some(Value::String(text)) = members.get(name) {
            let text = filled(text, values)?;
            members.insert(name.to_owned(), json!(text));
        }
    }
    Ok(Value::Object(members))
}

fn of_command(place: Place, members: &Map<String, Value>, line: &str) -> Result<Value, String> {
    if place != Place::Step {
        return if members.len() == 1 {
            Ok(json!(line))
        } else {
            Err("a check that is a command has no other member".to_owned())
        };
    }
    let mut step = members.clone();
    // A program in the sandbox changes nothing of the host.
    let is_effect = Meaning::of(line)?.is_effect();
    step.entry("read_only").or_insert(json!(!is_effect));
    step.entry("purpose").or_insert(json!(""));
    step.insert("command".to_owned(), json!(line));
    Ok(Value::Object(step))
}

/// Fills the arguments of a typed call; a number that is all of a text stays a number.
fn argument(value: &Value, runbook: &Runbook, values: &Values) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => {
            let alone = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            let parameter = alone.and_then(|name| runbook.parameters.iter().find(|one| one.name == name));
            let text = filled(text, values)?;
            match parameter.filter(|one| one.kind == Kind::Integer).map(|_| text.parse::<i64>()) {
                Some(Ok(number)) => json!(number),
                Some(Err(_)) | None => json!(text),
            }
        }
        Value::Array(list) => {
            Value::Array(list.iter().map(|one| argument(one, runbook, values)).collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let filled = members.iter().map(|(key, one)| match names(key)?.first() {
                None => Ok((key.clone(), argument(one, runbook, values)?)),
                Some(name) => Err(format!("${{{name}}}: a placeholder is a value, not the name of one")),
            });
            Value::Object(filled.collect::<Result<_, String>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

/// Judges one part by the rules of a plan.
pub fn judged(place: Place, filled: &Value) -> Result<(), String> {
    let nothing = json!({ "command": "true", "purpose": "", "read_only": true });
    let mut plan = json!({ "plan_type": "command_plan", "goal": "one part", "commands": [nothing] });
    let name = match place {
        Place::Preflight => "preflight_checks",
        Place::Step => "commands",
        Place::Verification => "verification_commands",
        Place::Rollback => "rollback_commands",
    };
    plan[name] = json!([filled]);
    Plan::of(plan).map(drop).map_err(|unfit| {
        let own = unfit.why.split_once(" 1: ").filter(|(before, _)| !before.contains('"'));
        own.map_or_else(|| unfit.why.clone(), |(_, why)| why.to_owned())
    })
}

impl Runbook {
    /// Whether a part cannot be decided before its person gives values.
    #[must_use]
    pub fn is_open(&self, part: &str, number: usize) -> bool {
        let lists = self.lists();
        let list = lists.iter().find(|(place, _)| place.word() == part);
        let piece = list.and_then(|(_, pieces)| pieces.get(number.wrapping_sub(1)));
        let named = piece.map(|piece| strings(&piece.value)).unwrap_or_default();
        let is_required =
            |name: &String| self.parameters.iter().any(|one| &one.name == name && one.default.is_none());
        named.iter().flat_map(|text| names(text).unwrap_or_default()).any(|name| is_required(&name))
    }

    /// Checks the values that a person gave, and adds defaults.
    ///
    /// # Errors
    /// The first that is missing, unknown or no value of its kind.
    pub fn values(&self, given: &Values) -> Result<Values, String> {
        if let Some(unknown) = given.keys().find(|name| !self.parameters.iter().any(|one| &one.name == *name))
        {
            let known = self.parameters.iter().map(|one| one.name.as_str());
            return Err(format!("{}: {}", self.name, postern_text::unknown("parameter", unknown, known)));
        }
        let mut values = Values::new();
        for parameter in &self.parameters {
            let Some(value) = given.get(&parameter.name).or(parameter.default.as_ref()) else {
                return Err(format!(
                    "{} needs {}={}: {}",
                    self.name,
                    parameter.name,
                    parameter.kind.word().to_uppercase(),
                    parameter.about
                ));
            };
            parameter.check(value)?;
            values.insert(parameter.name.clone(), value.clone());
        }
        Ok(values)
    }

    /// The plan that it is with these values.
    ///
    /// # Errors
    /// The first step that is none with them.
    pub fn plan(&self, values: &Values) -> Result<Plan, String> {
        let mut lists = Vec::with_capacity(4);
        for (place, pieces) in self.lists() {
            let list = pieces.iter().zip(1..).map(|(one, number)| {
                piece(place, &one.value, self, values)
                    .map_err(|why| format!("{} {number}: {why}", place.word()))
            });
            lists.push(Value::Array(list.collect::<Result<_, String>>()?));
        }
        let given: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let given = if given.is_empty() { String::new() } else { format!(" ({})", given.join(", ")) };
        let [preflight, steps, verification, rollback] = lists.as_slice() else { return Err(String::new()) };
        let plan = json!({
            "plan_type": "command_plan",
            "goal": format!("runbook {}: {}{given}", self.name, self.title),
            "commands": steps,
            "preflight_checks": preflight,
            "verification_commands": verification,
            "rollback_commands": rollback,
        });
        let plan = Plan::of(plan).map_err(|unfit| unfit.why)?;
        Ok(match plan {
            Plan::CommandPlan(mut commands) => {
                commands.requires_root = commands.commands.iter().any(is_change);
                Plan::CommandPlan(commands)
            }
            other => other,
        })
    }
}
