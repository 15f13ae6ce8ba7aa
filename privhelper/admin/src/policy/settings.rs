//! `[[source]]`, and the four tables of settings.

use super::keys;
use super::limits::{list, required_list};
use super::table::{At, Table};
use super::values;
use postern_proto::root::v1 as root;

/// A source as far as it could be read: its table, its name, its accepted form.
pub type ParsedSource<'a> = (Table<'a>, At<&'a str>, root::Source);

/// Reads one `[[source]]`.
#[must_use]
pub fn source(table: Table<'_>) -> Option<ParsedSource<'_>> {
    table.check_keys(keys::SOURCE);
    let name = table.required("name")?;
    if !values::is_id(name.value) {
        table.error(
            name.at,
            format!("{:?} is not a valid source name: use 1 to 64 of a-z, 0-9 and '-'", name.value),
        );
    }
    let wire = root::Source {
        name: name.value.to_owned(),
        entries: required_list(table, "entries", entry, "no package comes from there"),
        hosts: list(table, "hosts", host).unwrap_or_default(),
        signed_by: list(table, "signed_by", key).unwrap_or_default(),
    };
    Some((table, name, wire))
}

/// A file of apt's sources, or a line of one.
fn entry(text: &str) -> Result<(), String> {
    let (file, line) = text.rsplit_once(':').map_or((text, None), |(file, line)| (file, Some(line)));
    let is_line = line.is_none_or(|line| {
        (1..=6).contains(&line.len()) && !line.starts_with('0') && line.bytes().all(|b| b.is_ascii_digit())
    });
    let is_sources = file == "/etc/apt/sources.list"
        || file.strip_prefix("/etc/apt/sources.list.d/").is_some_and(|name| {
            !name.contains('/')
                && name.rsplit_once('.').is_some_and(|(_, form)| matches!(form, "list" | "sources"))
        });
    if is_line && is_sources {
        return values::path(file);
    }
    Err(format!(
        "{text:?} is not an entry of apt's sources: write a file such as \"/etc/apt/sources.list.d/debian.sources\", or FILE:LINE"
    ))
}

fn host(text: &str) -> Result<(), String> {
    if postern_policy::types::ParameterKind::Hostname.admits(text) {
        Ok(())
    } else {
        Err(format!("{text:?} is not a host name in lower case"))
    }
}

/// A key ring, or the fingerprint of a key.
fn key(text: &str) -> Result<(), String> {
    let is_fingerprint = text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'A'..=b'F'));
    if is_fingerprint {
        return Ok(());
    }
    values::path(text).map_err(|why| format!("{why}, or 40 digits of a fingerprint in 0-9 and A-F"))
}

/// The settings of the accepted form.
#[derive(Debug, Default)]
pub struct Settings {
    /// `[audit]`.
    pub audit: root::AuditLimits,
    /// `[undo]`.
    pub undo: root::UndoLimits,
    /// `[approvals]`.
    pub approvals: root::ApprovalLimits,
    /// `[protect]`.
    pub protect: root::Protect,
}

/// Reads the settings. Each table may be defined once, in any file.
#[must_use]
pub fn parse(files: &[Table<'_>]) -> Settings {
    Settings {
        audit: audit(one(files, "audit")),
        undo: undo(one(files, "undo")),
        approvals: approvals(one(files, "approvals")),
        protect: one(files, "protect").map(protect).unwrap_or_default(),
    }
}

/// The only table of this name in all files. Another one is reported.
fn one<'a>(files: &[Table<'a>], key: &str) -> Option<Table<'a>> {
    let mut first: Option<Table<'_>> = None;
    for file in files {
        let Some(table) = file.table(key, &format!("written as [{key}]")) else {
            continue;
        };
        match first {
            None => first = Some(table),
            Some(first) => {
                let (line, _) = first.source.position(first.at);
                table.error(table.at, format!("[{key}] is already defined at {}:{line}", first.source.name));
            }
        }
    }
    first
}

fn number(table: Option<Table<'_>>, key: &str, range: std::ops::RangeInclusive<u64>, default: u64) -> u64 {
    table.and_then(|table| table.number(key, range)).map_or(default, |number| number.value)
}

fn small(table: Option<Table<'_>>, key: &str, range: std::ops::RangeInclusive<u64>, default: u32) -> u32 {
    u32::try_from(number(table, key, range, default.into())).unwrap_or(default)
}

fn time(table: Option<Table<'_>>, key: &str, default: u64) -> u64 {
    let Some((table, text)) = table.and_then(|table| Some((table, table.text(key)?))) else {
        return default;
    };
    values::seconds(text.value).unwrap_or_else(|why| {
        table.error(text.at, why);
        default
    })
}

fn check(table: Option<Table<'_>>, keys: &[&str]) {
    if let Some(table) = table {
        table.check_keys(keys);
    }
}

fn audit(table: Option<Table<'_>>) -> root::AuditLimits {
    check(table, keys::AUDIT);
    root::AuditLimits {
        max_bytes: number(table, "max_bytes", 1024 * 1024..=1 << 40, 64 * 1024 * 1024),
        keep_files: small(table, "keep_files", 1..=10_000, 30),
        tip_interval_s: time(table, "tip_interval", 600),
        keep_days: small(table, "keep_days", 1..=36_500, 30),
        max_days: small(table, "max_days", 1..=3650, 30),
        records_per_minute: small(table, "records_per_minute", 1..=1_000_000, 60),
        records_per_hour: small(table, "records_per_hour", 1..=10_000_000, 2000),
    }
}

fn undo(table: Option<Table<'_>>) -> root::UndoLimits {
    check(table, keys::UNDO);
    root::UndoLimits {
        max_bytes: number(table, "max_bytes", 1..=1 << 40, 256 * 1024 * 1024),
        max_count: small(table, "max_count", 1..=1_000_000, 1000),
        max_age_s: time(table, "max_age", 30 * 24 * 3600),
    }
}

fn approvals(table: Option<Table<'_>>) -> root::ApprovalLimits {
    check(table, keys::APPROVALS);
    root::ApprovalLimits {
        max_pending: small(table, "max_pending", 1..=10_000, 100),
        max_pending_per_client: small(table, "max_pending_per_client", 1..=1000, 3),
    }
}

fn protect(table: Table<'_>) -> root::Protect {
    table.check_keys(keys::PROTECT);
    root::Protect {
        packages: list(table, "packages", values::package_pattern).unwrap_or_default(),
        units: list(table, "units", values::unit_pattern).unwrap_or_default(),
        paths: list(table, "paths", values::directory).unwrap_or_default(),
    }
}
