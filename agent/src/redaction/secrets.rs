//! The secrets that are held, and where they may go.

use super::redact;
use super::values::Values;
use crate::config::Config;
use crate::config::secret::fetch;
use crate::config::secrets::{Location, Row};
use crate::protocol::request::Request;
use regex::{Captures, Regex};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Placeholder of a secret in a call.
static PLACEHOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\{\{secret:([^{}]*)\}\}").ok());

/// How a placeholder begins.
const OPENING: &str = "{{secret:";

/// The tools whose calls become requests that can carry a secret.
const CARRIERS: &[&str] = &["write_file", "file", "run_command"];

/// A value shorter than this is not told from other text, and so cannot be kept out of it.
const SHORTEST: usize = 8;

/// All that is held.
#[derive(Debug, Default)]
pub struct Secrets {
    rows: BTreeMap<String, (SecretString, Row)>,
    values: Values,
}

impl Secrets {
    /// Fetches what the configuration names; what cannot be had, in words.
    ///
    /// # Errors
    /// The fetched secrets could not be kept out of output and records.
    pub fn fetch(config: &Config) -> Result<(Arc<Self>, Vec<String>), String> {
        let (mut wrong, mut held, mut rows) = (Vec::new(), Vec::new(), BTreeMap::new());
        // The parts of the service that need these report a key that cannot be had.
        held.extend(config.own_keys().filter_map(|source| fetch(source).ok()));
        for (name, row) in &config.secrets {
            match fetch(&row.source) {
                Ok(value) if value.expose_secret().len() < SHORTEST => {
                    wrong.push(format!("the secret {name:?} is shorter than {SHORTEST} bytes"));
                }
                Ok(value) => {
                    held.push(value.clone());
                    rows.insert(name.clone(), (value, row.clone()));
                }
                Err(why) => wrong.push(format!("the secret {name:?}: {why}")),
            }
        }
        held.retain(|value| value.expose_secret().len() >= SHORTEST);
        Ok((Arc::new(Self { rows, values: Values::new(&held)? }), wrong))
    }

    /// Whether there are any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// A text without the values that are held, and how many were taken out.
    #[must_use]
    pub fn values(&self, text: &str) -> (String, usize) {
        self.values.redact(text)
    }

    /// A text without the values, and without what has the shape of a credential.
    #[must_use]
    pub fn text(&self, text: &str) -> (String, usize) {
        let (text, held) = self.values(text);
        let (text, shaped) = redact::text(&text);
        (text, held + shaped)
    }

    /// Takes the values out of all strings of a JSON value; how many.
    pub fn values_of(&self, value: &mut Value) -> usize {
        if self.is_empty() { 0 } else { redact::each(value, &|text| self.values(text)) }
    }

    /// Takes the values and the shapes out of all strings of a JSON value; how many.
    pub fn strings(&self, value: &mut Value) -> usize {
        redact::each(value, &|text| self.text(text))
    }

    /// # Errors
    /// Why a call may not name the secrets that it names.
    pub fn check_call(&self, tool: &str, args: &Value) -> Result<(), String> {
        let text = args.to_string();
        if !text.contains(OPENING) || CARRIERS.contains(&tool) {
            // Of those that can carry one, the request is looked at.
            return Ok(());
        }
        Err(format!("no secret may stand in a call of {tool}: only {} can carry one", CARRIERS.join(" and ")))
    }

    /// # Errors
    /// Why a request may not carry the secrets that it names.
    pub fn check(&self, tool: &str, request: &Request) -> Result<(), String> {
        let may = |text: &str, place: Location<'_>| -> Result<(), String> {
            for name in names(text) {
                // Names alone can tell something: those that this request may carry, and no others.
                let permitted = |row: &Row| row.may_go(tool, request.verb(), place).is_ok();
                let known =
                    || self.rows.iter().filter(|(_, (_, row))| permitted(row)).map(|(name, _)| name.as_str());
                let unknown = || postern_text::unknown("secret", name, known());
                let (_, row) = self.rows.get(name).ok_or_else(unknown)?;
                if tool == "shell" {
                    return Err("no secret may stand in what a command's programs ask for".to_owned());
                }
                row.may_go(tool, request.verb(), place)
                    .map_err(|why| format!("the secret {name:?} may not be used here: {why}"))?;
            }
            Ok(())
        };
        match request {
            Request::FileWrite(args) => {
                let change = &args.change.0;
                may(&String::from_utf8_lossy(&change.content), Location::File(&change.path))?;
            }
            Request::CommandRun(args) => {
                let values: Vec<(&str, &str)> =
                    args.parameters.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
                for (name, value) in &values {
                    may(value, Location::Command(name, &values))?;
                }
                return Ok(());
            }
            _ => {}
        }
        // Contents are base64 here; in all else that is text no secret can stand.
        if request.args().to_string().contains(OPENING) {
            return Err(format!(
                "no secret may stand there: only the content of a file and the parameters of a command \
                can carry one, not this part of {}",
                request.verb()
            ));
        }
        Ok(())
    }

    /// The request with the secrets' values. It was checked.
    #[must_use]
    pub fn filled(&self, request: Request) -> Request {
        let fill = |text: &str| match PLACEHOLDER.as_ref() {
            Some(pattern) if !self.rows.is_empty() => pattern
                .replace_all(text, |found: &Captures<'_>| {
                    let name = found.get(1).map_or("", |name| name.as_str());
                    let value = self.rows.get(name).map(|(value, _)| value.expose_secret());
                    value.unwrap_or_else(|| found.get(0).map_or("", |whole| whole.as_str())).to_owned()
                })
                .into_owned(),
            _ => text.to_owned(),
        };
        match request {
            Request::FileWrite(mut args) => {
                if let Ok(text) = std::str::from_utf8(&args.change.0.content) {
                    args.change.0.content = fill(text).into_bytes();
                }
                Request::FileWrite(args)
            }
            Request::CommandRun(mut args) => {
                for parameter in &mut args.parameters {
                    parameter.value = fill(&parameter.value);
                }
                Request::CommandRun(args)
            }
            other => other,
        }
    }
}

/// The names in a text's placeholders. One that does not end has a name that no secret has.
fn names(text: &str) -> Vec<&str> {
    let Some(pattern) = PLACEHOLDER.as_ref() else { return vec![text] };
    let found = pattern.captures_iter(text).filter_map(|found| found.get(1)).map(|name| name.as_str());
    found.collect()
}
