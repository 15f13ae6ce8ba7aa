//! `pack list` and `pack show`.

use super::added::{self, Added};
use super::catalog::{find, installed};
use super::error::CommandError;
use super::pack::Pack;
use crate::host::Host;
use crate::io::{Exit, Io};
use crate::text::escape_json;
use serde_json::{Value, json};

/// `pack list`.
pub fn list(host: &Host, json: bool, io: &mut Io<'_>) -> Result<Exit, CommandError> {
    let packs = installed(host, io)?;
    let all = added::all(host);
    let added = match &all {
        Ok(added) => added.as_slice(),
        // The installed packs are public; the policy is not.
        Err(error) => {
            writeln!(io.err, "which packs are added is not known: {error}")?;
            &[]
        }
    };
    let of = |pack: &Pack| added.iter().find(|added| added.name == pack.about.name);
    if json {
        let rows = packs.iter().map(|pack| {
            let mut row = about(pack);
            row["offered"] = json!(pack.is_offered(host));
            row["added"] =
                all.as_ref().map_or(Value::Null, |_| json!(of(pack).map(|added| as_json(pack, added))));
            row
        });
        let object = json!({ "v": 1, "packs": rows.collect::<Vec<_>>() });
        writeln!(io.out, "{}", escape_json(&object.to_string()))?;
        return Ok(Exit::Done);
    }
    let width = packs.iter().map(|pack| pack.about.name.len()).max().unwrap_or(0).max("PACK".len());
    writeln!(io.out, "{:width$}  {:18}  {:20}  FOR", "PACK", "ADDED", "TESTED ON")?;
    for pack in &packs {
        let state = match of(pack) {
            Some(added) => state(pack, added).to_owned(),
            None if pack.is_offered(host) => "no, fits this host".to_owned(),
            None => "no".to_owned(),
        };
        writeln!(
            io.out,
            "{:width$}  {state:18}  {:20}  {}",
            pack.about.name,
            pack.tested(),
            pack.about.summary
        )?;
    }
    Ok(Exit::Done)
}

/// `pack show`.
pub fn show(host: &Host, name: &str, json: bool, io: &mut Io<'_>) -> Result<Exit, CommandError> {
    let packs = installed(host, io)?;
    let pack = find(&packs, name)?;
    if json {
        let mut object = about(pack);
        object["v"] = json!(1);
        object["offered"] = json!(pack.is_offered(host));
        object["variables"] = json!(pack.variables);
        object["rules"] = json!(pack.body);
        writeln!(io.out, "{}", escape_json(&object.to_string()))?;
        return Ok(Exit::Done);
    }
    let about = &pack.about;
    writeln!(io.out, "{} version {}: {}", about.name, about.version, about.summary)?;
    writeln!(io.out, "tested on: {}", pack.tested())?;
    for hazard in &about.hazards {
        writeln!(io.out, "hazard: {hazard}")?;
    }
    for left_out in &about.left_out {
        writeln!(io.out, "left out: {left_out}")?;
    }
    writeln!(io.out, "\nvariables (--set NAME=VALUE):")?;
    for variable in &pack.variables {
        let many = if variable.many { ", several" } else { "" };
        let default = match variable.default.as_slice() {
            [] => "no default".to_owned(),
            values => format!("default {}", values.join(", ")),
        };
        writeln!(
            io.out,
            "  {}: {} ({}{many}; {default})",
            variable.name,
            variable.question,
            variable.words()
        )?;
    }
    writeln!(io.out, "\n{}", pack.body.trim_end())?;
    Ok(Exit::Done)
}

fn about(pack: &Pack) -> Value {
    let mut about = json!(pack.about);
    about["sha256"] = json!(pack.digest.to_string());
    about
}

fn as_json(pack: &Pack, added: &Added) -> Value {
    json!({
        "version": added.version, "sha256": added.digest, "values": added.values, "edited": added.is_edited,
        "outdated": is_outdated(pack, added),
    })
}

fn is_outdated(pack: &Pack, added: &Added) -> bool {
    pack.digest.to_string() != added.digest
}

fn state(pack: &Pack, added: &Added) -> &'static str {
    match (added.is_edited, is_outdated(pack, added)) {
        (false, false) => "yes",
        (true, false) => "yes, edited",
        (false, true) => "yes, outdated",
        (true, true) => "edited, outdated",
    }
}
