//! Counts of tasks, steps, tokens, requests and approvals, for Prometheus. No text of a person, a model or a host is in them.

use crate::client::counts::{Counts, seconds};
use crate::executor::status_word;
use crate::protocol::task::Task;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use serde_json::Value;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

/// Parts of a task's usage that are tokens, with the label of each.
const TOKENS: [(&str, &str); 3] =
    [("input_tokens", "input"), ("cached_input_tokens", "cached_input"), ("output_tokens", "output")];

/// Metrics for Prometheus.
pub struct Metrics {
    registry: Registry,
    /// By status.
    tasks: Family<[(&'static str, String); 1], Gauge>,
    task_seconds: Histogram,
    /// By tool and status.
    steps: Family<[(&'static str, String); 2], Counter>,
    /// By kind.
    tokens: Family<[(&'static str, &'static str); 1], Counter>,
    cost: Counter<f64, AtomicU64>,
}

/// The counts of a task when this process took it up: what an earlier process did is not counted again.
pub struct Begun {
    at: Instant,
    steps: usize,
    tokens: [u64; 3],
    cost: f64,
}

impl Begun {
    /// Looks at a task that begins or goes on.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        Self {
            at: Instant::now(),
            steps: task.results.len(),
            tokens: TOKENS.map(|(key, _)| tokens(task, key)),
            cost: cost(task),
        }
    }
}

fn tokens(task: &Task, key: &str) -> u64 {
    task.usage.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// The amount before the currency.
fn cost(task: &Task) -> f64 {
    let amount = task.usage.get("cost").and_then(Value::as_str).and_then(|cost| cost.split(' ').next());
    amount.and_then(|amount| amount.parse().ok()).unwrap_or_default()
}

impl Metrics {
    /// With the counts of the helper's client and the times of a model's calls.
    #[must_use]
    pub fn new(counts: &Counts, model_calls: Option<Histogram>) -> Self {
        let mut registry = Registry::with_prefix("postern_agent");
        let metrics = Self {
            tasks: Family::default(),
            task_seconds: seconds(),
            steps: Family::default(),
            tokens: Family::default(),
            cost: Counter::default(),
            registry: Registry::default(),
        };
        let words =
            "Tasks that the agent remembers, by status: those that have not ended, and the last that have";
        registry.register("tasks", words, Family::clone(&metrics.tasks));
        let words = "Time that a task was at work in this process, with the time of people's answers";
        registry.register("task_seconds", words, metrics.task_seconds.clone());
        let words = "Steps of tasks since the agent started, by tool and status";
        registry.register("steps", words, Family::clone(&metrics.steps));
        let words = "Tokens of models since the agent started, by kind: input, cached_input (a part of input), output";
        registry.register("tokens", words, Family::clone(&metrics.tokens));
        let words = "Price of the tokens since the agent started, in the currency of [model.price]";
        registry.register("cost", words, metrics.cost.clone());
        if let Some(calls) = model_calls {
            registry.register("model_call_seconds", "Time of a model's calls, with all tries of each", calls);
        }
        counts.register(&mut registry);
        Self { registry, ..metrics }
    }

    /// Counts a task that has ended in this process.
    pub fn ended(&self, task: &Task, begun: &Begun) {
        self.task_seconds.observe(begun.at.elapsed().as_secs_f64());
        for result in task.results.iter().skip(begun.steps) {
            let labels = [("tool", result.tool.name()), ("status", status_word(result.status).to_owned())];
            self.steps.get_or_create(&labels).inc();
        }
        for ((key, kind), before) in TOKENS.iter().zip(begun.tokens) {
            self.tokens.get_or_create(&[("kind", kind)]).inc_by(tokens(task, key).saturating_sub(before));
        }
        self.cost.inc_by((cost(task) - begun.cost).max(0.0));
    }

    /// All counts in the text format of `OpenMetrics`, with these numbers of tasks by status.
    ///
    /// # Errors
    /// A value cannot be written.
    pub fn text(&self, by_status: Vec<(String, i64)>) -> Result<String, std::fmt::Error> {
        for (status, number) in by_status {
            self.tasks.get_or_create(&[("status", status)]).set(number);
        }
        let mut text = String::new();
        encode(&mut text, &self.registry).map(|()| text)
    }
}
