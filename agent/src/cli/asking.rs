//! One typed command: ask, show the way there, print how it ended.

use super::options::Json;
use super::session::Session;
use super::view::{EndSignal, View};
use crate::client::pending_request::{Outcome, PendingRequest, left, new_id, reason};
use crate::client::transport::Transport;
use crate::client::undo::UndoGrants;
use crate::protocol::event::{Completed, Event, Status};
use crate::protocol::exit::Exit;
use crate::protocol::file_view::FileView;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::render::report::Report;
use crate::render::{self, Later};
use tokio::sync::mpsc;

impl Session<'_> {
    /// Asks one request and prints its outcome.
    pub(super) async fn typed(&mut self, request: Request, mode: Mode) -> Exit {
        let (mut outcome, ask) = self.asked(request, mode).await;
        if mode == Mode::Preview && Exit::of_end(&outcome.end) == Exit::Done {
            outcome.views = self.views(&ask.request).await;
        }
        self.ended(&outcome, mode)
    }

    /// Asks the command's own request.
    pub(super) async fn asked(&mut self, request: Request, mode: Mode) -> (Outcome, PendingRequest) {
        let mut ask = self.prepare(request, mode);
        if let Some(id) = &self.global.request_id {
            ask.id.clone_from(id);
        }
        let transport = self.transport();
        let mut outcome = self.follow(&transport, &ask).await;
        // Where nobody reads it, it is not found out.
        if !self.global.quiet || self.global.json.is_some() {
            UndoGrants::default().settle(&transport, &ask, &mut outcome).await;
        }
        (outcome, ask)
    }

    /// A request under an id of its own.
    pub(super) fn prepare(&self, request: Request, mode: Mode) -> PendingRequest {
        PendingRequest {
            request,
            id: new_id(),
            mode,
            reason: reason(self.global.reason.as_deref().unwrap_or_default()),
            task: String::new(),
            claimed_uid: nix::unistd::getuid().as_raw(),
            session: String::new(),
            wait_ms: self.wait_ms(),
        }
    }

    /// The outcome of a request that need not be asked.
    pub(super) fn unchanged(&mut self, request: Request) -> Exit {
        let mode = self.mode();
        let done = Completed { status: Status::Unchanged, ..Completed::default() };
        let outcome = Outcome::ended(&self.prepare(request, mode), Event::Completed(Box::new(done)));
        self.ended(&outcome, mode)
    }

    /// Prints an outcome.
    pub(super) fn ended(&mut self, outcome: &Outcome, mode: Mode) -> Exit {
        self.print(outcome, mode);
        Exit::of_end(&outcome.end)
    }

    pub(super) async fn follow(&mut self, transport: &Transport, ask: &PendingRequest) -> Outcome {
        let (notes, shown) = mpsc::unbounded_channel();
        let is_lines = self.global.json == Some(Json::Lines);
        let mut on = |event: &Event| {
            // Output is the outcome's; on the way only those see it who want every event.
            if is_lines || !matches!(event, Event::Output(_)) {
                let _ = notes.send((event.name().to_owned(), event.data()));
            }
        };
        let leaving = |_: EndSignal, waiting_for: Option<&str>| {
            Some(Outcome::ended(ask, Event::Error(left(&ask.id, waiting_for))))
        };
        let view = View::new(self, Later::Request(ask.id.clone()));
        view.follow(transport.ask(ask, &mut on), shown, leaving).await
    }

    pub(super) fn print(&mut self, outcome: &Outcome, mode: Mode) {
        if self.global.json.is_some() {
            self.console.json(&Report::new(outcome));
            return;
        }
        match &outcome.end {
            Event::Completed(done) => {
                let is_good = matches!(done.status, Status::Done | Status::Unchanged | Status::Previewed);
                if outcome.verb == "file.read" && done.status == Status::Done {
                    self.console.content(&outcome.content);
                } else if let (Some(description), Mode::Execute) = (&done.description, mode) {
                    self.console.result(&render::grants(description, render::Reader::Person));
                } else if is_good {
                    self.console.result(&render::found(outcome, self.console.width));
                    self.console.diff(&outcome.views.iter().map(FileView::text).collect::<String>());
                } else {
                    self.console.say_lines(&render::found(outcome, None));
                }
                self.console.say_lines(&String::from_utf8_lossy(&outcome.stderr));
                if !is_good {
                    self.complain(&done.code, &render::failure(done));
                } else if !self.global.quiet {
                    self.hints(outcome, done);
                }
            }
            Event::Refused(refused) => {
                self.complain(&refused.code, &render::refusal(refused, &outcome.explain));
            }
            Event::Error(fault) => self.complain(&fault.code, &fault.message),
            Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => {}
        }
    }

    fn hints(&mut self, outcome: &Outcome, done: &Completed) {
        if !done.message.is_empty() {
            self.console.say(&done.message);
        }
        if outcome.truncated {
            self.console.say("this is not all: the policy's limit cut it off");
        }
        if done.replayed {
            self.console.say("this is the recorded outcome: nothing was done again");
        }
        if done.undoable && done.status == Status::Done {
            self.console.say(&format!("to take it back: postern undo {}", outcome.id));
        }
    }

    /// An error in one line: a stable code, then words.
    pub(super) fn complain(&mut self, code: &str, message: &str) {
        let code = if code.is_empty() { "failed" } else { code };
        let refused = if Exit::of_code(code) == Exit::Refused { "refused: " } else { "" };
        self.console.say(&format!("postern: {refused}{code}: {message}"));
    }
}
