//! The part of a request that a person agreed to: all of it, some files of a patch, or nothing.

use crate::client::pending_request::Outcome;
use crate::protocol::args::{Changes, FileChange};
use crate::protocol::request::Request;
use crate::protocol::task::Task;

/// The part of a request that a person agreed to.
pub(super) enum Agreed {
    /// All of it, or it was not asked about.
    Whole,
    /// The changes of these files alone.
    Files(Vec<String>),
    /// Nothing: what came of it.
    Nothing(Box<Outcome>),
}

/// Leaves the other files than these out of a patch, and returns them.
pub(super) fn leave_out(request: &mut Request, files: &[String]) -> Vec<String> {
    let Request::FilePatch(Changes { changes }) = request else { return Vec::new() };
    let (kept, left_out) =
        std::mem::take(changes).into_iter().partition(|change| files.contains(&change.path));
    *changes = kept;
    let left_out: Vec<FileChange> = left_out;
    left_out.into_iter().map(|change| change.path).collect()
}

/// Says which files of a patch a person left out: to the model in the result, to the person in the record.
pub(super) fn tell_left_out(task: &mut Task, outcome: &mut Outcome, left_out: &[String]) {
    if left_out.is_empty() {
        return;
    }
    let paths = left_out.join(", ");
    let told = format!("NOT changed, since the person left these files of the patch out: {paths}\n");
    outcome.stdout.extend_from_slice(told.as_bytes());
    let warning = format!("left out of a patch, as its person chose: {paths}");
    // A resumed task may have it already.
    if !task.warnings.contains(&warning) {
        task.warnings.push(warning);
    }
}
