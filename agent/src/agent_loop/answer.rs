//! Marks quoted tool calls and dangerous commands in the model's final text: such a call was not run, and such a
//! command should not be typed.

use crate::shell_policy::{Level, Rules};
use regex::Regex;
use std::sync::LazyLock;

/// Text that is a command, most likely: in backquotes, after a prompt, or beginning as commands with power do.
static COMMANDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?m)```[a-z]*\n(?P<block>[^`]*)```|`(?P<quoted>[^`\n]+)`|^[ \t]*[$#][ \t]+(?P<typed>[^\n]+)$|(?P<bare>\b(?:sudo|doas|pkexec)[ \t]+(?:-|/|(?:apt|apt-get|bash|cat|chmod|chown|cp|dd|dpkg|kill|ln|mkdir|mount|mv|nano|reboot|rm|sed|service|sh|shutdown|su|systemctl|tee|useradd|usermod|vi|vim|visudo)\b)[^\n;]*|\b(?:curl|wget)\b[^\n|]*\|[ \t]*(?:sudo[ \t]+)?(?:ba|da|z)?sh\b|\brm[ \t]+-[a-zA-Z]*[rf][a-zA-Z]*[ \t]+[^\n.;]+|:\(\)[ \t]*\{[^\n]*)",
    )
    .ok()
});

/// An object that names a tool.
static CALLS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\{\s*["'](?:tool|name|function|arguments|args)["']\s*:\s*[^\n]*"#).ok());

/// Prefix of a quoted call, which was not run.
const NO_CALL: &str = "[quoted, not run] ";

/// A text in which quoted calls and dangerous suggestions are marked, and how many are.
#[must_use]
pub fn marked(text: &str, rules: &Rules) -> (String, usize) {
    let mut marks: Vec<(usize, String)> = Vec::new();
    for found in CALLS.iter().flat_map(|pattern| pattern.find_iter(text)) {
        marks.push((found.start(), NO_CALL.to_owned()));
    }
    for found in COMMANDS.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let parts = ["block", "quoted", "typed", "bare"].into_iter().filter_map(|name| found.name(name));
        let why = parts.flat_map(|part| part.as_str().lines()).find_map(|line| danger(line.trim(), rules));
        if let (Some(why), Some(whole)) = (why, found.get(0)) {
            marks.push((whole.start(), format!("[dangerous, do not type this: {why}] ")));
        }
    }
    marks.sort();
    let mut marked = text.to_owned();
    for (at, mark) in marks.iter().rev() {
        marked.insert_str(*at, mark);
    }
    (marked, marks.len())
}

/// Why a command should not be typed, if it should not.
fn danger(command: &str, rules: &Rules) -> Option<String> {
    let command = command.trim_start_matches(['$', '#', ' ']);
    let first = command.split_whitespace().next()?;
    if matches!(first.rsplit('/').next(), Some("sudo" | "doas" | "pkexec" | "su")) {
        return Some("it goes past the policy".to_owned());
    }
    let decision = rules.judge(command);
    match decision.level {
        Level::Block => Some(decision.reason().to_owned()),
        Level::Safe | Level::Confirm => None,
    }
}
