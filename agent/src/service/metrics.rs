//! Counts of tasks, requests and approvals, for Prometheus. No text of a person, a model or a host is in them.

use crate::client::counts::Counts;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Metrics for Prometheus.
pub struct Metrics {
    registry: Registry,
    /// By status.
    tasks: Family<[(&'static str, String); 1], Gauge>,
}

impl Metrics {
    /// With the counts of the helper's client.
    #[must_use]
    pub fn new(counts: &Counts) -> Self {
        let mut registry = Registry::with_prefix("postern_agent");
        let tasks = Family::default();
        let words =
            "Tasks that the agent remembers, by status: those that have not ended, and the last that have";
        registry.register("tasks", words, Family::clone(&tasks));
        counts.register(&mut registry);
        Self { registry, tasks }
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
