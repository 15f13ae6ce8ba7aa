//! Counts of the agent's requests to the helper, for `/metrics`.

use super::pending_request::{Outcome, PendingRequest};
use crate::protocol::event::{Decision, Event};
use crate::protocol::exit::Exit;
use crate::protocol::mode::Mode;
use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::time::Instant;

/// Histograms by one label whose values are fixed words.
type Seconds = Family<[(&'static str, &'static str); 1], Histogram, fn() -> Histogram>;

/// The labels of a request. No value comes from a person or a model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    verb: &'static str,
    decision: &'static str,
}

/// The counts of one helper's client.
#[derive(Clone, Debug)]
pub struct Counts {
    requests: Family<Labels, Counter>,
    refusals: Family<[(&'static str, String); 1], Counter>,
    seconds: Seconds,
    waiting: Gauge,
    last_answer: Gauge,
    log_tip: Gauge,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            refusals: Family::default(),
            seconds: Family::new_with_constructor(seconds),
            waiting: Gauge::default(),
            last_answer: Gauge::default(),
            log_tip: Gauge::default(),
        }
    }
}

/// A histogram of seconds from 10 ms to 22 min.
#[must_use]
pub fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.01, 3.0, 12))
}

/// A request under way: counted as waiting while it waits, whatever ends it.
pub struct UnderWay<'c> {
    counts: &'c Counts,
    began: Instant,
    is_waiting: bool,
}

impl Counts {
    /// Adds the counts to what is served.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "requests",
            "Requests of this agent since it started by verb and decision: allow, ask (a person approved), not_approved, refused, none (no answer)",
            self.requests.clone(),
        );
        registry.register(
            "refusals",
            "Requests of this agent since it started that were not carried out or failed, by the code of their answer",
            self.refusals.clone(),
        );
        registry.register(
            "request_seconds",
            "Time from a request to its outcome by verb; the time that people take to approve is in it",
            self.seconds.clone(),
        );
        registry.register(
            "approvals_waiting",
            "Requests of this agent that wait for a person's approval now; those of other clients are not known to it",
            self.waiting.clone(),
        );
        registry.register(
            "last_answer_timestamp_seconds",
            "When the helper last answered this agent, which it does after writing its record; 0: not since the agent started",
            self.last_answer.clone(),
        );
        registry.register(
            "log_tip_timestamp_seconds",
            "When the helper last recorded the tip of this agent's own audit log; 0: not since the agent started",
            self.log_tip.clone(),
        );
    }

    /// The helper has recorded where the agent's log ends.
    pub fn noted(&self) {
        self.log_tip.set(Timestamp::now().as_second());
    }

    /// A request begins.
    #[must_use]
    pub fn begin(&self) -> UnderWay<'_> {
        UnderWay { counts: self, began: Instant::now(), is_waiting: false }
    }
}

impl UnderWay<'_> {
    /// Counts a request that has its outcome, and its time. Dry runs and checks are not counted.
    pub fn end(self, ask: &PendingRequest, outcome: &Outcome) {
        let (counts, decision) = (self.counts, decision(&outcome.end));
        if decision != "none" {
            counts.last_answer.set(Timestamp::now().as_second());
        }
        if ask.mode != Mode::Execute {
            return;
        }
        let verb = ask.request.verb();
        counts.requests.get_or_create(&Labels { verb, decision }).inc();
        counts.seconds.get_or_create(&[("verb", verb)]).observe(self.began.elapsed().as_secs_f64());
        if !outcome.end.code().is_empty() {
            counts.refusals.get_or_create(&[("code", outcome.end.code().to_owned())]).inc();
        }
    }

    /// Takes note of an event.
    pub fn see(&mut self, event: &Event) {
        let is_waiting = matches!(event, Event::Waiting(_));
        if is_waiting && !self.is_waiting {
            self.counts.waiting.inc();
        }
        if !is_waiting && self.is_waiting {
            self.counts.waiting.dec();
        }
        self.is_waiting = is_waiting;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if self.is_waiting {
            self.counts.waiting.dec();
        }
    }
}

/// The decision as metrics and spans name it.
pub fn decision(end: &Event) -> &'static str {
    match end {
        Event::Completed(done) => match done.decision {
            Decision::Ask => "ask",
            Decision::Deny => "refused",
            Decision::Allow | Decision::Unspecified => "allow",
        },
        Event::Refused(_) if Exit::of_end(end) == Exit::NotApproved => "not_approved",
        Event::Refused(_) => "refused",
        _ => "none",
    }
}
