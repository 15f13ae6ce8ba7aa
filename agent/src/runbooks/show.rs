//! A runbook as people read it, before its parameters have values.

use super::document::{Piece, Runbook};
use crate::render::Table;
use serde_json::Value;
use std::fmt::Write;

/// A runbook as lines, cut to `width` columns.
#[must_use]
pub fn text(runbook: &Runbook, width: Option<usize>) -> String {
    let mut text = format!("{}: {}\n", runbook.name, runbook.title);
    if !runbook.parameters.is_empty() {
        text.push_str("parameters:\n");
        let mut table = Table::default();
        for one in &runbook.parameters {
            let value = match (&one.default, &one.example) {
                (Some(default), _) => format!("default {default}"),
                (None, Some(example)) => format!("such as {example}"),
                (None, None) => format!("one of {}", one.values.join(", ")),
            };
            table.row([one.name.as_str(), one.kind.word(), &value, &one.about]);
        }
        text.push_str(&table.render("  ", width));
    }
    pieces("before:", &runbook.preflight, width, &mut text);
    pieces("steps:", &runbook.steps, width, &mut text);
    pieces("then it must be so:", &runbook.verification, width, &mut text);
    pieces("taken back, if you say so, by:", &runbook.rollback, width, &mut text);
    if !runbook.notes.is_empty() {
        let _ = writeln!(text, "notes:");
        for line in runbook.notes.lines() {
            let _ = writeln!(text, "  {}", postern_text::line(line));
        }
    }
    text
}

fn pieces(head: &str, pieces: &[Piece], width: Option<usize>, text: &mut String) {
    if pieces.is_empty() {
        return;
    }
    let _ = writeln!(text, "{head}");
    let mut table = Table::default();
    for (number, piece) in (1..).zip(pieces) {
        let (what, why) = words(&piece.value);
        table.row([&format!("{number}."), &what, &why]);
    }
    text.push_str(&table.render("  ", width));
}

/// A part as its file has it.
fn words(value: &Value) -> (String, String) {
    let of = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match value {
        Value::String(command) => (command.clone(), String::new()),
        _ if value.get("command").is_some() => (of("command"), of("purpose")),
        _ => {
            let args = value.get("args").map_or_else(String::new, Value::to_string);
            let expect = of("expect");
            let why = if expect.is_empty() { of("purpose") } else { format!("says {expect:?}") };
            (format!("{} {args}", of("tool")), why)
        }
    }
}
