//! Steps that find out first what they ask for: a diff becomes changes, the beginning of an id the whole.

use super::agreed::{Agreed, leave_out};
use super::runner::{Runner, step_status};
use crate::client::patching::{Old, Unread, read_of, resolve};
use crate::client::pending_request::Outcome;
use crate::client::undo::Earlier;
use crate::protocol::args::{Changes, FileChange, Of, any};
use crate::protocol::event::{AgentError, Event};
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::protocol::step::StepStatus;
use crate::protocol::task::Task;
use postern_patch::{FileDiff, Kind, parse};

impl Runner<'_> {
    /// Reads the files of a diff, applies it, and asks for all of it in one request.
    pub(super) async fn apply_patch(&mut self, task: &mut Task, number: usize, diff: &str) -> Outcome {
        let nothing = || Request::FilePatch(Changes { changes: Vec::new() });
        let files = match parse(diff.as_bytes()) {
            Ok(files) => files,
            Err(fault) => {
                let fault = AgentError::new("invalid_argument", fault.to_string());
                return self.not_asked(task, number, nothing(), fault);
            }
        };
        if let Some(refused) = self.may_patch(task, number, &files).await {
            return refused;
        }
        let (mut changes, mut views, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
        for file in &files {
            let old = if file.kind == Kind::Create {
                Ok(Old::default())
            } else {
                Old::of(self.ask(task, number, read_of(&file.path), Mode::Execute).await)
            };
            match old.map(|old| resolve(file, &old)) {
                Ok(Ok(one)) => {
                    let parts = one.map(|one| (one.change, one.view));
                    let (change, view): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
                    changes.extend(change);
                    views.extend(view);
                }
                Ok(Err(conflict)) => conflicts.push(conflict),
                Err(Unread::Refused(outcome)) => return *outcome,
                Err(Unread::TooLarge) => {
                    conflicts.push(format!("{:?} is larger than may be read", file.path));
                }
            }
        }
        if conflicts.is_empty() && changes.is_empty() {
            conflicts.push("the files hold already what the diff would make of them".to_owned());
        }
        if !conflicts.is_empty() {
            let fault = AgentError::new("precondition_failed", conflicts.join("; "));
            return self.not_asked(task, number, nothing(), fault);
        }
        let mode = self.order.mode;
        let mut request = Request::FilePatch(Changes { changes });
        let mut left_out = Vec::new();
        if mode == Mode::Execute {
            match self.may_change(task, number, &request, &views).await {
                Agreed::Whole => {}
                Agreed::Files(files) => {
                    left_out = leave_out(&mut request, &files);
                    views.retain(|view| !left_out.contains(&view.path));
                }
                Agreed::Nothing(refused) => return *refused,
            }
        }
        let mut outcome = self.ask_seen(task, number, request, mode, (&views, left_out)).await;
        if mode == Mode::Preview && step_status(&outcome.end, false) == StepStatus::Ok {
            outcome.views = views;
        }
        outcome
    }

    /// The refusal of a change whose reads would need an operator: nobody approves a read for nothing.
    async fn may_patch(&mut self, task: &mut Task, number: usize, files: &[FileDiff]) -> Option<Outcome> {
        if !self.asking_verbs.contains("file.read") || self.order.mode != Mode::Execute {
            return None;
        }
        let change = |file: &FileDiff| match file.kind {
            Kind::Delete => FileChange::remove(file.path.clone(), any()),
            Kind::Create | Kind::Modify => FileChange::write(file.path.clone(), Vec::new(), any()),
        };
        let request = Request::FilePatch(Changes { changes: files.iter().map(change).collect() });
        let checked = self.ask_once(task, number, request, Mode::Check).await;
        (step_status(&checked.end, false) != StepStatus::Ok).then_some(checked)
    }

    /// Takes an earlier request back.
    pub(super) async fn undo(&mut self, task: &mut Task, number: usize, id: &str) -> Outcome {
        let request = |of: String| Request::RequestUndo(Of { of });
        match (self.earlier)(id) {
            Ok(Earlier { id, followers }) => {
                let mut outcome = self.ask(task, number, request(id), self.order.mode).await;
                if step_status(&outcome.end, false) == StepStatus::Ok && self.order.mode == Mode::Execute {
                    for follower in &followers {
                        outcome.stdout.extend_from_slice(format!("{}\n", follower.advice()).as_bytes());
                    }
                }
                outcome
            }
            Err(fault) => self.not_asked(task, number, request(id.to_owned()), fault),
        }
    }

    /// A step that did not come to a request.
    pub(super) fn not_asked(
        &self,
        task: &Task,
        number: usize,
        request: Request,
        fault: AgentError,
    ) -> Outcome {
        Outcome::ended(&self.prepare(task, number, request, self.order.mode), Event::Error(fault))
    }
}
