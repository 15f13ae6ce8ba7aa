//! The parameters of a command: the kind of each, and the keys of that kind.

use super::keys::PARAMETER_KINDS;
use super::limits::required_list;
use super::table::Table;
use super::values;
use crate::text::unknown;
use postern_policy::types::{Arguments, ParameterKind};
use postern_proto::root::v1 as root;

/// Reads `params` of a command and reports what is wrong with it. Sorted by name.
#[must_use]
pub fn parse(table: Table<'_>) -> Vec<root::Parameter> {
    let what = "written as params.NAME = { kind = \"…\" }";
    let Some(inner) = table.table("params", what) else {
        return Vec::new();
    };
    let mut parameters = Vec::new();
    for name in inner.keys() {
        if !Arguments::is_name(name.value) {
            let why = format!(
                "{:?} is not a valid parameter name: use a letter, then up to 31 of a-z, 0-9, '_' and '-'",
                name.value
            );
            table.error(name.at, why);
        }
        if let Some(one) = inner.table(name.value, what) {
            parameters.extend(parameter(name.value, one));
        }
    }
    if parameters.len() > Arguments::MAX {
        table.error(inner.at, format!("a command has at most {} parameters", Arguments::MAX));
    }
    parameters.sort_by(|a, b| a.name.cmp(&b.name));
    parameters
}

fn parameter(name: &str, table: Table<'_>) -> Option<root::Parameter> {
    let kind = table.required("kind")?;
    let words = || PARAMETER_KINDS.iter().map(|(word, _, _)| *word);
    let Some((word, wire, keys)) = PARAMETER_KINDS.iter().find(|(word, _, _)| *word == kind.value) else {
        table.error(kind.at, unknown("kind of parameter", kind.value, words()));
        return None;
    };
    let known = std::iter::once("kind").chain(keys.iter().copied()).collect::<Vec<_>>();
    table.check_keys(&known);
    let nothing = "nothing is let through";
    let mut parameter = root::Parameter { name: name.to_owned(), kind: (*wire).into(), ..Default::default() };
    for key in *keys {
        match *key {
            "values" => parameter.values = required_list(table, key, word_of_enum, nothing),
            "packages" => parameter.values = required_list(table, key, values::package_pattern, nothing),
            "units" => parameter.values = required_list(table, key, values::unit_pattern, nothing),
            "directories" => parameter.directories = required_list(table, key, values::directory, nothing),
            "files" => parameter.files = required_list(table, key, values::pattern, nothing),
            "min" => parameter.min = integer(table, key, word),
            "max" => parameter.max = integer(table, key, word),
            _ => {
                let pattern = table.required(key)?;
                if let Err(why) = values::text_pattern(pattern.value) {
                    table.error(pattern.at, why);
                }
                parameter.values = vec![pattern.value.to_owned()];
            }
        }
    }
    if parameter.min > parameter.max {
        table.error(table.at, "`min` is above `max`: nothing is let through");
    }
    // The helper must accept the compiled form.
    if let Err(why) = ParameterKind::new(&parameter) {
        table.error(table.at, format!("parameter `{name}` {why}"));
    }
    Some(parameter)
}

fn word_of_enum(text: &str) -> Result<(), String> {
    if Arguments::is_value(text) {
        Ok(())
    } else {
        Err(format!(
            "{text:?} is not a valid value: it must not be empty, hold control characters, or begin with '-', '@' or '+'"
        ))
    }
}

/// A number, never below 0: a value that begins with '-' is none.
fn integer(table: Table<'_>, key: &str, kind: &str) -> i64 {
    if table.place(key).is_none() {
        table.error(table.at, format!("`{key}` is missing for kind {kind:?}"));
    }
    let most = u64::try_from(i64::MAX).unwrap_or(u64::MAX);
    table.number(key, 0..=most).and_then(|number| i64::try_from(number.value).ok()).unwrap_or(0)
}
