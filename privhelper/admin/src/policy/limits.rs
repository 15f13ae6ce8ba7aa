//! The limits of an allow or ask rule, with their defaults.

use super::hours;
use super::keys::{self, Kind};
use super::table::Table;
use super::values;
use postern_policy::{AS_USER_MAX, VerbId};
use postern_proto::root::v1 as root;
use std::ops::RangeInclusive;

/// Most bytes that a rule may name: 1 GiB.
const BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Longest `timeout`: a day, in seconds.
pub(super) const TIMEOUT_MAX_S: u64 = 24 * 3600;
/// `keep_within`, in seconds. The longest is well below the day for which undo copies and ids are kept.
const KEEP_S: RangeInclusive<u64> = 10..=12 * 60 * 60;

/// Fills in the limits of a rule, those that are written and those that are not.
pub fn fill(table: Table<'_>, verbs: &[VerbId], kind: Kind, wire: &mut root::Rule) {
    (wire.rate_count, wire.rate_window_s) = rate(table, "rate");
    (wire.person_rate_count, wire.person_rate_window_s) = rate(table, "person_rate");
    wire.people = list(table, "people", values::person).unwrap_or_default();
    match (table.place("people"), table.place("person_rate")) {
        (Some(at), _) if wire.people.is_empty() => {
            table.error(at, "`people` is empty: the rule is for nobody");
        }
        (None, Some(at)) => {
            let why = "`person_rate` without `people` limits nobody who opens no session: add `people`";
            table.error(at, why);
        }
        (Some(_) | None, _) => {}
    }
    wire.timeout_s = time(table, "timeout", 600);
    wire.hours = hours::windows(table);
    keep_within(table, verbs, wire);
    if wire.decision() == root::Decision::Ask {
        wire.approval_ttl_s = time(table, "approval_ttl", 15 * 60);
        let approvers = table.number("approvers", 1..=5).map_or(1, |number| number.value);
        wire.approvers = u32::try_from(approvers).unwrap_or(1);
        wire.approvers_exclude_asker = table.flag("approvers_exclude_asker").unwrap_or(false);
    }
    match kind {
        Kind::Nothing | Kind::Commands => {}
        Kind::Packages => packages(table, verbs, wire),
        Kind::Units => {
            wire.allow_cascade = table.flag("allow_cascade").unwrap_or(false);
            let lines = table.number("journal_lines", 0..=100_000);
            wire.journal_lines = lines.and_then(|lines| u32::try_from(lines.value).ok()).unwrap_or(0);
        }
        Kind::Files => files(table, verbs, wire),
    }
}

/// `keep_within`: every verb with an effect must have an inverse.
fn keep_within(table: Table<'_>, verbs: &[VerbId], wire: &mut root::Rule) {
    let Some(at) = table.place("keep_within") else { return };
    wire.keep_within_s = time(table, "keep_within", 0);
    if wire.keep_within_s > 0 && !KEEP_S.contains(&wire.keep_within_s) {
        let why = "`keep_within` must be from 10 s, in which somebody can still run a command, to 12 h";
        table.error(at, why);
    }
    let lasting = |verb: &&VerbId| verb.is_effect() && **verb != VerbId::RequestUndo && !verb.has_inverse();
    if let Some(verb) = verbs.iter().find(lasting) {
        let name = verb.name();
        table.error(at, format!("`keep_within`: nothing takes {name} back; write a rule of its own for it"));
    }
    if table.flag("keep_for_undo") == Some(false) {
        table.error(at, "`keep_within` needs the replaced content: remove `keep_for_undo = false`");
    }
}

/// Count and seconds of a rate; 0 = none.
fn rate(table: Table<'_>, key: &str) -> (u32, u64) {
    let Some(text) = table.text(key) else { return (0, 0) };
    values::rate(text.value).unwrap_or_else(|why| {
        table.error(text.at, why);
        (0, 0)
    })
}

/// A time of at most a day, in seconds.
pub(super) fn time(table: Table<'_>, key: &str, default: u64) -> u64 {
    let Some(text) = table.text(key) else {
        return default;
    };
    match values::seconds(text.value) {
        Ok(seconds) if seconds <= TIMEOUT_MAX_S => return seconds,
        Ok(_) => table.error(text.at, format!("`{key}` is longer than a day")),
        Err(why) => table.error(text.at, why),
    }
    default
}

fn packages(table: Table<'_>, verbs: &[VerbId], wire: &mut root::Rule) {
    let installs = verbs.contains(&VerbId::PackageInstall);
    let upgrades = verbs.contains(&VerbId::PackageUpgrade);
    wire.versions = list(table, "versions", values::pattern).unwrap_or_default();
    wire.sources = list(table, "sources", |_| Ok(())).unwrap_or_default();
    if let Some(at) = table.place("sources")
        && wire.sources.is_empty()
    {
        table.error(at, "`sources` is empty: no package would come from anywhere");
    }
    wire.max_new_packages = small(table, "max_new_packages", if installs { 50 } else { 0 });
    wire.allow_upgrades = table.flag("allow_upgrades").unwrap_or(false);
    wire.allow_removals = table.flag("allow_removals").unwrap_or(false);
    wire.allow_downgrades = table.flag("allow_downgrades").unwrap_or(false);
    wire.recommends = table.flag("recommends").unwrap_or(false);
    wire.new_packages = table.flag("new_packages").unwrap_or(false);
    if upgrades
        && wire.new_packages
        && wire.max_new_packages == 0
        && let Some(at) = table.place("new_packages")
    {
        table.error(
            at,
            "`new_packages` has no effect while `max_new_packages` is 0, its default for upgrades: set both",
        );
    }
}

fn files(table: Table<'_>, verbs: &[VerbId], wire: &mut root::Rule) {
    let some = |uses: fn(VerbId) -> bool| verbs.iter().any(|verb| uses(*verb));
    wire.max_bytes = table.number("max_bytes", 0..=BYTES_MAX).map_or(1024 * 1024, |bytes| bytes.value);
    if some(keys::sets_mode) {
        wire.modes = modes(table, verbs);
    }
    if some(keys::sets_owner) {
        wire.owners = list(table, "owners", values::account).unwrap_or_else(|| vec!["root".to_owned()]);
        wire.groups = list(table, "groups", values::account).unwrap_or_else(|| vec!["root".to_owned()]);
    }
    // Without a verb that writes there is no such key: a grant of new directories makes new ones.
    wire.allow_create = verbs.contains(&VerbId::FileMkdir);
    if some(keys::is_write) {
        wire.max_files = small(table, "max_files", 20);
        wire.allow_create = table.flag("allow_create").unwrap_or(true);
        lines(table, wire);
    }
    if let Some(command) = table.text("validate") {
        command.value.clone_into(&mut wire.validate);
    }
    wire.no_undo_copy = table.flag("keep_for_undo") == Some(false);
    as_user(table, verbs, wire);
}

/// `as`: a process of this user works on existing files, and changes nothing but content.
fn as_user(table: Table<'_>, verbs: &[VerbId], wire: &mut root::Rule) {
    let Some(user) = table.text("as") else { return };
    if let Err(why) = values::account(user.value) {
        table.error(user.at, why);
    }
    let is_done = |verb: &&VerbId| matches!(verb, VerbId::FileRead | VerbId::FileWrite | VerbId::RequestUndo);
    if let Some(verb) = verbs.iter().find(|verb| !is_done(verb)) {
        let why = format!("`as`: only file.read and file.write are done as a user, not {}", verb.name());
        table.error(user.at, why);
    }
    for key in ["modes", "owners", "groups", "validate", "keep_within"] {
        if let Some(at) = table.place(key) {
            table.error(
                at,
                format!("`{key}` cannot be kept with `as`, which only gives existing files new content"),
            );
        }
    }
    if let Some(at) = table.place("allow_create").filter(|_| wire.allow_create) {
        table.error(at, "`allow_create`: with `as` only existing files are changed");
    }
    if wire.max_bytes > AS_USER_MAX {
        table.error(table.place("max_bytes").unwrap_or(user.at), "`as`: `max_bytes` is 1 MiB at most");
    }
    user.value.clone_into(&mut wire.as_user);
    (wire.modes, wire.owners, wire.groups) = (Vec::new(), Vec::new(), Vec::new());
    wire.allow_create = false;
}

/// The lines that may be written. An empty one is permitted and changes nothing: blank lines always pass.
fn lines(table: Table<'_>, wire: &mut root::Rule) {
    let texts = table.texts("lines").unwrap_or_default();
    for text in texts.iter().filter(|text| !text.value.is_empty()) {
        if let Err(why) = values::text_pattern(text.value) {
            table.error(text.at, why);
        }
        warn_of_regex(table, text.at, text.value);
    }
    wire.lines = texts.iter().map(|text| text.value.to_owned()).filter(|text| !text.is_empty()).collect();
    wire.comments = table.flag("comments").unwrap_or(false);
    if let Some(at) = table.place("lines").filter(|_| wire.lines.is_empty()) {
        table.error(at, "`lines` is empty: no file could be written");
    }
    if let Some(at) = table.place("comments").filter(|_| wire.lines.is_empty()) {
        table.error(at, "`comments` has no effect without `lines`: remove it");
    }
}

/// The modes, which have a default for new content and another for directories, and none for `file.set-mode`.
fn modes(table: Table<'_>, verbs: &[VerbId]) -> Vec<String> {
    if let Some(modes) = list(table, "modes", values::mode) {
        return modes;
    }
    let writes = verbs.iter().any(|verb| keys::is_write(*verb));
    let (makes, sets) = (verbs.contains(&VerbId::FileMkdir), verbs.contains(&VerbId::FileSetMode));
    if table.place("modes").is_none() && (sets || (writes && makes)) {
        let why = if sets {
            "`modes` is missing: without it `file.set-mode` can set none"
        } else {
            "`modes` is missing: its default is another for files (0644) than for directories (0755)"
        };
        table.error(table.at, why);
    }
    vec![if writes { "0644" } else { "0755" }.to_owned()]
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

/// As [`list`] for a list that must be there and not be empty; without it there is nothing that matches.
pub(super) fn required_list(
    table: Table<'_>,
    key: &str,
    check: impl Fn(&str) -> Result<(), String>,
    without: &str,
) -> Vec<String> {
    match table.place(key) {
        None => table.error(table.at, format!("`{key}` is missing: without it {without}")),
        Some(at) => {
            let texts = list(table, key, check);
            if texts.as_ref().is_some_and(Vec::is_empty) {
                table.error(at, format!("`{key}` is empty: {without}"));
            }
            return texts.unwrap_or_default();
        }
    }
    Vec::new()
}

/// Warns of a pattern that is written as a regular expression: it would match these characters and nothing else.
pub(super) fn warn_of_regex(table: Table<'_>, at: usize, pattern: &str) {
    let is_regex = pattern.starts_with('^')
        || pattern.ends_with('$')
        || [".*", ".+", "[a-z", "[A-Z", "[0-9", "(?", "\\d", "\\w", "\\s", "\\."]
            .iter()
            .any(|part| pattern.contains(part));
    if is_regex {
        let why = format!(
            "{pattern:?} reads like a regular expression: in a pattern only `*` is special, and all else is itself"
        );
        table.warn(at, why);
    }
}
