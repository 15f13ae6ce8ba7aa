//! Facts of the host for a model's prompt, as the agent finds them, so that it need not guess.

use super::runner::Runner;
use crate::inspect::ReadTools;
use crate::protocol::tool::Tool;
use serde_json::{Map, Value, json};

/// So many words of a task are looked up.
const MOST: usize = 8;

/// So many units of one kind are named.
const NAMED: usize = 40;

impl Runner<'_> {
    /// Returns facts as one line of JSON, so that a text in it cannot end it: the host, failed units, running
    /// services, and packages and units that the task names. Facts that cannot be had are left out. Besides, the names of
    /// the failed units.
    pub(super) async fn facts(&mut self) -> (String, Vec<String>) {
        let (mut facts, mut failed) = (Map::new(), Vec::new());
        let host = found(self.local, "get_system_info", json!({})).await;
        for key in ["hostname", "release", "kernel", "architecture"] {
            if let Some(fact) = host.get(key) {
                facts.insert(key.to_owned(), fact.clone());
            }
        }
        for (name, state, suffix) in
            [("failed_units", "failed", ""), ("running_services", "running", ".service")]
        {
            let known = found(self.local, "list_units", json!({ "state": state })).await;
            if let Some(units) = known["units"].as_array() {
                if state == "failed" {
                    failed =
                        units.iter().filter_map(|unit| Some(unit["name"].as_str()?.to_owned())).collect();
                }
                facts.insert(name.to_owned(), unit_names(units, suffix));
            }
        }
        let (mut packages, mut units) = (Vec::new(), Vec::new());
        for word in names(&self.order.task) {
            let known = found(self.local, "list_packages", json!({ "contains": word })).await;
            packages.extend(named(&known["packages"], &[word]));
            let known = found(self.local, "list_units", json!({ "contains": word })).await;
            let with_suffix = [format!("{word}.service"), format!("{word}.timer"), format!("{word}.socket")];
            let mut of_it: Vec<&str> = with_suffix.iter().map(String::as_str).collect();
            of_it.push(word);
            units.extend(named(&known["units"], &of_it));
        }
        for (name, list) in [("packages", packages), ("units", units)] {
            if !list.is_empty() {
                facts.insert(name.to_owned(), list.into());
            }
        }
        let facts = if facts.is_empty() {
            String::new()
        } else {
            format!("\nThe host (data): {}", Value::Object(facts))
        };
        (facts, failed)
    }
}

/// The names of units that end so, without that; of many the first.
fn unit_names(units: &[Value], suffix: &str) -> Value {
    let all: Vec<&str> =
        units.iter().filter_map(|unit| unit["name"].as_str()?.strip_suffix(suffix)).collect();
    let mut named: Vec<String> = all.iter().take(NAMED).map(|name| (*name).to_owned()).collect();
    if all.len() > NAMED {
        named.push(format!("and {} more", all.len() - NAMED));
    }
    named.into()
}

async fn found(local: &ReadTools, tool: &str, args: Value) -> Value {
    let Ok(tool) = serde_json::from_value::<Tool>(json!({ "tool": tool, "args": args })) else {
        return Value::Null;
    };
    local.run(&tool).await.map(|found| found.content).unwrap_or_default()
}

/// The words of a task that can be names of packages or units, each once.
fn names(task: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-._@".contains(c);
    for word in task.split(|c: char| !is_part(c) && !c.is_ascii_uppercase() && c != '/') {
        let word = word.trim_end_matches(['.', '-']);
        let is_name = word.len() > 2
            && word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(is_part)
            && !COMMON.contains(&word);
        if is_name && !names.contains(&word) && names.len() < MOST {
            names.push(word);
        }
    }
    names
}

/// Words of orders; some are names of packages too, but hardly meant.
const COMMON: &[&str] = &[
    "all",
    "and",
    "are",
    "check",
    "config",
    "configure",
    "does",
    "file",
    "files",
    "for",
    "from",
    "have",
    "how",
    "install",
    "into",
    "its",
    "look",
    "make",
    "new",
    "not",
    "now",
    "package",
    "packages",
    "please",
    "remove",
    "restart",
    "running",
    "see",
    "server",
    "service",
    "set",
    "show",
    "site",
    "small",
    "start",
    "status",
    "stop",
    "sure",
    "that",
    "the",
    "then",
    "this",
    "unit",
    "update",
    "upgrade",
    "use",
    "what",
    "why",
    "with",
    "work",
    "works",
    "write",
    "you",
];

/// Those of a list that have one of these names.
fn named(list: &Value, names: &[&str]) -> Vec<Value> {
    let is_named = |one: &&Value| one["name"].as_str().is_some_and(|name| names.contains(&name));
    list.as_array().into_iter().flatten().filter(is_named).cloned().collect()
}
