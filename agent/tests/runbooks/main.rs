//! Runbooks: what a file may say, values as arguments, whose files count, and runs as plans.

#[path = "../common/mod.rs"]
mod common;

mod command;
mod drafts;
mod files;
mod fit;
mod shipped;
mod text;
mod values;

use postern_agent::runbooks::{Fault, Runbook};

/// A runbook with these lines after its name and title.
///
/// # Errors
/// Its first fault.
pub fn parse(rest: &str) -> Result<Runbook, Fault> {
    Runbook::parse("try", &format!("name: try\ntitle: A try\n{rest}"))
}

/// The rest of a runbook that restarts a unit.
pub const RESTART: &str = "\
parameters:
  - {name: unit, kind: unit, about: The unit, example: app.service}
steps:
  - {tool: unit_journal, args: {name: '${unit}', lines: 20}}
  - 'systemctl restart ${unit}'
verification:
  - {tool: service, args: {action: status, name: '${unit}'}}
";
