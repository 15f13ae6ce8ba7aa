//! The log of a task as a document.

use super::chunks::cut;
use crate::protocol::task::Task;
use crate::protocol::tool::Tool;
use std::fmt::Write;

/// Most bytes of one step's output: the log tells what was done, the task's record has the rest.
const OUTPUT_LIMIT: usize = 1500;
/// Most bytes of a log.
const LOG_LIMIT: usize = 256 << 10;

/// Writes the log of a task that ended, as Markdown.
#[must_use]
pub fn log(task: &Task) -> String {
    let mut text = format!("# {}\n\n{:?}: {}\n", postern_text::line(&task.task), task.status, task.summary);
    for warning in &task.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    for step in &task.results {
        if text.len() > LOG_LIMIT {
            text.push_str("\nThe other steps are left out.\n");
            break;
        }
        let _ = writeln!(
            text,
            "\n## Step {}: {}\n\n{:?}",
            step.step,
            postern_text::line(&step.tool.describe()),
            step.status
        );
        // Its results are documents that are found by themselves.
        if matches!(step.tool, Tool::SearchKnowledge { .. }) {
            continue;
        }
        for output in [&step.error, &step.stdout, &step.stderr].into_iter().flatten() {
            let _ = writeln!(text, "{}", cut(output, OUTPUT_LIMIT));
        }
    }
    text
}
