//! `postern insights`.

use super::listing::word;
use super::session::Session;
use crate::insights::Insights;
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use crate::render::Table;
use hyper::Method;
use std::time::Duration;

/// Entries of a section that people are shown.
const SHOWN: usize = 10;
/// How an operator sees rules for all missing grants.
const SUGGEST: &str =
    "rules and packs for all of them: postern insights --json | sudo postern-admin policy suggest --from -";
/// Said below repeated approvals.
const DECIDES: &str =
    "nothing is applied: an operator decides whether a rule takes the place of these questions";

impl Session<'_> {
    pub(super) async fn insights(&mut self, since: Option<u64>) -> Exit {
        if self.global.direct {
            let why = "the record is the agent's; leave --direct out";
            return self.fail(&AgentError::new("invalid_argument", why));
        }
        let path =
            since.map_or_else(|| "/insights".to_owned(), |since| format!("/insights?since_unix_s={since}"));
        let agent = self.agent();
        let answer = match self.call(&agent, Method::GET, &path, None).await {
            Ok(answer) => answer.body,
            Err(fault) => return self.fail(&fault),
        };
        if self.global.json.is_some() {
            self.console.json(&answer);
            return Exit::Done;
        }
        match serde_json::from_value(answer) {
            Ok(found) => {
                let text = text(&found, self.console.width);
                self.console.result(&text);
                Exit::Done
            }
            Err(error) => {
                let why = format!("the agent's answer cannot be read: {error}");
                self.fail(&AgentError::new("internal", why))
            }
        }
    }
}

/// The report for people.
fn text(found: &Insights, width: Option<usize>) -> String {
    let failing: usize = found.failing_tasks.iter().map(|one| one.count).sum();
    let mut parts = vec![format!("tasks: {} ended, {failing} of them failed\n", found.tasks)];

    let mut part = Section::new(["count", "status", "cause", "step", "newest task"]);
    for one in &found.failing_tasks {
        let count = one.count.to_string();
        part.row([&count, word(one.status), &one.cause, &one.step, &one.task], &one.next);
    }
    parts.push(part.render("failing tasks", "", width));

    let mut part = Section::new(["count", "verb", "target"]);
    for one in &found.missing_grants {
        part.row([&one.count.to_string(), &one.verb, &one.target], &one.next);
    }
    parts.push(part.render("missing grants", SUGGEST, width));

    let mut part = Section::new(["kind", "count", "median", "90 %", "longest", "waited for a person"]);
    for one in &found.slow_steps {
        let waits = match one.waits {
            0 => String::new(),
            waits => format!("{waits} times, median {}", time(one.median_wait_ms)),
        };
        let [median, p90, max] = [one.median_ms, one.p90_ms, one.max_ms].map(time);
        part.row([&one.kind, &one.count.to_string(), &median, &p90, &max, &waits], "");
    }
    parts.push(part.render("slow steps", "", width));

    let mut part = Section::new(["count", "verb", "target", "asked by rule"]);
    for one in &found.repeated_approvals {
        let instead = if one.no_rule.is_empty() { &one.next } else { &format!("no rule: {}", one.no_rule) };
        part.row([&one.count.to_string(), &one.verb, &one.target, &one.rule], instead);
    }
    parts.push(part.render("approved again and again, never denied", DECIDES, width));

    let mut part = Section::new(["count", "newest task", "order"]);
    for one in &found.repeated_tasks {
        part.row([&one.count.to_string(), &one.task, &one.words], &one.next);
    }
    parts.push(part.render("tasks that made the same changes", "", width));
    if found.left_out > 0 {
        parts.push(format!("\n{} more entries are left out\n", found.left_out));
    }
    parts.concat()
}

/// A table whose rows can have a line of their own below them, which is never cut.
struct Section {
    table: Table,
    below: Vec<String>,
}

impl Section {
    fn new<const N: usize>(heading: [&str; N]) -> Self {
        let mut table = Table::default();
        table.row(heading);
        Self { table, below: Vec::new() }
    }

    /// Adds a row, as long as people are shown more.
    fn row<const N: usize>(&mut self, cells: [&str; N], below: &str) {
        if self.below.len() < SHOWN {
            self.table.row(cells);
        }
        self.below.push(below.to_owned());
    }

    /// The rows under a title, and a line below all of them; nothing without rows.
    fn render(&self, title: &str, remark: &str, width: Option<usize>) -> String {
        if self.below.is_empty() {
            return String::new();
        }
        let table = self.table.render("  ", width);
        let mut lines = vec![String::new(), title.to_owned()];
        let below = std::iter::once("").chain(self.below.iter().map(String::as_str));
        for (line, below) in table.lines().zip(below) {
            lines.push(line.to_owned());
            lines.extend((!below.is_empty()).then(|| postern_text::line(&format!("      {below}"))));
        }
        if let Some(more @ 1..) = self.below.len().checked_sub(SHOWN) {
            lines.push(format!("  and {more} more: see --json"));
        }
        lines.extend((!remark.is_empty()).then(|| format!("  {remark}")));
        lines.push(String::new());
        lines.join("\n")
    }
}

/// A time for people: 850 ms, 12.3 s, 4m 5s.
fn time(millis: u64) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        _ => humantime::format_duration(Duration::from_secs(millis / 1000)).to_string(),
    }
}
