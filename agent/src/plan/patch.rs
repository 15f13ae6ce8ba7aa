//! Whether a plan that is a diff can be carried out as it says.

use super::fit::only_look;
use crate::protocol::plan::{Code, FilePatchPlan, Intent, Unfit, unfit};
use postern_patch::{FileDiff, Kind, parse};

impl FilePatchPlan {
    pub(super) fn check(&self) -> Result<(), Unfit> {
        let invalid = |why: String| Err(unfit(Code::InvalidSchema, why));
        if self.files_changed.is_empty() {
            return invalid("files_changed is empty".into());
        }
        let files = match parse(self.unified_diff.as_bytes()) {
            Ok(files) => files,
            Err(fault) => return invalid(format!("unified_diff: {fault}")),
        };
        if !self.rollback_diff.is_empty()
            && let Err(fault) = parse(self.rollback_diff.as_bytes())
        {
            return invalid(format!("rollback_diff: {fault}"));
        }
        let mut said = self.files_changed.clone();
        let mut changed: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        said.sort_unstable();
        changed.sort_unstable();
        if said != changed {
            return invalid(format!("files_changed is not what the diff changes: {}", changed.join(", ")));
        }
        self.intent_fits(&files)?;
        for change in &self.permission_changes {
            let mode = change.mode.strip_prefix('0').filter(|mode| mode.len() == 3).unwrap_or(&change.mode);
            if mode.len() != 3 || !mode.bytes().all(|b| (b'0'..=b'7').contains(&b)) {
                let what = "three octal digits, without setuid, setgid and sticky bits";
                return invalid(format!("the mode {:?} of {:?} is not {what}", change.mode, change.path));
            }
            if !files.iter().any(|file| file.path == change.path && file.kind != Kind::Delete) {
                return invalid(format!(
                    "permission_changes names {:?}, which the diff does not change",
                    change.path
                ));
            }
        }
        only_look("verification", &self.verification_commands)
    }

    /// The model says what was asked for; the diff must do just that.
    fn intent_fits(&self, files: &[FileDiff]) -> Result<(), Unfit> {
        let odd = |is_odd: fn(Kind) -> bool| files.iter().find(|file| is_odd(file.kind));
        let (odd, does) = match self.request_intent {
            Intent::Unknown => return Ok(()),
            Intent::Create => (odd(|kind| kind == Kind::Delete), "removes"),
            Intent::Update => (odd(|kind| kind != Kind::Modify), "creates or removes"),
        };
        match odd {
            None if self.request_intent == Intent::Create
                && !files.iter().any(|f| f.kind == Kind::Create) =>
            {
                Err(unfit(Code::InvalidSchema, "request_intent is create, but the diff creates no file"))
            }
            None => Ok(()),
            Some(file) => Err(unfit(
                Code::InvalidSchema,
                format!("the diff {does} {:?}, which request_intent does not say", file.path),
            )),
        }
    }
}
