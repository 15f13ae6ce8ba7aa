//! Why a rule does not match a request.

use super::request::Target;
use postern_policy::types::Pattern;
use postern_policy::{Rule, VerbId};
use postern_proto::root::v1 as root;

/// Most patterns of one rule that are gone into.
const PATTERNS: usize = 3;

/// In which of client, verb and object a rule differs from what is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mismatch {
    /// It is another client's.
    pub client: Option<String>,
    /// It names other verbs.
    pub verb: Option<String>,
    /// It is about other objects.
    pub object: Vec<String>,
    /// It is for people, none of whom has a session that was quoted.
    pub people: Option<String>,
}

impl Mismatch {
    /// How many of the three differ. 1 is near.
    #[must_use]
    pub fn distance(&self) -> usize {
        usize::from(self.client.is_some())
            + usize::from(self.verb.is_some())
            + usize::from(!self.object.is_empty())
            + usize::from(self.people.is_some())
    }

    /// All of it in words.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        self.client.iter().chain(&self.verb).chain(&self.object).chain(&self.people).cloned().collect()
    }
}

/// Compares a rule with this verb and target for these clients; `is_for` says whether it is for the person, if any.
#[must_use]
pub fn mismatch(
    rule: &root::Rule,
    clients: &[String],
    (verb, target): (VerbId, &Target),
    is_for: bool,
) -> Mismatch {
    let client = (!clients.contains(&rule.client))
        .then(|| format!("it is for client {}, not for {}", rule.client, clients.join("+")));
    let speaks = rule.verbs.iter().any(|name| name == verb.name());
    let verb_words = (!speaks).then(|| format!("it grants {}, not {}", rule.verbs.join(", "), verb.name()));
    // The helper's own selector, asked as if the rule named the verb.
    let as_if = root::Rule { verbs: vec![verb.name().to_owned()], ..rule.clone() };
    let selects = match (Rule::new(&as_if), target.object()) {
        (Ok(rule), Ok(object)) => rule.selects(verb, &object),
        (Err(_), _) | (_, Err(_)) => false,
    };
    let object = if selects { Vec::new() } else { object(rule, verb, target) };
    let people =
        (!is_for).then(|| format!("it is for {} with an open session (`people`)", rule.people.join(", ")));
    Mismatch { client, verb: verb_words, object, people }
}

/// Why the rule does not select the target.
fn object(rule: &root::Rule, verb: VerbId, target: &Target) -> Vec<String> {
    let kind = [
        (!rule.packages.is_empty(), "packages"),
        (!rule.units.is_empty(), "units"),
        (!rule.directories.is_empty(), "files"),
        (!rule.commands.is_empty(), "commands"),
    ];
    let is = kind.iter().find(|(is, _)| *is).map_or("nothing but the verb", |(_, name)| name);
    match target {
        Target::Package(name, _) if is == "packages" => {
            patterns(&rule.packages, |pattern| package(pattern, name))
        }
        Target::AllPackages if is == "packages" => vec!["only the pattern `*` is all packages".to_owned()],
        Target::Unit(name) if is == "units" => patterns(&rule.units, |pattern| unit(pattern, name)),
        Target::File(file) if is == "files" => path(rule, verb, &file.path),
        Target::Command(name, parameters) if is == "commands" => command(rule, name, parameters),
        Target::Undo(id) => vec![format!("it lets its own decisions be undone, not those of {id}")],
        Target::Nothing
        | Target::Package(..)
        | Target::AllPackages
        | Target::Unit(_)
        | Target::File(_)
        | Target::Command(..) => vec![format!("it is about {is}")],
    }
}

/// The command's name, or the parameters that the rule narrows.
fn command(rule: &root::Rule, name: &str, parameters: &[(String, String)]) -> Vec<String> {
    let matches = |pattern: &String| Pattern::new(pattern).is_ok_and(|pattern| pattern.matches(name));
    if !rule.commands.iter().any(matches) {
        return patterns(&rule.commands, |pattern| package(pattern, name));
    }
    let lacks = |grant: &&root::ParameterGrant| {
        let value = parameters.iter().find(|(key, _)| *key == grant.name).map(|(_, value)| value);
        let fits = |value: &String| {
            let of = |pattern: &String| Pattern::of_text(pattern).is_ok_and(|pattern| pattern.matches(value));
            grant.patterns.iter().any(of)
        };
        !value.is_some_and(fits)
    };
    // The value may be a secret: it is not repeated.
    let words =
        |grant: &root::ParameterGrant| format!("{} must be {}", grant.name, grant.patterns.join(" or "));
    rule.parameters.iter().filter(lacks).map(words).collect()
}

/// One line a pattern, those that share the longest beginning with the name first; the rest as a number.
fn patterns(all: &[String], why: impl Fn(&str) -> (usize, String)) -> Vec<String> {
    let mut reasons = all.iter().map(|pattern| why(pattern)).collect::<Vec<_>>();
    reasons.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    let more = reasons.len().saturating_sub(PATTERNS);
    let mut lines = reasons.into_iter().take(PATTERNS).map(|(_, line)| line).collect::<Vec<_>>();
    if more > 0 {
        lines.push(format!("nor does any of its {more} other patterns match"));
    }
    lines
}

fn package(pattern: &str, name: &str) -> (usize, String) {
    (shared(pattern, name), pattern_mismatch(pattern, name, '/'))
}

fn unit(pattern: &str, name: &str) -> (usize, String) {
    (shared(pattern, name), pattern_mismatch(pattern, name, '@'))
}

fn shared(pattern: &str, name: &str) -> usize {
    pattern.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count()
}

/// Why a pattern does not match a text: `*` is any run of characters but `stop` and `/`.
fn pattern_mismatch(pattern: &str, text: &str, stop: char) -> String {
    let Some((head, rest)) = pattern.split_once('*') else {
        return format!("`{pattern}` is another name");
    };
    let tail = rest.rsplit_once('*').map_or(rest, |(_, tail)| tail);
    if !text.starts_with(head) {
        return format!("`{pattern}` begins with {head:?}");
    }
    if !text.ends_with(tail) {
        return format!("`{pattern}` ends in {tail:?}");
    }
    if text.contains(stop) && !pattern.contains(stop) {
        return format!("`{pattern}`: `*` does not cross {stop:?}");
    }
    format!("`{pattern}` does not match")
}

/// Each directory of the rule, and where below it the path fails.
fn path(rule: &root::Rule, verb: VerbId, path: &str) -> Vec<String> {
    let is_listed = verb == VerbId::FileList;
    let below = |directory: &String| path.strip_prefix(directory.as_str())?.strip_prefix('/');
    let mut lines = Vec::new();
    for (directory, rest) in rule.directories.iter().filter_map(|d| below(d).map(|rest| (d, rest))) {
        let (parents, name) = match rest.rsplit_once('/') {
            _ if is_listed => (rest, None),
            Some((parents, name)) => (parents, Some(name)),
            None => ("", Some(rest)),
        };
        // `file.list` needs the children within reach.
        let levels = rest.split('/').count() + usize::from(is_listed);
        if levels > rule.depth as usize {
            let what = if is_listed { "what it holds" } else { "the file" };
            lines.push(format!("depth {}: {what} is {levels} levels below {directory}", rule.depth));
        }
        if let Some(hidden) = parents.split('/').find(|part| part.starts_with('.')) {
            lines.push(format!("{hidden:?} is a hidden directory, and a rule reaches into none"));
        }
        if let Some(name) = name.filter(|name| !rule.files.iter().any(|pattern| matches_file(pattern, name)))
        {
            lines.extend(patterns(&rule.files, |pattern| {
                (shared(pattern, name), mismatch_file(pattern, name))
            }));
        }
    }
    if lines.is_empty() {
        lines.push(format!("it is not below {}", rule.directories.join(", ")));
    }
    lines
}

fn matches_file(pattern: &str, name: &str) -> bool {
    Pattern::new(pattern).is_ok_and(|pattern| pattern.matches_file(name))
}

fn mismatch_file(pattern: &str, name: &str) -> String {
    if pattern.starts_with('*') && name.starts_with('.') {
        return format!("`{pattern}`: `*` takes no leading dot");
    }
    pattern_mismatch(pattern, name, '/')
}
