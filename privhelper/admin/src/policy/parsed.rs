//! The tables of all files of a policy, read one by one.

use super::client::{self, ParsedClient};
use super::commands::{self, ParsedCommand};
use super::keys;
use super::rule::{self, ParsedRule};
use super::settings::{self, ParsedSource, Settings};
use super::table::Table;

/// All tables of a policy, as far as they could be read.
pub struct ParsedPolicy<'a> {
    /// Each `[[client]]`.
    pub clients: Vec<ParsedClient<'a>>,
    /// Each `[[source]]`.
    pub sources: Vec<ParsedSource<'a>>,
    /// Each `[[command]]`.
    pub commands: Vec<ParsedCommand<'a>>,
    /// Each `[[rule]]`.
    pub rules: Vec<ParsedRule<'a>>,
    /// `[audit]`, `[undo]`, `[approvals]` and `[protect]`.
    pub settings: Settings,
}

impl<'a> ParsedPolicy<'a> {
    /// Reads every table of the policy's files and reports what is wrong with each by itself.
    #[must_use]
    pub fn read(files: &[Table<'a>]) -> Self {
        let all = |key: &'static str, form: &'static str| {
            files.iter().flat_map(|file| file.tables(key, form)).collect::<Vec<_>>()
        };
        for file in files {
            check_top(*file);
        }
        Self {
            clients: all("client", "written as [[client]]").into_iter().filter_map(client::parse).collect(),
            sources: all("source", "written as [[source]]")
                .into_iter()
                .filter_map(settings::source)
                .collect(),
            commands: all("command", "written as [[command]]")
                .into_iter()
                .filter_map(commands::parse)
                .collect(),
            rules: all("rule", "written as [[rule]]").into_iter().map(rule::parse).collect(),
            settings: settings::parse(files),
        }
    }
}

/// Reports unknown keys of a file, and a `version` that is missing or in the wrong file.
fn check_top(table: Table<'_>) {
    table.check_keys(keys::TOP);
    let is_main = table.source.relative == "policy.toml";
    match (is_main, table.place("version")) {
        (true, None) => table.error(0, "`version = 1` is missing"),
        (false, Some(at)) => table.error(at, "`version` belongs in policy.toml only"),
        (true, Some(_)) => {
            // A number outside the range is reported there.
            let _ = table.number("version", 1..=1);
        }
        (false, None) => {}
    }
}
