//! The records: what they hold, in which order.

use crate::protocol::confinement::Profile;
use crate::protocol::mode::Mode;
use crate::protocol::owner::Owner;
use crate::protocol::question::{Choice, Question, UserAnswer};
use crate::protocol::schedule::{Schedule, Trigger};
use crate::protocol::step::StepResult;
use crate::protocol::task::{Task, TaskOrder, Work};
use crate::redaction::redact;
use postern_record::{Digest, Json};
use serde::Serialize;
use std::time::Duration;

/// The events besides those about the log itself.
pub const EVENTS: &[&str] =
    &["start", "stop", "task_begun", "task_ended", "step", "command", "question", "model", "schedule"];
/// Most bytes of the text that a person was shown with a question; of a longer one, size and digest.
const SHOWN: usize = 128 << 10;
/// Most bytes of another text.
const TEXT: usize = 500;

/// A record before it is in the chain.
#[derive(Clone, Debug)]
pub struct Record {
    event: &'static str,
    members: Json,
}

/// A call of a model.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelCall<'m> {
    /// The model's name, as the configuration has it.
    pub model: &'m str,
    /// `ok`, or the kind of failure.
    pub outcome: &'m str,
    /// Tokens that were read, of those from a cache, and written.
    pub tokens: [u64; 3],
    /// All tries together.
    pub latency: Duration,
}

impl Record {
    /// Returns the event.
    #[must_use]
    pub fn event(&self) -> &'static str {
        self.event
    }

    /// Returns the members between `event` and `prev`.
    #[must_use]
    pub fn members(&self) -> &Json {
        &self.members
    }

    /// Whether a task has ended with it.
    #[must_use]
    pub fn ends_task(&self) -> bool {
        self.event == "task_ended"
    }

    /// The service has started.
    #[must_use]
    pub fn start() -> Self {
        let members = Json::new().text("version", env!("CARGO_PKG_VERSION"));
        Self { event: "start", members }
    }

    /// The service was told to stop.
    #[must_use]
    pub fn stop() -> Self {
        Self { event: "stop", members: Json::new() }
    }

    /// A task begins, or goes on after the agent was stopped in it. Of its words and its plan, size and digest.
    #[must_use]
    pub fn task_begun(task: &Task, order: &TaskOrder) -> Self {
        let work = match &order.work {
            Work::Task if order.steps.is_empty() => "words",
            Work::Task => "steps",
            Work::MakePlan => "make_plan",
            Work::CarryOut(_) => "plan",
        };
        let plan = match &order.work {
            Work::CarryOut(plan) => digest_of(&json(plan)),
            Work::Task | Work::MakePlan => Json::new(),
        };
        let scheduled = order.scheduled.as_ref();
        let mut args = Json::new().text("work", work).text("mode", mode(order.mode));
        args = args.object("order", &digest_of(&order.task)).object("plan", &plan);
        if !order.steps.is_empty() {
            args = args
                .object("steps", &digest_of(&json(&order.steps)).number("count", count(order.steps.len())));
        }
        args = args.text("schedule", scheduled.map_or("", |scheduled| &scheduled.schedule));
        args = args.text("runbook", order.runbook.as_deref().unwrap_or_default());
        args = args.text("after", &cut(order.after.as_deref().unwrap_or_default()));
        args = args.flag("interactive", order.interactive);
        let members = of_task(task).object("person", &person(order.owner)).object("args", &args);
        Self { event: "task_begun", members }
    }

    /// A task has ended.
    #[must_use]
    pub fn task_ended(task: &Task, took: Duration) -> Self {
        let tokens =
            |name: &str| task.usage.get(name).and_then(serde_json::Value::as_u64).unwrap_or_default();
        let mut outcome = Json::new().text("status", json(&task.status).trim_matches('"'));
        outcome = outcome.text("code", code(task.deciding_code().unwrap_or_default()));
        outcome = outcome.number("steps", count(task.results.entry_count()));
        outcome = outcome.number("changes", count(task.changes.len()));
        let requests = task.changes.iter().map(|change| change.request_id.as_str()).take(1000);
        outcome = outcome.texts("requests", requests);
        outcome = outcome.texts("follows", task.follows.iter().map(|one| one.runbook.as_str()).take(50));
        if !task.follows.is_empty() {
            let differences = task.follows.iter().map(|one| one.differences.len()).sum();
            outcome = outcome.number("differences", count(differences));
        }
        if !task.usage.is_empty() {
            let sums = [tokens("input_tokens"), tokens("cached_input_tokens"), tokens("output_tokens")];
            outcome = outcome.object("tokens", &tokens_of(sums));
        }
        Self { event: "task_ended", members: took_of(of_task(task).bounded("outcome", &outcome), took) }
    }

    /// A step has ended: by which tool, and how. What it asked of the helper is in the recorder's log, under its request id.
    #[must_use]
    pub fn step(task: &Task, result: &StepResult, took: Duration) -> Self {
        let mut members = of_task(task).number("step", count(result.step));
        members = members.text("request_id", &cut(result.request_id.as_deref().unwrap_or_default()));
        members = members.text("tool", &cut(&result.tool.name())).flag("shim", !result.is_own());
        let outcome = Json::new().text("status", json(&result.status).trim_matches('"'));
        let refusal = result.refusal.as_ref();
        let outcome = outcome.text("code", code(result.code()));
        let outcome = outcome.text("missing", &clean(refusal.map_or("", |refusal| &refusal.missing)));
        Self { event: "step", members: took_of(members.object("outcome", &outcome), took) }
    }

    /// A command of the agent's own has run in the sandbox: the digest of its argv or text, no word of it or its output.
    /// `consent`: what let it run, `rule`, a person's `yes`, or an earlier `always`.
    #[must_use]
    pub fn command(
        task: &Task,
        result: &StepResult,
        (words, profile, consent): (&[&str], Profile, &'static str),
    ) -> Self {
        let held = Json::new().text("profile", json(&profile).trim_matches('"'));
        let held = result.sandbox.iter().fold(held, |held, sandbox| {
            let lacks = sandbox.controls.iter().filter(|control| !control.lacks.is_empty());
            held.flag("enforced", sandbox.enforced).texts("lacks", lacks.map(|control| control.name.as_str()))
        });
        // As /proc/PID/cmdline has it.
        let argv = words.iter().flat_map(|word| word.bytes().chain([0])).collect::<Vec<_>>();
        let digest = Json::new().number("words", count(words.len()));
        let digest = digest.text("argv_sha256", &Digest::of(&[&argv]).to_string());
        let outcome = Json::new().text("status", json(&result.status).trim_matches('"'));
        let outcome = result.exit_code.iter().fold(outcome, |outcome, code| outcome.number("exit", *code));
        let mut members = of_task(task).number("step", count(result.step));
        members = members.object("args", &digest);
        members = members.text("consent", consent).object("sandbox", &held);
        members = members.texts("hidden", result.hidden.iter().map(String::as_str));
        let took = Duration::from_millis(result.duration_ms.unwrap_or_default());
        Self { event: "command", members: took_of(members.object("outcome", &outcome), took) }
    }

    /// A person was shown a question, and this is the answer: the text as it was shown, which has no secrets. Of what
    /// the person wrote, size and digest; of files that they chose, the paths.
    #[must_use]
    pub fn question(task: &Task, question: &Question, answer: &UserAnswer, took: Duration) -> Self {
        let Question { number, kind, what, details, choices, files } = question;
        let choices = choices.iter().map(|choice| word(*choice)).collect::<Vec<_>>();
        let mut shown = Json::new().text("kind", json(kind).trim_matches('"'));
        if what.len() + details.len() <= SHOWN {
            shown = shown.text("what", what).text("details", details);
        } else {
            shown = shown.text("what", &cut(what)).object("details", &digest_of(details));
        }
        shown = shown.texts("choices", choices.iter().map(String::as_str));
        shown = shown.texts("files", files.iter().map(|file| file.path.as_str()));
        let (words, chosen): (&str, &[String]) = match answer {
            UserAnswer::Text(words) => (words, &[]),
            UserAnswer::Files(files) => ("", files),
            UserAnswer::Yes | UserAnswer::Always | UserAnswer::No => ("", &[]),
        };
        let members = of_task(task).number("number", *number).object("shown", &shown);
        let members = members.text("answer", answer.word()).object("words", &digest_of(words));
        let members = members.texts("files", chosen.iter().map(String::as_str));
        Self { event: "question", members: took_of(members, took) }
    }

    /// A model was asked. Nothing of what was said is in it.
    #[must_use]
    pub fn model(task: &Task, call: &ModelCall<'_>) -> Self {
        let outcome = Json::new().text("status", call.outcome).object("tokens", &tokens_of(call.tokens));
        let members = of_task(task).text("model", &clean(call.model)).object("outcome", &outcome);
        Self { event: "model", members: took_of(members, call.latency) }
    }

    /// A person changed a schedule: `added`, `paused`, `resumed`, `removed`, `run`.
    #[must_use]
    pub fn schedule(owner: Owner, change: &'static str, schedule: &Schedule) -> Self {
        let (kind, trigger) = match &schedule.trigger {
            Trigger::At(_) => ("at", json(&schedule.trigger)),
            Trigger::EveryS(_) => ("every", json(&schedule.trigger)),
            Trigger::OnFailed(_) => ("on_failed", json(&schedule.trigger)),
        };
        let args =
            Json::new().text("schedule", &schedule.id).text("kind", kind).text("trigger", &clean(&trigger));
        let args = args.object("order", &digest_of(&schedule.task));
        let members = Json::new().object("person", &person(owner)).text("change", change);
        Self { event: "schedule", members: members.object("args", &args) }
    }
}

/// The members by which a record is found.
fn of_task(task: &Task) -> Json {
    Json::new().text("trace_id", &cut(&task.trace_id)).text("task", &cut(&task.id))
}

fn person(owner: Owner) -> Json {
    match owner {
        Owner::Uid(uid) => Json::new().number("uid", uid),
        Owner::Token => Json::new().flag("token", true),
    }
}

fn tokens_of([input, cached, output]: [u64; 3]) -> Json {
    Json::new().number("input", input).number("cached", cached).number("output", output)
}

fn took_of(members: Json, took: Duration) -> Json {
    members.number("duration_us", i128::try_from(took.as_micros()).unwrap_or(i128::MAX))
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Execute => "execute",
        Mode::Preview => "preview",
        Mode::Check => "check",
    }
}

fn word(choice: Choice) -> String {
    json(&choice).trim_matches('"').to_owned()
}

/// Size and SHA-256 of a text, nothing for an empty one.
fn digest_of(text: &str) -> Json {
    if text.is_empty() {
        return Json::new();
    }
    let sha256 = Digest::of(&[text.as_bytes()]).to_string();
    Json::new().number("size", count(text.len())).text("sha256", &sha256)
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// A stable code; errors of tools may begin with other words.
fn code(text: &str) -> &str {
    let is_code = text.len() <= 64 && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    if is_code { text } else { "other" }
}

/// A text of others: without credentials, bounded.
fn clean(text: &str) -> String {
    cut(&redact::text(text).0)
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
