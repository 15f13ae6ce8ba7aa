//! Facts that are JSON, in words: members as lines, lists of objects as tables.

use super::plan::size;
use super::table::Table;
use super::waiting::moment;
use serde_json::{Map, Value};
use std::time::Duration;

/// The most columns of a list.
const COLUMNS: usize = 8;

/// A text as it is read by people: one that is a JSON object or list is told in lines, any other stays.
#[must_use]
pub fn facts(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => {
            let mut lines = String::new();
            tell(&value, "", &mut lines);
            lines
        }
        Ok(_) | Err(_) => text.to_owned(),
    }
}

fn tell(value: &Value, indent: &str, lines: &mut String) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let (name, text) = (heading(name), cell(name, member));
                match member {
                    Value::Object(_) | Value::Array(_) => {
                        lines.extend([indent, &name, ":\n"]);
                        tell(member, &format!("{indent}  "), lines);
                    }
                    _ => lines.extend([indent, &name, ": ", &text, "\n"]),
                }
            }
        }
        Value::Array(items) => {
            let objects: Option<Vec<&Map<String, Value>>> = items.iter().map(Value::as_object).collect();
            match objects {
                Some(objects) if !objects.is_empty() => lines.push_str(&table(&objects, indent)),
                Some(_) => lines.extend([indent, "none\n"]),
                None => {
                    for item in items {
                        lines.extend([indent, &plain(item), "\n"]);
                    }
                }
            }
        }
        other => lines.extend([indent, &plain(other), "\n"]),
    }
}

fn table(objects: &[&Map<String, Value>], indent: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in objects.iter().flat_map(|object| object.keys()) {
        if !names.contains(&name.as_str()) && names.len() < COLUMNS {
            names.push(name);
        }
    }
    let mut table = Table::default();
    let cells = |cell: &dyn Fn(&str) -> String| -> [String; COLUMNS] {
        std::array::from_fn(|at| names.get(at).map_or_else(String::new, |name| cell(name)))
    };
    let headings = cells(&heading);
    table.row(headings.each_ref().map(String::as_str));
    for object in objects {
        let row = cells(&|name| object.get(name).map_or_else(String::new, |value| cell(name, value)));
        table.row(row.each_ref().map(String::as_str));
    }
    table.render(indent, None)
}

/// The suffix of a name, and how a number with it is told.
type Unit = (&'static str, fn(u64) -> String);

/// Suffixes by which a number's unit is known; for people the unit stands at the value.
const UNITS: &[Unit] = &[
    ("_unix_s", moment),
    ("_bytes", size),
    ("_s", |seconds| humantime::format_duration(Duration::from_secs(seconds)).to_string()),
];

/// A member's name for people.
fn heading(name: &str) -> String {
    let unit = UNITS.iter().find_map(|(suffix, _)| name.strip_suffix(suffix));
    unit.unwrap_or(name).replace('_', " ")
}

/// A member's value for people.
fn cell(name: &str, value: &Value) -> String {
    let unit = UNITS.iter().find(|(suffix, _)| name.ends_with(suffix));
    match (unit, value.as_u64()) {
        (Some((_, describe)), Some(number)) => describe(number),
        (Some(_) | None, _) => plain(value),
    }
}

/// A value in one cell.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| format!("{name}={}", plain(value)))
            .collect::<Vec<_>>()
            .join(" "),
    }
}
