//! The server's entry in a configuration file.

use serde_json::{Map, Value, json};

/// The entry's name.
pub const NAME: &str = "postern";

/// Change of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is added.
    Add,
    /// It is removed.
    Remove,
}

/// A value of an entry.
#[derive(Clone, Copy, Debug)]
pub enum Field {
    Text(&'static str),
    Words(&'static [&'static str]),
    Yes,
    Seconds(u32),
}

/// The entry of one client.
#[derive(Debug)]
pub struct Entry {
    /// The member that holds the servers.
    pub table: &'static str,
    /// The entry's members.
    pub fields: &'static [(&'static str, Field)],
}

impl Entry {
    /// Whether an entry of that name starts this program: it may have more members than ours.
    #[must_use]
    pub fn is_ours(there: &Value) -> bool {
        let command = ["command", "cmd"].iter().find_map(|key| there[*key].as_str()).unwrap_or_default();
        let is_program = command == "postern" || command.ends_with("/postern");
        is_program && there["args"][0] == "mcp"
    }

    /// As data.
    #[must_use]
    pub fn value(&self) -> Value {
        let of = |field: &Field| match field {
            Field::Text(text) => json!(text),
            Field::Words(words) => json!(words),
            Field::Yes => json!(true),
            Field::Seconds(seconds) => json!(seconds),
        };
        let members: Map<String, Value> =
            self.fields.iter().map(|(key, field)| ((*key).to_owned(), of(field))).collect();
        Value::Object(members)
    }
}
