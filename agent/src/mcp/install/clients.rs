//! The clients: which file, which form, which entry.

use super::{Change, Person, json, toml, yaml};
use clap::ValueEnum;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// The entry's name.
pub const NAME: &str = "postern";

/// A client whose configuration is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// goose
    Goose,
    /// Cursor
    Cursor,
    /// VS Code
    #[value(name = "vscode")]
    VsCode,
}

/// For whom the entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// The person, in all projects
    #[default]
    User,
    /// Everybody who works in the current directory
    Project,
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Toml,
    Yaml,
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
    /// The form of its file.
    pub format: Format,
    /// The member that holds the servers.
    pub table: &'static str,
    /// The entry's members.
    pub fields: &'static [(&'static str, Field)],
}

const COMMAND: (&str, Field) = ("command", Field::Text("postern"));
const ARGS: (&str, Field) = ("args", Field::Words(&["mcp"]));
const STDIO: (&str, Field) = ("type", Field::Text("stdio"));

impl Client {
    /// The file that the client reads.
    ///
    /// # Errors
    /// The client has none for this scope.
    pub fn file(self, scope: Scope, person: &Person) -> Result<PathBuf, String> {
        let config = || person.config.clone().unwrap_or_else(|| person.home.join(".config"));
        Ok(match (self, scope) {
            (Self::Claude, Scope::User) => person.home.join(".claude.json"),
            (Self::Claude, Scope::Project) => person.project.join(".mcp.json"),
            // Read in a project that the person has told Codex to trust.
            (Self::Codex, Scope::Project) => person.project.join(".codex/config.toml"),
            (Self::Codex, Scope::User) => {
                person.codex.clone().unwrap_or_else(|| person.home.join(".codex")).join("config.toml")
            }
            (Self::Goose, Scope::User) => config().join("goose/config.yaml"),
            (Self::Goose, Scope::Project) => {
                return Err("goose has no configuration of a project: leave --scope out".to_owned());
            }
            (Self::Cursor, Scope::User) => person.home.join(".cursor/mcp.json"),
            (Self::Cursor, Scope::Project) => person.project.join(".cursor/mcp.json"),
            (Self::VsCode, Scope::User) => config().join("Code/User/mcp.json"),
            (Self::VsCode, Scope::Project) => person.project.join(".vscode/mcp.json"),
        })
    }

    /// Its entry.
    #[must_use]
    pub fn entry(self) -> Entry {
        let (format, table, fields): (_, _, &'static [(&str, Field)]) = match self {
            Self::Claude | Self::Cursor => (Format::Json, "mcpServers", &[STDIO, COMMAND, ARGS]),
            Self::VsCode => (Format::Json, "servers", &[STDIO, COMMAND, ARGS]),
            Self::Codex => (Format::Toml, "mcp_servers", &[COMMAND, ARGS]),
            Self::Goose => (
                Format::Yaml,
                "extensions",
                &[
                    ("enabled", Field::Yes),
                    STDIO,
                    ("name", Field::Text(NAME)),
                    ("description", Field::Text("What Postern's policy grants on this host")),
                    ("cmd", Field::Text("postern")),
                    ARGS,
                    ("timeout", Field::Seconds(300)),
                ],
            ),
        };
        Entry { format, table, fields }
    }
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

impl Format {
    /// What a file holds; null where it is empty.
    ///
    /// # Errors
    /// It is not of this form.
    pub fn value(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Json => json::value(text),
            Self::Toml => toml::value(text),
            Self::Yaml => yaml::value(text),
        }
    }

    /// The file with the entry added or removed.
    ///
    /// # Errors
    /// It is written in a way that has no place for the entry.
    pub fn edit(self, text: &str, entry: &Entry, change: Change) -> Result<String, String> {
        match self {
            Self::Json => json::edit(text, entry, change),
            Self::Toml => toml::edit(text, entry, change),
            Self::Yaml => yaml::edit(text, entry, change),
        }
    }
}
