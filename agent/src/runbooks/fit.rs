//! Which runbooks fit a task.

use super::document::Runbook;
use crate::inspect::installed_packages;
use std::path::Path;

/// So much of a task's words is looked at, in bytes.
const WORDS: usize = 4 << 10;

/// What a task is and what its host is like.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'s> {
    /// The task's words.
    pub task: &'s str,
    /// Names of failed units.
    pub failed_units: &'s [String],
    /// The root directory.
    pub root: &'s Path,
}

/// Why a runbook fits. The words of a task count more than a failed unit that it may have nothing to do with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// A pattern of tasks fits the words.
    Asked,
    /// A pattern of units fits a failed unit.
    Failed,
}

impl Runbook {
    /// Whether it fits, and why: all facts hold, and a pattern of tasks fits the words, or one of units a failed unit.
    #[must_use]
    pub fn fits(&self, situation: Situation<'_>) -> Option<Fit> {
        let mut end = situation.task.len().min(WORDS);
        while !situation.task.is_char_boundary(end) {
            end -= 1;
        }
        let words = situation.task.get(..end).unwrap_or_default();
        let is_asked = self.when.tasks.iter().any(|pattern| pattern.is_match(words));
        let is_failed = || {
            situation
                .failed_units
                .iter()
                .any(|unit| self.when.failed_units.iter().any(|glob| glob.fits(unit)))
        };
        let fit = if is_asked { Some(Fit::Asked) } else { is_failed().then_some(Fit::Failed) };
        fit.filter(|_| self.holds(situation.root))
    }

    fn holds(&self, root: &Path) -> bool {
        let below = |path: &str| root.join(path.trim_start_matches('/'));
        self.when.files.iter().all(|path| below(path).exists())
            && (self.when.packages.is_empty() || {
                let installed = installed_packages(root);
                self.when.packages.iter().all(|name| installed.contains(name))
            })
    }
}
