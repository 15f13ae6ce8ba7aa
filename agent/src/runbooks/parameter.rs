//! Parameters of runbooks: each has a kind, which decides its values.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Longest value, in bytes.
const VALUE_LIMIT: usize = 256;

/// Kind of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A unit of systemd, with or without its suffix.
    Unit,
    /// A Debian package.
    Package,
    /// An absolute path without `..`.
    Path,
    /// Letters, digits, `.`, `_`, `-` and `@`, such as a user or a command of the policy.
    Name,
    /// A host name or an IP address.
    Host,
    /// A whole number from `min` to `max`.
    Integer,
    /// One of `values`.
    Choice,
    /// One line of text.
    Text,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its name, as in `${name}`.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Its meaning, for people.
    pub about: String,
    /// The value where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// A value that it could have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    /// The values of a choice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The smallest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<i64>,
    /// The largest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<i64>,
}

impl Parameter {
    /// The value that its steps are judged by before one is given.
    #[must_use]
    pub fn sample(&self) -> Option<&str> {
        self.default
            .as_deref()
            .or(self.example.as_deref())
            .or_else(|| self.values.first().map(String::as_str))
    }

    /// Checks a value.
    ///
    /// # Errors
    /// Why it is none of this parameter.
    pub fn check(&self, value: &str) -> Result<(), String> {
        let wrong = |why: &str| Err(format!("{} = {value:?}: {why}", self.name));
        if value.is_empty() || value.len() > VALUE_LIMIT {
            return wrong(&format!("a value has 1 to {VALUE_LIMIT} bytes"));
        }
        if value.contains(postern_text::is_hostile) {
            return wrong("a value is one line without control or invisible characters");
        }
        let is_number = self.kind == Kind::Integer;
        if value.starts_with('-') && !is_number {
            return wrong("a value does not begin with -, which would make it an option");
        }
        let only = |set: fn(char) -> bool| value.chars().all(set);
        let is_good = match self.kind {
            Kind::Unit => {
                only(|c| c.is_ascii_alphanumeric() || "@:._-".contains(c)) && !value.starts_with('.')
            }
            Kind::Package => {
                // `apt-get install name-` removes the package.
                value.len() > 1
                    && !value.ends_with('-')
                    && value.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
                    && only(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+.-".contains(c))
            }
            Kind::Path => {
                value.starts_with('/') && !value.split('/').any(|part| part == "..") && !value.contains("//")
            }
            Kind::Name => {
                only(|c| c.is_ascii_alphanumeric() || "._@-".contains(c)) && !value.starts_with('.')
            }
            Kind::Host => {
                value.parse::<IpAddr>().is_ok()
                    || only(|c| c.is_ascii_alphanumeric() || ".-".contains(c)) && !value.starts_with('.')
            }
            Kind::Integer => match value.parse::<i64>() {
                Ok(number) if number.to_string() == value => {
                    let (min, max) = (self.min.unwrap_or(0), self.max.unwrap_or(i64::MAX));
                    if !(min..=max).contains(&number) {
                        return wrong(&format!("it is not from {min} to {max}"));
                    }
                    true
                }
                Ok(_) | Err(_) => false,
            },
            Kind::Choice => {
                if !self.values.iter().any(|one| one == value) {
                    return wrong(&format!("it is one of {}", self.values.join(", ")));
                }
                true
            }
            Kind::Text => true,
        };
        if is_good { Ok(()) } else { wrong(&format!("it is no {}", self.kind.words())) }
    }
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::Package => "package",
            Self::Path => "path",
            Self::Name => "name",
            Self::Host => "host",
            Self::Integer => "integer",
            Self::Choice => "choice",
            Self::Text => "text",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Unit => "name of a unit",
            Self::Package => "name of a package",
            Self::Path => "absolute path without ..",
            Self::Name => "name of letters, digits and ._@-",
            Self::Host => "host name or IP address",
            Self::Integer => "whole number",
            Self::Choice => "choice",
            Self::Text => "text",
        }
    }
}
