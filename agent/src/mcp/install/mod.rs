//! `postern mcp install`: the server's entry in a client's own configuration file.
//!
//! The file is the person's: everything else in it stays byte for byte, the difference is shown, the old file is kept.
//! After an edit the file is read again and must hold what it held, with the entry alone added or removed.

mod clients;
mod entry;
mod format;
mod json;
mod person;
mod toml;
mod write;
mod yaml;

use crate::protocol::file_view::FileView;
use entry::{Entry, NAME};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub use clients::{Client, Scope};
pub use entry::Change;
pub use person::Person;

/// A configuration file with the change made.
#[derive(Debug)]
pub struct Planned {
    /// The file.
    pub path: PathBuf,
    old: Option<String>,
    new: String,
}

impl Planned {
    /// The difference that it makes; empty where nothing changes.
    #[must_use]
    pub fn difference(&self) -> String {
        if !self.is_changed() {
            return String::new();
        }
        let path = self.path.display().to_string();
        let difference = postern_patch::difference(
            &path,
            self.old.as_deref().map(str::as_bytes),
            Some(self.new.as_bytes()),
        );
        FileView { path, difference, ..FileView::default() }.text()
    }

    /// Whether the file would be another.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.old.as_ref().is_none_or(|old| *old != self.new)
    }

    /// Writes the file; where the old one is kept, if there was one.
    ///
    /// # Errors
    /// It cannot be written, and is as it was.
    pub fn write(&self) -> Result<Option<PathBuf>, String> {
        write::replace(&self.path, self.old.as_deref(), &self.new)
    }
}

/// Makes the change, and writes nothing.
///
/// # Errors
/// The client has no such file, or the file cannot be changed without losing something; what to do instead.
pub fn plan(client: Client, scope: Scope, change: Change, person: &Person) -> Result<Planned, String> {
    let path = client.file(scope, person)?;
    let old = read(&path)?;
    let text = old.as_deref().unwrap_or_default();
    let (format, entry) = client.entry();
    let by_hand = |why: String| format!("{}: {why}; nothing was written", path.display());
    let before = format.value(text).map_err(by_hand)?;
    let own = before.get(entry.table).and_then(|table| table.get(NAME));
    if let Some(own) = own.filter(|own| !Entry::is_ours(own)) {
        return Err(by_hand(format!("its entry {NAME:?} starts something else ({own}): rename it")));
    }
    let is_as_wanted = own.is_some() == (change == Change::Add);
    let new = if is_as_wanted {
        text.to_owned()
    } else {
        let edited = format.edit(text, &entry, change).map_err(by_hand)?;
        let after = format.value(&edited).map_err(by_hand)?;
        if without_empty(after, &entry) != without_empty(expected(before, &entry, change), &entry) {
            return Err(by_hand("it cannot be changed without changing something else".to_owned()));
        }
        edited
    };
    let old = if is_as_wanted { Some(new.clone()) } else { old };
    Ok(Planned { path, old, new })
}

/// The same without the table of servers, if nothing is in it: TOML need not name it, and in YAML it is null.
fn without_empty(mut file: Value, entry: &Entry) -> Value {
    let is_empty =
        |table: &Value| table.is_null() || table.as_object().is_some_and(serde_json::Map::is_empty);
    if let Some(members) = file.as_object_mut()
        && members.get(entry.table).is_some_and(is_empty)
    {
        members.remove(entry.table);
    }
    file
}

/// Returns the expected value of the file after the change.
fn expected(before: Value, entry: &Entry, change: Change) -> Value {
    let mut root = match before {
        Value::Object(members) => members,
        _ => serde_json::Map::new(),
    };
    let table = root.entry(entry.table).or_insert_with(|| Value::Object(serde_json::Map::new()));
    if table.is_null() {
        *table = Value::Object(serde_json::Map::new());
    }
    if let Some(table) = table.as_object_mut() {
        match change {
            Change::Add => {
                table.insert(NAME.to_owned(), entry.value());
            }
            Change::Remove => {
                table.remove(NAME);
            }
        }
    }
    Value::Object(root)
}

fn read(path: &Path) -> Result<Option<String>, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!("cannot read {}: {e}", path.display())),
    }
}
