//! Compares the paths, packages and units that a text names with those that calls touched.
//!
//! Made for a model's own account of its work. Where a word cannot be told from a name, it counts as one: what
//! is struck out wrongly is looked at again, what is believed wrongly is not.

use serde_json::Value;
use std::collections::BTreeSet;

/// Words after which names of packages or units stand.
const BEFORE: &[&str] = &[
    "install", "remov", "purg", "upgrad", "package", "start", "restart", "stop", "reload", "enabl", "disabl",
    "mask", "unmask", "service", "unit",
];
/// Words that something was done, not only looked at.
const DOING: &[&str] = &[
    "install", "remov", "purg", "upgrad", "start", "restart", "stop", "reload", "enabl", "disabl", "mask",
    "unmask", "wrote", "writ", "creat", "chang", "edit", "updat", "configur", "delet", "replac", "append",
    "add", "set", "fix", "deploy", "patch", "made", "modif",
];
/// Words between them that are no names.
const FILLERS: &[&str] = &[
    "the",
    "a",
    "an",
    "package",
    "packages",
    "service",
    "services",
    "unit",
    "units",
    "successfully",
    "both",
    "of",
    "file",
    "files",
    "new",
    "also",
    "and",
    "it",
    "its",
    "that",
    "this",
    "all",
    "everything",
];
/// Words with which a list of names is over.
const ENDS: &[&str] = &[
    "on",
    "for",
    "to",
    "in",
    "into",
    "with",
    "from",
    "at",
    "by",
    "via",
    "using",
    "as",
    "is",
    "are",
    "was",
    "were",
    "has",
    "have",
    "again",
    "after",
    "before",
    "so",
    "because",
    "but",
    "now",
    "then",
    "not",
    "or",
    "if",
    "when",
    "while",
    "up",
    "down",
    "running",
    "active",
    "installed",
    "failed",
    "works",
    "works.",
];
/// States that a name before `is` or `was` is said to be in.
const STATES: &[&str] = &[
    "running",
    "active",
    "installed",
    "enabled",
    "disabled",
    "started",
    "restarted",
    "reloaded",
    "stopped",
    "up",
    "removed",
    "masked",
    "configured",
];

/// Names in the arguments of successful calls.
#[derive(Clone, Debug, Default)]
pub struct Known {
    changed: BTreeSet<String>,
    seen: BTreeSet<String>,
}

impl Known {
    /// A call went well with these names in its arguments.
    pub fn took(&mut self, names: BTreeSet<String>, is_effect: bool) {
        if is_effect {
            self.changed.extend(names.iter().cloned());
        }
        self.seen.extend(names);
    }

    /// Holds one statement against it.
    ///
    /// # Errors
    /// The names in it that no call touched, or that were only looked at where it says that something was done.
    pub fn bears_out(&self, statement: &str) -> Result<Evidence, Vec<String>> {
        let claimed = claims(statement);
        let is_doing = words(statement).any(|word| stem(&word.to_lowercase(), DOING));
        let touched = if is_doing { &self.changed } else { &self.seen };
        let untouched: Vec<String> =
            claimed.iter().filter(|name| !touched.contains(*name)).cloned().collect();
        match (claimed.is_empty(), untouched.is_empty()) {
            (true, _) => Ok(Evidence::NamesNothing),
            (false, true) => Ok(Evidence::Complete),
            (false, false) => Err(untouched),
        }
    }
}

/// How far a statement that is not struck out is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// All that it names was touched.
    Complete,
    /// It names nothing that could be held against the log.
    NamesNothing,
}

/// The names in a call's arguments.
#[must_use]
pub fn names_of(args: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    collect("", args, &mut names);
    names
}

fn collect(key: &str, value: &Value, names: &mut BTreeSet<String>) {
    match value {
        // Names in a file's new content were not touched.
        Value::String(_) if key == "content" => {}
        Value::String(diff) if key == "diff" => {
            let heads =
                diff.lines().filter_map(|line| line.strip_prefix("+++ ").or(line.strip_prefix("--- ")));
            names.extend(heads.map(|path| {
                let path = path.split('\t').next().unwrap_or(path);
                name(path.strip_prefix("a/").or(path.strip_prefix("b/")).unwrap_or(path))
            }));
        }
        Value::String(text) => names.extend(words(text).map(name)),
        Value::Array(items) => items.iter().for_each(|item| collect(key, item, names)),
        Value::Object(members) => members.iter().for_each(|(key, value)| collect(key, value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The paths, packages and units that a statement names.
fn claims(statement: &str) -> BTreeSet<String> {
    let words: Vec<&str> = words(statement).collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let mut claims: BTreeSet<String> =
        words.iter().filter(|word| is_path(word) || has_suffix(word)).map(|word| name(word)).collect();
    for (index, word) in lower.iter().enumerate() {
        if stem(word, BEFORE) {
            claims.extend(list_after(&lower[index + 1..]));
        }
        let is_state = |word: Option<&String>| word.is_some_and(|word| STATES.contains(&word.as_str()));
        let rest = lower.get(index + 1..).unwrap_or_default();
        let says_state = match rest.first().map(String::as_str) {
            Some("is" | "was" | "are") => rest.iter().skip(1).take(2).any(|word| is_state(Some(word))),
            Some("runs") => true,
            Some(_) | None => false,
        };
        if says_state && is_name(word) && !FILLERS.contains(&word.as_str()) {
            claims.insert(name(word));
        }
    }
    claims
}

/// The names up to a word that ends a list of them.
fn list_after(words: &[String]) -> impl Iterator<Item = String> {
    let named = words
        .iter()
        .take_while(|word| !ENDS.contains(&word.as_str()))
        .filter(|word| !FILLERS.contains(&word.as_str()) && is_name(word));
    named.map(|word| name(word))
}

/// The words of a text without the signs around them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| c.is_whitespace() || ",;()\"'`<>[]{}".contains(c));
    parts.map(|word| word.trim_end_matches(['.', ':', '!', '?'])).filter(|word| !word.is_empty())
}

fn stem(word: &str, stems: &[&str]) -> bool {
    const ENDINGS: &[&str] = &[
        "", "s", "e", "es", "ed", "d", "ing", "ped", "ping", "ten", "ting", "led", "y", "ied", "al", "ation",
    ];
    stems.iter().any(|stem| word.strip_prefix(stem).is_some_and(|rest| ENDINGS.contains(&rest)))
}

fn is_path(word: &str) -> bool {
    word.len() > 1 && word.starts_with('/')
}

fn has_suffix(word: &str) -> bool {
    [".service", ".socket", ".timer", ".target", ".path", ".mount"]
        .iter()
        .any(|suffix| word.ends_with(suffix))
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "+-._@=:~".contains(c))
}

/// A name as it is compared: a service is the same with and without its suffix, a package with any version.
fn name(word: &str) -> String {
    if is_path(word) {
        return word.trim_end_matches('/').to_owned();
    }
    let bare = word.split('=').next().unwrap_or(word);
    bare.strip_suffix(".service").unwrap_or(bare).to_lowercase()
}
