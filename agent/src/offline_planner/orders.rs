//! One order after the other: its verb, what it is about, and the steps that it comes to.

use super::cursor::Cursor;
use super::not_understood::NotUnderstood;
use super::vocabulary::{AT_BOOT, EVERYTHING, LISTS, STATES, State, Verb};
use super::words::Token;
use crate::protocol::tool::{Action, PackageTool, Tool};

/// Referent of "it" and "them".
pub enum Subject {
    None,
    Packages(Vec<String>),
    Units(Vec<String>),
    Paths(Vec<String>),
}

/// Turns tokens into steps.
pub struct Orders<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) subject: Subject,
    pub steps: Vec<Tool>,
}

pub(super) type Understood = Result<(), NotUnderstood>;

impl<'a> Orders<'a> {
    pub fn new(cursor: Cursor<'a>) -> Self {
        Self { cursor, subject: Subject::None, steps: Vec::new() }
    }

    /// Understands the next order; false if there is none.
    pub fn next(&mut self) -> Result<bool, NotUnderstood> {
        self.cursor.pass_breaks();
        if self.cursor.peek().is_none() {
            return Ok(false);
        }
        let start = self.cursor.clone();
        let Some(verb) = self.cursor.verb().filter(|verb| *verb != Verb::Unknown) else {
            return Err(start.error(""));
        };
        match verb {
            Verb::Ensure | Verb::Ask => self.state(verb)?,
            Verb::Update => self.update(&start)?,
            Verb::Upgrade => self.upgrade()?,
            Verb::Write => self.write()?,
            Verb::Create => self.create()?,
            Verb::Read => self.read(&start)?,
            Verb::Show => self.show(&start)?,
            Verb::ItsStatus => {
                let units = self.pronoun_units(&start)?;
                self.unit_steps(Action::Status, &units);
            }
            Verb::Autoremove => self.steps.push(Tool::Package(PackageTool::Autoremove {})),
            Verb::Repair => self.steps.push(Tool::Package(PackageTool::Repair {})),
            Verb::UnitsReload => self.steps.push(Tool::UnitsReload {}),
            Verb::List => self.list(&start)?,
            Verb::MakeDirectory => self.make_directory()?,
            Verb::SetMode | Verb::SetOwner => self.set(verb)?,
            Verb::ApplyPatch => self.patch()?,
            Verb::UndoLast => self.steps.push(Tool::Undo { request_id: "last".to_owned() }),
            Verb::Undo => self.undo(&start)?,
            Verb::Change(verb) => self.change(verb, &start)?,
            Verb::Unknown => {}
        }
        self.cursor.end()?;
        Ok(true)
    }

    /// "make sure X is running", "is X installed".
    fn state(&mut self, verb: Verb) -> Understood {
        let start = self.cursor.clone();
        let names =
            self.cursor.list(&|word| matches!(word, "is" | "are" | "not") || state(word).is_some())?;
        let mut any_not = self.cursor.clone().says_not();
        let mut states = vec![self.one_state()?];
        loop {
            let mut ahead = self.cursor.clone();
            if ahead.pass_breaks() {
                break;
            }
            std::mem::swap(&mut self.cursor, &mut ahead);
            let says_not = self.cursor.clone().says_not();
            if let Ok(state) = self.one_state() {
                if any_not && !says_not {
                    return Err(start.error("say for each state whether it shall be so"));
                }
                any_not |= says_not;
                states.push(state);
            } else {
                self.cursor = ahead;
                break;
            }
        }
        if states.contains(&State::Enabled) {
            self.cursor.pass_one(AT_BOOT);
        }
        self.bounded(states.len().saturating_mul(names.len()), &start)?;
        for state in states {
            match (verb, state) {
                (Verb::Ask, State::Installed | State::Removed) => {
                    let names = self.packages(&names, &start)?;
                    self.steps.push(Tool::Package(PackageTool::Show { names }));
                }
                (Verb::Ask, _) => {
                    let units = self.units(&names, &start)?;
                    self.unit_steps(Action::Status, &units);
                }
                (_, State::Installed) => {
                    let names = self.packages(&names, &start)?;
                    self.steps.push(Tool::EnsureInstalled { names });
                }
                (_, State::Removed) => {
                    let names = self.packages(&names, &start)?;
                    self.steps.push(Tool::Package(PackageTool::Remove { names }));
                }
                (_, State::Running) => {
                    let units = self.units(&names, &start)?;
                    self.steps.extend(units.into_iter().map(|name| Tool::EnsureRunning { name }));
                }
                (_, State::Stopped) => self.make_so(Action::Stop, &names, &start)?,
                (_, State::Enabled) => self.make_so(Action::Enable, &names, &start)?,
                (_, State::Disabled) => self.make_so(Action::Disable, &names, &start)?,
                (_, State::Masked) => self.make_so(Action::Mask, &names, &start)?,
                (_, State::Unmasked) => self.make_so(Action::Unmask, &names, &start)?,
            }
        }
        self.steps.dedup();
        Ok(())
    }

    fn make_so(&mut self, action: Action, names: &[&Token], start: &Cursor<'a>) -> Understood {
        let units = self.units(names, start)?;
        self.unit_steps(action, &units);
        Ok(())
    }

    fn one_state(&mut self) -> Result<State, NotUnderstood> {
        let start = self.cursor.clone();
        self.cursor.pass_one(&[&["is"], &["are"]]);
        let not = self.cursor.pass(&["not"]);
        match self.cursor.lower().and_then(|word| state(&word)) {
            Some(state) => {
                self.cursor.next();
                Ok(if not { state.not() } else { state })
            }
            None => {
                Err(start.error("the state is missing: running, stopped, installed, enabled or disabled"))
            }
        }
    }

    fn update(&mut self, start: &Cursor<'a>) -> Understood {
        self.cursor.pass_one(LISTS);
        if self.cursor.clone().end().is_err() {
            let hint = "\"update\" refreshes the package lists; for newer versions say \"upgrade\"";
            return Err(start.error(hint));
        }
        self.steps.push(Tool::Package(PackageTool::Update {}));
        Ok(())
    }

    fn upgrade(&mut self) -> Understood {
        let start = self.cursor.clone();
        if self.cursor.pass_one(EVERYTHING) {
            self.steps.push(Tool::Package(PackageTool::Upgrade { names: Vec::new() }));
            return Ok(());
        }
        if self.cursor.at_break() {
            return Err(start.error("say \"upgrade all packages\", or which"));
        }
        let names = self.cursor.list(&|_| false)?;
        let names = self.packages(&names, &start)?;
        self.steps.push(Tool::Package(PackageTool::Upgrade { names }));
        Ok(())
    }

    pub(super) fn unit_steps(&mut self, action: Action, units: &[String]) {
        self.steps.extend(units.iter().map(|name| Tool::Service { action, name: name.clone() }));
    }
}

fn state(word: &str) -> Option<State> {
    STATES.iter().find(|(name, _)| *name == word).map(|(_, state)| *state)
}
