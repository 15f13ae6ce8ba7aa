//! One record of a story in words. What is returned is not escaped.

use super::records::{Entry, Source};
use crate::audit::view;
use crate::text::count;
use serde_json::Value;

/// The record as a row of `audit show`; the agent's have `a` before their number.
#[must_use]
pub fn row(entry: &Entry) -> String {
    if entry.source == Source::Recorder {
        return view::row(&entry.record);
    }
    let time = entry.text("time").split('.').next().unwrap_or_default().replacen('T', " ", 1);
    let id = entry.text("request_id");
    view::joined(&[
        format!("a{}", entry.record["seq"]),
        time,
        entry.text("event").to_owned(),
        id.get(..13).unwrap_or(id).to_owned(),
        "the agent itself".to_owned(),
        [entry.text("tool"), entry.text("model")].concat(),
        summary(&entry.record),
    ])
}

/// What a record of the agent's says.
#[must_use]
pub fn summary(record: &Value) -> String {
    let (args, outcome) = (&record["args"], &record["outcome"]);
    let mut words = match text(&record["event"]) {
        "task_begun" => vec![
            text(&args["work"]).to_owned(),
            digest("words", &args["order"]),
            digest("plan", &args["plan"]),
            digest("steps", &args["steps"]),
            labelled("schedule", &args["schedule"]),
            labelled("runbook", &args["runbook"]),
            person(&record["person"]),
            labelled("mode", &args["mode"]),
        ],
        "task_ended" => vec![
            status(outcome),
            number(&outcome["steps"], "step"),
            number(&outcome["changes"], "change"),
            tokens(&outcome["tokens"]),
        ],
        "step" => vec![
            number_of("step", &record["step"]),
            status(outcome),
            labelled("missing", &outcome["missing"]),
        ],
        "command" => vec![
            number_of("step", &record["step"]),
            format!("argv {}", short(&args["argv_sha256"])),
            labelled("let run by", &record["consent"]),
            labelled("sandbox", &record["sandbox"]["profile"]),
            lacks(&record["sandbox"]),
            status(outcome),
            number_of("exit", &outcome["exit"]),
            hidden(&record["hidden"]),
        ],
        "question" => vec![format!("{:?} -> {}", text(&record["shown"]["what"]), text(&record["answer"]))],
        "model" => vec![status(outcome), tokens(&outcome["tokens"])],
        "schedule" => vec![text(&record["change"]).to_owned(), labelled("schedule", &args["schedule"])],
        _ => vec![status(outcome)],
    };
    if let Some(micros) = record["duration_us"].as_u64() {
        words.push(format!("in {}.{:03} s", micros / 1_000_000, micros / 1000 % 1000));
    }
    words.retain(|word| !word.is_empty());
    words.join(", ")
}

fn status(outcome: &Value) -> String {
    let words = [text(&outcome["status"]), text(&outcome["code"])];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn person(person: &Value) -> String {
    match person["uid"].as_u64() {
        Some(uid) => format!("by uid {uid}"),
        None if person["token"] == true => "by the holder of the token".to_owned(),
        None => String::new(),
    }
}

fn tokens(tokens: &Value) -> String {
    match (tokens["input"].as_u64(), tokens["output"].as_u64()) {
        (Some(input), Some(output)) => format!("{input} tokens read, {output} written"),
        _ => String::new(),
    }
}

fn lacks(sandbox: &Value) -> String {
    match (sandbox["enforced"].as_bool(), list(&sandbox["lacks"])) {
        (_, lacks) if !lacks.is_empty() => format!("not in force: {lacks}"),
        _ => String::new(),
    }
}

fn hidden(hidden: &Value) -> String {
    let hidden = list(hidden);
    if hidden.is_empty() { hidden } else { format!("hidden: {hidden}") }
}

fn list(value: &Value) -> String {
    let texts = value.as_array().map(Vec::as_slice).unwrap_or_default();
    texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ")
}

fn digest(name: &str, of: &Value) -> String {
    of["size"]
        .as_u64()
        .map_or_else(String::new, |size| format!("{name} of {size} bytes, sha256 {}", short(&of["sha256"])))
}

fn short(digest: &Value) -> String {
    text(digest).chars().take(16).collect()
}

fn number(value: &Value, noun: &str) -> String {
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    number.map_or_else(String::new, |number| count(number, noun))
}

fn number_of(name: &str, value: &Value) -> String {
    value.as_i64().map_or_else(String::new, |number| format!("{name} {number}"))
}

fn labelled(name: &str, value: &Value) -> String {
    let value = text(value);
    if value.is_empty() { String::new() } else { format!("{name} {value}") }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
