//! `run`, `plan` and `tasks`: tasks in plain words, through the agent or with `--direct` in this process.

use super::ids::only_whole;
use super::listing::word;
use super::session::Session;
use super::view::{EndSignal, Note, View, used};
use crate::agent_loop::budget::Budget;
use crate::audit::AuditLog;
use crate::client::agent::{AgentClient, HttpReply};
use crate::client::helper::Helper;
use crate::client::pending_request::{AttemptError, new_id, reason};
use crate::client::transport::Transport;
use crate::client::undo::{Earlier, UndoGrants};
use crate::config;
use crate::executor::{ApprovedReads, Commands, Reviewed, Runner};
use crate::inspect::ReadTools;
use crate::offline_planner;
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use crate::protocol::mode::Mode;
use crate::protocol::owner::Owner;
use crate::protocol::question::Person;
use crate::protocol::task::{Task, TaskOrder, TaskStatus, Work};
use crate::protocol::tool::Tool;
use crate::redaction::Secrets;
use crate::render::Later;
use crate::runbooks::Values;
use crate::store::{Allowed, Live, ResumeState, Slot};
use hyper::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, WeakUnboundedSender};
use tokio::sync::{mpsc, watch};

/// A task to be started.
pub(super) struct RunRequest {
    /// In words.
    pub task: String,
    /// Its steps, where they are known.
    pub steps: Vec<Tool>,
    /// Of it.
    pub work: Work,
    /// With what it begins.
    pub going: Going,
    /// The runbook that its plan is, with the values of its parameters.
    pub runbook: Option<(String, Values)>,
}

impl RunRequest {
    /// Puts the plan into the body of a request: of a runbook its name, since the agent reads it itself.
    pub(super) fn carried_out(&self, body: &mut Value) {
        match (&self.runbook, &self.work) {
            (Some((name, values)), _) => body["runbook"] = json!({ "name": name, "values": values }),
            (None, Work::CarryOut(plan)) => body["plan"] = json!(plan),
            (None, Work::Task | Work::MakePlan) => {}
        }
    }
}

/// How long the agent may be away while a task runs.
const PATIENCE: Duration = Duration::from_secs(15);

/// Memory that a task starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Going {
    /// Nothing.
    Anew,
    /// The memory of the last task.
    On,
}

impl Session<'_> {
    pub(super) async fn run_task(&mut self, text: String, going: Going) -> Exit {
        self.carry_out(RunRequest { task: text, steps: Vec::new(), work: Work::Task, going, runbook: None })
            .await
    }

    /// `tasks resume`: goes on and follows to the end, from the next event on.
    pub(super) async fn resume(&mut self, id: &str) -> Exit {
        match self
            .begin_there(&format!("/tasks/{id}/resume"), &json!({ "interactive": self.is_attended() }))
            .await
        {
            Ok(task) => self.end(&task),
            Err(fault) => self.fail(&fault),
        }
    }

    /// Has something done, and shows it to its end.
    pub(super) async fn carry_out(&mut self, wish: RunRequest) -> Exit {
        if self.global.request_id.is_some() {
            return self.fail(&AgentError::new(
                "invalid_argument",
                "--request-id is for one request; a task makes its own",
            ));
        }
        if self.global.direct && wish.going == Going::On {
            let why = "--direct goes without the agent, which is who remembers; leave --continue out";
            return self.fail(&AgentError::new("invalid_argument", why));
        }
        let wants_plan = wish.work == Work::MakePlan;
        let ended = if self.global.direct {
            Box::pin(self.run_here(wish)).await
        } else {
            Box::pin(self.run_there(&wish)).await
        };
        match ended {
            Ok(Task { status: TaskStatus::Completed, plan: Some(plan), follows, .. }) if wants_plan => {
                for followed in &follows {
                    self.console.say(&postern_text::line(&followed.describe()));
                }
                self.show_plan(&plan);
                Exit::Done
            }
            Ok(task) => self.end(&task),
            Err(fault) => self.fail(&fault),
        }
    }

    /// The same loop as in the service, as a client of the helper's.
    async fn run_here(&mut self, wish: RunRequest) -> Result<Task, AgentError> {
        let RunRequest { task, steps, work, going: _, runbook } = wish;
        let steps = match &work {
            Work::CarryOut(_) => Vec::new(),
            Work::Task | Work::MakePlan if !steps.is_empty() => steps,
            Work::Task | Work::MakePlan => {
                offline_planner::plan(&task).map_err(|why| not_understood(&why))?
            }
        };
        let goal = if let Work::CarryOut(plan) = &work { plan.goal() } else { "" };
        let order = TaskOrder {
            reason: self.global.reason.clone().unwrap_or_else(|| goal.to_owned()),
            task,
            session: String::new(),
            steps,
            mode: self.mode(),
            wait_ms: self.wait_ms(),
            owner: Owner::Uid(nix::unistd::getuid().as_raw()),
            interactive: false,
            after: None,
            work,
            scheduled: None,
            runbook: runbook.map(|(name, _)| name),
        };
        let transport = Transport::Helper(Helper::new(&self.host.helper_socket).with_root(&self.host.system));
        let local = ReadTools::blind();
        let config = config::read(&self.host.config).unwrap_or_default();
        let commands = Commands::new(self.host, &config, Allowed::default());
        let (cancel, cancelled) = watch::channel(false);
        let (notes, shown) = mpsc::unbounded_channel();
        let working = async {
            let mut task = Task::new(new_id(), &order);
            let mut slot = Slot::alone();
            let mut on = |name: &'static str, data: Value, _: &Task| {
                if name != "request" {
                    let _ = notes.send((name.to_owned(), data));
                }
            };
            let runner = Runner {
                transport: &transport,
                local: &local,
                knowledge: None,
                host: self.host,
                reviewed: Reviewed::default(),
                order: &order,
                // The helper itself knows this process, a client.
                session: &String::new,
                cancel: cancelled,
                person: Person::Absent,
                confirmation: None,
                secrets: &Secrets::default(),
                tool: String::new(),
                left_out: Vec::new(),
                questions: 0,
                slot: &mut slot,
                live: Live::default(),
                site: "",
                policy: String::new(),
                approved: ApprovedReads::default(),
                asking_verbs: BTreeSet::new(),
                may_reboot: false,
                ahead: Vec::new(),
                is_operator_here: false,
                left: ResumeState::default(),
                commands: &commands,
                undo_grants: UndoGrants::default(),
                budget: Budget::new(&config.limits),
                earlier: &|id: &str| Ok(Earlier { id: only_whole(id)?, followers: Vec::new() }),
                // A process of this person's own cannot keep a log that the person could not change.
                audit: &AuditLog::default(),
                begun: Vec::new(),
                on: &mut on,
            };
            Box::pin(runner.work(&mut task, None)).await;
            task
        };
        let leaving = |_: EndSignal, _: Option<&str>| {
            cancel.send_replace(true);
            None
        };
        Ok(View::new(self, Later::Nowhere).follow(Box::pin(working), shown, leaving).await)
    }

    /// Gives the task to the agent and follows it to its end.
    pub(super) async fn run_there(&mut self, wish: &RunRequest) -> Result<Task, AgentError> {
        let mut body = json!({
            "task": wish.task, "steps": wish.steps, "wait": false, "mode": self.mode(), "wait_ms": self.wait_ms(),
            "reason": reason(self.global.reason.as_deref().unwrap_or_default()),
            "interactive": self.is_attended(), "session": self.conversation.as_deref().unwrap_or_default(),
            "continue": wish.going == Going::On,
        });
        match &wish.work {
            Work::Task => {}
            Work::MakePlan => body["only_plan"] = true.into(),
            Work::CarryOut(_) => wish.carried_out(&mut body),
        }
        self.begin_there("/execute", &body).await
    }

    /// Has the agent begin with a task, and follows it to its end.
    pub(super) async fn begin_there(&mut self, path: &str, body: &Value) -> Result<Task, AgentError> {
        let agent = self.agent();
        let answer = self.call(&agent, Method::POST, path, Some(body)).await?;
        let after = answer.body["after"].as_u64().unwrap_or_default();
        let id = answer.body["id"].as_str().unwrap_or_default().to_owned();
        let (notes, shown) = mpsc::unbounded_channel();
        let mut interrupts = 0;
        let leaving = |leave: EndSignal, _: Option<&str>| {
            interrupts += 1;
            // A terminal that goes away is no order to end the task.
            if leave == EndSignal::HangUp || interrupts > 1 {
                let message = format!("left the task {id} to itself: see `postern tasks show {id}`");
                return Some(Err(AgentError::new("cancelled", message)));
            }
            // If the agent cannot be told, following it will say so.
            let (agent, path) = (AgentClient::new(agent.path()), format!("/tasks/{id}/cancel"));
            tokio::spawn(async move { agent.call(Method::POST, &path, None).await.is_ok() });
            None
        };
        let (to, again, of) = (agent.clone(), notes.downgrade(), id.clone());
        let answering = move |question: Note, answer: Value| {
            tokio::spawn(answer_it(to.clone(), of.clone(), question, answer, again.clone()));
        };
        let is_attended = self.is_attended();
        let view = View::new(self, Later::Task(id.clone()));
        let view = if is_attended { view.answering(answering) } else { view };
        view.follow(follow(&agent, &id, after, &notes), shown, leaving).await
    }

    /// One call to the agent; an error that it answers with is one too.
    pub(super) async fn call(
        &mut self,
        agent: &AgentClient,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<HttpReply, AgentError> {
        let answer = agent.call(method, path, body).await.map_err(|lost| unreachable(agent, &lost))?;
        match answer.error() {
            Some(fault) => Err(fault),
            None => Ok(answer),
        }
    }

    pub(super) fn end(&mut self, task: &Task) -> Exit {
        let exit = Exit::of_task(task);
        if self.global.json.is_some() {
            self.console.json(task);
            return exit;
        }
        for warning in &task.warnings {
            self.console.say(&format!("warning: {warning}"));
        }
        if let (Some(used), false) = (used(&task.usage), self.global.quiet) {
            self.console.say(&used);
        }
        if exit == Exit::Done {
            self.console.result(&task.summary);
        } else {
            self.console.say_lines(&format!("postern: {}: {}", word(task.status), task.summary));
        }
        for what in &task.look_at {
            self.console.say(&format!("look at: {what}"));
        }
        exit
    }
}

pub(super) fn not_understood(why: &offline_planner::NotUnderstood) -> AgentError {
    AgentError::new("invalid_argument", format!("{why}; nothing has been done"))
}

pub(super) fn unreachable(agent: &AgentClient, lost: &AttemptError) -> AgentError {
    AgentError::new("unreachable", lost.explain("agent", agent.path(), "postern-users"))
}

/// Gives a person's answer to the agent. One that does not arrive is asked for again: the question still stands.
async fn answer_it(
    agent: AgentClient,
    id: String,
    question: Note,
    answer: Value,
    again: WeakUnboundedSender<Note>,
) {
    let sent = agent.call(Method::POST, &format!("/tasks/{id}/answer"), Some(&answer)).await;
    if sent.is_err() {
        tokio::time::sleep(Duration::from_millis(500)).await;
        if let Some(notes) = again.upgrade() {
            let _ = notes.send(question);
        }
    }
}

/// Reads a task's events to its end, over connections that may be lost, and then its record.
async fn follow(
    agent: &AgentClient,
    id: &str,
    mut seen: u64,
    notes: &UnboundedSender<Note>,
) -> Result<Task, AgentError> {
    let mut lost_since = None;
    loop {
        if let Ok(mut events) = agent.task_events(id, seen).await {
            lost_since = None;
            let mut session_ended = pin!(agent.session_ended());
            loop {
                let event = tokio::select! {
                    event = events.next() => event,
                    // Follows again, and quotes the next session.
                    () = &mut session_ended => break,
                };
                let Ok(Some(event)) = event else { break };
                seen = event.id.max(seen);
                let _ = notes.send((event.event, event.data));
            }
        }
        match agent.call(Method::GET, &format!("/tasks/{id}"), None).await {
            Ok(answer) => {
                if let Some(fault) = answer.error() {
                    if fault.code == "internal" {
                        return Err(fault);
                    }
                    let message = "the agent no longer has the task; what had begun is not undone, and what \
                                   waits may still be approved: see the audit log";
                    return Err(AgentError::new("interrupted", message));
                }
                if let Ok(task) = serde_json::from_value::<Task>(answer.body)
                    && task.status.is_final()
                {
                    return Ok(task);
                }
            }
            Err(lost) => {
                if lost_since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                    return Err(unreachable(agent, &lost));
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

impl Session<'_> {
    pub(super) fn mode(&self) -> Mode {
        if self.global.dry_run { Mode::Preview } else { Mode::Execute }
    }
}
