//! Follows work to its end and shows it. While an operator is asked on this terminal, nothing is shown.

use super::options::Json;
use super::progress::Meter;
use super::question::{self, OpenQuestion};
use super::session::Session;
use super::terminal::WithoutMessages;
use crate::client::operators;
use crate::protocol::event::{Event, Waiting};
use crate::protocol::question::Question;
use crate::render::{self, Later};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::os::fd::AsFd;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

/// An interrupt that ends the question reaches this process too, and perhaps after the question's end.
const ECHO: Duration = Duration::from_millis(300);

/// As many lines are shown of what a model looks at.
const BEGINNING: usize = 3;

/// How often one run asks: an agent that is not itself must not hold a terminal for ever.
const ASK_LIMIT: usize = 30;

/// Signal that makes the client leave before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// The person typed an interrupt.
    Interrupt,
    /// The terminal or the session ends.
    HangUp,
}

/// An event to show: its name and its members.
pub type Note = (String, Value);

/// The prompt that has the terminal.
enum Prompt {
    /// `postern-admin`, which asks an operator.
    Operator(Child),
    /// The person's pager, with what a question is about.
    Pager(JoinHandle<Option<String>>, Question),
    /// The task's own question to its person.
    Person(OpenQuestion),
}

impl Prompt {
    /// Another program has the terminal: nothing is shown beside it, and an interrupt is its own.
    fn is_program(&self) -> bool {
        matches!(self, Self::Operator(_) | Self::Pager(..))
    }
}

/// How that ended.
enum PromptEnd {
    Operator(std::io::Result<ExitStatus>),
    /// The text that no pager showed.
    Pager(Option<String>),
    Person(Value),
}

/// Takes an answer to a question on.
type Answering<'a> = Box<dyn FnMut(Note, Value) + 'a>;

/// Shows the events of a task or a request.
pub struct View<'a, 'b> {
    session: &'a mut Session<'b>,
    meter: Meter,
    later: Later,
    rule: String,
    /// The current wait, and all announced approvals: after a lost connection they are sent again.
    waiting: Option<Waiting>,
    announced: HashSet<String>,
    /// The task whose requests wait together.
    together: Option<String>,
    /// The model's words since the last step.
    said: String,
    /// Where the person's answers go; absent where nobody is asked.
    answering: Option<Answering<'a>>,
}

impl<'a, 'b> View<'a, 'b> {
    pub fn new(session: &'a mut Session<'b>, later: Later) -> Self {
        let meter = Meter::new(session.console, session.is_silent());
        Self {
            session,
            meter,
            later,
            rule: String::new(),
            waiting: None,
            announced: HashSet::new(),
            together: None,
            said: String::new(),
            answering: None,
        }
    }

    /// Asks the person what the task asks. `answering` gets each question as it came, and the answer's body.
    pub fn answering(self, answering: impl FnMut(Note, Value) + 'a) -> Self {
        Self { answering: Some(Box::new(answering)), ..self }
    }

    /// Works and shows what is told meanwhile, in order and all of it. While `postern-admin` has the terminal,
    /// what is told is kept, and an interrupt is meant for it. `leaving` gets the id of the approval that is
    /// waited for, and may end the following.
    pub async fn follow<T>(
        mut self,
        working: impl Future<Output = T>,
        mut notes: UnboundedReceiver<Note>,
        mut leaving: impl FnMut(EndSignal, Option<&str>) -> Option<T>,
    ) -> T {
        let _quiet = self.may_ask().then(WithoutMessages::begin);
        let mut working = pin!(working);
        let mut signals = Signals::new();
        let (mut ended, mut asking, mut asked) = (None, None, None::<Instant>);
        loop {
            while asking.is_none()
                && let Ok(note) = notes.try_recv()
            {
                asking = self.show(&note);
            }
            let is_program = asking.as_ref().is_some_and(Prompt::is_program);
            if !is_program && let Some(ended) = ended.take() {
                self.meter.clear();
                return ended;
            }
            tokio::select! {
                over = over(&mut asking), if asking.is_some() => match (over, asking.take()) {
                    (PromptEnd::Operator(status), _) => {
                        asked = Some(Instant::now());
                        self.asked(status);
                    }
                    (PromptEnd::Pager(unshown), Some(Prompt::Pager(_, question))) => {
                        asked = Some(Instant::now());
                        self.session.console.say_shown(&unshown.unwrap_or_default());
                        asking = self.put(&question);
                    }
                    (PromptEnd::Person(answer), Some(Prompt::Person(put))) => self.answer(&put.question, answer),
                    (PromptEnd::Person(_) | PromptEnd::Pager(_), _) => {}
                },
                Some(note) = notes.recv(), if !is_program => {
                    if matches!(asking, Some(Prompt::Person(_))) && note.0 == "answered" {
                        self.session.console.say_lines("\nanswered elsewhere\n");
                    }
                    asking = self.show(&note);
                }
                result = &mut working, if ended.is_none() => {
                    tracing::debug!(is_asking = asking.is_some(), "the work has ended");
                    ended = Some(result);
                }
                leave = signals.next() => {
                    let is_for_it = leave == EndSignal::Interrupt
                        && (is_program || asked.is_some_and(|at| at.elapsed() < ECHO));
                    if is_for_it {
                        continue;
                    }
                    // At the task's own question an interrupt is a no, and ends the task as it does elsewhere.
                    asking = asking.filter(Prompt::is_program);
                    let waiting_for = self.waiting.as_ref().map(|waiting| waiting.approval_id.as_str());
                    if let Some(end) = leaving(leave, waiting_for) {
                        self.meter.clear();
                        return end;
                    }
                }
            }
        }
    }

    /// Shows one thing; who has the terminal, if it asks somebody now.
    fn show(&mut self, (name, data): &Note) -> Option<Prompt> {
        if self.session.global.json == Some(Json::Lines) {
            let line = match &self.later {
                Later::Request(id) => json!({ "event": name, "request_id": id, "data": data }),
                Later::Task(_) | Later::Nowhere => json!({ "event": name, "data": data }),
            };
            self.session.console.json(&line);
        }
        if self.session.global.json.is_some() {
            return None;
        }
        if name == "step" {
            self.step(data);
            return None;
        }
        match name.as_str() {
            "says" => {
                self.says(data);
                return None;
            }
            "checkpoint" => {
                if let (Some(words), false) = (data["response"].as_str(), self.session.global.quiet) {
                    self.session.console.say(&format!("so far: {words}"));
                }
                return None;
            }
            // Without --verbose the task's end tells of all of it.
            "usage" | "asks" => {
                if let (true, Some(tokens)) = (self.session.global.verbose, tokens(data)) {
                    self.meter.line(&tokens, self.session.console);
                }
                return None;
            }
            _ => {}
        }
        if name == "waits" {
            if let (Some(what), false) = (data["for"].as_str(), self.session.global.quiet) {
                self.session.console.say(&format!("waits for {what}"));
            }
            return None;
        }
        if name == "question" {
            return self.question(data);
        }
        let event = Event::from_parts(name, data).ok()?;
        match event {
            // Said again after a lost connection.
            Event::Accepted(accepted) if accepted.attached && self.waiting.is_some() => {}
            Event::Accepted(accepted) if !accepted.attached => self.rule = accepted.rule,
            Event::Waiting(waiting) => return self.waits(waiting, data).map(Prompt::Operator),
            other => {
                self.waiting = None;
                self.meter.show(&other, self.session.console);
            }
        }
        None
    }

    /// A model's words as they come: the last of them, while it thinks. Calls that are written as text are none.
    fn says(&mut self, data: &Value) {
        if let Some(retry) = data.get("retry") {
            self.meter.line(&retried(retry), self.session.console);
            return;
        }
        match data["text"].as_str() {
            Some(words) => self.said.push_str(words),
            None => self.said.clear(),
        }
        if !self.said.trim_start().starts_with(['{', '`', '[']) {
            self.meter.says(&self.said);
        }
    }

    fn step(&mut self, data: &Value) {
        self.said.clear();
        self.meter.clear();
        let is_quiet = self.session.global.quiet;
        let what = data["what"].as_str().unwrap_or_default();
        let of = data["of"].as_u64().map(|of| format!("/{of}")).unwrap_or_default();
        let head = format!("[{}{of}] {what}", data["step"]);
        let status = data["status"].as_str().unwrap_or_default();
        if status == "running" {
            if !is_quiet {
                self.session.console.say(&head);
                self.meter = Meter::new(self.session.console, is_quiet);
            }
            return;
        }
        // A person gets what they asked for; of what a model looks at, how much it is.
        let is_by_model = data["by"] == "model";
        if let Some(found) = data["result"]["stdout"].as_str() {
            let found = render::facts(found);
            if is_by_model {
                self.session.console.say_lines(&beginning(&found));
            } else {
                self.session.console.result(&found);
            }
        }
        if let Some(stderr) = data["result"]["stderr"].as_str() {
            let stderr = if is_by_model { beginning(stderr) } else { stderr.to_owned() };
            self.session.console.say_lines(&stderr);
        }
        if !is_quiet {
            for hidden in data["result"]["hidden"].as_array().into_iter().flatten() {
                self.session
                    .console
                    .say(&format!("  the sandbox hid {}", hidden.as_str().unwrap_or_default()));
            }
            self.session.console.say(&format!("{head}: {status}"));
        }
    }

    fn question(&mut self, data: &Value) -> Option<Prompt> {
        self.answering.as_ref()?;
        let question: Question = serde_json::from_value(data.clone()).ok()?;
        self.meter.clear();
        self.meter = Meter::new(self.session.console, self.session.is_silent());
        match self.session.show_question(&question) {
            Some(pager) => Some(Prompt::Pager(pager, question)),
            None => self.put(&question),
        }
    }

    /// Asks a question that was shown; without a terminal the answer is no.
    fn put(&mut self, question: &Question) -> Option<Prompt> {
        let put = Session::put(question.clone());
        if put.is_none() {
            self.answer(question, question::no(question));
        }
        put.map(Prompt::Person)
    }

    fn answer(&mut self, question: &Question, answer: Value) {
        if let Some(answering) = &mut self.answering {
            answering(("question".to_owned(), json!(question)), answer);
        }
    }

    /// Whether an operator sits here who can be asked.
    fn may_ask(&self) -> bool {
        let console = &self.session.console;
        console.in_is_terminal && console.err_is_terminal && operators::may_approve(self.session.host)
    }

    fn waits(&mut self, waiting: Waiting, data: &Value) -> Option<Child> {
        if self.session.global.quiet || !self.announced.insert(waiting.approval_id.clone()) {
            return None;
        }
        // Requests of one reply that wait together are asked about once.
        let others = data["together"].as_array().into_iter().flatten().filter_map(Value::as_str);
        self.announced.extend(others.map(str::to_owned));
        self.together = match &self.later {
            // It came through the agent and becomes an argument.
            Later::Task(id) if data["together"].is_array() && uuid::Uuid::try_parse(id).is_ok() => {
                Some(id.clone())
            }
            Later::Task(_) | Later::Request(_) | Later::Nowhere => None,
        };
        self.meter.clear();
        self.meter = Meter::new(self.session.console, self.session.is_silent());
        // It came through the agent and becomes an argument.
        let id = operators::approval_id(&waiting.approval_id).map(str::to_owned);
        self.waiting = Some(waiting);
        let may_ask = self.announced.len() <= ASK_LIMIT && self.may_ask();
        match id {
            Some(id) if may_ask => match self.ask(&id) {
                Ok(child) => return Some(child),
                Err(e) => {
                    let admin = self.session.host.admin.display();
                    self.session.console.say(&format!("  cannot start {admin}: {e}"));
                    self.tell();
                }
            },
            Some(_) => self.tell(),
            None => self.session.console.say("  waits for approval, under an id that is none"),
        }
        None
    }

    /// `postern-admin` takes the terminal: it alone asks the helper what it is about, shows it and asks the
    /// person. Nothing that came through the agent stands beside the question.
    #[expect(clippy::disallowed_methods, reason = "an operator's own command, in their terminal")]
    fn ask(&self, id: &str) -> std::io::Result<Child> {
        let mut command = Command::new(&self.session.host.admin);
        match &self.together {
            Some(task) => command.args(["approve", "--task", task]),
            None => command.args(["approve", id]),
        };
        if !self.session.console.out_is_terminal {
            // Results go elsewhere; a question is none.
            command.stdout(Stdio::from(std::io::stderr().as_fd().try_clone_to_owned()?));
        }
        command.spawn()
    }

    /// After the person was asked: whoever did not approve learns how it can still be done.
    fn asked(&mut self, status: std::io::Result<ExitStatus>) {
        if !status.is_ok_and(|status| status.success()) {
            self.tell();
        }
    }

    fn tell(&mut self) {
        if let Some(Waiting { approval_id, expires_unix_s, .. }) = &self.waiting {
            let who = operators::who(&self.session.host.operators);
            let which =
                self.together.as_ref().map_or_else(|| approval_id.clone(), |task| format!("--task {task}"));
            for line in render::waiting(&which, *expires_unix_s, &self.rule, &who, &self.later) {
                self.session.console.say(&line);
            }
        }
    }
}

/// Describes a failed try of a call to a model, and when the next one begins.
fn retried(retry: &Value) -> String {
    let seconds = Duration::from_millis(retry["wait_ms"].as_u64().unwrap_or_default()).as_secs_f64();
    let error = retry["error"].as_str().unwrap_or_default();
    format!(
        "the model cannot be asked: {error}; attempt {}/{} in {seconds:.1} s",
        retry["attempt"], retry["of"]
    )
}

/// Describes the estimated tokens of a request, or the tokens used so far.
fn tokens(data: &Value) -> Option<String> {
    let Some(parts) = data.get("estimated_tokens") else {
        return data.as_object().and_then(used).map(|used| format!("so far {used}"));
    };
    let of = |name: &str| parts[name].as_u64().unwrap_or_default();
    let [total, instructions, tools, conversation] =
        ["total", "instructions", "tools", "conversation"].map(of);
    Some(format!(
        "asks the model: about {total} tokens (instructions {instructions}, tools {tools}, conversation {conversation})"
    ))
}

/// The first lines of a text, and how many there are besides.
fn beginning(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().take(BEGINNING).map(|line| format!("  {line}")).collect();
    let more = text.lines().count().saturating_sub(BEGINNING);
    if more > 0 {
        lines.push(format!("  … and {more} lines more"));
    }
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

async fn over(asking: &mut Option<Prompt>) -> PromptEnd {
    match asking {
        Some(Prompt::Operator(child)) => PromptEnd::Operator(child.wait().await),
        Some(Prompt::Pager(pager, _)) => PromptEnd::Pager(pager.await.ok().flatten()),
        Some(Prompt::Person(put)) => PromptEnd::Person(put.answer().await),
        None => std::future::pending().await,
    }
}

/// The signals that end a client.
pub struct Signals {
    interrupts: Option<Signal>,
    hang_ups: Option<Signal>,
    terminations: Option<Signal>,
}

impl Signals {
    pub fn new() -> Self {
        let of = |kind| signal(kind).ok();
        Self {
            interrupts: of(SignalKind::interrupt()),
            hang_ups: of(SignalKind::hangup()),
            terminations: of(SignalKind::terminate()),
        }
    }

    /// Comes back at the first of them.
    pub async fn any(&mut self) {
        self.next().await;
    }

    /// Comes back once the terminal or the session ends.
    pub async fn end(&mut self) {
        while self.next().await != EndSignal::HangUp {}
    }

    async fn next(&mut self) -> EndSignal {
        tokio::select! {
            () = one(&mut self.interrupts) => EndSignal::Interrupt,
            () = one(&mut self.hang_ups) => EndSignal::HangUp,
            () = one(&mut self.terminations) => EndSignal::HangUp,
        }
    }
}

async fn one(signals: &mut Option<Signal>) {
    let came = match signals {
        Some(signals) => signals.recv().await,
        None => None,
    };
    if came.is_none() {
        std::future::pending::<()>().await;
    }
}

/// The tokens that a model used, and their cost.
pub(super) fn used(usage: &Map<String, Value>) -> Option<String> {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64).filter(|count| *count > 0);
    let (input, output) = (count("input_tokens")?, count("output_tokens").unwrap_or_default());
    let cached =
        count("cached_input_tokens").map_or_else(String::new, |cached| format!(" ({cached} cached)"));
    let cost = usage.get("cost").and_then(Value::as_str).map_or_else(String::new, |cost| format!(", {cost}"));
    Some(format!("tokens: {input} in{cached}, {output} out{cost}"))
}
