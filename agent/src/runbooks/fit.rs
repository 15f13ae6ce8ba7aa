//! Which runbooks fit a task.

use super::document::Runbook;
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

impl Runbook {
    /// Whether it fits: all facts hold, and a pattern of tasks fits the words, or one of units a failed unit.
    #[must_use]
    pub fn fits(&self, situation: Situation<'_>) -> bool {
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
        (is_asked || is_failed()) && self.holds(situation.root)
    }

    fn holds(&self, root: &Path) -> bool {
        let below = |path: &str| root.join(path.trim_start_matches('/'));
        let is_installed = |name: &String| {
            let info = below("/var/lib/dpkg/info");
            // Of a package for several architectures dpkg's name has its own.
            info.join(format!("{name}.list")).exists()
                || ["amd64", "arm64"].iter().any(|arch| info.join(format!("{name}:{arch}.list")).exists())
        };
        self.when.files.iter().all(|path| below(path).exists()) && self.when.packages.iter().all(is_installed)
    }
}
