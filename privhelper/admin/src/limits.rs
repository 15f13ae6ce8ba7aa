//! Describes the limits of a rule for people who do not know the keys.

use crate::policy::keys;
use postern_policy::{VerbId, window_words};
use postern_proto::root::v1 as root;
use serde::Serialize;

/// The default of `timeout`, which is not described.
const TIMEOUT_S: u64 = 600;

/// Stage a limit is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// On the request, before anything is touched.
    Request,
    /// Stage it is known what exactly would happen.
    Plan,
    /// While it is done.
    Run,
}

/// How far a limit goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Breadth {
    /// It narrows the grant.
    Narrow,
    /// It lets through what a reviewer should think about.
    Wide,
}

/// One limit of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// The key of the policy.
    pub key: &'static str,
    /// The sentence.
    pub words: String,
    /// Stage it is checked.
    pub when: Stage,
    /// How far it goes.
    pub reach: Breadth,
}

type Said = (Stage, Breadth, String);

/// Describes a key of a rule; nothing if it has its default.
type Words = fn(&root::Rule, &[root::Source]) -> Option<Said>;

/// Every limit of the vocabulary, in the order of output.
const LIMITS: &[(&str, Words)] = &[
    ("versions", |rule, _| {
        let others = rule.versions.join(", ");
        let others = if others.is_empty() { " only".to_owned() } else { format!(", or {others}") };
        Some(narrow(Stage::Request, format!("the candidate version{others}")))
    }),
    ("sources", |rule, known| Some(sources(rule, known))),
    ("max_new_packages", |rule, _| {
        let most = rule.max_new_packages;
        Some(narrow(Stage::Plan, format!("at most {most} new packages at once, dependencies included")))
    }),
    ("new_packages", |rule, _| {
        Some(flag(rule.new_packages, "upgrades may bring new packages", "upgrades bring no new packages"))
    }),
    ("allow_upgrades", |rule, _| {
        Some(flag(rule.allow_upgrades, "others may be upgraded with them", "upgrades no others"))
    }),
    ("allow_downgrades", |rule, _| Some(flag(rule.allow_downgrades, "may downgrade", "never downgrades"))),
    ("allow_removals", |rule, _| {
        Some(flag(rule.allow_removals, "others may be removed", "removes no others"))
    }),
    ("recommends", |rule, _| {
        Some(flag(rule.recommends, "recommended packages come too", "no recommended packages"))
    }),
    ("journal_lines", |rule, _| match rule.journal_lines {
        0 => Some(narrow(Stage::Request, "no line of the journal".to_owned())),
        lines => Some(wide(Stage::Request, format!("up to {lines} lines of the journal"))),
    }),
    ("allow_cascade", |rule, _| {
        Some(flag(rule.allow_cascade, "other units may change too", "other units may only start along"))
    }),
    ("max_bytes", |rule, _| Some(narrow(Stage::Request, format!("up to {}", size(rule.max_bytes))))),
    ("max_files", |rule, _| {
        let files = crate::text::count(rule.max_files as usize, "file");
        let is_patch = rule.verbs.iter().any(|verb| verb == VerbId::FilePatch.name());
        is_patch.then(|| narrow(Stage::Request, format!("at most {files} at once")))
    }),
    ("modes", |rule, _| Some(narrow(Stage::Request, format!("mode {}", any_of(&rule.modes))))),
    ("owners", |rule, _| Some(narrow(Stage::Request, format!("owner {}", any_of(&rule.owners))))),
    ("groups", |rule, _| Some(narrow(Stage::Request, format!("group {}", any_of(&rule.groups))))),
    ("allow_create", |rule, _| {
        let words = if rule.allow_create { "may make new files" } else { "changes existing files only" };
        Some(narrow(Stage::Plan, words.to_owned()))
    }),
    ("lines", |rule, _| {
        let lines = rule.lines.iter().map(|line| format!("`{line}`")).collect::<Vec<_>>();
        let is_some = !lines.is_empty();
        let comments = if rule.comments { ", or a comment" } else { "" };
        is_some.then(|| narrow(Stage::Request, format!("every line is {}{comments}", lines.join(" or "))))
    }),
    ("validate", |rule, _| {
        let command = &rule.validate;
        let is_some = !command.is_empty();
        is_some.then(|| narrow(Stage::Plan, format!("only if `{command}` agrees")))
    }),
    ("keep_for_undo", |rule, _| {
        let words = "the replaced content is not kept, so that it cannot be undone";
        rule.no_undo_copy.then(|| wide(Stage::Run, words.to_owned()))
    }),
    ("as", |rule, _| {
        let words = || format!("by a process of {}, which can change nothing else", rule.as_user);
        (!rule.as_user.is_empty()).then(|| narrow(Stage::Run, words()))
    }),
    ("rate", |rule, _| Some(narrow(Stage::Run, how_often(rule.rate_count, rule.rate_window_s)))),
    ("people", |rule, _| {
        let words = || format!("only where a session of {} is open and is quoted", any_of(&rule.people));
        (!rule.people.is_empty()).then(|| narrow(Stage::Request, words()))
    }),
    ("person_rate", |rule, _| {
        let words =
            || format!("{} for each person", how_often(rule.person_rate_count, rule.person_rate_window_s));
        (rule.person_rate_count > 0).then(|| narrow(Stage::Run, words()))
    }),
    ("approvers_exclude_asker", |rule, _| {
        let words = "the person who asks must have a session, and cannot approve".to_owned();
        rule.approvers_exclude_asker.then(|| narrow(Stage::Request, words))
    }),
    ("hours", |rule, _| {
        let windows = rule.hours.iter().map(window_words).collect::<Vec<_>>().join(", ");
        (!windows.is_empty()).then(|| narrow(Stage::Run, format!("only {windows}")))
    }),
    ("keep_within", |rule, _| {
        let words = format!("taken back unless it is kept within {}", duration(rule.keep_within_s));
        (rule.keep_within_s > 0).then(|| narrow(Stage::Run, words))
    }),
    ("timeout", |rule, _| {
        let words = format!("waits at most {} for locks and jobs", duration(rule.timeout_s));
        (rule.timeout_s != TIMEOUT_S).then_some(narrow(Stage::Run, words))
    }),
];

/// The limits of a rule for these of its verbs. A deny rule has none.
#[must_use]
pub fn limits(rule: &root::Rule, verbs: &[VerbId], sources: &[root::Source]) -> Vec<Limit> {
    if rule.decision() == root::Decision::Deny {
        return Vec::new();
    }
    let is_used = |name: &str| {
        let key = keys::RULE.iter().find(|key| key.name == name);
        key.is_some_and(|key| verbs.iter().any(|verb| (key.used_by)(*verb)))
    };
    let used = LIMITS.iter().filter(|(key, _)| is_used(key));
    let limit = |(key, words): &(&'static str, Words)| {
        words(rule, sources).map(|(when, reach, words)| Limit { key, words, when, reach })
    };
    used.filter_map(limit).collect()
}

fn narrow(when: Stage, words: String) -> Said {
    (when, Breadth::Narrow, words)
}

fn wide(when: Stage, words: String) -> Said {
    (when, Breadth::Wide, words)
}

/// A key that lets more through when it is set.
fn flag(set: bool, yes: &str, no: &str) -> Said {
    if set { wide(Stage::Plan, yes.to_owned()) } else { narrow(Stage::Plan, no.to_owned()) }
}

fn sources(rule: &root::Rule, sources: &[root::Source]) -> Said {
    if rule.sources.is_empty() {
        return wide(Stage::Plan, "from any configured source".to_owned());
    }
    let entries = |name: &String| {
        let source = sources.iter().find(|source| source.name == *name);
        source.map_or_else(|| name.clone(), |source| format!("{name} ({})", source.entries.join(", ")))
    };
    let named = rule.sources.iter().map(entries).collect::<Vec<_>>().join(", ");
    narrow(Stage::Plan, format!("only from {named}"))
}

fn how_often(count: u32, window_s: u64) -> String {
    match count {
        0 => "as often as asked".to_owned(),
        1 => format!("at most once in {}", duration(window_s)),
        count => format!("at most {count} times in {}", duration(window_s)),
    }
}

fn any_of(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(" or ") }
}

/// `1 MiB`, `300 KiB`, `1500 bytes`: exact.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}

/// `1 hour`, `10 minutes`, `90 seconds`: exact.
#[must_use]
pub fn duration(seconds: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(24 * 3600, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let unit = UNITS.iter().find(|(unit, _)| seconds >= *unit && seconds.is_multiple_of(*unit));
    let (unit, name) = unit.copied().unwrap_or((1, "second"));
    let number = seconds / unit;
    format!("{number} {name}{}", if number == 1 { "" } else { "s" })
}
