//! Runs the tasks of the queue concurrently. A failed task does not affect the others.

use super::app::Model;
use super::metrics::{Begun, Metrics};
use crate::agent_loop::budget::Budget;
use crate::audit::{AuditLog, Record};
use crate::client::notices::Notices;
use crate::client::operators;
use crate::client::transport::Transport;
use crate::client::undo::{Earlier, UndoGrants};
use crate::config::host::{Host, host_name};
use crate::config::site_prompt;
use crate::config::tables::Limits;
use crate::config::values::WebhookEvent;
use crate::executor::{ApprovedReads, Commands, Reviewed, Runner};
use crate::inspect::ReadTools;
use crate::inspect::membership::{may_give_tasks, member};
use crate::knowledge::{Fault, KnowledgeBase, log};
use crate::protocol::owner::Owner;
use crate::protocol::task::{Task, TaskStatus, Work};
use crate::protocol::trace::{self, Trace};
use crate::redaction::Secrets;
use crate::store::{
    Author, Confirmation, Consents, Entry, Group, Load, NotOne, Queue, QueueSlot, Slot, Store, word,
};
use crate::telemetry::spans;
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tracing::Instrument;

/// Longest time to look up a schedule's person.
const MEMBER_TIME: Duration = Duration::from_secs(5);

/// Dependencies and limits of tasks.
pub struct Worker {
    pub queue: Arc<Queue>,
    pub transport: Arc<Transport>,
    pub store: Arc<Store>,
    /// Makes the steps of tasks; without one the offline planner does.
    pub model: Option<Arc<Model>>,
    pub commands: Commands,
    pub limits: Limits,
    pub local: ReadTools,
    pub knowledge: KnowledgeBase,
    pub secrets: Arc<Secrets>,
    pub consents: Arc<Consents>,
    /// The counts of tasks, steps and tokens.
    pub metrics: Arc<Metrics>,
    /// The log of what the agent does itself.
    pub audit: Arc<AuditLog>,
    /// Where messages of the webhook go.
    pub notices: Notices,
    /// The host: the site's words for every model are there, and the operators' terminals.
    pub host: Host,
}

/// Why a schedule's person may give no tasks.
enum NoRun {
    /// The person has lost that right.
    Lost(String),
    /// The user database does not say so now.
    Unknown(String),
}

impl Worker {
    /// Runs tasks for ever. Dropped, it ends all of them.
    pub async fn work(self) {
        let worker = Arc::new(self);
        let mut running = JoinSet::new();
        let mut entries: HashMap<Id, Arc<Entry>> = HashMap::new();
        loop {
            tokio::select! {
                place = worker.queue.next() => {
                    let entry = Arc::clone(&place.entry);
                    let trace = Trace::of_id(&entry.task().trace_id).unwrap_or_default();
                    let work = trace::within(trace, Arc::clone(&worker).run(place));
                    entries.insert(running.spawn(work).id(), entry);
                }
                Some(ended) = running.join_next_with_id() => {
                    let id = ended.as_ref().map_or_else(JoinError::id, |(id, ())| *id);
                    let entry = entries.remove(&id);
                    if let (Some(entry), true) = (entry, ended.is_err_and(|error| error.is_panic())) {
                        panicked(&entry);
                        worker.audit.append(&Record::task_ended(&entry.task(), Duration::ZERO));
                        tell(&worker.notices, &entry);
                    }
                }
            }
        }
    }

    /// Runs a task once it may act.
    async fn run(self: Arc<Self>, place: QueueSlot) {
        let entry = &place.entry;
        let mut slot = Slot::of(&self.queue.slots, entry.order.owner);
        if !self.begins(entry, &mut slot).await {
            return;
        }
        if let Some(scheduled) = &entry.order.scheduled {
            // A user database that hangs holds up no other task.
            slot.give();
            if let Err(refusal) = self.may_run(entry.order.owner, &scheduled.person).await {
                self.refuse(entry, &scheduled.schedule, &refusal);
                return;
            }
            if !self.begins(entry, &mut slot).await {
                return;
            }
        }
        if let Some(task) = entry.begin() {
            self.carry_out(entry, task, slot).await;
            tell(&self.notices, entry);
        }
    }

    /// Checks whether a schedule's person may give tasks now, as the socket's group decides for people who connect.
    async fn may_run(&self, owner: Owner, person: &str) -> Result<(), NoRun> {
        let Owner::Uid(uid) = owner else {
            return Err(NoRun::Unknown("a token has no schedules".to_owned()));
        };
        let group = self.host.users.clone();
        let finding = tokio::task::spawn_blocking(move || member(uid, &group));
        let found = match tokio::time::timeout(MEMBER_TIME, finding).await {
            Ok(found) => found.unwrap_or_else(|error| Err(error.to_string())),
            Err(_) => Err("the user database does not answer".to_owned()),
        };
        let member = found.map_err(NoRun::Unknown)?;
        // A directory that cannot be reached looks like one without this user.
        let no_run = if member.is_some() { NoRun::Lost } else { NoRun::Unknown };
        may_give_tasks(uid, person, &self.host.users, member.as_ref()).map_err(no_run)
    }

    /// Ends a run whose person may give no tasks; the schedule pauses where that is certain.
    fn refuse(&self, entry: &Entry, schedule: &str, refusal: &NoRun) {
        let (NoRun::Lost(why) | NoRun::Unknown(why)) = refusal;
        if !entry.refuse(why) {
            return;
        }
        entry.close();
        tracing::warn!(event = "schedule_refused", schedule, task = entry.id(), "{why}");
        self.audit.append(&Record::task_begun(&entry.task(), &entry.order));
        self.audit.append(&Record::task_ended(&entry.task(), Duration::ZERO));
        if let NoRun::Lost(why) = refusal
            && let Err(fault) = self.store.schedules.pause(schedule, why)
        {
            tracing::error!(event = "schedule_refused", schedule, "not paused: {fault}");
        }
        tell(&self.notices, entry);
    }

    /// Waits for a slot, and says so where there is none; false if the task is cancelled meanwhile.
    async fn begins(&self, entry: &Entry, slot: &mut Slot) -> bool {
        let mut cancel = entry.cancel.subscribe();
        let mut taken = pin!(slot.take());
        tokio::select! {
            biased;
            () = &mut taken => return true,
            () = std::future::ready(()) => {
                let Load { all, own } = self.queue.slots.crowd(entry.order.owner);
                entry.note("waits", &json!({ "for": format!("one of {all} tasks at work to end ({own} of them yours)") }));
            }
        }
        tokio::select! {
            () = &mut taken => true,
            _ = cancel.wait_for(|cancelled| *cancelled) => false,
        }
    }

    async fn carry_out(&self, entry: &Arc<Entry>, mut task: Task, mut slot: Slot) {
        let owner = entry.order.owner;
        let left = match self.store.left(entry, &task) {
            Ok(left) => left,
            Err(why) => {
                tracing::error!(event = "task_unreadable", task = task.id, "not run: {why}");
                entry.stop(&format!("not run, since what is kept of it cannot be read ({why})"));
                entry.close();
                return;
            }
        };
        tracing::info!(event = "task_begins", task = task.id, owner = ?owner, steps = entry.order.steps.len(), "task begins");
        let start = Instant::now();
        self.audit.append(&Record::task_begun(&task, &entry.order));
        let memory = left.memory.clone();
        let mut keeper = self.store.keeper(entry);
        let mut on = |name: &'static str, data: serde_json::Value, task: &Task| keeper.on(name, data, task);
        let session = if entry.order.session.is_empty() { &task.id } else { &entry.order.session };
        let is_the_persons = !entry.order.steps.is_empty() || matches!(entry.order.work, Work::CarryOut(_));
        let author = if is_the_persons { Author::Person } else { Author::Model };
        let earlier = |id: &str| {
            let requests = &self.store.requests;
            let id = requests.find(owner, id).map_err(|why| why.fault(id))?;
            let changes = requests.changes(owner, Group::Request(&id));
            let changes = changes.map_err(|why| NotOne::Unreadable(why).fault(&id))?;
            let of_it = changes.into_iter().find(|change| change.request_id == id);
            Ok(Earlier { id, followers: of_it.map(|change| change.followers).unwrap_or_default() })
        };
        let site = site_prompt::read(&self.host.config.with_file_name("prompt.d"));
        let runner = Runner {
            transport: &self.transport,
            local: &self.local,
            knowledge: Some(&self.knowledge),
            host: &self.host,
            reviewed: Reviewed::default(),
            order: &entry.order,
            session: &|| entry.session(),
            cancel: entry.cancel.subscribe(),
            person: entry.person(),
            confirmation: Some(Confirmation::new(&self.consents, format!("{owner:?} {session}"), author)),
            secrets: &self.secrets,
            tool: String::new(),
            left_out: Vec::new(),
            questions: 0,
            slot: &mut slot,
            live: entry.live.clone(),
            site: &site,
            policy: String::new(),
            approved: ApprovedReads::default(),
            asking_verbs: BTreeSet::new(),
            may_reboot: false,
            ahead: Vec::new(),
            is_operator_here: operators::is_here(&self.host),
            left,
            commands: &self.commands,
            undo_grants: UndoGrants::default(),
            budget: Budget::new(&self.limits),
            earlier: &earlier,
            audit: &self.audit,
            begun: Vec::new(),
            on: &mut on,
        };
        // A scheduled plan that fails is not repaired: nobody would see what a model makes of it before it is done.
        // A runbook is what was reviewed.
        let order = &entry.order;
        let is_fixed =
            (order.scheduled.is_some() || order.runbook.is_some()) && matches!(order.work, Work::CarryOut(_));
        let model = self.model.as_deref().filter(|_| !is_fixed).map(|model| (&model.endpoint, &model.limits));
        let span = spans::task(&task.id);
        let begun = Begun::of(&task);
        Box::pin(runner.work(&mut task, model)).instrument(span.clone()).await;
        self.metrics.ended(&task, &begun);
        span.record("postern.steps", task.results.len());
        span.record("postern.changes", task.changes.len());
        span.record("postern.status", word(task.status));
        if !matches!(task.status, TaskStatus::Completed) {
            spans::fail(&span);
        }
        tracing::info!(event = "task_ended", task = task.id, status = ?task.status, "task ended");
        self.audit.append(&Record::task_ended(&task, start.elapsed()));
        // Before its person learns of the end, and without the time that its log takes.
        drop(span);
        keeper.end(&mut task, memory);
        self.keep_log(owner, &task).await;
    }

    /// Makes the log of a task that did something a document of its owner's.
    async fn keep_log(&self, owner: Owner, task: &Task) {
        if task.results.is_empty() {
            return;
        }
        match self.knowledge.add_task(owner, &task.id, log(task)).await {
            Ok(_) | Err(Fault::Off(_)) => {}
            Err(fault) => {
                tracing::warn!(
                    event = "knowledge",
                    task = task.id,
                    "its log is not kept: {}",
                    fault.message()
                );
            }
        }
    }
}

/// Tells the journal that a schedule's run ended, and queues the webhook's message about any task that did.
pub fn tell(notices: &Notices, entry: &Entry) {
    let task = entry.task();
    if let Some(schedule) = &task.schedule {
        tracing::info!(event = "schedule_ended", schedule, task = task.id, status = ?task.status, "a run ended: postern tasks show {}", task.id);
    }
    if !notices.has(WebhookEvent::Completed) {
        return;
    }
    let mut data = json!({
        "task": task.id, "trace_id": task.trace_id, "status": task.status, "changes": task.changes, "host": host_name().unwrap_or_default(),
    });
    if let Some(schedule) = task.schedule {
        data["schedule"] = schedule.into();
    }
    notices.send(WebhookEvent::Completed, data);
}

/// Ends a task whose work panicked: nobody waits for it any longer, and what it did stands in its record.
fn panicked(entry: &Entry) {
    tracing::error!(
        event = "task_panicked",
        task = entry.id(),
        "an error in the agent itself ended this task"
    );
    entry.stop("an error in the agent itself ended this; the journal of postern-agent tells where");
    entry.close();
}
