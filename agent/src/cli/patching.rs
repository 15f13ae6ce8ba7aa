//! `file patch`: a diff, applied to what may be read, and sent as one request.

use super::Session;
use super::reading::{Old, Unread};
use super::typed::{content_of, limited};
use super::verbs::Patch;
use crate::args::{Changes, FileChange};
use crate::ask::Mode;
use crate::event::Fault;
use crate::exit::Exit;
use crate::request::Request;
use crate::show::FileView;
use postern_patch::{FileDiff, Kind, apply, parse};
use std::collections::HashSet;

/// What became of a file of the diff on this side.
struct Resolved {
    change: FileChange,
    view: FileView,
}

impl Session<'_> {
    pub(super) async fn patch(&mut self, patch: Patch) -> Exit {
        let files = match self.files_of(&patch) {
            Ok(files) => files,
            Err(why) => return self.fail(&Fault::new("invalid_argument", why)),
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
            self.console.say("nothing to do: no file would change");
            return Exit::Done;
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

    /// What the files shall hold. Every hunk that does not fit is told, not only the first.
    async fn resolved(&mut self, files: &[FileDiff]) -> Result<Vec<Resolved>, Exit> {
        let (mut resolved, mut conflicts) = (Vec::new(), Vec::new());
        for file in files {
            match self.resolve_file(file).await? {
                Ok(Some(one)) => resolved.push(one),
                Ok(None) => {}
                Err(conflict) => conflicts.push(conflict),
            }
        }
        if conflicts.is_empty() {
            return Ok(resolved);
        }
        let what = format!("{}; nothing has been done", conflicts.join("; "));
        Err(self.fail(&Fault::new("precondition_failed", what)))
    }

    /// One file; `None` where it would not change, the inner error where a hunk does not fit.
    async fn resolve_file(&mut self, file: &FileDiff) -> Result<Result<Option<Resolved>, String>, Exit> {
        let path = &file.path;
        // A new file needs no look: the helper finds out whether it is there.
        let old = match file.kind {
            Kind::Create => Old::default(),
            Kind::Modify | Kind::Delete => match self.read(path).await {
                Ok(old) => old,
                Err(Unread::TooLarge) => {
                    let why = format!("{path:?} is larger than may be read");
                    return Err(self.fail(&Fault::new("too_large", why)));
                }
                Err(Unread::Refused(outcome)) => {
                    self.console
                        .say(&format!("{path} cannot be read, and a diff is applied to what is read:"));
                    return Err(self.ended(&outcome, Mode::Execute));
                }
            },
        };
        if old.content.is_none() && file.kind != Kind::Create {
            return Ok(Err(format!("{path:?} does not exist")));
        }
        let applied = match apply(file, old.content.as_deref()) {
            Ok(applied) => applied,
            Err(conflict) => return Ok(Err(conflict.to_string())),
        };
        for moved in applied.moved.iter().filter(|_| !self.global.quiet) {
            let (hunk, from, to) = (moved.hunk, moved.from, moved.to);
            self.console.say(&format!("hunk {hunk} of {path} stands at line {to}, not {from}"));
        }
        if file.kind == Kind::Delete {
            let change = FileChange::remove(path.clone(), old.expect());
            return Ok(Ok(Some(Resolved { change, view: old.view(path, None) })));
        }
        if old.content.as_ref() == Some(&applied.content) {
            return Ok(Ok(None));
        }
        let view = old.view(path, Some(&applied.content));
        let change = FileChange::write(path.clone(), applied.content, old.expect());
        Ok(Ok(Some(Resolved { change, view })))
    }

    /// Those that the person wants sent.
    async fn picked(&mut self, resolved: Vec<Resolved>) -> Result<Vec<Resolved>, Fault> {
        let (mut picked, mut all) = (Vec::new(), false);
        for one in resolved {
            if all {
                picked.push(one);
                continue;
            }
            self.console.say_diff(&one.view.text());
            let question = format!(
                "{} {}: send it? [y]es, [n]o, [a]ll that follow, [q]uit: ",
                one.view.path,
                one.view.counts()
            );
            match self.answer(&question).await?.as_str() {
                "y" | "yes" => picked.push(one),
                "a" | "all" => {
                    all = true;
                    picked.push(one);
                }
                "n" | "no" => {}
                _ => return Err(Fault::new("cancelled", "nothing has been sent")),
            }
        }
        Ok(picked)
    }
}
