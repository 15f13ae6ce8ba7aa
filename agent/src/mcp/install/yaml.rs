//! YAML, as text: no library keeps what a person wrote there. The result is read again and compared, so that a file
//! whose form is not understood here is refused, never damaged.

use super::entry::{Change, Entry, Field, NAME};
use serde_json::{Value, json};
use std::fmt::Write;
use std::ops::Range;

/// Parses a file.
pub fn value(text: &str) -> Result<Value, String> {
    if text.lines().all(is_blank) {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let error = error.to_string();
        format!("it is no YAML: {}", error.lines().next().unwrap_or_default())
    })
}

/// The file with the entry added or removed.
pub fn edit(text: &str, entry: &Entry, change: Change) -> Result<String, String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let head = format!("{}:", entry.table);
    let at = lines.iter().position(|line| line.starts_with(&head)).unwrap_or_else(|| {
        lines.push(head.clone());
        lines.len() - 1
    });
    match lines[at].get(head.len()..).map(str::trim) {
        Some("") => {}
        Some("{}" | "null" | "~") => lines[at].clone_from(&head),
        Some(_) | None => return Err(format!("{} is not written as a block", entry.table)),
    }
    let block = block(&lines, at, 0);
    let first = lines[block.clone()].iter().find(|line| !is_blank(line));
    let indent = first.map_or(2, |line| indent(line));
    let name = format!("{}{NAME}:", " ".repeat(indent));
    match change {
        Change::Add => {
            lines.splice(block.start..block.start, written(entry, indent).lines().map(str::to_owned));
        }
        Change::Remove => {
            let own = lines[block.clone()].iter().position(|line| line.trim_end() == name);
            let own =
                block.start + own.ok_or_else(|| format!("the entry {NAME} is not written as a block"))?;
            let rest = self::block(&lines, own, indent);
            // Comments at the end may be about what comes next.
            let last = lines[rest.clone()].iter().rposition(|line| !is_blank(line));
            let end = last.map_or(rest.start, |last| rest.start + last + 1);
            lines.drain(own..end);
            if lines[block.start..block.end - (end - own)].iter().all(|line| is_blank(line)) {
                lines[at] = format!("{head} {{}}");
            }
        }
    }
    Ok(lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect())
}

/// The lines below one, as far as they are indented deeper than `indent`.
fn block(lines: &[String], at: usize, indent: usize) -> Range<usize> {
    let is_over = |line: &String| !is_blank(line) && self::indent(line) <= indent;
    let end = lines[at + 1..].iter().position(is_over).map_or(lines.len(), |over| at + 1 + over);
    at + 1..end
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Nothing, or a comment.
fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// The entry as a block; texts are quoted as JSON quotes them, which YAML reads.
fn written(entry: &Entry, indent: usize) -> String {
    let (outer, inner) = (" ".repeat(indent), " ".repeat(indent + 2));
    let mut text = format!("{outer}{NAME}:\n");
    for (key, field) in entry.fields {
        let value = match field {
            Field::Text(text) => json!(text).to_string(),
            Field::Words(words) => json!(words).to_string(),
            Field::Yes => "true".to_owned(),
            Field::Seconds(seconds) => seconds.to_string(),
        };
        let _ = writeln!(text, "{inner}{key}: {value}");
    }
    text
}
