//! Asks the person before a model's change is made: the first of a session, a file that would be
//! written over unread, and much of a file that would go.
//!
//! Where nobody is there, the first change goes on, since the policy decides on it; the other two are not
//! made: the model is told why, and can read the file first or change less of it.

use super::agreed::Agreed;
use super::runner::{Runner, step_status};
use crate::client::patching::{Old, Unread, read_of};
use crate::client::pending_request::Outcome;
use crate::protocol::args::{Change, Changes, FileChange, OneChange, any};
use crate::protocol::event::{AgentError, Completed, Decision, Event, Status};
use crate::protocol::file_view::FileView;
use crate::protocol::mode::Mode;
use crate::protocol::question::{AskedFile, Choice, Kind, UserAnswer};
use crate::protocol::request::Request;
use crate::protocol::step::StepStatus;
use crate::protocol::task::Task;
use crate::protocol::tool::{FileTool, Tool};
use crate::render::{self, risk};
use crate::store::Confirmation;

/// Accepted answers to such a question, and to one of a patch of several files.
const CHOICES: &[Choice] = &[Choice::Yes, Choice::No, Choice::Text];
const FILE_CHOICES: &[Choice] = &[Choice::Yes, Choice::Files, Choice::No, Choice::Text];

impl Runner<'_> {
    fn needed_confirmation(&self) -> Option<&Confirmation> {
        self.confirmation.as_ref().filter(|confirmation| confirmation.is_needed())
    }

    /// Shows the first change of a session to its person.
    pub(super) async fn first_change(
        &mut self,
        task: &mut Task,
        number: usize,
        request: &Request,
        views: &[FileView],
    ) -> Agreed {
        let is_first = self.needed_confirmation().is_some_and(Confirmation::is_first);
        if !is_first || !self.order.interactive || !request.is_effect() {
            return Agreed::Whole;
        }
        let foreseen = self.ask_once(task, number, request.clone(), Mode::Preview).await;
        match step_status(&foreseen.end, false) {
            StepStatus::Cancelled => return Agreed::Nothing(Box::new(foreseen)),
            // Nobody need be asked about what the policy does not let happen.
            StepStatus::Refused => return Agreed::Whole,
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

    /// Asks the person. A yes is for the changes that were shown: each request names what its files held then.
    async fn agreed(
        &mut self,
        task: &mut Task,
        number: usize,
        request: &Request,
        views: &[FileView],
        (kind, what, details): (Kind, String, String),
    ) -> Agreed {
        // Above the rest, which the model writes.
        let mut lines = risk::of_request(request, views);
        lines.push(details);
        let details = lines.join("\n");
        let files = asked_files(request, views);
        let choices = if files.is_empty() { CHOICES } else { FILE_CHOICES };
        let answer = self.ask_of_files(task, (kind, what, details), choices, files).await;
        if let (UserAnswer::Yes | UserAnswer::Always | UserAnswer::Files(_), Some(confirmation)) =
            (&answer, &self.confirmation)
        {
            confirmation.let_through();
        }
        let why = match answer {
            UserAnswer::Yes | UserAnswer::Always => return Agreed::Whole,
            UserAnswer::Files(files) => return Agreed::Files(files),
            UserAnswer::No => "the person said no".to_owned(),
            UserAnswer::Text(words) => format!("the person said no, and says instead: {words}"),
        };
        self.not_agreed(task, number, request, why)
    }

    fn not_agreed(&self, task: &Task, number: usize, request: &Request, why: String) -> Agreed {
        let fault = AgentError::new("not_approved", why);
        Agreed::Nothing(Box::new(self.not_asked(task, number, request.clone(), fault)))
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
                    Agreed::Nothing(refused) => *refused,
                    // One file is no choice.
                    Agreed::Whole | Agreed::Files(_) => self.ask(task, number, request, mode).await,
                };
            }
        };
        let view = old.view(path, Some(content));
        let request = write(old.expect());
        if let Agreed::Nothing(refused) =
            self.may_change(task, number, &request, std::slice::from_ref(&view)).await
        {
            return *refused;
        }
        self.ask_seen(task, number, request, mode, (&[view], Vec::new())).await
    }

    /// Whether files may be changed as shown.
    pub(super) async fn may_change(
        &mut self,
        task: &mut Task,
        number: usize,
        request: &Request,
        views: &[FileView],
    ) -> Agreed {
        let Some(confirmation) = self.needed_confirmation() else { return Agreed::Whole };
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
            return Agreed::Whole;
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
    ) -> Agreed {
        if self.order.interactive {
            return self.agreed(task, number, request, views, (kind, what, details)).await;
        }
        let instead = if kind == Kind::Overwrite {
            "read it first, so that nothing in it is lost unseen"
        } else {
            "change less of it, or end the task and say what should be written"
        };
        let why = format!("{what}, and nobody is there to be asked: {instead}");
        self.not_agreed(task, number, request, why)
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

/// The files of a patch of several, of which a person can choose some.
fn asked_files(request: &Request, views: &[FileView]) -> Vec<AskedFile> {
    match request {
        Request::FilePatch(Changes { changes }) if changes.len() > 1 && changes.len() == views.len() => {
            views.iter().map(|view| AskedFile { path: view.path.clone(), counts: view.counts() }).collect()
        }
        _ => Vec::new(),
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
