//! One request under way: it goes on when its call has been answered with `waiting`.

use super::answer::{Answer, Approval};
use super::order::{Order, What, recorded};
use super::session::{Change, Session};
use crate::client::patching::{Old, Unread, is_allowed, read_of, resolve, views};
use crate::client::pending_request::{Outcome, PendingRequest, new_id, reason};
use crate::client::undo::UndoGrants;
use crate::protocol::args::{Changes, Of};
use crate::protocol::event::{Accepted, AgentError, Completed, Event, Progress, Status, Waiting};
use crate::protocol::exit::Exit;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use postern_patch::{Kind, parse};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// As many requests are remembered beside those under way.
const REMEMBERED: usize = 100;

/// The requests of one session that are under way, and some that have ended.
pub struct Works {
    /// The session that they belong to.
    pub session: Arc<Session>,
    list: Mutex<VecDeque<Arc<Work>>>,
}

/// A request under way, or one that has ended.
pub struct Work {
    /// Its id.
    pub id: String,
    /// How it stands.
    pub state: watch::Receiver<State>,
    /// The request whose outcome this one asks for.
    pub of: Option<String>,
    ask: PendingRequest,
    running: AbortHandle,
}

/// Error for a request that another client or session waits for too.
const NOT_ENDED: &str = "this request has not ended yet";

/// How a request stands.
#[derive(Clone, Debug, Default)]
pub struct State {
    accepted: Accepted,
    waiting: Option<Waiting>,
    /// The last news in words.
    pub progress: String,
    /// The answer, once there is one.
    pub answer: Option<Arc<Answer>>,
}

impl State {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Accepted(accepted) if !accepted.attached => self.accepted = accepted.clone(),
            Event::Waiting(waiting) => {
                self.progress = Approval::of(waiting).words();
                self.waiting = Some(waiting.clone());
            }
            Event::Progress(progress) => {
                self.waiting = None;
                self.progress = words(progress);
            }
            Event::Accepted(_) | Event::Output(_) => {}
            Event::Completed(_) | Event::Refused(_) | Event::Error(_) => self.waiting = None,
        }
    }
}

/// "download: nginx (45 %)".
fn words(progress: &Progress) -> String {
    let Progress { phase, item, percent, detail, .. } = progress;
    let phase = serde_json::to_value(phase).unwrap_or_default();
    let mut words = phase.as_str().unwrap_or_default().to_owned();
    for part in [item, detail].into_iter().filter(|part| !part.is_empty()) {
        words = format!("{words}: {}", postern_text::line(part));
    }
    if *percent > 0 { format!("{words} ({percent} %)") } else { words }
}

impl Works {
    /// None yet.
    pub fn new(session: Arc<Session>) -> Self {
        Self { session, list: Mutex::default() }
    }

    /// Starts a request on behalf of a client.
    ///
    /// # Errors
    /// It cannot be asked so.
    pub fn start(&self, order: Order, client: &str) -> Result<Arc<Work>, AgentError> {
        let session = &self.session;
        let (request, patch) = match order.what {
            What::Request(request) => (request, None),
            What::Patch(diff) => (Request::FilePatch(Changes { changes: Vec::new() }), Some(diff)),
            What::UndoLast => {
                let of = session.last().ok_or_else(|| {
                    AgentError::new("unknown_request", "this session made no change that can be taken back")
                })?;
                (Request::RequestUndo(Of { of }), None)
            }
            What::Result(of) => (recorded(&of), None),
        };
        let ask = PendingRequest {
            request,
            id: new_id(),
            mode: order.mode,
            reason: reason(&format!("{client}: {}", order.reason)),
            task: session.id.clone(),
            claimed_uid: nix::unistd::getuid().as_raw(),
            session: String::new(),
            wait_ms: 0,
        };
        let (to, state) = watch::channel(State::default());
        let running = tokio::spawn(run(Arc::clone(session), ask.clone(), patch, to)).abort_handle();
        let of = ask.request.recalls().map(str::to_owned);
        let work = Arc::new(Work { id: ask.id.clone(), state, of, ask, running });
        self.add(Arc::clone(&work));
        Ok(work)
    }

    /// A request that is remembered here.
    pub fn find(&self, id: &str) -> Option<Arc<Work>> {
        self.list().iter().find(|work| work.id == id).cloned()
    }

    /// Stops waiting and forgets the request. It continues in the helper, where its outcome can still be had.
    pub fn leave(&self, work: &Work) {
        work.running.abort();
        self.list().retain(|other| other.id != work.id);
    }

    /// Of those that have ended the oldest are forgotten, as the helper knows them.
    fn add(&self, work: Arc<Work>) {
        let mut list = self.list();
        list.push_back(work);
        while list.len() > REMEMBERED
            && let Some(at) = list.iter().position(|work| work.has_ended())
        {
            list.remove(at);
        }
    }

    fn list(&self) -> MutexGuard<'_, VecDeque<Arc<Work>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Work {
    /// Returns the answer `waiting`, with the news so far.
    pub fn so_far(&self) -> Answer {
        let state = self.state.borrow();
        let id = self.of.clone().unwrap_or_else(|| self.id.clone());
        Answer::waiting(
            &PendingRequest { id, ..self.ask.clone() },
            &state.accepted,
            state.waiting.as_ref(),
            &state.progress,
        )
    }

    /// Whether there is an outcome.
    pub fn has_ended(&self) -> bool {
        self.state.borrow().answer.is_some()
    }
}

async fn run(
    session: Arc<Session>,
    mut ask: PendingRequest,
    patch: Option<String>,
    state: watch::Sender<State>,
) {
    let made = match patch {
        Some(diff) => changes(&session, &ask, &diff, &state).await,
        None => Ok(None),
    };
    let outcome = match made {
        Ok(request) => {
            ask.request = request.unwrap_or(ask.request);
            asked(&session, &ask, &state).await
        }
        Err(outcome) => *outcome,
    };
    state.send_modify(|state| state.answer = Some(Arc::new(Answer::new(&outcome, &state.accepted))));
}

/// Asks, finds out whether the change can be taken back, and remembers it.
async fn asked(session: &Session, ask: &PendingRequest, state: &watch::Sender<State>) -> Outcome {
    let transport = &session.shared.connection.transport;
    let mut outcome = transport.ask(ask, &mut |event| state.send_modify(|state| state.take(event))).await;
    // An outcome that there is not yet: asked again as long as somebody waits for it.
    while ask.request.recalls().is_some() && outcome.end.code() == "busy" {
        state.send_modify(|state| NOT_ENDED.clone_into(&mut state.progress));
        tokio::time::sleep(session.shared.times.repeat).await;
        outcome = transport.ask(&PendingRequest { id: new_id(), ..ask.clone() }, &mut |_| {}).await;
    }
    if let Some(of) = ask.request.recalls() {
        of.clone_into(&mut outcome.id);
    }
    if ask.mode == Mode::Preview && Exit::of_end(&outcome.end) == Exit::Done {
        outcome.views = views(transport, ask).await;
    }
    UndoGrants::default().settle(transport, ask, &mut outcome).await;
    if let Event::Completed(done) = &outcome.end
        && ask.mode == Mode::Execute
        && matches!(done.status, Status::Done | Status::Partly)
    {
        match ask.request.undoes() {
            Some(of) => session.undone(of),
            None if ask.request.is_effect() => session.changed(Change {
                request_id: ask.id.clone(),
                verb: outcome.verb,
                target: ask.request.target(),
                undoable: done.undoable,
                undone: false,
            }),
            None => {}
        }
    }
    outcome
}

/// The request that a diff is; an outcome where it is none.
async fn changes(
    session: &Session,
    ask: &PendingRequest,
    diff: &str,
    state: &watch::Sender<State>,
) -> Result<Option<Request>, Box<Outcome>> {
    let failed = |code: &str, why: String| {
        Box::new(Outcome::ended(ask, Event::Error(AgentError::new(code, why).not_begun())))
    };
    let files = parse(diff.as_bytes()).map_err(|fault| failed("invalid_argument", fault.to_string()))?;
    let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
    for file in &files {
        let old = if file.kind == Kind::Create {
            Old::default()
        } else {
            let transport = &session.shared.connection.transport;
            let read =
                |mode| PendingRequest { request: read_of(&file.path), id: new_id(), mode, ..ask.clone() };
            // A dry run asks nobody.
            if ask.mode == Mode::Preview
                && !is_allowed(&transport.ask(&read(Mode::Check), &mut |_| {}).await.end)
            {
                let why = "may not be read without approval, and the patch is made from what it holds";
                return Err(failed("no_grant", format!("{:?} {why}", file.path)));
            }
            let on = &mut |event: &Event| {
                // The decision on reading is none on the patch.
                if matches!(event, Event::Waiting(_) | Event::Progress(_)) {
                    state.send_modify(|state| state.take(event));
                }
            };
            let old = Old::of(transport.ask(&read(Mode::Execute), on).await);
            state.send_modify(|state| state.waiting = None);
            old.map_err(|unread| match unread {
                Unread::Refused(outcome) => outcome,
                Unread::TooLarge => {
                    failed("too_large", format!("{:?} is larger than may be read", file.path))
                }
            })?
        };
        match resolve(file, &old) {
            Ok(one) => changes.extend(one.map(|one| one.change)),
            Err(conflict) => conflicts.push(conflict),
        }
    }
    if !conflicts.is_empty() {
        let why = format!("{}; nothing has been done", conflicts.join("; "));
        return Err(failed("precondition_failed", why));
    }
    if changes.is_empty() {
        let done = Completed { status: Status::Unchanged, ..Completed::default() };
        return Err(Box::new(Outcome::ended(ask, Event::Completed(Box::new(done)))));
    }
    Ok(Some(Request::FilePatch(Changes { changes })))
}
