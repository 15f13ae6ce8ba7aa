//! The limits of an allow rule, with their defaults (CONTRACTS 5).

use super::keys::Kind;
use super::table::Table;
use super::values;
use postern_helper::types::{FileMode, UserName};
use postern_helper::verb_id::VerbId;
use postern_proto::root::v1 as root;

/// Most bytes that a rule may name: 1 GiB.
const BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Longest `timeout`: a day, in seconds.
const TIMEOUT_MAX_S: u64 = 24 * 3600;

/// Fills in the limits of a rule, those that are written and those that are not.
pub fn fill(table: Table<'_>, verbs: &[VerbId], kind: Kind, wire: &mut root::Rule) {
    if let Some(rate) = table.text("rate") {
        match values::rate(rate.value) {
            Ok(pair) => (wire.rate_count, wire.rate_window_s) = pair,
            Err(why) => table.error(rate.at, why),
        }
    }
    wire.timeout_s = 600;
    if let Some(timeout) = table.text("timeout") {
        match values::seconds(timeout.value) {
            Ok(seconds) if seconds <= TIMEOUT_MAX_S => wire.timeout_s = seconds,
            Ok(_) => table.error(timeout.at, "`timeout` is longer than a day"),
            Err(why) => table.error(timeout.at, why),
        }
    }
    if wire.decision() == root::Decision::Ask {
        approval(table, wire);
    }
    match kind {
        Kind::Packages if verbs.contains(&VerbId::PackageInstall) => packages(table, wire),
        Kind::Nothing | Kind::Packages => {}
        Kind::Units => {
            wire.allow_cascade = table.flag("allow_cascade").unwrap_or(false);
            if let Some(lines) = table.number("journal_lines", 0..=100_000).filter(|lines| lines.value > 0) {
                table.error(lines.at, "`journal_lines` above 0 is not built yet: remove it");
            }
        }
        Kind::Files => files(table, verbs, wire),
    }
}

/// How long a request waits for people, and for how many.
fn approval(table: Table<'_>, wire: &mut root::Rule) {
    wire.approval_ttl_s = 15 * 60;
    if let Some(ttl) = table.text("approval_ttl") {
        match values::seconds(ttl.value) {
            Ok(seconds) if seconds <= TIMEOUT_MAX_S => wire.approval_ttl_s = seconds,
            Ok(_) => table.error(ttl.at, "`approval_ttl` is longer than a day"),
            Err(why) => table.error(ttl.at, why),
        }
    }
    let approvers = table.number("approvers", 1..=5).map_or(1, |number| number.value);
    wire.approvers = u32::try_from(approvers).unwrap_or(1);
}

fn packages(table: Table<'_>, wire: &mut root::Rule) {
    wire.versions = list(table, "versions", values::pattern).unwrap_or_default();
    wire.max_new_packages = small(table, "max_new_packages", 50);
    wire.allow_upgrades = table.flag("allow_upgrades").unwrap_or(false);
    wire.allow_removals = table.flag("allow_removals").unwrap_or(false);
    wire.allow_downgrades = table.flag("allow_downgrades").unwrap_or(false);
    wire.recommends = table.flag("recommends").unwrap_or(false);
}

fn files(table: Table<'_>, verbs: &[VerbId], wire: &mut root::Rule) {
    wire.max_bytes = table.number("max_bytes", 0..=BYTES_MAX).map_or(1024 * 1024, |bytes| bytes.value);
    if !verbs.contains(&VerbId::FileWrite) {
        return;
    }
    let mode = |text: &str| FileMode::new(text).map(drop).map_err(|invalid| format!("{text:?}: {invalid}"));
    let name = |text: &str| match UserName::new("name", text) {
        Ok(_) => Ok(()),
        Err(invalid) => Err(format!("{text:?} {}", invalid.why)),
    };
    wire.modes = list(table, "modes", mode).unwrap_or_else(|| vec!["0644".to_owned()]);
    wire.owners = list(table, "owners", name).unwrap_or_else(|| vec!["root".to_owned()]);
    wire.groups = list(table, "groups", name).unwrap_or_else(|| vec!["root".to_owned()]);
    wire.max_files = small(table, "max_files", 20);
    wire.allow_create = table.flag("allow_create").unwrap_or(true);
}

fn small(table: Table<'_>, key: &str, default: u32) -> u32 {
    table.number(key, 0..=10_000).and_then(|number| u32::try_from(number.value).ok()).unwrap_or(default)
}

/// A list of texts each of which is checked. Absent or no list (reported) is none.
pub(super) fn list(
    table: Table<'_>,
    key: &str,
    check: impl Fn(&str) -> Result<(), String>,
) -> Option<Vec<String>> {
    let texts = table.texts(key)?;
    for text in &texts {
        if let Err(why) = check(text.value) {
            table.error(text.at, why);
        }
    }
    Some(texts.iter().map(|text| text.value.to_owned()).collect())
}
