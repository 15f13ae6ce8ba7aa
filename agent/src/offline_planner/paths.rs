//! Orders about files and directories, and those that take a change back.

use super::cursor::Cursor;
use super::names::{is_path, is_pronoun, name};
use super::orders::{Orders, Understood};
use super::vocabulary::{NOUNS, Verb};
use super::words::{Kind, Token};
use crate::protocol::tool::{Action, FileTool, PackageTool, Tool};
use postern_patch::parse;

impl<'a> Orders<'a> {
    pub(super) fn read(&mut self, start: &Cursor<'a>) -> Understood {
        let names = self.cursor.list(&|_| false)?;
        let paths = self.paths(&names, start)?;
        self.read_steps(paths);
        Ok(())
    }

    /// "show PATH", "show package X", "show service X".
    pub(super) fn show(&mut self, start: &Cursor<'a>) -> Understood {
        let kind = self.cursor.pass_words(NOUNS).unwrap_or_default();
        let names = self.cursor.list(&|_| false)?;
        if kind.starts_with("package") {
            let names = self.packages(&names, start)?;
            self.steps.push(Tool::Package(PackageTool::Show { names }));
        } else if kind.starts_with("service") || kind.starts_with("unit") {
            let units = self.units(&names, start)?;
            self.unit_steps(Action::Status, &units);
        } else if names.iter().all(|n| is_path(n) || is_pronoun(n)) {
            let paths = self.paths(&names, start)?;
            self.read_steps(paths);
        } else {
            return Err(start.error("say \"show package X\", \"show the status of X\" or \"show /PATH\""));
        }
        Ok(())
    }

    fn read_steps(&mut self, paths: Vec<String>) {
        self.steps.extend(paths.into_iter().map(|path| Tool::ReadFile { path, offset: None, limit: None }));
    }

    /// "list /PATH".
    pub(super) fn list(&mut self, start: &Cursor<'a>) -> Understood {
        let names = self.cursor.list(&|_| false)?;
        let paths = self.paths(&names, start)?;
        self.steps.extend(paths.into_iter().map(|path| Tool::File(FileTool::List { path })));
        Ok(())
    }

    /// "create the directory /PATH".
    pub(super) fn make_directory(&mut self) -> Understood {
        let path = self.one_path()?;
        let [mode, owner] = Default::default();
        self.steps.push(Tool::File(FileTool::Mkdir { path, mode, owner }));
        Ok(())
    }

    /// "set the mode of /PATH to 0644", "set the owner of /PATH to USER:GROUP".
    pub(super) fn set(&mut self, verb: Verb) -> Understood {
        let path = self.one_path()?;
        if !self.cursor.pass(&["to"]) {
            return Err(self.cursor.error("say to what, such as \"to 0644\" or \"to www-data:www-data\""));
        }
        let start = self.cursor.clone();
        let value = self.cursor.next().map(name).unwrap_or_default();
        let is_mode = (3..=4).contains(&value.len()) && value.bytes().all(|b| matches!(b, b'0'..=b'7'));
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
        let is_owner = !value.is_empty() && value.chars().all(is_name) && value.matches(':').count() < 2;
        let value = value.to_owned();
        self.steps.push(match verb {
            Verb::SetMode if is_mode => Tool::File(FileTool::SetMode { path, mode: format!("{value:0>4}") }),
            Verb::SetOwner if is_owner => Tool::File(FileTool::SetOwner { path, owner: value }),
            Verb::SetMode => return Err(start.error("a mode is octal, such as 0644")),
            _ => return Err(start.error("an owner is USER, USER:GROUP or :GROUP")),
        });
        Ok(())
    }

    /// "apply the patch 'DIFF'".
    pub(super) fn patch(&mut self) -> Understood {
        let start = self.cursor.clone();
        let Some(Token { kind: Kind::Quoted(diff), .. }) = self.cursor.next() else {
            return Err(start.error("put the diff in quotes"));
        };
        parse(diff.as_bytes()).map_err(|fault| start.error(fault.to_string()))?;
        self.steps.push(Tool::ApplyPatch { diff: diff.clone() });
        Ok(())
    }

    /// "undo ID".
    pub(super) fn undo(&mut self, start: &Cursor<'a>) -> Understood {
        let id = self.cursor.next().map(name).unwrap_or_default().to_lowercase();
        // Shorter ones are words: "undo bad".
        if id.len() < 8 || !id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
            return Err(start.error("say \"undo the last change\", or undo and the request's id"));
        }
        self.steps.push(Tool::Undo { request_id: id });
        Ok(())
    }
}
