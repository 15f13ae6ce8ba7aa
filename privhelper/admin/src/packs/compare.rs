//! `pack diff`: a pack's file beside what the installed pack makes of the same values.

use super::added;
use super::catalog::{find, installed, not_added, read_added};
use super::error::{CommandError, failed};
use super::fill::Values;
use super::variable::Variable;
use crate::approvals;
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::text::{escape, escape_json};
use serde_json::json;

/// `pack diff`.
pub fn diff(host: &Host, name: &str, json: bool, io: &mut Io<'_>) -> Result<Exit, CommandError> {
    let packs = installed(host, io)?;
    let pack = find(&packs, name)?;
    let Some(before) = read_added(host, name)? else {
        return Err(failed(not_added(host, name)?));
    };
    let value = |variable: &Variable| {
        let before = before.values.get(&variable.name).filter(|values| variable.check(values).is_ok());
        // A new variable without a default is shown with its example.
        (variable.name.clone(), before.map_or_else(|| variable.examples().to_vec(), Clone::clone))
    };
    let values: Values = pack.variables.iter().map(value).collect();
    let now = added::text(pack, &values).map_err(failed)?;
    let is_same = now == before.text;
    let difference =
        if is_same { Vec::new() } else { approvals::diff(before.text.as_bytes(), now.as_bytes()) };
    let difference = String::from_utf8_lossy(&difference).into_owned();
    if json {
        let object = json!({
            "v": 1, "pack": name, "same": is_same, "edited": before.is_edited, "added_version": before.version,
            "installed_version": pack.about.version, "diff": difference,
        });
        writeln!(io.out, "{}", escape_json(&object.to_string()))?;
    } else if is_same {
        writeln!(io.out, "no difference: {} is as pack {name} makes it", added::file_name(name))?;
    } else {
        let edited = if before.is_edited { ", edited" } else { "" };
        writeln!(io.out, "- {} (version {}{edited})", added::file_name(name), before.version)?;
        writeln!(io.out, "+ pack {name} version {} with the same values", pack.about.version)?;
        for line in difference.lines() {
            writeln!(io.out, "{}", escape(line))?;
        }
    }
    Ok(Exit::Done)
}
