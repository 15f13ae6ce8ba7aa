//! Orders that share what they are about: "install X", "stop and disable X, Y".

use super::STEPS_LIMIT;
use super::cursor::Cursor;
use super::names::name;
use super::orders::{Orders, Understood};
use super::vocabulary::{AT_BOOT, Change, Verb};
use super::words::Token;
use crate::protocol::tool::{Action, FileTool, PackageTool, Tool};

impl<'a> Orders<'a> {
    pub(super) fn change(&mut self, first: Change, start: &Cursor<'a>) -> Understood {
        let mut changes = vec![first];
        while self.cursor.at_break() {
            let mut ahead = self.cursor.clone();
            ahead.pass_breaks();
            let Some(Verb::Change(change)) = ahead.verb() else {
                return Err(self.cursor.error_at(start, "what is it about?"));
            };
            changes.push(change);
            self.cursor = ahead;
        }
        let names = self.cursor.list(&|word| matches!(word, "at" | "on"))?;
        if changes.contains(&Change::Unit(Action::Enable)) {
            self.cursor.pass_one(AT_BOOT);
        }
        self.bounded(changes.len().saturating_mul(names.len()), start)?;
        for change in &changes {
            self.fitting(*change, start)?;
        }
        changes.into_iter().try_for_each(|change| self.changes(change, &names, start))
    }

    /// The steps of one change.
    fn changes(&mut self, change: Change, names: &[&Token], start: &Cursor<'a>) -> Understood {
        let says_file = self.cursor.kind.as_deref().is_some_and(|kind| kind.starts_with("file"));
        let are_paths = || names.iter().all(|n| name(n).starts_with('/'));
        match change {
            Change::Unit(action) => {
                let units = self.units(names, start)?;
                self.unit_steps(action, &units);
            }
            Change::Remove | Change::Purge if says_file || (change == Change::Remove && are_paths()) => {
                let paths = self.paths(names, start)?;
                self.steps.extend(paths.into_iter().map(|path| Tool::File(FileTool::Remove { path })));
            }
            Change::Install | Change::Remove | Change::Purge | Change::Hold | Change::Unhold => {
                let names = self.packages(names, start)?;
                self.steps.push(match change {
                    Change::Remove => Tool::Package(PackageTool::Remove { names }),
                    Change::Purge => Tool::Package(PackageTool::Purge { names }),
                    Change::Hold => Tool::Package(PackageTool::Hold { names }),
                    Change::Unhold => Tool::Package(PackageTool::Unhold { names }),
                    Change::Install | Change::Unit(_) => install(names),
                });
            }
        }
        Ok(())
    }

    /// Refuses what would come to more steps than a task has, before they are made.
    pub(super) fn bounded(&self, steps: usize, start: &Cursor<'a>) -> Understood {
        if self.steps.len().saturating_add(steps) > STEPS_LIMIT {
            return Err(start.error("more than 25 steps; give them as several tasks"));
        }
        Ok(())
    }

    /// Refuses a verb for another kind of thing than the noun says: "remove the service X" is no order to
    /// uninstall a package.
    fn fitting(&self, change: Change, start: &Cursor<'a>) -> Understood {
        let kind = self.cursor.kind.as_deref().unwrap_or_default();
        let is = |what: &str| kind.starts_with(what);
        let fits = match change {
            Change::Remove | Change::Purge => kind.is_empty() || is("package") || is("file"),
            Change::Hold | Change::Unhold => kind.is_empty() || is("package"),
            Change::Unit(_) => !is("package") && !is("file"),
            Change::Install => !is("file"),
        };
        if fits { Ok(()) } else { Err(start.error(format!("that is not done to a {kind}"))) }
    }
}

fn install(mut names: Vec<String>) -> Tool {
    match names.len() {
        1 => Tool::PkgInstall { name: names.swap_remove(0) },
        _ => Tool::Package(PackageTool::Install { names }),
    }
}
