//! `file edit`: the person's editor on a private copy, then a write that holds only if nobody else wrote meanwhile.

use super::session::Session;
use super::typed::{content_of, write};
use crate::protocol::event::{AgentError, Event, Status};
use crate::protocol::exit::Exit;
use crate::protocol::mode::Mode;
use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

impl Session<'_> {
    pub(super) async fn edit(&mut self, path: String) -> Exit {
        let old = match self.old(&path).await {
            Ok(old) => old,
            Err(exit) => return exit,
        };
        let before = old.content.clone().unwrap_or_default();
        let (directory, copy) = match private_copy(&path, &before) {
            Ok(made) => made,
            Err(e) => {
                return self.fail(&AgentError::new("failed", format!("cannot make a private copy: {e}")));
            }
        };
        let edited = self.edited(&copy).await.and_then(|()| content_of(&copy));
        let after = match edited {
            Ok(after) => after,
            Err(why) => {
                let kept = kept(directory, &copy, &before);
                return self
                    .fail(&AgentError::new("failed", format!("{why}; nothing has been written{kept}")));
            }
        };
        if after == before {
            return self.unchanged(write(path, after, old.expect()));
        }
        let mode = self.mode();
        let view = old.view(&path, Some(&after));
        let (mut outcome, ask) = self.asked(write(path, after, old.expect()), mode).await;
        if mode == Mode::Preview {
            outcome.views.push(view);
        }
        let exit = self.ended(&outcome, ask.mode);
        let is_in = matches!(&outcome.end, Event::Completed(done)
            if matches!(done.status, Status::Done | Status::Unchanged | Status::Previewed));
        if !is_in {
            let kept = kept(directory, &copy, &before);
            self.console.say(kept.trim_start_matches("; "));
        }
        exit
    }

    /// Waits for the editor, which has the terminal: an interrupt is meant for it.
    #[expect(clippy::disallowed_methods, reason = "a person's own editor, in their terminal")]
    async fn edited(&mut self, copy: &Path) -> Result<(), String> {
        let Some((program, arguments)) = self.host.editor.split_first() else {
            return Err("no editor is named: set $EDITOR".to_owned());
        };
        let mut interrupts = signal(SignalKind::interrupt()).map_err(|e| e.to_string())?;
        let cannot = |e| format!("cannot start the editor {program:?}: {e}");
        let mut editor = Command::new(program).args(arguments).arg(copy).spawn().map_err(cannot)?;
        loop {
            tokio::select! {
                ended = editor.wait() => return match ended {
                    Ok(status) if status.success() => Ok(()),
                    Ok(status) => Err(format!("the editor ended with {status}")),
                    Err(e) => Err(format!("the editor is lost: {e}")),
                },
                _ = interrupts.recv() => {}
            }
        }
    }
}

/// A copy that nobody else may read, under the file's own name, so that an editor knows its kind.
fn private_copy(path: &str, content: &[u8]) -> std::io::Result<(TempDir, PathBuf)> {
    let directory = tempfile::Builder::new()
        .prefix("postern-edit-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()?;
    let name = Path::new(path).file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
    let copy = directory.path().join(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&copy)?;
    file.write_all(content)?;
    Ok((directory, copy))
}

/// Leaves the copy where it is if there is anything in it to lose, and says where.
fn kept(directory: TempDir, copy: &Path, before: &[u8]) -> String {
    if content_of(copy).is_ok_and(|content| content == before) {
        return String::new();
    }
    let _ = directory.keep();
    format!("; your text is in {}", copy.display())
}
