//! `undo`: what is taken back is shown before it is, stays within one task, and is not left in the memory of a service.

use super::ids::is_part;
use super::session::Session;
use crate::client::agent::AgentClient;
use crate::client::pending_request::Outcome;
use crate::client::undo::Follower;
use crate::protocol::args::{Of, Unit};
use crate::protocol::event::{AgentError, Event};
use crate::protocol::exit::Exit;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::render;
use crate::store::{RecordedChange, State};
use hyper::Method;
use serde::Serialize;
use serde_json::json;
use std::collections::HashSet;

/// A change that is not taken back for one of these is passed over: it has no inverse, or none that may be asked for.
const PASSED_OVER: &[&str] =
    &["denied", "limit_exceeded", "no_grant", "protected", "undo_gone", "unsupported"];

/// The words of a preview when a newer change of the same object is in the way.
const IN_THE_WAY: &[&str] = &["precondition_failed", "undo_conflict"];

/// Result of undoing a task's changes.
#[derive(Default, Serialize)]
struct Summary {
    undone: Vec<String>,
    passed_over: Vec<Remaining>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<Remaining>,
    reloaded: Vec<Follower>,
}

/// A change that stands.
#[derive(Serialize)]
struct Remaining {
    request_id: String,
    verb: String,
    target: String,
    code: String,
}

impl Remaining {
    fn new(change: &RecordedChange, code: &str) -> Self {
        let RecordedChange { request_id, verb, target, .. } = change.clone();
        Self { request_id, verb, target, code: code.to_owned() }
    }
}

impl Session<'_> {
    pub(super) async fn undo(&mut self, id: Option<String>, task: Option<String>) -> Exit {
        match (id.as_deref(), task) {
            (_, Some(task)) => self.undo_task(&task).await,
            (Some("last"), None) if !self.global.direct => Box::pin(self.undo_last()).await,
            (id, None) => self.undo_one(id.unwrap_or_default()).await,
        }
    }

    /// Takes one request back that its person has named.
    async fn undo_one(&mut self, id: &str) -> Exit {
        let of = match self.whole_id(id).await {
            Ok(of) => of,
            Err(fault) => return self.fail(&fault),
        };
        // The agent may not know it any more; the helper says so.
        let known = if self.global.direct { None } else { self.change(&of).await };
        let followers = known.map(|change| change.followers).unwrap_or_default();
        let exit = self.typed(undo_of(&of), self.mode()).await;
        if exit == Exit::Done && self.mode() == Mode::Execute { self.offer(&followers).await } else { exit }
    }

    /// Undoes the newest change of the task. Changes that cannot be undone are reported and passed over.
    async fn undo_last(&mut self) -> Exit {
        let changes = match self.changes("last").await {
            Ok(changes) => changes,
            Err(fault) => return self.fail(&fault),
        };
        let mut last = None;
        for change in changes.iter().rev().filter(|change| change.state == State::Change) {
            let foreseen = self.foreseen(change).await;
            if is_passed_over(&foreseen) {
                self.pass_over(change, &foreseen);
                last = Some(foreseen);
                continue;
            }
            if Exit::of_end(&foreseen.end) != Exit::Done || self.mode() == Mode::Preview {
                return self.ended(&foreseen, Mode::Preview);
            }
            self.tell(change, &foreseen);
            if !self.agrees("take this back?").await {
                return self.fail(&AgentError::new("cancelled", "nothing was taken back"));
            }
            let exit = self.typed(undo_of(&change.request_id), Mode::Execute).await;
            return if exit == Exit::Done { self.offer(&change.followers).await } else { exit };
        }
        match last {
            Some(refused) => self.ended(&refused, Mode::Preview),
            None => self.fail(&AgentError::new("unknown_request", "nothing is left to take back")),
        }
    }

    /// Takes all changes of a task back, the newest first, up to the first one that has been changed since.
    async fn undo_task(&mut self, task: &str) -> Exit {
        if self.global.direct {
            let why = "the agent knows which requests are a task's: leave --direct out";
            return self.fail(&AgentError::new("invalid_argument", why));
        }
        if self.global.request_id.is_some() {
            let why = "--request-id is for one request; a task's changes are taken back by one each";
            return self.fail(&AgentError::new("invalid_argument", why));
        }
        let changes = match self.changes(task).await {
            Ok(changes) => changes,
            Err(fault) => return self.fail(&fault),
        };
        let open: Vec<&RecordedChange> =
            changes.iter().rev().filter(|change| change.state == State::Change).collect();
        if open.is_empty() {
            return self.fail(&AgentError::new(
                "unknown_request",
                "the task changed nothing that is left to take back",
            ));
        }
        let mut newer: Vec<&RecordedChange> = Vec::new();
        for change in &open {
            let foreseen = self.foreseen(change).await;
            let shared = newer.iter().find_map(|newer| shared_object(newer, change));
            match shared.filter(|_| IN_THE_WAY.contains(&code(&foreseen))) {
                Some(object) => self.tell_after(change, object),
                None => self.tell(change, &foreseen),
            }
            let goes_back = Exit::of_end(&foreseen.end) == Exit::Done || shared.is_some();
            newer.extend(goes_back.then_some(*change));
        }
        if self.mode() == Mode::Preview {
            return Exit::Done;
        }
        if !self.agrees("take all of this back?").await {
            return self.fail(&AgentError::new("cancelled", "nothing was taken back"));
        }
        let mut summary = Summary::default();
        let (mut followers, mut stopped, mut end) = (Vec::new(), HashSet::new(), Exit::Done);
        for change in open {
            let outcome = self.follow_up(undo_of(&change.request_id), Mode::Execute).await;
            match Exit::of_end(&outcome.end) {
                Exit::Done => {
                    summary.undone.push(change.request_id.clone());
                    self.note(&format!("took back {} {}", change.verb, change.target));
                    if change.verb == "unit.start" {
                        stopped.insert(change.target.clone());
                    }
                    followers.extend(change.followers.clone());
                }
                _ if is_passed_over(&outcome) => {
                    self.pass_over(change, &outcome);
                    summary.passed_over.push(Remaining::new(change, code(&outcome)));
                }
                exit => {
                    // Earlier changes may depend on the state before this one.
                    self.ended_in_words(&outcome);
                    summary.failed = Some(Remaining::new(change, code(&outcome)));
                    end = exit;
                    break;
                }
            }
        }
        if summary.undone.is_empty() && end == Exit::Done {
            end = Exit::Refused;
        }
        followers.retain(|follower: &Follower| !stopped.contains(&follower.target));
        for follower in distinct(followers) {
            if self.reload(&follower).await == Exit::Done {
                summary.reloaded.push(follower);
            } else {
                end = Exit::Failed;
            }
        }
        if end != Exit::Done && !summary.undone.is_empty() {
            end = Exit::Partly;
        }
        if self.global.json.is_some() {
            self.console.json(&json!({ "v": 1, "task": task, "undo": summary }));
        }
        end
    }

    /// Offers the reload of what still runs with a change that was taken back; without a person to ask it is said.
    async fn offer(&mut self, followers: &[Follower]) -> Exit {
        let mut end = Exit::Done;
        for follower in followers {
            let question = format!("{} still runs with it; {} it?", follower.target, follower.action());
            if self.is_attended() && self.agrees(&question).await {
                end = self.reload(follower).await;
            } else {
                self.note(&follower.advice());
            }
        }
        end
    }

    async fn reload(&mut self, follower: &Follower) -> Exit {
        let unit = Unit { unit: follower.target.clone() };
        let request = match follower.action() {
            "reload" => Request::UnitReload(unit),
            _ => Request::UnitRestart(unit),
        };
        let outcome = self.follow_up(request, Mode::Execute).await;
        let exit = Exit::of_end(&outcome.end);
        if exit == Exit::Done {
            self.note(&format!("{}ed {}", follower.action(), follower.target));
        } else {
            self.ended_in_words(&outcome);
        }
        exit
    }

    async fn foreseen(&mut self, change: &RecordedChange) -> Outcome {
        self.follow_up(undo_of(&change.request_id), Mode::Preview).await
    }

    /// A request beside the one that was ordered, under an id of its own.
    async fn follow_up(&mut self, request: Request, mode: Mode) -> Outcome {
        let (transport, ask) = (self.transport(), self.prepare(request, mode));
        self.follow(&transport, &ask).await
    }

    /// Shows what would be taken back, and what that does as far as it can be foreseen.
    fn tell(&mut self, change: &RecordedChange, foreseen: &Outcome) {
        if self.is_silent() {
            return;
        }
        self.tell_of(change);
        match &foreseen.end {
            Event::Completed(_) if Exit::of_end(&foreseen.end) == Exit::Done => {
                self.console.say_lines(&render::found(foreseen, None));
            }
            _ => self.console.say(&format!("  cannot be foreseen: {}", why(foreseen))),
        }
    }

    /// Shows what would be taken back once a newer change of the same object is. The helper foresees only what it finds,
    /// and it finds the newer one.
    fn tell_after(&mut self, change: &RecordedChange, object: &str) {
        if self.is_silent() {
            return;
        }
        self.tell_of(change);
        let text =
            format!("  {object} becomes what it was before this change, after the newer one is taken back");
        self.console.say(&text);
    }

    fn tell_of(&mut self, change: &RecordedChange) {
        let task = change.task.as_deref().map(|id| format!(" of the task {id}")).unwrap_or_default();
        let at = render::time_of(&change.request_id).map(|at| format!(" at {at}")).unwrap_or_default();
        self.console.say(&format!("takes back: {} {}{at}{task}", change.verb, change.target));
    }

    fn pass_over(&mut self, change: &RecordedChange, outcome: &Outcome) {
        let RecordedChange { verb, target, .. } = change;
        self.note(&format!("not taken back: {verb} {target}: {}", why(outcome)));
    }

    fn note(&mut self, text: &str) {
        if !self.is_silent() {
            self.console.say(text);
        }
    }

    fn ended_in_words(&mut self, outcome: &Outcome) {
        if self.global.json.is_none() {
            self.print(outcome, Mode::Execute);
        }
    }

    /// Whether the person wants it; without a terminal they have said so by the command.
    async fn agrees(&mut self, question: &str) -> bool {
        if !self.is_attended() {
            return true;
        }
        let answer = self.answer(&format!("{question} [y]es, [n]o: ")).await;
        answer.is_ok_and(|answer| matches!(answer.as_str(), "y" | "yes"))
    }

    /// The changes that belong together, the oldest first.
    async fn changes(&mut self, of: &str) -> Result<Vec<RecordedChange>, AgentError> {
        if !is_part(of) && of != "last" {
            return Err(AgentError::new("invalid_argument", "a task's id is hex digits and dashes"));
        }
        let agent = AgentClient::new(&self.host.agent_socket);
        let answer = self.call(&agent, Method::GET, &format!("/requests?of={of}"), None).await?;
        serde_json::from_value(answer.body).map_err(|error| AgentError::new("internal", error.to_string()))
    }

    /// A change that the agent knows.
    async fn change(&mut self, id: &str) -> Option<RecordedChange> {
        let agent = AgentClient::new(&self.host.agent_socket);
        let answer = self.call(&agent, Method::GET, &format!("/requests/{id}"), None).await.ok()?;
        serde_json::from_value(answer.body).ok()
    }
}

fn undo_of(id: &str) -> Request {
    Request::RequestUndo(Of { of: id.to_owned() })
}

/// An object that both changes are about.
fn shared_object<'c>(newer: &RecordedChange, change: &'c RecordedChange) -> Option<&'c str> {
    let family = |change: &RecordedChange| change.verb.split('.').next().unwrap_or_default().to_owned();
    let objects: Vec<&str> = newer.target.split_whitespace().collect();
    let is_shared = |object: &&str| family(newer) == family(change) && objects.contains(object);
    change.target.split_whitespace().find(is_shared)
}

fn distinct(followers: Vec<Follower>) -> Vec<Follower> {
    let mut distinct: Vec<Follower> = Vec::new();
    for follower in followers {
        if !distinct.iter().any(|known| known.target == follower.target) {
            distinct.push(follower);
        }
    }
    distinct
}

fn is_passed_over(outcome: &Outcome) -> bool {
    PASSED_OVER.contains(&code(outcome))
}

fn code(outcome: &Outcome) -> &str {
    match &outcome.end {
        Event::Completed(done) => &done.code,
        Event::Refused(refused) => &refused.code,
        Event::Error(fault) => &fault.code,
        Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => "",
    }
}

fn why(outcome: &Outcome) -> String {
    match &outcome.end {
        Event::Completed(done) => format!("{}: {}", done.code, done.message),
        Event::Refused(refused) => render::refusal(refused, &outcome.explain),
        Event::Error(fault) => format!("{}: {}", fault.code, fault.message),
        Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => String::new(),
    }
}
