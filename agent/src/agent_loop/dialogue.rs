//! The loop of a task: the model says one call, it is checked and run, and its result goes back, until the
//! model ends the task or something ends it for the model.

use super::breaker::{Breaker, Next, not_run};
use super::budget::Budget;
use super::call_log::Log;
use super::compaction;
use super::guard::{self, Guard, Outcome};
use super::history::{History, HistoryEntry};
use super::memory;
use super::quotation::{QUOTED, is_quoted};
use super::results;
use super::tool_result::{CallOutcome, ToolResult};
use crate::audit::ModelCall;
use crate::config::tables::Limits;
use crate::llm::conversation::{CallResult, Prompt, Reply, StopReason, Turn, Usage};
use crate::llm::endpoints::failure::{Failure, Kind};
use crate::llm::endpoints::{Chunk, Endpoint};
use crate::llm::estimate::Estimate;
use crate::llm::repairs;
use crate::llm::reply_parser::{Code, MalformedReply, Reading};
use crate::llm::tools::{CHECKPOINT, Call, Checkpoint, Finish, FinishOutcome, OUTPUT, Tool};
use crate::plan::changes;
use crate::protocol::plan::Expected;
use crate::redaction::Secrets;
use crate::redaction::redact;
use crate::telemetry::spans;
use serde_json::json;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::time::Instant;
use tracing::Instrument;

/// The most checks that a model may name as proof.
const VERIFY_LIMIT: usize = 10;

/// The most things that a person is told to look at.
const LOOK_AT_LIMIT: usize = 20;

/// Runs the tool calls of a task.
pub trait ToolExecutor {
    /// Carries out one call, which is not `finish`.
    fn run(&mut self, call: &Call) -> impl Future<Output = ToolResult> + Send;

    /// Looks whether something is as the model says that it will be found.
    fn verify(&mut self, expected: &Expected) -> impl Future<Output = ToolResult> + Send;

    /// Asks the person whether a call may be run that was read only after these repairs; false where nobody is there.
    fn confirm(&mut self, _call: &Call, _repairs: &str) -> impl Future<Output = bool> + Send {
        std::future::ready(false)
    }

    /// Gets all calls of a reply before the first is run.
    fn foresee(&mut self, _calls: &[&Call]) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Gets a reply that was no call, whole.
    fn malformed(&mut self, _reply: &str) {}

    /// Is ready once the person wants the task to end.
    fn cancelled(&self) -> impl Future<Output = ()> + Send + 'static;

    /// Gets what the model says, as it comes.
    fn stream_listener(&self) -> impl Fn(Chunk<'_>) + Send + Sync + 'static;

    /// Gets the size of a request that is about to be sent.
    fn asks(&mut self, _estimate: Estimate) {}

    /// Gets each call of the model, also one that failed.
    fn called(&mut self, _call: &ModelCall<'_>) {}

    /// Gets the tokens that were used so far.
    fn used(&mut self, _total: Usage) {}

    /// Gets what the model says of how far it is.
    fn checkpoint(&mut self, _checkpoint: &Checkpoint) {}

    /// Keeps what was said, so that the dialogue can be taken up after the end of this process.
    fn keep(&mut self, _said: &HistoryEntry) {}
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The model ended it.
    Finished {
        /// How, as it says.
        outcome: FinishOutcome,
        /// Its words.
        summary: String,
        /// Things for a person to look at.
        look_at: Vec<String>,
    },
    /// The model ended it, with these words, though what it named as proof is not so.
    Unproven(String),
    /// The model could not be asked, or did not answer in the form asked for, or went in circles.
    Failed(String),
    /// A limit is used up.
    OutOfBudget(String),
    /// The person ended it.
    Cancelled,
}

/// A task at work.
pub struct Dialogue<'t> {
    endpoint: &'t Endpoint,
    tools: &'t [Tool],
    system: &'t str,
    turns: Vec<Turn>,
    breaker: Breaker,
    guard: Guard,
    budget: Budget,
    usage: Usage,
    secrets: &'t Secrets,
    /// State that the last `finish` claimed and a check disproved; the next `finish` is checked for it again.
    doubted: Option<Expected>,
    words: String,
    past: History,
    /// The reply at hand is one that was kept.
    is_kept: bool,
    log: Log,
    stage: Stage,
    /// Remaining work, from the last checkpoint.
    remaining: Option<String>,
    /// The last run brought nothing new.
    is_stalled: bool,
    /// Tokens of the last request and its answer.
    context: u64,
    /// A checkpoint is asked for because the conversation is too long.
    is_compacting: bool,
}

/// Why there is no reply.
enum Unanswered {
    /// The task ends with it.
    Ended(End),
    /// The conversation is too long for the model.
    TooLong(Failure),
}

/// Kind of reply that is due from the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// To go on with the task.
    Working,
    /// To say how far it is: the steps of the run are used up.
    Checkpoint,
}

/// None.
static NO_SECRETS: LazyLock<Secrets> = LazyLock::new(Secrets::default);

impl<'t> Dialogue<'t> {
    /// A task in a person's words.
    #[must_use]
    pub fn new(
        endpoint: &'t Endpoint,
        limits: &Limits,
        tools: &'t [Tool],
        system: &'t str,
        words: &str,
    ) -> Self {
        let words = redact::text(words).0;
        Self {
            endpoint,
            tools,
            system,
            turns: vec![Turn::User(words.clone())],
            breaker: Breaker::new(limits.misformats),
            guard: Guard::default(),
            budget: Budget::new(limits),
            usage: Usage::default(),
            doubted: None,
            secrets: &NO_SECRETS,
            words,
            past: History::default(),
            is_kept: false,
            log: Log::default(),
            stage: Stage::Working,
            remaining: None,
            is_stalled: false,
            context: 0,
            is_compacting: false,
        }
    }

    /// Keeps the secrets that the agent holds from the model, whatever their shape.
    #[must_use]
    pub fn keeping(mut self, secrets: &'t Secrets) -> Self {
        self.secrets = secrets;
        self.words = secrets.text(&self.words).0;
        for turn in &mut self.turns {
            if let Turn::User(words) = turn {
                *words = secrets.text(words).0;
            }
        }
        self
    }

    /// The same task, of which an earlier process kept so much.
    #[must_use]
    pub fn after(self, past: History) -> Self {
        Self { past, ..self }
    }

    /// Returns the log of its calls.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the remaining work, from the last checkpoint.
    #[must_use]
    pub fn remaining(&self) -> Option<&str> {
        self.remaining.as_deref()
    }

    /// Returns the budget, to be shared with the tool executor.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.budget.clone()
    }

    /// The same on the account of a task that goes on.
    #[must_use]
    pub fn charged_to(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Tokens so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Runs it to its end.
    pub async fn run(&mut self, executor: &mut impl ToolExecutor) -> End {
        loop {
            let reply = match self.reply(executor).await {
                Ok(reply) => reply,
                Err(end) => return end,
            };
            self.budget.spent(reply.usage);
            self.usage = sum(self.usage, reply.usage);
            self.context = reply.usage.input.saturating_add(reply.usage.output);
            executor.used(self.usage);
            let stage = self.stage;
            match Box::pin(self.turn(&reply, executor)).await {
                // The next run begins with what the last one left, not with all that was said.
                Ok(next) if stage != self.stage => self.turns = vec![next],
                Ok(next) => self.turns.extend([Turn::Model(reply), next]),
                Err(end) => return end,
            }
        }
    }

    /// The model's next reply: one that is kept, or else it is asked.
    async fn reply(&mut self, executor: &mut impl ToolExecutor) -> Result<Reply, End> {
        let is_full = self.past.is_used_up() && self.endpoint.is_full(self.context);
        if self.past.compacted() {
            self.compact();
        } else if self.stage == Stage::Working && self.budget.run_goes_on().is_err() {
            self.stage = Stage::Checkpoint;
            self.turns.push(Turn::User(memory::ASK.to_owned()));
        } else if self.stage == Stage::Working && is_full && self.compact() {
            executor.keep(&HistoryEntry::Compacted);
        }
        loop {
            match self.ask(executor).await {
                Ok(reply) => return Ok(reply),
                Err(Unanswered::Ended(end)) => return Err(end),
                Err(Unanswered::TooLong(failure)) => {
                    let is_new = self.stage == Stage::Working;
                    if !self.compact() {
                        return Err(End::Failed(format!("the model cannot be asked: {failure}")));
                    }
                    if is_new {
                        executor.keep(&HistoryEntry::Compacted);
                    }
                }
            }
        }
    }

    /// Makes room in a conversation that is too long: the model is asked where it stands, and goes on from its answer.
    /// False where no room can be made.
    fn compact(&mut self) -> bool {
        tracing::info!(
            event = "compacted",
            turns = self.turns.len(),
            tokens = self.context,
            "the conversation is too long"
        );
        let has_room = compaction::halve(&mut self.turns);
        self.context = 0;
        if has_room && self.stage == Stage::Working {
            self.stage = Stage::Checkpoint;
            self.is_compacting = true;
            self.turns.push(Turn::User(memory::ASK_FOR_ROOM.to_owned()));
        }
        has_room
    }

    /// Asks the model once.
    async fn ask(&mut self, executor: &mut impl ToolExecutor) -> Result<Reply, Unanswered> {
        let may = match self.stage {
            Stage::Working => self.budget.step(),
            Stage::Checkpoint => self.budget.cost(),
        };
        may.map_err(|why| Unanswered::Ended(End::OutOfBudget(why)))?;
        let kept = self.past.reply();
        self.is_kept = kept.is_some();
        if let Some(reply) = kept {
            return Ok(reply);
        }
        results::fit(&mut self.turns);
        let prompt = Prompt { system: self.system, turns: &self.turns, tools: self.tools() };
        executor.asks(Estimate::of(&prompt));
        let listener = executor.stream_listener();
        let cancelled = executor.cancelled();
        let began = Instant::now();
        let asked = tokio::select! {
            asked = self.endpoint.ask(&prompt, self.budget.deadline(), &listener) => Some(asked),
            () = cancelled => None,
        };
        executor.called(&called(self.endpoint.name(), asked.as_ref(), began.elapsed()));
        let Some(asked) = asked else { return Err(Unanswered::Ended(End::Cancelled)) };
        let reply = asked.map_err(|failure| {
            if failure.is_too_long() {
                Unanswered::TooLong(failure)
            } else {
                Unanswered::Ended(End::Failed(format!("the model cannot be asked: {failure}")))
            }
        })?;
        executor.keep(&HistoryEntry::Reply(reply.clone()));
        Ok(reply)
    }

    fn tools(&self) -> &'t [Tool] {
        match self.stage {
            Stage::Working => self.tools,
            Stage::Checkpoint => CHECKPOINT,
        }
    }

    /// Carries out the calls of a reply; what the model is told next.
    async fn turn(&mut self, reply: &Reply, executor: &mut impl ToolExecutor) -> Result<Turn, End> {
        let is_text = reply.calls.is_empty();
        let mut results = Vec::new();
        let readings = reply.read(self.tools());
        self.foresee(&readings, executor).await;
        for (index, (id, reading)) in readings.into_iter().enumerate() {
            let repaired = repairs::of_json(&reading);
            let Reading { call, is_multiple, .. } = reading;
            if let (Ok(call), false) = (&call, self.is_kept) {
                let kinds: Vec<String> = repaired.iter().cloned().chain(repairs::around(reply)).collect();
                self.endpoint.repairs.note(call.tool(), &kinds);
            }
            if is_text && is_multiple {
                tracing::warn!(event = "multiple_json", "multiple JSON objects in one reply");
            }
            let wrong = match &call {
                Ok(_) if is_text && is_multiple => Some(SEVERAL.to_owned()),
                Ok(call) if is_text && is_quoted(&reply.text, call, &self.turns, self.tools()) => {
                    Some(QUOTED.to_owned())
                }
                Ok(call) if !repaired.is_empty() && repairs::must_be_exact(call) => {
                    let may_run = self.may_run_repaired(call, &repaired, executor).await;
                    (!may_run).then(|| repairs::not_exact(&repaired))
                }
                Ok(_) => None,
                Err(_) if reply.stop == StopReason::Length => Some(CUT_OFF.to_owned()),
                Err(malformed) => Some(malformed.why.clone()),
            };
            let call = match (call, wrong) {
                (Ok(call), None) => call,
                (call, wrong) => {
                    let is_form = !matches!(&call, Err(malformed) if malformed.code == Code::UnknownTool);
                    if is_form && !self.is_kept {
                        executor
                            .malformed(reply.calls.get(index).map_or(&reply.text, |call| &call.arguments));
                    }
                    let message = self.wrong(call.err(), wrong.unwrap_or_default())?;
                    if is_text {
                        return Ok(Turn::User(message));
                    }
                    results.push(not_run(id, &message));
                    continue;
                }
            };
            self.breaker.valid();
            if let Call::Checkpoint(checkpoint) = &call {
                if !self.is_kept {
                    executor.checkpoint(checkpoint);
                }
                return self.checkpoint(checkpoint).map(Turn::User);
            }
            if let Call::Finish(finish) = &call {
                results.push(self.finish(id, finish, executor).await?);
                return Ok(Turn::Results(results));
            }
            results.push(self.call(id, &call, executor).await?);
        }
        Ok(Turn::Results(results))
    }

    /// Shows all calls of a reply to what carries them out, if all of them will be run.
    async fn foresee(&self, readings: &[(&str, Reading)], executor: &mut impl ToolExecutor) {
        let exact = |reading: &'_ Reading| reading.call.is_ok() && repairs::of_json(reading).is_empty();
        if self.is_kept || readings.len() < 2 || !readings.iter().all(|(_, reading)| exact(reading)) {
            return;
        }
        let calls: Vec<&Call> =
            readings.iter().filter_map(|(_, reading)| reading.call.as_ref().ok()).collect();
        let changes = calls.iter().filter(|call| call.is_effect()).count();
        if self.budget.has_changes(changes) && calls.iter().all(|call| self.guard.may_run(call).is_ok()) {
            executor.foresee(&calls).await;
        }
    }

    /// Whether a person lets a repaired call through; on the way through what is kept, whether one did.
    async fn may_run_repaired(
        &self,
        call: &Call,
        repaired: &[String],
        executor: &mut impl ToolExecutor,
    ) -> bool {
        match self.past.was_run() {
            Some(was_run) => was_run,
            None => executor.confirm(call, &repaired.join(", ")).await,
        }
    }

    /// Believes the model that the task is done, unless what it names as proof is not so: that it is told once.
    async fn finish(
        &mut self,
        id: &str,
        finish: &Finish,
        executor: &mut impl ToolExecutor,
    ) -> Result<CallResult, End> {
        let summary = finish.summary();
        let changing = finish.verify.iter().find(|expected| changes(&expected.tool));
        if let Some(expected) = changing {
            let why = format!(
                "a check changes nothing, but to {} does; the task goes on",
                expected.tool.describe()
            );
            return Ok(not_run(id, &why));
        }
        if finish.outcome == FinishOutcome::NeedsPerson && finish.look_at.is_empty() {
            return Ok(not_run(
                id,
                "look_at is missing: say what the person is to look at; the task goes on",
            ));
        }
        if finish.look_at.len() > LOOK_AT_LIMIT {
            return Ok(not_run(
                id,
                &format!("look_at has more than {LOOK_AT_LIMIT} entries; the task goes on"),
            ));
        }
        if finish.verify.len() > VERIFY_LIMIT {
            return Ok(not_run(
                id,
                &format!("verify holds more than {VERIFY_LIMIT} calls; the task goes on"),
            ));
        }
        let was_doubted = self.doubted.take();
        let again = was_doubted.iter().filter(|expected| !finish.verify.contains(expected));
        for expected in finish.verify.iter().chain(again) {
            let ToolResult { mut content, outcome: went } = if let Some(done) = self.past.done() {
                done.unwrap_or_else(lost)
            } else {
                let done = executor.verify(expected).await;
                executor.keep(&HistoryEntry::Result(done.clone()));
                done
            };
            match went {
                CallOutcome::Changed | CallOutcome::Ok | CallOutcome::Finished => continue,
                CallOutcome::Cancelled => return Err(End::Cancelled),
                CallOutcome::Failed => {}
            }
            let what = expected.tool.describe();
            if was_doubted.is_some() {
                return Err(End::Unproven(format!("{summary} (the check failed: {what})")));
            }
            self.doubted = Some(expected.clone());
            self.secrets.strings(&mut content);
            let limit = OUTPUT.get();
            let error = format!(
                "the task is not done: the check failed: {what}; mend it, or finish and say what is not done"
            );
            let content = json!({ "status": "error", "error": error, "check": content });
            return Ok(CallResult {
                id: id.to_owned(),
                text: results::shown(content, limit),
                is_error: true,
            });
        }
        Err(End::Finished { outcome: finish.outcome, summary: summary.to_owned(), look_at: finish.look_at() })
    }

    /// Counts a reply that is no call; what the model is told of it.
    fn wrong(&mut self, malformed: Option<MalformedReply>, why: String) -> Result<String, End> {
        self.breaker.form = self.endpoint.form();
        let next = match malformed {
            // Nothing else counts what is said instead of a checkpoint.
            Some(_) | None if self.stage == Stage::Checkpoint => self.breaker.misformat(&why),
            Some(malformed) => self.breaker.failed(&MalformedReply { why, ..malformed }),
            None => self.breaker.misformat(&why),
        };
        match next {
            Next::Again(message) => Ok(message),
            Next::End(why) => Err(match (self.stage, self.budget.run_goes_on()) {
                (Stage::Checkpoint, Err(used_up)) => End::OutOfBudget(format!("{used_up}, and {why}")),
                (Stage::Checkpoint | Stage::Working, _) => End::Failed(why),
            }),
        }
    }

    /// Ends a run: the words that the next one begins with.
    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<String, End> {
        let is_new = self.log.end_run();
        let says_the_same = self.remaining.as_ref() == Some(&checkpoint.remaining);
        self.remaining = Some(checkpoint.remaining.clone());
        let progress = || {
            redact::text(&format!("{} Remaining: {}", checkpoint.response.as_str(), checkpoint.remaining)).0
        };
        if !is_new && (says_the_same || self.is_stalled) {
            return Err(End::Failed(format!(
                "the task makes no progress: a whole run brought nothing new. {}",
                progress()
            )));
        }
        self.is_stalled = !is_new;
        let is_compacting = std::mem::take(&mut self.is_compacting);
        if !is_compacting {
            self.budget.next_run().map_err(|why| End::OutOfBudget(format!("{why}. {}", progress())))?;
        }
        self.stage = Stage::Working;
        let run = (!is_compacting).then(|| self.budget.run());
        Ok(memory::next_run(&self.words, run, checkpoint, &self.log))
    }

    /// Runs one call, unless it goes in circles or costs too much.
    async fn call(
        &mut self,
        id: &str,
        call: &Call,
        executor: &mut impl ToolExecutor,
    ) -> Result<CallResult, End> {
        self.guard.may_run(call).map_err(End::Failed)?;
        if call.is_effect() {
            self.budget.change().map_err(End::OutOfBudget)?;
        }
        let done = if let Some(done) = self.past.done() {
            done.unwrap_or_else(lost)
        } else {
            let span = spans::tool(call.tool());
            let run = executor.run(call).instrument(span.clone());
            let ToolResult { mut content, outcome: went } = results::within(call.of().time, run).await;
            span.record("postern.status", went.word());
            if went == CallOutcome::Failed {
                spans::fail(&span);
            }
            let redacted = self.secrets.values_of(&mut content) + call.of().redact(&mut content);
            if redacted > 0 {
                content["redacted_count"] = json!(redacted);
            }
            let done =
                ToolResult { content: results::shortened(content, call.of().output.get()), outcome: went };
            executor.keep(&HistoryEntry::Result(done.clone()));
            done
        };
        self.log.ran(call, &done);
        let ToolResult { mut content, outcome: went } = done;
        let failure = guard::failure(&content);
        let outcome = match went {
            CallOutcome::Changed => Outcome::Changed,
            CallOutcome::Ok => Outcome::Fine,
            CallOutcome::Failed => Outcome::Failed(&failure),
            CallOutcome::Cancelled => return Err(End::Cancelled),
            CallOutcome::Finished => {
                let (outcome, look_at) = (FinishOutcome::Done, Vec::new());
                return Err(End::Finished { outcome, summary: String::new(), look_at });
            }
        };
        let note = self.guard.ran(call, outcome);
        if let Some(note) = note {
            content["note"] = json!(note);
        }
        Ok(CallResult { id: id.to_owned(), text: content.to_string(), is_error: went == CallOutcome::Failed })
    }
}

const SEVERAL: &str = "there are several calls in one reply, and none was run: give the next one only";
const CUT_OFF: &str = "the reply is cut off by the limit of tokens; write less, or in several calls";

fn sum(one: Usage, other: Usage) -> Usage {
    Usage {
        input: one.input.saturating_add(other.input),
        cached_input: one.cached_input.saturating_add(other.cached_input),
        output: one.output.saturating_add(other.output),
    }
}

/// Returns the result of a call that was begun and has no result in the log.
fn lost() -> ToolResult {
    let error =
        "the agent was stopped during this call: what came of it is not known; look before you repeat it";
    ToolResult { content: json!({ "status": "error", "error": error }), outcome: CallOutcome::Failed }
}

/// A call as the audit log has it: its cost and how it ended; `None` if the person ended the task meanwhile.
fn called<'m>(model: &'m str, asked: Option<&Result<Reply, Failure>>, latency: Duration) -> ModelCall<'m> {
    let (outcome, usage) = match asked {
        Some(Ok(reply)) => ("ok", reply.usage),
        Some(Err(failure)) => (word(failure.kind), Usage::default()),
        None => ("cancelled", Usage::default()),
    };
    ModelCall { model, outcome, tokens: [usage.input, usage.cached_input, usage.output], latency }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Connection => "connection",
        Kind::Timeout => "timeout",
        Kind::Status(_) => "status",
        Kind::Loading => "loading",
        Kind::Form => "form",
    }
}
