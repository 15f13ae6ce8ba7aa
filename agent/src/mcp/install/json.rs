//! JSON, with the comments and trailing commas that editors allow.

use super::entry::{Change, Entry, Field, NAME};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::Value;

const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn parse(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| format!("it is no JSON: {error}"))
}

/// Parses a file.
pub fn value(text: &str) -> Result<Value, String> {
    Ok(parse(text)?.to_serde_value().unwrap_or_default())
}

/// The file with the entry added or removed.
pub fn edit(text: &str, entry: &Entry, change: Change) -> Result<String, String> {
    let root = parse(text)?;
    let object = root.object_value_or_create().ok_or("it holds no object")?;
    let table = entry.table;
    let servers = object.object_value_or_create(table).ok_or_else(|| format!("{table} is no object"))?;
    match change {
        Change::Add => {
            servers.append(NAME, input(entry));
        }
        Change::Remove => {
            if let Some(own) = servers.get(NAME) {
                own.remove();
            }
        }
    }
    let text = root.to_string();
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

fn input(entry: &Entry) -> CstInputValue {
    let of = |field: &Field| match field {
        Field::Text(text) => CstInputValue::String((*text).to_owned()),
        Field::Words(words) => {
            CstInputValue::Array(words.iter().map(|word| CstInputValue::String((*word).to_owned())).collect())
        }
        Field::Yes => CstInputValue::Bool(true),
        Field::Seconds(seconds) => CstInputValue::Number(seconds.to_string()),
    };
    CstInputValue::Object(entry.fields.iter().map(|(key, field)| ((*key).to_owned(), of(field))).collect())
}
