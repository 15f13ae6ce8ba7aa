//! Placeholders: `${name}` in the texts of a runbook.

use crate::plan::split;
use crate::shell_parser::wrappers::WRAPPERS;
use std::collections::BTreeMap;

/// Values by the names of their parameters.
pub type Values = BTreeMap<String, String>;

/// A piece of a text.
enum Part<'t> {
    Text(&'t str),
    Value(&'t str),
}

/// Whether a name is one of a parameter.
pub fn is_name(name: &str) -> bool {
    name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn parts(text: &str) -> Result<Vec<Part<'_>>, String> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find("${") {
        let (before, after) = rest.split_at(at);
        let inside = after.get(2..).unwrap_or_default();
        let Some((name, more)) = inside.split_once('}').filter(|(name, _)| is_name(name)) else {
            return Err(format!("{text:?}: ${{ begins no placeholder such as ${{unit}}"));
        };
        parts.extend([Part::Text(before), Part::Value(name)]);
        rest = more;
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

/// The parameters that a text names.
///
/// # Errors
/// A placeholder that is none.
pub fn names(text: &str) -> Result<Vec<String>, String> {
    let named = parts(text)?.into_iter().filter_map(|part| match part {
        Part::Value(name) => Some(name.to_owned()),
        Part::Text(_) => None,
    });
    Ok(named.collect())
}

/// Fills a text that is no command.
///
/// # Errors
/// A placeholder without a value.
pub fn filled(text: &str, values: &Values) -> Result<String, String> {
    let mut whole = String::new();
    for part in parts(text)? {
        whole.push_str(match part {
            Part::Text(text) => text,
            Part::Value(name) => value(values, name)?,
        });
    }
    Ok(whole)
}

fn value<'v>(values: &'v Values, name: &str) -> Result<&'v str, String> {
    values.get(name).map(String::as_str).ok_or_else(|| format!("${{{name}}}: no value is given for {name}"))
}

/// Fills a command. Its words are known before its values are: a value is a part of one word, whatever it holds.
///
/// # Errors
/// A placeholder without a value, words that need a shell, or a program that would read a value as a program.
pub fn command(text: &str, values: &Values) -> Result<String, String> {
    let parts = parts(text)?;
    if parts.len() == 1 {
        return Ok(text.to_owned());
    }
    // No word of a runbook holds this character: it would be a hostile one.
    let mut marked = String::new();
    let mut used = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => marked.push_str(text),
            Part::Value(name) => {
                marked.push_str(&mark(used.len()));
                used.push(value(values, name)?);
            }
        }
    }
    if text.contains(MARK) {
        return Err(format!("{text:?} holds {MARK:?}, which marks values here"));
    }
    let words = split(&marked)?;
    let program = words.first().map(String::as_str).unwrap_or_default();
    if program.contains(MARK) {
        return Err(format!("{text:?}: a value is never the program itself"));
    }
    let reader = if starts_programs(program) {
        Some(program)
    } else {
        words.iter().map(String::as_str).find(|word| is_interpreter(word))
    };
    if let Some(reader) = reader {
        return Err(format!(
            "{text:?}: {reader} could read a value as a program: no placeholder in its command"
        ));
    }
    let filled: Vec<String> = words.iter().map(|word| unmarked(word, &used)).collect();
    // A negative number is a value too.
    if words.iter().zip(&filled).any(|(word, filled)| word.starts_with(MARK) && filled.starts_with('-')) {
        return Err(format!("{text:?}: a value that begins with - would be an option"));
    }
    let line = filled.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    // The plan's own splitter reads it again.
    if split(&line)? != filled {
        return Err(format!("{text:?}: a value would change the words of the command"));
    }
    Ok(line)
}

const MARK: &str = "=POSTERN=VALUE=";

fn mark(at: usize) -> String {
    format!("{MARK}{at}=")
}

/// A word with its values, none of which is looked at again.
fn unmarked(word: &str, values: &[&str]) -> String {
    let mut pieces = word.split(MARK);
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (at, rest) = piece.split_once('=').unwrap_or((piece, ""));
        whole.push_str(at.parse::<usize>().ok().and_then(|at| values.get(at)).copied().unwrap_or_default());
        whole.push_str(rest);
    }
    whole
}

/// Programs that read one of their arguments as a program.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "busybox", "toybox", "python", "pypy", "perl",
    "ruby", "node", "nodejs", "php", "lua", "luajit", "awk", "gawk", "mawk", "tclsh", "expect", "gdb",
];
/// Those whose arguments can name a program to start.
const STARTERS: &[&str] =
    &["find", "sed", "ed", "ex", "vi", "vim", "make", "tar", "git", "rsync", "dc", "bc"];

fn base(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or_default();
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
}

fn is_interpreter(word: &str) -> bool {
    INTERPRETERS.contains(&base(word))
}

fn starts_programs(word: &str) -> bool {
    is_interpreter(word) || STARTERS.contains(&base(word)) || WRAPPERS.contains_key(base(word))
}

/// A word as it is written in a plan's command.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:@,+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}
