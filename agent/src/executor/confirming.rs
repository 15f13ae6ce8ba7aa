//! Asks the person before a model's change is made: the first of a session, a file that would be
//! written over unread, and much of a file that would go.
//!
//! Where nobody is there, the first change goes on, since the policy decides on it; the other two are not
//! made: the model is told why, and can read the file first or change less of it.

use super::runner::{Runner, step_status};
use crate::client::patching::{Old, Unread, read_of};
use crate::client::pending_request::Outcome;
use crate::protocol::args::{Change, FileChange, OneChange, any};
use crate::protocol::event::{AgentError, Completed, Decision, Event, Status};
use crate::protocol::file_view::FileView;
use crate::protocol::mode::Mode;
use crate::protocol::question::{Choice, Kind, UserAnswer};
use crate::protocol::request::Request;
use crate::protocol::step::StepStatus;
use crate::protocol::task::Task;
use crate::protocol::tool::{FileTool, Tool};
use crate::render::{self, risk};
use crate::store::Confirmation;

/// Accepted answers to such a question.
const CHOICES: &[Choice] = &[Choice::Yes, Choice::No, Choice::Text];

impl Runner<'_> {
    fn needed_confirmation(&self) -> Option<&Confirmation> {
        self.confirmation.as_ref().filter(|confirmation| confirmation.is_needed())
    }

    /// Shows the first change of a session to its person; what came of it, if it is not to be made.
    pub(super) async fn first_change(
        &mut self,
        task: &mut Task,
        number: usize,
        request: &Request,
        views: &[FileView],
    ) -> Option<Outcome> {
        let is_first = self.needed_confirmation().is_some_and(Confirmation::is_first);
        if !is_first || !self.order.interactive || !request.is_effect() {
            return None;
        }
        let foreseen = self.ask_once(task, number, request.clone(), Mode::Preview).await;
        match step_status(&foreseen.end, false) {
            StepStatus::Cancelled => return Some(foreseen),
            // Nobody need be asked about what the policy does not let happen.
            StepStatus::Refused => return None,
            StepStatus::Ok
            | StepStatus::Error
            | StepStatus::Truncated
            | StepStatus::Denied
            | StepStatus::Timeout => {}
        }
        let mut details = render::found(&foreseen, None);
        details.extend(views.iter().map(FileView::text));
        let what = format!("the first change of this session: {} {}", request.verb(), request.target());
        self.agreed(task, number, request, views, (Kind::FirstChange, what, details)).await
    }

    /// Asks the person; what came of it, if the answer is not yes.
    async fn agreed(
        &mut self,
        task: &mut Task,
        number: usize,
        request: &Request,
        views: &[FileView],
        (kind, what, details): (Kind, String, String),
    ) -> Option<Outcome> {
        // Above the rest, which the model writes.
        let mut lines = risk::of_request(request, views);
        lines.push(details);
        let details = lines.join("\n");
        let why = match self.ask_user(task, kind, what, details, CHOICES).await {
            UserAnswer::Yes | UserAnswer::Always => {
                if let Some(confirmation) = &self.confirmation {
                    confirmation.let_through();
                }
                return None;
            }
            UserAnswer::No => "the person said no".to_owned(),
            UserAnswer::Text(words) => format!("the person said no, and says instead: {words}"),
        };
        Some(self.not_asked(task, number, request.clone(), AgentError::new("not_approved", why)))
    }

    /// Makes a file hold a content, unless that needs a person's word and there is none.
    pub(super) async fn write_carefully(
        &mut self,
        task: &mut Task,
        number: usize,
        change: FileChange,
    ) -> Outcome {
        let write = |expect: String| {
            Request::FileWrite(Change { change: OneChange(FileChange { expect, ..change.clone() }) })
        };
        let (path, content) = (change.path.as_str(), change.content.as_slice());
        let mode = self.order.mode;
        if self.needed_confirmation().is_none() || mode != Mode::Execute {
            return self.ask(task, number, write(any()), mode).await;
        }
        let old = match self.old(task, number, path).await {
            Ok(old) => old,
            // A file that cannot be shown is created, but never overwritten.
            Err(Some(Unread::Refused(_)) | None) if !self.order.interactive => {
                let mut outcome = self.ask(task, number, write("absent".to_owned()), mode).await;
                advise(&mut outcome.end, path);
                return outcome;
            }
            Err(unread) => {
                let is_large = matches!(unread, Some(Unread::TooLarge));
                let why = if is_large { "is too large to be shown" } else { "may not be read" };
                let what =
                    format!("write {} bytes to {path:?}, which {why} and may hold something?", content.len());
                let request = write(any());
                return match self
                    .overwrite(
                        task,
                        number,
                        &request,
                        &[],
                        (Kind::Overwrite, what, String::from_utf8_lossy(content).into_owned()),
                    )
                    .await
                {
                    Some(refused) => refused,
                    None => self.ask(task, number, request, mode).await,
                };
            }
        };
        let view = old.view(path, Some(content));
        let request = write(old.expect());
        if let Some(refused) = self.may_change(task, number, &request, std::slice::from_ref(&view)).await {
            return refused;
        }
        self.ask_seen(task, number, request, mode, &[view]).await
    }

    /// Whether files may be changed as shown; what came of it, if not.
    pub(super) async fn may_change(
        &mut self,
        task: &mut Task,
        number: usize,
        request: &Request,
        views: &[FileView],
    ) -> Option<Outcome> {
        let confirmation = self.needed_confirmation()?;
        let details = || views.iter().map(FileView::text).collect::<String>();
        let rewritten = views.iter().find(|view| view.is_rewrite());
        let unseen =
            views.iter().find(|view| !view.is_new && view.differs() && !confirmation.has_seen(&view.path));
        let asked = if let Some(view) = rewritten {
            let removed = view.difference.removed;
            (
                Kind::Rewrite,
                format!("{:?} would lose {removed} of its {} lines", view.path, view.lines),
                details(),
            )
        } else if let (Request::FileWrite(_), Some(view)) = (request, unseen) {
            (Kind::Overwrite, format!("{:?} exists, and the model has not read it", view.path), details())
        } else {
            return None;
        };
        self.overwrite(task, number, request, views, asked).await
    }

    async fn overwrite(
        &mut self,
        task: &mut Task,
        number: usize,
        request: &Request,
        views: &[FileView],
        (kind, what, details): (Kind, String, String),
    ) -> Option<Outcome> {
        if self.order.interactive {
            return self.agreed(task, number, request, views, (kind, what, details)).await;
        }
        let instead = if kind == Kind::Overwrite {
            "read it first, so that nothing in it is lost unseen"
        } else {
            "change less of it, or end the task and say what should be written"
        };
        let why = format!("{what}, and nobody is there to be asked: {instead}");
        Some(self.not_asked(task, number, request.clone(), AgentError::new("not_approved", why)))
    }

    /// Reads the current content. `Err(None)` where reading needs an operator's approval.
    async fn old(&mut self, task: &mut Task, number: usize, path: &str) -> Result<Old, Option<Unread>> {
        if !self.approved.has(path) {
            let may = self.ask_once(task, number, read_of(path), Mode::Check).await;
            if !matches!(&may.end, Event::Completed(done) if is_free(done)) {
                return Err(None);
            }
        }
        Old::of(self.ask_once(task, number, read_of(path), Mode::Execute).await).map_err(Some)
    }

    /// Remembers what a model has seen of files by a step that went well.
    pub(super) fn remember(&mut self, tool: &Tool) {
        if let (
            Some(confirmation),
            Tool::ReadFile { path, .. }
            | Tool::WriteFile { path, .. }
            | Tool::File(FileTool::Write { path, .. }),
        ) = (&mut self.confirmation, tool)
        {
            confirmation.saw(path);
        }
    }
}

/// Says what leads on where a file that may not be looked at freely exists.
fn advise(end: &mut Event, path: &str) {
    if let Event::Completed(done) = end
        && matches!(done.code.as_str(), "precondition_failed" | "already_exists")
    {
        done.message =
            format!("{path:?} exists, and the model has not read it: read it first, if the policy lets it");
    }
}

fn is_free(done: &Completed) -> bool {
    done.status == Status::Previewed && done.decision == Decision::Allow
}
