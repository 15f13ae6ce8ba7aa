//! The clients: which file, which form, which entry.

use super::entry::{Entry, Field, NAME};
use super::format::Format;
use super::person::Person;
use clap::ValueEnum;
use std::path::PathBuf;

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

    /// The form of its file, and its entry.
    #[must_use]
    pub fn entry(self) -> (Format, Entry) {
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
        (format, Entry { table, fields })
    }
}
