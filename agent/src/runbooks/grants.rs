//! Whether the policy grants what a runbook does: each request is decided (`CHECK`) and not made.

use super::needs::{Need, PlannedPart};
use crate::client::pending_request::PendingRequest;
use crate::client::transport::Transport;
use crate::protocol::event::{Decision, Event};
use crate::protocol::exit::Exit;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use serde::Serialize;
use std::collections::HashMap;

/// The policy's word about one request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Granted,
    Approval,
    Refused(String),
    Unknown(String),
}

/// What keeps a part from running by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The list that the part is in.
    pub part: &'static str,
    /// Its number there, from 1.
    pub number: usize,
    /// The part in words.
    pub words: String,
    /// What is missing, or who is asked.
    pub why: String,
}

/// The decision about a runbook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Parts that the policy does not grant, or that never run.
    pub lacks: Vec<Remark>,
    /// Parts that wait for an operator, or ask the person.
    pub asks: Vec<Remark>,
    /// Parts that are decided once their values are given, or when they run.
    pub later: Vec<Remark>,
    /// Why the policy could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

impl Report {
    /// One word for it.
    #[must_use]
    pub fn state(&self) -> &'static str {
        if self.unknown.is_some() {
            "unknown"
        } else if !self.lacks.is_empty() {
            "not granted"
        } else if !self.asks.is_empty() {
            "with approval"
        } else {
            "granted"
        }
    }
}

/// Asks the policy, each request once.
pub struct Grants<'t> {
    transport: &'t Transport,
    /// Of each question: who asks, and why.
    prepare: &'t (dyn Fn(Request) -> PendingRequest + Send + Sync),
    known: HashMap<String, Verdict>,
}

impl<'t> Grants<'t> {
    /// Asks by this way; `prepare` makes a question's envelope.
    pub fn new(
        transport: &'t Transport,
        prepare: &'t (dyn Fn(Request) -> PendingRequest + Send + Sync),
    ) -> Self {
        Self { transport, prepare, known: HashMap::new() }
    }

    /// Decides all parts; `is_open` says of a part that its values are not known yet.
    pub async fn decide(
        &mut self,
        parts: &[PlannedPart],
        is_open: &(dyn Fn(&PlannedPart) -> bool + Send + Sync),
    ) -> Report {
        let mut report = Report::default();
        for part in parts {
            let remark =
                |why: String| Remark { part: part.part, number: part.number, words: part.words.clone(), why };
            if is_open(part) {
                report.later.push(remark("decided once its values are given".to_owned()));
                continue;
            }
            for need in &part.needs {
                match need {
                    Need::Never(why) => report.lacks.push(remark(format!("never run: {why}"))),
                    Need::Person(why) => report.asks.push(remark(format!("asks you: {why}"))),
                    Need::Later(why) => report.later.push(remark(format!("decided when it runs: {why}"))),
                    Need::Request(request) => match self.verdict(request).await {
                        Verdict::Granted => {}
                        Verdict::Approval => {
                            report.asks.push(remark(format!("{} waits for an operator", request.verb())));
                        }
                        Verdict::Refused(why) => {
                            let what = format!("{} {}", request.verb(), request.target());
                            report.lacks.push(remark(format!("{}: {why}", what.trim_end())));
                        }
                        Verdict::Unknown(why) => {
                            report.unknown = Some(why);
                            return report;
                        }
                    },
                }
            }
        }
        report
    }

    async fn verdict(&mut self, request: &Request) -> Verdict {
        let key = format!("{} {}", request.verb(), request.args());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let mut ask = (self.prepare)(request.clone());
        ask.mode = Mode::Check;
        let verdict = verdict(&self.transport.ask(&ask, &mut |_| {}).await.end);
        if !matches!(verdict, Verdict::Unknown(_)) {
            self.known.insert(key, verdict.clone());
        }
        verdict
    }
}

fn verdict(end: &Event) -> Verdict {
    match end {
        Event::Completed(done) if Exit::of_end(end) == Exit::Done => match done.decision {
            Decision::Ask => Verdict::Approval,
            Decision::Allow | Decision::Unspecified => Verdict::Granted,
            Decision::Deny => Verdict::Refused("denied".to_owned()),
        },
        Event::Completed(done) => {
            Verdict::Refused(format!("{} {}", done.code, done.message).trim().to_owned())
        }
        // The helper that cannot be reached or is busy says nothing of the policy.
        Event::Refused(refused) if matches!(Exit::of_end(end), Exit::Refused | Exit::Usage) => {
            Verdict::Refused(refused.code.clone())
        }
        Event::Refused(refused) => Verdict::Unknown(format!("{}: {}", refused.code, refused.message)),
        Event::Error(fault) if matches!(Exit::of_end(end), Exit::Refused | Exit::Usage) => {
            Verdict::Refused(format!("{}: {}", fault.code, fault.message))
        }
        Event::Error(fault) => Verdict::Unknown(format!("{}: {}", fault.code, fault.message)),
        Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => {
            Verdict::Unknown("internal: the helper gave no decision".to_owned())
        }
    }
}
