//! `file patch`: a diff, applied to what may be read, and sent as one request.

use super::picking::{Picked, Picker};
use super::session::Session;
use super::typed::{content_of, limited};
use super::verbs::Patch;
use crate::client::patching::{Old, Resolved, Unread, resolve};
use crate::protocol::args::Changes;
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::render::risk;
use postern_patch::{FileDiff, Kind, parse};
use std::collections::HashSet;

impl Session<'_> {
    pub(super) async fn patch(&mut self, patch: Patch) -> Exit {
        let files = match self.files_of(&patch) {
            Ok(files) => files,
            Err(why) => return self.fail(&AgentError::new("invalid_argument", why)),
        };
        let mut resolved = match self.resolved(&files).await {
            Ok(resolved) => resolved,
            Err(exit) => return exit,
        };
        if patch.interactive {
            match self.picked(resolved).await {
                Ok(picked) => resolved = picked,
                Err(fault) => return self.fail(&fault),
            }
        }
        let (changes, views): (Vec<_>, Vec<_>) =
            resolved.into_iter().map(|one| (one.change, one.view)).unzip();
        if changes.is_empty() {
            return self.unchanged(Request::FilePatch(Changes { changes }));
        }
        let mode = self.mode();
        let (mut outcome, ask) = self.asked(Request::FilePatch(Changes { changes }), mode).await;
        outcome.views = if mode == Mode::Preview { views } else { Vec::new() };
        self.ended(&outcome, ask.mode)
    }

    /// The diff's files less those that are left out.
    fn files_of(&mut self, patch: &Patch) -> Result<Vec<FileDiff>, String> {
        let diff = match &patch.from {
            Some(from) => content_of(from)?,
            None => limited(&mut self.console.input).map_err(|e| format!("cannot read stdin: {e}"))?,
        };
        let mut files = parse(&diff).map_err(|fault| fault.to_string())?;
        for path in &patch.exclude {
            if !files.iter().any(|file| file.path == *path) {
                return Err(format!("--exclude: {path:?} is not in the diff"));
            }
        }
        let left_out: HashSet<&String> = patch.exclude.iter().collect();
        files.retain(|file| !left_out.contains(&file.path));
        if files.is_empty() { Err("no file of the diff is left".to_owned()) } else { Ok(files) }
    }

    /// Applies the hunks to the current files. All conflicts are reported, not only the first.
    async fn resolved(&mut self, files: &[FileDiff]) -> Result<Vec<Resolved>, Exit> {
        let (mut resolved, mut conflicts) = (Vec::new(), Vec::new());
        for file in files {
            // A new file needs no look: the helper finds out whether it is there.
            let old = if file.kind == Kind::Create { Old::default() } else { self.old(&file.path).await? };
            match resolve(file, &old) {
                Ok(one) => resolved.extend(one),
                Err(conflict) => conflicts.push(conflict),
            }
        }
        if !conflicts.is_empty() {
            let what = format!("{}; nothing has been done", conflicts.join("; "));
            return Err(self.fail(&AgentError::new("precondition_failed", what)));
        }
        for one in resolved.iter().filter(|_| !self.global.quiet) {
            for moved in &one.moved {
                let (hunk, path, from, to) = (moved.hunk, &one.change.path, moved.from, moved.to);
                self.console.say(&format!("hunk {hunk} of {path} stands at line {to}, not {from}"));
            }
        }
        Ok(resolved)
    }

    /// Reads the file that a change is based on; reports why it cannot.
    pub(super) async fn old(&mut self, path: &str) -> Result<Old, Exit> {
        match self.read(path).await {
            Ok(old) => Ok(old),
            Err(Unread::TooLarge) => {
                Err(self.fail(&AgentError::new("too_large", format!("{path:?} is larger than may be read"))))
            }
            Err(Unread::Refused(outcome)) => {
                if !self.is_silent() {
                    self.console
                        .say(&format!("{path} must be read first, since what is written is made from it:"));
                }
                Err(self.ended(&outcome, Mode::Execute))
            }
        }
    }

    /// Those that the person wants sent.
    async fn picked(&mut self, resolved: Vec<Resolved>) -> Result<Vec<Resolved>, AgentError> {
        let mut picker = Picker::new(resolved.len());
        let chosen = loop {
            let Some(one) = resolved.get(picker.at()) else { return Ok(Vec::new()) };
            self.read_diff(&one.view.text()).await;
            if let Some(warning) = risk::of_view(&one.view) {
                self.console.say(&warning);
            }
            let question = Picker::question(&one.view.path, &one.view.counts(), "send");
            match picker.take(&self.answer(&question).await?) {
                Picked::Next => {}
                Picked::Done(places) => break places,
                Picked::Quit => return Err(AgentError::new("cancelled", "nothing has been sent")),
            }
        };
        let is_picked = |(at, one)| chosen.contains(&at).then_some(one);
        Ok(resolved.into_iter().enumerate().filter_map(is_picked).collect())
    }

    /// Shows a diff, and waits until the person has read it.
    pub(super) async fn read_diff(&mut self, text: &str) {
        if let Some(pager) = self.console.say_diff(text)
            && let Ok(Some(unshown)) = pager.await
        {
            self.console.say_shown(&unshown);
        }
    }
}
