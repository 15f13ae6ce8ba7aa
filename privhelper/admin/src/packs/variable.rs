//! Variables of a pack, each with a kind that restricts its values.

use postern_policy::types::{PackageName, TargetPath, UnitName};
use postern_proto::root::v1::{Parameter, ParameterKind};
use serde::{Deserialize, Serialize};

/// Longest value, in bytes.
const VALUE_MAX: usize = 200;
/// Most values of one variable.
const VALUES_MAX: usize = 64;

/// One variable.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// Its name in `${NAME}`.
    pub name: String,
    /// Which values it may have.
    pub kind: Kind,
    /// Question to the operator.
    pub question: String,
    /// Whether it may have several values.
    #[serde(default)]
    pub many: bool,
    /// The values without an answer; none: it must be answered.
    #[serde(default)]
    pub default: Vec<String>,
    /// Values that the pack is tested with, where there is no default.
    #[serde(default)]
    pub example: Vec<String>,
    /// The words of a `choice`.
    #[serde(default)]
    pub values: Vec<String>,
}

/// Kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One of the words in `values`.
    Choice,
    /// An absolute path of a directory.
    Directory,
    /// An absolute path of a file.
    File,
    /// A name such as `data-1`.
    Name,
    /// Names, with `*` for any run of characters.
    Pattern,
    /// A user's name.
    User,
    /// A group's name.
    Group,
    /// A host's name.
    Hostname,
    /// A host's name of at least two labels.
    Domain,
    /// A mail address.
    Email,
    /// 1 to 65535.
    Port,
    /// An address and a prefix length.
    Cidr,
    /// A package's name.
    Package,
    /// A unit's full name.
    Unit,
    /// The name of a client of the policy.
    Client,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 15] = [
        Self::Choice,
        Self::Directory,
        Self::File,
        Self::Name,
        Self::Pattern,
        Self::User,
        Self::Group,
        Self::Hostname,
        Self::Domain,
        Self::Email,
        Self::Port,
        Self::Cidr,
        Self::Package,
        Self::Unit,
        Self::Client,
    ];

    /// Describes a valid value, for messages.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Choice => "one of the words",
            Self::Directory => "an absolute path of a directory",
            Self::File => "an absolute path of a file",
            Self::Name => "a name such as data-1",
            Self::Pattern => "a name, with * for any run of characters",
            Self::User => "a user's name",
            Self::Group => "a group's name",
            Self::Hostname => "a host's name in lower case",
            Self::Domain => "a domain such as example.org",
            Self::Email => "a mail address",
            Self::Port => "a port from 1 to 65535",
            Self::Cidr => "a network such as 10.0.0.0/8",
            Self::Package => "a package's name",
            Self::Unit => "a unit's full name such as nginx.service",
            Self::Client => "a client's name: a-z, 0-9 and '-'",
        }
    }

    fn admits(self, value: &str, words: &[String]) -> bool {
        let is_path = |more: &[u8]| {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+@".contains(&b) || more.contains(&b);
            value.bytes().all(plain) && TargetPath::new(value).is_ok()
        };
        let is_set = |text: &str, more: &[u8]| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
        };
        match self {
            Self::Choice => words.iter().any(|word| word == value),
            Self::Directory => is_path(b""),
            // `FILE:LINE` is an entry of apt.
            Self::File => is_path(b":"),
            Self::Name => is_kind(ParameterKind::Name, value),
            Self::Pattern => is_set(value, b"._-*") && !value.starts_with(['-', '.']),
            Self::User | Self::Group => is_kind(ParameterKind::User, value),
            Self::Hostname => is_kind(ParameterKind::Hostname, value),
            Self::Domain => is_kind(ParameterKind::Domain, value),
            Self::Email => value
                .split_once('@')
                .is_some_and(|(name, host)| is_set(name, b"._+") && is_kind(ParameterKind::Domain, host)),
            Self::Port => is_kind(ParameterKind::Port, value),
            Self::Cidr => is_kind(ParameterKind::Cidr, value),
            Self::Package => PackageName::new(value).is_ok(),
            Self::Unit => UnitName::new(value).is_ok() && is_set(value, b"._-@:"),
            Self::Client => {
                is_set(value, b"-") && value.len() <= 64 && !value.bytes().any(|b| b.is_ascii_uppercase())
            }
        }
    }
}

impl Variable {
    /// The variable that every pack has: whom it grants something.
    #[must_use]
    pub fn client() -> Self {
        Self {
            name: "client".to_owned(),
            kind: Kind::Client,
            question: "Which client of the policy gets these rights?".to_owned(),
            many: false,
            default: vec!["agent".to_owned()],
            example: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Checks values that somebody gave.
    ///
    /// # Errors
    /// Too many, none, or one that is not of the kind, in words.
    pub fn check(&self, values: &[String]) -> Result<(), String> {
        if values.is_empty() {
            return Err("needs a value".to_owned());
        }
        if values.len() > if self.many { VALUES_MAX } else { 1 } {
            return Err(if self.many {
                format!("has at most {VALUES_MAX} values")
            } else {
                "has one value".to_owned()
            });
        }
        // None of these means anything in TOML, in a unit, in an argument, or in the list that the value is written in.
        let is_plain = |value: &str| {
            (1..=VALUE_MAX).contains(&value.len())
                && !value.starts_with(['-', '+'])
                && value.bytes().all(|b| b.is_ascii_graphic() && !b"\"'\\,${}#`".contains(&b))
        };
        let wrong = values.iter().find(|value| !is_plain(value) || !self.kind.admits(value, &self.values));
        wrong.map_or(Ok(()), |value| Err(format!("{value:?} is not {}", self.words())))
    }

    /// Describes a valid value of this variable, for messages.
    #[must_use]
    pub fn words(&self) -> String {
        match self.kind {
            Kind::Choice => self.values.join(" or "),
            kind => kind.words().to_owned(),
        }
    }

    /// The values that the pack is tested with.
    #[must_use]
    pub fn examples(&self) -> &[String] {
        if self.example.is_empty() { &self.default } else { &self.example }
    }

    /// Checks the variable as the pack has it.
    pub(super) fn check_itself(&self) -> Result<(), String> {
        let is_name = self.name.starts_with(|c: char| c.is_ascii_lowercase())
            && self.name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        if !is_name {
            return Err("is no name: write a-z, 0-9 and '_'".to_owned());
        }
        if self.examples().is_empty() {
            return Err("has neither `default` nor `example`".to_owned());
        }
        let mut filled = [&self.default, &self.example].into_iter().filter(|values| !values.is_empty());
        filled.try_for_each(|values| self.check(values))
    }
}

/// The values in one text, blanks or commas between them.
#[must_use]
pub fn split(text: &str) -> Vec<String> {
    text.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Whether a text is of a parameter's kind that the policy says nothing else of.
fn is_kind(kind: ParameterKind, text: &str) -> bool {
    let parameter = Parameter { kind: kind.into(), ..Parameter::default() };
    postern_policy::types::ParameterKind::new(&parameter).is_ok_and(|kind| kind.admits(text))
}
