//! The parameters of a command: the kind of each, and the keys of that kind.

use super::keys::PARAMETER_KINDS;
use super::limits::{list, required_list, warn_of_regex};
use super::table::Table;
use super::values;
use crate::text::unknown;
use postern_policy::types::{Arguments, ParameterKind, bytes_of};
use postern_proto::root::v1 as root;
use std::net::IpAddr;

/// Longest description of a command or of a value, in bytes: a model pays for each.
const DESCRIPTION_MAX: usize = 200;

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
            "min" | "max" if *wire == root::ParameterKind::Size => {}
            "min" => parameter.min = integer(table, key, word),
            "max" => parameter.max = integer(table, key, word),
            "within" => parameter.within = list(table, key, |_| Ok(())).unwrap_or_default(),
            "check" => parameter.unchecked = table.flag(key) == Some(false),
            "meanings" => parameter.meanings = meanings(table, &parameter.values),
            _ => {
                let pattern = table.required(key)?;
                if let Err(why) = values::text_pattern(pattern.value) {
                    table.error(pattern.at, why);
                }
                parameter.values = vec![pattern.value.to_owned()];
            }
        }
    }
    if *wire == root::ParameterKind::Size {
        (parameter.min, parameter.max) = sizes(table);
    }
    if parameter.min > parameter.max {
        table.error(table.at, "`min` is above `max`: nothing is let through");
    }
    if let Some(at) = table.place("within").filter(|_| parameter.within.is_empty()) {
        table.error(at, "`within` is empty: nothing is let through");
    }
    for text in table.texts("within").unwrap_or_default() {
        note_of_width(table, text.at, text.value);
    }
    for (at, pattern) in table.text("pattern").iter().map(|text| (text.at, text.value)) {
        warn_of_regex(table, at, pattern);
    }
    // The helper must accept the compiled form.
    if let Err(why) = ParameterKind::new(&parameter) {
        table.error(table.at, format!("parameter `{name}` {why}"));
    }
    Some(parameter)
}

/// Notes a network that is wider than the largest private one of its kind: it lets most hosts of the Internet through.
fn note_of_width(table: Table<'_>, at: usize, network: &str) {
    let Some((address, length)) = network.split_once('/') else { return };
    let Ok(length) = length.parse::<u8>() else { return };
    let is_wide = match address.parse::<IpAddr>() {
        // 10.0.0.0/8, and fc00::/7 (RFC 1918, RFC 4193).
        Ok(IpAddr::V4(_)) => length < 8,
        Ok(IpAddr::V6(address)) => {
            length < 16 && !address.is_unique_local() && !address.is_unicast_link_local()
        }
        Err(_) => false,
    };
    if is_wide {
        table.note(
            at,
            format!("{network} is wider than any private network: hosts of the Internet are in it"),
        );
    }
}

/// The meaning of each value of an enum, in the values' order; none if nothing is said of any.
fn meanings(table: Table<'_>, values: &[String]) -> Vec<String> {
    let Some(inner) = table.table("meanings", "a table such as { on = \"switches it on\" }") else {
        return Vec::new();
    };
    for name in inner.keys().filter(|name| !values.iter().any(|value| value == name.value)) {
        table.error(name.at, unknown("value", name.value, values.iter().map(String::as_str)));
    }
    let meaning = |value: &String| {
        let text = inner.text(value).filter(|text| is_described(table, text.at, text.value));
        text.map_or_else(String::new, |text| text.value.to_owned())
    };
    values.iter().map(meaning).collect()
}

/// Checks a text for people and models, and reports what is wrong with it.
pub(super) fn is_described(table: Table<'_>, at: usize, text: &str) -> bool {
    let is_fine = (1..=DESCRIPTION_MAX).contains(&text.len()) && !text.chars().any(postern_text::is_hostile);
    if !is_fine {
        let why =
            format!("a description is 1 to {DESCRIPTION_MAX} bytes on one line, without control characters");
        table.error(at, why);
    }
    is_fine
}

/// The bytes of `min` and `max`. Without both there is no range; without one it is open on that side.
fn sizes(table: Table<'_>) -> (i64, i64) {
    let size = |key: &str| {
        let text = table.text(key)?;
        let size = bytes_of(text.value);
        if size.is_none() || (key == "max" && size == Some(0)) {
            let why = format!(
                "{:?} is not a size: write a whole number, alone or with K, M, G or T, such as \"512M\"",
                text.value
            );
            table.error(text.at, why);
        }
        size
    };
    match (size("min"), size("max")) {
        (None, None) => (0, 0),
        (min, max) => (min.unwrap_or(0), max.unwrap_or(i64::MAX)),
    }
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
