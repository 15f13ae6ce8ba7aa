//! Executes one step: the requests it makes and how they become its result.

use super::commands::Line;
use super::knowledge::search;
use super::output::cut;
use super::runner::{Runner, status_word, step_status};
use crate::client::pending_request::Outcome;
use crate::inspect::ReadResult;
use crate::protocol::args::{Names, Unit};
use crate::protocol::event::{AgentError, Event, UnitInfo};
use crate::protocol::file_view::FileView;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::protocol::step::{Refusal, StepResult, StepStatus};
use crate::protocol::task::Task;
use crate::protocol::tool::{FileTool, PackageTool, Tool, unit_name};
use crate::protocol::tool_request::{install, request, status_of, upgrade, written};
use crate::redaction::Secrets;
use crate::render;
use crate::telemetry::spans;
use std::time::Duration;
use tracing::Instrument;

/// How often, half a second apart, a unit that is still starting is looked at again.
const LOOKS: usize = 20;

impl Runner<'_> {
    /// Carries out one tool.
    pub(super) async fn step(&mut self, task: &mut Task, number: usize, tool: &Tool) -> StepResult {
        let span = spans::step(number, &tool.name());
        let result = self.carry_out(task, number, tool).instrument(span.clone()).await;
        span.record("postern.status", status_word(result.status));
        if !matches!(result.status, StepStatus::Ok | StepStatus::Truncated) {
            spans::fail(&span);
        }
        result
    }

    async fn carry_out(&mut self, task: &mut Task, number: usize, tool: &Tool) -> StepResult {
        if let Some(result) = self.take_up(task, number, tool).await {
            return result;
        }
        if let Some(outcome) = self.come_ahead(task, number).await {
            return result(number, tool, &outcome, self.secrets);
        }
        if let Some(found) = self.read(task, tool).await {
            return self.cleaned(found.result(number, tool));
        }
        let mode = self.order.mode;
        tool.name().clone_into(&mut self.tool);
        let outcome = match tool {
            Tool::Shell { cmd } => return Box::pin(self.shell(task, number, &Line::new(cmd))).await,
            Tool::EnsureRunning { name } => self.ensure_running(task, number, &unit_name(name)).await,
            Tool::EnsureInstalled { names } => self.ensure_installed(task, number, names).await,
            Tool::ApplyPatch { diff } => self.apply_patch(task, number, diff).await,
            Tool::WriteFile { path, content } => {
                Box::pin(self.write_carefully(task, number, written(path, content, "", ""))).await
            }
            Tool::File(FileTool::Write { path, content, mode, owner }) => {
                Box::pin(self.write_carefully(task, number, written(path, content, mode, owner))).await
            }
            Tool::Package(PackageTool::ListUpgrades {}) => {
                self.ask(task, number, upgrade(&[]), Mode::Preview).await
            }
            Tool::Undo { request_id } => self.undo(task, number, request_id).await,
            other => {
                let Some(request) = request(other) else {
                    return ReadResult::failed(
                        StepStatus::Error,
                        "unsupported",
                        "it cannot be looked at here",
                    )
                    .result(number, tool);
                };
                // Looking changes nothing: a dry run looks too.
                let mode = if request.is_effect() { mode } else { Mode::Execute };
                self.ask(task, number, request, mode).await
            }
        };
        let result = result(number, tool, &outcome, self.secrets);
        if matches!(result.status, StepStatus::Ok | StepStatus::Truncated) {
            self.remember(tool);
        }
        result
    }

    /// A result without the secrets that are held.
    pub(super) fn cleaned(&self, mut result: StepResult) -> StepResult {
        let texts = [&mut result.stdout, &mut result.stderr, &mut result.error].into_iter().flatten();
        for text in texts.chain(&mut result.hidden) {
            *text = self.secrets.values(text).0;
        }
        result
    }

    /// Runs a read-only tool of the agent; `None` for a tool of the helper.
    pub(super) async fn read(&mut self, task: &Task, tool: &Tool) -> Option<ReadResult> {
        let mut cancel = self.cancel.clone();
        let reading = async {
            match tool {
                Tool::SearchKnowledge { query } => {
                    Some(search(self.knowledge, self.order.owner, query).await)
                }
                Tool::Runbook { name, follow } => Some(self.runbook(task, name, follow.as_ref()).await),
                _ => self.local.run(tool).await,
            }
        };
        tokio::select! {
            found = reading => found,
            _ = cancel.wait_for(|cancelled| *cancelled) => {
                Some(ReadResult::failed(StepStatus::Cancelled, "cancelled", "before it was found"))
            }
        }
    }

    /// Looks, starts what is not active, looks again. Where looking is not granted, starting must do:
    /// it changes nothing for a unit that runs.
    async fn ensure_running(&mut self, task: &mut Task, number: usize, unit: &str) -> Outcome {
        let looked = self.ask(task, number, status_of(unit), Mode::Execute).await;
        let may_look = !is_no_grant(&looked);
        match unit_of(&looked) {
            Some(info) if is_running(info) => return looked,
            None if may_look && self.order.mode == Mode::Execute => return looked,
            Some(_) | None => {}
        }
        let started =
            self.ask(task, number, Request::UnitStart(Unit { unit: unit.to_owned() }), self.order.mode).await;
        let is_started = step_status(&started.end, false) == StepStatus::Ok;
        if self.order.mode == Mode::Preview || !is_started {
            return started;
        }
        let mut last = started;
        for _ in 0..LOOKS {
            if may_look {
                last = self.ask(task, number, status_of(unit), Mode::Execute).await;
            }
            match unit_of(&last).map(|info| info.active.as_str()) {
                Some("activating" | "reloading") if may_look => {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
                _ => break,
            }
        }
        match unit_of(&last) {
            Some(info) if !is_running(info) => {
                let message = format!("{} was started but is {}", info.id, render::unit_state(info));
                last.end = Event::Error(AgentError::new("unit_failed", message));
                last
            }
            Some(_) | None => last,
        }
    }

    /// Looks and installs what is missing.
    async fn ensure_installed(&mut self, task: &mut Task, number: usize, names: &[String]) -> Outcome {
        let bare = names.iter().map(|n| n.split('=').next().unwrap_or(n).to_owned()).collect();
        let looked = self.ask(task, number, Request::PackageShow(Names { names: bare }), Mode::Execute).await;
        let mut missing = names.to_vec();
        if let Event::Completed(done) = &looked.end {
            missing.retain(|name| {
                let (name, version) =
                    name.split_once('=').map_or((name.as_str(), None), |(n, v)| (n, Some(v)));
                let info = done.packages.iter().find(|p| p.name == name && p.state == "installed");
                info.is_none_or(|p| version.is_some_and(|v| v != p.installed))
            });
        }
        if missing.is_empty() || step_status(&looked.end, false) == StepStatus::Cancelled {
            return looked;
        }
        self.ask(task, number, install(&missing), self.order.mode).await
    }
}

pub(super) fn unit_of(outcome: &Outcome) -> Option<&UnitInfo> {
    match &outcome.end {
        Event::Completed(done) => done.unit.as_ref(),
        _ => None,
    }
}

/// A unit that reloads itself runs meanwhile.
fn is_running(unit: &UnitInfo) -> bool {
    matches!(unit.active.as_str(), "active" | "reloading")
}

fn is_no_grant(outcome: &Outcome) -> bool {
    matches!(&outcome.end, Event::Refused(refused) if refused.code == "no_grant")
}

/// Builds a step's result. Secrets are redacted before it is cut, since a cut one would not be recognized.
pub(super) fn result(number: usize, tool: &Tool, outcome: &Outcome, secrets: &Secrets) -> StepResult {
    let clean = |text: String| secrets.values(&text).0;
    let diff: String = outcome.views.iter().map(FileView::text).collect();
    let (stdout, is_cut) = cut(clean(render::found(outcome, None) + &diff));
    let status = step_status(&outcome.end, outcome.truncated || is_cut);
    let is_ok = matches!(status, StepStatus::Ok | StepStatus::Truncated);
    let (exit_code, error) = match &outcome.end {
        Event::Completed(done) => {
            let code = done.exit.as_ref().map(|exit| exit.code).or(is_ok.then_some(0));
            (code, (!is_ok).then(|| error(&done.code, &render::failure(done))))
        }
        Event::Refused(refused) => {
            (None, Some(error(&refused.code, &render::refusal(refused, &outcome.explain))))
        }
        Event::Error(fault) => (None, Some(error(&fault.code, &fault.message))),
        Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => (None, None),
    };
    let stderr = cut(clean(String::from_utf8_lossy(&outcome.stderr).into_owned())).0;
    StepResult {
        exit_code,
        stdout: Some(stdout).filter(|text| !text.is_empty()),
        stderr: Some(stderr).filter(|text| !text.is_empty()),
        error: error.map(clean),
        refusal: refusal(status, outcome, secrets),
        request_id: Some(outcome.id.clone()),
        no_effect: outcome.has_no_effect(),
        ..StepResult::new(number, tool.clone(), status)
    }
}

/// The facts of a refusal or a denial. A message may quote what the request had in a secret's place.
fn refusal(status: StepStatus, outcome: &Outcome, secrets: &Secrets) -> Option<Refusal> {
    let mut facts = match &outcome.end {
        Event::Refused(refused) => Refusal {
            code: refused.code.clone(),
            message: refused.message.clone(),
            missing: refused.missing.clone(),
            granted_nearby: refused.granted_nearby.clone(),
            retry_after_s: (refused.retry_after_s > 0).then_some(refused.retry_after_s),
            next: None,
        },
        // The recorded outcome of one that an operator denied.
        Event::Completed(done) if status == StepStatus::Denied => {
            Refusal { code: done.code.clone(), message: done.message.clone(), ..Refusal::default() }
        }
        _ => return None,
    };
    for text in [&mut facts.message, &mut facts.missing].into_iter().chain(&mut facts.granted_nearby) {
        *text = secrets.values(text).0;
    }
    Some(Refusal { next: render::next_step(&facts.code, &outcome.explain), ..facts })
}

fn error(code: &str, message: &str) -> String {
    let code = if code.is_empty() { "failed" } else { code };
    if message.is_empty() { code.to_owned() } else { format!("{code}: {message}") }
}
