//! Names in orders: what a package, a unit and a path look like, and what "it" stands for.

use super::cursor::Cursor;
use super::not_understood::NotUnderstood;
use super::orders::{Orders, Subject};
use super::vocabulary::NOUNS;
use super::words::{Kind, Token};
use crate::protocol::tool::unit_name;

impl<'a> Orders<'a> {
    /// Package names, each perhaps with `=VERSION`.
    pub(super) fn packages(
        &mut self,
        names: &[&Token],
        start: &Cursor<'a>,
    ) -> Result<Vec<String>, NotUnderstood> {
        let last = if let Subject::Packages(packages) = &self.subject { Some(packages) } else { None };
        let names = meant(names, last, start, "package", is_package, "is no package's name")?;
        self.subject = Subject::Packages(names.clone());
        Ok(names)
    }

    /// Unit names, with their suffix.
    pub(super) fn units(
        &mut self,
        names: &[&Token],
        start: &Cursor<'a>,
    ) -> Result<Vec<String>, NotUnderstood> {
        if let [only] = names
            && is_pronoun(only)
        {
            let units = self.pronoun_units(start)?;
            let several = || start.error("\"it\" could be several: name it");
            return if fits_pronoun(only, &units) { Ok(units) } else { Err(several()) };
        }
        let names = checked(names, start, is_unit, "is no unit's name")?;
        let units: Vec<String> = names.iter().map(|name| unit_name(name)).collect();
        self.subject = Subject::Units(units.clone());
        Ok(units)
    }

    /// The units that were named last. A package's unit need not have its name, so that is no answer.
    pub(super) fn pronoun_units(&self, start: &Cursor<'a>) -> Result<Vec<String>, NotUnderstood> {
        match &self.subject {
            Subject::Units(units) => Ok(units.clone()),
            _ => Err(start.error("name the service instead of \"it\"")),
        }
    }

    /// Absolute paths.
    pub(super) fn paths(
        &mut self,
        names: &[&Token],
        start: &Cursor<'a>,
    ) -> Result<Vec<String>, NotUnderstood> {
        let last = if let Subject::Paths(paths) = &self.subject { Some(paths) } else { None };
        let fault = "is no absolute path in its plain form";
        let paths = meant(names, last, start, "file", is_plain_path, fault)?;
        self.subject = Subject::Paths(paths.clone());
        Ok(paths)
    }

    /// One absolute path, here.
    pub(super) fn one_path(&mut self) -> Result<String, NotUnderstood> {
        self.cursor.pass_words(NOUNS);
        let start = self.cursor.clone();
        let token = self.cursor.next().ok_or_else(|| start.error("the path is missing"))?;
        let mut paths = self.paths(&[token], &start)?;
        if paths.len() == 1 { Ok(paths.swap_remove(0)) } else { Err(start.error("name the one file")) }
    }
}

/// The names; a pronoun alone stands for those of its kind that were named `last`.
fn meant(
    names: &[&Token],
    last: Option<&Vec<String>>,
    start: &Cursor,
    noun: &str,
    fits: impl Fn(&str) -> bool,
    fault: &str,
) -> Result<Vec<String>, NotUnderstood> {
    if let [only] = names
        && is_pronoun(only)
    {
        let last = last.filter(|last| fits_pronoun(only, last)).cloned();
        return last.ok_or_else(|| start.error(format!("name the {noun} instead of \"it\"")));
    }
    checked(names, start, fits, fault)
}

fn checked(
    names: &[&Token],
    start: &Cursor,
    fits: impl Fn(&str) -> bool,
    fault: &str,
) -> Result<Vec<String>, NotUnderstood> {
    if names.len() > 1 && names.iter().any(|token| is_pronoun(token)) {
        return Err(start.error("name what is meant"));
    }
    match names.iter().find(|token| !fits(name(token))) {
        Some(token) => Err(start.error(format!("{:?} {fault}", name(token)))),
        None => Ok(names.iter().map(|token| name(token).to_owned()).collect()),
    }
}

/// The text of a name. A break is no name.
pub fn name(token: &Token) -> &str {
    match &token.kind {
        Kind::Word(text) | Kind::Quoted(text) => text,
        Kind::Comma | Kind::Stop => "",
    }
}

pub fn is_path(token: &Token) -> bool {
    name(token).starts_with('/')
}

/// "it" is one, "them" may be several.
fn fits_pronoun(pronoun: &Token, subject: &[String]) -> bool {
    subject.len() == 1 || pronoun.lower().as_deref() != Some("it")
}

/// Absolute, and no component that would make another path of it.
fn is_plain_path(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(|part| part.chars().any(|c| c != '.')))
}

pub fn is_pronoun(token: &Token) -> bool {
    matches!(token.lower().as_deref(), Some("it" | "them" | "they"))
}

/// Debian policy 5.6.1, with an optional version. A trailing `-` means removal to apt.
fn is_package(text: &str) -> bool {
    let (name, version) = text.split_once('=').unwrap_or((text, "0"));
    let ok = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '+' | '-' | '.');
    name.len() >= 2
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && !name.ends_with('-')
        && name.chars().all(ok)
        && !version.is_empty()
        && version.chars().all(|c| c.is_ascii_alphanumeric() || ".+-~:".contains(c))
}

/// systemd.unit(5): letters, digits and `:-_.\@`.
fn is_unit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c))
}
