//! Judges a rule by its `lines`: whether they exclude every harmful line of a file in the table.

use super::glob;
use super::table::Row;
use crate::finding::Severity;
use postern_policy::VerbId;
use postern_proto::root::v1 as root;

/// Whether no line that the rule lets through can be one that does harm. Lines bound writing, not removing.
pub(super) fn is_bounded(rule: &root::Rule, row: &Row) -> bool {
    // Settings may be indented: what comes first in the line counts.
    let both = |line: &str, harm: &str| {
        glob::both(line.trim_start(), glob::Star::Anything, harm, glob::Star::Anything)
    };
    // `lines` do not bind an owner or group that can change the file afterwards.
    let opens = |mode: &String| u32::from_str_radix(mode, 8).map_or(true, |bits| bits & 0o022 != 0);
    let is_given_away = rule.owners.iter().any(|name| name != "root") || rule.modes.iter().any(opens);
    // Whether a comment is one, the program decides.
    let is_commented = rule.comments && row.class.severity() == Severity::Error;
    !is_given_away
        && !is_commented
        && !row.lines.is_empty()
        && !rule.lines.is_empty()
        && !rule.lines.iter().any(|line| row.lines.iter().any(|harm| both(line, harm)))
}

/// Whether every line that the rule lets through begins with a fixed word that names no program, file or other place: a file that
/// the table does not know, whose settings the operator has listed.
pub(super) fn is_plain(rule: &root::Rule, verbs: &[VerbId]) -> bool {
    const TELLING: [&str; 29] = [
        "exec", "command", "cmd", "run", "script", "hook", "program", "prog", "path", "include", "module",
        "plugin", "load", "user", "group", "shell", "action", "dir", "file", "log", "pid", "socket", "lib",
        "import", "source", "url", "proxy", "server", "auth",
    ];
    let is_fixed = |line: &String| {
        let line = line.trim().to_ascii_lowercase();
        let fixed = line.split('*').next().unwrap_or_default();
        let is_comment = fixed.starts_with('#');
        (!fixed.is_empty() || line.is_empty())
            && !line.contains('/')
            && (is_comment || !TELLING.iter().any(|word| line.contains(word)))
    };
    let opens = |mode: &String| u32::from_str_radix(mode, 8).map_or(true, |bits| bits & 0o133 != 0);
    let keeps =
        [VerbId::FileWrite, VerbId::FilePatch, VerbId::FileRead, VerbId::FileList, VerbId::RequestUndo];
    !rule.lines.is_empty()
        && verbs.iter().all(|verb| keeps.contains(verb))
        && rule.lines.iter().all(is_fixed)
        && rule.owners.iter().all(|name| name == "root")
        && !rule.modes.iter().any(opens)
}
