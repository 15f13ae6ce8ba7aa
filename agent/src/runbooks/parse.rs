//! Reads a file: with the line of each part, and refused whole where something is wrong.

use super::argument::{is_name, names};
use super::document::{Fault, Piece, Runbook, When};
use super::fill;
use super::parameter::{Kind, Parameter};
use super::pattern::{Glob, pattern};
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;
use std::collections::BTreeSet;

/// Most parts of one list, parameters, and patterns.
const PIECES: usize = 50;
const PARAMETERS: usize = 16;
const PATTERNS: usize = 16;
/// Longest line of text for people, in bytes.
const LINE: usize = 200;
/// Deepest nesting; each level costs stack.
const DEPTH: usize = 16;
/// Longest notes, in bytes.
const NOTES: usize = 8 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: Spanned<String>,
    title: Spanned<String>,
    #[serde(default)]
    when: WhenText,
    #[serde(default)]
    parameters: Vec<Spanned<ParameterText>>,
    #[serde(default)]
    preflight: Vec<Spanned<Value>>,
    steps: Vec<Spanned<Value>>,
    #[serde(default)]
    verification: Vec<Spanned<Value>>,
    #[serde(default)]
    rollback: Vec<Spanned<Value>>,
    #[serde(default)]
    notes: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WhenText {
    #[serde(default)]
    tasks: Vec<Spanned<String>>,
    #[serde(default)]
    failed_units: Vec<Spanned<String>>,
    #[serde(default)]
    facts: FactsText,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FactsText {
    #[serde(default)]
    packages: Vec<Spanned<String>>,
    #[serde(default)]
    files: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParameterText {
    name: String,
    kind: Kind,
    about: String,
    #[serde(default)]
    default: Option<Value>,
    #[serde(default)]
    example: Option<Value>,
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    min: Option<i64>,
    #[serde(default)]
    max: Option<i64>,
}

fn fault<T>(line: u64, why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { line, why: why.into() })
}

fn line_of<T>(of: &Spanned<T>) -> u64 {
    of.referenced.line()
}

impl Runbook {
    /// Reads a runbook; `stem` is the name of its file without `.yaml`.
    ///
    /// # Errors
    /// The first fault, with its line.
    pub fn parse(stem: &str, text: &str) -> Result<Self, Fault> {
        for (at, one) in (1..).zip(text.lines()) {
            if one.contains(|c| postern_text::is_hostile(c) && c != '\t') {
                return fault(at, "a control or invisible character: write it out, or leave it out");
            }
        }
        let options = serde_saphyr::options! { budget: serde_saphyr::budget! { max_depth: DEPTH } };
        let text: Text = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let line = error.location().map_or(0, |location| location.line());
            let why = error.without_snippet().to_string();
            let why = postern_text::with_nearest(why.lines().next().unwrap_or_default());
            Fault { line, why: postern_text::line(&why) }
        })?;
        let (name, at) = (&text.name.value, line_of(&text.name));
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 60 || !name.chars().all(is_plain) || name.starts_with('-') {
            return fault(at, "name: 1 to 60 lower-case letters, digits and -");
        }
        if name != stem {
            return fault(at, format!("name: {name:?} is not the name of the file, {stem:?}"));
        }
        said("title", &text.title.value).or_else(|why| fault(line_of(&text.title), why))?;
        let notes = text.notes.as_ref().map(|notes| (line_of(notes), notes.value.as_str()));
        if let Some((at, notes)) = notes {
            checked(notes).or_else(|why| fault(at, format!("notes: {why}")))?;
            if notes.len() > NOTES {
                return fault(at, format!("notes: longer than {NOTES} bytes"));
            }
        }
        let runbook = Self {
            name: name.clone(),
            title: text.title.value.clone(),
            when: when(text.when)?,
            parameters: parameters(text.parameters)?,
            preflight: pieces("preflight", text.preflight)?,
            steps: pieces("steps", text.steps)?,
            verification: pieces("verification", text.verification)?,
            rollback: pieces("rollback", text.rollback)?,
            notes: notes.map_or_else(String::new, |(_, notes)| notes.trim().to_owned()),
        };
        if runbook.steps.is_empty() {
            return fault(0, "steps: there are none");
        }
        runbook.judge()?;
        Ok(runbook)
    }

    /// Judges each part as a plan's would be, with the sample values; parameters are used, and only those.
    fn judge(&self) -> Result<(), Fault> {
        let values = self.samples();
        let mut used = BTreeSet::new();
        for (place, pieces) in self.lists() {
            for (piece, number) in pieces.iter().zip(1..) {
                let wrong = |why: String| Fault {
                    line: piece.line,
                    why: format!("{} {number}: {why}", place.word()),
                };
                for text in fill::strings(&piece.value) {
                    used.extend(names(text).map_err(wrong)?);
                }
                if let Some(unknown) = used.iter().find(|name| !values.contains_key(*name)) {
                    let known = values.keys().map(String::as_str);
                    return Err(wrong(postern_text::unknown("parameter", unknown, known)));
                }
                let filled = fill::piece(place, &piece.value, self, &values).map_err(wrong)?;
                fill::judged(place, &filled).map_err(wrong)?;
            }
        }
        if let Some(unused) = self.parameters.iter().find(|one| !used.contains(&one.name)) {
            return fault(0, format!("parameters: {} is not used", unused.name));
        }
        self.plan(&values).map(drop).or_else(|why| fault(0, why))
    }
}

/// A text for people: one line, not blank.
fn said(name: &str, text: &str) -> Result<(), String> {
    if text.trim().is_empty() || text.len() > LINE || text.contains(postern_text::is_hostile) {
        return Err(format!("{name}: one line of 1 to {LINE} bytes"));
    }
    Ok(())
}

/// A text that may have lines: YAML can write what the file itself does not show.
fn checked(text: &str) -> Result<(), String> {
    if text.contains(|c| postern_text::is_hostile(c) && c != '\n' && c != '\t') {
        return Err("a control or invisible character".to_owned());
    }
    Ok(())
}

fn when(text: WhenText) -> Result<When, Fault> {
    let FactsText { packages, files } = text.facts;
    for list in [&text.tasks, &text.failed_units, &packages, &files] {
        if let Some(one) = list.get(PATTERNS) {
            return fault(line_of(one), format!("when: more than {PATTERNS} of one kind"));
        }
        for one in list {
            said("when", &one.value).or_else(|why| fault(line_of(one), why))?;
        }
    }
    let mut tasks = Vec::new();
    for one in &text.tasks {
        tasks.push(pattern(&one.value).or_else(|why| fault(line_of(one), format!("when.tasks: {why}")))?);
    }
    for one in &files {
        if !one.value.starts_with('/') {
            return fault(line_of(one), "when.facts.files: an absolute path");
        }
    }
    for one in &packages {
        if !one.value.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+.-".contains(c)) {
            return fault(line_of(one), "when.facts.packages: the name of a package");
        }
    }
    let texts = |list: Vec<Spanned<String>>| list.into_iter().map(|one| one.value).collect::<Vec<_>>();
    Ok(When {
        tasks,
        failed_units: texts(text.failed_units).into_iter().map(Glob).collect(),
        packages: texts(packages),
        files: texts(files),
    })
}

fn parameters(list: Vec<Spanned<ParameterText>>) -> Result<Vec<Parameter>, Fault> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for one in list {
        let at = line_of(&one);
        let wrong = |why: String| Fault { line: at, why: format!("parameters: {why}") };
        let ParameterText { name, kind, about, default, example, values, min, max } = one.value;
        if !is_name(&name) {
            return Err(wrong(format!("{name:?}: lower-case letters, digits and _, a letter first")));
        }
        if parameters.len() == PARAMETERS || parameters.iter().any(|other| other.name == name) {
            return Err(wrong(format!("{name} is there twice, or there are more than {PARAMETERS}")));
        }
        said("about", &about).map_err(wrong)?;
        let scalar = |value: Option<Value>| match value {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(wrong(format!("{name}: a value is a text or a number"))),
        };
        let (default, example) = (scalar(default)?, scalar(example)?);
        if (kind == Kind::Choice) == values.is_empty() {
            return Err(wrong(format!("{name}: values are those of a choice")));
        }
        if kind != Kind::Integer && (min.is_some() || max.is_some()) {
            return Err(wrong(format!("{name}: min and max are those of an integer")));
        }
        let parameter = Parameter { name, kind, about, default, example, values, min, max };
        let samples = parameter.default.iter().chain(&parameter.example).chain(&parameter.values);
        for value in samples {
            parameter.check(value).map_err(wrong)?;
        }
        if parameter.sample().is_none() {
            return Err(wrong(format!("{}: needs a default or an example", parameter.name)));
        }
        parameters.push(parameter);
    }
    Ok(parameters)
}

fn pieces(name: &str, list: Vec<Spanned<Value>>) -> Result<Vec<Piece>, Fault> {
    if let Some(one) = list.get(PIECES) {
        return fault(line_of(one), format!("{name}: more than {PIECES}"));
    }
    let mut pieces = Vec::with_capacity(list.len());
    for one in list {
        let line = line_of(&one);
        for text in fill::strings(&one.value) {
            checked(text).or_else(|why| fault(line, format!("{name}: {why}")))?;
        }
        pieces.push(Piece { line, value: one.value });
    }
    Ok(pieces)
}
