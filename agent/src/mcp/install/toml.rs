//! TOML.

use super::entry::{Change, Entry, Field, NAME};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, value as item};

/// Parses a file.
pub fn value(text: &str) -> Result<Value, String> {
    let table: toml::Table = text.parse().map_err(|error| format!("it is no TOML: {error}"))?;
    serde_json::to_value(table).map_err(|error| error.to_string())
}

/// The file with the entry added or removed.
pub fn edit(text: &str, entry: &Entry, change: Change) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error| format!("it is no TOML: {error}"))?;
    let servers = document.entry(entry.table).or_insert_with(|| {
        let mut servers = Table::new();
        // Only its tables are written.
        servers.set_implicit(true);
        Item::Table(servers)
    });
    let servers = servers.as_table_like_mut().ok_or_else(|| format!("{} is no table", entry.table))?;
    match change {
        Change::Add => {
            servers.insert(NAME, Item::Table(table(entry)));
        }
        Change::Remove => {
            servers.remove(NAME);
        }
    }
    Ok(document.to_string())
}

fn table(entry: &Entry) -> Table {
    let mut table = Table::new();
    for (key, field) in entry.fields {
        let value = match field {
            Field::Text(text) => item(*text),
            Field::Words(words) => item(words.iter().copied().collect::<Array>()),
            Field::Yes => item(true),
            Field::Seconds(seconds) => item(i64::from(*seconds)),
        };
        table.insert(key, value);
    }
    table
}
